//! The name of a device ("auto", "cpu", "cuda:0", "metal:0") and what is known of one.
//!
//! Knows names and traits only. Whether a device is there is found out by [`crate::open`] and [`crate::devices`].

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Error;

/// A device as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The best device that is there.
    Auto,
    /// The processor.
    Cpu,
    /// The n-th NVIDIA card.
    Cuda(u32),
    /// The n-th Apple card.
    Metal(u32),
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let (kind, number) = name.split_once(':').unwrap_or((name, ""));
        let card = || match number {
            "" if kind == name => Some(0),
            digits => digits.parse().ok(),
        };
        let device = match kind {
            "auto" if kind == name => Some(Self::Auto),
            "cpu" if kind == name => Some(Self::Cpu),
            "cuda" => card().map(Self::Cuda),
            "metal" => card().map(Self::Metal),
            _ => None,
        };
        device.ok_or_else(|| Error::Missing {
            device: format!("{name:?}"),
            reason: "no such name; devices are auto, cpu, cuda:0, metal:0".to_owned(),
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(card) => write!(f, "cuda:{card}"),
            Self::Metal(card) => write!(f, "metal:{card}"),
        }
    }
}

/// What a device says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traits {
    /// What its maker calls it; the architecture for the processor.
    pub title: String,
    /// Bytes of its own memory, for a card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What an NVIDIA card can do, as "9.0".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// The newest CUDA that an NVIDIA card's driver runs, as "13.0".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cuda: Option<String>,
    /// Threads that work at once, for the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The widest vector unit in use, for the processor: "avx512", "avx2", "sse2", "neon" or "none".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_unit: Option<String>,
}

impl fmt::Display for Traits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)?;
        if let Some(bytes) = self.memory_bytes {
            write!(f, ", {:.1} GiB", bytes as f64 / f64::from(1 << 30))?;
        }
        if let Some(capability) = &self.compute_capability {
            write!(f, ", compute capability {capability}")?;
        }
        if let Some(driver) = &self.driver_cuda {
            write!(f, ", driver for CUDA {driver}")?;
        }
        if let Some(threads) = self.threads {
            write!(f, ", {threads} thread{}", if threads == 1 { "" } else { "s" })?;
        }
        match &self.vector_unit {
            Some(unit) => write!(f, ", vector unit {unit}"),
            None => Ok(()),
        }
    }
}

/// A device as [`crate::devices`] lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    /// Its name, as `--device` takes it.
    pub name: String,
    /// Whether this build can use devices of its kind.
    pub built_in: bool,
    /// Whether it is there and can be used.
    pub present: bool,
    /// Whether `auto` takes it.
    pub chosen: bool,
    /// What it says of itself, where it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Traits>,
    /// Why it cannot be used and what to do about it, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A card that its maker's library found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// What it says of itself.
    pub traits: Traits,
    /// Why our kernels cannot run on it, where they cannot.
    pub unusable: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_given() {
        for name in ["auto", "cpu", "cuda:0", "cuda:7", "metal:0"] {
            assert_eq!(name.parse::<Device>().expect(name).to_string(), name);
        }
        assert_eq!("cuda".parse::<Device>().expect("cuda"), Device::Cuda(0));
    }

    #[test]
    fn unknown_names_are_refused() {
        for name in ["", "gpu", "cpu:1", "cuda:", "cuda:x", "cuda:-1", "auto:0", ":"] {
            assert!(name.parse::<Device>().is_err(), "{name}");
        }
    }

    #[test]
    fn traits_read_as_a_line() {
        let card = Traits {
            title: "Some Card".to_owned(),
            memory_bytes: Some(3 << 29),
            compute_capability: Some("9.0".to_owned()),
            driver_cuda: Some("13.0".to_owned()),
            ..Traits::default()
        };
        assert_eq!(card.to_string(), "Some Card, 1.5 GiB, compute capability 9.0, driver for CUDA 13.0");
        let cpu = Traits {
            title: "x86_64".to_owned(),
            threads: Some(2),
            vector_unit: Some("avx2".to_owned()),
            ..Traits::default()
        };
        assert_eq!(cpu.to_string(), "x86_64, 2 threads, vector unit avx2");
    }
}
