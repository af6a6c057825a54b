//! `lab sweep --apply`: puts a point into the kernel on disk.

use super::{say, told};
use anyhow::Result;
use lab_project::Project;
use lab_sweep::SweepId;
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

/// What `lab sweep --apply` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct SweepApplied {
    /// The kernel on disk.
    kernel: String,
    /// The sweep.
    applied_sweep: SweepId,
    /// The number of the point in the sweep.
    applied_point: u32,
    /// Its values, as in `BLOCK=256 ROWS=2`.
    values: String,
    /// Why the commit of these bytes does not name the sweep in the trailer `Sweep`, as of a foreign one; null if
    /// it does.
    unnamed: Option<String>,
    /// The bytes on disk are other ones now.
    changed: bool,
    /// Full id of the commit that holds the bytes that were on disk; null if they were the same.
    saved: Option<String>,
}

pub fn main(project: &Project, number: Option<u32>) -> Result<ExitCode> {
    let applied = apply(project, number)?;
    Ok(told(&applied, || {
        applied.lines(project).iter().for_each(|line| say(line));
    }))
}

/// Writes the best point of the newest sweep of these tune lines, or the point of this number.
pub fn apply(project: &Project, number: Option<u32>) -> Result<SweepApplied> {
    let (point, restored) = lab_decide::apply_point(project, number)?;
    Ok(SweepApplied {
        kernel: project.kernel_name.clone(),
        applied_sweep: point.sweep,
        applied_point: point.number,
        values: point.values,
        unnamed: point.unnamed,
        changed: restored.changed,
        saved: restored.saved,
    })
}

impl SweepApplied {
    /// The kernel that has values now, what judges them, and where the bytes before are.
    pub fn lines(&self, project: &Project) -> Vec<String> {
        let SweepApplied {
            kernel,
            applied_sweep: sweep,
            applied_point: point,
            values,
            unnamed,
            changed,
            saved,
        } = self;
        let has = if *changed { "now has" } else { "already has" };
        let this = &project.argument;
        let named = match unnamed {
            None => "the commit names the sweep in the trailer `Sweep`".to_owned(),
            Some(why) => format!("the commit does not name the sweep: {why}"),
        };
        let mut lines = vec![
            format!("{kernel} {has} {values}: point {point} of sweep {sweep}"),
            format!("  `lab run{this}` judges it; {named}"),
        ];
        lines.extend(saved.as_ref().map(|saved| {
            let saved = lab_git::short(saved);
            format!("  the bytes that were on disk are saved as {saved} (`lab restore {saved}`)")
        }));
        lines
    }
}
