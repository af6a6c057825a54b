//! The driver: whether it is installed, its version, its devices.
#![allow(unsafe_code)]

use super::ffi::{self, Code};
use crate::api::{DeviceError, Result};
use cudarc::driver::sys;
use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

/// Fails where the driver's library is not installed; the error says what to do.
fn present() -> Result {
    let missing = "there is no NVIDIA driver here (libcuda.so.1 was not found). Install it, or set device = \"cpu\" \
                   in lab.toml; in a container, start it with the GPU passed in.";
    let library = ffi::library().as_ref();
    library
        .map(drop)
        .map_err(|_| DeviceError::Unavailable(missing.into()))
}

/// Initialises the driver, once per process.
fn initialise() -> Result {
    present()?;
    check_initialised(initialise_code())
}

/// [`initialise`] as the code that the driver returns.
pub fn initialise_code() -> Code {
    static CODE: OnceLock<Code> = OnceLock::new();
    // SAFETY: `cuInit` may be called at any time. 0 is the only valid flag.
    *CODE.get_or_init(|| unsafe { ffi::cuInit(0) })
}

/// Turns the code of [`initialise_code`] into an error.
pub fn check_initialised(code: Code) -> Result {
    code.check("initialise the NVIDIA driver")
}

/// Returns the CUDA version that the driver supports, such as (13, 0). Does not initialise the
/// driver, which can take a second.
pub fn version() -> Result<(u32, u32)> {
    present()?;
    let mut version = 0;
    // SAFETY: `version` is a live integer to write to.
    unsafe { ffi::cuDriverGetVersion(&mut version) }.check("ask the driver for its version")?;
    Ok((version as u32 / 1000, version as u32 % 1000 / 10))
}

/// Returns the names of the devices, by ordinal. Creates no context.
pub fn devices() -> Result<Vec<String>> {
    initialise()?;
    let mut count = 0;
    // SAFETY: `count` is a live integer to write to.
    unsafe { ffi::cuDeviceGetCount(&mut count) }.check("count the CUDA devices")?;
    (0..count).map(|ordinal| name(device(ordinal)?)).collect()
}

/// Returns the identifiers of the devices, by ordinal.
pub fn uuids() -> Result<Vec<String>> {
    (0..devices()?.len())
        .map(|ordinal| uuid(device(ordinal as c_int)?))
        .collect()
}

/// Returns the handle of a device.
pub fn device(ordinal: c_int) -> Result<sys::CUdevice> {
    let mut device = 0;
    // SAFETY: `device` is a live handle to write to.
    unsafe { ffi::cuDeviceGet(&mut device, ordinal) }
        .check(&format!("find the device cuda:{ordinal}"))?;
    Ok(device)
}

fn name(device: sys::CUdevice) -> Result<String> {
    let mut bytes = [0u8; 256];
    // SAFETY: `bytes` is a live buffer of the given length to write to.
    unsafe { ffi::cuDeviceGetName(bytes.as_mut_ptr().cast(), bytes.len() as c_int, device) }
        .check("ask for the device's name")?;
    let name = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// Returns the device's identifier as `nvidia-smi -L` and NVML write it.
pub fn uuid(device: sys::CUdevice) -> Result<String> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: `uuid` is a live struct to write to.
    unsafe { ffi::cuDeviceGetUuid_v2(&mut uuid, device) }
        .check("ask for the device's identifier")?;
    Ok(format_uuid(&uuid.bytes.map(|b| b as u8)))
}

/// Formats 16 bytes as in `GPU-8932f937-d72c-4106-c12f-20bd9faed9f6`.
fn format_uuid(bytes: &[u8; 16]) -> String {
    let groups = [0..4, 4..6, 6..8, 8..10, 10..16]
        .map(|range| -> String { bytes[range].iter().map(|b| format!("{b:02x}")).collect() });
    format!("GPU-{}", groups.join("-"))
}

/// Returns the CUDA version that the driver supports, and the driver's own version where the kernel
/// module reports it. The cache of a device's measured limits is valid for one driver version.
pub fn driver_version((major, minor): (u32, u32)) -> String {
    let own = std::fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    let own = if own.trim().is_empty() {
        String::new()
    } else {
        format!(", driver {}", own.trim())
    };
    format!("CUDA {major}.{minor}{own}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_written_as_nvidia_smi_does() {
        let bytes: [u8; 16] = std::array::from_fn(|i| 0x10 * (i as u8) + 1);
        assert_eq!(
            format_uuid(&bytes),
            "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1"
        );
    }
}
