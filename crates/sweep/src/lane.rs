//! A measuring lane: one point after the other is judged on one device, as a save is.

use crate::builders::{Done, Order};
use crate::points::{Ended, Next, Shared};
use crate::record::{PointOutcome, SweepPoint};
use crate::summary;
use anyhow::Result;
use lab_git::Repo;
use lab_project::config::Goal;
use lab_protocol::report::Report;
use lab_run::Ending;
use lab_run::inputs::Inputs;
use lab_run::verdict::{Change, Figure, Outcome, Verdict};
use lab_runner::builder::Ahead;
use lab_runner::job::Job;
use lab_runner::process::{Control, RunningProcess};
use lab_runner::ready::Ready;
use lab_runner::spec::RunSpec;
use lab_runner::standby::{Owner, Standby};
use lab_store::series::own_origin;
use std::path::PathBuf;
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

/// What judges points on one device, one after the other.
pub struct Lane<'a> {
    shared: &'a Shared<'a>,
    spec: RunSpec,
    repo: Repo,
    ready: Ready,
    /// For the copies of the files and of the incumbent.
    folder: PathBuf,
    /// Whether judges and images are prepared for points that come later.
    is_ahead: bool,
}

impl<'a> Lane<'a> {
    pub fn new(
        shared: &'a Shared<'a>,
        number: usize,
        spec: &RunSpec,
        is_ahead: bool,
    ) -> Result<Lane<'a>> {
        Ok(Lane {
            shared,
            spec: RunSpec {
                is_swept: is_ahead,
                ..spec.clone()
            },
            repo: Repo::open(shared.project)?,
            ready: Ready::new(Owner::Sweep, number),
            folder: shared.open.tree().join(format!("lane-{number}")),
            is_ahead,
        })
    }

    /// Judges and records points until no further one is to be begun.
    pub fn work(&mut self, control: &Control) -> Result<Ended> {
        let shared = self.shared;
        loop {
            if control.is_ended() {
                return Ok(Ended::Interrupted);
            }
            if self.is_ahead {
                self.ready.prepare(shared.project, &self.spec);
            }
            let next = shared.points().next(shared.source);
            let (number, Done { order, ahead }) = match next {
                Next::Point(number, done) => (number, done),
                Next::Ended(ended) => return Ok(ended),
            };
            // The builders end with the caller's control, and give back points that are not built.
            if control.is_ended() {
                return Ok(Ended::Interrupted);
            }
            let record = match ahead {
                Ahead::Refused(verdict) => self.refused(number, &order, &verdict)?,
                Ahead::Built | Ahead::Unknown => {
                    shared.points().tell_judging(order.point);
                    match self.judge(number, &order, control)? {
                        Ok(record) => record,
                        Err(ended) => return Ok(ended),
                    }
                }
            };
            shared.record(record)?;
        }
    }

    /// Judges a point. The inner error says why there is no verdict on it. The outer error says what
    /// the disk or git refused.
    fn judge(
        &mut self,
        number: u32,
        order: &Order,
        control: &Control,
    ) -> Result<Result<SweepPoint, Ended>> {
        let Shared { project, open, .. } = *self.shared;
        let (began, started) = (Instant::now(), lab_run::now());
        let inputs = self.shared.inputs.with_kernel(order.kernel.clone());
        let own = control.within()?;
        let spec = self.ready.spec(&self.spec);
        let (mut standby, running) = self.on_standby(&spec, &inputs, &own).unzip();
        let mut follow = Job::follow(project, open.create_log(&open.log(number))?);
        let tree = self.folder.join("tree");
        let rival = Rival::of(self.shared.points().recorded);
        let mut job = Job {
            incumbent: Some((&self.repo, self.folder.join("incumbent"))),
            ..Job::of(project, &spec, &inputs, &tree)
        };
        let mut is_slower = false;
        let mut ended = job.run(running, &mut follow, &own, |batch| {
            let beaten = |report| {
                rival
                    .as_ref()
                    .is_some_and(|rival| rival.beats(&self.so_far(report)))
            };
            if !is_slower && batch.report.as_deref().is_some_and(beaten) {
                is_slower = true;
                if !standby.as_mut().is_some_and(Standby::tell_enough) {
                    own.end();
                }
            }
        });
        if let Some((mut standby, running)) = standby.zip(ended.stays.take()) {
            standby.put_back(running);
            self.ready.put_back(standby);
        }
        let report = follow.report();
        let is_slower = is_slower && !control.is_ended();
        let verdict = if is_slower && ended.ending == Ending::Superseded {
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
            open.remove_log(number);
        }
        let so_far = outcome.is_correct().then(|| self.so_far(report));
        Ok(Ok(SweepPoint {
            device: report.device().map(str::to_owned),
            driver: report.value("driver").map(str::to_owned),
            compiler: report.value("compiler").map(str::to_owned),
            device_state: report.device_state(),
            emulated: report.emulated(),
            caveats: verdict.caveats.clone(),
            started,
            seconds: began.elapsed().as_secs_f64(),
            ..self.recorded(number, order, outcome, why(&verdict), so_far)?
        }))
    }

    /// The judge that stands by, with the order to judge these inputs; `None` if there is none. One
    /// that failed costs time alone: the point then starts its own.
    fn on_standby(
        &mut self,
        spec: &RunSpec,
        inputs: &Inputs,
        control: &Control,
    ) -> Option<(Standby, RunningProcess)> {
        let mut standby = self.ready.take()?;
        let running = standby.take_over(self.shared.project, spec, inputs, control);
        Some((standby, running.ok()??))
    }

    /// A point that does not build, by its builder.
    fn refused(&self, number: u32, order: &Order, verdict: &Verdict) -> Result<SweepPoint> {
        self.recorded(number, order, PointOutcome::BuildError, why(verdict), None)
    }

    fn so_far(&self, report: &Report) -> SoFar {
        let config = &self.shared.project.config;
        let chosen = Figure::chosen(report, &config.objective);
        SoFar {
            goal: chosen.as_ref().map_or(config.goal, Figure::goal),
            figure: Figure::so_far(report, &config.objective),
            change: Change::in_turns(report, &config.objective),
        }
    }

    fn recorded(
        &self,
        number: u32,
        order: &Order,
        outcome: PointOutcome,
        why: String,
        so_far: Option<SoFar>,
    ) -> Result<SweepPoint> {
        let Shared {
            project,
            space,
            start,
            ..
        } = *self.shared;
        let values = space.values(order.point).into_iter().map(str::to_owned);
        let goal = so_far
            .as_ref()
            .map_or(project.config.goal, |so_far| so_far.goal);
        let (figure, change) = so_far.map_or((None, None), |so_far| (so_far.figure, so_far.change));
        Ok(SweepPoint {
            origin: own_origin(),
            sweep: start.sweep,
            fingerprint: start.fingerprint.clone(),
            number,
            point: order.point,
            values: values.collect(),
            written: space.written() == Some(order.point),
            blob: lab_git::blob_id(&self.repo, &project.kernel_name, &order.kernel)?,
            outcome,
            why,
            figure,
            goal,
            change,
            device: None,
            driver: None,
            compiler: None,
            device_state: None,
            emulated: false,
            caveats: Vec::new(),
            started: lab_run::now(),
            seconds: 0.0,
            elapsed_s: 0.0,
        })
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
