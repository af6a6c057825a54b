//! The emulated device: the host C++ compiler builds `kernel.cu` against a small header that
//! speaks CUDA, and every CUDA thread is a coroutine scheduled here.

mod abi;
mod block;
mod build;
mod calls;
mod driver;
mod headers;
mod launch;
mod lex;
mod report;
mod rewrite;
mod shared;
mod signal;
mod stacks;
#[cfg(test)]
mod tests;
mod worker;

use super::{Builder, DeviceError, Driver};

/// The host compiler, `$CXX` or the first of `g++`, `clang++`, `c++` on the path.
pub fn builder() -> Result<Box<dyn Builder>, DeviceError> {
    Ok(Box::new(build::Host::find(std::env::var_os("CXX"))?))
}

pub fn open() -> Result<Box<dyn Driver>, DeviceError> {
    Ok(Box::new(driver::Cpu::open()?))
}
