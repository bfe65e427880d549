//! Every call of Metal that Rust cannot check, each behind a function that checks what it is given.
//!
//! Memory is shared between the card and the processor, as on every Apple chip, so that a copy to the card is a
//! copy in memory.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSError, NSString};
use objc2_metal::{
    MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue, MTLCompileOptions,
    MTLComputeCommandEncoder, MTLComputePipelineState, MTLCopyAllDevices, MTLDevice, MTLGPUFamily, MTLLanguageVersion,
    MTLLibrary, MTLResourceOptions, MTLSize,
};

use crate::gpu::engine::{Argument, Engine, Grid, Room};
use crate::gpu::sources::{SOURCES, Source};
use crate::{Device, Error, Result};

/// Threads of a warp, on which the kernels rely.
const WARP: usize = 32;
/// Metal wants lengths of shared memory in multiples of this, and at least one.
const SHARED_STEP: usize = 16;

/// What Metal says of a card.
pub(super) struct Facts {
    pub name: String,
    /// Bytes that it may use without slowing the machine down.
    pub memory_bytes: u64,
    /// Whether it has what the kernels use: warps of 32, votes and shuffles.
    pub is_apple_7: bool,
}

/// Every card of this Mac, by number.
pub(super) fn cards() -> Vec<Facts> {
    let facts = |card: Retained<ProtocolObject<dyn MTLDevice>>| Facts {
        name: card.name().to_string(),
        memory_bytes: card.recommendedMaxWorkingSetSize(),
        is_apple_7: card.supportsFamily(MTLGPUFamily::Apple7),
    };
    MTLCopyAllDevices().to_vec().into_iter().map(facts).collect()
}

/// An open card with every kernel compiled.
pub(super) struct Card {
    device: Device,
    card: Retained<ProtocolObject<dyn MTLDevice>>,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    kernels: BTreeMap<&'static str, Retained<ProtocolObject<dyn MTLComputePipelineState>>>,
    /// Launches that nobody has waited for yet, in order.
    under_way: Mutex<Vec<Launched>>,
}

/// A run of bytes that card and processor share.
pub(super) struct Memory {
    buffer: Retained<ProtocolObject<dyn MTLBuffer>>,
    n_bytes: usize,
}

// SAFETY: Metal counts references to a buffer atomically and lets any thread name it in a launch; its bytes are read
// and written only by `download`, after all launches, and by `upload`, before anyone else has the buffer.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// A launch that was handed over to the card.
struct Launched(Retained<ProtocolObject<dyn MTLCommandBuffer>>);

// SAFETY: after it was handed over, a command buffer is only waited for and asked how it ended, by one thread at a
// time: the list it stands in is behind a lock.
unsafe impl Send for Launched {}

impl Launched {
    /// Waits for its end; what went wrong, if anything did.
    fn end(&self) -> Option<String> {
        self.0.waitUntilCompleted();
        (self.0.status() == MTLCommandBufferStatus::Error)
            .then(|| self.0.error().map_or_else(|| "a launch failed".to_owned(), |error| words(&error)))
    }
}

fn words(error: &NSError) -> String {
    error.localizedDescription().to_string()
}

impl Card {
    /// Opens card `number` and compiles every kernel.
    ///
    /// # Errors
    /// [`Error::Missing`] for a number that no card has, [`Error::Compute`] with what the compiler says.
    pub(super) fn open(number: u32) -> Result<Self> {
        let device = Device::Metal(number);
        let missing = |reason: &str| Error::Missing { device: device.to_string(), reason: reason.to_owned() };
        let cards = MTLCopyAllDevices().to_vec();
        let card = usize::try_from(number).ok().and_then(|number| cards.into_iter().nth(number));
        let card = card.ok_or_else(|| missing("this machine has no such card"))?;
        let queue = card.newCommandQueue().ok_or_else(|| missing("Metal gives it no queue"))?;
        let mut opened = Self { device, card, queue, kernels: BTreeMap::new(), under_way: Mutex::default() };
        for source in SOURCES {
            opened.compile(&source)?;
        }
        Ok(opened)
    }

    fn compile(&mut self, source: &Source) -> Result<()> {
        let options = MTLCompileOptions::new();
        options.setLanguageVersion(MTLLanguageVersion::Version3_0);
        // Scores are bits that other devices must give too: no operation may be reordered or fused. The newer
        // setting of this name is not known to macOS 14 and before.
        #[allow(deprecated)]
        options.setFastMathEnabled(false);
        let text = NSString::from_str(&source.whole());
        let library = self.card.newLibraryWithSource_options_error(&text, Some(&options));
        let library = library.map_err(|error| self.failed(&words(&error)))?;
        for &name in source.kernels {
            let function = library.newFunctionWithName(&NSString::from_str(name));
            let function = function.ok_or_else(|| self.failed(&format!("kernel {name} is not in its source")))?;
            let kernel = self.card.newComputePipelineStateWithFunction_error(&function);
            let kernel = kernel.map_err(|error| self.failed(&words(&error)))?;
            if kernel.threadExecutionWidth() != WARP {
                let reason = format!("its warps have {} threads and not {WARP}", kernel.threadExecutionWidth());
                return Err(Error::Missing { device: self.device.to_string(), reason });
            }
            self.kernels.insert(name, kernel);
        }
        Ok(())
    }

    fn failed(&self, words: &str) -> Error {
        Error::Compute { reason: format!("{}: {words}", self.device) }
    }

    fn memory(&self, buffer: Option<Retained<ProtocolObject<dyn MTLBuffer>>>, n_bytes: usize) -> Result<Memory> {
        let none = || Error::OutOfMemory { device: self.device.to_string(), bytes: n_bytes as u64 };
        Ok(Memory { buffer: buffer.ok_or_else(none)?, n_bytes })
    }

    /// Waits for every launch so far.
    fn wait(&self) -> Result<()> {
        // The lock is held while waiting: who comes next must not read before these have ended.
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let failures: Vec<String> = under_way.drain(..).filter_map(|launched| launched.end()).collect();
        failures.first().map_or(Ok(()), |words| Err(self.failed(words)))
    }
}

impl Engine for Card {
    type Memory = Memory;

    fn device(&self) -> Device {
        self.device
    }

    fn room(&self) -> Result<Room> {
        let used = self.card.currentAllocatedSize() as u64;
        Ok(Room {
            free_bytes: self.card.recommendedMaxWorkingSetSize().saturating_sub(used),
            shared_bytes_max: u32::try_from(self.card.maxThreadgroupMemoryLength()).unwrap_or(u32::MAX),
        })
    }

    fn upload(&self, bytes: &[u8]) -> Result<Memory> {
        if bytes.is_empty() {
            return self.zeros(0);
        }
        let from = NonNull::from(bytes).cast::<c_void>();
        // SAFETY: `from` is `bytes.len()` readable bytes, which Metal copies before it returns.
        let buffer = unsafe {
            self.card.newBufferWithBytes_length_options(from, bytes.len(), MTLResourceOptions::StorageModeShared)
        };
        self.memory(buffer, bytes.len())
    }

    fn zeros(&self, n_bytes: usize) -> Result<Memory> {
        // Metal gives no memory of no bytes, and clears what it gives.
        let buffer = self.card.newBufferWithLength_options(n_bytes.max(1), MTLResourceOptions::StorageModeShared);
        self.memory(buffer, n_bytes)
    }

    fn has(&self, kernel: &str) -> bool {
        self.kernels.contains_key(kernel)
    }

    fn download(&self, memory: &Memory, bytes: &mut [u8]) -> Result<()> {
        assert!(memory.n_bytes >= bytes.len(), "{} bytes of {}", bytes.len(), memory.n_bytes);
        self.wait()?;
        let from = memory.buffer.contents().cast::<u8>().as_ptr();
        // SAFETY: the buffer has `n_bytes` bytes, at least as many as `bytes`; no launch that could write to them is under
        // way, and nothing of it overlaps memory of Rust's.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn launch(&self, kernel: &'static str, grid: Grid, arguments: &[Argument<'_, Memory>]) -> Result<()> {
        let unknown = || self.failed(&format!("kernel {kernel} is not in this build"));
        let pipeline = self.kernels.get(kernel).ok_or_else(unknown)?;
        let (blocks, threads) = (grid.blocks as usize, grid.threads as usize);
        let shared_bytes = (grid.shared_bytes as usize).next_multiple_of(SHARED_STEP).max(SHARED_STEP);
        assert!(blocks > 0 && threads.is_multiple_of(WARP), "{kernel}: {grid:?}");
        assert!(threads <= pipeline.maxTotalThreadsPerThreadgroup(), "{kernel}: {grid:?}");
        let fixed = pipeline.staticThreadgroupMemoryLength();
        assert!(shared_bytes + fixed <= self.card.maxThreadgroupMemoryLength(), "{kernel}: {grid:?}");
        // Metal leaves objects to whoever empties a pool; a thread of ours has none otherwise.
        let launched = autoreleasepool(|_| {
            let commands = self.queue.commandBuffer()?;
            let encoder = commands.computeCommandEncoder()?;
            encoder.setComputePipelineState(pipeline);
            for (idx, argument) in arguments.iter().enumerate() {
                // SAFETY: `idx` is that of a parameter, of which no kernel has more than Metal allows; a buffer
                // lives until the launch has ended, because the command buffer holds it; bytes are copied at once.
                unsafe {
                    match argument {
                        Argument::Memory(memory) => encoder.setBuffer_offset_atIndex(Some(&memory.buffer), 0, idx),
                        Argument::Value(bytes) => {
                            encoder.setBytes_length_atIndex(NonNull::from(*bytes).cast(), bytes.len(), idx);
                        }
                    }
                }
            }
            // SAFETY: every kernel has one run of shared memory, at 0, and its length was checked above.
            unsafe { encoder.setThreadgroupMemoryLength_atIndex(shared_bytes, 0) };
            let one_dimension = |width: usize| MTLSize { width, height: 1, depth: 1 };
            encoder.dispatchThreadgroups_threadsPerThreadgroup(one_dimension(blocks), one_dimension(threads));
            encoder.endEncoding();
            commands.commit();
            Some(Launched(commands))
        });
        let launched = launched.ok_or_else(|| self.failed("Metal takes no more launches"))?;
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).push(launched);
        Ok(())
    }
}
