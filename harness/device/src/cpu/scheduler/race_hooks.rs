//! What an instrumented module calls, and what the scheduler tells the detector.
#![allow(unsafe_code)]

use super::block::Block;
use super::block_of;
use crate::cpu::abi::{Thread, WARP};
use crate::cpu::races::{AccessKind, AtomicOperation, MemorySpace, RaceDetector, ThreadId};
use std::cell::RefMut;
use std::ffi::{CStr, c_char, c_void};

/// The layout of `lab_cpu_races_table` in `include/cpu/lab_cpu/races.h`.
#[repr(C)]
pub struct Table {
    access: unsafe extern "C" fn(*mut Thread, *const c_void, usize, u32, *const c_void),
    atomic: unsafe extern "C" fn(*mut Thread, *const c_void, usize, u32, u32, *const c_void),
    fence: unsafe extern "C" fn(*mut Thread),
}

pub static TABLE: Table = Table { access, atomic, fence };

const WRITES: u32 = 1;
const RELAXED: u32 = 2;

// The contract that every reason below stands on: device code and the scheduler pass the current thread of this OS thread,
// or its block; block, worker and launch are alive; a launch that is followed has one worker, so that nobody else holds
// the detector.

unsafe extern "C" fn access(
    thread: *mut Thread,
    address: *const c_void,
    bytes: usize,
    kind: u32,
    pc: *const c_void,
) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let kind = AccessKind { writes: kind & WRITES != 0, relaxed: kind & RELAXED != 0 };
        let address = address as usize;
        if kind.relaxed {
            // A volatile access is an atomic one that orders nothing by itself.
            let what = if kind.writes { AtomicOperation::Store } else { AtomicOperation::Load };
            touch(thread, address, bytes, kind, pc, Some((what, false, false)));
        } else {
            touch(thread, address, bytes, kind, pc, None);
        }
    }
}

unsafe extern "C" fn atomic(
    thread: *mut Thread,
    address: *const c_void,
    bytes: usize,
    what: u32,
    order: u32,
    pc: *const c_void,
) {
    // C++'s memory orders: relaxed, consume, acquire, release, acq_rel, seq_cst.
    let (acquires, releases) = (matches!(order, 1 | 2 | 4 | 5), matches!(order, 3..=5));
    let what = [AtomicOperation::Load, AtomicOperation::Store, AtomicOperation::Modify][what.min(2) as usize];
    let kind = AccessKind { writes: what != AtomicOperation::Load, relaxed: true };
    // SAFETY: the caller keeps the contract above.
    unsafe { touch(thread, address as usize, bytes, kind, pc, Some((what, acquires, releases))) };
}

unsafe extern "C" fn fence(thread: *mut Thread) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        if let Some(mut races) = followed(block_of(thread)) {
            races.fence(who(thread));
        }
    }
}

unsafe fn touch(
    thread: *mut Thread,
    address: usize,
    bytes: usize,
    kind: AccessKind,
    pc: *const c_void,
    order: Option<(AtomicOperation, bool, bool)>,
) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let block = block_of(thread);
        if (*(*block).worker).on_stacks(address) {
            return;
        }
        let Some(mut races) = followed(block) else { return };
        let who = who(thread);
        if let Some((what, acquires, releases)) = order {
            races.atomic(who, address, what, acquires, releases);
        }
        races.access(who, address, bytes, kind, pc as usize, || {
            if (*block).shared.holds(address) { MemorySpace::Shared } else { MemorySpace::Global }
        });
    }
}

/// The detector of a block's launch, where the launch is followed.
unsafe fn followed<'a>(block: *mut Block) -> Option<RefMut<'a, RaceDetector>> {
    // SAFETY: the caller keeps the contract above.
    unsafe { (*(*(*block).worker).launch).races.as_ref().map(|races| races.borrow_mut()) }
}

unsafe fn who(thread: *mut Thread) -> ThreadId {
    // SAFETY: the caller keeps the contract above.
    unsafe { (number(block_of(thread)), (*thread).warp * WARP + (*thread).lane) }
}

unsafe fn number(block: *mut Block) -> u32 {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let ([x, y, z], [width, height, _]) = ((*block).head.index, (*block).head.grid);
        x + width * (y + height * z)
    }
}

/// A block begins, with shared memory that is nobody's yet.
///
/// # Safety
/// `block` is on a worker whose launch is alive; so below.
pub unsafe fn begin(block: *mut Block) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let Some(mut races) = followed(block) else { return };
        races.block_begins(number(block));
        let (address, bytes) = (*block).shared.dynamic_range();
        races.reset_memory(address, bytes);
    }
}

/// All threads of a block have returned.
///
/// # Safety
/// As [`begin`].
pub unsafe fn end(block: *mut Block) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        if let Some(mut races) = followed(block) {
            races.block_ended(number(block));
        }
    }
}

/// A block gets memory that another may have had.
///
/// # Safety
/// As [`begin`].
pub unsafe fn hand_over(block: *mut Block, address: usize, bytes: usize) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        if let Some(mut races) = followed(block) {
            races.reset_memory(address, bytes);
        }
    }
}

/// The lanes of a warp have met. Only what says so orders memory.
///
/// # Safety
/// As [`begin`]; `what` is a string of the module.
pub unsafe fn lanes_met(block: *mut Block, warp: u32, lanes: u32, what: *const c_char) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let Some(mut races) = followed(block) else { return };
        let what = CStr::from_ptr(what).to_bytes();
        if what == b"__syncwarp()" || what == b"sync() of a group of lanes" {
            let lanes = (0..WARP).filter(move |lane| lanes & (1 << lane) != 0);
            races.threads_met(number(block), lanes.map(|lane| warp * WARP + lane));
        }
    }
}

/// All threads of a block have met.
///
/// # Safety
/// As [`begin`].
pub unsafe fn block_met(block: *mut Block) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let Some(mut races) = followed(block) else { return };
        let threads = (*block).threads.len() as u32;
        races.threads_met(number(block), 0..threads);
    }
}

/// All threads of the launch have met.
///
/// # Safety
/// As [`begin`].
pub unsafe fn grid_met(block: *mut Block) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        if let Some(mut races) = followed(block) {
            races.grid_met();
        }
    }
}
