//! Apple cards: the kernels are compiled from their source when a card is opened.

mod launch;

use crate::device::Card;
use crate::gpu::Gpu;
use crate::{Backend, Result, Traits};

/// Opens card `number`, which [`cards`] has.
///
/// Compiling the kernels takes a second the first time; macOS keeps what it compiled.
///
/// # Errors
/// [`crate::Error::Compute`] with what Metal says of a kernel that it does not compile.
pub(crate) fn open(number: u32) -> Result<Box<dyn Backend>> {
    Ok(Box::new(Gpu::new(launch::Card::open(number)?)))
}

/// The cards of this Mac, by number.
///
/// # Errors
/// None; a Mac without a card has none.
pub(crate) fn cards() -> Result<Vec<Card>> {
    let card = |facts: launch::Facts| Card {
        unusable: (!facts.is_apple_7)
            .then(|| "this build needs Apple's own graphics (M1 or newer): take the cpu".to_owned()),
        traits: Traits { title: facts.name, memory_bytes: Some(facts.memory_bytes), ..Traits::default() },
    };
    Ok(launch::cards().into_iter().map(card).collect())
}
