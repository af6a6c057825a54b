//! Where a kernel runs: [`cuda`] (NVRTC and the driver) or [`cpu`] (the same `kernel.cu`,
//! emulated).
//!
//! The judge sees a device through two small traits: a [`Builder`] compiles source into an
//! image (in the compiler process), and a [`Driver`] holds memory and launches kernels (in the
//! worker process). Memory is named by raw device addresses. The worker adds guard zones, poison
//! and the comparison of inputs on top, once for both devices.
//!
//! All unsafe code of the lab is in this crate, in the modules that say `allow(unsafe_code)`. The
//! crate knows no problem and no result line.
//!
//! # Example
//! ```
//! use lab_device::{BuildRequest, ExecutionOrder, Shape, builder, open};
//! use lab_protocol::{CompileOptions, Target};
//!
//! let folder = tempfile::tempdir()?;
//! let source = folder.path().join("kernel.cu");
//! std::fs::write(&source, r#"
//! extern "C" __global__ void twice(int* x) { x[threadIdx.x] *= 2; }
//! "#)?;
//! let built = builder(Target::Cpu)?.build(&BuildRequest {
//!     source,
//!     shown_as: "kernel.cu".into(),
//!     include_dirs: Vec::new(),
//!     defines: Vec::new(),
//!     options: CompileOptions::default(),
//!     sanitizer: None,
//!     problem_header: "struct LabDims {};\n".into(),
//!     arch: String::new(),
//!     cache_dir: folder.path().join("cache"),
//! })?;
//! let image = built.image.ok_or(built.log)?;
//!
//! let mut device = open(Target::Cpu)?;
//! let module = device.load(&image)?;
//! let kernel = device.entry(module, "twice")?.ok_or("no kernel 'twice'")?;
//! let x = device.alloc(4)?;
//! device.upload(x, &4u32.to_le_bytes())?;
//! let shape = Shape::default();
//! let seconds = device.launch(kernel, &shape, &[x.to_le_bytes().to_vec()], ExecutionOrder::Forward)?;
//! let mut bytes = [0; 4];
//! device.download(x, &mut bytes)?;
//! assert_eq!(u32::from_le_bytes(bytes), 8);
//! assert!(seconds > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod allocations;
mod api;
mod arguments;
pub mod build_cache;
pub mod confined;
pub mod cpu;
pub mod cuda;
mod image;
mod nvrtc_beside;
pub mod sandbox;
mod standard_headers;
pub mod telemetry;

pub use api::*;
pub use build_cache::own_build;
pub use cuda::{ILLEGAL_ADDRESS, findings};
pub use image::{allocators, image_kernels, image_target, watched_instructions};
pub use standard_headers::LAB_H;

use lab_protocol::Target;

/// Returns the device that [`Target::Auto`] stands for: the first CUDA device, or the cpu device
/// where there is none. Returns any other target unchanged.
///
/// ```
/// use lab_protocol::Target;
///
/// assert_eq!(lab_device::resolve(Target::Cpu), Target::Cpu);
/// assert_ne!(lab_device::resolve(Target::Auto), Target::Auto);
/// ```
pub fn resolve(target: Target) -> Target {
    match target {
        Target::Auto if cuda::available() => Target::Cuda(0),
        Target::Auto => Target::Cpu,
        Target::Cpu | Target::Cuda(_) => target,
    }
}

/// Returns the CUDA device that a target stands for where there is one. `None` if there is none for
/// sure. Does not initialise the driver, which takes 0.2 to 0.3 s on the host of an H200.
pub fn likely_cuda(target: Target) -> Option<Target> {
    match target {
        Target::Auto => cuda::has_driver().then_some(Target::Cuda(0)),
        Target::Cuda(_) => Some(target),
        Target::Cpu => None,
    }
}

/// Returns why [`Target::Auto`] stands for the cpu device although an NVIDIA driver is installed:
/// the driver's fault, and what to do. `None` for any other target, on a machine without a driver
/// or a GPU, and where the driver works.
pub fn why_not_cuda(target: Target) -> Option<String> {
    (target == Target::Auto && resolve(target) == Target::Cpu)
        .then(cuda::driver_fault)
        .flatten()
}

/// Returns why a machine has no device for a target, and what to do. Opens nothing.
pub fn missing(target: Target) -> Option<String> {
    match target {
        Target::Cuda(ordinal) => cuda::missing(ordinal),
        Target::Cpu | Target::Auto => None,
    }
}

/// Returns the compiler for a target. Fails with [`DeviceError::Unavailable`] where it is not
/// installed.
pub fn builder(target: Target) -> Result<Box<dyn Builder>> {
    builder_in(target, FolderTrust::Untrusted)
}

/// As [`builder`]. In a trusted folder NVRTC may also come from a `.venv` of the current folder.
pub fn builder_in(target: Target, folder: FolderTrust) -> Result<Box<dyn Builder>> {
    match resolve(target) {
        Target::Cuda(_) => Ok(Box::new(cuda::nvrtc_builder(folder)?)),
        Target::Cpu | Target::Auto => nvrtc_beside::builder(folder),
    }
}

/// Opens the device of a target. Fails with [`DeviceError::Unavailable`] where there is no such
/// device.
pub fn open(target: Target) -> Result<Box<dyn Driver>> {
    match resolve(target) {
        Target::Cuda(ordinal) => cuda::open(ordinal),
        Target::Cpu | Target::Auto => cpu::open(),
    }
}
