//! A point of a sweep is stored as a commit and put on disk.

use super::Refusal;
use super::decision::Decision;
use super::intent::What;
use super::restore::{Restored, put_on_disk};
use anyhow::{Context, Result, bail};
use lab_git::Repo;
use lab_project::Project;
use lab_run::RunId;
use lab_run::inputs;
use lab_store::series::SeriesStart;
use lab_sweep::{
    AppliedPoints, Sweep, SweepId, SweepPoint, SweepStore, fingerprint_of, space_of, summary,
};
use std::result::Result as StdResult;

/// A point whose kernel is in git.
pub struct StoredPoint {
    pub sweep: SweepId,
    pub number: u32,
    /// As in `BLOCK=256 ROWS=2`.
    pub values: String,
    /// Why the commit does not name the sweep; `None` if it does.
    pub unnamed: Option<String>,
    /// Full id of the commit that holds the kernel.
    pub commit: String,
}

/// Puts the best point of the newest sweep of these tune lines on disk, or the point of this number.
/// The bytes on disk are saved first.
pub fn apply_point(
    project: &Project,
    number: Option<u32>,
) -> StdResult<(StoredPoint, Restored), Refusal> {
    let text = number.map_or_else(|| "best".to_owned(), |number| number.to_string());
    let restoring = Decision::begin(project, What::Restore, &format!("point {text}"))?;
    let point = StoredPoint::of(restoring.repo(), number)?;
    // Before the kernel is written: a keep of bytes that lab did not write must not name the sweep.
    AppliedPoints::remember(&SweepStore::of(project), point.sweep, point.number)?;
    let restored = put_on_disk(restoring, &point.commit)?;
    Ok((point, restored))
}

impl StoredPoint {
    fn of(repo: &Repo, number: Option<u32>) -> Result<StoredPoint> {
        let project = &repo.project;
        let present = inputs::read(project)?;
        let (source, space) = space_of(project, present.kernel())?;
        let fingerprint = fingerprint_of(&present, &source, &space);
        let name = &project.kernel_name;
        let again = format!("`lab sweep{}`", project.argument);
        let store = SweepStore::of(project);
        let mut of_kernel = store.starts(|start| start.kernel == *name).peekable();
        let newest = of_kernel.peek().map(|start| start.sweep);
        let Some(newest) = newest else {
            bail!("there is no sweep of {name} yet: {again} makes one");
        };
        let found = of_kernel.find(|start| start.fingerprint == fingerprint);
        let found = found.with_context(|| {
            format!(
                "{name}, its tune lines or its rules changed since sweep {newest}, so its points are other kernels: {again} \
                 measures the present ones"
            )
        })?;
        let sweep = found.with_lines(&store, &mut 0)?;
        let point = chosen(project, &sweep, number)?;
        let bytes = space.source(&source, point.point).into_bytes();
        let (id, number) = (sweep.start.sweep, point.number);
        let message = format!("lab sweep: point {number} of sweep {id}");
        let stored = lab_git::prepare_discarded(repo, RunId(id.0), &bytes, &message)?;
        Ok(StoredPoint {
            sweep: id,
            number,
            values: sweep.start.in_words(point),
            unnamed: sweep.start.why_unnamed(point),
            commit: stored.id,
        })
    }
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
