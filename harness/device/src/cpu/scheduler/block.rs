//! The state of one block: its threads, its warps, its barrier, its shared memory.
#![allow(unsafe_code)]

use super::Worker;
use super::warp::Warp;
use crate::api::{ExecutionOrder, Shape};
use crate::cpu::abi::{BlockHead, CallSite, NOT_STARTED, Thread, WARP};
use crate::cpu::order::{bits, choose, index_in, lowest, mix};
use crate::cpu::shared::SharedMemory;

/// A block that is resident on a worker. Device code uses only its head, which must come first: a
/// pointer to the head is a pointer to the block.
#[repr(C)]
pub struct Block {
    pub head: BlockHead,
    pub worker: *mut Worker,
    pub threads: Vec<Thread>,
    pub warps: Vec<Warp>,
    /// Masks of the warps that have a lane in the field of the same name.
    pub ready: u32,
    pub yielded: u32,
    pub converging: u32,
    /// The warp whose lanes run now.
    pub current_warp: u32,
    /// Threads that have not returned.
    pub alive: u32,
    pub barrier: Barrier,
    /// Number of threads that wait at the grid's barrier.
    pub at_grid: u32,
    pub shared: SharedMemory,
    /// The state of the random numbers for a shuffled order.
    random: u64,
}

/// The block's barrier.
pub struct Barrier {
    /// Threads that have arrived.
    pub arrived: u32,
    /// Those whose predicate is true.
    pub count: u32,
    /// Where the first thread called it.
    pub site: CallSite,
}

impl Barrier {
    const EMPTY: Barrier = Barrier {
        arrived: 0,
        count: 0,
        site: CallSite::NONE,
    };
}

impl Block {
    /// Makes a block of a launch. `slots` is the number of the module's static shared declarations,
    /// `poison` what shared memory holds before the block.
    /// The result comes from `Box::into_raw`.
    pub fn new(
        worker: *mut Worker,
        shape: &Shape,
        (slots, poison): (u32, u32),
        seed: u64,
    ) -> *mut Block {
        let threads = shape.threads() as u32;
        let mut shared = SharedMemory::new(shape.shared_bytes, slots, poison);
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
        let block = Box::into_raw(Box::new(Block {
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
        }));
        let head: *mut BlockHead = block.cast();
        let threads = (0..threads).map(|t| Thread {
            index: index_in(shape.block, t.into()),
            lane: t % WARP,
            block: head,
            polls: 0,
            participants: 0,
            site: CallSite::NONE,
            warp: t / WARP,
            coroutine: NOT_STARTED,
        });
        // SAFETY: the block was made above and is used by nobody else.
        unsafe { (*block).threads.extend(threads) };
        block
    }

    /// Begins the block with the linear index `linear`: all its threads are ready.
    pub fn begin(&mut self, linear: u64, order: ExecutionOrder) {
        self.head.index = index_in(self.head.grid, linear);
        let threads = self.threads.len() as u32;
        for thread in &mut self.threads {
            thread.coroutine = NOT_STARTED;
        }
        for (w, warp) in self.warps.iter_mut().enumerate() {
            warp.begin(threads - w as u32 * WARP);
        }
        let warps = self.warps.len() as u32;
        self.ready = lowest(warps);
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

    /// Takes the next ready thread in the launch's order; the thread is then no longer ready. A
    /// warp runs until it has no ready lane.
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
        // By address, because suspended coroutines hold pointers into `threads`, which a reference
        // would invalidate. SAFETY: a ready lane is one of the block's threads, so its index is
        // below the length of `threads`.
        unsafe {
            self.threads
                .as_mut_ptr()
                .add((self.current_warp * WARP + lane) as usize)
        }
    }

    /// Makes lanes of a warp ready.
    #[inline]
    pub fn wake(&mut self, warp: u32, lanes: u32) {
        if lanes != 0 {
            self.warps[warp as usize].ready |= lanes;
            self.ready |= 1 << warp;
        }
    }

    /// Makes the threads ready that have yielded. Returns whether there are any.
    pub fn wake_yielded(&mut self) -> bool {
        let any = self.yielded != 0;
        for warp in bits(self.yielded) {
            let lanes = std::mem::take(&mut self.warps[warp as usize].yielded);
            self.wake(warp, lanes);
        }
        self.yielded = 0;
        any
    }

    /// Makes the threads ready that waited at the grid's barrier.
    pub fn wake_from_grid(&mut self) {
        self.at_grid = 0;
        for warp in 0..self.warps.len() as u32 {
            let lanes = std::mem::take(&mut self.warps[warp as usize].at_grid);
            self.wake(warp, lanes);
        }
    }

    /// Completes `__activemask()`, when no other thread can run: its result is the lanes of the
    /// warp that wait for it at the same line. Returns whether any lane waited.
    pub fn converge(&mut self) -> bool {
        let any = self.converging != 0;
        for w in bits(self.converging) {
            let lanes = std::mem::take(&mut self.warps[w as usize].converging);
            let mut rest = lanes;
            while rest != 0 {
                let line = self.threads[(w * WARP + rest.trailing_zeros()) as usize]
                    .site
                    .line;
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
