//! Opening a CUDA device: its limits, its properties, its context, and what every launch uses.

use super::digest::Digester;
use super::refusal::DeviceLimits;
use super::replay::Timer;
use super::{CudaDriver, RetainedContext, Staging, memory};
use crate::allocations::Allocations;
use crate::api::{DeviceError, DeviceInfo, Driver, Result};
use crate::cuda::devices;
use crate::cuda::ffi;
use cudarc::driver::sys::CUdevice_attribute::{self as Attribute, *};
use cudarc::driver::sys::{CUdevice, CUlimit, CUstream_flags};
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

/// Opens the CUDA device with this ordinal, and makes it current on this thread. The device cannot
/// leave the thread.
pub fn open(ordinal: u32) -> Result<Box<dyn Driver>> {
    let names = devices::devices()?;
    let Some(name) = names.get(ordinal as usize) else {
        return Err(no_such_device(ordinal, &names));
    };
    let device = devices::device(ordinal as c_int)?;
    let mode = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?;
    if let Some(why) = why_closed(mode, ordinal, name) {
        return Err(DeviceError::Unavailable(why));
    }
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
    let mut stream = null_mut();
    // SAFETY: the context was retained above. The other pointer is to a live handle to write to.
    unsafe {
        ffi::cuCtxSetCurrent(context).check("make the device current")?;
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
        ffi::cuStreamCreate(&mut stream, flags).check("create a stream")?;
        // No part of the L2 cache is set aside for lines that a kernel asks to keep. A device
        // that cannot keep lines refuses the limit.
        ffi::cuCtxSetLimit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    }
    info.memory_bytes = memory::device_memory().1 as u64;
    Ok(Box::new(CudaDriver {
        info,
        limits,
        stream,
        timers: Timer::all()?,
        modules: Vec::new(),
        allocations: Allocations::new("CUDA"),
        shared: Vec::new(),
        staging: Staging::new()?,
        scrubs: 0,
        digester: Digester::load(limits),
        context: retained,
    }))
}

/// Why a device in this compute mode cannot be used; `None` if it can.
fn why_closed(mode: u32, ordinal: u32, name: &str) -> Option<String> {
    // CU_COMPUTEMODE_PROHIBITED and CU_COMPUTEMODE_EXCLUSIVE_PROCESS.
    let why = match mode {
        2 => "is in the compute mode Prohibited, in which no process can use it",
        3 => {
            "is in the compute mode Exclusive_Process, and a run uses it in several processes: the judge's, the kernel's and the \
             reference's"
        }
        _ => return None,
    };
    Some(format!(
        "cuda:{ordinal} ({name}) {why}. Change the mode as root with `nvidia-smi -i {ordinal} -c DEFAULT`, or set device = \"cpu\" \
         in lab.toml."
    ))
}

pub fn no_such_device(ordinal: u32, names: &[String]) -> DeviceError {
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

fn limits(device: CUdevice) -> Result<DeviceLimits> {
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

fn attribute(device: CUdevice, name: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: `value` is a live integer to write to.
    unsafe { ffi::cuDeviceGetAttribute(&mut value, name, device) }
        .check("read the device's limits")?;
    Ok(value as u32)
}

#[cfg(test)]
mod tests {
    use super::why_closed;

    #[test]
    fn a_device_that_one_process_may_use_is_refused_with_the_remedy() {
        let why = why_closed(3, 1, "NVIDIA H200").unwrap_or_default();
        assert_eq!(
            why,
            "cuda:1 (NVIDIA H200) is in the compute mode Exclusive_Process, and a run uses it in several processes: the judge's, the \
             kernel's and the reference's. Change the mode as root with `nvidia-smi -i 1 -c DEFAULT`, or set device = \"cpu\" in \
             lab.toml."
        );
        assert!(why_closed(2, 0, "x").is_some_and(|why| why.contains("Prohibited")));
        assert_eq!(why_closed(0, 0, "x"), None);
    }
}
