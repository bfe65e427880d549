//! Every call of the driver that Rust cannot check, each behind a function that checks what it is given.

#![allow(unsafe_code)]

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute};

use crate::gpu::trouble;
use crate::{Device, Error, Result};

/// What the driver says of a card.
pub(super) struct Facts {
    pub name: String,
    pub memory_bytes: u64,
    /// (major, minor).
    pub capability: (i32, i32),
}

/// The newest CUDA that the driver runs, as 1000 · major + 10 · minor; 0 where there is no driver.
pub(super) fn driver_version() -> i32 {
    let mut version = 0;
    // SAFETY: the driver writes one int to a place that outlives the call, and needs no initialisation for this
    // call. Where there is no driver the stub linked in its place writes nothing and returns an error.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    if status == sys::CUresult::CUDA_SUCCESS { version } else { 0 }
}

/// Every card that the driver shows, by number.
///
/// # Errors
/// What the driver says.
pub(super) fn cards() -> Result<Vec<Facts>> {
    let first = Device::Cuda(0);
    result::init().map_err(|error| refused(first, error, 0))?;
    let n_cards = result::device::get_count().map_err(|error| refused(first, error, 0))?;
    (0..n_cards.max(0)).map(|number| facts(number).map_err(|error| refused(numbered(number), error, 0))).collect()
}

fn facts(number: i32) -> std::result::Result<Facts, DriverError> {
    let card = result::device::get(number)?;
    // SAFETY: `card` was just given by the driver.
    let attribute = |what| unsafe { result::device::get_attribute(card, what) };
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(card) }?;
    Ok(Facts {
        name: result::device::get_name(card)?,
        memory_bytes: memory as u64,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
    })
}

fn numbered(number: i32) -> Device {
    Device::Cuda(u32::try_from(number).unwrap_or(0))
}

/// What a refusal of the driver means for a call that asked for `bytes`.
fn refused(device: Device, error: DriverError, bytes: u64) -> Error {
    trouble::status(device, error.0 as u32, &format!("{:?}", error.0), bytes)
}
