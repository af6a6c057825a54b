//! Memory of the cpu device that two processes map.
#![allow(unsafe_code)]

use crate::api::DeviceError;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};

/// A mapping of all of a file in memory, which ends when it is dropped.
pub struct Mapped {
    address: *mut c_void,
    bytes: usize,
}

impl Mapped {
    /// Makes so many bytes of zeros, and returns them with the descriptor for another process,
    /// which cannot change their number: an access behind the end would kill this process.
    pub fn allocate(bytes: usize) -> Result<(Mapped, OwnedFd), DeviceError> {
        let made = memfd_create(c"lab", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
        let made = made.and_then(|file| {
            ftruncate(&file, bytes.max(1) as u64)?;
            fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            Ok((map(&file, bytes, false)?, file))
        });
        made.map_err(|error| failed(bytes, error))
    }

    /// Maps what [`Mapped::allocate`] has made.
    pub fn import(
        memory: &OwnedFd,
        bytes: usize,
        is_read_only: bool,
    ) -> Result<Mapped, DeviceError> {
        map(memory, bytes, is_read_only).map_err(|error| failed(bytes, error))
    }

    pub fn address(&self) -> u64 {
        self.address as u64
    }
}

fn map(file: impl AsFd, bytes: usize, is_read_only: bool) -> Result<Mapped, Errno> {
    let bytes = bytes.max(1);
    let access = match is_read_only {
        true => ProtFlags::READ,
        false => ProtFlags::READ | ProtFlags::WRITE,
    };
    // SAFETY: the kernel selects the address, so the mapping replaces none.
    let address = unsafe {
        mmap(
            std::ptr::null_mut(),
            bytes,
            access,
            MapFlags::SHARED,
            file,
            0,
        )?
    };
    Ok(Mapped { address, bytes })
}

fn failed(bytes: usize, error: Errno) -> DeviceError {
    DeviceError::Driver(format!(
        "could not get {bytes} bytes of memory for the cpu device: {error}. End another process or make the problem smaller."
    ))
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the range was mapped as a whole, and nothing else ends the mapping. Only its
        // address was handed out, and the driver hands it to nobody any more.
        let _ = unsafe { munmap(self.address, self.bytes) };
    }
}
