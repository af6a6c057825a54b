//! What the workers of a launch share: which block comes next, the grid's barrier, and the failure.
#![allow(unsafe_code)]

use super::abi::KernelCall;
use super::order::mix;
use super::races::RaceDetector;
use crate::api::{ExecutionOrder, Shape};
use lab_system::threads::lock;
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One launch.
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    pub call: KernelCall,
    pub arguments: *mut *mut c_void,
    pub shape: Shape,
    pub order: ExecutionOrder,
    /// Static shared declarations of the module.
    pub slots: u32,
    /// What shared memory holds before each block.
    pub poison: u32,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Workers that share the launch.
    pub workers: u32,
    /// The race detector, if the module is instrumented. Such a launch has one worker.
    pub races: Option<RefCell<RaceDetector>>,
    /// Position of the next block to hand out.
    next: AtomicU64,
    /// Distance between two successive blocks of a shuffled order. It has no common divisor with
    /// `blocks`, so that every block comes once.
    stride: u64,
    /// How many times the grid's barrier was completed.
    pub generation: AtomicU32,
    grid: Mutex<GridBarrier>,
    changed: Condvar,
    failed: AtomicBool,
    failure: Mutex<Option<(FailureRank, String)>>,
}

/// Which of several failures of one launch is reported: the first one with the highest rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureRank {
    /// Blocks wait forever, because of a failure elsewhere.
    Symptom,
    Cause,
}

/// The grid's barrier.
#[derive(Default)]
struct GridBarrier {
    /// Blocks that have arrived.
    arrived: u64,
    /// Workers that wait and have nothing else to run.
    idle: u32,
    /// Workers that have no block left.
    done: u32,
}

/// How a worker's wait at the grid's barrier ended.
pub enum GridWait {
    /// The barrier was completed.
    Released,
    /// No worker is left that could complete the barrier.
    Stuck,
    /// The launch has failed.
    Failed,
}

// SAFETY: `arguments` points to memory that lives during the launch; the kernel's calls only read
// it. `races` is used by one OS thread at a time: a launch with a race detector has one worker. All
// other fields are not changed after `new`, or synchronise themselves.
unsafe impl Sync for Launch {}

impl Launch {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        kernel: &str,
        call: KernelCall,
        arguments: *mut *mut c_void,
        shape: &Shape,
        order: ExecutionOrder,
        (slots, poison): (u32, u32),
        workers: u32,
    ) -> Launch {
        let blocks = shape.blocks();
        let stride = match order {
            ExecutionOrder::Shuffled(seed) => {
                let mut stride = (mix(seed) % blocks.max(1)) | 1;
                while gcd(stride, blocks) != 1 {
                    stride += 2;
                }
                stride
            }
            ExecutionOrder::Forward | ExecutionOrder::Reverse => 1,
        };
        Launch {
            kernel: kernel.to_owned(),
            call,
            arguments,
            shape: *shape,
            order,
            slots,
            poison,
            blocks,
            workers,
            races: None,
            next: AtomicU64::new(0),
            stride,
            generation: AtomicU32::new(0),
            grid: Mutex::default(),
            changed: Condvar::new(),
            failed: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// Takes the next block that no worker has begun. `None` where there is none left. Returns its
    /// linear index.
    pub fn next_block(&self) -> Option<u64> {
        let position = self.next.fetch_add(1, Relaxed);
        (position < self.blocks).then(|| self.block_at(position))
    }

    /// Returns the linear index of the block at a position of the launch's order.
    pub fn block_at(&self, position: u64) -> u64 {
        match self.order {
            ExecutionOrder::Forward => position,
            ExecutionOrder::Reverse => self.blocks - 1 - position,
            ExecutionOrder::Shuffled(seed) => {
                let start = u128::from(mix(!seed) % self.blocks);
                let at = u128::from(position) * u128::from(self.stride) + start;
                (at % u128::from(self.blocks)) as u64
            }
        }
    }

    /// All threads of one more block have arrived at the grid's barrier. Returns whether it was the
    /// last block.
    pub fn block_arrived(&self) -> bool {
        let mut grid = self.grid();
        grid.arrived += 1;
        let last = grid.arrived == self.blocks;
        if last {
            grid.arrived = 0;
            grid.idle = 0;
            self.generation.fetch_add(1, Release);
            self.changed.notify_all();
        }
        last
    }

    /// Waits until the grid's barrier is completed. `seen` is the generation that the worker has
    /// passed.
    pub fn wait_for_grid(&self, seen: u32) -> GridWait {
        for round in 0..2000 {
            if self.generation.load(Acquire) != seen {
                return GridWait::Released;
            }
            if round % 64 == 63 {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        let mut grid = self.grid();
        if self.generation.load(Acquire) != seen {
            return GridWait::Released;
        }
        grid.idle += 1;
        loop {
            if self.generation.load(Acquire) != seen {
                return GridWait::Released;
            }
            // The sum can exceed the number of workers: one that was stuck stays idle and is done
            // too.
            if grid.idle + grid.done >= self.workers {
                self.changed.notify_all();
                return GridWait::Stuck;
            }
            if self.has_failed() {
                return GridWait::Failed;
            }
            grid = self
                .changed
                .wait(grid)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker has no block left.
    pub fn worker_done(&self) {
        self.grid().done += 1;
        self.changed.notify_all();
    }

    /// Blocks that wait at the grid's barrier.
    pub fn blocks_at_grid(&self) -> u64 {
        self.grid().arrived
    }

    /// Fails the launch. Workers notice it when they next look for a thread.
    pub fn fail(&self, rank: FailureRank, text: String) {
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(known, _)| *known < rank) {
            *failure = Some((rank, text));
        }
        drop(failure);
        self.failed.store(true, Release);
        let _grid = self.grid();
        self.changed.notify_all();
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Acquire)
    }

    /// The message of the failure.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).as_ref().map(|(_, text)| text.clone())
    }

    fn grid(&self) -> MutexGuard<'_, GridBarrier> {
        lock(&self.grid)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
