//! Noise of many kinds.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal, StudentT};

/// Noise on the logarithm of a launch's time, for one launch after the other.
pub(super) type Noise = Box<dyn FnMut(&mut ChaCha8Rng) -> f64>;

pub(super) fn normal(sigma: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    Box::new(move |rng| normal.sample(rng))
}

/// Tails as heavy as those of Student's distribution with three degrees of freedom.
pub(super) fn heavy(sigma: f64) -> Noise {
    let student = StudentT::new(3.0).unwrap();
    Box::new(move |rng| sigma * student.sample(rng))
}

/// Little noise, but one launch in `one_in` takes much longer.
pub(super) fn held_up(sigma: f64, one_in: u32, by: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    Box::new(move |rng| {
        let held = rand_chacha::rand_core::Rng::next_u32(rng).is_multiple_of(one_in);
        normal.sample(rng) + if held { by } else { 0.0 }
    })
}

/// A clock that falls steadily, by `each` with every launch.
pub(super) fn drift(sigma: f64, each: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    let mut launches = 0.0;
    Box::new(move |rng| {
        launches += 1.0;
        launches * each + normal.sample(rng)
    })
}

/// Each launch resembles the one before: an autoregression of the first order.
pub(super) fn like_the_last(sigma: f64, likeness: f64) -> Noise {
    let step = Normal::new(0.0, sigma * (1.0 - likeness * likeness).sqrt()).unwrap();
    let mut last = 0.0;
    Box::new(move |rng| {
        last = likeness * last + step.sample(rng);
        last
    })
}

/// Two clocks, with a change from one to the other now and then.
pub(super) fn two_clocks(sigma: f64, apart: f64, one_in: u32) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    let mut fast = true;
    Box::new(move |rng| {
        if rand_chacha::rand_core::Rng::next_u32(rng).is_multiple_of(one_in) {
            fast = !fast;
        }
        normal.sample(rng) + if fast { 0.0 } else { apart }
    })
}

/// A turn over several workloads: its figure is the mean of their logarithms. Each workload has
/// noise of its own size, with tails as heavy as those of Student's distribution with four degrees
/// of freedom.
pub(super) fn workloads(sigma: f64, count: usize) -> Noise {
    let tail = StudentT::new(4.0).unwrap();
    let size = Normal::new(0.0, 1.0).unwrap();
    let mut sizes: Vec<f64> = Vec::new();
    Box::new(move |rng| {
        if sizes.is_empty() {
            sizes = (0..count)
                .map(|_| sigma * f64::exp(size.sample(rng)))
                .collect();
        }
        sizes
            .iter()
            .map(|size| size * tail.sample(rng))
            .sum::<f64>()
            / count as f64
    })
}

/// An effect on the candidate that lasts for one block and is another one in the next: where its
/// buffers lie, say.
pub(super) fn layouts(sigma: f64, apart: f64) -> Noise {
    let unit = Normal::new(0.0, 1.0).unwrap();
    let (mut turns, mut effect) = (0, 0.0);
    Box::new(move |rng| {
        let turn = turns % 4;
        turns += 1;
        if turn == 0 {
            effect = apart * unit.sample(rng);
        }
        sigma * unit.sample(rng) + if matches!(turn, 1 | 2) { effect } else { 0.0 }
    })
}

/// Either of two times, by chance.
pub(super) fn bimodal(sigma: f64, apart: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    Box::new(move |rng| {
        normal.sample(rng)
            + if rand_chacha::rand_core::Rng::next_u32(rng).is_multiple_of(2) {
                apart
            } else {
                0.0
            }
    })
}
