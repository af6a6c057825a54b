//! The tool `sweep`: what `lab sweep` does, with an answer of limited size.

use super::answer::Answer;
use super::jobs::Job;
use super::tools::SweepArguments;
use super::work::{Wrong, next_of};
use crate::cli::json::sweep::{SweepEnd, SweepPointReport};
use crate::cli::sweep::apply::apply;
use crate::cli::sweep::text::{counts_line, progress_line};
use crate::confinement;
use anyhow::{Result, ensure};
use lab_project::Project;
use lab_run::Reason;
use lab_sweep::summary::{self, Importance, PointCounts};
use lab_sweep::{Ended, Session, Sweep, SweepEvent, SweepId, SweepRequest};
use schemars::JsonSchema;
use serde::Serialize;

/// Most points in an answer: the best ones, or else the first.
const POINTS: usize = 10;

/// Measures points, or writes one into the kernel.
pub fn sweep(project: &Project, asked: SweepArguments, job: &Job) -> Result<Answer> {
    if asked.apply {
        let applied = apply(project, asked.point)?;
        let summary = applied.lines(project).swap_remove(0);
        return Ok(Answer::new(&summary, "Call judge.", applied));
    }
    let why = "`point` names the point that `apply` writes";
    ensure!(asked.point.is_none(), Wrong(why.to_owned()));
    let request = SweepRequest {
        strategy: asked.strategy.into(),
        budget: asked.budget().map_err(Wrong)?,
        ..SweepRequest::default()
    };
    let spec = confinement::spec(Reason::Command, asked.device);
    let mut session = Session::begin(project, spec, &request)?;
    let (wanted, mut done) = (session.wanted(), session.sweep.points.len());
    let ended = session.run(&job.control, &mut |event| match event {
        SweepEvent::Judging(values) => job.change(|state| {
            state.line = progress_line(done + 1, wanted, &values, None);
        }),
        SweepEvent::Recorded(_) => done += 1,
        SweepEvent::Jobs(jobs) => job.change(|state| state.line = jobs.in_words()),
    })?;
    Ok(report(&session.sweep, &ended))
}

/// What a model needs of a sweep.
#[derive(JsonSchema, Serialize)]
pub struct ShortSweep<'a> {
    /// The number of a sweep: it counts from 1 within a repository.
    sweep: SweepId,
    ended: SweepEnd,
    counts: PointCounts,
    best: Option<u32>,
    importance: Vec<Importance>,
    points: Vec<SweepPointReport<'a>>,
}

fn report(sweep: &Sweep, ended: &Ended) -> Answer {
    let ranked = summary::ranked(&sweep.points);
    let next = match (ended, ranked.first()) {
        (Ended::NotJudged(why), _) => next_of(why),
        (Ended::Interrupted, _) => "Call sweep again: it goes on where it ended.",
        (_, None) => "Correct the kernel or its tune lines: no point passed.",
        (_, Some(best)) if best.emulated => {
            "The device is emulated, so no point is the best: `apply` with `point` writes one into the kernel."
        }
        (_, Some(_)) => {
            "Call sweep with `apply`: it writes the best point into the kernel. Then call judge."
        }
    };
    let mut counted = counts_line(sweep);
    if let Ended::NotJudged(why) = ended {
        counted += &format!("; not judged: {why}");
    }
    let others = sweep.points.iter();
    let others = others.filter(|point| ranked.iter().all(|ranked| ranked.number != point.number));
    let points = ranked.iter().copied().chain(others);
    let mut answer = Answer::new(
        &counted,
        next,
        ShortSweep {
            sweep: sweep.start.sweep,
            ended: SweepEnd::of(Some(ended)),
            counts: PointCounts::of(&sweep.points),
            best: ranked.first().filter(|it| !it.emulated).map(|it| it.number),
            importance: summary::importance(sweep),
            points: points.take(POINTS).map(SweepPointReport::of).collect(),
        },
    );
    let left_out = sweep.points.len().saturating_sub(POINTS);
    if left_out > 0 {
        answer.left_out.insert("points".to_owned(), left_out);
    }
    answer
}
