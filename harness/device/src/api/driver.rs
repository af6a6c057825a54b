//! Holding memory and launching kernels: [`Driver`], which each device implements, and its types.

use crate::api::digest::{MemoryRange, Noise};
use crate::api::error::{DeviceError, Result};
use crate::api::tensor_map::TensorMap;
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Instant;

/// The 32-bit patterns of outputs that no kernel has written: NaNs as f32, and pairs of NaNs as f16
/// or bf16.
///
/// No operation gives them: a GPU's NaNs are `0x7fffffff` and `0x7fff`, a processor's are quiet,
/// and as f32 these are signalling. Memory that a kernel writes with a NaN therefore differs from
/// memory that it did not write. Two launches on the same kind of buffer may get different
/// patterns, so a value that equals a pattern by chance counts as unwritten in one launch at most.
///
/// ```
/// assert!(lab_device::POISONS.iter().all(|pattern| f32::from_bits(*pattern).is_nan()));
/// ```
pub const POISONS: [u32; 2] = [0x7fa5_7fa5, 0x7f9a_7f9a];

/// The patterns of outputs whose cells have one byte. No byte is a NaN there, so each is also a
/// value. None of them is an end of a type's range, which a kernel that saturates writes.
pub const BYTE_POISONS: [u32; 2] = [0xa5a5_a5a5, 0x9a9a_9a9a];

/// The patterns of outputs of 8-bit floats with a mantissa of two bits: the two signalling NaNs.
/// Conversions give the quiet ones, `0x7e` and `0x7f`, with either sign.
pub const FLOAT8_POISONS: [u32; 2] = [0x7d7d_7d7d, 0xfdfd_fdfd];

/// The patterns of outputs of 64-bit floats, as which the NaNs above are huge numbers: two signalling
/// NaNs, which no operation gives.
pub const DOUBLE_POISONS: [u32; 2] = [0x7ff5_7ff5, 0x7ff2_7ff2];

/// Patterns that take turns with the NaNs: a huge positive and a huge negative number as f32, f16,
/// bf16 and 8-bit float. A kernel that reads what nobody wrote and drops NaNs, as `fmaxf` and
/// `fminf` do, gets a wrong result with one of them.
pub const HUGE_POISONS: [u32; 2] = [0x7b7b_7b7b, 0xfbfb_fbfb];

/// The patterns of memory whose cells are f32, f16 or bf16, or of no known type, in turn.
pub const FLOAT_POISONS: [u32; 4] = [POISONS[0], HUGE_POISONS[0], POISONS[1], HUGE_POISONS[1]];

/// The same for integers: large negative numbers, also as i8. The NaNs above are large positive
/// ones.
pub const NEGATIVE_POISONS: [u32; 2] = [0x8585_8585, 0x9a9a_9a9a];

/// The patterns of shared memory before launches, in turn. None is a pattern of outputs: an output
/// into which a kernel copies what it never wrote is wrong, and not unwritten.
/// Ordinary numbers and zeros show kernels that leave out what is no ordinary number.
pub const SHARED_POISONS: [u32; 6] = [
    QUIET_NANS[0],
    HUGE_UNSET[0],
    ORDINARY_POISONS[0],
    HUGE_UNSET[1],
    0,
    ORDINARY_POISONS[1],
];

/// NaNs that operations give as f16 and bf16, in memory that is no output.
const QUIET_NANS: [u32; 2] = [0x7fff_7fff, 0x7ffe_7ffe];

/// As [`HUGE_POISONS`], in memory that is no output.
const HUGE_UNSET: [u32; 2] = [0x7a7a_7a7a, 0xfafa_fafa];

/// Numbers between 0 and 1: the first as f32 and bf16, the second as f16 too.
const ORDINARY_POISONS: [u32; 2] = [0x3f2a_3f2a, 0x3bff_3bff];

/// The patterns of scratch, in turn, which is never compared. As in shared memory, none is a pattern
/// of outputs.
pub const SCRATCH_POISONS: [u32; 6] = [
    QUIET_NANS[0],
    HUGE_UNSET[0],
    ORDINARY_POISONS[0],
    QUIET_NANS[1],
    HUGE_UNSET[1],
    ORDINARY_POISONS[1],
];

/// Whether shared memory, scratch or a variable of the cpu device may hold this word before a kernel
/// writes it. The last of them is GCC's pattern of variables without a value. Zero is no sign.
pub fn is_unset(word: u32) -> bool {
    const VARIABLE: u32 = 0xfefe_fefe;
    let unset = [SHARED_POISONS, SCRATCH_POISONS].concat();
    word != 0 && (word == VARIABLE || unset.contains(&word))
}

/// The pattern of a new buffer, one of [`POISONS`].
pub const POISON: u32 = POISONS[0];

/// Returns whether a word is one of the patterns of unwritten outputs.
pub fn is_poison(word: u32) -> bool {
    let nans = [POISONS, BYTE_POISONS, FLOAT8_POISONS, DOUBLE_POISONS].concat();
    let numbers = [HUGE_POISONS, NEGATIVE_POISONS].concat();
    nans.contains(&word) || numbers.contains(&word)
}

/// Properties of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// `NVIDIA H200`, or `cpu (emulated, 2 threads)`.
    pub name: String,
    /// Whether this is the cpu device, whose times say nothing about a GPU.
    pub emulated: bool,
    /// Streaming multiprocessors. The cpu device reports an assumed number.
    pub sms: u32,
    /// Architecture, such as `sm_90`; empty on the cpu device.
    pub arch: String,
    /// Shared memory that one block may use, in bytes.
    pub max_shared_bytes: u32,
    /// Bytes of level-2 cache; 0 on the cpu device, which does not emulate one.
    pub l2_bytes: u64,
    /// Bytes of memory, of which other processes may hold a part. 0 if the device does not tell.
    pub memory_bytes: u64,
    /// `GPU-` and 16 bytes in hex. CUDA_VISIBLE_DEVICES changes a device's ordinal, but not this.
    /// Empty on the cpu device.
    pub uuid: String,
    /// CUDA version and driver version, such as `CUDA 13.0, driver 580.95.05`.
    pub driver: String,
}

/// A kernel in a loaded module. Returned by [`Driver::entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The module's number, from [`Driver::load`].
    pub module: u32,
    /// The kernel's number within the module.
    pub index: u32,
}

/// How a kernel is launched. Its launch statement in kernel.cu decides this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether all blocks must be resident at once, so that `this_grid().sync()` works.
    pub cooperative: bool,
    /// Blocks of a thread block cluster in x, y and z; all 1 where there are no clusters.
    pub cluster: [u32; 3],
}

impl Default for Shape {
    /// One block of one thread.
    fn default() -> Self {
        Shape {
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            cooperative: false,
            cluster: [1; 3],
        }
    }
}

impl Shape {
    /// Blocks of the grid; saturates instead of overflowing.
    pub fn blocks(&self) -> u64 {
        volume(self.grid)
    }

    /// Threads of a block; saturates instead of overflowing.
    pub fn threads(&self) -> u64 {
        volume(self.block)
    }

    /// Whether blocks form clusters.
    pub fn has_clusters(&self) -> bool {
        self.cluster != [1; 3]
    }
}

/// Writes the extents of a grid, a cluster or a block, as in `8x5x1`.
pub fn extents([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// Writes the place of a block or a thread, as in `(0,5,0)`.
pub fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

/// The number of elements of a grid, a cluster or a block with these extents.
pub(crate) fn volume(extents: [u32; 3]) -> u64 {
    extents
        .map(u64::from)
        .into_iter()
        .fold(1, u64::saturating_mul)
}

/// How the launches of [`Driver::replay`] get to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Submission {
    /// As one CUDA graph: the host takes no part of the time.
    Graph,
    /// One launch after the other, as a program without a graph does: the time holds what the host
    /// needs for each.
    Plain,
}

impl Submission {
    /// The word of a result line.
    pub fn word(self) -> &'static str {
        match self {
            Submission::Graph => "graph",
            Submission::Plain => "plain",
        }
    }
}

/// How many blocks of a launch fit on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Blocks that are resident on one multiprocessor at once.
    pub blocks_per_sm: u32,
    /// Threads that one multiprocessor can hold.
    pub threads_per_sm: u32,
}

/// The order in which the cpu device runs blocks, warps, and the threads between two barriers. A
/// CUDA device ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutionOrder {
    #[default]
    /// In ascending order.
    Forward,
    /// In descending order.
    Reverse,
    /// A random order that this seed determines.
    Shuffled(u64),
}

/// Launches that are timed together, and what surrounds them on the device.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Memory that is filled before, each with a repeated pattern.
    pub fills: Vec<(MemoryRange, u32)>,
    /// Memory that is read before, which brings it into the cache.
    pub read: Vec<MemoryRange>,
    /// Done last before the launches: see [`Filling::FlushesCache`].
    pub flush: Option<(MemoryRange, u32)>,
    /// The launches, one after the other.
    pub steps: Vec<Step>,
    /// Memory whose digests are computed afterwards.
    pub digested: Vec<MemoryRange>,
}

/// How memory is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filling {
    /// The pattern is there at the end: a timed launch may follow.
    Waits,
    /// What follows on the device finds the pattern, and may be started before it is there.
    Ahead,
    /// As `Waits`, and nothing that was in the L2 cache before is there afterwards, if the memory
    /// is larger than the cache. Lines that a kernel asked to keep in the cache are let go first.
    FlushesCache,
}

/// What became of windows that follow one another.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Those that ended well.
    pub windows: Vec<ReplayedWindow>,
    /// Why the next one failed; it is the last that ran.
    pub failure: Option<DeviceError>,
}

/// What became of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedWindow {
    /// From the first launch's begin to the last one's end. `None` where a later window broke the
    /// device before the time was read.
    pub seconds: Option<f64>,
    /// The digests; `None` on a device that computes none.
    pub digests: Option<Vec<u64>>,
}

/// One launch of a [`Window`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Memory that is filled with zeros before the launch, as a part of its time. Whole words.
    pub zeroed: Option<MemoryRange>,
    /// The kernel.
    pub entry: Entry,
    /// How it is launched.
    pub shape: Shape,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// The order of its blocks and threads on the cpu device.
    pub order: ExecutionOrder,
}

/// One argument of a kernel, as the bytes of its parameter. A pointer has 8 bytes.
pub type Arg = Vec<u8>;

/// Bytes of memory that are copied and compared at a time.
pub const COMPARE_CHUNK_BYTES: usize = 1 << 20;

/// The index of the first byte in which two texts of one length differ.
pub(crate) fn difference(actual: &[u8], expected: &[u8]) -> Option<usize> {
    let mut pairs = actual.iter().zip(expected);
    // To compare whole slices is faster than byte by byte.
    (actual != expected).then(|| pairs.position(|(a, b)| a != b))?
}

const NOT_SHARED: &str = "this device cannot share its memory with another process";

/// Device memory and launches. Lives in the worker process. Addresses are device addresses.
///
/// Every call may return [`DeviceError::Driver`]. After a [`DeviceError::Kernel`] from
/// [`Driver::launch`], a CUDA device refuses all further calls of this process.
pub trait Driver: Send {
    /// Returns the device's properties.
    fn info(&self) -> DeviceInfo;
    /// Loads a module, and returns a number for it that is never used again.
    fn load(&mut self, image: &Path) -> Result<u32>;
    /// Unloads a module. Its entries are refused from then on.
    fn unload(&mut self, module: u32) -> Result;
    /// Finds a kernel by name. `None` where the module has no such kernel.
    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>>;
    /// Returns how many blocks fit on one multiprocessor at once. `threads` are those of a block,
    /// `shared_bytes` is its dynamic shared memory.
    fn blocks_per_sm(&mut self, entry: Entry, threads: u32, shared_bytes: u32) -> Result<u32>;
    /// Returns the occupancy of a launch. `None` on the cpu device, which does not emulate
    /// multiprocessors.
    fn occupancy(&mut self, _: Entry, _: &Shape) -> Result<Option<Occupancy>> {
        Ok(None)
    }
    /// Allocates memory, aligned to 256 bytes, with unspecified content. Fails where the device has
    /// too little.
    fn alloc(&mut self, bytes: usize) -> Result<u64>;
    /// Bytes of a page: [`Driver::alloc`] takes whole pages, and a kernel can access every byte of
    /// them. 1 where an allocation is as long as it was asked for.
    fn page_bytes(&self) -> usize {
        1
    }
    /// Allocates memory that ends after exactly `bytes` bytes, so that a tool such as
    /// compute-sanitizer reports the first access behind it. [`Driver::alloc`] may take whole
    /// pages, of which every byte is accessible. The findings of a tool may name the memory so.
    fn alloc_exact(&mut self, bytes: usize, _name: &str) -> Result<u64> {
        self.alloc(bytes)
    }
    /// Whether another process can map what [`Driver::alloc_shared`] allocates.
    fn shares_memory(&self) -> bool {
        false
    }
    /// [`Driver::alloc`] of memory that another process can map: with the descriptor that it gets.
    fn alloc_shared(&mut self, _bytes: usize) -> Result<(u64, OwnedFd)> {
        Err(DeviceError::Driver(NOT_SHARED.into()))
    }
    /// Maps memory that another process has allocated by [`Driver::alloc_shared`], and returns its
    /// address here. `bytes` are all of it, in whole pages. `is_read_only` makes every store there
    /// an illegal address. Ends with [`Driver::free`].
    fn map_shared(&mut self, _memory: &OwnedFd, _bytes: usize, _is_read_only: bool) -> Result<u64> {
        Err(DeviceError::Driver(NOT_SHARED.into()))
    }
    /// Frees an allocation. `address` is its start.
    fn free(&mut self, address: u64) -> Result;
    /// Copies `bytes` to the device. Fails where they do not fit into the allocation.
    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result;
    /// Fills `bytes` from the device. Fails where the allocation is shorter.
    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result;
    /// Compares device memory with `expected`, and returns the offset of the first byte that
    /// differs.
    fn first_difference(&mut self, address: u64, expected: &[u8]) -> Result<Option<usize>> {
        let mut actual = vec![0; expected.len()];
        self.download(address, &mut actual)?;
        Ok(difference(&actual, expected))
    }
    /// Fills memory with a repeated 32-bit pattern, the last of which may be cut.
    fn fill(&mut self, memory: MemoryRange, pattern: u32, how: Filling) -> Result;
    /// [`Driver::upload`] for work that follows on the device: may return before the copy has
    /// ended. Next to other processes, each wait for a GPU takes as long as a turn of theirs.
    fn upload_before(&mut self, address: u64, bytes: &[u8]) -> Result {
        self.upload(address, bytes)
    }
    /// Copies within the device's memory, for work that follows on the device.
    fn copy_before(&mut self, from: u64, to: u64, bytes: usize) -> Result {
        let mut content = vec![0; bytes];
        self.download(from, &mut content)?;
        self.upload(to, &content)
    }
    /// Waits until what was begun with [`Driver::upload_before`] and its like has ended.
    fn finish(&mut self) -> Result {
        Ok(())
    }
    /// Fills memory with noise, from word `first` of the noise on. `address` and `bytes` are
    /// multiples of 4.
    fn fill_noise(&mut self, address: u64, bytes: usize, noise: &Noise, first: u64) -> Result {
        let mut address = address;
        for part in noise.parts(4 * first, bytes) {
            self.upload(address, part)?;
            address += part.len() as u64;
        }
        Ok(())
    }
    /// Returns the [digest](crate::digest) of each range under a key. `None` where the device
    /// computes none, and comparing the memory is as fast.
    fn digests(&mut self, _ranges: &[MemoryRange], _key: u64) -> Result<Option<Vec<u64>>> {
        Ok(None)
    }
    /// Overwrites the shared memory of every multiprocessor, where a launch could find what an
    /// earlier one left, with the next of [`SHARED_POISONS`]. What follows on the device finds it.
    /// The cpu device does so when a block begins, with a pattern for each launch.
    fn scrub(&mut self) -> Result {
        Ok(())
    }
    /// Returns the sizes of a kernel's parameters, in bytes. `None` where they are not known.
    fn parameters(&self, _entry: Entry) -> Result<Option<Vec<usize>>> {
        Ok(None)
    }
    /// Launches a kernel once, waits for it, and returns its time in seconds: the time between two
    /// device events around the launch, or wall time on the cpu device. Returns
    /// [`DeviceError::Kernel`] where the launch is not possible or the kernel fails.
    fn launch(
        &mut self,
        entry: Entry,
        shape: &Shape,
        args: &[Arg],
        order: ExecutionOrder,
    ) -> Result<f64>;
    /// Runs these windows one after the other, up to the first that fails, and waits for all. A
    /// CUDA device runs the launches of each as `submission` says; the cpu device has no graphs,
    /// and a window's time is the sum of its steps' times. The digests are under `key`.
    fn replay(&mut self, windows: &[Window], _submission: Submission, key: u64) -> Replayed {
        let mut replayed = Replayed::default();
        for window in windows {
            match run_window(self, window, key) {
                Ok(window) => replayed.windows.push(window),
                Err(failure) => {
                    replayed.failure = Some(failure);
                    break;
                }
            }
        }
        replayed
    }
    /// Whether [`Submission::Graph`] makes a graph here.
    fn has_graphs(&self) -> bool {
        false
    }
    /// Encodes a tensor map, which a kernel takes as a parameter. Returns [`DeviceError::Kernel`]
    /// where the device has none, or where the map breaks a limit.
    fn tensor_map(&mut self, _map: &TensorMap) -> Result<Arg> {
        Err(DeviceError::Kernel(
            "tensor maps (TMA) cannot be used on the cpu device".into(),
        ))
    }
    /// The names of a module's kernels, where the device can tell them.
    fn kernels(&mut self, _module: u32) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Runs a window on a device that has no graphs.
fn run_window(
    driver: &mut (impl Driver + ?Sized),
    window: &Window,
    key: u64,
) -> Result<ReplayedWindow> {
    for (memory, pattern) in &window.fills {
        driver.fill(*memory, *pattern, Filling::Ahead)?;
    }
    driver.digests(&window.read, key)?;
    if let Some((memory, pattern)) = window.flush {
        driver.fill(memory, pattern, Filling::FlushesCache)?;
    }
    let mut seconds = 0.0;
    for step in &window.steps {
        if let Some(memory) = step.zeroed {
            let began = Instant::now();
            driver.fill(memory, 0, Filling::Waits)?;
            seconds += began.elapsed().as_secs_f64();
        }
        seconds += driver.launch(step.entry, &step.shape, &step.args, step.order)?;
    }
    Ok(ReplayedWindow {
        seconds: Some(seconds),
        digests: driver.digests(&window.digested, key)?,
    })
}
