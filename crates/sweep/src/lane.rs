//! The measuring lane: one point after the other is judged, as a save is.

use crate::record::{PointOutcome, SweepPoint};
use crate::session::{Ended, Session};
use crate::store::log_name;
use crate::summary;
use anyhow::Result;
use lab_project::config::Goal;
use lab_protocol::report::Report;
use lab_run::Ending;
use lab_run::inputs::Inputs;
use lab_run::verdict::{Change, Figure, Outcome, Verdict};
use lab_runner::job::Job;
use lab_runner::process::{Control, RunningProcess};
use lab_runner::ready::Ready;
use lab_runner::spec::{RunSpec, limit};
use lab_store::series::own_origin;
use std::time::Instant;

/// The best point so far, which a point in progress is compared with.
pub struct Rival {
    figure: Option<Figure>,
    improvement: Option<Change>,
}

impl Rival {
    /// The best of these points; `None` without one, and on an emulated device, whose times are not
    /// compared.
    pub fn of(points: &[SweepPoint]) -> Option<Rival> {
        let best = summary::ranked(points).first().copied()?;
        (!best.emulated).then(|| Rival {
            figure: best.figure.clone(),
            improvement: best.improvement(),
        })
    }

    /// Whether a point in progress is slower, whatever else is measured of it: its interval lies
    /// beyond that of the best. Where both were timed in turns with the incumbent, the ratios are
    /// compared, else the figures.
    fn beats(&self, now: &SoFar) -> bool {
        let SoFar {
            figure,
            goal,
            change,
        } = now;
        let improvement = change.map(|change| change.improvement(*goal));
        let in_turns = |change: Option<Change>| change.and_then(|change| change.interval);
        if let Some((best, now)) = in_turns(self.improvement).zip(in_turns(improvement)) {
            return now.1 < best.0;
        }
        let ends = |figure: &Figure| figure.measure.low.zip(figure.measure.high);
        let best = self.figure.as_ref().and_then(ends);
        match (best, figure.as_ref().and_then(ends)) {
            (Some(best), Some(now)) if *goal == Goal::Maximize => now.1 < best.0,
            (Some(best), Some(now)) => now.0 > best.1,
            _ => false,
        }
    }
}

/// What a report says of a point so far.
struct SoFar {
    figure: Option<Figure>,
    goal: Goal,
    change: Option<Change>,
}

impl Session<'_> {
    /// Judges a point. The inner error says why there is no verdict on it. The outer error says what
    /// the disk or git refused.
    pub(crate) fn judge(
        &self,
        point: usize,
        kernel: &[u8],
        ready: &mut Ready,
        control: &Control,
    ) -> Result<Result<SweepPoint, Ended>> {
        let (project, began, started) = (self.project, Instant::now(), lab_run::now());
        let number = self.next_number();
        let inputs = self.inputs.with_kernel(kernel.to_vec());
        let own = control.within()?;
        let spec = ready.spec(&self.spec);
        let running = self.on_standby(ready, &spec, &inputs, &own);
        let mut follow = Job::follow(project, self.open.create_log(&log_name(number))?);
        let (tree, rival) = (self.open.tree(), Rival::of(&self.sweep.points));
        let mut job = Job {
            project,
            spec: &spec,
            inputs: &inputs,
            request: spec.request(project, &tree),
            tree: &tree,
            run_dir: &tree,
            incumbent: Some((&self.repo, self.open.path("incumbent"))),
            limit: limit(project),
        };
        let mut is_slower = false;
        let ended = job.run(running, &mut follow, &own, |batch| {
            let beaten = |report| {
                rival
                    .as_ref()
                    .is_some_and(|rival| rival.beats(&self.so_far(report)))
            };
            if !is_slower && batch.report.as_deref().is_some_and(beaten) {
                is_slower = true;
                own.end();
            }
        });
        let report = follow.report();
        let is_slower = is_slower && ended.ending == Ending::Superseded && !control.is_ended();
        let verdict = if is_slower {
            Verdict::bare(
                Outcome::Pass,
                "its interval lies beyond that of the best point",
            )
        } else {
            ended.verdict(project, &follow)
        };
        let outcome = match outcome(&verdict) {
            Some(PointOutcome::Pass) if is_slower => PointOutcome::Slower,
            Some(outcome) => outcome,
            None if control.is_ended() => return Ok(Err(Ended::Interrupted)),
            None => return Ok(Err(Ended::NotJudged(verdict.why))),
        };
        if outcome.is_correct() {
            self.open.remove_log(&log_name(number));
        }
        let so_far = outcome.is_correct().then(|| self.so_far(report));
        let blob = self.blob(kernel)?;
        Ok(Ok(SweepPoint {
            device: report.device().map(str::to_owned),
            emulated: report.emulated(),
            caveats: verdict.caveats.clone(),
            started,
            seconds: began.elapsed().as_secs_f64(),
            ..self.recorded(point, blob, outcome, why(&verdict), so_far)
        }))
    }

    /// The judge that stands by, with the order to judge these inputs; `None` if there is none. One
    /// that failed costs time alone: the point then starts its own.
    fn on_standby(
        &self,
        ready: &mut Ready,
        spec: &RunSpec,
        inputs: &Inputs,
        control: &Control,
    ) -> Option<RunningProcess> {
        let standby = ready.take();
        let running = standby.map(|judge| judge.take_over(self.project, spec, inputs, control));
        if self.is_done_ahead() {
            ready.prepare_meanwhile(self.project, &self.spec);
        }
        running.and_then(Result::ok).flatten()
    }

    /// A point that does not build, by its builder.
    pub(crate) fn refused(
        &self,
        point: usize,
        kernel: &[u8],
        verdict: &Verdict,
    ) -> Result<SweepPoint> {
        let blob = self.blob(kernel)?;
        let outcome = PointOutcome::BuildError;
        Ok(self.recorded(point, blob, outcome, why(verdict), None))
    }

    fn blob(&self, kernel: &[u8]) -> Result<String> {
        lab_git::blob_id(&self.repo, &self.project.kernel_name, kernel)
    }

    fn so_far(&self, report: &Report) -> SoFar {
        let config = &self.project.config;
        let chosen = Figure::chosen(report, &config.objective);
        SoFar {
            goal: chosen.as_ref().map_or(config.goal, Figure::goal),
            figure: Figure::so_far(report, &config.objective),
            change: Change::in_turns(report, &config.objective),
        }
    }

    fn recorded(
        &self,
        point: usize,
        blob: String,
        outcome: PointOutcome,
        why: String,
        so_far: Option<SoFar>,
    ) -> SweepPoint {
        let start = &self.sweep.start;
        let values = self.space.values(point).into_iter().map(str::to_owned);
        let goal = so_far
            .as_ref()
            .map_or(self.project.config.goal, |so_far| so_far.goal);
        let (figure, change) = so_far.map_or((None, None), |so_far| (so_far.figure, so_far.change));
        SweepPoint {
            origin: own_origin(),
            sweep: start.sweep,
            fingerprint: start.fingerprint.clone(),
            number: self.next_number(),
            point,
            values: values.collect(),
            written: self.space.written() == Some(point),
            blob,
            outcome,
            why,
            figure,
            goal,
            change,
            device: None,
            emulated: false,
            caveats: Vec::new(),
            started: lab_run::now(),
            seconds: 0.0,
            elapsed_s: 0.0,
        }
    }

    fn next_number(&self) -> u32 {
        self.sweep.points.last().map_or(0, |point| point.number) + 1
    }
}

/// `None` of a run without a verdict on the kernel.
fn outcome(verdict: &Verdict) -> Option<PointOutcome> {
    match verdict.outcome {
        Outcome::Pass => Some(PointOutcome::Pass),
        Outcome::Fail => Some(PointOutcome::Fail),
        Outcome::Crash if verdict.build_failed => Some(PointOutcome::BuildError),
        Outcome::Crash => Some(PointOutcome::Crash),
        Outcome::Void | Outcome::NotJudged => None,
    }
}

fn why(verdict: &Verdict) -> String {
    match verdict.outcome {
        Outcome::Pass if verdict.why.is_empty() => verdict.unmeasured().unwrap_or_default(),
        _ => verdict.why.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_project::objective::Objective;

    fn figure(low: f64, high: f64) -> Figure {
        let log = format!(
            "throughput_sps: {} low={low} high={high}\n",
            f64::midpoint(low, high)
        );
        let figure = Figure::of(&Report::read(&log), Objective::Throughput);
        figure.expect("the line has a figure")
    }

    fn so_far(change: Option<Change>, figure: Option<Figure>, goal: Goal) -> SoFar {
        SoFar {
            figure,
            goal,
            change,
        }
    }

    fn change(low: f64, high: f64) -> Change {
        Change {
            ratio: f64::midpoint(low, high),
            interval: Some((low, high)),
            ..Change::default()
        }
    }

    #[test]
    fn a_point_ends_early_only_if_its_interval_lies_beyond_that_of_the_best() {
        let best = Rival {
            figure: Some(figure(90.0, 110.0)),
            improvement: None,
        };
        let ends = |low, high, goal| best.beats(&so_far(None, Some(figure(low, high)), goal));
        assert!(ends(70.0, 89.0, Goal::Maximize));
        assert!(!ends(70.0, 91.0, Goal::Maximize) && !ends(111.0, 120.0, Goal::Maximize));
        assert!(ends(111.0, 120.0, Goal::Minimize) && !ends(70.0, 89.0, Goal::Minimize));
        assert!(
            !best.beats(&so_far(None, None, Goal::Maximize)),
            "nothing was measured yet"
        );
    }

    #[test]
    fn ratios_to_the_incumbent_go_before_figures() {
        let best = Rival {
            figure: Some(figure(90.0, 110.0)),
            improvement: Some(change(0.10, 0.12)),
        };
        let slow = |change| so_far(change, Some(figure(50.0, 60.0)), Goal::Maximize);
        let beats = |low, high| best.beats(&slow(Some(change(low, high))));
        assert!(beats(0.05, 0.09) && !beats(0.05, 0.11));
        assert!(best.beats(&slow(None)), "the incumbent was left out");
    }
}
