//! The reference against a second implementation, and the margin of its choices.
#![allow(clippy::unwrap_used)]

use super::super::run_inputs::{SamplingParams, ValueRange};
use super::super::weights::Weights;
use super::sampling::{choose, noise};
use super::*;
use crate::problem::philox::gumbel;

const SAMPLING: SamplingParams = SamplingParams {
    steps: 40,
    first_token: 128,
    temperature: 0.9,
    min_p: 0.05,
};

fn run(model: &ReferenceModel, runs: &[RunInputs], threads: usize) -> Vec<ReferenceOutput> {
    model.run(runs, threads, &mut |_, _| {})
}

/// Inputs with the start states of `seed`. Their sampling parameters are [`SAMPLING`], or others
/// for each seed.
fn inputs(seed: u64, varied: bool) -> RunInputs {
    let (low, high) = if varied { (0.7, 1.4) } else { (0.9, 0.9) };
    let ranges = SamplingRanges {
        temperature: ValueRange { low, high },
        min_p: ValueRange {
            low: 0.05,
            high: if varied { 0.12 } else { 0.05 },
        },
        first_token: ValueRange {
            low: 128,
            high: if varied { 255 } else { 128 },
        },
    };
    RunInputs::draw(64, 40, &ranges, seed)
}

/// A second implementation of the design's formulas, without rows, batches or threads, and without
/// shared code.
fn by_the_book(
    weights: &Weights,
    start: &RunInputs,
    s: SamplingParams,
) -> (Vec<i32>, Vec<f64>, Vec<f32>, Vec<f32>) {
    let h = weights.hidden;
    let at = |name: &str| -> Vec<f64> {
        weights
            .get(name)
            .widened()
            .into_iter()
            .map(f64::from)
            .collect()
    };
    let product = |matrix: &[f64], bias: &[f64], x: &[f64]| -> Vec<f64> {
        let row = |i: usize| (0..h).map(|j| matrix[i * h + j] * x[j]).sum::<f64>() + bias[i];
        (0..bias.len()).map(row).collect()
    };
    let norm = |x: &[f64], gain: &[f64]| -> Vec<f64> {
        let mean = x.iter().map(|v| v.powi(2)).sum::<f64>() / h as f64;
        (0..h)
            .map(|i| gain[i] * x[i] / (mean + 1e-5).sqrt())
            .collect()
    };
    let cell = |layer: usize, n: &[f64], state: &[f64]| -> Vec<f64> {
        let i = product(
            &at(&format!("w_ih{layer}")),
            &at(&format!("b_ih{layer}")),
            n,
        );
        let s = product(
            &at(&format!("w_hh{layer}")),
            &at(&format!("b_hh{layer}")),
            state,
        );
        let logistic = |x: f64| 0.5 * (1.0 + (0.5 * x).tanh());
        let unit = |u: usize| {
            let r = logistic(i[u] + s[u]);
            let z = logistic(i[h + u] + s[h + u]);
            let c = (i[2 * h + u] + r * s[2 * h + u]).tanh();
            f64::from((c + z * (state[u] - c)) as f32)
        };
        (0..h).map(unit).collect()
    };
    let mut h0: Vec<f64> = start.h0.iter().map(|v| f64::from(*v)).collect();
    let mut h1: Vec<f64> = start.h1.iter().map(|v| f64::from(*v)).collect();
    let (mut tokens, mut probabilities) = (Vec::new(), Vec::new());
    let mut token = s.first_token;
    for t in 0..s.steps {
        let x = &at("embed")[token * h..(token + 1) * h];
        h0 = cell(0, &norm(x, &at("rms_gain0")), &h0);
        let y: Vec<f64> = x.iter().zip(&h0).map(|(x, h0)| x + h0).collect();
        h1 = cell(1, &norm(&y, &at("rms_gain1")), &h1);
        let u = product(&at("w_glu"), &at("b_glu"), &h1);
        let g: Vec<f64> = (0..h).map(|i| u[i] / (1.0 + (-u[h + i]).exp())).collect();
        let l: Vec<f64> = product(&at("w_out"), &at("b_out"), &g)
            .into_iter()
            .map(|logit| logit / f64::from(s.temperature))
            .collect();
        let top = l.iter().copied().reduce(f64::max).unwrap();
        let noise: Vec<f64> = gumbel(start.seed, t as u32, 256).collect();
        let mut best: Option<usize> = None;
        for i in 0..256 {
            let kept = (l[i] - top).exp() >= f64::from(s.min_p);
            if kept && best.is_none_or(|b| l[i] + noise[i] > l[b] + noise[b]) {
                best = Some(i);
            }
        }
        token = best.unwrap();
        tokens.push(token as i32);
        probabilities.push(1.0 / l.iter().map(|other| (other - l[token]).exp()).sum::<f64>());
    }
    let narrow = |state: Vec<f64>| state.into_iter().map(|v| v as f32).collect();
    (tokens, probabilities, narrow(h0), narrow(h1))
}

fn largest_difference<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| ((*a).into() - (*b).into()).abs())
        .fold(0.0, f64::max)
}

#[test]
fn a_straightforward_second_implementation_agrees() {
    let weights = Weights::draw(64, 3);
    for inputs in [inputs(11, false), inputs(12, true), inputs(13, true)] {
        let found = run(
            &ReferenceModel::new(&weights),
            std::slice::from_ref(&inputs),
            2,
        )
        .remove(0);
        let (tokens, teacher_prob, h0, h1) = by_the_book(&weights, &inputs, inputs.sampling);
        assert_eq!(found.tokens, tokens);
        assert!(largest_difference(&found.teacher_prob, &teacher_prob) < 1e-7);
        assert!(largest_difference(&found.h0, &h0) < 2e-7);
        assert!(largest_difference(&found.h1, &h1) < 2e-7);
    }
    assert_eq!(inputs(11, false).sampling, SAMPLING);
}

#[test]
fn the_interval_of_min_p_says_which_other_values_change_a_token() {
    let weights = Weights::draw(64, 3);
    let model = ReferenceModel::new(&weights);
    for seed in 30..36 {
        let mut inputs = inputs(seed, true);
        let found = run(&model, std::slice::from_ref(&inputs), 2).remove(0);
        let [low, high] = found.same_min_p;
        assert!(low < f64::from(inputs.sampling.min_p) && f64::from(inputs.sampling.min_p) <= high);
        for (factor, same) in [
            (low * 1.0001, true),
            (low * 0.9999, false),
            (high * 0.9999, true),
        ] {
            if factor > 0.0 {
                inputs.sampling.min_p = factor as f32;
                let other = run(&model, std::slice::from_ref(&inputs), 2).remove(0);
                assert_eq!(
                    other.tokens == found.tokens,
                    same,
                    "min-p {factor} of {low} … {high}"
                );
            }
        }
        inputs.sampling.min_p = (high * 1.0001) as f32;
        if high < 0.99 {
            let other = run(&model, std::slice::from_ref(&inputs), 2).remove(0);
            assert_ne!(other.tokens, found.tokens);
        }
    }
}

#[test]
fn neither_threads_nor_company_change_a_bit() {
    let model = ReferenceModel::new(&Weights::draw(64, 3));
    let runs: Vec<RunInputs> = (20..25).map(|seed| inputs(seed, true)).collect();
    let together = run(&model, &runs, 1);
    assert_eq!(together, run(&model, &runs, 3));
    assert_eq!(together[2], run(&model, &runs[2..3], 2)[0]);
    assert_ne!(together[0].tokens, together[1].tokens);
}

#[test]
fn progress_ends_with_everything_done() {
    let model = ReferenceModel::new(&Weights::draw(64, 3));
    let runs: Vec<RunInputs> = (0..5).map(|seed| inputs(seed, true)).collect();
    let mut heard = Vec::new();
    model.run(&runs, 2, &mut |done, all| heard.push((done, all)));
    assert_eq!(heard.last(), Some(&(200, 200)));
    assert!(heard.is_sorted());
    assert_eq!(
        model.run_while(&runs[..4], 2, &mut |_, _| true).unwrap(),
        run(&model, &runs[..4], 2)
    );
    assert_eq!(
        model.run_while(&runs[..1], 2, &mut |done, _| done < 3),
        None
    );
}

#[test]
fn min_p_drops_what_would_have_won_and_the_margin_says_by_how_much() {
    // Token 3 is the likeliest. The others are below the threshold, one of them by little.
    let mut l = vec![-20.0; 256];
    l[3] = 0.0;
    l[9] = 0.05f64.ln() - 1e-3;
    let mut changed = 0;
    for t in 0..400 {
        let choice = choose(&l, 0.05, &noise(77, t, 256));
        assert_eq!(choice.token, 3);
        if choice.min_p_changed {
            changed += 1;
            assert!(
                (choice.margin - 1e-3).abs() < 1e-6,
                "margin {}",
                choice.margin
            );
        }
    }
    // It would have won with a probability of 1 in 21.
    assert!((5..45).contains(&changed), "{changed} of 400");
}

#[test]
fn the_margin_is_the_gap_to_the_runner_up() {
    let mut l = vec![-20.0; 256];
    (l[3], l[9]) = (0.0, -0.1);
    for t in 0..50 {
        let noise: Vec<f64> = gumbel(5, t, 256).collect();
        let gap = (noise[3] - (noise[9] - 0.1)).abs();
        let choice = choose(&l, 0.05, &noise);
        assert!((choice.margin - gap.min(20f64.ln() - 0.1)).abs() < 1e-9 || choice.margin < gap);
        assert_eq!(choice.token, if noise[3] > noise[9] - 0.1 { 3 } else { 9 });
    }
}
