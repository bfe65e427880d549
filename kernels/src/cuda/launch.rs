//! Every call of the driver that Rust cannot check, each behind a function that checks what it is given.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute, CUfunction_attribute_enum as FunctionAttribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::gpu::engine::{Argument, Engine, Grid, Room};
use crate::gpu::ptx::{MODULES, Parameter, parameters};
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

/// A loaded kernel and what it takes.
struct Kernel {
    function: CudaFunction,
    parameters: Vec<Parameter>,
}

/// An open card with every kernel loaded.
pub(super) struct Card {
    device: Device,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    kernels: BTreeMap<&'static str, Kernel>,
    shared_bytes_max: u32,
}

impl Card {
    /// Opens card `number` and loads every kernel.
    ///
    /// # Errors
    /// What the driver says.
    pub(super) fn open(number: u32) -> Result<Self> {
        let device = Device::Cuda(number);
        Self::load(device, number).map_err(|error| refused(device, error, 0))
    }

    fn load(device: Device, number: u32) -> std::result::Result<Self, DriverError> {
        let context = CudaContext::new(number as usize)?;
        // SAFETY: all work of this card goes through one stream, in order, so that no event is needed to wait for.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream()?;
        let shared = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let mut kernels = BTreeMap::new();
        for module in MODULES {
            let loaded = context.load_module(Ptx::from_src(module.text))?;
            for &name in module.kernels {
                let function = loaded.load_function(name)?;
                // What a kernel holds fixed counts against the same limit.
                let fixed = function.shared_size_bytes()?;
                let most = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                function.set_attribute(most, shared - fixed)?;
                let parameters = parameters(module.text, name).unwrap_or_default();
                kernels.insert(name, Kernel { function, parameters });
            }
        }
        let shared_bytes_max = u32::try_from(shared).unwrap_or(0);
        Ok(Self { device, context, stream, kernels, shared_bytes_max })
    }

    fn checked<T>(&self, done: std::result::Result<T, DriverError>, bytes: usize) -> Result<T> {
        done.map_err(|error| refused(self.device, error, bytes as u64))
    }
}

impl Engine for Card {
    type Memory = CudaSlice<u8>;

    fn device(&self) -> Device {
        self.device
    }

    fn has(&self, kernel: &str) -> bool {
        self.kernels.contains_key(kernel)
    }

    fn room(&self) -> Result<Room> {
        let (free, _) = self.checked(self.context.mem_get_info(), 0)?;
        Ok(Room { free_bytes: free as u64, shared_bytes_max: self.shared_bytes_max })
    }

    fn upload(&self, bytes: &[u8]) -> Result<CudaSlice<u8>> {
        // The driver gives no memory of no bytes.
        let bytes = if bytes.is_empty() { &[0][..] } else { bytes };
        self.checked(self.stream.clone_htod(bytes), bytes.len())
    }

    fn zeros(&self, n_bytes: usize) -> Result<CudaSlice<u8>> {
        self.checked(self.stream.alloc_zeros(n_bytes.max(1)), n_bytes)
    }

    fn download(&self, memory: &CudaSlice<u8>, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // Panics where there are fewer.
        let memory = memory.slice(..bytes.len());
        self.checked(self.stream.memcpy_dtoh(&memory, bytes), bytes.len())?;
        self.checked(self.stream.synchronize(), 0)
    }

    fn launch(&self, kernel: &'static str, grid: Grid, arguments: &[Argument<'_, CudaSlice<u8>>]) -> Result<()> {
        assert!(grid.blocks > 0 && grid.threads.is_multiple_of(32), "{kernel}: {grid:?}");
        assert!(grid.shared_bytes <= self.shared_bytes_max, "{kernel}: {grid:?}");
        let found = self.kernels.get(kernel).ok_or_else(|| Error::Compute {
            reason: format!("{}: kernel {kernel} is not in this build", self.device),
        })?;
        assert!(arguments.iter().map(Argument::parameter).eq(found.parameters.iter().copied()), "{kernel}");
        let mut launch = self.stream.launch_builder(&found.function);
        for argument in arguments {
            match argument {
                Argument::Memory(memory) => launch.arg(*memory),
                // The driver copies as many bytes as the parameter has, from the first one on.
                Argument::Value(bytes) => launch.arg(&bytes[0]),
            };
        }
        let config = LaunchConfig {
            grid_dim: (grid.blocks, 1, 1),
            block_dim: (grid.threads, 1, 1),
            shared_mem_bytes: grid.shared_bytes,
        };
        // SAFETY: the arguments were just held against the kernel's own text, and every memory is as long as the
        // kernel makes use of: the functions of `gpu`, which alone launch, size it by the same numbers that they
        // pass. All memory outlives the launch, because it is given back through the same stream.
        self.checked(unsafe { launch.launch(config) }.map(drop), 0)
    }
}
