//! A group of threads that take every step together: a barrier, and vectors that all may read
//! between two barriers.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A barrier for phases of about ten microseconds. A thread spins for a short while and then
/// yields, so that other work on the machine gets the core.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    phase: AtomicUsize,
}

impl Barrier {
    pub fn new(threads: usize) -> Self {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            phase: AtomicUsize::new(0),
        }
    }

    pub fn wait(&self) {
        let phase = self.phase.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.phase.store(phase + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.phase.load(Ordering::Acquire) == phase {
            if spins < 2_000 {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// A vector of f64 that threads fill in parts. A [`Barrier`] must lie between filling and reading.
pub struct SharedVector(Vec<AtomicU64>);

impl SharedVector {
    pub fn new(len: usize) -> Self {
        SharedVector((0..len).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn set(&self, index: usize, value: f64) {
        self.0[index].store(value.to_bits(), Ordering::Relaxed);
    }

    /// Copies `range` out.
    pub fn read(&self, range: Range<usize>, into: &mut [f64]) {
        for (to, from) in into.iter_mut().zip(&self.0[range]) {
            *to = f64::from_bits(from.load(Ordering::Relaxed));
        }
    }
}

/// The part of `0..len` that belongs to thread `member` of `members`.
pub fn share(len: usize, member: usize, members: usize) -> Range<usize> {
    len * member / members..len * (member + 1) / members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once() {
        for members in 1..20 {
            let all: Vec<usize> = (0..members).flat_map(|m| share(256, m, members)).collect();
            assert_eq!(all, (0..256).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_was_set_before_the_barrier_is_read_after_it() {
        let (team, vector) = (Barrier::new(3), SharedVector::new(3));
        std::thread::scope(|scope| {
            for member in 0..3 {
                let (team, vector) = (&team, &vector);
                scope.spawn(move || {
                    let mut seen = [0.0; 3];
                    for round in 0..200 {
                        vector.set(member, f64::from(round));
                        team.wait();
                        vector.read(0..3, &mut seen);
                        team.wait();
                        assert_eq!(seen, [f64::from(round); 3]);
                    }
                });
            }
        });
    }
}
