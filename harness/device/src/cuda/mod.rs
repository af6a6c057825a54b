//! NVIDIA GPUs: NVRTC to a cubin, and the driver API through cudarc, both loaded at run time, so
//! that the binary starts where no CUDA is installed.

mod build;
mod calls;
mod devices;
mod driver;
mod errors;
mod findings;
mod headers;
mod launch;
mod nvml;
mod nvrtc;
mod pch;
mod ptxas;
mod staging;
mod toolkit;

pub use build::NvrtcBuilder;
pub use findings::findings;

use crate::api::Telemetry;
use crate::api::{Builder, DeviceError, Driver};
use toolkit::{Surroundings, Toolkit};

/// Whether a CUDA driver and at least one device are here. Never panics, never loads twice.
pub fn available() -> bool {
    devices::devices().is_ok_and(|devices| !devices.is_empty())
}

/// NVRTC, found from `CUDA_HOME`, the usual folders, the loader's path, or pip's wheels.
pub fn builder() -> Result<Box<dyn Builder>, DeviceError> {
    Ok(Box::new(nvrtc_builder()?))
}

/// The same, with what only measurements and tests of this device need.
pub fn nvrtc_builder() -> Result<NvrtcBuilder, DeviceError> {
    let toolkit = toolkits().into_iter().next().ok_or_else(|| {
        DeviceError::Unavailable(format!("there is no NVRTC here. {}", findings::INSTALL_NVRTC))
    })?;
    NvrtcBuilder::new(toolkit)
}

/// Reads, through NVML, the state of the GPU with this identifier.
pub fn telemetry(uuid: &str) -> Result<impl Telemetry + use<>, String> {
    nvml::NvmlTelemetry::open(uuid)
}

pub fn open(ordinal: u32) -> Result<Box<dyn Driver>, DeviceError> {
    Ok(Box::new(driver::CudaDriver::open(ordinal)?))
}

/// Every toolkit on this machine, the one to use first.
fn toolkits() -> Vec<Toolkit> {
    let surroundings = Surroundings {
        variable: &|name| std::env::var_os(name),
        current_dir: std::env::current_dir().ok(),
        root: "/".into(),
    };
    toolkit::find(&surroundings, devices::version().ok().map(|(major, _)| major))
}
