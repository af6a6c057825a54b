//! Memory of the cpu device that two processes map.
#![allow(unsafe_code)]

use crate::api::DeviceError;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};

/// Bytes before and behind a kernel's mapping in which every access ends the process, as on a GPU:
/// other memory of the process could lie there.
const AROUND: usize = 2 << 20;

/// A mapping of all of a file in memory, which ends when it is dropped.
pub struct Mapped {
    address: *mut c_void,
    /// All that is mapped, with what no access reaches.
    whole: (*mut c_void, usize),
}

// SAFETY: a mapping belongs to the process, and nothing else ends this one.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Makes so many bytes of zeros, and returns them with the descriptor for another process,
    /// which cannot change their number: an access behind the end would kill this process.
    pub fn allocate(bytes: usize) -> Result<(Mapped, OwnedFd), DeviceError> {
        let made = memfd_create(c"lab", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
        let made = made.and_then(|file| {
            ftruncate(&file, bytes.max(1) as u64)?;
            fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            Ok((map(&file, bytes, false, 0)?, file))
        });
        made.map_err(|error| failed(bytes, error))
    }

    /// Maps what [`Mapped::allocate`] has made.
    pub fn import(
        memory: &OwnedFd,
        bytes: usize,
        is_read_only: bool,
    ) -> Result<Mapped, DeviceError> {
        map(memory, bytes, is_read_only, AROUND).map_err(|error| failed(bytes, error))
    }

    pub fn address(&self) -> u64 {
        self.address as u64
    }
}

/// Maps a file of so many bytes, with `around` bytes before and behind it that no access reaches.
fn map(file: impl AsFd, bytes: usize, is_read_only: bool, around: usize) -> Result<Mapped, Errno> {
    let bytes = bytes.max(1);
    let access = if is_read_only {
        ProtFlags::READ
    } else {
        ProtFlags::READ | ProtFlags::WRITE
    };
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let whole = bytes + 2 * around;
    // SAFETY: Linux selects the address of the first mapping, so that it replaces none. The second
    // one replaces a part of the first, of which nobody has the address yet.
    unsafe {
        let begin = mmap_anonymous(std::ptr::null_mut(), whole, ProtFlags::empty(), flags)?;
        let address = begin.byte_add(around);
        let mapped = Mapped {
            address,
            whole: (begin, whole),
        };
        mmap(
            address,
            bytes,
            access,
            MapFlags::SHARED | MapFlags::FIXED,
            file,
            0,
        )?;
        Ok(mapped)
    }
}

fn failed(bytes: usize, error: Errno) -> DeviceError {
    DeviceError::Driver(format!(
        "could not get {bytes} bytes of memory for the cpu device: {error}. End another process or make the problem smaller."
    ))
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let (begin, bytes) = self.whole;
        // SAFETY: the range was mapped as a whole, and nothing else ends the mapping. Only its
        // address was handed out, and the driver hands it to nobody any more.
        let _ = unsafe { munmap(begin, bytes) };
    }
}
