//! What the command of a turn is told: the content of `LAB_AUTO_STATE`.

use super::progress::{Best, Bounds, KeptPoint};
use super::state::{Budget, Counts, LastTurn, State, VERSION};
use crate::history::lessons::{self, Idea};
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::run::RunId;
use crate::run::record::Record;
use crate::run::verdict::Change;
use crate::store::RunIndex;
use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Experiments that the state tells, the newest first.
const HISTORY: usize = 20;

/// The object. Its figures are of records.
#[derive(Serialize)]
struct Hints<'a> {
    schema_version: u32,
    turn: u64,
    kernel: &'a str,
    /// 0 for a fresh edit; above, the kernel is the one that crashed, and may be mended.
    attempt: u32,
    attempts: u32,
    incumbent: Incumbent,
    last_turn: Option<&'a LastTurn>,
    /// The last turn's run, with the keys of `lab run --json`.
    last_run: Option<Value>,
    /// The best kept experiment.
    best: Option<&'a Best>,
    /// The incumbent beside the floor and the estimate.
    bounds: Option<&'a Bounds>,
    history: Vec<Past>,
    /// What the experiments brought and taught, by idea, as `lab lessons` tells it.
    lessons: Vec<Idea>,
    budget: &'a Budget,
    spent: &'a Counts,
    plateau: bool,
    /// At a plateau: older kept kernels.
    older_kept: &'a [KeptPoint],
    turn_limit_s: f64,
    rule: &'static str,
}

/// The kernel that is to be beaten.
#[derive(Serialize)]
struct Incumbent {
    commit: Option<String>,
    /// Its newest run, with the keys of `lab run --json`.
    run: Option<Value>,
}

/// Experiments that the digest of lessons looks at, the newest, and the tokens that it may take.
const DIGESTED: usize = 1_000;
const LESSON_TOKENS: usize = 1_500;

/// The digest of lessons, cut to a number of tokens.
fn digest(project: &Project, index: &RunIndex) -> Vec<Idea> {
    let recorded = lessons::of_records(project, index).take(DIGESTED);
    let ideas = lessons::lessons(recorded, &project.config.objective, project.config.goal);
    // As it stands in the file: two levels deep in the object.
    let length = |idea: &Idea| {
        let text = serde_json::to_string_pretty(idea).unwrap_or_default();
        format!("    {},\n", text.replace('\n', "\n    "))
    };
    lessons::fitting(ideas, LESSON_TOKENS, length).0
}

/// One experiment.
#[derive(Serialize)]
struct Past {
    run: RunId,
    status: String,
    description: String,
    commit: Option<String>,
    trailers: BTreeMap<String, String>,
    change: Option<Change>,
}

/// What a turn is told besides its state.
pub(super) struct Told<'a> {
    pub mend: u32,
    pub turn_limit_s: f64,
    /// A record as `lab run --json` prints it.
    pub report: &'a dyn Fn(&RunIndex, &Record) -> Value,
}

/// Returns the object as JSON.
pub(super) fn of(
    project: &Project,
    index: &RunIndex,
    state: &State,
    told: &Told,
) -> Result<Vec<u8>> {
    let repo = Repo::open(project)?;
    let read = |id: RunId| {
        index
            .store()
            .read(id)
            .ok()
            .map(|record| (told.report)(index, &record))
    };
    let blob = repo::incumbent(&repo, project)?.unwrap_or_default();
    let own = index
        .newest_of_blob(&blob)
        .find(|run| run.judges(project) && run.verdict.is_some());
    let decided = index.newest_of_kernel(&project.kernel_name, |_| true);
    let past = |run: &crate::store::RunSummary| {
        let decision = run.decision.as_ref()?;
        Some(Past {
            run: run.id,
            status: decision.status.word().to_owned(),
            description: decision.description.clone(),
            commit: decision.commit.clone(),
            trailers: decision
                .trailers
                .iter()
                .map(|(key, value)| (key.to_string(), value.clone()))
                .collect(),
            change: run.verdict.as_ref().and_then(|verdict| verdict.change),
        })
    };
    let hints = Hints {
        schema_version: VERSION,
        turn: state.turn,
        kernel: &project.kernel_name,
        attempt: state.counts.mended,
        attempts: told.mend,
        incumbent: Incumbent {
            commit: repo::head(&repo)?.commit,
            run: own.and_then(|run| read(run.id)),
        },
        last_turn: state.last_turn.as_ref(),
        last_run: state.last_turn.as_ref().and_then(|turn| read(turn.run?)),
        best: state.best.as_ref(),
        bounds: state.bounds.as_ref(),
        lessons: digest(project, index),
        history: decided.filter_map(past).take(HISTORY).collect(),
        budget: &state.budget,
        spent: &state.counts,
        plateau: state.plateau,
        older_kept: &state.older_kept,
        turn_limit_s: told.turn_limit_s,
        rule: crate::decide::auto::rule(&project.config.auto),
    };
    Ok(serde_json::to_vec_pretty(&hints)?)
}
