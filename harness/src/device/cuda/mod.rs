//! NVIDIA GPUs: NVRTC to a cubin, and the driver API through cudarc, both loaded at run time.

use super::{Builder, DeviceError, Driver};

/// Whether a CUDA driver and at least one device are here. Never panics, never loads twice.
pub fn available() -> bool {
    false
}

/// NVRTC, found from `CUDA_HOME`, the loader's path, or pip's wheels.
pub fn builder() -> Result<Box<dyn Builder>, DeviceError> {
    Err(DeviceError::Unavailable("the cuda device is not there yet".into()))
}

pub fn open(_ordinal: u32) -> Result<Box<dyn Driver>, DeviceError> {
    Err(DeviceError::Unavailable("the cuda device is not there yet".into()))
}
