//! The functions that an instrumented module calls at each access to memory, and the calls of the
//! scheduler at barriers. All lead to the race detector of the launch.
//!
//! # Contract
//! Device code and the scheduler pass the current thread of this OS thread, or its block. The
//! thread, its block, its worker and its launch are alive. A launch with a race detector has one
//! worker, so nobody else uses the detector or the block meanwhile. The reasons below build on
//! this.
#![allow(unsafe_code)]

use super::block::Block;
use super::block_of;
use crate::cpu::abi::{Thread, WARP};
use crate::cpu::order::bits;
use crate::cpu::races::{AccessKind, AtomicOperation, MemorySpace, Order, RaceDetector, ThreadId};
use std::cell::RefMut;
use std::ffi::{CStr, c_char, c_void};

/// Functions of the race detector. Has the layout of `lab_cpu_races_table` in
/// `include/cpu/lab_cpu/race_hooks.h`.
#[repr(C)]
pub struct Table {
    access: unsafe extern "C" fn(*mut Thread, *const c_void, usize, u32, *const c_void),
    atomic: unsafe extern "C" fn(*mut Thread, *const c_void, usize, u32, u32, *const c_void),
    fence: unsafe extern "C" fn(*mut Thread),
    scope: unsafe extern "C" fn(*mut Thread, u32),
    read_only: unsafe extern "C" fn(*mut Thread, *const c_void, usize, *const c_void),
}

pub static TABLE: Table = Table {
    access,
    atomic,
    fence,
    scope,
    read_only,
};

/// Bits of an access's kind, as in `race_hooks.h`.
const WRITES: u32 = 1;
const RELAXED: u32 = 2;

unsafe extern "C" fn access(
    thread: *mut Thread,
    address: *const c_void,
    bytes: usize,
    kind: u32,
    pc: *const c_void,
) {
    let kind = AccessKind {
        writes: kind & WRITES != 0,
        relaxed: kind & RELAXED != 0,
        modifies: false,
    };
    // A volatile access counts as a relaxed atomic operation: by itself it orders no other access.
    let what = if kind.writes {
        AtomicOperation::Store
    } else {
        AtomicOperation::Load
    };
    let order = Order {
        acquires: false,
        releases: false,
    };
    let atomic = kind.relaxed.then_some((what, order));
    // SAFETY: device code keeps the contract.
    unsafe { report_access(thread, address as usize, bytes, kind, pc, atomic) };
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
    let order = Order {
        acquires: matches!(order, 1 | 2 | 4 | 5),
        releases: matches!(order, 3..=5),
    };
    let what = [
        AtomicOperation::Load,
        AtomicOperation::Store,
        AtomicOperation::Modify,
    ][what.min(2) as usize];
    let kind = AccessKind {
        writes: what != AtomicOperation::Load,
        relaxed: true,
        modifies: what == AtomicOperation::Modify,
    };
    // SAFETY: device code keeps the contract.
    unsafe {
        report_access(
            thread,
            address as usize,
            bytes,
            kind,
            pc,
            Some((what, order)),
        );
    };
}

unsafe extern "C" fn fence(thread: *mut Thread) {
    // SAFETY: the contract: thread and block are alive.
    unsafe { tell(block_of(thread), |races, _| races.fence(id_of(thread))) };
}

unsafe extern "C" fn scope(thread: *mut Thread, is_block: u32) {
    // SAFETY: the contract: thread and block are alive.
    unsafe {
        tell(block_of(thread), |races, _| {
            races.set_scope(id_of(thread), is_block != 0);
        });
    }
}

unsafe extern "C" fn read_only(
    thread: *mut Thread,
    address: *const c_void,
    bytes: usize,
    pc: *const c_void,
) {
    // SAFETY: the contract: thread and block are alive. The address is only compared.
    unsafe {
        tell(block_of(thread), |races, _| {
            races.read_only(id_of(thread), address as usize, bytes, pc as usize);
        });
    }
}

/// Reports an access, and the atomic operation that it is part of, except on the thread's own stack.
///
/// # Safety
/// The module's contract.
#[inline]
unsafe fn report_access(
    thread: *mut Thread,
    address: usize,
    bytes: usize,
    kind: AccessKind,
    pc: *const c_void,
    atomic: Option<(AtomicOperation, Order)>,
) {
    // SAFETY: the contract: thread, block and worker are alive. The detector is dropped at the end
    // of this call.
    unsafe {
        let block = block_of(thread);
        let is_on_stack = (*(*block).worker).is_on_stack(address);
        tell(block, |races, _| {
            races.executes(pc as usize, is_on_stack);
            let id = id_of(thread);
            if is_on_stack {
                if !(*(*block).worker).is_on_stack_of(thread, address) {
                    races.access_to_local(id, kind.writes, pc as usize);
                }
                return;
            }
            if let Some((what, order)) = atomic {
                races.atomic(id, address, what, order);
            }
            races.access(id, address, bytes, kind, pc as usize, || {
                if (*block).shared.contains(address) {
                    MemorySpace::Shared
                } else {
                    MemorySpace::Global
                }
            });
            if let Some(write) = &mut races.unsettled {
                write.before = bytes_at(address, bytes);
            }
        });
    }
}

/// Copies memory of the kernel.
///
/// # Safety
/// The memory is mapped: the kernel has accessed it or is about to. A wild access ends the process
/// here as well.
unsafe fn bytes_at(address: usize, length: usize) -> Vec<u8> {
    // SAFETY: the caller promises mapped memory, which this OS thread alone uses. A byte has no
    // alignment.
    (0..length)
        .map(|at| unsafe { (address as *const u8).add(at).read_volatile() })
        .collect()
}

/// The detector of a block's launch. `None` where the module is not instrumented. A write that an
/// earlier call was told of has been made, so it is settled.
///
/// # Safety
/// The module's contract, and the result is dropped before the next call: there is one detector.
#[inline]
unsafe fn detector<'a>(block: *mut Block) -> Option<RefMut<'a, RaceDetector>> {
    // SAFETY: the contract: block, worker and launch are alive. The bytes of an unsettled write are
    // memory of the same launch: a block's memory is freed after its threads have returned, and
    // `finish` settles their writes.
    unsafe {
        let mut races = (*(*(*block).worker).launch).races.as_ref()?.borrow_mut();
        if let Some(write) = races.unsettled.take()
            && bytes_at(write.address, write.length) != write.before
        {
            races.settle(write);
        }
        Some(races)
    }
}

/// The indices of a thread.
///
/// # Safety
/// The module's contract.
#[inline]
unsafe fn id_of(thread: *mut Thread) -> ThreadId {
    // SAFETY: the contract: the thread is alive.
    unsafe {
        (
            index_of(block_of(thread)),
            (*thread).warp * WARP + (*thread).lane,
        )
    }
}

/// The linear index of a block in the grid.
///
/// # Safety
/// The module's contract.
#[inline]
unsafe fn index_of(block: *mut Block) -> u32 {
    // SAFETY: the contract: the block is alive.
    unsafe {
        let ([x, y, z], [width, height, _]) = ((*block).head.index, (*block).head.grid);
        x + width * (y + height * z)
    }
}

/// Tells the detector of a block's launch an event, with the index of the block. Does nothing where
/// the module is not instrumented.
///
/// # Safety
/// The module's contract.
#[inline]
pub unsafe fn tell(block: *mut Block, event: impl FnOnce(&mut RaceDetector, u32)) {
    // SAFETY: the contract: the block is alive. The detector is dropped at the end of this call.
    unsafe {
        if let Some(mut races) = detector(block) {
            event(&mut races, index_of(block));
        }
    }
}

/// A block begins. Its shared memory has no earlier accesses.
///
/// # Safety
/// The module's contract.
pub unsafe fn begin(block: *mut Block) {
    // SAFETY: the contract: the block is alive.
    unsafe {
        tell(block, |races, index| {
            races.block_begins(index);
            let (address, bytes) = (*block).shared.dynamic_range();
            races.reset_memory(address, bytes);
        });
    }
}

/// Lanes of a warp have met in the intrinsic `what`. Only `__syncwarp()` and `sync()` order memory.
///
/// # Safety
/// The module's contract, and `what` is a string of the kernel's module.
#[inline]
pub unsafe fn lanes_met(block: *mut Block, warp: u32, lanes: u32, what: *const c_char) {
    // SAFETY: the contract: the block is alive, and `what` ends with a NUL.
    unsafe {
        tell(block, |races, index| {
            let what = CStr::from_ptr(what).to_bytes();
            if what == b"__syncwarp()" || what == b"sync() of a group of lanes" {
                races.threads_met(index, bits(lanes).map(|lane| warp * WARP + lane));
            }
        });
    }
}
