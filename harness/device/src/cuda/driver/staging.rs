//! Copying between device memory and the host's, a chunk at a time through page-locked memory: the
//! device copies from and to it several times as fast as from and to other memory. While one chunk
//! is compared or copied on, the next one is under way.
#![allow(unsafe_code)]

use crate::api::{COMPARE_CHUNK_BYTES, Result, difference};
use crate::cuda::ffi;
use cudarc::driver::sys::{CUdeviceptr, CUevent, CUstream};
use std::ffi::c_void;

const ACTION: &str = "copy device memory";

/// A chunk: its offset in the memory, its bytes, and the buffer that it is copied to.
type Chunk = (usize, usize, usize);

/// The chunks of so many bytes. The buffers take turns.
fn chunks(bytes: usize) -> impl Iterator<Item = Chunk> {
    let offsets = (0..bytes).step_by(COMPARE_CHUNK_BYTES);
    offsets
        .zip([0, 1].into_iter().cycle())
        .map(move |(offset, buffer)| (offset, (bytes - offset).min(COMPARE_CHUNK_BYTES), buffer))
}

/// Two buffers in host memory that are filled in turns.
pub struct Staging {
    buffers: [Buffer; 2],
}

struct Buffer {
    /// [`COMPARE_CHUNK_BYTES`] of page-locked memory.
    memory: *mut c_void,
    /// Recorded after a copy into the memory.
    copied: CUevent,
}

/// Page-locked memory of [`COMPARE_CHUNK_BYTES`], and its address on the device.
pub struct PageLocked {
    pub host: *mut c_void,
    pub device: CUdeviceptr,
}

impl PageLocked {
    /// The memory from this byte on.
    ///
    /// # Safety
    /// The memory has more bytes than that.
    pub unsafe fn at(&self, byte: usize) -> PageLocked {
        PageLocked {
            // SAFETY: the caller's promise.
            host: unsafe { self.host.byte_add(byte) },
            device: self.device + byte as u64,
        }
    }
}

impl Staging {
    /// The two buffers. Nothing else uses them until the next call of a method of `self`.
    pub fn page_locked(&mut self) -> Result<[PageLocked; 2]> {
        let of = |buffer: &Buffer| {
            let (host, mut device) = (buffer.memory, 0);
            // An upload may still read it.
            // SAFETY: the event lives as long as `self`.
            unsafe { ffi::cuEventSynchronize(buffer.copied) }.check(ACTION)?;
            // SAFETY: `device` is a live address to write to, and the memory is page-locked.
            unsafe { ffi::cuMemHostGetDevicePointer_v2(&mut device, host, 0) }
                .check("find page-locked memory on the device")
                .map(|()| PageLocked { host, device })
        };
        let [first, second] = &self.buffers;
        Ok([of(first)?, of(second)?])
    }

    /// Allocates the buffers in the context that is current.
    pub fn new() -> Result<Self> {
        let mut staging = Staging {
            buffers: [(); 2].map(|()| Buffer {
                memory: std::ptr::null_mut(),
                copied: std::ptr::null_mut(),
            }),
        };
        for buffer in &mut staging.buffers {
            // SAFETY: both pointers are to live handles to write to. Where one of the calls fails,
            // `drop` frees what the others have made.
            unsafe {
                let code = ffi::cuMemAllocHost_v2(&mut buffer.memory, COMPARE_CHUNK_BYTES);
                code.check("get page-locked memory")?;
                std::ptr::write_bytes(buffer.memory.cast::<u8>(), 0, COMPARE_CHUNK_BYTES);
                ffi::cuEventCreate(&mut buffer.copied, 0).check("create an event")?;
            }
        }
        Ok(staging)
    }

    /// Returns the offset of the first byte at which memory at `address` differs from `expected`.
    ///
    /// # Safety
    /// The memory is allocated, and the stream is live and belongs to the context in which the
    /// buffers were made.
    pub unsafe fn first_difference(
        &mut self,
        stream: CUstream,
        address: u64,
        expected: &[u8],
    ) -> Result<Option<usize>> {
        let mut found = None;
        // SAFETY: the caller's promise.
        unsafe {
            self.each_chunk(stream, address, expected.len(), |offset, actual| {
                let expected = &expected[offset..offset + actual.len()];
                found = difference(actual, expected).map(|at| offset + at);
                found.is_none()
            })?;
        }
        Ok(found)
    }

    /// Copies memory at `address` to the host.
    ///
    /// # Safety
    /// As [`Staging::first_difference`].
    pub unsafe fn download(&mut self, stream: CUstream, address: u64, bytes: &mut [u8]) -> Result {
        // SAFETY: the caller's promise.
        unsafe {
            self.each_chunk(stream, address, bytes.len(), |offset, actual| {
                bytes[offset..offset + actual.len()].copy_from_slice(actual);
                true
            })
        }
    }

    /// Copies bytes to memory at `address`. They are there when the stream has ended its work.
    ///
    /// # Safety
    /// As [`Staging::first_difference`].
    pub unsafe fn upload(&mut self, stream: CUstream, address: u64, bytes: &[u8]) -> Result {
        for (offset, length, buffer) in chunks(bytes.len()) {
            let buffer = &self.buffers[buffer];
            // SAFETY: the event and the memory live as long as `self`. After the event no copy out
            // of this buffer is under way, and a chunk is no longer than the buffer. The caller
            // promises that the range is allocated.
            unsafe {
                ffi::cuEventSynchronize(buffer.copied).check(ACTION)?;
                let content = bytes[offset..offset + length].as_ptr();
                std::ptr::copy_nonoverlapping(content, buffer.memory.cast::<u8>(), length);
                ffi::cuMemcpyHtoDAsync_v2(address + offset as u64, buffer.memory, length, stream)
                    .check(ACTION)?;
                ffi::cuEventRecord(buffer.copied, stream).check(ACTION)?;
            }
        }
        Ok(())
    }

    /// Hands each chunk of memory at `address` with its offset to `take`, until that returns false.
    ///
    /// # Safety
    /// As [`Staging::first_difference`].
    unsafe fn each_chunk(
        &mut self,
        stream: CUstream,
        address: u64,
        bytes: usize,
        mut take: impl FnMut(usize, &[u8]) -> bool,
    ) -> Result {
        let mut chunks = chunks(bytes);
        let mut current = chunks.next();
        let mut goes_on = true;
        // SAFETY: the caller's promise. The stream has ended its copies out of this buffer before
        // it copies into it.
        unsafe { self.copy(stream, address, current)? };
        while let Some((offset, length, buffer)) = current {
            current = chunks.next().filter(|_| goes_on);
            // SAFETY: the caller's promise. This is the other buffer, whose last copy was waited
            // for one round ago.
            unsafe { self.copy(stream, address, current)? };
            let buffer = &self.buffers[buffer];
            // SAFETY: the event and the memory live as long as `self`. A chunk is no longer than
            // the memory, which is initialised. After the event the copy has ended, and the next
            // one into this buffer begins in the next round, when `actual` is gone.
            let actual = unsafe {
                ffi::cuEventSynchronize(buffer.copied).check(ACTION)?;
                std::slice::from_raw_parts(buffer.memory.cast::<u8>(), length)
            };
            goes_on = goes_on && take(offset, actual);
        }
        Ok(())
    }

    /// Begins the copy of a chunk into its buffer.
    ///
    /// # Safety
    /// As [`Staging::first_difference`], and nothing reads or writes the buffer until the copy was
    /// waited for.
    unsafe fn copy(&mut self, stream: CUstream, address: u64, chunk: Option<Chunk>) -> Result {
        let Some((offset, length, buffer)) = chunk else {
            return Ok(());
        };
        let (address, buffer) = (address + offset as u64, &self.buffers[buffer]);
        // SAFETY: the caller promises that the range is allocated and nobody uses the buffer. A
        // chunk is no longer than the buffer, which lives until `drop`; freeing it there waits for
        // the copy.
        unsafe {
            ffi::cuMemcpyDtoHAsync_v2(buffer.memory, address, length, stream).check(ACTION)?;
            ffi::cuEventRecord(buffer.copied, stream).check(ACTION)
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for buffer in &self.buffers {
            // SAFETY: each handle was made once and is freed once, or it is null, which the driver
            // refuses. `cuMemFreeHost` waits for copies that are under way. If a kernel has broken
            // the context, both calls fail, and nothing is left to do about that.
            unsafe {
                ffi::cuMemFreeHost(buffer.memory);
                ffi::cuEventDestroy_v2(buffer.copied);
            }
        }
    }
}
