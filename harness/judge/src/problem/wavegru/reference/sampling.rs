//! Sampling a token at a step, and what the steps of a run add up to.

use super::super::philox::gumbel;
use super::ReferenceOutput;

/// The result of sampling at one step.
pub struct TokenChoice {
    pub token: usize,
    pub probability: f64,
    pub margin: f64,
    pub entropy: f64,
    pub min_p_changed: bool,
}

/// Samples a token: among the tokens that min-p keeps, the one with the largest score, which is its logit plus its
/// noise.
pub fn choose(l: &[f64], min_p: f32, seed: u64, t: u32) -> TokenChoice {
    let largest = l.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let threshold = largest + f64::from(min_p).ln();
    let scores: Vec<f64> = gumbel(seed, t, l.len() as u32).zip(l).map(|(g, l)| l + g).collect();
    let kept = |i: &usize| l[*i] >= threshold;
    let by_score = |a: &usize, b: &usize| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a));
    let token = (0..l.len()).filter(kept).max_by(by_score).unwrap_or(0);
    let best = scores[token];

    // The margin is how far the scores must move for another token to win. The winner falls below the threshold,
    // another kept token overtakes it, or a dropped token is kept and is ahead.
    let margin = (0..l.len()).map(|i| match (i == token, kept(&i)) {
        (true, _) => l[i] - threshold,
        (false, true) => best - scores[i],
        (false, false) => (threshold - l[i]).max(best - scores[i]),
    });
    let margin = margin.fold(f64::INFINITY, f64::min);

    let weights: Vec<f64> = l.iter().map(|l| (l - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let entropy = weights.iter().map(|w| w / total).filter(|p| *p > 0.0).map(|p| -p * p.log2()).sum();
    let min_p_changed = (0..l.len()).any(|i| !kept(&i) && scores[i] > best);
    TokenChoice { token, probability: weights[token] / total, margin, entropy, min_p_changed }
}

/// The choices of a run so far.
#[derive(Default)]
pub struct ChoiceLog {
    tokens: Vec<i32>,
    teacher_prob: Vec<f64>,
    entropies: Vec<f64>,
    pub smallest: Option<(f64, u64)>,
    min_p_changed: u64,
}

impl ChoiceLog {
    pub fn push(&mut self, choice: &TokenChoice, t: usize) {
        self.tokens.push(choice.token as i32);
        self.teacher_prob.push(choice.probability);
        self.entropies.push(choice.entropy);
        self.min_p_changed += u64::from(choice.min_p_changed);
        if self.smallest.is_none_or(|(margin, _)| choice.margin < margin) {
            self.smallest = Some((choice.margin, t as u64));
        }
    }

    pub fn finish(mut self, h0: Vec<f32>, h1: Vec<f32>) -> ReferenceOutput {
        self.entropies.sort_by(f64::total_cmp);
        let entropy = self.entropies.get(self.entropies.len() / 2).copied().unwrap_or(0.0);
        let (margin, margin_step) = self.smallest.unwrap_or((f64::INFINITY, 0));
        let (tokens, teacher_prob, min_p_changed) = (self.tokens, self.teacher_prob, self.min_p_changed);
        ReferenceOutput { tokens, teacher_prob, h0, h1, margin, margin_step, entropy, min_p_changed }
    }
}
