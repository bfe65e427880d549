//! NVIDIA cards.

mod launch;

use crate::device::Card;
use crate::gpu::{Gpu, trouble};
use crate::{Backend, Device, Error, Result, Traits};

/// Opens card `number`, which [`cards`] has.
///
/// # Errors
/// What the driver says.
pub(crate) fn open(number: u32) -> Result<Box<dyn Backend>> {
    Ok(Box::new(Gpu::new(launch::Card::open(number)?)))
}

/// The NVIDIA cards of this machine, by number.
///
/// # Errors
/// [`Error::Missing`] where there is no driver or one that is too old for every card.
pub(crate) fn cards() -> Result<Vec<Card>> {
    let version = launch::driver_version();
    if let Some(reason) = trouble::driver(version) {
        return Err(Error::Missing { device: Device::Cuda(0).to_string(), reason });
    }
    let facts = launch::cards()?;
    let card = |fact: launch::Facts| Card {
        unusable: trouble::capability(fact.capability),
        traits: Traits {
            title: fact.name,
            memory_bytes: Some(fact.memory_bytes),
            compute_capability: Some(format!("{}.{}", fact.capability.0, fact.capability.1)),
            driver_cuda: Some(trouble::cuda_version(version)),
            ..Traits::default()
        },
    };
    Ok(facts.into_iter().map(card).collect())
}
