//! Vector clocks of CUDA's threads, in two levels: what one knows of a block is a vector, and blocks of which nothing is
//! known take no room. What several threads know alike they share, so that a barrier costs one vector and not one a thread.

use std::collections::BTreeMap;
use std::rc::Rc;

/// What a thread knows of others: all that thread `t` of block `b` did up to time `of(b, t)` came before.
#[derive(Clone, Debug, Default)]
pub struct Clock(Rc<BTreeMap<u32, Rc<[u32]>>>);

impl Clock {
    /// 0 where nothing is known; times begin at 1.
    #[inline]
    pub fn of(&self, block: u32, thread: u32) -> u32 {
        self.0.get(&block).map_or(0, |times| times[thread as usize])
    }

    pub fn knows_anything(&self) -> bool {
        !self.0.is_empty()
    }

    /// Two clocks of one id know the same, as long as both are there.
    pub fn id(&self) -> usize {
        Rc::as_ptr(&self.0) as usize
    }

    /// Learns all that another clock knows.
    pub fn join(&mut self, other: &Clock) {
        if Rc::ptr_eq(&self.0, &other.0) || other.0.is_empty() {
            return;
        }
        if self.0.is_empty() {
            *self = other.clone();
            return;
        }
        let news = |(block, times): &(&u32, &Rc<[u32]>)| {
            self.0.get(block).is_none_or(|known| {
                !Rc::ptr_eq(known, times) && known.iter().zip(times.iter()).any(|(a, b)| a < b)
            })
        };
        let news: Vec<(u32, Rc<[u32]>)> =
            other.0.iter().filter(news).map(|(block, times)| (*block, times.clone())).collect();
        if news.is_empty() {
            return;
        }
        let blocks = Rc::make_mut(&mut self.0);
        for (block, times) in news {
            blocks
                .entry(block)
                .and_modify(|known| {
                    *known = known.iter().zip(times.iter()).map(|(a, b)| *a.max(b)).collect();
                })
                .or_insert(times);
        }
    }

    /// Learns the times of some threads of a block of so many.
    pub fn learn(&mut self, block: u32, threads: usize, times: impl Iterator<Item = (u32, u32)>) {
        let mut vector = self.0.get(&block).map_or_else(|| vec![0; threads], |known| known.to_vec());
        for (thread, time) in times {
            vector[thread as usize] = vector[thread as usize].max(time);
        }
        Rc::make_mut(&mut self.0).insert(block, vector.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knowing(block: u32, times: &[(u32, u32)]) -> Clock {
        let mut clock = Clock::default();
        clock.learn(block, 4, times.iter().copied());
        clock
    }

    #[test]
    fn joining_keeps_the_later_time_of_each_thread() {
        let mut clock = knowing(0, &[(0, 3), (1, 1)]);
        clock.join(&knowing(0, &[(0, 2), (1, 5)]));
        clock.join(&knowing(7, &[(3, 9)]));
        assert_eq!([clock.of(0, 0), clock.of(0, 1), clock.of(7, 3)], [3, 5, 9]);
        assert_eq!([clock.of(0, 2), clock.of(8, 0)], [0, 0]);
    }

    #[test]
    fn what_was_shared_stays_as_it_was() {
        let before = knowing(0, &[(0, 1)]);
        let mut after = before.clone();
        after.learn(0, 4, [(1, 8)].into_iter());
        assert_eq!([before.of(0, 1), after.of(0, 1), after.of(0, 0)], [0, 8, 1]);
    }
}
