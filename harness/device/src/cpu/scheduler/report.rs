//! What went wrong in a launch, in words: the kernel, the place in its source, the block and the threads.
#![allow(unsafe_code)]

use super::block::Block;
use super::block_of;
use crate::cpu::abi::{Site, Thread, WARP};
use crate::cpu::launch::Launch;
use crate::cpu::stacks::STACK_BYTES;
use std::ffi::{CStr, c_char};
use std::fmt::Write;

/// "__syncthreads() at kernel.cu:12".
fn place(site: &Site) -> String {
    match site.file.is_null() {
        true => text(site.what),
        false => format!("{} at {}:{}", text(site.what), text(site.file), site.line),
    }
}

fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::from("something");
    }
    // SAFETY: device code passes string literals, and its module stays loaded during the launch.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

/// "kernel 'scale': …, block (0,0,0), thread (5,0,0)".
///
/// # Safety
/// `thread` is a thread of a resident block.
pub unsafe fn in_thread(thread: *const Thread, what: &str) -> String {
    // SAFETY: as promised.
    let (thread, block) = unsafe { (&*thread, &*block_of(thread.cast_mut())) };
    // SAFETY: a resident block's worker and launch are alive.
    let launch = unsafe { &*(*block.worker).launch };
    format!(
        "kernel '{}': {what}, block {}, thread {}",
        launch.kernel,
        triple(block.head.index),
        triple(thread.index)
    )
}

/// A trap or an assertion.
///
/// # Safety
/// As [`in_thread`].
pub unsafe fn failed(thread: *const Thread) -> String {
    // SAFETY: as promised.
    unsafe { in_thread(thread, &place(&(*thread).site)) }
}

/// # Safety
/// As [`in_thread`].
pub unsafe fn not_in_mask(thread: *const Thread, mask: u32) -> String {
    // SAFETY: as promised.
    unsafe {
        let (place, lane) = (place(&(*thread).site), (*thread).lane);
        in_thread(
            thread,
            &format!("{place} was called by lane {lane}, which is not in its mask {mask:#010x}"),
        )
    }
}

/// # Safety
/// As [`in_thread`].
pub unsafe fn different_intrinsics(thread: *const Thread, other: *const c_char) -> String {
    // SAFETY: as promised.
    unsafe {
        let place = place(&(*thread).site);
        let other = text(other);
        in_thread(thread, &format!("{place} meets other lanes of its mask that are in {other}"))
    }
}

/// # Safety
/// As [`in_thread`].
pub unsafe fn different_barriers(thread: *const Thread) -> String {
    // SAFETY: as promised.
    unsafe {
        let block = &*block_of(thread.cast_mut());
        let own = place(&(*thread).site);
        let other = place(&block.barrier.site);
        in_thread(
            thread,
            &format!(
                "threads of one block wait at different barriers: {} at {other}, and one at {own}",
                block.barrier.arrived
            ),
        )
    }
}

/// # Safety
/// As [`in_thread`].
pub unsafe fn not_cooperative(thread: *const Thread) -> String {
    // SAFETY: as promised.
    unsafe {
        let place = place(&(*thread).site);
        in_thread(
            thread,
            &format!(
                "{place} needs a cooperative launch: say launch.cooperative = 1 in its launch statement"
            ),
        )
    }
}

pub fn stack_overflow(launch: &Launch, block: &Block, thread: &Thread) -> String {
    format!(
        "kernel '{}': stack overflow: a thread has {} KiB for its local variables here; the first seen is block {}, thread {}",
        launch.kernel,
        STACK_BYTES / 1024,
        triple(block.head.index),
        triple(thread.index)
    )
}

pub fn shared_overrun(launch: &Launch, block: &Block) -> String {
    format!(
        "kernel '{}': shared memory was written past its end in block {}",
        launch.kernel,
        triple(block.head.index)
    )
}

/// Some threads of a block wait for others that will never come.
pub fn stuck_block(launch: &Launch, block: &Block) -> String {
    // The waiting threads by place, each with their number and the first of them.
    let mut places: Vec<(String, u32, [u32; 3])> = Vec::new();
    let mut returned: Option<(u32, [u32; 3])> = None;
    for (t, thread) in block.threads.iter().enumerate() {
        let warp = &block.warps[t / WARP as usize];
        if warp.alive & (1 << thread.lane) == 0 {
            returned.get_or_insert((0, thread.index)).0 += 1;
            continue;
        }
        let place = place(&thread.site);
        match places.iter_mut().find(|(known, ..)| *known == place) {
            Some((_, count, _)) => *count += 1,
            None => places.push((place, 1, thread.index)),
        }
    }
    let total = block.threads.len();
    let mut out = format!("kernel '{}', block {}: ", launch.kernel, triple(block.head.index));
    for (i, (place, count, first)) in places.iter().enumerate() {
        let joint = if i == 0 { "" } else { "; " };
        let _ = write!(
            out,
            "{joint}{place} is never reached by all: {count} of {total} threads wait there, the first is thread {}",
            triple(*first)
        );
    }
    if let Some((count, first)) = returned {
        let _ = write!(out, "; {count} threads have returned, the first is thread {}", triple(first));
    }
    out
}

/// Whole blocks wait for others that have returned.
pub fn stuck_grid(launch: &Launch, block: Option<&Block>) -> String {
    let place = match block.and_then(|block| block.threads.first()) {
        Some(thread) => place(&thread.site),
        None => String::from("the grid's barrier"),
    };
    format!(
        "kernel '{}': {place} is never reached by all: {} of {} blocks wait there, others have returned",
        launch.kernel,
        launch.blocks_at_grid(),
        launch.blocks
    )
}
