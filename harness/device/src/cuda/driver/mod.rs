//! The CUDA device: memory, modules and launches through the driver API. Everything runs on one
//! stream and is waited for, so an error belongs to the call that reports it.
#![allow(unsafe_code)]

mod digest;
mod kernel;
mod memory;
mod open;
mod refusal;
mod replay;
mod shared;
mod staging;
mod submit;
mod tensor_maps;

pub use open::{no_such_device, open};

use super::ffi;
use crate::allocations::Allocations;
use crate::api::{
    Arg, DeviceError, DeviceInfo, Driver, Entry, ExecutionOrder, Filling, MemoryRange, Noise,
    Occupancy, Replayed, Result, SHARED_POISONS, Shape, Submission, TensorMap, Window,
};
use cudarc::driver::sys::{CUdevice, CUmodule, CUstream};
use digest::Digester;
use kernel::Kernel;
use memory::PAGE;
use refusal::DeviceLimits;
use replay::Timer;
use shared::Mapped;
use staging::Staging;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Copies of fewer bytes are sooner done by the driver.
const WORTH_STAGING: usize = 64 << 10;

/// One device with its primary context, which is current on the thread that opened it. The driver's
/// handles keep the struct on that thread: a struct with raw pointers is not `Send`. Open one
/// device on a thread.
struct CudaDriver {
    info: DeviceInfo,
    limits: DeviceLimits,
    stream: CUstream,
    timers: [Timer; replay::MOST_QUEUED],
    /// By number. `None` for a module that was unloaded.
    modules: Vec<Option<Module>>,
    allocations: Allocations,
    /// The allocations that other processes can map, or that are theirs.
    shared: Vec<Mapped>,
    staging: Staging,
    /// How often shared memory was overwritten.
    scrubs: usize,
    /// `None` where the driver cannot compile them: memory is then compared on the host.
    digester: Option<Digester>,
    /// Last: everything above belongs to the context, and is dropped before it.
    context: RetainedContext,
}

// SAFETY: the driver's handles and its page-locked memory belong to the process. On a thread on which
// the context is not current, the driver refuses every call.
unsafe impl Send for CudaDriver {}

/// The primary context of a device, which was retained once. Dropping this releases it.
struct RetainedContext(CUdevice);

impl Drop for RetainedContext {
    fn drop(&mut self) {
        // SAFETY: the context was retained once, and it is released once. The release frees all
        // memory, modules, events and the stream, which nothing uses after this. If a kernel has
        // broken the context, the release fails, and nothing is left to do about that.
        unsafe { ffi::cuDevicePrimaryCtxRelease_v2(self.0) };
    }
}

/// A loaded module, and its kernels that were looked up.
struct Module {
    handle: CUmodule,
    kernels: Vec<Kernel>,
}

impl CudaDriver {
    fn wait(&self, action: &str) -> Result {
        // SAFETY: the stream was created in this context, and both live as long as `self`.
        unsafe { ffi::cuStreamSynchronize(self.stream) }.check(action)
    }

    /// Puts the filling of memory with a pattern on the stream. The driver refuses an address that
    /// is not a multiple of 4.
    fn put_words(&self, memory: MemoryRange, word: u32, action: &str) -> Result {
        let MemoryRange { address, bytes } = memory;
        self.allocations.check(address, bytes)?;
        let tail = bytes % 4;
        // SAFETY: the range is inside a live allocation, and no call frees it before the stream was
        // waited for: each method of the driver waits for what it launches.
        unsafe {
            if bytes > tail {
                ffi::cuMemsetD32Async(address, word, bytes / 4, self.stream).check(action)?;
            }
            let last = address + (bytes - tail) as u64;
            for (at, byte) in (last..).zip(&word.to_le_bytes()[..tail]) {
                ffi::cuMemsetD8Async(at, *byte, 1, self.stream).check(action)?;
            }
        }
        Ok(())
    }

    /// Notes shared memory as allocated, and returns its address.
    fn note(&mut self, mapped: Mapped) -> u64 {
        let address = mapped.address;
        self.allocations.live.insert(address, mapped.bytes);
        self.shared.push(mapped);
        address
    }

    fn module(&self, module: u32) -> Result<&Module> {
        let found = self.modules.get(module as usize).and_then(Option::as_ref);
        found.ok_or_else(|| not_loaded(module))
    }

    fn kernel(&self, entry: Entry) -> Result<&Kernel> {
        let kernels = &self.module(entry.module)?.kernels;
        let kernel = kernels.get(entry.index as usize);
        kernel.ok_or_else(|| not_loaded(entry.module))
    }
}

/// Lets the L2 cache replace the lines that a kernel asked it to keep.
fn let_go_of_kept_lines() -> Result {
    // SAFETY: the call has no arguments. It concerns the context that is current.
    let code = unsafe { ffi::cuCtxResetPersistingL2Cache() };
    // A device before compute capability 8.0 keeps no lines, and an old driver lacks the function.
    if matches!(
        code,
        ffi::CUDA_ERROR_NOT_SUPPORTED | ffi::CUDA_ERROR_INVALID_VALUE
    ) {
        return Ok(());
    }
    code.check("let go of the lines that are kept in the L2 cache")
}

fn not_loaded(module: u32) -> DeviceError {
    DeviceError::Driver(format!("module {module} is not loaded any more"))
}

impl Driver for CudaDriver {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn load(&mut self, image: &Path) -> Result<u32> {
        let path = image.display();
        let bytes = std::fs::read(image)
            .map_err(|e| DeviceError::Driver(format!("cannot read {path}: {e}")))?;
        if !crate::image::is_complete(&bytes) {
            return Err(DeviceError::Driver(format!(
                "could not load {path}: its {} bytes are no complete cubin. Remove the file and build again.",
                bytes.len()
            )));
        }
        let mut module = std::ptr::null_mut();
        // SAFETY: `module` is a live handle to write to. The driver reads as far as the cubin's
        // headers say, and `is_complete` has checked that the file holds that much; its content
        // comes from NVRTC.
        unsafe { ffi::cuModuleLoadData(&mut module, bytes.as_ptr().cast()) }.check(&format!(
            "load {path} on {} ({})",
            self.info.arch, self.info.driver
        ))?;
        self.modules.push(Some(Module {
            handle: module,
            kernels: Vec::new(),
        }));
        Ok(self.modules.len() as u32 - 1)
    }

    fn unload(&mut self, module: u32) -> Result {
        match self.modules.get_mut(module as usize).and_then(Option::take) {
            // SAFETY: the handle came from `load`. It was taken out of `modules`, so it is unloaded
            // once, and `kernel` refuses the module's functions from now on. No launch runs: each
            // is waited for.
            Some(module) => unsafe { ffi::cuModuleUnload(module.handle) }.check("unload a module"),
            None => Ok(()),
        }
    }

    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>> {
        let loaded = self.modules.get_mut(module as usize);
        let loaded = loaded
            .and_then(Option::as_mut)
            .ok_or_else(|| not_loaded(module))?;
        let mut known = loaded.kernels.iter();
        let known = known.position(|kernel| kernel.attributes.name == name);
        let index = known.unwrap_or(loaded.kernels.len());
        if known.is_none() {
            let Ok(c_name) = CString::new(name) else {
                return Ok(None);
            };
            let mut function = std::ptr::null_mut();
            // SAFETY: `function` is a live handle to write to, the module is loaded, and the name
            // ends with a NUL.
            let code =
                unsafe { ffi::cuModuleGetFunction(&mut function, loaded.handle, c_name.as_ptr()) };
            if code == ffi::CUDA_ERROR_NOT_FOUND {
                return Ok(None);
            }
            code.check(&format!("find the kernel {name}"))?;
            // SAFETY: the driver returned the function just now, and `kernel` refuses it once its
            // module is unloaded.
            loaded.kernels.push(unsafe { Kernel::new(function, name)? });
        }
        Ok(Some(Entry {
            module,
            index: index as u32,
        }))
    }

    fn blocks_per_sm(&mut self, entry: Entry, threads: u32, shared_bytes: u32) -> Result<u32> {
        let kernel = self.kernel(entry)?;
        let shape = Shape {
            block: [threads, 1, 1],
            shared_bytes,
            ..Shape::default()
        };
        match refusal::of_launch(&self.limits, &kernel.attributes, &shape) {
            Some(_) => Ok(0),
            None => kernel.resident_blocks(threads, shared_bytes),
        }
    }

    fn occupancy(&mut self, entry: Entry, shape: &Shape) -> Result<Option<Occupancy>> {
        let kernel = self.kernel(entry)?;
        let blocks_per_sm = kernel.resident_blocks(shape.threads() as u32, shape.shared_bytes)?;
        Ok(Some(Occupancy {
            blocks_per_sm,
            threads_per_sm: self.limits.threads_per_sm,
        }))
    }

    fn alloc(&mut self, bytes: usize) -> Result<u64> {
        let pages = bytes.max(1).checked_next_multiple_of(PAGE);
        memory::allocate(&mut self.allocations, pages.unwrap_or(usize::MAX))
    }

    fn alloc_exact(&mut self, bytes: usize, _name: &str) -> Result<u64> {
        memory::allocate(&mut self.allocations, bytes.max(1))
    }

    fn free(&mut self, address: u64) -> Result {
        if let Some(at) = self.shared.iter().position(|one| one.address == address) {
            self.allocations.remove(address)?;
            self.shared.swap_remove(at);
            return Ok(());
        }
        memory::free(&mut self.allocations, address)
    }

    fn shares_memory(&self) -> bool {
        shared::is_supported(self.context.0)
    }

    fn alloc_shared(&mut self, bytes: usize) -> Result<(u64, OwnedFd)> {
        let (mapped, descriptor) = shared::allocate(self.context.0, bytes)?;
        Ok((self.note(mapped), descriptor))
    }

    fn map_shared(&mut self, memory: &OwnedFd, bytes: usize, is_read_only: bool) -> Result<u64> {
        let mapped = shared::import(self.context.0, memory, bytes, is_read_only)?;
        Ok(self.note(mapped))
    }

    fn copy_before(&mut self, from: u64, to: u64, bytes: usize) -> Result {
        self.allocations.check(from, bytes)?;
        self.allocations.check(to, bytes)?;
        // SAFETY: both ranges are inside live allocations, and no call frees one before the stream
        // was waited for.
        unsafe { ffi::cuMemcpyDtoDAsync_v2(to, from, bytes, self.stream) }
            .check(&format!("copy {bytes} bytes of device memory"))
    }

    fn finish(&mut self) -> Result {
        self.wait("finish what is under way on the device")
    }

    fn page_bytes(&self) -> usize {
        PAGE
    }

    fn fill_noise(&mut self, address: u64, bytes: usize, noise: &Noise, first: u64) -> Result {
        let Some(digester) = &self.digester else {
            return self.upload(address, &noise.bytes(4 * first, bytes));
        };
        self.allocations.check(address, bytes)?;
        if !address.is_multiple_of(4) || !bytes.is_multiple_of(4) {
            return Err(DeviceError::Driver(format!(
                "{bytes} bytes at {address:#x} are no whole words"
            )));
        }
        // SAFETY: the range is inside a live allocation and has whole words. Stream and kernels
        // belong to the context that is current.
        unsafe { digester.fill_noise(self.stream, address, bytes, noise, first) }
    }

    fn digests(&mut self, ranges: &[MemoryRange], key: u64) -> Result<Option<Vec<u64>>> {
        let Some(digester) = &self.digester else {
            return Ok(None);
        };
        for range in ranges {
            self.allocations.check(range.address, range.bytes)?;
        }
        // SAFETY: each range is inside a live allocation. Stream, kernels and buffers belong to the
        // context that is current.
        unsafe { digester.digests(&mut self.staging, self.stream, ranges, key) }.map(Some)
    }

    fn scrub(&mut self) -> Result {
        let Some(digester) = &self.digester else {
            return Ok(());
        };
        let pattern = SHARED_POISONS[self.scrubs % SHARED_POISONS.len()];
        self.scrubs += 1;
        // SAFETY: stream and kernel belong to the context that is current.
        unsafe { digester.scrub(self.stream, pattern) }
    }

    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result {
        self.upload_before(address, bytes)?;
        self.wait(&copying(bytes.len()))
    }

    fn upload_before(&mut self, address: u64, bytes: &[u8]) -> Result {
        self.allocations.check(address, bytes.len())?;
        let (content, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the range is inside a live allocation, and the stream belongs to the context that
        // is current. The driver has read pageable host memory, such as `bytes`, when its own copy
        // returns.
        unsafe {
            if length >= WORTH_STAGING {
                return self.staging.upload(self.stream, address, bytes);
            }
            ffi::cuMemcpyHtoDAsync_v2(address, content, length, self.stream).check(&copying(length))
        }
    }

    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result {
        self.allocations.check(address, bytes.len())?;
        let (content, length) = (bytes.as_mut_ptr().cast(), bytes.len());
        let action = format!("copy {length} bytes from the device");
        // SAFETY: the range is inside a live allocation, and the stream belongs to the context that
        // is current. The driver has written pageable host memory, such as `bytes`, when its own
        // copy returns.
        unsafe {
            if length >= WORTH_STAGING {
                self.staging.download(self.stream, address, bytes)?;
            } else {
                ffi::cuMemcpyDtoHAsync_v2(content, address, length, self.stream).check(&action)?;
            }
        }
        self.wait(&action)
    }

    fn first_difference(&mut self, address: u64, expected: &[u8]) -> Result<Option<usize>> {
        self.allocations.check(address, expected.len())?;
        // SAFETY: the range is inside a live allocation, and the stream belongs to the context that
        // is current.
        unsafe {
            self.staging
                .first_difference(self.stream, address, expected)
        }
    }

    fn fill(&mut self, memory: MemoryRange, pattern: u32, how: Filling) -> Result {
        if how == Filling::FlushesCache {
            let_go_of_kept_lines()?;
        }
        let action = format!("fill {} bytes of device memory", memory.bytes);
        self.put_words(memory, pattern, &action)?;
        if how == Filling::Ahead {
            return Ok(());
        }
        self.wait(&action)
    }

    fn parameters(&self, entry: Entry) -> Result<Option<Vec<usize>>> {
        Ok(self.kernel(entry)?.attributes.parameters.clone())
    }

    fn launch(
        &mut self,
        entry: Entry,
        shape: &Shape,
        args: &[Arg],
        _order: ExecutionOrder,
    ) -> Result<f64> {
        let kernel = self.kernel(entry)?;
        self.check_launch(kernel, shape, args)?;
        let action = format!(
            "run {} (grid {:?}, block {:?}, {} bytes of shared memory)",
            kernel.attributes.name, shape.grid, shape.block, shape.shared_bytes
        );
        self.timed(&action, || self.submit(kernel, shape, args, &action))
    }

    fn replay(&mut self, windows: &[Window], submission: Submission, key: u64) -> Replayed {
        self.replay_windows(windows, submission, key)
    }

    fn has_graphs(&self) -> bool {
        true
    }

    fn tensor_map(&mut self, map: &TensorMap) -> Result<Arg> {
        self.encode(map)
    }

    fn kernels(&mut self, module: u32) -> Result<Vec<String>> {
        let handle = self.module(module)?.handle;
        // SAFETY: the module is loaded.
        Ok(unsafe { kernel::names(handle) })
    }
}

fn copying(bytes: usize) -> String {
    format!("copy {bytes} bytes to the device")
}
