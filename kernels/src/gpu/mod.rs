//! What every card's host side shares: what a card gets, in which batches, and what its refusals mean.
//!
//! The kernels beside this file (`.cu`) are one source for CUDA, Metal and the emulator. Nothing here knows a
//! vendor's library, so all of it is tested where there is no card.

pub(crate) mod engine;
#[cfg(any(all(feature = "metal", target_os = "macos"), test))]
pub(crate) mod sources;
pub(crate) mod trouble;
