//! The JSON schema of what is serialized, made from the types themselves: docs/json.schema.json and
//! the schemas of the tools of `lab mcp`.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::json;

/// The schema of a type. A figure that is not finite is null.
pub fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .with_transform(RecursiveTransform(allow_null))
        .into_generator()
        .into_root_schema_for::<T>()
}

fn allow_null(schema: &mut Schema) {
    if schema
        .get("format")
        .is_some_and(|format| format == "double")
    {
        schema.insert("type".to_owned(), json!(["number", "null"]));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{Answer, Nothing, Resumed, answer, bench, decision, run, sweep};
    use super::*;
    use crate::cli::{
        auto_status, check, clean, decisions, describe, diff, doctor, export, fetch, init, lessons,
        log, ls, new, peers, probe, profile, report, restore, rules, sweep::apply::SweepApplied,
        trust, undo,
    };
    use serde_json::{Map, Value};
    use std::path::Path;

    const ABOUT: &str = "With `--json`, a command prints one JSON object on stdout and nothing else. Errors are an object \
        too; the same text is on stderr. A verdict is not an error: for a wrong kernel, `lab run --json` has \
        `error` null and `exit_code` 1. A figure that is missing or not finite is null. Times are UTC, as in \
        `2026-11-22T08:10:00Z`. The text holds characters that a terminal does not show as `\\uXXXX`. \
        `schema_version` counts changes that a script can notice: a key that is removed, or that gets \
        another meaning. New keys do not change it, so a script ignores keys that it does not know. \
        [json.schema.json](json.schema.json) is the schema (JSON Schema 2020-12); the tests check every \
        answer against it.";

    /// What the page shows as words, and links of the code's documentation.
    fn words(text: &str) -> String {
        let first = text.split("\n\n").next().unwrap_or_default();
        first
            .replace('\n', " ")
            .replace(". `None`", ". Null")
            .replace("`None`", "null")
            .replace("[`", "`")
            .replace("`]", "`")
    }

    /// Keeps only what says something about JSON. An object has no other keys than those that are
    /// named.
    fn tidy(value: &mut Value) {
        match value {
            Value::Object(keys) => {
                keys.retain(|key, value| match key.as_str() {
                    "format" => value == "date-time" || value.is_object(),
                    "default" | "title" | "$schema" => value.is_object(),
                    _ => true,
                });
                if let Some(Value::String(text)) = keys.get_mut("description") {
                    *text = words(text);
                }
                keys.values_mut().for_each(tidy);
                if keys
                    .get("properties")
                    .is_some_and(|it| it.is_object() && keys["type"] == "object")
                {
                    keys.entry("additionalProperties").or_insert(false.into());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(tidy),
            _ => {}
        }
    }

    /// Adds the definition of a type and those of the types inside. Returns its name.
    fn add<T: JsonSchema>(definitions: &mut Map<String, Value>) -> String {
        let name = T::schema_name().into_owned();
        let mut schema = Value::from(of::<T>());
        let parts = schema.as_object_mut().unwrap().remove("$defs");
        let parts = parts
            .as_ref()
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let parts = parts.map(|(name, part)| (name.clone(), part.clone()));
        for (name, mut part) in parts.chain([(name.clone(), schema)]) {
            tidy(&mut part);
            let before = definitions.insert(name.clone(), part.clone());
            assert!(
                before.is_none_or(|before| before == part),
                "two types are named {name}"
            );
        }
        name
    }

    /// Takes the keys of a run out of an answer. Returns whether the answer has them, and whether
    /// each such answer does.
    fn take_run(answer: &mut Value, run: &Value) -> (bool, bool) {
        let keys: Vec<&String> = run["properties"].as_object().unwrap().keys().collect();
        let own = answer.get_mut("properties").and_then(Value::as_object_mut);
        let Some(own) = own else {
            return (false, false);
        };
        if !keys.iter().all(|key| own.contains_key(*key)) {
            return (false, false);
        }
        own.retain(|key, _| !keys.contains(&key));
        let required = answer["required"].as_array_mut().unwrap();
        let all = required.len();
        required.retain(|key| !keys.iter().any(|run| key == run.as_str()));
        (true, required.len() < all)
    }

    fn whole() -> Value {
        let mut definitions = Map::new();
        let mut any_of = Vec::new();
        let shared = [
            add::<Answer<Nothing>>(&mut definitions),
            add::<run::RunReport>(&mut definitions),
        ];
        let run = definitions[&shared[1]].clone();
        let refer = |name: &String| json!({ "$ref": format!("#/$defs/{name}") });
        macro_rules! answers {
            ($($commands:expr => $answer:ty,)*) => { $(
                let name = add::<$answer>(&mut definitions);
                let answer = &mut definitions[&name];
                answer.as_object_mut().unwrap().remove("additionalProperties");
                let (has_run, always) = take_run(answer, &run);
                let commands: &[&str] = &$commands;
                let keys = match commands {
                    [] => json!({ "error": { "type": "string" } }),
                    commands => json!({ "command": { "enum": commands }, "error": { "type": "null" } }),
                };
                let forms = [(true, has_run), (false, !always)];
                for (with_run, _) in forms.iter().filter(|(_, is_a_form)| *is_a_form) {
                    let shared = &shared[..1 + usize::from(*with_run)];
                    any_of.push(json!({
                        "allOf": shared.iter().chain([&name]).map(refer).collect::<Vec<_>>(),
                        "properties": keys,
                        "unevaluatedProperties": false,
                    }));
                }
            )* };
        }
        answers! {
            ["run", "bench"] => answer::RunAnswer,
            ["show"] => answer::ShowAnswer,
            ["bench"] => bench::BenchReport,
            ["sweep"] => sweep::SweepReport,
            ["sweep"] => SweepApplied,
            ["check"] => check::CheckAnswer,
            ["profile"] => profile::ProfileAnswer,
            ["profile"] => profile::DurationsAnswer,
            ["keep", "discard", "rules"] => decision::DecisionAnswer,
            ["undo"] => undo::UndoAnswer,
            ["rules"] => rules::RulesAnswer,
            ["peers"] => peers::PeersAnswer,
            ["peers"] => peers::NewPeerAnswer,
            ["describe"] => describe::DescribeAnswer,
            ["diff"] => diff::DiffAnswer,
            ["lessons"] => lessons::LessonsAnswer,
            ["restore"] => restore::RestoreAnswer,
            ["log"] => log::LogAnswer,
            ["ls"] => ls::LsAnswer,
            ["report"] => report::ReportAnswer,
            ["doctor"] => doctor::DoctorAnswer,
            ["probe"] => probe::ProbeAnswer,
            ["new"] => new::NewAnswer,
            ["init"] => init::InitAnswer,
            ["trust"] => trust::TrustAnswer,
            ["decisions"] => decisions::DecisionsAnswer,
            ["decisions"] => decisions::AddedAnswer,
            ["decisions"] => decisions::KeyAnswer,
            ["fetch"] => fetch::FetchAnswer,
            ["export"] => export::ExportAnswer,
            ["clean"] => clean::CleanAnswer,
            ["auto"] => auto_status::StatusAnswer,
            ["run", "bench", "keep", "discard", "undo", "rules", "describe", "restore"] => Resumed,
            [] => Nothing,
            [] => decision::RefusedDecision,
        }
        for name in &shared {
            let keys = definitions[name].as_object_mut().unwrap();
            keys.remove("additionalProperties");
        }
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "What lab prints with --json, version 1",
            "description": ABOUT,
            "anyOf": any_of,
            "$defs": definitions,
        })
    }

    #[test]
    fn the_schema_in_docs_is_that_of_the_types() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
        let text = serde_json::to_string_pretty(&whole()).unwrap() + "\n";
        if std::env::var_os("LAB_WRITE_DOCS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let present = std::fs::read_to_string(&path).unwrap();
        assert!(
            present == text,
            "docs/json.schema.json is out of date: LAB_WRITE_DOCS=1 cargo test --lib the_schema_in_docs"
        );
    }
}
