//! The state of one block: its threads, its warps with their rendezvous, its shared memory.
#![allow(unsafe_code)]

use super::Worker;
use crate::api::{ExecutionOrder, Shape};
use crate::cpu::abi::{BlockHead, FRESH, Site, Thread, WARP};
use crate::cpu::order::{bits, choose, mix};
use crate::cpu::shared::SharedMemory;
use std::ffi::c_char;

/// A block that is resident on a worker. Device code sees the head only.
#[repr(C)]
pub struct Block {
    pub head: BlockHead,
    pub worker: *mut Worker,
    pub threads: Vec<Thread>,
    pub warps: Vec<Warp>,
    /// Warps (a bit each) with a lane in `ready`, `yielded` or `converging`.
    pub ready: u32,
    pub yielded: u32,
    pub converging: u32,
    pub current_warp: u32,
    /// Threads that have not returned.
    pub alive: u32,
    pub barrier: Barrier,
    /// Threads that wait for the whole grid.
    pub at_grid: u32,
    pub shared: SharedMemory,
    random: u64,
}

/// What has come together at the block's barrier so far.
pub struct Barrier {
    pub arrived: u32,
    pub count: u32,
    pub site: Site,
}

impl Barrier {
    const EMPTY: Barrier = Barrier { arrived: 0, count: 0, site: Site::NONE };
}

/// 32 threads. Every field but the rendezvous is a mask of lanes.
pub struct Warp {
    pub alive: u32,
    pub ready: u32,
    pub yielded: u32,
    pub converging: u32,
    pub at_barrier: u32,
    pub at_grid: u32,
    pub full: Rendezvous,
    /// Boxed, because waiting lanes hold on to their address.
    #[allow(clippy::vec_box)]
    pub partial: Vec<Box<Rendezvous>>,
}

/// Where the lanes of one mask meet and exchange a value each.
pub struct Rendezvous {
    pub mask: u32,
    pub arrived: u32,
    /// Released lanes that have not run since.
    pub pending: u32,
    /// Which half of the buffers the next meeting fills: a fast lane may be at the next meeting while a
    /// slow one still reads, but not two ahead of it.
    pub half: usize,
    pub what: *const c_char,
    pub values: [[u64; WARP as usize]; 2],
    pub sum: [f32; 2],
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
    fn new() -> Warp {
        Warp {
            alive: 0,
            ready: 0,
            yielded: 0,
            converging: 0,
            at_barrier: 0,
            at_grid: 0,
            full: Rendezvous::new(u32::MAX),
            partial: Vec::new(),
        }
    }

    fn begin(&mut self, lanes: u32) {
        let all = if lanes >= WARP { u32::MAX } else { (1 << lanes) - 1 };
        self.alive = all;
        self.ready = all;
        self.yielded = 0;
        self.converging = 0;
        self.at_barrier = 0;
        self.at_grid = 0;
        self.full.arrived = 0;
        self.full.pending = 0;
        self.partial.clear();
    }

    /// Where the lanes of `mask` meet.
    #[inline]
    pub fn rendezvous(&mut self, mask: u32) -> *mut Rendezvous {
        if mask == u32::MAX { &mut self.full } else { self.rendezvous_of_some(mask) }
    }

    fn rendezvous_of_some(&mut self, mask: u32) -> *mut Rendezvous {
        let same = self.partial.iter().position(|r| r.mask == mask);
        // A mask that depends on data is used once: its place is free when all have read.
        let free = || self.partial.iter().position(|r| r.arrived == 0 && r.pending == 0);
        let at = same.or_else(free).unwrap_or_else(|| {
            self.partial.push(Box::new(Rendezvous::new(mask)));
            self.partial.len() - 1
        });
        self.partial[at].mask = mask;
        &mut *self.partial[at]
    }
}

impl Block {
    /// `slots`: how many static shared declarations the module has.
    pub fn new(worker: *mut Worker, shape: &Shape, slots: u32, seed: u64) -> Box<Block> {
        let threads = shape.block.iter().product::<u32>();
        let mut shared = SharedMemory::new(shape.shared_bytes, slots);
        let head = BlockHead {
            index: [0; 3],
            dim: shape.block,
            grid: shape.grid,
            count: 0,
            any: 0,
            all: 0,
            dynamic: shared.dynamic(),
            slots: shared.slots(),
        };
        let [width, height, _] = shape.block;
        let mut block = Box::new(Block {
            head,
            worker,
            threads: Vec::with_capacity(threads as usize),
            warps: (0..threads.div_ceil(WARP)).map(|_| Warp::new()).collect(),
            ready: 0,
            yielded: 0,
            converging: 0,
            current_warp: 0,
            alive: 0,
            barrier: Barrier::EMPTY,
            at_grid: 0,
            shared,
            random: seed,
        });
        let address: *mut BlockHead = &mut block.head;
        block.threads.extend((0..threads).map(|t| Thread {
            index: [t % width, t / width % height, t / (width * height)],
            lane: t % WARP,
            block: address,
            polls: 0,
            participants: 0,
            site: Site::NONE,
            warp: t / WARP,
            carrier: FRESH,
        }));
        block
    }

    /// Makes this the block at `linear` of the grid, with every thread still to run.
    pub fn begin(&mut self, linear: u64, order: ExecutionOrder) {
        let [width, height, _] = self.head.grid.map(u64::from);
        self.head.index =
            [linear % width, linear / width % height, linear / (width * height)].map(|i| i as u32);
        let threads = self.threads.len() as u32;
        for thread in &mut self.threads {
            thread.carrier = FRESH;
        }
        for (w, warp) in self.warps.iter_mut().enumerate() {
            warp.begin(threads - w as u32 * WARP);
        }
        let warps = self.warps.len() as u32;
        self.ready = if warps >= 32 { u32::MAX } else { (1 << warps) - 1 };
        self.yielded = 0;
        self.converging = 0;
        self.current_warp = 0;
        self.alive = threads;
        self.barrier = Barrier::EMPTY;
        self.at_grid = 0;
        self.shared.begin();
        if let ExecutionOrder::Shuffled(seed) = order {
            self.random = mix(seed ^ mix(linear));
        }
    }

    /// The next ready thread in the order asked for. A warp goes on until it has no ready lane.
    #[inline]
    pub fn take(&mut self, order: ExecutionOrder) -> *mut Thread {
        debug_assert!(self.ready != 0);
        if self.ready & (1 << self.current_warp) == 0 {
            self.current_warp = choose(self.ready, order, &mut self.random);
        }
        let warp = &mut self.warps[self.current_warp as usize];
        let lane = choose(warp.ready, order, &mut self.random);
        warp.ready &= !(1 << lane);
        if warp.ready == 0 {
            self.ready &= !(1 << self.current_warp);
        }
        // By address: other references into `threads` may be alive in suspended coroutines.
        // SAFETY: lanes beyond the block's last thread are never ready.
        unsafe { self.threads.as_mut_ptr().add((self.current_warp * WARP + lane) as usize) }
    }

    /// Puts the lanes of a warp up for running.
    #[inline]
    pub fn wake(&mut self, warp: u32, lanes: u32) {
        if lanes != 0 {
            self.warps[warp as usize].ready |= lanes;
            self.ready |= 1 << warp;
        }
    }

    /// Lets the threads that yielded run again.
    pub fn wake_yielded(&mut self) -> bool {
        let any = self.yielded != 0;
        for warp in bits(self.yielded) {
            let lanes = std::mem::take(&mut self.warps[warp as usize].yielded);
            self.wake(warp, lanes);
        }
        self.yielded = 0;
        any
    }

    /// Lets the threads that waited for the grid run.
    pub fn wake_from_grid(&mut self) {
        self.at_grid = 0;
        for warp in 0..self.warps.len() as u32 {
            let lanes = std::mem::take(&mut self.warps[warp as usize].at_grid);
            self.wake(warp, lanes);
        }
    }

    /// Answers `__activemask()`: the lanes of a warp that wait for it at one place, now that no other can run.
    pub fn converge(&mut self) -> bool {
        let any = self.converging != 0;
        for w in bits(self.converging) {
            let lanes = std::mem::take(&mut self.warps[w as usize].converging);
            let mut rest = lanes;
            while rest != 0 {
                let line = self.threads[(w * WARP + rest.trailing_zeros()) as usize].site.line;
                let same: u32 = bits(rest)
                    .filter(|lane| self.threads[(w * WARP + lane) as usize].site.line == line)
                    .map(|lane| 1 << lane)
                    .sum();
                for lane in bits(same) {
                    self.threads[(w * WARP + lane) as usize].participants = same;
                }
                rest &= !same;
            }
            self.wake(w, lanes);
        }
        self.converging = 0;
        any
    }
}
