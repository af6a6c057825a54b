//! Vector clocks of CUDA threads, in two levels: a map from blocks to the vector of their threads'
//! times. Blocks of which nothing is known take no memory. Threads share equal vectors, so a
//! barrier costs one vector for the block and not one for each thread.

use std::collections::BTreeMap;
use std::rc::Rc;

/// What happened before: everything that thread `t` of block `b` did up to time `of(b, t)`.
#[derive(Clone, Debug, Default)]
pub struct VectorClock(Rc<BTreeMap<u32, Rc<[u32]>>>);

impl VectorClock {
    /// The time of a thread. 0 where nothing is known: times begin at 1.
    #[inline]
    pub fn of(&self, block: u32, thread: u32) -> u32 {
        self.0.get(&block).map_or(0, |times| times[thread as usize])
    }

    /// Whether nothing is known of any thread.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Clocks with the same id are equal, as long as both exist.
    pub fn id(&self) -> usize {
        Rc::as_ptr(&self.0) as usize
    }

    /// Takes the later time of each thread.
    pub fn join(&mut self, other: &VectorClock) {
        if Rc::ptr_eq(&self.0, &other.0) || other.0.is_empty() {
            return;
        }
        if self.0.is_empty() {
            *self = other.clone();
            return;
        }
        let is_newer = |(block, times): &(&u32, &Rc<[u32]>)| {
            self.0.get(block).is_none_or(|known| {
                !Rc::ptr_eq(known, times) && known.iter().zip(times.iter()).any(|(a, b)| a < b)
            })
        };
        let newer: Vec<(u32, Rc<[u32]>)> = other
            .0
            .iter()
            .filter(is_newer)
            .map(|(block, times)| (*block, times.clone()))
            .collect();
        if newer.is_empty() {
            return;
        }
        let blocks = Rc::make_mut(&mut self.0);
        for (block, times) in newer {
            blocks
                .entry(block)
                .and_modify(|known| {
                    *known = known
                        .iter()
                        .zip(times.iter())
                        .map(|(a, b)| *a.max(b))
                        .collect();
                })
                .or_insert(times);
        }
    }

    /// Takes the times of some threads of a block that has `threads` threads, where they are later.
    /// `times` gives the index in the block and the time.
    pub fn learn(&mut self, block: u32, threads: usize, times: impl Iterator<Item = (u32, u32)>) {
        let mut vector = self
            .0
            .get(&block)
            .map_or_else(|| vec![0; threads], |known| known.to_vec());
        for (thread, time) in times {
            vector[thread as usize] = vector[thread as usize].max(time);
        }
        Rc::make_mut(&mut self.0).insert(block, vector.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock_of(block: u32, times: &[(u32, u32)]) -> VectorClock {
        let mut clock = VectorClock::default();
        clock.learn(block, 4, times.iter().copied());
        clock
    }

    #[test]
    fn joining_keeps_the_later_time_of_each_thread() {
        let mut clock = clock_of(0, &[(0, 3), (1, 1)]);
        clock.join(&clock_of(0, &[(0, 2), (1, 5)]));
        clock.join(&clock_of(7, &[(3, 9)]));
        assert_eq!([clock.of(0, 0), clock.of(0, 1), clock.of(7, 3)], [3, 5, 9]);
        assert_eq!([clock.of(0, 2), clock.of(8, 0)], [0, 0]);
    }

    #[test]
    fn a_copy_does_not_change_the_clock_it_was_made_from() {
        let before = clock_of(0, &[(0, 1)]);
        let mut after = before.clone();
        after.learn(0, 4, [(1, 8)].into_iter());
        assert_eq!([before.of(0, 1), after.of(0, 1), after.of(0, 0)], [0, 8, 1]);
    }
}
