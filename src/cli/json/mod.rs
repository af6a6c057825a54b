//! The objects that commands print with `--json`. docs/json.md explains them, docs/json.schema.json is their schema.

pub mod decision;
pub mod experiment;
pub mod run;

use serde::Serialize;
use serde_json::{Map, Value};

/// Version of the schema. A new key does not change it; a key that goes, or means something else, does.
const SCHEMA_VERSION: u32 = 1;

/// The keys that every answer begins with.
#[derive(Serialize)]
struct Envelope<'a> {
    schema_version: u32,
    /// `None` if the arguments name no command.
    command: Option<&'a str>,
    /// The exit code of the process.
    exit_code: u8,
    /// Why the command failed; `None` if it did what it was asked for.
    error: Option<&'a str>,
}

/// An answer: the common keys, then those of the command.
pub fn answer(command: Option<&str>, exit_code: u8, error: Option<&str>, rest: impl Serialize) -> Value {
    let mut all = object(Envelope { schema_version: SCHEMA_VERSION, command, exit_code, error });
    all.extend(object(rest));
    Value::Object(all)
}

/// The keys of a value that serializes to an object. No key of anything else.
pub fn object(value: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// `None` for NaN and infinities, which JSON cannot hold.
pub fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

/// No keys but the common ones.
#[derive(Serialize)]
pub struct Nothing {}
