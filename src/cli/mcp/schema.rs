//! The schema of each tool's answers: its keys and their types, from the definitions of `--json` where
//! they are the same. What a nested object holds is left to docs/json.schema.json: a client reads all
//! schemas before its first call.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

static JSON_SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../docs/json.schema.json")).unwrap_or_default()
});

/// The keys that any answer may have, as a job that goes on or a refusal. A key with several types
/// stands here several times.
const OF_ALL: &[(&str, &str)] = &[
    ("summary", "string"),
    ("next", "string"),
    ("job", "integer"),
    ("tool", "string"),
    ("state", "string"),
    ("run", "integer"),
    ("run", "null"),
    ("seconds", "number"),
    ("last_line", "string"),
    ("open_jobs", "array"),
    ("resources", "array"),
    ("left_out", "object"),
    ("notes", "array"),
];

const OF_DECISIONS: &[(&str, &str)] = &[
    ("decision", "object"),
    ("last_decision", "object"),
    ("last_decision", "null"),
    ("resumed", "string"),
];

const OF_A_CHECK: &[(&str, &str)] = &[
    ("outcome", "string"),
    ("tools", "array"),
    ("size", "string"),
    ("size", "null"),
    ("findings", "array"),
];

const OF_A_PROFILE: &[(&str, &str)] = &[
    ("path", "string"),
    ("digest", "array"),
    ("workload", "string"),
    ("launch", "object"),
    ("launch", "null"),
    ("metrics", "object"),
    ("findings", "array"),
    ("hot_lines", "array"),
    ("image", "object"),
    ("least", "object"),
    ("least", "null"),
    ("differences", "array"),
    ("missing", "array"),
];

const OF_HISTORY: &[(&str, &str)] = &[
    ("head", "string"),
    ("kernel", "string"),
    ("undecided_run", "integer"),
    ("undecided_run", "null"),
    ("counts", "object"),
    ("incumbent", "object"),
    ("incumbent", "null"),
    ("experiments", "array"),
    ("older", "integer"),
    ("lessons", "array"),
    ("problems", "array"),
];

const OF_A_DIFF: &[(&str, &str)] = &[
    ("diff", "string"),
    ("diff", "null"),
    ("diff_is_cut", "string"),
    ("diff_is_missing", "string"),
    ("compared", "object"),
];

type Keys = BTreeMap<String, BTreeSet<String>>;

/// The schema of a tool's answers.
pub fn of(tool: &str) -> Arc<JsonObject> {
    let mut keys = Keys::new();
    add_tool(&mut keys, tool);
    for key in JSON_SCHEMA["$defs"]["envelope"]["properties"]
        .as_object()
        .into_iter()
        .flat_map(|it| it.keys())
    {
        keys.remove(key);
    }
    add(&mut keys, OF_ALL);
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

fn add_tool(keys: &mut Keys, tool: &str) {
    let (definitions, own): (&[&str], _) = match tool {
        "check" => (&[], OF_A_CHECK),
        "keep" | "discard" => (&[], OF_DECISIONS),
        "undo_or_restore" => (&["undo_answer", "restore_answer"], OF_DECISIONS),
        "profile" => (&["durations_answer"], OF_A_PROFILE),
        "history" => (&[], OF_HISTORY),
        "experiment" => (&["run_answer", "experiment"], OF_A_DIFF),
        "rules" => (&["rules_answer"], &[]),
        "peers" => (&["peers_answer"], &[]),
        // The result of any job.
        "wait" => {
            let others = [
                "check",
                "keep",
                "undo_or_restore",
                "profile",
                "history",
                "experiment",
                "rules",
                "peers",
            ];
            return others.iter().for_each(|tool| add_tool(keys, tool));
        }
        _ => (&["run_answer"], &[]),
    };
    for name in definitions {
        add_definition(keys, &JSON_SCHEMA["$defs"][name]);
    }
    add(keys, own);
}

fn add(keys: &mut Keys, own: &[(&str, &str)]) {
    for (key, of_type) in own {
        let types = keys.entry((*key).to_owned()).or_default();
        types.insert((*of_type).to_owned());
    }
}

fn add_definition(keys: &mut Keys, definition: &Value) {
    for part in definition["allOf"].as_array().into_iter().flatten() {
        add_definition(keys, resolve(part));
    }
    for (key, schema) in definition["properties"].as_object().into_iter().flatten() {
        add_types(keys.entry(key.clone()).or_default(), schema);
    }
}

fn resolve(schema: &Value) -> &Value {
    let reference = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    reference
        .and_then(|pointer| JSON_SCHEMA.pointer(pointer))
        .unwrap_or(schema)
}

/// Adds the types of the values that a schema allows.
fn add_types(types: &mut BTreeSet<String>, schema: &Value) {
    let schema = resolve(schema);
    match &schema["type"] {
        Value::String(of_type) => drop(types.insert(of_type.clone())),
        Value::Array(several) => {
            types.extend(several.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        _ => {}
    }
    for branch in schema["anyOf"].as_array().into_iter().flatten() {
        add_types(types, branch);
    }
    let values = schema["enum"].as_array().into_iter().flatten();
    for value in values.chain(schema.get("const")) {
        let of_type = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        types.insert(of_type.to_owned());
    }
}
