//! Reads the kernel and the text it is compared with, for the view Source. It reads disk and git,
//! so the view loader calls it, not the screen's thread.

use crate::screen::worker::in_words;
use anyhow::Context;
use lab_git::{Repo, short};
use lab_project::Project;
use lab_run::inputs;
use lab_store::RunStore;
use lab_tui::diff::{ContextLines, Diff};
use lab_tui::source::{Base, Baseline, PresentText, SourceRequest, SourceText, SourceView};
use std::sync::Arc;

pub fn read(project: &Project, request: SourceRequest) -> SourceView {
    let present = inputs::read(project)
        .map_err(|error| error.to_string())
        .map(|read| PresentText {
            text: SourceText::new(String::from_utf8_lossy(read.kernel())),
            fingerprint: read.fingerprint.clone(),
        });
    let context = request.around.lines();
    let base = base(project, &request.baseline).and_then(|base| {
        let Ok(present) = &present else {
            return Ok((base, Diff::default()));
        };
        let diff = diff(&base.text, &present.text, context)?;
        Ok((base, diff))
    });
    let (base, diff) = match base {
        Ok((base, diff)) => (Ok(base), diff),
        Err(error) => (Err(in_words(error)), Diff::default()),
    };
    let records = RunStore::of(project);
    let mut since = Vec::new();
    if let Ok(present) = &present {
        for run in &request.runs {
            let judged = records.judged_kernel(*run).ok();
            let judged = judged.map(|bytes| SourceText::new(String::from_utf8_lossy(&bytes)));
            // Without this diff the run's messages stay at the lines that the compiler named.
            let diff = judged.and_then(|judged| {
                self::diff(&judged, &present.text, ContextLines::default().lines()).ok()
            });
            since.extend(
                diff.filter(|diff| !diff.is_empty())
                    .map(|diff| (*run, diff)),
            );
        }
    }
    SourceView {
        present,
        base,
        diff: Arc::new(diff),
        since,
        request,
    }
}

fn diff(old: &SourceText, new: &SourceText, context: u32) -> anyhow::Result<Diff> {
    Ok(Diff::parse(&lab_git::text_diff(
        old.whole(),
        new.whole(),
        context,
    )?))
}

fn base(project: &Project, baseline: &Baseline) -> anyhow::Result<Base> {
    let repo = Repo::open(project)?;
    let (name, commit) = match baseline {
        Baseline::Incumbent => {
            let head = lab_git::head(&repo)?
                .commit
                .context("HEAD holds no commit yet")?;
            let brought = lab_git::incumbent_commit(&repo).map(|id| id.to_string());
            (
                format!("incumbent {}", short(brought.as_ref().unwrap_or(&head))),
                head,
            )
        }
        Baseline::Experiment(key) => (format!("experiment {}", key.commit), key.commit.clone()),
    };
    Ok(Base {
        name,
        text: SourceText::new(lab_git::show(&repo, &commit)?),
    })
}
