//! Sampling a token at a step, and what the steps of a run add up to.

use super::ReferenceOutput;
use crate::problem::philox::gumbel;

/// The result of sampling at one step.
pub struct TokenChoice {
    pub token: usize,
    pub probability: f64,
    pub margin: f64,
    pub entropy: f64,
    pub min_p_changed: bool,
    /// The interval of min-p, open at its lower end, in which this token is chosen.
    pub same_min_p: [f64; 2],
}

/// The noise of every token at step `t`.
pub fn noise(seed: u64, t: u32, tokens: usize) -> Vec<f64> {
    gumbel(seed, t, tokens as u32).collect()
}

/// The smallest logit that min-p keeps.
fn threshold(l: &[f64], min_p: f32) -> f64 {
    l.iter().copied().fold(f64::NEG_INFINITY, f64::max) + f64::from(min_p).ln()
}

/// Samples a token: among the tokens that min-p keeps, the one with the largest score, which is its
/// logit plus its noise.
pub fn pick(l: &[f64], min_p: f32, noise: &[f64]) -> usize {
    let threshold = threshold(l, min_p);
    let score = |i: usize| l[i] + noise[i];
    let by_score = |a: &usize, b: &usize| score(*a).total_cmp(&score(*b)).then(b.cmp(a));
    (0..l.len())
        .filter(|i| l[*i] >= threshold)
        .max_by(by_score)
        .unwrap_or(0)
}

/// [`pick`], and how near the choice was.
pub fn choose(l: &[f64], min_p: f32, noise: &[f64]) -> TokenChoice {
    let largest = l.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let threshold = threshold(l, min_p);
    let scores: Vec<f64> = noise.iter().zip(l).map(|(g, l)| l + g).collect();
    let kept = |i: &usize| l[*i] >= threshold;
    let token = pick(l, min_p, noise);
    let best = scores[token];

    // The margin is how far the scores must move for another token to win. The winner falls below
    // the threshold, another kept token overtakes it, or a dropped token is kept and is ahead.
    let margin = (0..l.len()).map(|i| match (i == token, kept(&i)) {
        (true, _) => l[i] - threshold,
        (false, true) => best - scores[i],
        (false, false) => (threshold - l[i]).max(best - scores[i]),
    });
    let margin = margin.fold(f64::INFINITY, f64::min);

    let weights: Vec<f64> = l.iter().map(|l| (l - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let entropy = weights
        .iter()
        .map(|w| w / total)
        .filter(|p| *p > 0.0)
        .map(|p| -p * p.log2())
        .sum();
    // With a min-p at or below this, a token that was dropped wins.
    let ahead = (0..l.len())
        .filter(|i| !kept(i) && scores[*i] > best)
        .map(|i| weights[i]);
    let lowest = ahead.fold(0.0, f64::max);
    TokenChoice {
        token,
        probability: weights[token] / total,
        margin,
        entropy,
        min_p_changed: lowest > 0.0,
        same_min_p: [lowest, weights[token]],
    }
}

/// The choices of a run so far.
pub struct ChoiceLog {
    tokens: Vec<i32>,
    teacher_prob: Vec<f64>,
    entropies: Vec<f64>,
    pub smallest: Option<(f64, u64)>,
    min_p_changed: u64,
    same_min_p: [f64; 2],
    temperature_changed: u64,
}

impl Default for ChoiceLog {
    fn default() -> Self {
        ChoiceLog {
            tokens: Vec::new(),
            teacher_prob: Vec::new(),
            entropies: Vec::new(),
            smallest: None,
            min_p_changed: 0,
            same_min_p: [0.0, 1.0],
            temperature_changed: 0,
        }
    }
}

impl ChoiceLog {
    /// Adds the choice of step `t`. `untempered` is the token that temperature 1 would give.
    pub fn push(&mut self, choice: &TokenChoice, untempered: usize, t: usize) {
        self.tokens.push(choice.token as i32);
        self.teacher_prob.push(choice.probability);
        self.entropies.push(choice.entropy);
        self.min_p_changed += u64::from(choice.min_p_changed);
        let ([low, high], [lowest, highest]) = (self.same_min_p, choice.same_min_p);
        self.same_min_p = [low.max(lowest), high.min(highest)];
        self.temperature_changed += u64::from(untempered != choice.token);
        if self
            .smallest
            .is_none_or(|(margin, _)| choice.margin < margin)
        {
            self.smallest = Some((choice.margin, t as u64));
        }
    }

    pub fn finish(mut self, h0: Vec<f32>, h1: Vec<f32>) -> ReferenceOutput {
        self.entropies.sort_by(f64::total_cmp);
        let entropy = self
            .entropies
            .get(self.entropies.len() / 2)
            .copied()
            .unwrap_or(0.0);
        let (margin, margin_step) = self.smallest.unwrap_or((f64::INFINITY, 0));
        ReferenceOutput {
            tokens: self.tokens,
            teacher_prob: self.teacher_prob,
            h0,
            h1,
            margin,
            margin_step,
            entropy,
            min_p_changed: self.min_p_changed,
            same_min_p: self.same_min_p,
            temperature_changed: self.temperature_changed,
        }
    }
}
