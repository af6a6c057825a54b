//! What device code calls: barriers, warp rendezvous, yields, shared memory, failures.
#![allow(unsafe_code)]

use super::block::{Block, Rendezvous};
use super::{abandon, block_of, race_hooks, report, suspend};
use crate::cpu::abi::{Runtime, Site, Thread, WARP};
use std::ffi::{CStr, c_char, c_void};

pub static RUNTIME: Runtime =
    Runtime { gather, warp_sum, active, block_barrier, grid_barrier, yield_now, shared, fail };

const WARP_SUM: &CStr = c"lab_cpu_warp_sum()";

// The contract with device code, which every reason below stands on: it passes the current thread of this OS thread,
// whose block, worker and launch are alive, and string literals of its module.

unsafe extern "C" fn gather(
    thread: *mut Thread,
    mask: u32,
    value: u64,
    what: *const c_char,
    file: *const c_char,
    line: u32,
) -> *const u64 {
    // SAFETY: device code keeps the contract above.
    unsafe {
        let (meeting, half) = meet(thread, mask, value, Site { what, file, line });
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
    // SAFETY: device code keeps the contract above.
    unsafe {
        let site = Site { what: WARP_SUM.as_ptr(), file, line };
        let (meeting, half) = meet(thread, mask, value.to_bits().into(), site);
        (*meeting).sum[half]
    }
}

/// Meets the lanes of `mask`, each with a value: the rendezvous, and the half of its buffers that this
/// meeting filled.
#[inline]
unsafe fn meet(thread: *mut Thread, mask: u32, value: u64, site: Site) -> (*mut Rendezvous, usize) {
    // SAFETY: device code keeps the contract above.
    unsafe {
        let block = block_of(thread);
        let lane = (*thread).lane;
        let bit = 1 << lane;
        (*thread).site = site;
        if mask & bit == 0 {
            abandon(thread, report::not_in_mask(thread, mask));
        }
        let warp = (*block).warps.as_mut_ptr().add((*thread).warp as usize);
        let meeting = (*warp).rendezvous(mask);
        let half = (*meeting).half;
        if (*meeting).arrived == 0 {
            (*meeting).what = site.what;
        } else if (*meeting).what != site.what {
            abandon(thread, report::different_intrinsics(thread, (*meeting).what));
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

/// Everybody has arrived: all but `myself` may run.
///
/// # Safety
/// `meeting` is one of the warp's, with lanes arrived.
pub unsafe fn complete(block: *mut Block, warp: u32, meeting: *mut Rendezvous, myself: u32) {
    // SAFETY: device code keeps the contract above.
    unsafe {
        let half = (*meeting).half;
        let arrived = (*meeting).arrived;
        (*meeting).took_part[half] = arrived;
        if (*meeting).what == WARP_SUM.as_ptr() {
            (*meeting).sum[half] = butterfly(&(*meeting).values[half], arrived);
        }
        race_hooks::lanes_met(block, warp, arrived, (*meeting).what);
        (*meeting).arrived = 0;
        (*meeting).half = half ^ 1;
        (*meeting).pending = arrived & !myself;
        (*block).wake(warp, arrived & !myself);
    }
}

/// The sum that every lane gets from shuffles by 16, 8, 4, 2, 1: the additions commute, so lane 0's tree is
/// every lane's. Lanes that took no part count as zero.
fn butterfly(values: &[u64; WARP as usize], took_part: u32) -> f32 {
    let mut sums = [0.0f32; WARP as usize];
    for (lane, sum) in sums.iter_mut().enumerate() {
        if took_part & (1 << lane) != 0 {
            *sum = f32::from_bits(values[lane] as u32);
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
    // SAFETY: device code keeps the contract above.
    unsafe {
        let block = block_of(thread);
        (*thread).site = Site { what: c"__activemask()".as_ptr(), file, line };
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
    // SAFETY: device code keeps the contract above.
    unsafe {
        let block = block_of(thread);
        let site = Site { what, file, line };
        (*thread).site = site;
        let barrier = &raw mut (*block).barrier;
        if (*barrier).arrived == 0 {
            (*barrier).site = site;
        } else if (*barrier).site.line != line || (*barrier).site.what != what {
            abandon(thread, report::different_barriers(thread));
        }
        (*barrier).arrived += 1;
        (*barrier).count += predicate;
        let threads = (*block).threads.len() as u32;
        let warp = (*thread).warp as usize;
        (*(*block).warps.as_mut_ptr().add(warp)).at_barrier |= 1 << (*thread).lane;
        if (*barrier).arrived == threads {
            (*block).head.count = (*barrier).count;
            (*block).head.any = ((*barrier).count != 0).into();
            (*block).head.all = ((*barrier).count == threads).into();
            race_hooks::block_met(block);
            (*barrier).arrived = 0;
            (*barrier).count = 0;
            // This thread queues like all the others, so that the order starts anew.
            for warp in 0..(*block).warps.len() as u32 {
                let waiting =
                    std::mem::take(&mut (*(*block).warps.as_mut_ptr().add(warp as usize)).at_barrier);
                (*block).wake(warp, waiting);
            }
        }
        suspend(thread);
    }
}

unsafe extern "C" fn grid_barrier(thread: *mut Thread, what: *const c_char, file: *const c_char, line: u32) {
    // SAFETY: device code keeps the contract above.
    unsafe {
        let block = block_of(thread);
        let launch = &*(*(*block).worker).launch;
        (*thread).site = Site { what, file, line };
        if !launch.shape.cooperative {
            abandon(thread, report::not_cooperative(thread));
        }
        (&mut (*block).warps)[(*thread).warp as usize].at_grid |= 1 << (*thread).lane;
        (*block).at_grid += 1;
        if (*block).at_grid as usize == (*block).threads.len() && launch.block_arrived() {
            race_hooks::grid_met(block);
        }
        suspend(thread);
    }
}

unsafe extern "C" fn yield_now(thread: *mut Thread) {
    // SAFETY: device code keeps the contract above.
    unsafe {
        let block = block_of(thread);
        (*thread).site = Site { what: c"a yield".as_ptr(), ..Site::NONE };
        let warp = (*thread).warp;
        (&mut (*block).warps)[warp as usize].yielded |= 1 << (*thread).lane;
        (*block).yielded |= 1 << warp;
        suspend(thread);
    }
}

unsafe extern "C" fn shared(thread: *mut Thread, slot: u32, bytes: usize, align: usize) -> *mut c_void {
    // SAFETY: device code keeps the contract above.
    unsafe {
        let block = block_of(thread);
        match (*block).shared.piece(slot, bytes, align) {
            Ok(piece) => {
                race_hooks::hand_over(block, piece as usize, bytes);
                piece.cast()
            }
            Err(text) => abandon(thread, report::in_thread(thread, &text)),
        }
    }
}

unsafe extern "C" fn fail(thread: *mut Thread, what: *const c_char, file: *const c_char, line: u32) -> ! {
    // SAFETY: device code keeps the contract above.
    unsafe {
        (*thread).site = Site { what, file, line };
        abandon(thread, report::failed(thread))
    }
}
