//! The timed launches of `lab bench`: the candidate alone, and exactly as many launches as were
//! asked for.
//!
//! A trial is a new process of the candidate: first untimed launches, then timed ones, several in
//! a window ([`crate::problem::Timed::turn`]). The time of a workload in a trial is the median of
//! its windows, and its time in the run is the mean over the trials. Nothing stops earlier because
//! the times agree, so two runs of one discipline can be compared.

use super::measuring::{Candidate, TurnTaker, check_bounds, in_workers};
use crate::measure::discipline::{TrialTimes, WorkloadTime, mean};
use crate::outcome::Result;
use crate::problem::{ProblemContext, SetsUp, Timed};
use crate::worker::Worker;
use itertools::Itertools as _;
use lab_protocol::plan::Discipline;
use lab_protocol::report::{Writer, us};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Shortest time between two `progress:` lines. A terminal cannot show more.
const WRITE_EVERY: Duration = Duration::from_millis(50);

/// Times the candidate by the discipline and writes a `workload:` line for each workload. Returns
/// [`Stop::Wrong`](crate::outcome::Stop::Wrong) if the outputs of a launch were wrong, or if it took
/// less time than the device can.
pub fn measure<P: SetsUp>(
    cx: &mut ProblemContext,
    asked: Discipline,
    candidate: Candidate<P>,
) -> Result {
    let mut bench = Bench::new(on_device(cx, asked)?);
    in_workers(cx, candidate, &mut bench)
}

/// Writes `discipline:`, and returns what this device does of what was asked for. The times of the
/// emulated device say nothing about a GPU, so there a trial is one launch.
fn on_device(cx: &mut ProblemContext, asked: Discipline) -> Result<Discipline> {
    let done = if cx.device.emulated {
        Discipline {
            warm_up: 0,
            iterations: 1,
            ..asked
        }
    } else {
        asked
    };
    let Discipline {
        warm_up,
        iterations,
        trials,
    } = done;
    cx.out.line(
        "discipline",
        format_args!(
            "{warm_up}/{iterations}/{trials} warm_up={warm_up} iterations={iterations} trials={trials}"
        ),
    )?;
    if done != asked {
        cx.out.caveat(format_args!(
            "the cpu device is emulated: a trial is one launch of each workload instead of {} after {} untimed ones, and its \
             times say nothing about a GPU",
            asked.iterations, asked.warm_up
        ))?;
    }
    Ok(done)
}

struct Bench {
    discipline: Discipline,
    trials: TrialTimes,
    /// When the progress was last written.
    written: Option<Instant>,
}

impl Bench {
    fn new(discipline: Discipline) -> Self {
        Bench {
            discipline,
            trials: TrialTimes::default(),
            written: None,
        }
    }

    /// Makes the launches of a trial.
    fn take_turns(
        &mut self,
        worker: &mut Worker,
        timed: &mut dyn Timed,
        out: &mut Writer,
    ) -> Result {
        let workloads = timed.demands().len();
        self.trials.begin_trial();
        for (launches, counts) in [
            (self.discipline.warm_up, false),
            (self.discipline.iterations, true),
        ] {
            let mut left = vec![launches; workloads];
            while left.iter().any(|left| *left > 0) {
                let inputs = timed.next_inputs();
                let seconds = timed.turn(worker, inputs, Some(&mut left), out)?;
                if counts {
                    self.trials.push(seconds);
                    self.write_progress(&left, out)?;
                }
            }
        }
        Ok(())
    }

    /// Compares the times with the device's bounds, and writes them.
    fn finish(&self, cx: &mut ProblemContext, timed: &dyn Timed) -> Result {
        let turns = self.trials.all_turns();
        check_bounds(cx, timed, &turns)?;
        timed.write(&turns, cx.out)?;
        timed.write_once(cx.out)?;
        let demands = timed.demands().into_iter();
        let labels = demands.map(|demand| demand.label).collect_vec();
        let figures = timed.workloads(&turns).into_iter();
        let rates = figures.map(|figures| figures.words).collect_vec();
        let launches = self.discipline.trials * self.discipline.iterations;
        let times = self.trials.workloads();
        write_times(&labels, &times, &rates, launches, cx.out)
    }

    /// Writes how many of its launches a workload has had, on the mean. In this trial `left` are to
    /// come of each.
    fn write_progress(&mut self, left: &[usize], out: &mut Writer) -> Result {
        let Discipline {
            iterations, trials, ..
        } = self.discipline;
        let left = left.iter().sum::<usize>().div_ceil(left.len().max(1));
        let (done, all) = (
            self.trials.trials() * iterations - left,
            trials * iterations,
        );
        if done < all && self.written.is_some_and(|at| at.elapsed() < WRITE_EVERY) {
            return Ok(());
        }
        self.written = Some(Instant::now());
        Ok(out.progress(done as u64, all as u64)?)
    }
}

impl TurnTaker for Bench {
    fn take_trial(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        mut timed: Box<dyn Timed>,
        _is_first: bool,
    ) -> Result<ControlFlow<()>> {
        self.take_turns(worker, &mut *timed, cx.out)?;
        timed.check(worker, cx.out)?;
        if self.trials.trials() < self.discipline.trials {
            return Ok(ControlFlow::Continue(()));
        }
        self.finish(cx, &*timed)?;
        Ok(ControlFlow::Break(()))
    }
}

/// Writes `mean_us:`, the arithmetic mean over the workloads, and a `workload:` line for each: its
/// time, its time in each trial, the number of timed launches, and its rates where they are known.
fn write_times(
    labels: &[String],
    times: &[WorkloadTime],
    rates: &[String],
    launches: usize,
    out: &mut Writer,
) -> Result {
    for (at, (label, time)) in labels.iter().zip(times).enumerate() {
        let rates = rates.get(at).map_or("", String::as_str);
        let trials = time.trials.iter().map(|seconds| us(*seconds)).join(",");
        let line = format!(
            "{label} kernel_us={} trials_us={} samples={launches}{rates} correctness=pass",
            us(time.seconds),
            trials,
        );
        out.line("workload", line.trim_start())?;
    }
    let all = times.iter().map(|time| time.seconds).collect_vec();
    out.line(
        "mean_us",
        format_args!(
            "{} workloads={} aggregate=arithmetic",
            us(mean(&all)),
            all.len()
        ),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
