//! Where a kernel runs: [`cuda`] (NVRTC and the driver) or [`cpu`] (the same `kernel.cu`, emulated).
//!
//! Two small traits are all that the judge sees of a device: a [`Builder`] turns source into an [`Image`] (in the
//! compiler process), a [`Driver`] holds memory and launches (in the worker process). Memory is named by raw device
//! addresses; the worker builds canary zones, poison and the comparison of inputs on top, once for both devices.
//!
//! All unsafe code of the lab is in this crate, in the modules that say `allow(unsafe_code)`. The crate knows no
//! problem and no result line.

mod api;
pub mod build_cache;
pub mod cpu;
pub mod cuda;
pub mod telemetry;

pub use api::{
    Arg, BuildRequest, Builder, Built, COMPARE_CHUNK_BYTES, DeviceError, DeviceInfo, Driver, Entry,
    ExecutionOrder, Finding, Image, Occupancy, POISON, Shape,
};

use lab_protocol::Target;

/// Makes [`Target::Auto`] concrete: the first CUDA device if there is one, else the cpu device.
pub fn resolve(target: Target) -> Target {
    match target {
        Target::Auto if cuda::available() => Target::Cuda(0),
        Target::Auto => Target::Cpu,
        other => other,
    }
}

/// The compiler for a target.
pub fn builder(target: Target) -> Result<Box<dyn Builder>, DeviceError> {
    match resolve(target) {
        Target::Cuda(_) => cuda::builder(),
        _ => cpu::builder(),
    }
}

/// Opens the device of a target.
pub fn open(target: Target) -> Result<Box<dyn Driver>, DeviceError> {
    match resolve(target) {
        Target::Cuda(ordinal) => cuda::open(ordinal),
        _ => cpu::open(),
    }
}

/// What this machine has for CUDA devices, and what is missing.
pub fn findings() -> Vec<Finding> {
    cuda::findings()
}
