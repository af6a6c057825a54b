//! The driver itself: whether it is here, which version, which devices, and its errors in words.
#![allow(unsafe_code)]

use super::{calls, errors};
use crate::api::DeviceError;
use cudarc::driver::sys;
use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

/// Whether the driver's library is here; the error says what to do where it is not.
fn present() -> Result<(), DeviceError> {
    if calls::library().is_some() {
        return Ok(());
    }
    Err(DeviceError::Unavailable(
        "there is no NVIDIA driver here (libcuda.so.1 was not found). Install it, or set device = \"cpu\" \
         in lab.toml; in a container, start it with the GPU passed in."
            .into(),
    ))
}

/// Initialises the driver, once in a process.
fn initialise() -> Result<(), DeviceError> {
    static RESULT: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    // SAFETY: the library is there; 0 is the only flag that exists.
    let first = || check(unsafe { calls::cuInit(0) }, "initialise the NVIDIA driver");
    present()?;
    RESULT.get_or_init(first).clone()
}

/// The CUDA version that the driver supports, as in (13, 0). Does not initialise the driver, which
/// can take a second.
pub fn version() -> Result<(u32, u32), DeviceError> {
    present()?;
    let mut version = 0;
    // SAFETY: the pointer is to a live integer.
    check(unsafe { calls::cuDriverGetVersion(&mut version) }, "ask the driver for its version")?;
    Ok((version as u32 / 1000, version as u32 % 1000 / 10))
}

/// The names of the devices, by ordinal. Makes no context.
pub fn devices() -> Result<Vec<String>, DeviceError> {
    initialise()?;
    let mut count = 0;
    // SAFETY: the pointer is to a live integer.
    check(unsafe { calls::cuDeviceGetCount(&mut count) }, "count the CUDA devices")?;
    (0..count).map(|ordinal| name(device(ordinal)?)).collect()
}

/// Their identifiers, by ordinal.
pub fn uuids() -> Result<Vec<String>, DeviceError> {
    (0..devices()?.len()).map(|ordinal| uuid(device(ordinal as c_int)?)).collect()
}

pub fn device(ordinal: c_int) -> Result<sys::CUdevice, DeviceError> {
    let mut device = 0;
    // SAFETY: the pointer is to a live handle.
    check(unsafe { calls::cuDeviceGet(&mut device, ordinal) }, &format!("find the device cuda:{ordinal}"))?;
    Ok(device)
}

fn name(device: sys::CUdevice) -> Result<String, DeviceError> {
    let mut bytes = [0u8; 256];
    // SAFETY: the buffer has the length that is given.
    let code = unsafe { calls::cuDeviceGetName(bytes.as_mut_ptr().cast(), bytes.len() as c_int, device) };
    check(code, "ask for the device's name")?;
    let name = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// As `nvidia-smi -L` and NVML write it.
pub fn uuid(device: sys::CUdevice) -> Result<String, DeviceError> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: the pointer is to a live identifier.
    check(unsafe { calls::cuDeviceGetUuid_v2(&mut uuid, device) }, "ask for the device's identifier")?;
    Ok(in_hex(&uuid.bytes.map(|b| b as u8)))
}

/// `GPU-8932f937-d72c-4106-c12f-20bd9faed9f6`.
fn in_hex(bytes: &[u8; 16]) -> String {
    let groups = [0..4, 4..6, 6..8, 8..10, 10..16]
        .map(|range| -> String { bytes[range].iter().map(|b| format!("{b:02x}")).collect() });
    format!("GPU-{}", groups.join("-"))
}

/// The CUDA version that the driver supports, and its own where the kernel tells it: a cache of
/// what the device can do is of one driver alone.
pub fn driver_in_words((major, minor): (u32, u32)) -> String {
    let own = std::fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    let own = if own.trim().is_empty() { String::new() } else { format!(", driver {}", own.trim()) };
    format!("CUDA {major}.{minor}{own}")
}

/// An error of the driver in words, with the driver's own beside them.
pub fn check(code: u32, doing: &str) -> Result<(), DeviceError> {
    if code == calls::CUDA_SUCCESS {
        return Ok(());
    }
    let text = |get: unsafe fn(u32, *mut *const std::ffi::c_char) -> u32| {
        let mut text = std::ptr::null();
        // SAFETY: the driver hands out a static string, or fails and leaves the pointer null.
        unsafe {
            let known = get(code, &mut text) == calls::CUDA_SUCCESS && !text.is_null();
            known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    let name = text(calls::cuGetErrorName).unwrap_or_else(|| format!("error {code}"));
    let says = text(calls::cuGetErrorString).unwrap_or_default();
    Err(errors::explain(code, doing, format!("{name}: {says}").trim_end_matches(": ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_written_as_nvidia_smi_does() {
        let bytes: [u8; 16] = std::array::from_fn(|i| 0x10 * (i as u8) + 1);
        assert_eq!(in_hex(&bytes), "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
    }
}
