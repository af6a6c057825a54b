//! docs/json.md from docs/json.schema.json.

use crate::links::anchor;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The whole page: answers first, then the parts that they share.
pub fn page(schema: &Value) -> String {
    let definitions = schema["$defs"].as_object().unwrap();
    let (answers, parts): (Vec<_>, Vec<_>) = definitions
        .iter()
        .partition(|(name, _)| name.ends_with("_answer"));
    let mut out = format!(
        "# JSON answers\n\n\
         <!-- Generated from docs/json.schema.json: LAB_WRITE_DOCS=1 cargo test --test manual -->\n\n\
         {}\n",
        schema["description"].as_str().unwrap()
    );
    out.push_str("\n## Answers\n");
    answers
        .iter()
        .for_each(|(name, part)| section(name, part, &mut out));
    out.push_str("\n## What answers share\n");
    parts
        .iter()
        .for_each(|(name, part)| section(name, part, &mut out));
    out
}

fn section(name: &str, part: &Value, out: &mut String) {
    let text = part["description"].as_str().unwrap_or_default();
    writeln!(out, "\n### {}\n", heading(name, text)).unwrap();
    if !text.is_empty() {
        writeln!(out, "{}.\n", text.trim_end_matches('.')).unwrap();
    }
    let shared: Vec<String> = part["allOf"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(reference)
        .collect();
    if !shared.is_empty() {
        writeln!(out, "With the keys of {}.\n", shared.join(" and ")).unwrap();
    }
    let mut rows = String::new();
    keys("", part, &mut rows);
    if !rows.is_empty() {
        out.push_str(&rows);
    }
}

/// The heading of an answer is its command, which its description begins with.
fn heading(name: &str, text: &str) -> String {
    match text.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        Some((command, _)) if name.ends_with("_answer") => command.to_owned(),
        _ => name.replace('_', " "),
    }
}

/// An item for each key of an object; the keys of an object inside follow, as `outer.inner`.
fn keys(outer: &str, object: &Value, rows: &mut String) {
    let none = Map::new();
    for (key, value) in object["properties"].as_object().unwrap_or(&none) {
        let name = format!("{outer}{key}");
        let text = value["description"].as_str().unwrap_or_default();
        // `command` and `error` of an answer are explained once, in the envelope.
        let is_fixed = outer.is_empty() && text.is_empty() && (key == "command" || key == "error");
        if !is_fixed {
            let colon = if text.is_empty() { "" } else { ": " };
            writeln!(rows, "- `{name}` ({}){colon}{text}", kind(value)).unwrap();
        }
        inside(&name, value, rows);
    }
    if let Some(more) = object["additionalProperties"].as_object() {
        inside(&format!("{outer}NAME"), &Value::Object(more.clone()), rows);
    }
}

/// The keys of the objects that a value holds, directly, as items of a list, or as one of several.
fn inside(name: &str, value: &Value, rows: &mut String) {
    keys(&format!("{name}."), value, rows);
    if value["items"].is_object() {
        inside(&format!("{name}[]"), &value["items"], rows);
    }
    for form in value["anyOf"].as_array().into_iter().flatten() {
        inside(name, form, rows);
    }
}

/// The type in words, with a link if another section explains it.
fn kind(value: &Value) -> String {
    if let Some(link) = reference(value) {
        return link;
    }
    if let Some(forms) = value["anyOf"].as_array() {
        return forms.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = value["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .map(|word| {
                word.as_str()
                    .map_or("null".to_owned(), |word| format!("`{word}`"))
            })
            .collect();
        return words.join(", ");
    }
    if !value["const"].is_null() {
        return format!("`{}`", value["const"]);
    }
    let one = |name: &str| match name {
        "array" => format!("list of {}", kind(&value["items"])),
        "string" => "text".to_owned(),
        "integer" => "integer".to_owned(),
        name => name.to_owned(),
    };
    match &value["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => {
            let names: Vec<String> = names.iter().filter_map(Value::as_str).map(one).collect();
            names.join(" or ")
        }
        _ => "value".to_owned(),
    }
}

fn reference(value: &Value) -> Option<String> {
    let name = value["$ref"]
        .as_str()?
        .rsplit('/')
        .next()?
        .replace('_', " ");
    Some(format!("[{name}](#{})", anchor(&name)))
}
