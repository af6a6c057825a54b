//! The state of one warp: which of its lanes can run, and the meetings of its lanes.
#![allow(unsafe_code)]

use crate::cpu::abi::WARP;
use crate::cpu::order::lowest;
use std::cell::UnsafeCell;
use std::ffi::c_char;

/// A warp. Each integer is a mask of lanes.
pub struct Warp {
    /// Have not returned.
    pub alive: u32,
    /// Can run.
    pub ready: u32,
    /// Have yielded, and run when no other thread can.
    pub yielded: u32,
    /// Wait in `__activemask()`.
    pub converging: u32,
    /// Wait at the block's barrier.
    pub at_barrier: u32,
    /// Wait at the grid's barrier.
    pub at_grid: u32,
    /// For the mask with all lanes. In a cell, as those below, because waiting lanes keep the
    /// address of their rendezvous.
    pub full: UnsafeCell<Rendezvous>,
    /// For other masks. Boxed, so that the addresses stay the same.
    #[allow(clippy::vec_box)]
    pub partial: Vec<Box<UnsafeCell<Rendezvous>>>,
}

/// The lanes of one mask meet here and exchange one value each.
pub struct Rendezvous {
    pub mask: u32,
    /// Lanes that have arrived at the current meeting.
    pub arrived: u32,
    /// Lanes of the last meeting that have not run since.
    pub pending: u32,
    /// Which half of the buffers the current meeting fills. There are two halves, because a fast
    /// lane may be at the next meeting while a slow one still reads the values of the last; it
    /// cannot be two meetings ahead.
    pub half: usize,
    /// The intrinsic that the lanes call. A string of the module.
    pub what: *const c_char,
    /// By half, then by lane.
    pub values: [[u64; WARP as usize]; 2],
    /// The result of `lab_cpu_warp_sum()`, by half.
    pub sum: [f32; 2],
    /// The lanes that took part, by half.
    pub took_part: [u32; 2],
}

impl Rendezvous {
    fn new(mask: u32) -> Rendezvous {
        Rendezvous {
            mask,
            arrived: 0,
            pending: 0,
            half: 0,
            what: std::ptr::null(),
            values: [[0; WARP as usize]; 2],
            sum: [0.0; 2],
            took_part: [0; 2],
        }
    }
}

impl Warp {
    pub fn new() -> Warp {
        Warp {
            alive: 0,
            ready: 0,
            yielded: 0,
            converging: 0,
            at_barrier: 0,
            at_grid: 0,
            full: UnsafeCell::new(Rendezvous::new(u32::MAX)),
            partial: Vec::new(),
        }
    }

    /// Makes the warp ready for a new block, in which it has this many lanes.
    pub fn begin(&mut self, lanes: u32) {
        let all = lowest(lanes);
        self.alive = all;
        self.ready = all;
        self.yielded = 0;
        self.converging = 0;
        self.at_barrier = 0;
        self.at_grid = 0;
        let full = self.full.get_mut();
        full.arrived = 0;
        full.pending = 0;
        self.partial.clear();
    }

    /// Returns the rendezvous of a mask. Its address stays valid until the next [`Warp::begin`].
    #[inline]
    pub fn rendezvous(&mut self, mask: u32) -> *mut Rendezvous {
        if mask == u32::MAX {
            self.full.get()
        } else {
            self.partial_rendezvous(mask)
        }
    }

    fn partial_rendezvous(&mut self, mask: u32) -> *mut Rendezvous {
        // SAFETY: the pointers come from the warp's own cells, and the warp is used by one OS
        // thread. No reference to a rendezvous exists while this function runs: waiting lanes keep
        // pointers.
        unsafe {
            let all = || self.partial.iter().map(|cell| cell.get());
            let same = all().find(|r| (**r).mask == mask);
            // A rendezvous can get another mask when no lane has arrived and all have read: masks
            // that depend on data are often used only once.
            let free = || all().find(|r| (**r).arrived == 0 && (**r).pending == 0);
            if let Some(found) = same.or_else(free) {
                (*found).mask = mask;
                return found;
            }
        }
        self.partial
            .push(Box::new(UnsafeCell::new(Rendezvous::new(mask))));
        self.partial[self.partial.len() - 1].get()
    }
}
