//! Device memory: which addresses belong to an allocation.

use crate::api::DeviceError;
use crate::cuda::devices::check;
use crate::cuda::ffi;
use std::collections::BTreeMap;

/// The driver hands out memory in pages of this many bytes, and a kernel can access all of a page.
/// A usual allocation takes whole pages, so no other allocation lies on its last page, and its
/// owner can watch every byte of it.
pub const PAGE: usize = 2 << 20;

/// The live allocations by their address, with their bytes.
#[derive(Default)]
pub struct Allocations(BTreeMap<u64, usize>);

impl Allocations {
    /// Allocates whole pages in the context that is current.
    pub fn alloc_pages(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let allocated = bytes
            .max(1)
            .checked_next_multiple_of(PAGE)
            .unwrap_or(usize::MAX);
        self.alloc(allocated)
    }

    /// Allocates no more than `bytes` bytes in the context that is current. compute-sanitizer takes
    /// the size that the driver was asked for as the end of an allocation.
    pub fn alloc_exact(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        self.alloc(bytes.max(1))
    }

    /// Bytes of memory of the device whose context is current; 0 if the driver does not tell.
    pub fn device_memory() -> usize {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are live integers to write to. Where the call fails they stay 0.
        unsafe { ffi::cuMemGetInfo_v2(&mut free, &mut total) };
        total
    }

    fn alloc(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let mut address = 0;
        // SAFETY: `address` is a live integer to write to.
        let code = unsafe { ffi::cuMemAlloc_v2(&mut address, bytes) };
        if code == ffi::CUDA_ERROR_OUT_OF_MEMORY {
            let (mut free, mut total) = (0, 0);
            // SAFETY: both are live integers to write to. Where the call fails they stay 0.
            unsafe { ffi::cuMemGetInfo_v2(&mut free, &mut total) };
            let mib = |bytes: usize| bytes / (1 << 20);
            check(
                code,
                &format!(
                    "get {} MiB ({} of {} MiB are free)",
                    mib(bytes),
                    mib(free),
                    mib(total)
                ),
            )?;
        }
        check(code, &format!("get {bytes} bytes of device memory"))?;
        self.0.insert(address, bytes);
        Ok(address)
    }

    /// Frees the allocation that begins at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), DeviceError> {
        if self.0.remove(&address).is_none() {
            return Err(DeviceError::Driver(format!(
                "{address:#x} is not the start of an allocation on the CUDA device"
            )));
        }
        // SAFETY: the address came from `alloc`, and it was removed, so it is freed once. No launch
        // runs: each is waited for.
        check(unsafe { ffi::cuMemFree_v2(address) }, "free device memory")
    }

    /// Fails where these bytes are not all inside one allocation.
    pub fn check(&self, address: u64, bytes: usize) -> Result<(), DeviceError> {
        let inside = self
            .0
            .range(..=address)
            .next_back()
            .is_some_and(|(start, allocated)| {
                let offset = address - start;
                (bytes as u64)
                    .checked_add(offset)
                    .is_some_and(|end| end <= *allocated as u64)
            });
        if inside {
            return Ok(());
        }
        Err(DeviceError::Driver(format!(
            "{bytes} bytes at {address:#x} are not allocated on the CUDA device"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_must_be_inside_one_allocation() {
        let memory = Allocations([(0x1000, 64), (0x20_1000, 8)].into());
        for (address, bytes) in [(0x1000, 64), (0x1020, 32), (0x1040, 0), (0x20_1000, 8)] {
            assert_eq!(memory.check(address, bytes), Ok(()), "{address:#x} {bytes}");
        }
        for (address, bytes) in [
            (0xfff, 1),
            (0x1000, 65),
            (0x1041, 0),
            (0x1020, usize::MAX),
            (0x20_1004, 8),
        ] {
            let error = memory.check(address, bytes).map_err(|e| e.to_string());
            let expected =
                format!("{bytes} bytes at {address:#x} are not allocated on the CUDA device");
            assert_eq!(error, Err(expected));
        }
    }
}
