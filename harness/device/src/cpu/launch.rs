//! One launch, as all its workers share it: which block comes next, the grid's barrier, the first failure.
#![allow(unsafe_code)]

use super::abi::Call;
use super::order::mix;
use super::races::RaceDetector;
use crate::api::{ExecutionOrder, Shape};
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub struct Launch {
    pub kernel: String,
    pub call: Call,
    pub arguments: *mut *mut c_void,
    pub shape: Shape,
    pub order: ExecutionOrder,
    pub slots: u32,
    pub blocks: u64,
    pub workers: u32,
    /// The race detector, of a launch that is followed; it has one worker.
    pub races: Option<RefCell<RaceDetector>>,
    /// Position of the next block to hand out.
    next: AtomicU64,
    /// Maps a position to a block, for a shuffled order.
    stride: u64,
    pub generation: AtomicU32,
    grid: Mutex<Grid>,
    changed: Condvar,
    failed: AtomicBool,
    failure: Mutex<Option<(Weight, String)>>,
}

/// Of several failures of one launch the heaviest is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Somebody waits, but the cause is elsewhere.
    Symptom,
    Cause,
}

#[derive(Default)]
struct Grid {
    arrived: u64,
    /// Workers that wait and have nothing else to run, and workers that have finished.
    idle: u32,
    done: u32,
}

/// How a worker's wait for the grid ended.
pub enum Wait {
    Released,
    /// Nobody is left who could complete the barrier.
    Stuck,
    Failed,
}

// SAFETY: the arguments are only read while a launch runs; a launch with a race detector has one worker; everything else synchronises itself.
unsafe impl Sync for Launch {}

impl Launch {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        kernel: &str,
        call: Call,
        arguments: *mut *mut c_void,
        shape: &Shape,
        order: ExecutionOrder,
        slots: u32,
        workers: u32,
    ) -> Launch {
        let blocks = shape.grid.iter().map(|n| u64::from(*n)).product::<u64>();
        let stride = match order {
            ExecutionOrder::Shuffled(seed) => {
                let mut stride = (mix(seed) % blocks.max(1)) | 1;
                while gcd(stride, blocks) != 1 {
                    stride += 2;
                }
                stride
            }
            _ => 1,
        };
        Launch {
            kernel: kernel.to_owned(),
            call,
            arguments,
            shape: *shape,
            order,
            slots,
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

    /// The next block that nobody runs yet.
    pub fn next_block(&self) -> Option<u64> {
        let position = self.next.fetch_add(1, Relaxed);
        (position < self.blocks).then(|| self.block_at(position))
    }

    /// The block at a position of the launch's order.
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

    /// All threads of one more block have reached the grid's barrier; true where it was the last.
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

    /// Waits until the grid's barrier has been passed since `seen`.
    pub fn wait_for_grid(&self, seen: u32) -> Wait {
        for round in 0..2000 {
            if self.generation.load(Acquire) != seen {
                return Wait::Released;
            }
            if round % 64 == 63 { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        let mut grid = self.grid();
        if self.generation.load(Acquire) != seen {
            return Wait::Released;
        }
        grid.idle += 1;
        loop {
            if self.generation.load(Acquire) != seen {
                return Wait::Released;
            }
            // More than all, where another one that was stuck has given up since.
            if grid.idle + grid.done >= self.workers {
                self.changed.notify_all();
                return Wait::Stuck;
            }
            if self.has_failed() {
                return Wait::Failed;
            }
            grid = self.changed.wait(grid).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker has no block left.
    pub fn worker_done(&self) {
        self.grid().done += 1;
        self.changed.notify_all();
    }

    pub fn blocks_at_grid(&self) -> u64 {
        self.grid().arrived
    }

    pub fn fail(&self, weight: Weight, text: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(known, _)| *known < weight) {
            *failure = Some((weight, text));
        }
        drop(failure);
        self.failed.store(true, Release);
        let _grid = self.grid();
        self.changed.notify_all();
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Acquire)
    }

    pub fn failure(&self) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(|(_, text)| text.clone())
    }

    fn grid(&self) -> MutexGuard<'_, Grid> {
        self.grid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
