//! The device of a command: which one it was told to take, opened once when it is first needed.
//!
//! A flag says more than `STRATA_DEVICE`, and that more than the command's own habit.

use std::sync::{Arc, Mutex, PoisonError};

use kernels::Backend;

use crate::error::Result;

/// Names the device where no flag does.
pub const DEVICE_VARIABLE: &str = "STRATA_DEVICE";
/// What commands take that embed many texts.
pub const BEST: &str = "auto";
/// What commands take that embed one question: a card takes longer to wake up.
pub const QUICKEST: &str = "cpu";

/// A device that was opened.
#[derive(Clone)]
pub struct Opened {
    /// Its own name, never "auto".
    pub name: String,
    /// Where graphs are made.
    pub backend: Arc<dyn Backend>,
}

/// A device by name. Copies share what is opened.
#[derive(Clone)]
pub struct Device {
    asked: String,
    opened: Arc<Mutex<Option<Opened>>>,
}

impl Device {
    /// The device that a flag names, else `STRATA_DEVICE`, else `habit`. Opens nothing.
    pub fn new(flag: Option<&str>, habit: &str) -> Self {
        let named = flag.map(str::to_owned).or_else(from_environment);
        Self { asked: named.unwrap_or_else(|| habit.to_owned()), opened: Arc::new(Mutex::new(None)) }
    }

    /// Opens the device, or gives the one that is open. Says on stderr what "auto" passed over.
    ///
    /// # Errors
    /// When it was named and is not there, with the reason.
    pub fn open(&self) -> Result<Opened> {
        // The value is whole after every statement, so a panic elsewhere does not spoil it.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref() {
            return Ok(opened.clone());
        }
        let chosen = kernels::choose(&self.asked)?;
        let name = chosen.device.to_string();
        for error in &chosen.passed_over {
            crate::note!("{error}; taking {name}");
        }
        Ok(opened.insert(Opened { name, backend: Arc::from(chosen.backend) }).clone())
    }
}

/// The device that `STRATA_DEVICE` names; empty is none.
pub fn from_environment() -> Option<String> {
    std::env::var(DEVICE_VARIABLE).ok().filter(|named| !named.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_says_more_than_habit() {
        assert_eq!(Device::new(Some("cpu"), "cuda:99").open().unwrap().name, "cpu");
        assert!(Device::new(Some("abacus"), QUICKEST).open().is_err());
        let device = Device::new(Some(BEST), QUICKEST);
        let name = device.open().unwrap().name;
        assert_ne!(name, BEST);
        assert_eq!(device.clone().open().unwrap().name, name);
    }
}
