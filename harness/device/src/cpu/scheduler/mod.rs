//! One OS thread's share of a launch: it takes ready threads in the launch's order and switches to
//! them.
//!
//! A thread that must wait looks for the next thread itself ([`pick`]), on its own stack. Only the
//! switch goes through [`Worker::run`]. When a thread ends and the next one has not started, its
//! coroutine runs the next thread too. So a kernel without barriers runs a whole grid on one
//! coroutine, without a switch.
//!
//! # Pointers
//! Threads, blocks and workers refer to each other by raw pointers, and a suspended coroutine keeps
//! such pointers on its stack. A launch makes the blocks of a worker, and drops them when it ends;
//! until then they do not move. Everything that a worker owns is used by its OS thread only. No
//! function holds a reference into a worker, a block or a thread while it suspends.
#![allow(unsafe_code)]

mod block;
mod pick;
pub mod race_hooks;
mod report;
mod runtime;
mod warp;

pub use runtime::RUNTIME;

use crate::api::ExecutionOrder;
use crate::cpu::abi::{NOT_STARTED, Thread};
use crate::cpu::coroutines::{Coroutines, ThreadYielder};
use crate::cpu::launch::{FailureRank, Launch};
use block::Block;
use pick::pick;
use std::cell::Cell;

/// Runs blocks of a launch on one OS thread. It is kept from launch to launch with its coroutines.
/// Aligned to two cache lines, which a processor fetches together: two workers share none.
#[repr(align(128))]
pub struct Worker {
    pub launch: *const Launch,
    /// The module's thread-local `lab_cpu_self` of this OS thread: the current thread.
    self_slot: *mut *mut Thread,
    coroutines: Coroutines,
    /// The resident blocks, from `Box::into_raw`. They are pointers, because threads keep the
    /// address of their block.
    blocks: Vec<*mut Block>,
    /// Index in `blocks` of the block whose threads run now.
    current: usize,
    /// The thread that `run` switches to next. Null ends the launch.
    next: *mut Thread,
    /// How many times this worker has passed the grid's barrier.
    passed: u32,
    order: ExecutionOrder,
}

// SAFETY: a worker is used by one OS thread at a time: `run` has a worker for itself until the
// launch ends. Between launches the raw pointers are not used, and the idle coroutines hold no
// pointers to anything of the OS thread they ran on: on entry to a thread, `run_threads` reads them
// from the thread that it is given.
unsafe impl Send for Worker {}

thread_local! {
    /// `self_slot` of the worker on this OS thread, or null, for the signal handler.
    pub static SELF_SLOT: Cell<*mut *mut Thread> = const { Cell::new(std::ptr::null_mut()) };
}

impl Worker {
    pub fn new() -> Worker {
        Worker {
            launch: std::ptr::null(),
            self_slot: std::ptr::null_mut(),
            coroutines: Coroutines::new(),
            blocks: Vec::new(),
            current: 0,
            next: std::ptr::null_mut(),
            passed: 0,
            order: ExecutionOrder::Forward,
        }
    }

    /// Runs this worker's share of a launch.
    ///
    /// # Safety
    /// `this` is valid and nobody else uses the worker until the call returns. `self_slot` is the
    /// module's thread-local of the calling OS thread. The launch's kernel and arguments are valid.
    /// `number` is below the launch's number of workers, and no other worker has it.
    pub unsafe fn run(
        this: *mut Worker,
        launch: &Launch,
        self_slot: *mut *mut Thread,
        number: u32,
    ) {
        // SAFETY: the caller promises that `this` is valid and used by nobody else. Everything goes
        // through `this`, so that the pointers to the worker that its blocks keep stay valid.
        // `next` is null or a thread of one of these blocks, and a coroutine that is resumed was
        // taken for it. The blocks came from `Box::into_raw`, and nothing refers to them after the
        // loop.
        unsafe {
            (*this).launch = launch;
            (*this).order = launch.order;
            (*this).self_slot = self_slot;
            (*this).current = 0;
            (*this).passed = 0;
            make_blocks(this, launch, number);
            SELF_SLOT.set(self_slot);
            (*this).next = pick(this);
            while !(*this).next.is_null() {
                let thread = (*this).next;
                *self_slot = thread;
                if (*thread).coroutine == NOT_STARTED {
                    match (*this).coroutines.take(run_threads) {
                        Ok(coroutine) => (*thread).coroutine = coroutine,
                        Err(text) => {
                            launch.fail(FailureRank::Cause, text);
                            break;
                        }
                    }
                }
                Coroutines::resume(&raw mut (*this).coroutines, (*thread).coroutine, thread);
            }
            *self_slot = std::ptr::null_mut();
            SELF_SLOT.set(std::ptr::null_mut());
            launch.worker_done();
            if launch.has_failed() {
                (*this).coroutines.reset();
            }
            for block in (*this).blocks.drain(..) {
                drop(Box::from_raw(block));
            }
        }
    }

    /// Whether an address lies on the stack of a thread.
    pub fn is_on_stack(&self, address: usize) -> bool {
        self.coroutines.contains(address)
    }

    /// Whether an address lies on the stack that a thread runs on.
    ///
    /// # Safety
    /// `thread` is a live thread of a block on this worker, and runs.
    unsafe fn is_on_stack_of(&self, thread: *const Thread, address: usize) -> bool {
        // SAFETY: the caller promises a live thread.
        let coroutine = unsafe { (*thread).coroutine };
        self.coroutines.stack_contains(coroutine, address)
    }
}

/// Makes the blocks that a worker begins with: its share of a cooperative launch, whose blocks must
/// all be resident, or the next block of another launch.
///
/// # Safety
/// `this` is valid and used by nobody else, and its launch is set.
unsafe fn make_blocks(this: *mut Worker, launch: &Launch, number: u32) {
    let indices: Vec<u64> = if launch.shape.cooperative {
        let share = |n: u32| u64::from(n) * launch.blocks / u64::from(launch.workers);
        (share(number)..share(number + 1))
            .map(|position| launch.block_at(position))
            .collect()
    } else {
        launch.next_block().into_iter().collect()
    };
    for linear in indices {
        let block = Block::new(this, &launch.shape, (launch.slots, launch.poison), linear);
        // SAFETY: the block is new and used by nobody else. The caller promises that `this` is
        // valid and its launch is set.
        unsafe {
            (*block).begin(linear, launch.order);
            race_hooks::begin(block);
            (*this).blocks.push(block);
        }
    }
}

/// The body of every coroutine: runs threads to their ends.
fn run_threads(yielder: &ThreadYielder, mut thread: *mut Thread) {
    // SAFETY: `Worker::run` resumes a coroutine with a thread of one of its blocks. The thread, its
    // block, its worker and its launch are alive until the launch ends. After a suspension this
    // function uses only the thread that it is given then, and what it reads from it. The kernel
    // gets arguments that the driver has compared with its parameters.
    unsafe {
        let worker = (*block_of(thread)).worker;
        let coroutine = (*thread).coroutine;
        Coroutines::entered(&raw mut (*worker).coroutines);
        Coroutines::set_yielder(&raw mut (*worker).coroutines, coroutine, yielder);
        loop {
            // Read again for each thread: the next one may be of a later launch, and the worker may
            // have moved.
            let worker = (*block_of(thread)).worker;
            let launch = (*worker).launch;
            ((*launch).call)((*launch).arguments);
            finish(worker, thread);
            let next = pick(worker);
            if !next.is_null() && (*next).coroutine == NOT_STARTED {
                (*next).coroutine = coroutine;
                *(*worker).self_slot = next;
                thread = next;
            } else {
                (*worker).next = next;
                (*worker).coroutines.idle.push(coroutine);
                Coroutines::leaves(&raw const (*worker).coroutines);
                thread = yielder.suspend(());
                Coroutines::entered(&raw mut (*(*block_of(thread)).worker).coroutines);
            }
        }
    }
}

/// Returns the block of a thread.
///
/// # Safety
/// `thread` is a live thread of a block on this worker.
#[inline]
pub unsafe fn block_of(thread: *mut Thread) -> *mut Block {
    // SAFETY: the caller promises a live thread. Its `block` points to the head of a `Block`, which
    // is the first field of a `repr(C)` struct, and was derived from the block's own address.
    unsafe { (*thread).block.cast::<Block>() }
}

/// Runs other threads until one of them makes this thread ready.
///
/// # Safety
/// Called on the coroutine of `thread`, which is registered where another thread can make it ready.
#[inline]
pub unsafe fn suspend(thread: *mut Thread) {
    // SAFETY: the caller runs on the coroutine of `thread`, so its block and worker are alive and
    // used by this OS thread only. `after` is read only where it is one of the block's threads.
    unsafe {
        let block = block_of(thread);
        let worker = (*block).worker;
        let next = if (*block).ready != 0 {
            (*block).take((*worker).order)
        } else {
            pick(worker)
        };
        if next != thread {
            (*worker).next = next;
            let after = next.wrapping_add(1);
            let threads = (*block).threads.as_mut_ptr_range();
            if threads.contains(&after) && (*after).coroutine != NOT_STARTED {
                Coroutines::prefetch(&raw const (*worker).coroutines, (*after).coroutine);
            }
            Coroutines::suspend(&raw mut (*worker).coroutines, (*thread).coroutine);
        }
    }
}

/// Fails the launch from inside a thread, which never runs again. `what` is wrong with the thread. The
/// frames of the caller are abandoned: they must own no value that needs a drop.
///
/// # Safety
/// Called on the coroutine of `thread`.
pub unsafe fn abandon(thread: *mut Thread, what: String) -> ! {
    // SAFETY: the caller runs on the coroutine of `thread`, so its block, worker and launch are
    // alive. Nothing writes to them while the report is made, and its text is moved into the
    // launch.
    unsafe {
        let block = block_of(thread);
        let worker = (*block).worker;
        let launch = &*(*worker).launch;
        let text = report::in_thread(launch, &*block, &*thread, what);
        launch.fail(FailureRank::Cause, text);
        (*worker).next = std::ptr::null_mut();
        Coroutines::suspend(&raw mut (*worker).coroutines, (*thread).coroutine);
    }
    unreachable!("a launch that failed resumes no thread")
}

/// Takes a thread that has returned out of its warp and block, and checks its stack and, after the
/// last thread, the block's shared memory.
///
/// # Safety
/// Called on the coroutine of `thread`, whose kernel has returned, and which is a thread of
/// `worker`.
unsafe fn finish(worker: *mut Worker, thread: *mut Thread) {
    // SAFETY: the caller runs on the coroutine of `thread`, so block, worker and launch are alive
    // and used by this OS thread only. Each reference ends before the next pointer is used.
    unsafe {
        let block = block_of(thread);
        let launch = &*(*worker).launch;
        // Settles the thread's last write.
        race_hooks::tell(block, |_, _| {});
        let warp = (*block).warps.as_mut_ptr().add((*thread).warp as usize);
        (*warp).alive &= !(1 << (*thread).lane);
        (*block).alive -= 1;
        // The remaining lanes of a mask, and the remaining threads, may all have arrived already.
        let alive = (*warp).alive;
        let full = (*warp).full.get();
        if (*full).arrived != 0 && (*full).arrived == alive {
            runtime::complete(block, (*thread).warp, full, 0);
        }
        for i in 0..(*warp).partial.len() {
            let meeting = (&(*warp).partial)[i].get();
            if (*meeting).arrived != 0 && (*meeting).arrived == (*meeting).mask & alive {
                runtime::complete(block, (*thread).warp, meeting, 0);
            }
        }
        runtime::complete_barrier(block);
        if !(*worker).coroutines.stack_is_intact((*thread).coroutine) {
            let text = report::stack_overflow(launch, &*block, &*thread);
            launch.fail(FailureRank::Cause, text);
        }
        if (*block).alive == 0 && !(*block).shared.is_intact() {
            launch.fail(FailureRank::Cause, report::shared_overrun(launch, &*block));
        }
    }
}
