//! The functions that device code calls: barriers, warp intrinsics, yields, shared memory,
//! failures.
//!
//! # Contract
//! Device code (`include/cpu/lab_cpu/runtime.h`) passes the current thread of this OS thread, and
//! strings of its module, which stays loaded during the launch. So the thread, its block, its
//! worker and its launch are alive, the call runs on the thread's coroutine, and nobody else uses
//! them meanwhile. The reasons below build on this.
#![allow(unsafe_code)]

use super::block::Block;
use super::warp::Rendezvous;
use super::{abandon, block_of, race_hooks, report, suspend};
use crate::cpu::abi::{CallSite, Runtime, Thread, WARP};
use std::ffi::{CStr, c_char, c_void};

pub static RUNTIME: Runtime = Runtime {
    gather,
    warp_sum,
    active,
    block_barrier,
    grid_barrier,
    yield_now,
    shared,
    fail,
    is_shared,
    is_local,
};

const WARP_SUM: &CStr = c"lab_cpu_warp_sum()";

unsafe extern "C" fn gather(
    thread: *mut Thread,
    mask: u32,
    value: u64,
    what: *const c_char,
    file: *const c_char,
    line: u32,
) -> *const u64 {
    // SAFETY: the contract. The rendezvous keeps its address until the block ends, and this half of
    // its values until the next but one meeting, which this lane must take part in.
    unsafe {
        let (meeting, half) = meet(thread, mask, value, CallSite { what, file, line });
        (*thread).participants = (*meeting).took_part[half];
        (&raw const (*meeting).values[half]).cast()
    }
}

unsafe extern "C" fn warp_sum(
    thread: *mut Thread,
    mask: u32,
    value: f32,
    file: *const c_char,
    line: u32,
) -> f32 {
    // SAFETY: the contract. The rendezvous keeps its address until the block ends.
    unsafe {
        let site = CallSite {
            what: WARP_SUM.as_ptr(),
            file,
            line,
        };
        let (meeting, half) = meet(thread, mask, value.to_bits().into(), site);
        (*meeting).sum[half]
    }
}

/// Waits until all lanes of `mask` have come, each with a value. Returns the rendezvous, and the
/// half of its buffers that holds the values of this meeting.
///
/// # Safety
/// The module's contract.
#[inline]
unsafe fn meet(
    thread: *mut Thread,
    mask: u32,
    value: u64,
    site: CallSite,
) -> (*mut Rendezvous, usize) {
    // SAFETY: the caller keeps the contract. The warp's index is below the number of the block's
    // warps, and its rendezvous keeps its address while this lane waits.
    unsafe {
        let block = block_of(thread);
        let lane = (*thread).lane;
        let bit = 1 << lane;
        (*thread).site = site;
        if mask & bit == 0 {
            abandon(thread, report::not_in_mask(&*thread, mask));
        }
        let warp = (*block).warps.as_mut_ptr().add((*thread).warp as usize);
        let meeting = (*warp).rendezvous(mask);
        let half = (*meeting).half;
        if (*meeting).arrived == 0 {
            (*meeting).what = site.what;
        } else if (*meeting).what != site.what {
            let what = report::different_intrinsics(&*thread, (*meeting).what);
            abandon(thread, what);
        }
        (*meeting).values[half][lane as usize] = value;
        (*meeting).arrived |= bit;
        if (*meeting).arrived == mask & (*warp).alive {
            complete(block, (*thread).warp, meeting, bit);
        } else {
            suspend(thread);
            (*meeting).pending &= !bit;
        }
        (meeting, half)
    }
}

/// Ends a meeting at which all lanes have arrived: makes them ready, except for those in `running`.
///
/// # Safety
/// `block` is resident on this OS thread's worker, and `meeting` is a rendezvous of this warp of
/// the block.
#[inline]
pub unsafe fn complete(block: *mut Block, warp: u32, meeting: *mut Rendezvous, running: u32) {
    // SAFETY: the caller promises a live block with this warp, and that `meeting` is one of the
    // warp's.
    unsafe {
        let half = (*meeting).half;
        let arrived = (*meeting).arrived;
        (*meeting).took_part[half] = arrived;
        if (*meeting).what == WARP_SUM.as_ptr() {
            (*meeting).sum[half] = butterfly(&(*meeting).values[half], (*meeting).mask, arrived);
        }
        race_hooks::lanes_met(block, warp, arrived, (*meeting).what);
        (*meeting).arrived = 0;
        (*meeting).half = half ^ 1;
        (*meeting).pending = arrived & !running;
        (*block).wake(warp, arrived & !running);
    }
}

/// What a lane of the mask contributes after it has returned: a NaN, because a GPU gives an
/// undefined value. Shuffles (`include/cpu/lab_cpu/warp.h`) have the same pattern.
const EXITED_LANE: u32 = 0x7fff_7fff;

/// Returns the sum that shuffles by 16, 8, 4, 2, 1 give to every lane. Additions commute, so all
/// lanes add in the same tree as lane 0. Lanes outside the mask count as zero.
#[inline]
fn butterfly(values: &[u64; WARP as usize], mask: u32, took_part: u32) -> f32 {
    let mut sums = [0.0f32; WARP as usize];
    for (lane, sum) in sums.iter_mut().enumerate() {
        if took_part & (1 << lane) != 0 {
            *sum = f32::from_bits(values[lane] as u32);
        } else if mask & (1 << lane) != 0 {
            *sum = f32::from_bits(EXITED_LANE);
        }
    }
    for distance in [16, 8, 4, 2, 1] {
        for lane in 0..distance {
            sums[lane] += sums[lane + distance];
        }
    }
    sums[0]
}

unsafe extern "C" fn active(thread: *mut Thread, file: *const c_char, line: u32) -> u32 {
    // SAFETY: the contract. The lane is registered as converging, so `Block::converge` makes it
    // ready.
    unsafe {
        let block = block_of(thread);
        (*thread).site = CallSite {
            what: c"__activemask()".as_ptr(),
            file,
            line,
        };
        let warp = (*thread).warp;
        (&mut (*block).warps)[warp as usize].converging |= 1 << (*thread).lane;
        (*block).converging |= 1 << warp;
        suspend(thread);
        (*thread).participants
    }
}

unsafe extern "C" fn block_barrier(
    thread: *mut Thread,
    predicate: u32,
    what: *const c_char,
    file: *const c_char,
    line: u32,
) {
    // SAFETY: the contract. The warp's index is below the number of the block's warps. The lane is
    // registered as waiting, so the last thread to arrive makes it ready.
    unsafe {
        let block = block_of(thread);
        let site = CallSite { what, file, line };
        (*thread).site = site;
        let barrier = &raw mut (*block).barrier;
        if (*barrier).arrived == 0 {
            (*barrier).site = site;
        } else if (*barrier).site.line != line || (*barrier).site.what != what {
            abandon(thread, report::different_barriers(&*thread, &*block));
        }
        (*barrier).arrived += 1;
        (*barrier).count += predicate;
        let warp = (*thread).warp as usize;
        (*(*block).warps.as_mut_ptr().add(warp)).at_barrier |= 1 << (*thread).lane;
        // This thread waits for its turn like all others, so that the launch's order begins again.
        complete_barrier(block);
        suspend(thread);
    }
}

/// Completes the block's barrier if all threads wait there that have not returned.
///
/// # Safety
/// `block` is resident on this OS thread's worker.
pub unsafe fn complete_barrier(block: *mut Block) {
    // SAFETY: the caller promises a live block, which this OS thread alone uses.
    unsafe {
        let barrier = &raw mut (*block).barrier;
        let arrived = (*barrier).arrived;
        if arrived == 0 || arrived != (*block).alive {
            return;
        }
        (*block).head.count = (*barrier).count;
        (*block).head.any = ((*barrier).count != 0).into();
        (*block).head.all = ((*barrier).count == arrived).into();
        let threads = (*block).threads.len() as u32;
        race_hooks::tell(block, |races, index| races.threads_met(index, 0..threads));
        (*barrier).arrived = 0;
        (*barrier).count = 0;
        for warp in 0..(*block).warps.len() as u32 {
            let waiting =
                std::mem::take(&mut (*(*block).warps.as_mut_ptr().add(warp as usize)).at_barrier);
            (*block).wake(warp, waiting);
        }
    }
}

unsafe extern "C" fn grid_barrier(
    thread: *mut Thread,
    what: *const c_char,
    file: *const c_char,
    line: u32,
) {
    // SAFETY: the contract. The lane is registered as waiting, so `Block::wake_from_grid` makes it
    // ready.
    unsafe {
        let block = block_of(thread);
        let launch = &*(*(*block).worker).launch;
        (*thread).site = CallSite { what, file, line };
        if !launch.shape.cooperative {
            abandon(thread, report::not_cooperative(&*thread));
        }
        (&mut (*block).warps)[(*thread).warp as usize].at_grid |= 1 << (*thread).lane;
        (*block).at_grid += 1;
        if (*block).at_grid as usize == (*block).threads.len() && launch.block_arrived() {
            race_hooks::tell(block, |races, _| races.grid_met());
        }
        suspend(thread);
    }
}

unsafe extern "C" fn yield_now(thread: *mut Thread) {
    // SAFETY: the contract. The lane is registered as yielded, so `Block::wake_yielded` makes it
    // ready.
    unsafe {
        let block = block_of(thread);
        (*thread).site = CallSite {
            what: c"a yield".as_ptr(),
            ..CallSite::NONE
        };
        let warp = (*thread).warp;
        (&mut (*block).warps)[warp as usize].yielded |= 1 << (*thread).lane;
        (*block).yielded |= 1 << warp;
        suspend(thread);
    }
}

unsafe extern "C" fn shared(
    thread: *mut Thread,
    slot: u32,
    bytes: usize,
    align: usize,
) -> *mut c_void {
    // SAFETY: the contract. The slot's number is below the number of the module's declarations.
    unsafe {
        let block = block_of(thread);
        match (*block).shared.piece(slot, bytes, align) {
            Ok(piece) => {
                race_hooks::tell(block, |races, _| races.reset_memory(piece as usize, bytes));
                piece.cast()
            }
            Err(text) => abandon(thread, text),
        }
    }
}

unsafe extern "C" fn fail(
    thread: *mut Thread,
    what: *const c_char,
    file: *const c_char,
    line: u32,
) -> ! {
    // SAFETY: the contract.
    unsafe {
        (*thread).site = CallSite { what, file, line };
        abandon(thread, report::location(&(*thread).site))
    }
}

/// Returns 1 if the address lies in the block's shared memory, and 0 otherwise.
unsafe extern "C" fn is_shared(thread: *mut Thread, address: *const c_void) -> u32 {
    // SAFETY: the contract. The address is only compared.
    unsafe { u32::from((*block_of(thread)).shared.contains(address as usize)) }
}

/// Returns 1 if the address lies on the stack of a thread, and 0 otherwise.
unsafe extern "C" fn is_local(thread: *mut Thread, address: *const c_void) -> u32 {
    // SAFETY: the contract. The address is only compared.
    unsafe { u32::from((*(*block_of(thread)).worker).is_on_stack(address as usize)) }
}
