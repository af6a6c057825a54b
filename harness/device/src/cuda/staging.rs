//! Comparing device memory with what it should hold, a piece at a time: while one piece is compared, the next one is
//! on its way. The pieces come to page-locked memory, which the copy reaches several times as fast as any other.
#![allow(unsafe_code)]

use super::calls;
use super::devices::check;
use crate::api::{COMPARE_CHUNK_BYTES, DeviceError};
use cudarc::driver::sys::{CUevent, CUstream};
use std::ffi::c_void;

const DOING: &str = "compare device memory";

/// Two pieces of host memory that are filled in turns.
pub struct Staging {
    pieces: [Piece; 2],
}

struct Piece {
    memory: *mut c_void,
    /// After the copy into it.
    copied: CUevent,
}

impl Staging {
    /// In the context that is current.
    pub fn new() -> Result<Self, DeviceError> {
        let mut staging = Staging {
            pieces: [(); 2].map(|()| Piece { memory: std::ptr::null_mut(), copied: std::ptr::null_mut() }),
        };
        for piece in &mut staging.pieces {
            // SAFETY: both pointers are to live handles. What was made before a failure is given back in `drop`.
            unsafe {
                check(
                    calls::cuMemAllocHost_v2(&mut piece.memory, COMPARE_CHUNK_BYTES),
                    "get page-locked memory",
                )?;
                check(calls::cuEventCreate(&mut piece.copied, 0), "make an event")?;
            }
        }
        Ok(staging)
    }

    /// Where memory at `address` first differs from `right`.
    pub fn first_difference(
        &mut self,
        stream: CUstream,
        address: u64,
        right: &[u8],
    ) -> Result<Option<usize>, DeviceError> {
        let mut starts = (0..)
            .step_by(COMPARE_CHUNK_BYTES)
            .zip(right.chunks(COMPARE_CHUNK_BYTES))
            .zip([0, 1].into_iter().cycle());
        let mut under_way = starts.next();
        self.ask(stream, address, under_way)?;
        let mut found = None;
        while let Some(((at, right), turn)) = under_way {
            under_way = starts.next().filter(|_| found.is_none());
            self.ask(stream, address, under_way)?;
            let piece = &self.pieces[turn];
            // SAFETY: the event lives as long as `self`; after it the piece holds as many bytes as were asked for, and
            // nothing writes to it until it is asked for again.
            let now = unsafe {
                check(calls::cuEventSynchronize(piece.copied), DOING)?;
                std::slice::from_raw_parts(piece.memory.cast::<u8>(), right.len())
            };
            if found.is_none() && now != right {
                found = now.iter().zip(right).position(|(a, b)| a != b).map(|i| at + i);
            }
        }
        Ok(found)
    }

    /// Begins a copy into a piece that nobody reads.
    fn ask(
        &mut self,
        stream: CUstream,
        address: u64,
        what: Option<((usize, &[u8]), usize)>,
    ) -> Result<(), DeviceError> {
        let Some(((at, right), turn)) = what else { return Ok(()) };
        let piece = &self.pieces[turn];
        // SAFETY: the piece holds COMPARE_CHUNK_BYTES bytes, no chunk is longer, and it lives until the copy was waited for; the driver
        // checks the address.
        unsafe {
            check(
                calls::cuMemcpyDtoHAsync_v2(piece.memory, address + at as u64, right.len(), stream),
                DOING,
            )?;
            check(calls::cuEventRecord(piece.copied, stream), DOING)
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for piece in &self.pieces {
            // SAFETY: each was made once or is null, which the driver refuses; it waits for copies under way itself. An
            // error of a context that a kernel has broken no longer matters.
            unsafe {
                calls::cuMemFreeHost(piece.memory);
                calls::cuEventDestroy_v2(piece.copied);
            }
        }
    }
}
