//! The tool `sweep`: what `lab sweep` does, with an answer of limited size.

use super::answer::Answer;
use super::jobs::Job;
use super::tools::SweepArguments;
use super::work::{AS_TOOLS, not_run};
use crate::cli::json::sweep::SweepReport;
use crate::cli::sweep::apply::apply;
use crate::cli::sweep::text::{counts_line, progress_line};
use crate::confinement;
use anyhow::Result;
use lab_project::Project;
use lab_run::Reason;
use lab_runner::spec::RunSpec;
use lab_sweep::{Ended, NotSwept, Session, SweepEvent, SweepRequest};
use serde_json::Value;

/// Most points in an answer: the best ones, or else the first.
const POINTS: usize = 10;

/// Measures points, or writes one into the kernel.
pub fn sweep(project: &Project, asked: SweepArguments, job: &Job) -> Result<Answer> {
    if asked.apply {
        let applied = apply(project, asked.point)?;
        let summary = applied.lines(project).swap_remove(0);
        return Ok(Answer::new(&summary, "Call judge.", applied));
    }
    if asked.point.is_some() {
        return Ok(Answer::wrong("`point` names the point that `apply` writes"));
    }
    let request = match asked.budget() {
        Ok(budget) => SweepRequest {
            strategy: asked.strategy.into(),
            budget,
            ..SweepRequest::default()
        },
        Err(why) => return Ok(Answer::wrong(why)),
    };
    let spec = RunSpec {
        device: asked.device,
        confinement: confinement::missing,
        ..RunSpec::new(Reason::Command)
    };
    let mut session = match Session::begin(project, spec, &request) {
        Ok(session) => session,
        Err(NotSwept::NotRun(why)) => return Ok(not_run(&why)),
        Err(why) => return Ok(Answer::error(&why.to_string(), AS_TOOLS)),
    };
    let (wanted, mut done) = (session.wanted(), session.sweep.points.len());
    let ended = session.run(&job.control, &mut |event| match event {
        SweepEvent::Judging(values) => job.change(|state| {
            state.line = progress_line(done + 1, wanted, &values, None);
        }),
        SweepEvent::Recorded(_) => done += 1,
    })?;
    Ok(report(project, &session, &ended))
}

fn report(project: &Project, session: &Session, ended: &Ended) -> Answer {
    let sweep = &session.sweep;
    let report = SweepReport::of(project, sweep, Some(ended));
    let next = match (ended, report.ranked.first()) {
        (Ended::NotJudged(_), _) => AS_TOOLS,
        (Ended::Interrupted, _) => "Call sweep again: it goes on where it ended.",
        (_, None) => "Correct the kernel or its tune lines: no point passed.",
        (_, Some(_)) if sweep.is_emulated() => {
            "The device is emulated, so no point is the best: `apply` with `point` writes one into the kernel."
        }
        (_, Some(_)) => {
            "Call sweep with `apply`: it writes the best point into the kernel. Then call judge."
        }
    };
    let mut summary = counts_line(sweep);
    if let Ended::NotJudged(why) = ended {
        summary += &format!("; not judged: {why}");
    }
    let ranked = report.ranked.clone();
    let mut report = serde_json::to_value(report).unwrap_or_default();
    let mut left_out = 0;
    if let Some(points) = report["points"].as_array_mut() {
        let rank = |point: &Value| {
            let place = |number: &u32| point["number"] == *number;
            ranked.iter().position(place).unwrap_or(ranked.len())
        };
        points.sort_by_cached_key(rank);
        left_out = points.len().saturating_sub(POINTS);
        points.truncate(POINTS);
    }
    let mut answer = Answer::new(&summary, next, report);
    if left_out > 0 {
        answer.left_out.insert("points".to_owned(), left_out);
    }
    answer
}
