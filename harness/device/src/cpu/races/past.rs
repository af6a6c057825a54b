//! What happened before an access.

use super::clock::VectorClock;
use super::shadow::ShadowAccess;

/// What happened before the next access of a thread, or before something was released. A barrier of
/// a block ends the loads of its threads for all blocks: what a thread has loaded no later store
/// changes. It makes their stores known to the block alone.
#[derive(Clone, Debug)]
pub struct Past {
    /// The stores, and the loads before their fences.
    stores: VectorClock,
    /// The loads. It is as late as `stores`, or later, and mostly the same.
    loads: VectorClock,
}

impl Default for Past {
    fn default() -> Self {
        Past::of_clock(VectorClock::default())
    }
}

impl Past {
    fn of_clock(clock: VectorClock) -> Past {
        Past {
            stores: clock.clone(),
            loads: clock,
        }
    }

    /// Whether an access happened before.
    #[inline]
    pub fn holds(&self, access: &ShadowAccess) -> bool {
        let clock = if access.writes {
            &self.stores
        } else {
            &self.loads
        };
        clock.of(access.block, access.thread.into()) >= access.time
    }

    /// Whether nothing is known of any thread.
    pub fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// Those with the same id are equal, as long as both exist.
    pub fn id(&self) -> (usize, usize) {
        (self.stores.id(), self.loads.id())
    }

    /// Takes what another one knows of loads.
    pub fn end_loads(&mut self, other: &Past) {
        self.loads = other.loads.clone();
    }

    /// Takes the later time of each thread.
    pub fn join(&mut self, other: &Past) {
        let is_uniform = other.stores.id() == other.loads.id();
        self.change(is_uniform, |clock, is_loads| {
            clock.join(if is_loads {
                &other.loads
            } else {
                &other.stores
            });
        });
    }

    /// Takes the times of some threads of a block that has `threads` threads, where they are later.
    pub fn learn(
        &mut self,
        block: u32,
        threads: usize,
        times: impl Iterator<Item = (u32, u32)> + Clone,
    ) {
        self.change(true, |clock, _| {
            clock.learn(block, threads, times.clone());
        });
    }

    /// Changes both clocks: once, if they are the same and stay so.
    fn change(&mut self, is_uniform: bool, change: impl Fn(&mut VectorClock, bool)) {
        if is_uniform && self.stores.id() == self.loads.id() {
            // The other reference would make the change copy the clock.
            drop(std::mem::take(&mut self.loads));
            change(&mut self.stores, false);
            self.loads = self.stores.clone();
        } else {
            change(&mut self.stores, false);
            change(&mut self.loads, true);
        }
    }
}
