//! Which thread a worker runs next, and what it does where no thread is ready.
#![allow(unsafe_code)]

use super::block::Block;
use super::{Worker, race_hooks, report};
use crate::cpu::abi::Thread;
use crate::cpu::launch::{FailureRank, GridWait, Launch};
use crate::cpu::races::RaceDetector;
use std::sync::atomic::Ordering;

/// Takes the next thread to run, which is then no longer ready. Null where nothing is left to run,
/// or where the launch has failed.
///
/// # Safety
/// Called by the worker's OS thread during a launch: by `Worker::run`, or on one of its coroutines.
#[inline]
pub unsafe fn pick(worker: *mut Worker) -> *mut Thread {
    // SAFETY: the caller is on the worker's OS thread during a launch. So launch and blocks are
    // alive, and the blocks are used by this OS thread only. `at` is below the number of blocks,
    // and no block is added meanwhile.
    unsafe {
        let launch = &*(*worker).launch;
        loop {
            let blocks = &raw const (*worker).blocks;
            let count = (*blocks).len();
            if count == 0 || launch.has_failed() {
                return std::ptr::null_mut();
            }
            for at in ((*worker).current..count).chain(0..(*worker).current) {
                let block = *(*blocks).as_ptr().add(at);
                if (*block).ready != 0 {
                    (*worker).current = at;
                    return (*block).take(launch.order);
                }
            }
            if !make_ready(worker, launch) {
                return std::ptr::null_mut();
            }
        }
    }
}

/// Makes threads ready where none is: begins a new block, releases the threads that can go on now,
/// or waits for the grid's barrier. Returns false where nothing is left to run. Fails the launch
/// where its threads wait forever.
///
/// # Safety
/// As [`pick`], with the worker's launch.
unsafe fn make_ready(worker: *mut Worker, launch: &Launch) -> bool {
    // SAFETY: the caller is on the worker's OS thread during a launch. So the blocks are alive and
    // used by this OS thread only, and none is added or removed meanwhile. Each reference to a
    // block ends before the next one is made.
    unsafe {
        let blocks = &raw const (*worker).blocks;
        let all = || (*blocks).iter().copied();
        if all().all(|block| (*block).alive == 0) {
            let next = || launch.next_block();
            let Some(linear) = (!launch.shape.cooperative).then(next).flatten() else {
                return false;
            };
            // In the place of a block that has ended: no coroutine refers to its threads any more.
            let block = *(*blocks).as_ptr();
            race_hooks::tell(block, RaceDetector::block_ended);
            (*block).begin(linear, launch.order);
            race_hooks::begin(block);
            return true;
        }
        if launch.generation.load(Ordering::Acquire) != (*worker).passed {
            (*worker).passed = (*worker).passed.wrapping_add(1);
            all().for_each(|block| (*block).wake_from_grid());
            return true;
        }
        if all().fold(false, |any, block| (*block).converge() | any) {
            return true;
        }
        if all().fold(false, |any, block| (*block).wake_yielded() | any) {
            // The threads of this worker only poll. The thread that they wait for may need this
            // core.
            if launch.workers > 1 {
                std::thread::yield_now();
            }
            return true;
        }
        if launch.shape.cooperative && all().any(|block| (*block).at_grid != 0) {
            match launch.wait_for_grid((*worker).passed) {
                GridWait::Released => return true,
                GridWait::Failed => return false,
                GridWait::Stuck => {}
            }
        }
        let is_stuck =
            |block: &Block| block.alive != 0 && block.at_grid as usize != block.threads.len();
        match all().map(|block| &*block).find(|block| is_stuck(block)) {
            Some(block) => launch.fail(FailureRank::Cause, report::stuck_block(launch, block)),
            None => {
                let first = all().map(|block| &*block).find(|block| block.at_grid != 0);
                launch.fail(FailureRank::Symptom, report::stuck_grid(launch, first));
            }
        }
        false
    }
}
