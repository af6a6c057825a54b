//! The gates of WaveGRU: exact tokens in sampling launches, small differences in teacher-forced
//! ones.

use super::config::GateLimits;
use super::judged_runs::ReferenceRun;
use super::launcher::{BrokenRules, ModelLauncher, SampledOutput, TaughtOutput};
use crate::outcome::{Correctness, Stop};
use crate::problem::api::ProblemContext;
use crate::worker::Worker;
use lab_device::ExecutionOrder;
use lab_protocol::report::Histogram;

/// A launch of the check.
pub struct CheckedLaunch<'a> {
    pub run: &'a ReferenceRun,
    pub order: ExecutionOrder,
    /// Whether it is teacher-forced; otherwise it samples.
    pub taught: bool,
    /// Whether the module is loaded anew before it.
    pub reloads: bool,
}

/// Makes the launches and writes the gates. Returns the verdict and the seed of the first run that
/// failed.
pub fn verify(
    launcher: &ModelLauncher,
    worker: &mut Worker,
    limits: &GateLimits,
    launches: &[CheckedLaunch],
    cx: &mut ProblemContext,
) -> Result<(Correctness, Option<u64>), Stop> {
    let mut broken = BrokenRules::default();
    let mut failed = None;
    let (mut tokens, mut teacher) = (TokenComparison::default(), TeacherComparison::default());
    for (
        done,
        CheckedLaunch {
            run,
            order,
            taught,
            reloads,
        },
    ) in (0..).zip(launches)
    {
        cx.out.progress(done, launches.len() as u64)?;
        if *reloads {
            launcher.reload(worker)?;
        }
        if *taught {
            let taught = launcher.teach(worker, run, *order)?;
            teacher.compare(run, &taught);
            broken.join(taught.broken);
        } else {
            let sampled = launcher.sample(worker, run, *order)?;
            if let Some(difference) = tokens.compare(run, &sampled) {
                let (order, seed) = (describe(*order), run.inputs.seed);
                broken
                    .descriptions
                    .push(format!("{difference} (sampling, run seed {seed}, {order})"));
            } else {
                // If only tokens were compared, a kernel could compute less precisely wherever it
                // is not teacher-forced, as in timed launches.
                teacher.states(run, &sampled.h0, &sampled.h1);
            }
            broken.join(sampled.broken);
        }
        if failed.is_none() && !(broken.descriptions.is_empty() && teacher.passes(limits)) {
            failed = Some(run.inputs.seed);
        }
    }
    cx.out.line("sample_steps", tokens.steps)?;
    cx.out
        .count_gate("sample_mismatches", tokens.mismatches, 0)?;
    let first = tokens.first.map_or(-1, |step| step as i64);
    cx.out.line("sample_first_mismatch", first)?;
    gate(
        cx,
        "teacher_prob_max_diff",
        &teacher.prob,
        "step",
        limits.teacher_prob_max_diff,
    )?;
    cx.out.gate(
        "teacher_prob_mean_diff",
        teacher.prob_mean(),
        limits.teacher_prob_mean_diff,
    )?;
    gate(cx, "h0_max_diff", &teacher.h0, "unit", limits.h0_max_diff)?;
    gate(cx, "h1_max_diff", &teacher.h1, "unit", limits.h1_max_diff)?;
    match limits.teacher_score_diff {
        Some(limit) => cx.out.gate("teacher_score_diff", teacher.score, limit)?,
        None => cx
            .out
            .line("teacher_score_diff", format_args!("{:.2e}", teacher.score))?,
    }
    cx.out
        .count_gate("out_of_bounds", broken.out_of_bounds, 0)?;
    cx.out
        .count_gate("inputs_changed", broken.inputs_changed, 0)?;
    for (number, words) in (1..).zip(&broken.descriptions) {
        match number {
            1 => cx.out.line("first_failure", words)?,
            _ => cx.out.text(&format!("failure {number}: {words}"))?,
        }
    }
    let passes = tokens.mismatches == 0 && teacher.passes(limits) && broken.descriptions.is_empty();
    Ok((
        if passes {
            Correctness::Pass
        } else {
            Correctness::Fail
        },
        failed,
    ))
}

/// Writes a gate on the largest difference, with its place among the `cell`s, the difference of
/// each cell and the histogram.
fn gate(
    cx: &mut ProblemContext,
    name: &str,
    found: &CellDifferences,
    cell: &str,
    limit: f64,
) -> Result<(), Stop> {
    let (value, at) = found.largest();
    let place = at.map(|at| format!("{cell} {at}"));
    cx.out.gate_at(name, value, limit, place.as_deref())?;
    cx.out.series(name, &found.worst)?;
    cx.out.histogram(name, &found.counts)?;
    Ok(())
}

fn describe(order: ExecutionOrder) -> String {
    match order {
        ExecutionOrder::Forward => "blocks and threads in order".into(),
        ExecutionOrder::Reverse => "blocks and threads in reverse order".into(),
        ExecutionOrder::Shuffled(seed) => format!("blocks and threads shuffled with seed {seed}"),
    }
}

/// The first token that differs from the expected one: its step and a description.
pub fn first_difference(run: &ReferenceRun, tokens: &[i32]) -> Option<(usize, String)> {
    let expected = &run.expected.tokens;
    let step = expected.iter().zip(tokens).position(|(a, b)| a != b)?;
    Some((
        step,
        format!(
            "step {step} gave token {}, not {}",
            tokens[step], expected[step]
        ),
    ))
}

/// A final state that is farther from the expected one than its limit: the gate, its value and
/// limit, and the unit.
pub struct StateDifference {
    pub gate: &'static str,
    pub value: f64,
    pub limit: f64,
    pub unit: usize,
}

/// The first state of a launch that does not pass its gate.
pub fn state_difference(
    run: &ReferenceRun,
    sampled: &SampledOutput,
    limits: &GateLimits,
) -> Option<StateDifference> {
    let ReferenceRun { expected, .. } = run;
    let states = [
        ("h0_max_diff", &expected.h0, &sampled.h0, limits.h0_max_diff),
        ("h1_max_diff", &expected.h1, &sampled.h1, limits.h1_max_diff),
    ];
    states
        .into_iter()
        .find_map(|(gate, expected, found, limit)| {
            let mut differences = CellDifferences::default();
            differences.add(expected, found);
            let (value, unit) = differences.largest();
            // NaN is not within the limit either.
            let passes = value <= limit;
            (!passes).then_some(StateDifference {
                gate,
                value,
                limit,
                unit: unit.unwrap_or(0),
            })
        })
}

/// The tokens compared so far.
#[derive(Default)]
struct TokenComparison {
    steps: u64,
    mismatches: u64,
    first: Option<usize>,
}

impl TokenComparison {
    fn compare(&mut self, run: &ReferenceRun, sampled: &SampledOutput) -> Option<String> {
        let pairs = run.expected.tokens.iter().zip(&sampled.tokens);
        self.steps += run.expected.tokens.len() as u64;
        self.mismatches += pairs.filter(|(a, b)| a != b).count() as u64;
        let (step, words) = first_difference(run, &sampled.tokens)?;
        self.first = Some(self.first.map_or(step, |earlier| earlier.min(step)));
        Some(words)
    }
}

/// The differences over the launches so far: probabilities of teacher-forced launches, and states
/// of all.
#[derive(Default)]
struct TeacherComparison {
    prob: CellDifferences,
    h0: CellDifferences,
    h1: CellDifferences,
    /// The largest difference of the logarithm of a probability, which is a score up to a constant.
    score: f64,
}

impl TeacherComparison {
    fn compare(&mut self, run: &ReferenceRun, taught: &TaughtOutput) {
        let expected = &run.expected;
        self.prob.add(&expected.teacher_prob, &taught.teacher_prob);
        for (expected, found) in expected.teacher_prob.iter().zip(&taught.teacher_prob) {
            self.score = larger(self.score, (f64::from(*found) / expected).ln().abs());
        }
        self.states(run, &taught.h0, &taught.h1);
    }

    /// The mean over the steps of the largest difference of a probability.
    fn prob_mean(&self) -> f64 {
        self.prob.worst.iter().sum::<f64>() / self.prob.worst.len().max(1) as f64
    }

    /// Whether every difference so far is within its limit.
    fn passes(&self, limits: &GateLimits) -> bool {
        self.prob.largest().0 <= limits.teacher_prob_max_diff
            && self.prob_mean() <= limits.teacher_prob_mean_diff
            && self.h0.largest().0 <= limits.h0_max_diff
            && self.h1.largest().0 <= limits.h1_max_diff
            && limits
                .teacher_score_diff
                .is_none_or(|limit| self.score <= limit)
    }

    fn states(&mut self, run: &ReferenceRun, h0: &[f32], h1: &[f32]) {
        self.h0.add(&run.expected.h0, h0);
        self.h1.add(&run.expected.h1, h1);
    }
}

/// The differences found in one tensor.
#[derive(Default)]
struct CellDifferences {
    /// The largest difference of each cell over all launches.
    worst: Vec<f64>,
    /// The differences of every cell of every launch.
    counts: Histogram,
}

impl CellDifferences {
    fn add<T: Copy + Into<f64>>(&mut self, expected: &[T], found: &[f32]) {
        self.worst.resize(expected.len(), 0.0);
        for ((worst, expected), found) in self.worst.iter_mut().zip(expected).zip(found) {
            let difference = ((*expected).into() - f64::from(*found)).abs();
            *worst = larger(*worst, difference);
            self.counts.add(difference);
        }
    }

    /// The largest difference, and the first cell that has it. NaN counts as the largest.
    fn largest(&self) -> (f64, Option<usize>) {
        let value = self.worst.iter().copied().fold(0.0, larger);
        let has_it = |worst: &f64| *worst == value || worst.is_nan();
        (value, self.worst.iter().position(has_it))
    }
}

/// The larger number; NaN if either is NaN, so that no NaN is overlooked.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}
