//! The model itself: one step for several runs at a time, on several threads.

use super::super::weights::{VOCAB, Weights};
use super::super::worker_group::{Barrier, SharedVector, share};
use super::dot::{Dot, widen};
use super::sampling::{ChoiceLog, choose, noise, pick};
use super::{ReferenceOutput, RunInputs};
use half::bf16;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// ε of the RMS norms.
const EPSILON: f64 = 1e-5;

/// The weights. Matrices stay bf16: reading them takes much of the time.
pub struct ReferenceModel {
    /// The vector instructions that this machine has.
    instructions: pulp::Arch,
    hidden: usize,
    embed: Vec<bf16>,
    gain: [Vec<f32>; 2],
    w_ih: [Vec<bf16>; 2],
    w_hh: [Vec<bf16>; 2],
    b_ih: [Vec<f32>; 2],
    b_hh: [Vec<f32>; 2],
    w_glu: Vec<bf16>,
    b_glu: Vec<f32>,
    w_out: Vec<bf16>,
    b_out: Vec<f32>,
}

impl ReferenceModel {
    /// The model with these weights.
    pub fn new(weights: &Weights) -> Self {
        let vector = |name: &str| weights.get(name).widened();
        let vectors = |name: &str| [vector(&format!("{name}0")), vector(&format!("{name}1"))];
        let matrix = |name: &str| {
            vector(name)
                .into_iter()
                .map(bf16::from_f32)
                .collect::<Vec<_>>()
        };
        let matrices = |name: &str| [matrix(&format!("{name}0")), matrix(&format!("{name}1"))];
        ReferenceModel {
            instructions: pulp::Arch::new(),
            hidden: weights.hidden,
            embed: matrix("embed"),
            gain: vectors("rms_gain"),
            w_ih: matrices("w_ih"),
            w_hh: matrices("w_hh"),
            b_ih: vectors("b_ih"),
            b_hh: vectors("b_hh"),
            w_glu: matrix("w_glu"),
            b_glu: vector("b_glu"),
            w_out: matrix("w_out"),
            b_out: vector("b_out"),
        }
    }

    /// Computes every run, four at a time. Calls `progress` with the steps done and all steps. All
    /// runs must have the same number of steps.
    pub fn run(
        &self,
        runs: &[RunInputs],
        threads: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Vec<ReferenceOutput> {
        let steps = runs.first().map_or(0, |run| run.sampling.steps);
        let all = (runs.len() * steps) as u64;
        let mut references = Vec::new();
        let (fours, rest) = runs.as_chunks::<4>();
        for four in fours {
            let done = (references.len() * steps) as u64;
            references.extend(self.batch(four, threads, &mut |n, _| {
                progress(done + 4 * n, all);
                true
            }));
        }
        for one in rest {
            let done = (references.len() * steps) as u64;
            let one = std::array::from_ref(one);
            references.extend(self.batch(one, threads, &mut |n, _| {
                progress(done + n, all);
                true
            }));
        }
        references
    }

    /// Computes the runs, of which there must be one or four, with the same number of steps. Calls
    /// `go_on` after each step with the steps done and the largest of the runs' smallest margins so
    /// far; `None` if it returned false.
    pub fn run_while(
        &self,
        runs: &[RunInputs],
        threads: usize,
        go_on: &mut dyn FnMut(u64, f64) -> bool,
    ) -> Option<Vec<ReferenceOutput>> {
        let references = match runs.as_chunks::<4>() {
            ([four], []) => self.batch(four, threads, go_on),
            ([], [one]) => self.batch(std::array::from_ref(one), threads, go_on),
            _ => return None,
        };
        (references.len() == runs.len()).then_some(references)
    }

    /// Computes `B` runs together. Each thread owns some rows of every matrix. Returns an empty
    /// vector if `go_on` returned false.
    fn batch<const B: usize>(
        &self,
        runs: &[RunInputs; B],
        threads: usize,
        go_on: &mut dyn FnMut(u64, f64) -> bool,
    ) -> Vec<ReferenceOutput> {
        let threads = threads.clamp(1, self.hidden);
        let exchange = ThreadExchange {
            barrier: Barrier::new(threads),
            hidden: std::array::from_fn(|_| SharedVector::new(B * self.hidden)),
            logits: SharedVector::new(B * VOCAB),
            tokens: SharedVector::new(B),
            margins: SharedVector::new(B),
            outputs: std::array::from_fn(|_| OnceLock::new()),
            last: AtomicUsize::new(usize::MAX),
        };
        std::thread::scope(|scope| {
            for member in 1..threads {
                let exchange = &exchange;
                scope.spawn(move || {
                    ModelThread::<B>::new(self, exchange, runs, member, threads)
                        .run(&mut |_, _| true);
                });
            }
            ModelThread::<B>::new(self, &exchange, runs, 0, threads).run(go_on);
        });
        exchange
            .outputs
            .into_iter()
            .filter_map(OnceLock::into_inner)
            .collect()
    }

    /// One row times `B` vectors.
    fn dot<const B: usize>(&self, row: &[bf16], vectors: &[Vec<f64>; B]) -> [f64; B] {
        self.instructions.dispatch(Dot { row, vectors })
    }

    /// The new state of one unit of a layer's `GRUCell`.
    fn gates<const B: usize>(
        &self,
        layer: usize,
        unit: usize,
        input: &[Vec<f64>; B],
        state: &[Vec<f64>; B],
    ) -> [f64; B] {
        let h = self.hidden;
        let sums = |gate: usize| {
            let row = gate * h + unit;
            let part = |w: &[Vec<bf16>; 2], b: &[Vec<f32>; 2], vector| {
                let bias = f64::from(b[layer][row]);
                self.dot(&w[layer][row * h..(row + 1) * h], vector)
                    .map(|sum| sum + bias)
            };
            (
                part(&self.w_ih, &self.b_ih, input),
                part(&self.w_hh, &self.b_hh, state),
            )
        };
        let ((r_ih, r_hh), (z_ih, z_hh), (n_ih, n_hh)) = (sums(0), sums(1), sums(2));
        std::array::from_fn(|b| {
            let r = sigmoid(r_ih[b] + r_hh[b]);
            let z = sigmoid(z_ih[b] + z_hh[b]);
            let c = (n_ih[b] + r * n_hh[b]).tanh();
            (1.0 - z) * c + z * state[b][unit]
        })
    }
}

/// What the threads of a batch exchange in a step: h0, h1 and the GLU's output, then the logits,
/// then each run's token and smallest margin so far.
struct ThreadExchange<const B: usize> {
    barrier: Barrier,
    hidden: [SharedVector; 3],
    logits: SharedVector,
    tokens: SharedVector,
    margins: SharedVector,
    outputs: [OnceLock<ReferenceOutput>; B],
    /// The step after which all threads end. It is set one step ahead, so that all threads read it
    /// in the same step.
    last: AtomicUsize,
}

/// One thread of a batch, with its own copy of every vector.
struct ModelThread<'a, const B: usize> {
    model: &'a ReferenceModel,
    exchange: &'a ThreadExchange<B>,
    runs: &'a [RunInputs; B],
    member: usize,
    members: usize,
    units: Range<usize>,
    rows: Range<usize>,
    h0: [Vec<f64>; B],
    h1: [Vec<f64>; B],
}

impl<'a, const B: usize> ModelThread<'a, B> {
    fn new(
        model: &'a ReferenceModel,
        exchange: &'a ThreadExchange<B>,
        runs: &'a [RunInputs; B],
        member: usize,
        members: usize,
    ) -> Self {
        let widen = |state: &[f32]| state.iter().map(|v| f64::from(*v)).collect();
        ModelThread {
            model,
            exchange,
            runs,
            member,
            members,
            units: share(model.hidden, member, members),
            rows: share(VOCAB, member, members),
            h0: std::array::from_fn(|b| widen(&runs[b].h0)),
            h1: std::array::from_fn(|b| widen(&runs[b].h1)),
        }
    }

    /// Takes every step. Each thread samples for its own runs, and stores their results at the end.
    fn run(mut self, go_on: &mut dyn FnMut(u64, f64) -> bool) {
        let (member, members) = (self.member, self.members);
        let own = || (member..B).step_by(members);
        let mut logs: Vec<ChoiceLog> = own().map(|_| ChoiceLog::default()).collect();
        let mut tokens: [usize; B] = std::array::from_fn(|b| self.runs[b].sampling.first_token);
        for t in 0..self.runs[0].sampling.steps {
            let logits = self.step(&tokens);
            if self.exchange.last.load(Ordering::Relaxed) <= t {
                return;
            }
            for (b, log) in own().zip(&mut logs) {
                let RunInputs { seed, sampling, .. } = &self.runs[b];
                let l: Vec<f64> = logits[b]
                    .iter()
                    .map(|logit| logit / f64::from(sampling.temperature))
                    .collect();
                let noise = noise(*seed, t as u32, VOCAB);
                let choice = choose(&l, sampling.min_p, &noise);
                let untempered = pick(&logits[b], sampling.min_p, &noise);
                log.push(&choice, untempered, t);
                self.exchange.tokens.set(b, choice.token as f64);
                self.exchange
                    .margins
                    .set(b, log.smallest.map_or(f64::INFINITY, |(margin, _)| margin));
            }
            self.exchange.barrier.wait();
            let (mut chosen, mut margins) = ([0.0; B], [0.0; B]);
            self.exchange.tokens.read(0..B, &mut chosen);
            self.exchange.margins.read(0..B, &mut margins);
            tokens = chosen.map(|token| token as usize);
            if !go_on(t as u64 + 1, margins.into_iter().fold(0.0, f64::max)) {
                self.exchange.last.store(t + 1, Ordering::Relaxed);
            }
        }
        let narrow = |state: &[f64]| state.iter().map(|v| *v as f32).collect();
        for (b, log) in own().zip(logs) {
            let output = log.finish(narrow(&self.h0[b]), narrow(&self.h1[b]));
            // Each run has one owner, so the place is free.
            let _ = self.exchange.outputs[b].set(output);
        }
    }

    fn step(&mut self, tokens: &[usize; B]) -> [Vec<f64>; B] {
        let (model, h) = (self.model, self.model.hidden);
        let x: [&[bf16]; B] = tokens.map(|token| &model.embed[token * h..(token + 1) * h]);

        let n0 = std::array::from_fn(|b| rms_norm(x[b].iter().map(|v| widen(*v)), &model.gain[0]));
        self.h0 = self.all(0, h, self.units.clone(), |unit| {
            model
                .gates(0, unit, &n0, &self.h0)
                .map(|v| f64::from(v as f32))
        });

        let y = |b: usize| x[b].iter().zip(&self.h0[b]).map(|(x, h0)| widen(*x) + h0);
        let n1 = std::array::from_fn(|b| rms_norm(y(b), &model.gain[1]));
        self.h1 = self.all(1, h, self.units.clone(), |unit| {
            model
                .gates(1, unit, &n1, &self.h1)
                .map(|v| f64::from(v as f32))
        });

        let g = self.all(2, h, self.units.clone(), |unit| {
            let value = model.dot(&model.w_glu[unit * h..(unit + 1) * h], &self.h1);
            let gate = model.dot(&model.w_glu[(h + unit) * h..(h + unit + 1) * h], &self.h1);
            let (b_value, b_gate) = (
                f64::from(model.b_glu[unit]),
                f64::from(model.b_glu[h + unit]),
            );
            std::array::from_fn(|b| (value[b] + b_value) * sigmoid(gate[b] + b_gate))
        });

        self.all(3, VOCAB, self.rows.clone(), |row| {
            let bias = f64::from(model.b_out[row]);
            model
                .dot(&model.w_out[row * h..(row + 1) * h], &g)
                .map(|sum| sum + bias)
        })
    }

    /// Computes this thread's part of a vector, and returns the whole vector.
    fn all(
        &self,
        which: usize,
        len: usize,
        part: Range<usize>,
        compute: impl Fn(usize) -> [f64; B],
    ) -> [Vec<f64>; B] {
        let shared = self
            .exchange
            .hidden
            .get(which)
            .unwrap_or(&self.exchange.logits);
        for index in part {
            for (b, value) in compute(index).into_iter().enumerate() {
                shared.set(b * len + index, value);
            }
        }
        self.exchange.barrier.wait();
        std::array::from_fn(|b| {
            let mut whole = vec![0.0; len];
            shared.read(b * len..(b + 1) * len, &mut whole);
            whole
        })
    }
}

fn rms_norm(x: impl Iterator<Item = f64> + Clone, gain: &[f32]) -> Vec<f64> {
    let mean_square = x.clone().map(|v| v * v).sum::<f64>() / gain.len() as f64;
    let root = (mean_square + EPSILON).sqrt();
    x.zip(gain)
        .map(|(v, gain)| f64::from(*gain) * v / root)
        .collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
