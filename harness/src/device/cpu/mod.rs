//! The emulated device: the host C++ compiler builds `kernel.cu` against a small header that
//! speaks CUDA, and every CUDA thread is a coroutine scheduled here.

use super::{Builder, DeviceError, Driver};

/// The host compiler, `$CXX` or the first of `g++`, `clang++`, `c++` on the path.
pub fn builder() -> Result<Box<dyn Builder>, DeviceError> {
    Err(DeviceError::Unavailable("the cpu device is not there yet".into()))
}

pub fn open() -> Result<Box<dyn Driver>, DeviceError> {
    Err(DeviceError::Unavailable("the cpu device is not there yet".into()))
}
