//! The name of a device: "auto", "cpu", "cuda:0", "metal:0", parsed and printed.
//!
//! Knows names only. Whether such a device is there is found out by [`crate::open`].

use std::fmt;
use std::str::FromStr;

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
            device: name.to_owned(),
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
}
