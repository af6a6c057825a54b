//! The driver API: memory, modules and launches on one device. Everything runs on one stream of its
//! own and is waited for, so that an error belongs to the call that reports it.
#![allow(unsafe_code)]

use super::calls;
use super::devices::{check, device, devices, driver_in_words, uuid, version};
use super::launch::{self, Limits, Needs};
use super::staging::Staging;
use crate::api::{Arg, DeviceError, DeviceInfo, Driver, Entry, ExecutionOrder, Occupancy, Shape};
use cudarc::driver::sys::CUstream_flags;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute};
use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_uint, c_void};
use std::path::Path;

unsafe extern "C" {
    /// The C library's, which the driver writes a kernel's `printf` through.
    fn fflush(stream: *mut c_void) -> c_int;
}

struct Function {
    module: u32,
    handle: sys::CUfunction,
    needs: Needs,
}

/// One device with its primary context, current on the thread that opened it.
pub struct CudaDriver {
    device: sys::CUdevice,
    info: DeviceInfo,
    limits: Limits,
    stream: sys::CUstream,
    started: sys::CUevent,
    ended: sys::CUevent,
    modules: BTreeMap<u32, sys::CUmodule>,
    functions: Vec<Function>,
    next_module: u32,
    /// By address, the bytes of each allocation that was asked for, and what it really has.
    allocations: BTreeMap<u64, [usize; 2]>,
    /// `None` only before the context is open, and after it is closed.
    staging: Option<Staging>,
}

/// Memory is handed out in pages of this size, and a kernel reaches all of a page. An allocation takes whole pages, so
/// that what lies behind it is known, and [`Driver::wipe_padding`] can wipe it.
const PAGE: usize = 2 << 20;

impl CudaDriver {
    pub fn open(ordinal: u32) -> Result<Self, DeviceError> {
        let devices = devices()?;
        let Some(device_name) = devices.get(ordinal as usize) else {
            return Err(DeviceError::Unavailable(if devices.is_empty() {
                "the NVIDIA driver is here, but there is no CUDA device. Check `nvidia-smi` and \
                 CUDA_VISIBLE_DEVICES, or set device = \"cpu\" in lab.toml."
                    .into()
            } else {
                format!(
                    "there is no device cuda:{ordinal}: this machine has cuda:0 to cuda:{} ({}). \
                     CUDA_VISIBLE_DEVICES may hide others.",
                    devices.len() - 1,
                    devices.join(", ")
                )
            }));
        };
        let device = device(ordinal as c_int)?;
        let ask = |attribute| -> Result<u32, DeviceError> {
            let mut value = 0;
            // SAFETY: the pointer is to a live integer.
            let code = unsafe { calls::cuDeviceGetAttribute(&mut value, attribute, device) };
            check(code, "ask for the device's limits")?;
            Ok(value as u32)
        };
        use Attribute::*;
        let limits = Limits {
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
        };
        let major = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let driver = version()?;
        let info = DeviceInfo {
            name: device_name.clone(),
            emulated: false,
            sms: limits.sms,
            arch: format!("sm_{major}{minor}"),
            max_shared_bytes: limits.shared_bytes,
            l2_bytes: u64::from(ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            uuid: uuid(device)?,
            driver: driver_in_words(driver),
        };
        let mut context = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle; the context is released in `drop`.
        let code = unsafe { calls::cuDevicePrimaryCtxRetain(&mut context, device) };
        check(code, &format!("open cuda:{ordinal} ({device_name})"))?;
        let mut opened = CudaDriver {
            device,
            info,
            limits,
            stream: std::ptr::null_mut(),
            started: std::ptr::null_mut(),
            ended: std::ptr::null_mut(),
            modules: BTreeMap::new(),
            functions: Vec::new(),
            next_module: 0,
            allocations: BTreeMap::new(),
            staging: None,
        };
        // SAFETY: the context was just retained; the pointers are to live handles.
        unsafe {
            check(calls::cuCtxSetCurrent(context), "make the device current")?;
            let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
            check(calls::cuStreamCreate(&mut opened.stream, flags), "make a stream")?;
            check(calls::cuEventCreate(&mut opened.started, 0), "make an event")?;
            check(calls::cuEventCreate(&mut opened.ended, 0), "make an event")?;
        }
        opened.staging = Some(Staging::new()?);
        Ok(opened)
    }

    fn wait(&self, doing: &str) -> Result<(), DeviceError> {
        // SAFETY: the stream lives as long as `self`.
        check(unsafe { calls::cuStreamSynchronize(self.stream) }, doing)
    }

    fn function(&self, entry: Entry) -> Result<&Function, DeviceError> {
        let function = self.functions.get(entry.index as usize);
        function
            .filter(|f| f.module == entry.module && self.modules.contains_key(&f.module))
            .ok_or_else(|| DeviceError::Driver(format!("module {} is not loaded any more", entry.module)))
    }

    /// Lets a function have more dynamic shared memory than the 48 KiB that every launch may have.
    fn allow_shared(&self, function: &Function, shared_bytes: u32) -> Result<(), DeviceError> {
        const ALWAYS: u32 = 48 * 1024;
        if shared_bytes.saturating_add(function.needs.static_shared_bytes) <= ALWAYS {
            return Ok(());
        }
        let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module is loaded.
        let code = unsafe { calls::cuFuncSetAttribute(function.handle, attribute, shared_bytes as c_int) };
        check(code, &format!("give {} {shared_bytes} bytes of shared memory", function.needs.name))
    }

    fn resident_blocks(
        &self,
        function: &Function,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, DeviceError> {
        self.allow_shared(function, shared_bytes)?;
        let mut blocks = 0;
        // SAFETY: the function's module is loaded; the pointer is to a live integer.
        let code = unsafe {
            calls::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function.handle,
                threads as c_int,
                shared_bytes as usize,
            )
        };
        check(code, &format!("ask how many blocks of {} fit", function.needs.name))?;
        Ok(blocks as u32)
    }

    fn refusal(
        &self,
        function: &Function,
        shape: &Shape,
        args: &[Arg],
    ) -> Result<Option<String>, DeviceError> {
        let sizes: Vec<usize> = args.iter().map(Vec::len).collect();
        let plain = launch::argument_refusal(&function.needs, &sizes)
            .or_else(|| launch::refusal(&self.limits, &function.needs, shape));
        if plain.is_some() || !shape.cooperative {
            return Ok(plain);
        }
        let blocks = self.resident_blocks(function, shape.block.iter().product(), shape.shared_bytes)?;
        Ok(launch::cooperative_refusal(&self.limits, &function.needs, shape, blocks))
    }
}

impl Driver for CudaDriver {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn load(&mut self, image: &Path) -> Result<u32, DeviceError> {
        let bytes = std::fs::read(image)
            .map_err(|e| DeviceError::Driver(format!("cannot read {}: {e}", image.display())))?;
        let mut module = std::ptr::null_mut();
        // SAFETY: a cubin says its own length, and the whole file is there; the pointer is to a live handle.
        let code = unsafe { calls::cuModuleLoadData(&mut module, bytes.as_ptr().cast()) };
        check(code, &format!("load {} on {} ({})", image.display(), self.info.arch, self.info.driver))?;
        let id = self.next_module;
        self.next_module += 1;
        self.modules.insert(id, module);
        Ok(id)
    }

    fn unload(&mut self, module: u32) -> Result<(), DeviceError> {
        while self.functions.pop_if(|f| f.module == module).is_some() {}
        match self.modules.remove(&module) {
            // SAFETY: the module was loaded and is unloaded once; its functions are refused from now on.
            Some(handle) => check(unsafe { calls::cuModuleUnload(handle) }, "unload a module"),
            None => Ok(()),
        }
    }

    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError> {
        let Some(handle) = self.modules.get(&module) else {
            return Err(DeviceError::Driver(format!("module {module} is not loaded any more")));
        };
        let known = self.functions.iter().position(|f| f.module == module && f.needs.name == name);
        if let Some(index) = known {
            return Ok(Some(Entry { module, index: index as u32 }));
        }
        let Ok(c_name) = CString::new(name) else { return Ok(None) };
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name NUL-terminated, the pointer to a live handle.
        let code = unsafe { calls::cuModuleGetFunction(&mut function, *handle, c_name.as_ptr()) };
        if code == calls::CUDA_ERROR_NOT_FOUND {
            return Ok(None);
        }
        check(code, &format!("find the kernel {name}"))?;
        let needs = needs(function, name)?;
        self.functions.push(Function { module, handle: function, needs });
        Ok(Some(Entry { module, index: self.functions.len() as u32 - 1 }))
    }

    fn blocks_per_sm(&mut self, entry: Entry, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        let function = self.function(entry)?;
        let shape = Shape { grid: [1; 3], block: [threads, 1, 1], shared_bytes, cooperative: false };
        match launch::refusal(&self.limits, &function.needs, &shape) {
            Some(_) => Ok(0),
            None => self.resident_blocks(function, threads, shared_bytes),
        }
    }

    fn occupancy(&mut self, entry: Entry, shape: &Shape) -> Result<Option<Occupancy>, DeviceError> {
        let function = self.function(entry)?;
        let blocks_per_sm =
            self.resident_blocks(function, shape.block.iter().product(), shape.shared_bytes)?;
        Ok(Some(Occupancy { blocks_per_sm, threads_per_sm: self.limits.threads_per_sm }))
    }

    fn alloc(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let mut address = 0;
        let whole = bytes.max(1).checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
        // SAFETY: the pointer is to a live address.
        let code = unsafe { calls::cuMemAlloc_v2(&mut address, whole) };
        if code == calls::CUDA_ERROR_OUT_OF_MEMORY {
            let (mut free, mut total) = (0, 0);
            // SAFETY: both pointers are to live integers. Where it fails they stay 0.
            unsafe { calls::cuMemGetInfo_v2(&mut free, &mut total) };
            let mib = |bytes: usize| bytes / (1 << 20);
            let doing = format!("get {} MiB ({} of {} MiB are free)", mib(bytes), mib(free), mib(total));
            check(code, &doing)?;
        }
        check(code, &format!("get {bytes} bytes of device memory"))?;
        self.allocations.insert(address, [bytes.next_multiple_of(4), whole]);
        Ok(address)
    }

    fn wipe_padding(&mut self) -> Result<(), DeviceError> {
        let doing = "wipe the memory behind the buffers";
        for (address, [used, whole]) in self.allocations.iter().filter(|(_, [used, whole])| used < whole) {
            // SAFETY: within the allocation.
            let code = unsafe {
                calls::cuMemsetD32Async(address + *used as u64, 0, (whole - used) / 4, self.stream)
            };
            check(code, doing)?;
        }
        self.wait(doing)
    }

    fn free(&mut self, address: u64) -> Result<(), DeviceError> {
        self.allocations.remove(&address);
        // SAFETY: the driver refuses an address that it did not hand out.
        check(unsafe { calls::cuMemFree_v2(address) }, "free device memory")
    }

    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let doing = format!("copy {} bytes to the device", bytes.len());
        // SAFETY: the bytes live until the stream was waited for; the driver checks the address.
        let code =
            unsafe { calls::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), self.stream) };
        check(code, &doing)?;
        self.wait(&doing)
    }

    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let doing = format!("copy {} bytes from the device", bytes.len());
        // SAFETY: the buffer lives until the stream was waited for; the driver checks the address.
        let code = unsafe {
            calls::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, bytes.len(), self.stream)
        };
        check(code, &doing)?;
        self.wait(&doing)
    }

    fn first_difference(&mut self, address: u64, right: &[u8]) -> Result<Option<usize>, DeviceError> {
        let Some(staging) = &mut self.staging else {
            return Err(DeviceError::Driver("the device is closed".into()));
        };
        staging.first_difference(self.stream, address, right)
    }

    fn fill(&mut self, address: u64, bytes: usize, pattern: u32) -> Result<(), DeviceError> {
        let doing = format!("fill {bytes} bytes of device memory");
        // SAFETY: the driver checks the address.
        check(unsafe { calls::cuMemsetD32Async(address, pattern, bytes / 4, self.stream) }, &doing)?;
        self.wait(&doing)
    }

    fn launch(
        &mut self,
        entry: Entry,
        shape: &Shape,
        args: &[Arg],
        _order: ExecutionOrder,
    ) -> Result<f64, DeviceError> {
        let function = self.function(entry)?;
        if let Some(reason) = self.refusal(function, shape, args)? {
            return Err(DeviceError::Kernel(reason));
        }
        self.allow_shared(function, shape.shared_bytes)?;
        let doing = format!(
            "run {} (grid {:?}, block {:?}, {} bytes of shared memory)",
            function.needs.name, shape.grid, shape.block, shape.shared_bytes
        );
        let mut params: Vec<*mut c_void> = args.iter().map(|arg| arg.as_ptr() as *mut c_void).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let (handle, shared, stream, params) =
            (function.handle, shape.shared_bytes, self.stream, params.as_mut_ptr());
        let mut milliseconds = 0.0;
        // SAFETY: function, stream and events are live; there are as many parameters, of the sizes,
        // as the kernel takes, and the driver only reads them, before the call returns.
        unsafe {
            check(calls::cuEventRecord(self.started, stream), &doing)?;
            let code = if shape.cooperative {
                calls::cuLaunchCooperativeKernel(handle, gx, gy, gz, bx, by, bz, shared, stream, params)
            } else {
                let extra = std::ptr::null_mut();
                calls::cuLaunchKernel(handle, gx, gy, gz, bx, by, bz, shared, stream, params, extra)
            };
            check(code, &doing)?;
            check(calls::cuEventRecord(self.ended, stream), &doing)?;
            let waited = self.wait(&doing);
            // What the kernel printed is in the C library's buffer now.
            fflush(std::ptr::null_mut());
            waited?;
            check(calls::cuEventElapsedTime(&mut milliseconds, self.started, self.ended), "read the time")?;
        }
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for CudaDriver {
    fn drop(&mut self) {
        self.staging = None;
        // SAFETY: the context was retained once. Releasing the last hold on it frees everything in
        // it; errors of a context that a kernel has broken no longer matter.
        unsafe { calls::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Asking also loads the kernel's code, so that no launch pays for it.
fn needs(function: sys::CUfunction, name: &str) -> Result<Needs, DeviceError> {
    let ask = |attribute| -> Result<u32, DeviceError> {
        let mut value = 0;
        // SAFETY: the function's module is loaded; the pointer is to a live integer.
        let code = unsafe { calls::cuFuncGetAttribute(&mut value, attribute, function) };
        check(code, &format!("ask what {name} needs"))?;
        Ok(value as u32)
    };
    use FunctionAttribute::*;
    Ok(Needs {
        name: name.to_owned(),
        registers: ask(CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        threads: ask(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        static_shared_bytes: ask(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        parameters: parameters(function),
    })
}

/// The sizes of a kernel's parameters, which drivers tell from CUDA 12.4 on.
fn parameters(function: sys::CUfunction) -> Option<Vec<usize>> {
    if version().ok()? < (12, 4) {
        return None;
    }
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the driver has this call; the function's module is loaded, the pointers are live.
        match unsafe { calls::cuFuncGetParamInfo(function, sizes.len(), &mut offset, &mut size) } {
            calls::CUDA_SUCCESS => sizes.push(size),
            // So it says that there are no more.
            calls::CUDA_ERROR_INVALID_VALUE => return Some(sizes),
            _ => return None,
        }
    }
}
