//! What the command of a turn is told: the content of `LAB_AUTO_STATE`.

use super::options::Auto;
use super::state::{State, VERSION};
use anyhow::Result;
use lab_git::Repo;
use lab_history::lessons::{self, Idea};
use lab_project::Project;
use lab_run::RunId;
use lab_store::{RunIndex, RunSummary};
use serde_json::{Map, Value, json};

/// Experiments that the state tells, the newest first.
const HISTORY: usize = 20;

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

/// Returns the object as JSON. Its figures are of records.
pub fn of(auto: &Auto, index: &RunIndex, state: &State) -> Result<Vec<u8>> {
    let (project, options) = (auto.project, auto.options);
    let repo = Repo::open(project)?;
    // A run with the keys of `lab run --json`.
    let report = |id: RunId| {
        let record = index.store().read(id).ok()?;
        Some((auto.report)(index, &record))
    };
    let blob = lab_git::incumbent(&repo)?.unwrap_or_default();
    let incumbent = index
        .newest_of_blob(&blob)
        .find(|run| run.judges(project) && run.verdict.is_some());
    let decided = index.newest_of_kernel(&project.kernel_name, |_| true);
    let history: Vec<Value> = decided.filter_map(past).take(HISTORY).collect();
    let last_run = state.last_turn.as_ref().and_then(|turn| turn.run);
    let hints = json!({
        "schema_version": VERSION,
        "turn": state.turn,
        "kernel": project.kernel_name,
        // 0 for a fresh edit; above, the kernel is the one that crashed, and may be mended.
        "attempt": state.counts.mended,
        "attempts": options.mend,
        "incumbent": {
            "commit": lab_git::head(&repo)?.commit,
            "run": incumbent.and_then(|run| report(run.id)),
        },
        "last_turn": state.last_turn,
        "last_run": last_run.and_then(report),
        "best": state.best,
        "bounds": state.bounds,
        "history": history,
        "lessons": digest(project, index),
        "budget": state.budget,
        "spent": state.counts,
        "plateau": state.plateau,
        "older_kept": state.older_kept,
        "turn_limit_s": options.turn_limit.as_secs_f64(),
        "rule": lab_decide::auto::rule(&project.config.auto),
    });
    Ok(serde_json::to_vec_pretty(&hints)?)
}

/// One experiment; `None` of an undecided run.
fn past(run: &RunSummary) -> Option<Value> {
    let decision = run.decision.as_ref()?;
    let trailers = decision.trailers.iter();
    let trailers: Map<String, Value> = trailers
        .map(|(key, value)| (key.to_string(), value.as_str().into()))
        .collect();
    Some(json!({
        "run": run.id,
        "status": decision.status.word(),
        "description": decision.description,
        "commit": decision.commit,
        "trailers": trailers,
        "change": run.verdict.as_ref().and_then(|verdict| verdict.change),
    }))
}
