//! One OS thread's share of a launch: takes ready threads in the order asked for and switches to them.
//!
//! A thread that must wait looks for the next one itself ([`Worker::pick`]) on its own stack; only the switch goes
//! through [`Worker::run`]. A thread that ends runs its successor on the same coroutine where that one is fresh, so a
//! kernel without barriers runs a whole grid on one coroutine, switching never.
#![allow(unsafe_code)]

mod block;
mod calls;
pub mod race_hooks;
mod report;

pub use calls::RUNTIME;

use crate::api::ExecutionOrder;
use crate::cpu::abi::{FRESH, Thread};
use crate::cpu::launch::{Launch, Wait, Weight};
use crate::cpu::stacks::{Carriers, Pause};
use block::Block;
use std::cell::Cell;

pub struct Worker {
    pub launch: *const Launch,
    /// The module's thread-local `lab_cpu_self` of this OS thread.
    slot: *mut *mut Thread,
    carriers: Carriers,
    /// Boxed, because threads hold on to their block's address.
    #[allow(clippy::vec_box)]
    blocks: Vec<Box<Block>>,
    current: usize,
    /// To whom `run` switches next; null ends the launch.
    next: *mut Thread,
    /// Generation of the grid's barrier that this worker has passed.
    passed: u32,
    order: ExecutionOrder,
}

// SAFETY: a worker is used by one OS thread at a time: its launch ends before the driver touches it again,
// and no coroutine of a finished launch holds anything of the thread it ran on.
unsafe impl Send for Worker {}

thread_local! {
    /// The slot of the worker on this OS thread, for the signal handler.
    pub static RUNNING: Cell<*mut *mut Thread> = const { Cell::new(std::ptr::null_mut()) };
}

impl Worker {
    pub fn new() -> Worker {
        Worker {
            launch: std::ptr::null(),
            slot: std::ptr::null_mut(),
            carriers: Carriers::new(),
            blocks: Vec::new(),
            current: 0,
            next: std::ptr::null_mut(),
            passed: 0,
            order: ExecutionOrder::Forward,
        }
    }

    /// Runs this worker's share.
    ///
    /// # Safety
    /// `slot` is the module's thread-local of the calling OS thread; the launch's entry and arguments are
    /// valid; `number` is below the launch's workers and used once.
    pub unsafe fn run(&mut self, launch: &Launch, slot: *mut *mut Thread, number: u32) {
        self.launch = launch;
        self.order = launch.order;
        self.slot = slot;
        self.current = 0;
        self.passed = 0;
        let this: *mut Worker = self;
        let own = if launch.shape.cooperative {
            let share = |n: u32| u64::from(n) * launch.blocks / u64::from(launch.workers);
            (share(number)..share(number + 1)).map(|position| Some(launch.block_at(position))).collect()
        } else {
            vec![launch.next_block()]
        };
        for linear in own.into_iter().flatten() {
            let mut block = Block::new(this, &launch.shape, launch.slots, linear);
            block.begin(linear, launch.order);
            self.blocks.push(block);
            // SAFETY: the block was just put on this worker, whose launch is set.
            unsafe { race_hooks::begin(&raw mut **self.blocks.last_mut().expect("one was pushed")) };
        }
        RUNNING.set(slot);
        // SAFETY: `this` outlives the loop, and everything below goes through it, never through `self`.
        unsafe {
            (*this).next = pick(this);
            while !(*this).next.is_null() {
                let thread = (*this).next;
                *slot = thread;
                if (*thread).carrier == FRESH {
                    match (*this).carriers.take(carry) {
                        Ok(carrier) => (*thread).carrier = carrier,
                        Err(text) => {
                            launch.fail(Weight::Cause, text);
                            break;
                        }
                    }
                }
                Carriers::resume(&raw mut (*this).carriers, (*thread).carrier, thread);
            }
            *slot = std::ptr::null_mut();
        }
        RUNNING.set(std::ptr::null_mut());
        launch.worker_done();
        if launch.has_failed() {
            self.carriers.reset();
        }
        self.blocks.clear();
    }
}

impl Worker {
    /// Whether an address lies on the stack of a thread.
    pub fn on_stacks(&self, address: usize) -> bool {
        self.carriers.hold(address)
    }
}

/// What every coroutine does: carries threads to their ends.
fn carry(pause: &Pause, mut thread: *mut Thread) {
    // SAFETY: `Worker::run` resumes with a thread of one of its blocks, which all outlive the launch.
    unsafe {
        let worker = (*block_of(thread)).worker;
        let carrier = (*thread).carrier;
        Carriers::came_from_home(&raw mut (*worker).carriers);
        Carriers::set_pause(&raw mut (*worker).carriers, carrier, pause);
        loop {
            // The worker may have moved since this carrier's last launch.
            let worker = (*block_of(thread)).worker;
            let launch = (*worker).launch;
            ((*launch).call)((*launch).arguments);
            finish(worker, thread);
            let next = pick(worker);
            if !next.is_null() && (*next).carrier == FRESH {
                (*next).carrier = carrier;
                *(*worker).slot = next;
                thread = next;
            } else {
                (*worker).next = next;
                (*worker).carriers.idle.push(carrier);
                Carriers::go_home(&raw const (*worker).carriers);
                thread = pause.suspend(());
                Carriers::came_from_home(&raw mut (*(*block_of(thread)).worker).carriers);
            }
        }
    }
}

/// # Safety
/// `thread` is a live thread of a block on this worker.
#[inline]
pub unsafe fn block_of(thread: *mut Thread) -> *mut Block {
    // SAFETY: `Block` begins with its head.
    unsafe { (*thread).block.cast::<Block>() }
}

/// Lets others run until somebody wakes this thread.
///
/// # Safety
/// Called on the coroutine of `thread`, which somebody can wake.
#[inline]
pub unsafe fn suspend(thread: *mut Thread) {
    // SAFETY: as promised; the carrier's pause lives on this very stack.
    unsafe {
        let block = block_of(thread);
        let worker = (*block).worker;
        let next = if (*block).ready != 0 { (*block).take((*worker).order) } else { pick(worker) };
        if next != thread {
            (*worker).next = next;
            let after = next.wrapping_add(1);
            let lanes = (*block).threads.as_mut_ptr_range();
            if lanes.contains(&after) && (*after).carrier != FRESH {
                Carriers::fetch(&raw const (*worker).carriers, (*after).carrier);
            }
            Carriers::suspend(&raw mut (*worker).carriers, (*thread).carrier);
        }
    }
}

/// Ends the launch from inside a thread, which never runs again.
///
/// # Safety
/// Called on the coroutine of `thread`.
pub unsafe fn abandon(thread: *mut Thread, text: String) -> ! {
    // SAFETY: as promised.
    unsafe {
        let worker = (*block_of(thread)).worker;
        (*(*worker).launch).fail(Weight::Cause, text);
        (*worker).next = std::ptr::null_mut();
        Carriers::suspend(&raw mut (*worker).carriers, (*thread).carrier);
    }
    unreachable!("a launch that failed resumes nobody")
}

/// A thread has returned.
unsafe fn finish(worker: *mut Worker, thread: *mut Thread) {
    // SAFETY: called by `carry` for a thread that has just ended.
    unsafe {
        let block = block_of(thread);
        let warp = (*block).warps.as_mut_ptr().add((*thread).warp as usize);
        (*warp).alive &= !(1 << (*thread).lane);
        (*block).alive -= 1;
        // The lanes that are left may all be there already.
        let alive = (*warp).alive;
        if (*warp).full.arrived != 0 && (*warp).full.arrived == alive {
            calls::complete(block, (*thread).warp, &raw mut (*warp).full, 0);
        }
        for i in 0..(*warp).partial.len() {
            let meeting: *mut _ = &mut *(&mut (*warp).partial)[i];
            if (*meeting).arrived != 0 && (*meeting).arrived == (*meeting).mask & alive {
                calls::complete(block, (*thread).warp, meeting, 0);
            }
        }
        if !(*worker).carriers.intact((*thread).carrier) {
            let launch = &*(*worker).launch;
            launch.fail(Weight::Cause, report::stack_overflow(launch, &*block, &*thread));
        }
        if (*block).alive == 0 && !(*block).shared.intact() {
            let launch = &*(*worker).launch;
            launch.fail(Weight::Cause, report::shared_overrun(launch, &*block));
        }
    }
}

/// The next thread to run, which is then no longer ready; null when there is none, which ends the launch.
unsafe fn pick(worker: *mut Worker) -> *mut Thread {
    // SAFETY: called by this worker or on one of its coroutines; blocks and launch are alive.
    unsafe {
        let launch = &*(*worker).launch;
        let order = launch.order;
        loop {
            let blocks = &raw mut (*worker).blocks;
            let count = (*blocks).len();
            if count == 0 || launch.has_failed() {
                return std::ptr::null_mut();
            }
            for at in ((*worker).current..count).chain(0..(*worker).current) {
                let block: *mut Block = &mut **(*blocks).as_mut_ptr().add(at);
                if (*block).ready != 0 {
                    (*worker).current = at;
                    return (*block).take(order);
                }
            }
            let all = || (0..count).map(|at| -> *mut Block { &mut **(*blocks).as_mut_ptr().add(at) });
            if all().all(|block| (*block).alive == 0) {
                if launch.shape.cooperative {
                    return std::ptr::null_mut();
                }
                match launch.next_block() {
                    Some(linear) => {
                        let block = all().next().expect("one block at least");
                        race_hooks::end(block);
                        (*block).begin(linear, order);
                        race_hooks::begin(block);
                    }
                    None => return std::ptr::null_mut(),
                }
                continue;
            }
            if launch.generation.load(std::sync::atomic::Ordering::Acquire) != (*worker).passed {
                (*worker).passed = (*worker).passed.wrapping_add(1);
                all().for_each(|block| (*block).wake_from_grid());
                continue;
            }
            if all().fold(false, |any, block| (*block).converge() | any) {
                continue;
            }
            if all().fold(false, |any, block| (*block).wake_yielded() | any) {
                // Everybody here only waits; what they wait for may need this core.
                if launch.workers > 1 {
                    std::thread::yield_now();
                }
                continue;
            }
            if launch.shape.cooperative && all().any(|block| (*block).at_grid != 0) {
                match launch.wait_for_grid((*worker).passed) {
                    Wait::Released => continue,
                    Wait::Failed => return std::ptr::null_mut(),
                    Wait::Stuck => {}
                }
            }
            let stuck = all()
                .map(|block| &*block)
                .find(|block| block.alive != 0 && block.at_grid as usize != block.threads.len());
            match stuck {
                Some(block) => launch.fail(Weight::Cause, report::stuck_block(launch, block)),
                None => {
                    let first = all().map(|block| &*block).find(|block| block.at_grid != 0);
                    launch.fail(Weight::Symptom, report::stuck_grid(launch, first));
                }
            }
            return std::ptr::null_mut();
        }
    }
}
