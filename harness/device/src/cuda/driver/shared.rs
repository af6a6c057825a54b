//! Device memory that another process maps. The driver makes it with a handle that can be sent as a
//! file descriptor, and a process maps it at an address of its own.
#![allow(unsafe_code)]

use super::memory::{PAGE, check_allocation};
use crate::api::Result;
use crate::cuda::ffi;
use cudarc::driver::sys::{
    CUdevice, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemAllocationProp_st__bindgen_ty_1, CUmemAllocationType, CUmemGenericAllocationHandle,
    CUmemLocation, CUmemLocationType,
};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

const DESCRIPTOR: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Memory that is mapped at an address of this process. Dropping it ends the mapping; the memory is
/// freed once no process has it any more.
pub struct Mapped {
    pub address: u64,
    pub bytes: usize,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: `map` has mapped all of the reserved range. No launch runs: each is waited for.
        // Where the context is broken the calls fail, and nothing is left to do about that.
        unsafe {
            ffi::cuMemUnmap(self.address, self.bytes);
            ffi::cuMemAddressFree(self.address, self.bytes);
        }
    }
}

/// Whether memory of this device can be sent as a file descriptor.
pub fn is_supported(device: CUdevice) -> bool {
    let mut value: c_int = 0;
    let attribute = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    // SAFETY: `value` is a live integer to write to.
    let code = unsafe { ffi::cuDeviceGetAttribute(&mut value, attribute, device) };
    code == ffi::CUDA_SUCCESS && value != 0
}

/// Allocates so many bytes, rounded up to whole pages, and maps them. Returns the descriptor that
/// another process maps them by.
pub fn allocate(device: CUdevice, bytes: usize) -> Result<(Mapped, OwnedFd)> {
    let pages = bytes.max(1).checked_next_multiple_of(PAGE);
    let bytes = pages.unwrap_or(usize::MAX);
    let properties = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: DESCRIPTOR,
        location: location(device),
        win32HandleMetaData: null_mut(),
        allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    };
    let mut handle: CUmemGenericAllocationHandle = 0;
    // SAFETY: `handle` is a live handle to write to, and the driver only reads the properties.
    let code = unsafe { ffi::cuMemCreate(&mut handle, bytes, &properties, 0) };
    check_allocation(code, bytes)?;
    let handle = Handle(handle);
    let mut descriptor: c_int = -1;
    // SAFETY: for this type of handle the driver writes an integer.
    unsafe {
        ffi::cuMemExportToShareableHandle((&raw mut descriptor).cast(), handle.0, DESCRIPTOR, 0)
    }
    .check("share device memory with another process")?;
    // SAFETY: the driver has opened the descriptor for the caller.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let mapped = map(device, &handle, bytes, READ_AND_WRITE)?;
    Ok((mapped, descriptor))
}

/// Maps memory that [`allocate`] has made in another process: `bytes` are all of it.
pub fn import(
    device: CUdevice,
    memory: &OwnedFd,
    bytes: usize,
    is_read_only: bool,
) -> Result<Mapped> {
    let mut handle: CUmemGenericAllocationHandle = 0;
    let descriptor = memory.as_raw_fd() as usize;
    // SAFETY: `handle` is a live handle to write to. For this type of handle the driver takes the
    // descriptor as if it were an address, and does not close it.
    unsafe {
        ffi::cuMemImportFromShareableHandle(
            &mut handle,
            std::ptr::without_provenance_mut(descriptor),
            DESCRIPTOR,
        )
    }
    .check("take over device memory of another process")?;
    let access = if is_read_only {
        CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ
    } else {
        READ_AND_WRITE
    };
    map(device, &Handle(handle), bytes, access)
}

/// A handle to memory. The memory lives on while it is mapped or another process has it.
struct Handle(CUmemGenericAllocationHandle);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the driver made the handle, and it is released once.
        unsafe { ffi::cuMemRelease(self.0) };
    }
}

fn location(device: CUdevice) -> CUmemLocation {
    CUmemLocation {
        type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        id: device,
    }
}

const READ_AND_WRITE: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

/// Maps all of a memory.
fn map(
    device: CUdevice,
    handle: &Handle,
    bytes: usize,
    access: CUmemAccess_flags,
) -> Result<Mapped> {
    let mut address = 0;
    // SAFETY: `address` is a live integer to write to.
    unsafe { ffi::cuMemAddressReserve(&mut address, bytes, PAGE, 0, 0) }
        .check("reserve addresses for device memory")?;
    // SAFETY: the range was reserved just now, and the handle is live.
    let code = unsafe { ffi::cuMemMap(address, bytes, 0, handle.0, 0) };
    if let Err(error) = code.check("map device memory") {
        // SAFETY: the range was reserved just now, and nothing is mapped there.
        unsafe { ffi::cuMemAddressFree(address, bytes) };
        return Err(error);
    }
    let mapped = Mapped { address, bytes };
    let access = CUmemAccessDesc {
        location: location(device),
        flags: access,
    };
    // SAFETY: the range is mapped, and the driver only reads the description.
    unsafe { ffi::cuMemSetAccess(address, bytes, &access, 1) }
        .check("open mapped device memory")?;
    Ok(mapped)
}
