//! The [`Driver`]: host memory, modules by `dlopen`, launches on a pool of workers.
#![allow(unsafe_code)]

use super::abi::{EntryRecord, Runtime, Thread};

use super::launch::Launch;
use super::races::RaceDetector;
use super::scheduler::{RUNTIME, Worker, race_hooks};
use super::shared::LIMIT;
use crate::api::{Arg, DeviceError, DeviceInfo, Driver, Entry, ExecutionOrder, Shape};
use libloading::Library;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::path::Path;
use std::time::Instant;

/// Threads that one multiprocessor holds, as on the GPUs that lab is for.
const THREADS_PER_SM: u32 = 2048;
const BLOCKS_PER_SM: u32 = 32;
const SHARED_PER_SM: u32 = 228 * 1024;
/// What a launch sets aside of shared memory for each block.
const SHARED_RESERVED: u32 = 1024;
/// Multiprocessors to pretend, unless LAB_CPU_SMS says otherwise: enough for a grid to be a grid; a persistent kernel
/// with a block for each is cheaper to emulate with fewer threads.
const SMS: u32 = 16;

pub struct Cpu {
    info: DeviceInfo,
    workers: Vec<Worker>,
    modules: Vec<Option<Module>>,
    memory: BTreeMap<u64, Layout>,
}

struct Module {
    entries: Vec<(String, *const EntryRecord)>,
    self_slot: unsafe extern "C" fn() -> *mut *mut Thread,
    flush: unsafe extern "C" fn(),
    slots: u32,
    /// Where its image lies, if it was built for the race detector.
    followed: Option<usize>,
    _library: Library,
}

impl Cpu {
    pub fn open() -> Result<Cpu, DeviceError> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let sms = match std::env::var("LAB_CPU_SMS") {
            Ok(text) => text.parse().ok().filter(|n| (1..=1024).contains(n)).ok_or_else(|| {
                DeviceError::Unavailable(format!(
                    "LAB_CPU_SMS is '{text}': set it to a number from 1 to 1024, or unset it"
                ))
            })?,
            Err(_) => SMS,
        };
        super::signal::install();
        let info = DeviceInfo {
            name: format!("cpu (emulated, {threads} {})", if threads == 1 { "thread" } else { "threads" }),
            emulated: true,
            sms,
            arch: String::new(),
            max_shared_bytes: LIMIT,
            l2_bytes: 0,
            uuid: String::new(),
            driver: String::from("none (emulated)"),
        };
        let workers = (0..threads).map(|_| Worker::new()).collect();
        Ok(Cpu { info, workers, modules: Vec::new(), memory: BTreeMap::new() })
    }

    fn module(&self, module: u32) -> Result<&Module, DeviceError> {
        let found = self.modules.get(module as usize).and_then(Option::as_ref);
        found.ok_or_else(|| DeviceError::Driver(format!("module {module} is not loaded")))
    }

    /// Whether `bytes` from `address` lie in one allocation.
    fn check(&self, address: u64, bytes: usize) -> Result<(), DeviceError> {
        let inside = self.memory.range(..=address).next_back().is_some_and(|(start, layout)| {
            let offset = (address - start) as usize;
            bytes <= layout.size() && offset <= layout.size() - bytes
        });
        inside.then_some(()).ok_or_else(|| {
            DeviceError::Driver(format!("{bytes} bytes at {address:#x} are not allocated on the cpu device"))
        })
    }
}

impl Driver for Cpu {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn load(&mut self, image: &Path) -> Result<u32, DeviceError> {
        let failed = |e: libloading::Error| {
            DeviceError::Driver(format!("cannot load the built kernel {}: {e}", image.display()))
        };
        // SAFETY: the image comes from this device's builder: its initialisers register the entries.
        let module = unsafe {
            let library = Library::new(image).map_err(failed)?;
            let install =
                *library.get::<unsafe extern "C" fn(*const Runtime)>("lab_cpu_install").map_err(failed)?;
            let first = *library
                .get::<unsafe extern "C" fn() -> *const EntryRecord>("lab_cpu_first_entry")
                .map_err(failed)?;
            let slots =
                *library.get::<unsafe extern "C" fn() -> u32>("lab_cpu_slot_count").map_err(failed)?;
            let self_slot = *library.get("lab_cpu_self_slot").map_err(failed)?;
            let flush = *library.get("lab_cpu_flush").map_err(failed)?;
            install(&RUNTIME);
            let races =
                library.get::<unsafe extern "C" fn(*const race_hooks::Table)>("lab_cpu_install_races").ok();
            if let Some(races) = &races {
                races(&race_hooks::TABLE);
            }
            let followed = races.map(|_| image_base(flush as *const c_void));
            let mut entries = Vec::new();
            let mut record = first();
            while !record.is_null() {
                let name = CStr::from_ptr((*record).name).to_string_lossy().into_owned();
                entries.push((name, record));
                record = (*record).next;
            }
            Module { entries, self_slot, flush, slots: slots(), followed, _library: library }
        };
        self.modules.push(Some(module));
        Ok((self.modules.len() - 1) as u32)
    }

    fn unload(&mut self, module: u32) -> Result<(), DeviceError> {
        self.module(module)?;
        self.modules[module as usize] = None;
        Ok(())
    }

    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError> {
        let index = self.module(module)?.entries.iter().position(|(known, _)| known == name);
        Ok(index.map(|index| Entry { module, index: index as u32 }))
    }

    fn blocks_per_sm(&mut self, entry: Entry, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        self.module(entry.module)?;
        Ok(resident_blocks(threads, shared_bytes))
    }

    fn alloc(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let none = || DeviceError::Driver(format!("no memory for {bytes} bytes on the cpu device"));
        let layout = Layout::from_size_align(bytes.max(1), 256).map_err(|_| none())?;
        // SAFETY: the size is not 0.
        let at = unsafe { alloc(layout) } as u64;
        if at == 0 {
            return Err(none());
        }
        self.memory.insert(at, layout);
        Ok(at)
    }

    fn free(&mut self, address: u64) -> Result<(), DeviceError> {
        let layout = self.memory.remove(&address).ok_or_else(|| {
            DeviceError::Driver(format!("{address:#x} is not the start of an allocation on the cpu device"))
        })?;
        // SAFETY: allocated by `alloc` with this layout.
        unsafe { dealloc(address as *mut u8, layout) };
        Ok(())
    }

    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.check(address, bytes.len())?;
        // SAFETY: checked; a slice of the caller cannot overlap memory that only addresses name.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
        Ok(())
    }

    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.check(address, bytes.len())?;
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn fill(&mut self, address: u64, bytes: usize, pattern: u32) -> Result<(), DeviceError> {
        self.check(address, bytes)?;
        for word in 0..bytes / 4 {
            // SAFETY: checked.
            unsafe { (address as *mut u32).add(word).write_unaligned(pattern) };
        }
        Ok(())
    }

    fn launch(
        &mut self,
        entry: Entry,
        shape: &Shape,
        args: &[Arg],
        order: ExecutionOrder,
    ) -> Result<f64, DeviceError> {
        let module = self.module(entry.module)?;
        let (name, record) = module
            .entries
            .get(entry.index as usize)
            .ok_or_else(|| DeviceError::Driver(format!("module {} has no such kernel", entry.module)))?;
        // SAFETY: the record lies in the module, which is loaded.
        let record = unsafe { &**record };
        check_arguments(name, record, args)?;
        let threads = shape.block.iter().fold(1, |product: u32, n| product.saturating_mul(*n));
        let fitting = u64::from(self.info.sms) * u64::from(resident_blocks(threads, shape.shared_bytes));
        check_shape(name, shape, fitting)?;

        let mut values = Values::new(args);
        let blocks = shape.grid.iter().map(|n| u64::from(*n)).product::<u64>();
        let followed = module.followed;
        let most = if followed.is_some() { 1 } else { self.workers.len() as u64 };
        let wanted = most.min(blocks) as u32;
        let mut launch =
            Launch::new(name, record.call, values.addresses(), shape, order, module.slots, wanted);
        launch.races = followed.map(|base| RefCell::new(RaceDetector::new(shape.grid, shape.block, base)));
        let (self_slot, flush) = (module.self_slot, module.flush);
        let started = Instant::now();
        std::thread::scope(|scope| {
            let (first, others) = self.workers.split_at_mut(1);
            for (number, worker) in (1..wanted).zip(others) {
                let launch = &launch;
                // SAFETY: the module is loaded, the arguments are as the kernel's parameters.
                scope.spawn(move || unsafe { worker.run(launch, self_slot(), number) });
            }
            // SAFETY: as above.
            unsafe { first[0].run(&launch, self_slot(), 0) };
        });
        let seconds = started.elapsed().as_secs_f64();
        // What the kernel printed; the C library's buffer is not Rust's.
        // SAFETY: the module is loaded.
        unsafe { flush() };
        if let Some(races) = launch.races.take() {
            races.into_inner().write_log()?;
        }
        launch.failure().map_or(Ok(seconds), |text| Err(DeviceError::Kernel(text)))
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        for (address, layout) in std::mem::take(&mut self.memory) {
            // SAFETY: allocated by `alloc` with this layout.
            unsafe { dealloc(address as *mut u8, layout) };
        }
    }
}

/// Blocks of this shape that one multiprocessor holds at once. Static shared memory is not counted: it is known only
/// when a block has used it.
fn resident_blocks(threads: u32, shared_bytes: u32) -> u32 {
    if threads == 0 || threads > 1024 || shared_bytes > LIMIT {
        return 0;
    }
    let by_threads = THREADS_PER_SM / threads.next_multiple_of(32);
    let by_shared = SHARED_PER_SM / (shared_bytes + SHARED_RESERVED);
    by_threads.min(by_shared).min(BLOCKS_PER_SM)
}

/// A kernel's arguments, each at an address aligned for any parameter type.
struct Values {
    _bytes: Vec<Line>,
    addresses: Vec<*mut c_void>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Values {
    fn new(args: &[Arg]) -> Values {
        let lines = |arg: &Arg| arg.len().div_ceil(64).max(1);
        let mut bytes = vec![Line([0; 64]); args.iter().map(lines).sum()];
        let mut at = bytes.as_mut_ptr();
        let mut addresses = Vec::with_capacity(args.len());
        for arg in args {
            // SAFETY: `bytes` has this many lines for this argument.
            unsafe {
                std::ptr::copy_nonoverlapping(arg.as_ptr(), at.cast::<u8>(), arg.len());
                addresses.push(at.cast());
                at = at.add(lines(arg));
            }
        }
        Values { _bytes: bytes, addresses }
    }

    fn addresses(&mut self) -> *mut *mut c_void {
        self.addresses.as_mut_ptr()
    }
}

/// Where the image that holds this address begins.
fn image_base(inside: *const c_void) -> usize {
    let mut about = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the place is as large as what is written there; zeros are a valid value of it.
    let about = unsafe {
        libc::dladdr(inside, about.as_mut_ptr());
        about.assume_init()
    };
    about.dli_fbase as usize
}

fn check_arguments(name: &str, record: &EntryRecord, args: &[Arg]) -> Result<(), DeviceError> {
    if record.arguments as usize != args.len() {
        return Err(DeviceError::Kernel(format!(
            "kernel '{name}' takes {} arguments, and {} are given",
            record.arguments,
            args.len()
        )));
    }
    for (i, arg) in args.iter().enumerate() {
        // SAFETY: the record has one size for each argument.
        let size = unsafe { *record.sizes.add(i) } as usize;
        if size != arg.len() {
            return Err(DeviceError::Kernel(format!(
                "kernel '{name}': its parameter {} takes {size} bytes, and {} are given",
                i + 1,
                arg.len()
            )));
        }
    }
    Ok(())
}

fn check_shape(name: &str, shape: &Shape, fitting: u64) -> Result<(), DeviceError> {
    let refuse =
        |text: String| Err(DeviceError::Kernel(format!("kernel '{name}' cannot be launched: {text}")));
    let [x, y, z] = shape.block;
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    if threads == 0 || threads > 1024 || z > 64 {
        return refuse(format!("a block has 1 to 1024 threads (z at most 64), not ({x},{y},{z})"));
    }
    let [x, y, z] = shape.grid;
    if x == 0 || y == 0 || z == 0 || x > i32::MAX as u32 || y > 65535 || z > 65535 {
        return refuse(format!("a grid has 1 to (2147483647,65535,65535) blocks, not ({x},{y},{z})"));
    }
    if shape.shared_bytes > LIMIT {
        return refuse(format!(
            "a block has {LIMIT} bytes of shared memory at most, not {}",
            shape.shared_bytes
        ));
    }
    let blocks = u64::from(x) * u64::from(y) * u64::from(z);
    if shape.cooperative && blocks > fitting {
        return refuse(format!(
            "{blocks} blocks cannot be resident at once; a cooperative launch of this shape has {fitting} at most"
        ));
    }
    Ok(())
}
