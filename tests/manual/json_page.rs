//! docs/json.md from docs/json.schema.json.

use crate::links::anchor;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The whole page: answers first, then the parts that they share.
pub fn page(schema: &Value) -> String {
    let page = Page {
        definitions: schema["$defs"].as_object().unwrap(),
    };
    let of_all = schema["anyOf"].as_array().unwrap();
    let answers: BTreeMap<String, &str> = of_all
        .iter()
        .map(|answer| name_of(answer["allOf"].as_array().unwrap().last().unwrap()).unwrap())
        .map(|name| (page.heading(name), name))
        .collect();
    let with_run = |name: &str| {
        of_all.iter().any(|answer| {
            let parts = answer["allOf"].as_array().unwrap();
            parts.len() > 2 && name_of(parts.last().unwrap()) == Some(name)
        })
    };
    let mut out = format!(
        "# JSON answers\n\n\
         <!-- Generated from docs/json.schema.json: LAB_WRITE_DOCS=1 cargo test --test manual -->\n\n\
         {}\n",
        schema["description"].as_str().unwrap()
    );
    let envelope = anchor(&spaced("Envelope"));
    writeln!(
        out,
        "\n## Answers\n\nEach answer has the keys of the [envelope](#{envelope}) and its own."
    )
    .unwrap();
    for name in answers.values() {
        page.section(name, &mut out);
        if with_run(name) {
            let run = anchor(&spaced("RunReport"));
            writeln!(out, "\nAnd the keys of the [run report](#{run}).").unwrap();
        }
    }
    out.push_str("\n## What answers share\n");
    let parts = page
        .definitions
        .keys()
        .filter(|name| !answers.values().any(|it| it == name));
    parts.for_each(|name| page.section(name, &mut out));
    out
}

struct Page<'a> {
    definitions: &'a Map<String, Value>,
}

impl Page<'_> {
    fn section(&self, name: &str, out: &mut String) {
        let part = &self.definitions[name];
        let text = part["description"].as_str().unwrap_or_default();
        writeln!(out, "\n### {}\n", self.heading(name)).unwrap();
        if !text.is_empty() {
            writeln!(out, "{text}\n").unwrap();
        }
        self.keys("", part, out);
        self.forms(part, out);
    }

    /// The heading of an answer is its command, which its description names.
    fn heading(&self, name: &str) -> String {
        let text = self.definitions[name]["description"]
            .as_str()
            .unwrap_or_default();
        match text.split('`').nth(1) {
            Some(command) if text.starts_with("What `lab ") || text.starts_with("`lab ") => {
                command.to_owned()
            }
            _ => spaced(name),
        }
    }

    /// The words that a text may be, and the keys of the objects that a value may be.
    fn forms(&self, part: &Value, out: &mut String) {
        for word in part["enum"].as_array().into_iter().flatten() {
            writeln!(out, "- `{}`", word.as_str().unwrap()).unwrap();
        }
        for form in part["oneOf"].as_array().into_iter().flatten() {
            let text = form["description"].as_str().unwrap_or_default();
            match form["const"].as_str() {
                Some(word) => writeln!(out, "- `{word}`: {text}").unwrap(),
                None => self.keys("", form, out),
            }
            self.forms(form, out);
        }
    }

    /// An item for each key of an object.
    fn keys(&self, outer: &str, object: &Value, rows: &mut String) {
        let none = Map::new();
        for (key, value) in object["properties"].as_object().unwrap_or(&none) {
            let text = value["description"].as_str().unwrap_or_default();
            let colon = if text.is_empty() { "" } else { ": " };
            writeln!(rows, "- `{outer}{key}` ({}){colon}{text}", self.kind(value)).unwrap();
        }
    }

    /// The type in words, with a link if another section explains it.
    fn kind(&self, value: &Value) -> String {
        if let Some(name) = name_of(value) {
            let heading = self.heading(name);
            return format!("[{heading}](#{})", anchor(&heading));
        }
        if let Some(forms) = value["anyOf"].as_array() {
            return forms
                .iter()
                .map(|form| self.kind(form))
                .collect::<Vec<_>>()
                .join(" or ");
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
            "array" if value["items"].is_object() => {
                format!("list of {}", self.kind(&value["items"]))
            }
            "array" => "list".to_owned(),
            "object" if value["additionalProperties"].is_object() => {
                format!("object of {}", self.kind(&value["additionalProperties"]))
            }
            "string" => "text".to_owned(),
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
}

/// `RunReport` as `run report`.
fn spaced(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The name of the definition that a value refers to.
fn name_of(value: &Value) -> Option<&str> {
    value["$ref"].as_str()?.rsplit('/').next()
}
