//! Opening a CUDA device: its limits, its properties, its context, and what every launch uses.

use super::digest::Digester;
use super::refusal::DeviceLimits;
use super::{CudaDriver, RetainedContext, Staging, memory};
use crate::allocations::Allocations;
use crate::api::{DeviceError, DeviceInfo, Driver};
use crate::cuda::devices;
use crate::cuda::ffi;
use cudarc::driver::sys::CUdevice_attribute::{self as Attribute, *};
use cudarc::driver::sys::{CUdevice, CUlimit, CUstream_flags};
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

/// Opens the CUDA device with this ordinal, and makes it current on this thread. The device cannot
/// leave the thread.
pub fn open(ordinal: u32) -> Result<Box<dyn Driver>, DeviceError> {
    let names = devices::devices()?;
    let Some(name) = names.get(ordinal as usize) else {
        return Err(no_such_device(ordinal, &names));
    };
    let device = devices::device(ordinal as c_int)?;
    let limits = limits(device)?;
    let major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let mut info = DeviceInfo {
        name: name.clone(),
        emulated: false,
        sms: limits.sms,
        arch: format!("sm_{major}{minor}"),
        max_shared_bytes: limits.shared_bytes,
        l2_bytes: attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        // Known once there is a context.
        memory_bytes: 0,
        uuid: devices::uuid(device)?,
        driver: devices::driver_version(devices::version()?),
    };
    let mut context = null_mut();
    // SAFETY: `context` is a live handle to write to.
    unsafe { ffi::cuDevicePrimaryCtxRetain(&mut context, device) }
        .check(&format!("open cuda:{ordinal} ({name})"))?;
    let retained = RetainedContext(device);
    let (mut stream, mut started, mut ended) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the context was retained above. The other pointers are to live handles to write
    // to.
    unsafe {
        ffi::cuCtxSetCurrent(context).check("make the device current")?;
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
        ffi::cuStreamCreate(&mut stream, flags).check("create a stream")?;
        ffi::cuEventCreate(&mut started, 0).check("create an event")?;
        ffi::cuEventCreate(&mut ended, 0).check("create an event")?;
        // No part of the L2 cache is set aside for lines that a kernel asks to keep. A device
        // that cannot keep lines refuses the limit.
        ffi::cuCtxSetLimit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    }
    info.memory_bytes = memory::device_memory().1 as u64;
    Ok(Box::new(CudaDriver {
        info,
        limits,
        stream,
        started,
        ended,
        modules: Vec::new(),
        allocations: Allocations::new("CUDA"),
        shared: Vec::new(),
        staging: Staging::new()?,
        digester: Digester::load(limits),
        context: retained,
    }))
}

fn no_such_device(ordinal: u32, names: &[String]) -> DeviceError {
    DeviceError::Unavailable(match names.len() {
        0 => "the NVIDIA driver is here, but there is no CUDA device. Check `nvidia-smi` and \
              CUDA_VISIBLE_DEVICES, or set device = \"cpu\" in lab.toml."
            .into(),
        count => format!(
            "there is no device cuda:{ordinal}: this machine has cuda:0 to cuda:{} ({}). \
             CUDA_VISIBLE_DEVICES may hide others.",
            count - 1,
            names.join(", ")
        ),
    })
}

fn limits(device: CUdevice) -> Result<DeviceLimits, DeviceError> {
    let ask = |name| attribute(device, name);
    Ok(DeviceLimits {
        threads: ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        block: [
            ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        grid: [
            ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        shared_bytes: ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        sms: ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        threads_per_sm: ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        // A driver that does not know clusters has none.
        clusters: ask(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH).is_ok_and(|has| has != 0),
    })
}

fn attribute(device: CUdevice, name: Attribute) -> Result<u32, DeviceError> {
    let mut value = 0;
    // SAFETY: `value` is a live integer to write to.
    unsafe { ffi::cuDeviceGetAttribute(&mut value, name, device) }
        .check("read the device's limits")?;
    Ok(value as u32)
}
