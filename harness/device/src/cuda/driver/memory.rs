//! Device memory of the context that is current.

use crate::allocations::Allocations;
use crate::api::Result;
use crate::cuda::ffi::{self, Code};

/// The driver hands out memory in pages of this many bytes, and a kernel can access all of a page.
/// A usual allocation takes whole pages, so no other allocation lies on its last page, and its
/// owner can watch every byte of it.
pub const PAGE: usize = 2 << 20;

/// Free bytes and all bytes of memory of the device; 0 if the driver does not tell.
pub fn device_memory() -> (usize, usize) {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are live integers to write to. Where the call fails they stay 0.
    unsafe { ffi::cuMemGetInfo_v2(&mut free, &mut total) };
    (free, total)
}

/// Allocates exactly this many bytes, at least one. compute-sanitizer takes the size that the
/// driver was asked for as the end of an allocation.
pub fn allocate(allocations: &mut Allocations, bytes: usize) -> Result<u64> {
    let mut address = 0;
    // SAFETY: `address` is a live integer to write to.
    let code = unsafe { ffi::cuMemAlloc_v2(&mut address, bytes) };
    check_allocation(code, bytes)?;
    allocations.live.insert(address, bytes);
    Ok(address)
}

/// The error of an allocation of so many bytes; with what is free where that is too little.
pub fn check_allocation(code: Code, bytes: usize) -> Result {
    let action = if code == ffi::CUDA_ERROR_OUT_OF_MEMORY {
        let ((free, total), mib) = (device_memory(), 1 << 20);
        format!(
            "get {} MiB ({} of {} MiB are free)",
            bytes / mib,
            free / mib,
            total / mib
        )
    } else {
        format!("get {bytes} bytes of device memory")
    };
    code.check(&action)
}

/// Frees the allocation that begins at `address`.
pub fn free(allocations: &mut Allocations, address: u64) -> Result {
    allocations.remove(address)?;
    // SAFETY: the address came from `allocate`, and it was removed, so it is freed once. No launch
    // runs: each is waited for.
    unsafe { ffi::cuMemFree_v2(address) }.check("free device memory")
}
