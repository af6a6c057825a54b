//! A validator for the part of JSON Schema (2020-12) that docs/json.schema.json uses. It refuses a
//! keyword that it does not know.

use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../docs/json.schema.json")).unwrap());

/// The violations of an answer of `--json`, one line each. Empty if the schema allows the answer.
pub fn faults(answer: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(&SCHEMA, answer, "answer", &mut found);
    found
}

/// The violations of a schema that stands alone, as that of a tool; a key that the schema does not
/// name is one too.
pub fn faults_by(schema: &Value, answer: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, answer, "answer", &mut found);
    let known = properties(schema);
    let keys = answer.as_object().into_iter().flatten();
    found.extend(
        keys.filter(|(key, _)| !known.contains(key.as_str()))
            .map(|(key, _)| format!("answer: {key} is not in the schema")),
    );
    found
}

fn resolve(reference: &str) -> &'static Value {
    SCHEMA
        .pointer(reference.strip_prefix('#').unwrap())
        .unwrap_or_else(|| panic!("no {reference}"))
}

fn check(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let rules = schema
        .as_object()
        .unwrap_or_else(|| panic!("{at}: a schema is an object"));
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" => {}
            "$ref" => check(resolve(rule.as_str().unwrap()), value, at, found),
            "type" => {
                let types = rule
                    .as_array()
                    .map_or_else(|| vec![rule], |types| types.iter().collect());
                if !types
                    .iter()
                    .any(|wanted| is_of_type(value, wanted.as_str().unwrap()))
                {
                    found.push(format!("{at}: {value} is not of type {rule}"));
                }
            }
            "const" if value != rule => found.push(format!("{at}: {value} is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                found.push(format!("{at}: {value} is none of {rule}"));
            }
            "minimum" if value.as_f64().is_some_and(|v| v < rule.as_f64().unwrap()) => {
                found.push(format!("{at}: {value} is less than {rule}"));
            }
            "maximum" if value.as_f64().is_some_and(|v| v > rule.as_f64().unwrap()) => {
                found.push(format!("{at}: {value} is more than {rule}"));
            }
            "const" | "enum" | "minimum" | "maximum" => {}
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, item, &format!("{at}[{index}]"), found);
                }
            }
            "prefixItems" => {
                let items = value.as_array().into_iter().flatten();
                for (index, (rule, item)) in rule.as_array().unwrap().iter().zip(items).enumerate()
                {
                    check(rule, item, &format!("{at}[{index}]"), found);
                }
            }
            "minItems" if value.as_array().is_some_and(|it| it.len() < count(rule)) => {
                found.push(format!("{at}: {value} has fewer than {rule} items"));
            }
            "maxItems" if value.as_array().is_some_and(|it| it.len() > count(rule)) => {
                found.push(format!("{at}: {value} has more than {rule} items"));
            }
            "minItems" | "maxItems" => {}
            "required" => {
                let Some(object) = value.as_object() else {
                    continue;
                };
                let missing = rule.as_array().unwrap().iter().filter_map(Value::as_str);
                for key in missing.filter(|key| !object.contains_key(*key)) {
                    found.push(format!("{at}: {key} is missing"));
                }
            }
            "properties" => {
                for (key, rule) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        check(rule, value, &format!("{at}.{key}"), found);
                    }
                }
            }
            "additionalProperties" | "unevaluatedProperties" => {
                let known = properties(schema);
                for (key, value) in value.as_object().into_iter().flatten() {
                    match rule {
                        _ if known.contains(key.as_str()) => {}
                        Value::Bool(false) => {
                            found.push(format!("{at}: {key} is not in the schema"));
                        }
                        rule => check(rule, value, &format!("{at}.{key}"), found),
                    }
                }
            }
            "allOf" => rule
                .as_array()
                .unwrap()
                .iter()
                .for_each(|rule| check(rule, value, at, found)),
            "anyOf" | "oneOf" => any_of(rule.as_array().unwrap(), value, at, found),
            keyword => panic!("{at}: the keyword {keyword} is unknown here"),
        }
    }
}

fn count(rule: &Value) -> usize {
    rule.as_u64().unwrap() as usize
}

/// Reports the faults of the branch that has the fewest.
fn any_of(branches: &[Value], value: &Value, at: &str, found: &mut Vec<String>) {
    let faults = branches.iter().map(|branch| {
        let mut faults = Vec::new();
        check(branch, value, at, &mut faults);
        faults
    });
    found.extend(faults.min_by_key(Vec::len).unwrap_or_default());
}

/// The properties that a schema names, those of the schemas below `allOf` among them.
fn properties(schema: &Value) -> BTreeSet<&str> {
    let own = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str());
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let parts = parts.flat_map(|part| properties(resolve(part["$ref"].as_str().unwrap())));
    own.chain(parts).collect()
}

fn is_of_type(value: &Value, wanted: &str) -> bool {
    match wanted {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the type {other} is unknown here"),
    }
}
