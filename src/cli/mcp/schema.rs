//! The schema of each tool's answers: its keys and their types, from the types of the answers. What a
//! nested object holds is left to docs/json.schema.json: a client reads all schemas before its first
//! call.

use super::answer::Answer;
use super::history::{Against, Diff, HistoryReport};
use super::jobs::OpenJob;
use super::profile::ShortProfile;
use super::sweep::ShortSweep;
use super::work::Checked;
use crate::cli::json::answer::RunAnswer;
use crate::cli::json::decision::{NewDecision, RefusedDecision};
use crate::cli::json::experiment::ExperimentReport;
use crate::cli::json::{Resumed, schema};
use crate::cli::peers::PeersAnswer;
use crate::cli::profile::DurationsAnswer;
use crate::cli::restore::RestoreAnswer;
use crate::cli::rules::RulesAnswer;
use crate::cli::sweep::apply::SweepApplied;
use crate::cli::undo::UndoAnswer;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The types of the values of each key.
type Keys = BTreeMap<String, BTreeSet<String>>;

/// The schema of a tool's answers.
pub fn of(tool: &str) -> Arc<JsonObject> {
    let mut keys = Keys::new();
    add::<Answer>(&mut keys);
    add::<OpenJob>(&mut keys);
    add_tool(&mut keys, tool);
    let properties: JsonObject = keys
        .into_iter()
        .map(|(key, types)| {
            let only = types.first().filter(|_| types.len() == 1);
            (
                key,
                json!({ "type": only.map_or_else(|| json!(types), |only| json!(only)) }),
            )
        })
        .collect();
    let schema =
        json!({ "type": "object", "properties": properties, "required": ["summary", "next"] });
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// Adds the keys of an answer to those that are known.
type Add = fn(&mut Keys);

/// What tools answer, but for those that answer with a run.
const ANSWERS: [(&[&str], &[Add]); 9] = [
    (&["check"], &[add::<Checked>]),
    (
        &["keep", "discard"],
        &[add::<NewDecision>, add::<RefusedDecision>, add::<Resumed>],
    ),
    (
        &["undo_or_restore"],
        &[add::<UndoAnswer>, add::<RestoreAnswer>, add::<Resumed>],
    ),
    (&["sweep"], &[add::<ShortSweep>, add::<SweepApplied>]),
    (&["profile"], &[add::<DurationsAnswer>, add::<ShortProfile>]),
    (&["history"], &[add::<HistoryReport>]),
    (
        &["experiment"],
        &[
            add::<RunAnswer>,
            add::<ExperimentReport>,
            add::<Diff>,
            add::<Against>,
        ],
    ),
    (&["rules"], &[add::<RulesAnswer>]),
    (&["peers"], &[add::<PeersAnswer>]),
];

fn add_tool(keys: &mut Keys, tool: &str) {
    // `wait` answers with the result of any job.
    let of_tool = |(tools, _): &&(&[&str], _)| tool == "wait" || tools.contains(&tool);
    let answers: Vec<&Add> = ANSWERS
        .iter()
        .filter(of_tool)
        .flat_map(|(_, adds)| *adds)
        .collect();
    match answers.is_empty() {
        true => add::<RunAnswer>(keys),
        false => answers.iter().for_each(|add| add(keys)),
    }
}

/// Adds the keys of an answer.
fn add<T: JsonSchema>(keys: &mut Keys) {
    let schema = schema::of::<T>().to_value();
    for (key, value) in schema["properties"].as_object().into_iter().flatten() {
        add_types(keys.entry(key.clone()).or_default(), value, &schema);
    }
}

/// Adds the types of the values that a schema, a part of `whole`, allows.
fn add_types(types: &mut BTreeSet<String>, schema: &Value, whole: &Value) {
    match &schema["type"] {
        Value::String(of_type) => drop(types.insert(of_type.clone())),
        Value::Array(several) => {
            types.extend(several.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        _ => {}
    }
    let reference = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    let named = reference.and_then(|pointer| whole.pointer(pointer));
    let branches = ["anyOf", "oneOf"].map(|key| schema[key].as_array().into_iter().flatten());
    for branch in branches.into_iter().flatten().chain(named) {
        add_types(types, branch, whole);
    }
}
