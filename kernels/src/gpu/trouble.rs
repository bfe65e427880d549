//! What it means that a driver or a card refuses, and what to do about it.
//!
//! Knows numbers and words only, so that all of it is tested where there is no card.

use crate::{Device, Error};

/// The CUDA that the checked-in PTX was written for, and so the oldest driver: 1000 · major + 10 · minor.
pub(crate) const CUDA_MIN: i32 = 13_000;
/// The first driver that runs it.
const DRIVER_MIN: &str = "580";
/// The oldest card that the checked-in PTX runs on, as (major, minor).
pub(crate) const CAPABILITY_MIN: (i32, i32) = (7, 5);

/// Why a driver for CUDA `version` cannot run our kernels; none (0) is no driver.
pub(crate) fn driver(version: i32) -> Option<String> {
    if version <= 0 {
        return Some(format!("no NVIDIA driver was found: install one ({DRIVER_MIN} or newer), or take the cpu"));
    }
    (version < CUDA_MIN).then(|| {
        let (found, needed) = (cuda_version(version), cuda_version(CUDA_MIN));
        format!("its driver is for CUDA {found}, this build needs {needed}: update the NVIDIA driver ({DRIVER_MIN} or newer)")
    })
}

/// "13.0" of 13000.
pub(crate) fn cuda_version(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Why a card of compute capability `found` cannot run our kernels.
pub(crate) fn capability(found: (i32, i32)) -> Option<String> {
    (found < CAPABILITY_MIN).then(|| {
        let (needed, found) = (CAPABILITY_MIN, found);
        format!(
            "its compute capability is {}.{}, this build needs {}.{} (Turing) or newer: take another card, or the cpu",
            found.0, found.1, needed.0, needed.1
        )
    })
}

/// The error of a driver's status `code`, which the driver calls `words`, for a call that asked for `bytes`.
pub(crate) fn status(device: Device, code: u32, words: &str, bytes: u64) -> Error {
    let missing = |reason: &str| Error::Missing { device: device.to_string(), reason: reason.to_owned() };
    match code {
        2 => Error::OutOfMemory { device: device.to_string(), bytes },
        34 => missing(&driver(0).unwrap_or_default()),
        46 => missing("another program has it to itself: end that, or take another card"),
        100 => missing("the driver finds no NVIDIA card that it may use (CUDA_VISIBLE_DEVICES hides cards)"),
        209 | 218 | 222 => missing("its driver cannot read this build's kernels: update the NVIDIA driver"),
        221 | 223 => missing("its driver came without the compiler for kernels: install all of the NVIDIA driver"),
        802 => missing("it is not ready: start the NVIDIA fabric manager, or wait until it is up"),
        803 => missing("the NVIDIA driver was updated and is not loaded yet: restart the machine"),
        804 => missing("its driver is too old for the CUDA libraries here: update the NVIDIA driver"),
        _ => Error::Compute { reason: format!("{device}: {words} ({code})") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_driver_or_card_is_told_with_what_is_needed() {
        assert!(driver(0).expect("none").contains("install one (580"));
        let old = driver(12_040).expect("too old");
        assert!(old.contains("CUDA 12.4") && old.contains("needs 13.0") && old.contains("update"), "{old}");
        assert_eq!((driver(13_000), driver(13_020)), (None, None));
        assert!(capability((6, 1)).expect("too old").contains("6.1"));
        assert_eq!((capability((7, 5)), capability((9, 0)), capability((12, 0))), (None, None, None));
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let device = Device::Cuda(1);
        let said = |code: u32| status(device, code, "CUDA_ERROR_X", 1 << 20).to_string();
        assert_eq!(said(2), "device cuda:1 has no room for 1048576 bytes more");
        for (code, part) in [(34, "install"), (46, "end that"), (100, "CUDA_VISIBLE_DEVICES"), (222, "update")] {
            let line = said(code);
            assert!(line.starts_with("device cuda:1 is not available: ") && line.contains(part), "{line}");
        }
        assert_eq!(said(700), "computation failed: cuda:1: CUDA_ERROR_X (700)");
    }
}
