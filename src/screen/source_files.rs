//! Reads kernel.cu and the text it is compared with, for the view Source. It reads disk and git, so the view loader calls
//! it, not the screen's thread.

use anyhow::Context;
use lab_core::project::Project;
use lab_core::repo::short;
use lab_core::store::Records;
use lab_core::{inputs, repo};
use lab_tui::diff::Diff;
use lab_tui::source::{Against, Asked, Base, Present, Source, Text};
use std::sync::Arc;

pub fn read(project: &Project, asked: Asked) -> Source {
    let present = inputs::read(project).map_err(|error| error.to_string()).map(|read| Present {
        text: Text::new(String::from_utf8_lossy(read.kernel())),
        fingerprint: read.fingerprint.clone(),
    });
    let base = base(project, &asked.against).map_err(|error| format!("{error:#}"));
    let diff = match (&base, &present) {
        (Ok(base), Ok(present)) => Diff::with(base.text.whole(), present.text.whole(), asked.around),
        _ => Diff::default(),
    };
    let records = Records::new(&project.lab_dir);
    let mut since = Vec::new();
    if let Ok(present) = &present {
        for run in &asked.runs {
            let judged = std::fs::read(records.folder(*run).join("kernel.cu")).ok();
            let diff = judged.map(|bytes| Diff::of(&String::from_utf8_lossy(&bytes), present.text.whole()));
            since.extend(diff.filter(|diff| !diff.is_empty()).map(|diff| (*run, diff)));
        }
    }
    Source { present, base, diff: Arc::new(diff), since, asked }
}

fn base(project: &Project, against: &Against) -> anyhow::Result<Base> {
    let (name, commit) = match against {
        Against::Incumbent => {
            let head = repo::head(project)?.commit.context("HEAD holds no commit yet")?;
            (format!("incumbent {}", short(&head)), head)
        }
        Against::Experiment(key) => (format!("experiment {}", key.commit), key.commit.clone()),
    };
    Ok(Base { name, text: Text::new(repo::show(project, &commit)?) })
}
