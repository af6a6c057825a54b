//! The messages for a launch that fails: the kernel, the line of its source, the block and the
//! threads.
#![allow(unsafe_code)]

use super::block::Block;
use crate::api::triple;
use crate::cpu::abi::{CallSite, Thread, WARP};
use crate::cpu::launch::Launch;
use crate::cpu::stacks::STACK_BYTES;
use std::ffi::{CStr, c_char};
use std::fmt::Write;

/// Formats as `__syncthreads() at kernel.cu:12`.
pub fn location(site: &CallSite) -> String {
    if site.file.is_null() {
        text(site.what)
    } else {
        format!("{} at {}:{}", text(site.what), text(site.file), site.line)
    }
}

/// The text of a string of the module.
fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::from("an unknown call");
    }
    // SAFETY: device code passes null or a string literal, which ends with a NUL. Its module stays
    // loaded during the launch.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

/// Formats as `kernel 'scale': WHAT, block (0,0,0), thread (5,0,0)`.
pub fn in_thread(launch: &Launch, block: &Block, thread: &Thread, what: String) -> String {
    format!(
        "kernel '{}': {what}, block {}, thread {}",
        launch.kernel,
        triple(block.head.index),
        triple(thread.index)
    )
}

/// A lane called a warp intrinsic with a mask that it is not in.
pub fn not_in_mask(thread: &Thread, mask: u32) -> String {
    let (location, lane) = (location(&thread.site), thread.lane);
    format!("{location} was called by lane {lane}, which is not in its mask {mask:#010x}")
}

/// A lane called another warp intrinsic than the lanes that wait for it.
pub fn different_intrinsics(thread: &Thread, other: *const c_char) -> String {
    format!(
        "{} was called while other lanes of its mask wait in {}: all lanes of a mask must call the same intrinsic",
        location(&thread.site),
        text(other)
    )
}

/// A thread waits at another barrier than the threads that wait for it.
pub fn different_barriers(thread: &Thread, block: &Block) -> String {
    format!(
        "threads of one block wait at different barriers: {} at {}, and one at {}",
        block.barrier.arrived,
        location(&block.barrier.site),
        location(&thread.site)
    )
}

/// A barrier of the whole grid in a launch that is not cooperative.
pub fn not_cooperative(thread: &Thread) -> String {
    format!(
        "{} needs a cooperative launch: set launch.cooperative = 1 in the launch statement",
        location(&thread.site)
    )
}

/// A thread has run over the end of its stack.
pub fn stack_overflow(launch: &Launch, block: &Block, thread: &Thread) -> String {
    format!(
        "kernel '{}': stack overflow: on the cpu device a thread has {} KiB for its local variables; the first to overflow is block {}, thread {}",
        launch.kernel,
        STACK_BYTES / 1024,
        triple(block.head.index),
        triple(thread.index)
    )
}

/// The red zone behind a block's shared memory was written.
pub fn shared_overrun(launch: &Launch, block: &Block) -> String {
    format!(
        "kernel '{}': shared memory was written past its end in block {}",
        launch.kernel,
        triple(block.head.index)
    )
}

/// Threads of a block wait for others that never come.
pub fn stuck_block(launch: &Launch, block: &Block) -> String {
    // By location: how many threads wait there, and the first of them.
    let mut locations: Vec<(String, u32, [u32; 3])> = Vec::new();
    let mut returned: Option<(u32, [u32; 3])> = None;
    for (t, thread) in block.threads.iter().enumerate() {
        let warp = &block.warps[t / WARP as usize];
        if warp.alive & (1 << thread.lane) == 0 {
            returned.get_or_insert((0, thread.index)).0 += 1;
            continue;
        }
        let location = location(&thread.site);
        match locations.iter_mut().find(|(known, ..)| *known == location) {
            Some((_, count, _)) => *count += 1,
            None => locations.push((location, 1, thread.index)),
        }
    }
    let total = block.threads.len();
    let mut out = format!(
        "kernel '{}', block {}: ",
        launch.kernel,
        triple(block.head.index)
    );
    for (i, (location, count, first)) in locations.iter().enumerate() {
        let joint = if i == 0 { "" } else { "; " };
        let _ = write!(
            out,
            "{joint}{location} is never reached by all: {count} of {total} threads wait there, the first is thread {}",
            triple(*first)
        );
    }
    if let Some((count, first)) = returned {
        let _ = write!(
            out,
            "; {count} threads have returned, the first is thread {}",
            triple(first)
        );
    }
    out
}

/// Blocks wait at the grid's barrier for others that have returned.
pub fn stuck_grid(launch: &Launch, block: Option<&Block>) -> String {
    let location = match block.and_then(|block| block.threads.first()) {
        Some(thread) => location(&thread.site),
        None => String::from("the grid's barrier"),
    };
    format!(
        "kernel '{}': {location} is never reached by all: {} of {} blocks wait there, others have returned",
        launch.kernel,
        launch.blocks_at_grid(),
        launch.blocks
    )
}
