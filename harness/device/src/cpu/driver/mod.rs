//! The cpu device's [`Driver`]: host memory, modules that are shared objects, and launches on a
//! pool of workers.
#![allow(unsafe_code)]

mod limits;
mod mapped;
mod module;

use super::launch::{FailureRank, Launch};
use super::races::{self, RaceDetector, WatchedBuffers};
use super::scheduler::Worker;
use super::shared::LIMIT;
use crate::allocations::Allocations;
use crate::api::{
    Arg, DeviceError, DeviceInfo, Driver, Entry, ExecutionOrder, Filling, MemoryRange, Result,
    SHARED_POISONS, Shape, check_parameters,
};
use crate::arguments::KernelArguments;
use mapped::Mapped;
use module::Module;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Instant;

/// The emulated device.
struct CpuDriver {
    info: DeviceInfo,
    workers: Vec<Worker>,
    /// By number. `None` for a module that was unloaded.
    modules: Vec<Option<Module>>,
    memory: Allocations,
    /// The allocations that other processes can map, or that are theirs, by their address.
    mapped: BTreeMap<u64, Mapped>,
    /// Where the race detector watches: the buffers with memory around them.
    watched: WatchedBuffers,
    /// How many launches there were.
    launches: usize,
}

/// Opens the cpu device, with one worker for each core. The environment variable `LAB_CPU_SMS` sets
/// the number of multiprocessors that it reports, from 1 to 1024; any other value is an error.
pub fn open() -> Result<Box<dyn Driver>> {
    let threads = lab_system::threads::cores();
    crate::cpu::signal::install();
    Ok(Box::new(driver(threads)?))
}

/// Opens the memory of the cpu device, for a process that launches nothing.
pub fn open_memory() -> Result<Box<dyn Driver>> {
    Ok(Box::new(driver(0)?))
}

fn driver(threads: usize) -> Result<CpuDriver> {
    let sms = limits::sms(std::env::var_os("LAB_CPU_SMS"))?;
    let info = DeviceInfo {
        name: format!(
            "cpu (emulated, {threads} {})",
            if threads == 1 { "thread" } else { "threads" }
        ),
        emulated: true,
        sms,
        arch: String::new(),
        max_shared_bytes: LIMIT,
        l2_bytes: 0,
        memory_bytes: limits::memory(std::env::var_os("LAB_CPU_MEMORY_MIB"))?,
        uuid: String::new(),
        driver: String::from("none (emulated)"),
    };
    let workers = (0..threads).map(|_| Worker::new()).collect();
    Ok(CpuDriver {
        info,
        workers,
        modules: Vec::new(),
        memory: Allocations::new("cpu"),
        mapped: BTreeMap::new(),
        watched: WatchedBuffers::default(),
        launches: 0,
    })
}

impl CpuDriver {
    fn module(&self, module: u32) -> Result<&Module> {
        let found = self.modules.get(module as usize).and_then(Option::as_ref);
        found.ok_or_else(|| DeviceError::Driver(format!("module {module} is not loaded")))
    }

    /// Notes a mapping of so many bytes, and returns its address.
    fn note(&mut self, mapped: Mapped, bytes: usize) -> u64 {
        let address = mapped.address();
        self.memory.live.insert(address, bytes);
        self.mapped.insert(address, mapped);
        address
    }
}

impl Driver for CpuDriver {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn load(&mut self, image: &Path) -> Result<u32> {
        self.modules.push(Some(Module::load(image)?));
        Ok((self.modules.len() - 1) as u32)
    }

    fn unload(&mut self, module: u32) -> Result {
        self.module(module)?;
        self.modules[module as usize] = None;
        Ok(())
    }

    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>> {
        let mut kernels = self.module(module)?.kernels.iter();
        let found = kernels.position(|kernel| kernel.name == name);
        Ok(found.map(|index| Entry {
            module,
            index: index as u32,
        }))
    }

    fn blocks_per_sm(&mut self, entry: Entry, threads: u32, shared_bytes: u32) -> Result<u32> {
        self.module(entry.module)?;
        Ok(limits::resident_blocks(threads.into(), shared_bytes))
    }

    fn kernels(&mut self, module: u32) -> Result<Vec<String>> {
        // In the order of the source.
        let kernels = self.module(module)?.kernels.iter().rev();
        Ok(kernels.map(|kernel| kernel.name.clone()).collect())
    }

    fn alloc(&mut self, bytes: usize) -> Result<u64> {
        let out_of_memory = || {
            DeviceError::Driver(format!(
                "could not get {bytes} bytes of memory for the cpu device. End another process or make the problem smaller."
            ))
        };
        let layout = layout(bytes).ok_or_else(out_of_memory)?;
        // SAFETY: the size is not 0. The memory is zeroed, so that a download of bytes that nobody
        // wrote reads initialised memory.
        let address = unsafe { alloc_zeroed(layout) } as u64;
        if address == 0 {
            return Err(out_of_memory());
        }
        self.memory.live.insert(address, layout.size());
        Ok(address)
    }

    fn alloc_exact(&mut self, bytes: usize, name: &str) -> Result<u64> {
        if !races::is_on() {
            return self.alloc(bytes);
        }
        let address = self.alloc(bytes.saturating_add(2 * races::AROUND))? + races::AROUND as u64;
        let buffer = (name.to_owned(), bytes);
        self.watched.0.insert(address as usize, buffer);
        Ok(address)
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn alloc_shared(&mut self, bytes: usize) -> Result<(u64, OwnedFd)> {
        let (mapped, descriptor) = Mapped::allocate(bytes)?;
        Ok((self.note(mapped, bytes), descriptor))
    }

    fn map_shared(&mut self, memory: &OwnedFd, bytes: usize, is_read_only: bool) -> Result<u64> {
        let mapped = Mapped::import(memory, bytes, is_read_only)?;
        Ok(self.note(mapped, bytes))
    }

    fn free(&mut self, address: u64) -> Result {
        let address = match self.watched.0.remove(&(address as usize)) {
            Some(_) => address - races::AROUND as u64,
            None => address,
        };
        let bytes = self.memory.remove(address)?;
        if self.mapped.remove(&address).is_some() {
            return Ok(());
        }
        if let Some(layout) = layout(bytes) {
            // SAFETY: `alloc` allocated the address with this layout. It was removed from the map,
            // so it is freed once.
            unsafe { dealloc(address as *mut u8, layout) };
        }
        Ok(())
    }

    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result {
        self.memory.check(address, bytes.len())?;
        // SAFETY: the range is inside a live allocation. No reference to an allocation exists, only
        // its address, so `bytes` lies elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
        Ok(())
    }

    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result {
        self.memory.check(address, bytes.len())?;
        // SAFETY: the range is inside a live allocation, whose bytes `alloc` initialised. No
        // reference to an allocation exists, only its address, so `bytes` lies elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len());
        };
        Ok(())
    }

    fn first_difference(&mut self, address: u64, expected: &[u8]) -> Result<Option<usize>> {
        self.memory.check(address, expected.len())?;
        let actual = address as *const u8;
        // SAFETY: the range is inside a live allocation, whose bytes `alloc` initialised, and
        // `expected` is as long. Nothing here refers to the allocation, which other processes may
        // write to.
        let order =
            unsafe { libc::memcmp(actual.cast(), expected.as_ptr().cast(), expected.len()) };
        if order == 0 {
            return Ok(None);
        }
        let differs = |at: &usize| {
            // SAFETY: as above.
            let byte = unsafe { actual.add(*at).read_volatile() };
            byte != expected[*at]
        };
        Ok((0..expected.len()).find(differs))
    }

    fn fill(&mut self, memory: MemoryRange, pattern: u32, _: Filling) -> Result {
        let MemoryRange { address, bytes } = memory;
        self.memory.check(address, bytes)?;
        for word in 0..bytes / 4 {
            // SAFETY: the range is inside a live allocation, and these 4 bytes are inside the
            // range.
            unsafe { (address as *mut u32).add(word).write_unaligned(pattern) };
        }
        let tail = bytes % 4;
        self.upload(
            address + (bytes - tail) as u64,
            &pattern.to_le_bytes()[..tail],
        )
    }

    fn parameters(&self, entry: Entry) -> Result<Option<Vec<usize>>> {
        let kernel = self.module(entry.module)?.kernels.get(entry.index as usize);
        Ok(kernel.map(|kernel| kernel.parameters.clone()))
    }

    fn launch(
        &mut self,
        entry: Entry,
        shape: &Shape,
        args: &[Arg],
        order: ExecutionOrder,
    ) -> Result<f64> {
        let poison = SHARED_POISONS[self.launches % SHARED_POISONS.len()];
        self.launches += 1;
        let module = self.module(entry.module)?;
        let kernel = module.kernels.get(entry.index as usize).ok_or_else(|| {
            DeviceError::Driver(format!("module {} has no such kernel", entry.module))
        })?;
        check_parameters(&kernel.name, &kernel.parameters, args.iter().map(Vec::len))?;
        let per_sm = limits::resident_blocks(shape.threads(), shape.shared_bytes);
        limits::check(kernel, shape, u64::from(self.info.sms) * u64::from(per_sm))?;

        let mut arguments = KernelArguments::new(args);
        let instrumented = module.instrumented;
        let most = if instrumented.is_some() {
            1
        } else {
            self.workers.len() as u64
        };
        let workers = most.min(shape.blocks()) as u32;
        let mut launch = Launch::new(
            &kernel.name,
            kernel.call,
            arguments.pointers(),
            shape,
            order,
            (module.shared_slots, poison),
            workers,
        );
        launch.races = instrumented
            .map(|image| RaceDetector::new(shape.grid, shape.block, image, self.watched.clone()))
            .map(RefCell::new);
        let self_slot = module.self_slot;
        let mut not_started = None;
        let started = Instant::now();
        std::thread::scope(|scope| {
            let (first, others) = self.workers.split_at_mut(1);
            for (number, worker) in (1..workers).zip(others) {
                let launch = &launch;
                // SAFETY: `self_slot` is called on the OS thread that runs the worker, and its
                // module is loaded until the scope ends. The arguments have the sizes of the
                // kernel's parameters and live as long. Each worker gets its own number below
                // `workers`. The kernel itself may do anything: it runs in a worker process, whose
                // answers the judge checks.
                let run = move || unsafe { Worker::run(worker, launch, self_slot(), number) };
                if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, run) {
                    not_started = Some(error);
                    // The other workers must not wait for this one.
                    launch.fail(FailureRank::Cause, String::from("a worker did not start"));
                    launch.worker_done();
                }
            }
            // SAFETY: as for the other workers; this one gets number 0.
            unsafe { Worker::run(&mut first[0], &launch, self_slot(), 0) };
        });
        let seconds = started.elapsed().as_secs_f64();
        if let Some(module) = self.modules[entry.module as usize].as_ref() {
            module.flush();
        }
        if let Some(error) = not_started {
            return Err(DeviceError::Driver(format!(
                "could not start an OS thread for the cpu device: {error}. End other processes or raise the limit \
                 (`ulimit -u`)."
            )));
        }
        if let Some(races) = launch.races.take() {
            races.into_inner().write_log()?;
        }
        launch
            .failure()
            .map_or(Ok(seconds), |text| Err(DeviceError::Kernel(text)))
    }
}

/// The layout of an allocation of so many bytes. `None` for more than an allocation can have.
fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), 256).ok()
}

impl Drop for CpuDriver {
    fn drop(&mut self) {
        self.watched.0.clear();
        let addresses: Vec<u64> = self.memory.live.keys().copied().collect();
        for address in addresses {
            // A live allocation can be freed.
            let _ = self.free(address);
        }
    }
}
