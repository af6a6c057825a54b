//! NVIDIA GPUs: NVRTC compiles to a cubin, and the driver API launches it. Both libraries are
//! loaded at run time, so the binary also starts on a machine without CUDA.

mod build;
mod devices;
mod driver;
mod errors;
mod fault;
mod ffi;
mod findings;
mod headers;
mod nvml;
mod nvrtc;
mod pch;
mod ptxas;
mod toolkit;

pub use build::NvrtcBuilder;
pub use driver::open;
pub use errors::ILLEGAL_ADDRESS;
pub use fault::driver_fault;
pub use findings::findings;
pub use nvml::telemetry;

use crate::api::{DeviceError, FolderTrust};
use toolkit::{SearchEnvironment, Toolkit};

/// Whether this machine has a CUDA driver. Does not initialise it.
pub fn has_driver() -> bool {
    devices::version().is_ok()
}

/// Whether this machine has a CUDA driver and at least one device.
pub fn available() -> bool {
    devices::devices().is_ok_and(|devices| !devices.is_empty())
}

/// Returns why this machine has no CUDA device with this ordinal, and what to do. Creates no context.
pub fn missing(ordinal: u32) -> Option<String> {
    let error = match devices::devices() {
        Ok(names) if names.len() > ordinal as usize => return None,
        Ok(names) => driver::no_such_device(ordinal, &names),
        Err(error) => error,
    };
    Some(error.to_string())
}

/// Returns a builder that uses NVRTC. It finds NVRTC by `CUDA_HOME`, in the usual folders, in the
/// loader's path, or in pip's wheels. Fails where there is none. Only in a current folder that the
/// user trusts, a `.venv` in it or above it counts, because loading a library runs its code.
pub fn nvrtc_builder(folder: FolderTrust) -> Result<NvrtcBuilder, DeviceError> {
    let toolkit = toolkits(folder).into_iter().next().ok_or_else(|| {
        let remedy = findings::install_nvrtc(folder);
        DeviceError::Unavailable(format!("there is no NVRTC here. {remedy}"))
    })?;
    NvrtcBuilder::new(toolkit)
}

/// As [`nvrtc_builder`], if the toolkit has the headers that kernels include. Says nothing about why
/// there is none: on the cpu device a kernel can do without.
pub fn nvrtc_with_headers(folder: FolderTrust) -> Option<NvrtcBuilder> {
    let toolkit = toolkits(folder).into_iter().next()?;
    let has_headers = toolkit.has_header("cooperative_groups.h");
    NvrtcBuilder::new(toolkit).ok().filter(|_| has_headers)
}

/// Returns every toolkit on this machine, the preferred one first. Those of the current folder only
/// if it is trusted.
fn toolkits(folder: FolderTrust) -> Vec<Toolkit> {
    let environment = SearchEnvironment {
        variable: &|name| std::env::var_os(name),
        current_dir: std::env::current_dir()
            .ok()
            .filter(|_| folder == FolderTrust::Trusted),
        root: "/".into(),
    };
    toolkit::find(
        &environment,
        devices::version().ok().map(|(major, _)| major),
    )
}
