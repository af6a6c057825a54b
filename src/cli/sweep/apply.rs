//! `lab sweep --apply`: puts a point into the kernel on disk.

use super::{SweepStore, say, told};
use anyhow::{Context, Result, bail};
use lab_git::Repo;
use lab_project::Project;
use lab_run::RunId;
use lab_run::inputs;
use lab_sweep::{Sweep, SweepId, SweepPoint, fingerprint_of, space_of, summary};
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
    let present = inputs::read(project)?;
    let (source, space) = space_of(project, present.kernel())?;
    let fingerprint = fingerprint_of(&present, &source, &space);
    let name = &project.kernel_name;
    let again = format!("`lab sweep{}`", project.argument);
    let store = SweepStore::new(&project.lab_dir);
    let mut of_kernel = store.all(|start| start.kernel == *name).peekable();
    let newest = of_kernel.peek().map(|sweep| sweep.start.sweep);
    let Some(newest) = newest else {
        bail!("there is no sweep of {name} yet: {again} makes one");
    };
    let found = of_kernel.find(|sweep| sweep.start.fingerprint == fingerprint);
    let sweep = found.with_context(|| {
        format!(
            "{name}, its tune lines or its rules changed since sweep {newest}, so its points are other kernels: {again} \
             measures the present ones"
        )
    })?;
    let point = chosen(project, &sweep, number)?;
    let bytes = space.source(&source, point.point).into_bytes();
    let (id, number) = (sweep.start.sweep, point.number);
    let repo = Repo::open(project)?;
    let message = format!("lab sweep: point {number} of sweep {id}");
    let stored = lab_git::prepare_discarded(&repo, RunId(id.0), &bytes, &message)?;
    let restored = lab_decide::restore_commit(project, &stored.id)?;
    Ok(SweepApplied {
        kernel: name.clone(),
        applied_sweep: id,
        applied_point: number,
        values: sweep.start.in_words(point),
        changed: restored.changed,
        saved: restored.saved,
    })
}

/// The point of this number, or the best one.
fn chosen<'a>(project: &Project, sweep: &'a Sweep, number: Option<u32>) -> Result<&'a SweepPoint> {
    let (id, this) = (sweep.start.sweep, &project.argument);
    let Some(number) = number else {
        let best = summary::ranked(&sweep.points).first().copied();
        let best =
            best.with_context(|| format!("no point of sweep {id} passed: there is none to apply"))?;
        if best.emulated {
            bail!(
                "sweep {id} ran on the emulated device, whose times say nothing about a GPU, so it has no best point: name \
                 one, as in `lab sweep{this} --apply {}`",
                best.number
            );
        }
        return Ok(best);
    };
    let point = sweep.points.iter().find(|point| point.number == number);
    let point = point.with_context(|| {
        format!("sweep {id} has no point {number}: `lab sweep{this} --show {id}` lists them")
    })?;
    if !point.outcome.is_correct() {
        bail!(
            "point {number} of sweep {id} is not correct ({}): {}",
            point.outcome.word(),
            point.why
        );
    }
    Ok(point)
}

impl SweepApplied {
    /// The kernel that has values now, what judges them, and where the bytes before are.
    pub fn lines(&self, project: &Project) -> Vec<String> {
        let SweepApplied {
            kernel,
            applied_sweep: sweep,
            applied_point: point,
            values,
            changed,
            saved,
        } = self;
        let has = if *changed { "now has" } else { "already has" };
        let this = &project.argument;
        let mut lines = vec![
            format!("{kernel} {has} {values}: point {point} of sweep {sweep}"),
            format!("  `lab run{this}` judges it; a keep names the sweep in the trailer `Sweep`"),
        ];
        lines.extend(saved.as_ref().map(|saved| {
            let saved = lab_git::short(saved);
            format!("  the bytes that were on disk are saved as {saved} (`lab restore {saved}`)")
        }));
        lines
    }
}
