//! Kernels of the lab's own: digests of device memory, patterns, the noise of guard zones, and the
//! wiping of shared memory. They read as fast as the memory delivers, where a comparison on the
//! host takes as long as the copy.
//!
//! The table of what to read or fill, and the results, lie in page-locked host memory, which the
//! device accesses there. So nothing of it lies in device memory, where a kernel could find it
//! later.
#![allow(unsafe_code)]

use super::refusal::DeviceLimits;
use super::staging::{PageLocked, Staging};
use crate::api::{COMPARE_CHUNK_BYTES, MemoryRange, NOISE_WORDS, Noise, Result, SMALL_NOISE};
use crate::cuda::ffi::{self, Code};
use cudarc::driver::sys::{CUfunction, CUfunction_attribute as Attribute, CUstream};
use itertools::Itertools as _;
use std::ffi::{c_int, c_void};

/// `digest.cu` in PTX, which the driver compiles for its device.
const PTX: &str = concat!(include_str!("digest.ptx"), "\0");

const ACTION: &str = "compute digests of device memory";

/// Threads of a block of either kernel.
const THREADS: u32 = 256;
/// Fewest words of a chunk that is not the last of its range. A block has one chunk: with few words
/// in each, all of the device works on a small tensor.
const CHUNK_WORDS: usize = 1 << 12;
/// Chunks of all tables together: as many as a buffer of [`Staging`] holds.
const MAX_CHUNKS: usize = COMPARE_CHUNK_BYTES / size_of::<Chunk>();
/// Beside one for each range, most chunks of a table.
const MOST_CHUNKS: usize = 1 << 13;
/// The same where several tables share the buffer.
const MOST_OF_SEVERAL: usize = 1 << 9;

/// `Chunk` in digest.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chunk {
    address: u64,
    index: u64,
    words: u32,
    first_mask: u32,
    last_mask: u32,
    pattern: u32,
}

/// The kernels.
pub struct Digester {
    digest: CUfunction,
    fill: CUfunction,
    noise: CUfunction,
    scrub: CUfunction,
    wait: CUfunction,
    limits: DeviceLimits,
}

impl Digester {
    /// Loads the kernels into the context that is current, until the context ends. `None` where the
    /// driver cannot compile PTX, for example in a container without `libnvidia-ptxjitcompiler`.
    pub fn load(limits: DeviceLimits) -> Option<Digester> {
        let mut module = std::ptr::null_mut();
        // SAFETY: `module` is a live handle to write to, and the text ends with a NUL.
        unsafe { ffi::cuModuleLoadData(&mut module, PTX.as_ptr().cast()) }
            .check("load the digest kernels")
            .ok()?;
        let find = |name: &std::ffi::CStr| {
            let mut function = std::ptr::null_mut();
            // SAFETY: `function` is a live handle to write to, the module is loaded, and the name
            // ends with a NUL.
            unsafe { ffi::cuModuleGetFunction(&mut function, module, name.as_ptr()) }
                .check("find the digest kernels")
                .ok()
                .map(|()| function)
        };
        let [digest, fill] = [c"lab_digest", c"lab_fill"].map(find);
        let [noise, scrub, wait] = [c"lab_noise", c"lab_scrub", c"lab_wait"].map(find);
        let (digest, fill, noise, scrub, wait) = (digest?, fill?, noise?, scrub?, wait?);
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the driver returned the function just now.
        unsafe { ffi::cuFuncSetAttribute(scrub, attribute, limits.shared_bytes as c_int) }
            .check("let the lab's kernel use all shared memory")
            .ok()?;
        let mut registers = 0;
        // A graph records the wait, and while the stream records, nothing can be loaded. To read an
        // attribute loads it. SAFETY: `registers` is a live integer to write to. The driver
        // returned the function just now.
        unsafe {
            ffi::cuFuncGetAttribute(&mut registers, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS, wait)
        }
        .check("load the lab's kernels")
        .ok()?;
        Some(Digester {
            digest,
            fill,
            noise,
            scrub,
            wait,
            limits,
        })
    }

    /// Lets the stream wait for about so many nanoseconds.
    ///
    /// # Safety
    /// The stream is live and belongs to the context in which `self` was made.
    pub unsafe fn wait(&self, stream: CUstream, mut nanoseconds: u64) -> Result {
        let mut parameters = [(&raw mut nanoseconds).cast()];
        // SAFETY: the kernel takes a 64-bit word.
        unsafe { launch(self.wait, 1, 1, 0, stream, &mut parameters) }.check("wait on the device")
    }

    /// Overwrites the shared memory of every multiprocessor with a pattern. A block gets all that a
    /// block may have, so each multiprocessor runs one. Does not wait: what follows on the stream
    /// does.
    ///
    /// # Safety
    /// The stream is live and belongs to the context in which `self` was made.
    pub unsafe fn scrub(&self, stream: CUstream, mut pattern: u32) -> Result {
        let mut words = self.limits.shared_bytes / 4;
        let (blocks, bytes) = (self.limits.sms, self.limits.shared_bytes);
        let mut parameters = [(&raw mut words).cast(), (&raw mut pattern).cast()];
        // SAFETY: the kernel takes two 32-bit words, and writes to its own shared memory, of which
        // it gets this many bytes.
        unsafe { launch(self.scrub, blocks, 1024, bytes, stream, &mut parameters) }
            .check("wipe shared memory")
    }

    /// Returns the digest of each range under a key.
    ///
    /// # Safety
    /// The ranges are allocated, and the stream is live and belongs to the context in which both
    /// `self` and the buffers of `staging` were made.
    pub unsafe fn digests(
        &self,
        staging: &mut Staging,
        stream: CUstream,
        ranges: &[MemoryRange],
        key: u64,
    ) -> Result<Vec<u64>> {
        let mut digests = vec![0u64; ranges.len()];
        let mut chunks = chunks_of(ranges, MOST_CHUNKS);
        loop {
            let queued = Table {
                chunks: chunks.by_ref().take(MAX_CHUNKS).collect(),
                first: 0,
                ranges: ranges.len(),
            };
            if queued.chunks.is_empty() {
                return Ok(digests);
            }
            let pages = staging.page_locked()?;
            // SAFETY: the caller's promise. Nothing else uses the page-locked memory until the
            // stream was waited for.
            let part = unsafe {
                self.queue(&pages, stream, &queued, key)?;
                ffi::cuStreamSynchronize(stream).check(ACTION)?;
                queued.read(&pages[1])
            };
            for (digest, part) in digests.iter_mut().zip(part) {
                *digest = digest.wrapping_add(part);
            }
        }
    }

    /// Puts the computation of digests on the stream. [`Table::read`] has them after that.
    ///
    /// # Safety
    /// As [`Digester::digests`]. `pages` are the buffers of a [`Staging`], and until the stream was
    /// waited for nothing else uses the parts of them that belong to `queued`.
    pub unsafe fn queue(
        &self,
        pages: &[PageLocked; 2],
        stream: CUstream,
        queued: &Table,
        mut key: u64,
    ) -> Result {
        if queued.chunks.is_empty() {
            return Ok(());
        }
        // SAFETY: either buffer has room for MAX_CHUNKS chunks and for as many results, and a table
        // ends there. The kernel takes two pointers and a 64-bit word. It reads the words of the
        // ranges, which the caller promises to be allocated: allocations hold whole words.
        unsafe {
            let output = pages[1].at(queued.first * size_of::<u64>());
            let (mut input_address, mut output_address) = (queued.put(pages), output.device);
            let mut parameters = [
                (&raw mut input_address).cast(),
                (&raw mut output_address).cast(),
                (&raw mut key).cast(),
            ];
            let blocks = queued.chunks.len() as u32;
            launch(self.digest, blocks, THREADS, 0, stream, &mut parameters).check(ACTION)
        }
    }

    /// Puts the filling of memory with patterns on the stream.
    ///
    /// # Safety
    /// As [`Digester::queue`].
    pub unsafe fn fill(&self, pages: &[PageLocked; 2], stream: CUstream, queued: &Table) -> Result {
        if queued.chunks.is_empty() {
            return Ok(());
        }
        // SAFETY: as in `queue`. The kernel takes a pointer, and writes words of the ranges.
        unsafe {
            let mut input_address = queued.put(pages);
            let mut parameters = [(&raw mut input_address).cast()];
            let blocks = queued.chunks.len() as u32;
            launch(self.fill, blocks, THREADS, 0, stream, &mut parameters)
                .check("fill device memory")
        }
    }

    /// Fills memory with noise, from word `first` of it on. Does not wait: what follows on the
    /// stream does.
    ///
    /// # Safety
    /// The memory is allocated, `address` and `bytes` are multiples of 4, and the stream is live
    /// and belongs to the context in which `self` was made.
    pub unsafe fn fill_noise(
        &self,
        stream: CUstream,
        mut address: u64,
        bytes: usize,
        noise: &Noise,
        mut first: u64,
    ) -> Result {
        let (mut words, mut mask, mut key) = (
            bytes as u64 / 4,
            (NOISE_WORDS as u64 - 1) | SMALL_NOISE,
            noise.key(),
        );
        if words == 0 {
            return Ok(());
        }
        let mut parameters = [
            (&raw mut address).cast(),
            (&raw mut words).cast(),
            (&raw mut first).cast(),
            (&raw mut mask).cast(),
            (&raw mut key).cast(),
        ];
        let blocks = words.div_ceil(u64::from(THREADS)).min(1024) as u32;
        // SAFETY: the kernel takes a pointer and four 64-bit words. It writes the words that the
        // caller promises to be allocated.
        unsafe { launch(self.noise, blocks, THREADS, 0, stream, &mut parameters) }
            .check("fill guard zones")
    }
}

/// What a kernel reads or fills, and its part of the buffers.
pub struct Table {
    /// Each with the index of its range.
    chunks: Vec<(usize, Chunk)>,
    /// The place of the first one in the buffers.
    first: usize,
    ranges: usize,
}

impl Table {
    /// Bytes of the results of all chunks that a buffer holds.
    pub const RESULT_BYTES: usize = MAX_CHUNKS * size_of::<u64>();

    /// These ranges, from this place in the buffers on; `None` if they have no room.
    pub fn of(ranges: &[MemoryRange], first: usize) -> Option<Table> {
        let chunks = chunks_of(ranges, MOST_OF_SEVERAL).collect_vec();
        (first + chunks.len() <= MAX_CHUNKS).then_some(Table {
            chunks,
            first,
            ranges: ranges.len(),
        })
    }

    /// [`Table::of`] ranges that are filled with patterns.
    pub fn of_fills(fills: &[(MemoryRange, u32)], first: usize) -> Option<Table> {
        let ranges = fills.iter().map(|(range, _)| *range).collect_vec();
        let mut table = Table::of(&ranges, first)?;
        for (range, chunk) in &mut table.chunks {
            chunk.pattern = fills[*range].1;
        }
        Some(table)
    }

    /// The place behind the last one.
    pub fn end(&self) -> usize {
        self.first + self.chunks.len()
    }

    /// Writes the chunks into the first buffer, and returns their address on the device.
    ///
    /// # Safety
    /// The buffers are those of a [`Staging`], and nothing uses this part of the first one.
    unsafe fn put(&self, pages: &[PageLocked; 2]) -> u64 {
        let table = self.chunks.iter().map(|(_, chunk)| *chunk).collect_vec();
        // SAFETY: the buffer has room for MAX_CHUNKS chunks, and page-locked memory is aligned to a
        // page.
        unsafe {
            let input = pages[0].at(self.first * size_of::<Chunk>());
            std::ptr::copy_nonoverlapping(table.as_ptr(), input.host.cast(), table.len());
            input.device
        }
    }

    /// The digest of each range.
    ///
    /// # Safety
    /// `output` is the second buffer that [`Digester::queue`] got, and the computation has ended.
    pub unsafe fn read(&self, output: &PageLocked) -> Vec<u64> {
        let mut digests = vec![0u64; self.ranges];
        for (place, (range, _)) in (self.first..).zip(&self.chunks) {
            // SAFETY: the kernel has written a word for each chunk.
            let part = unsafe {
                output
                    .at(place * size_of::<u64>())
                    .host
                    .cast::<u64>()
                    .read()
            };
            digests[*range] = digests[*range].wrapping_add(part);
        }
        digests
    }
}

/// Puts a launch of `blocks` blocks of `threads` threads on the stream, and returns the driver's
/// code.
///
/// # Safety
/// The kernel takes parameters of the types that the pointers point to, and may run with them. The
/// stream is live and belongs to the context in which the kernel was loaded.
unsafe fn launch(
    kernel: CUfunction,
    blocks: u32,
    threads: u32,
    shared_bytes: u32,
    stream: CUstream,
    parameters: &mut [*mut c_void],
) -> Code {
    let (parameters, extra) = (parameters.as_mut_ptr(), std::ptr::null_mut());
    // SAFETY: the caller's promise. The driver reads the parameters before the call returns.
    unsafe {
        ffi::cuLaunchKernel(
            kernel,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            shared_bytes,
            stream,
            parameters,
            extra,
        )
    }
}

/// The chunks of ranges, in order, each with the index of its range. There are about `most` at
/// most, beside one for each range.
fn chunks_of(ranges: &[MemoryRange], most: usize) -> impl Iterator<Item = (usize, Chunk)> {
    let words: usize = ranges.iter().map(|range| range.bytes / 4).sum();
    let each = words.div_ceil(most).next_power_of_two().max(CHUNK_WORDS);
    let ranges = ranges.iter().enumerate();
    ranges.flat_map(move |(range, memory)| chunks(*memory, each).map(move |chunk| (range, chunk)))
}

/// The chunks of a range, in order. Each is a run of so many words, the last of fewer.
fn chunks(range: MemoryRange, each: usize) -> impl Iterator<Item = Chunk> {
    let head = range.address % 4;
    let end = head as usize + range.bytes;
    let words = if range.bytes == 0 { 0 } else { end.div_ceil(4) };
    (0..words).step_by(each).map(move |index| {
        let here = (words - index).min(each);
        let (is_first, is_last) = (index == 0, index + here == words);
        Chunk {
            address: range.address - head + 4 * index as u64,
            index: index as u64,
            words: here as u32,
            first_mask: if is_first {
                u32::MAX << (8 * head)
            } else {
                u32::MAX
            },
            last_mask: if is_last && !end.is_multiple_of(4) {
                u32::MAX >> (8 * (4 - end % 4))
            } else {
                u32::MAX
            },
            pattern: 0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{digest, mix};

    /// What the kernel computes, over memory that begins at address 0.
    fn on_the_host(memory: &[u8], range: MemoryRange, key: u64) -> u64 {
        let sum = |chunk: Chunk| {
            let word = |i: u32| {
                let at = chunk.address as usize + 4 * i as usize;
                let mut word = u32::from_le_bytes([0, 1, 2, 3].map(|b| memory[at + b]));
                word &= if i == 0 { chunk.first_mask } else { u32::MAX };
                word & if i + 1 == chunk.words {
                    chunk.last_mask
                } else {
                    u32::MAX
                }
            };
            (0..chunk.words).fold(0u64, |sum, i| {
                sum.wrapping_add(mix(
                    (chunk.index + u64::from(i)) << 32 | u64::from(word(i)),
                    key,
                ))
            })
        };
        chunks(range, CHUNK_WORDS).fold(0, |all, chunk| all.wrapping_add(sum(chunk)))
    }

    #[test]
    fn the_chunks_of_a_range_make_its_digest() {
        let memory: Vec<u8> = (0..4 * CHUNK_WORDS + 4096)
            .map(|i| (i * 7 + i / 256) as u8)
            .collect();
        for (address, bytes) in [
            (0, 0),
            (3, 0),
            (4, 4),
            (5, 1),
            (5, 2),
            (6, 11),
            (2, 2),
            (1, 4 * CHUNK_WORDS),
            (8, 4 * CHUNK_WORDS + 5),
        ] {
            let range = MemoryRange { address, bytes };
            let content = &memory[address as usize..][..bytes];
            assert_eq!(
                on_the_host(&memory, range, 5),
                digest(content, address, 5),
                "{range:?}"
            );
        }
    }

    #[test]
    fn the_source_in_ptx_has_all_kernels_and_an_old_version() {
        for text in [
            ".version 6.4\n",
            ".entry lab_digest(",
            ".entry lab_fill(",
            ".entry lab_noise(",
            ".entry lab_scrub(",
        ] {
            assert!(PTX.contains(text), "{text}");
        }
        assert!(PTX.ends_with('\0') && PTX.matches('\0').count() == 1);
        assert_eq!(size_of::<Chunk>(), 32);
    }
}
