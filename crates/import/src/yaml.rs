//! YAML as JSON, for files that are lists and maps of plain values.

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Number, Value};

/// A list or a map that is not complete yet.
enum Open {
    List(Vec<Value>),
    /// The key for which no value came yet.
    Map(Map<String, Value>, Option<String>),
}

/// Reads a text. The error names the line.
pub fn read(text: &str) -> Result<Value, String> {
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("it is not YAML: {error}"))?;
        let value = match event {
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(list)) => Value::Array(list),
                Some(Open::Map(map, _)) => Value::Object(map),
                None => continue,
            },
            Event::Scalar(text, style, ..) => match style {
                saphyr_parser::ScalarStyle::Plain => plain(&text),
                _ => Value::String(text.into_owned()),
            },
            Event::Alias(_) => {
                return Err(format!(
                    "line {}: lab reads no references of YAML",
                    span.start.line()
                ));
            }
            _ => continue,
        };
        match open.last_mut() {
            None => return Ok(value),
            Some(Open::List(list)) => list.push(value),
            Some(Open::Map(map, key)) => match key.take() {
                Some(key) => drop(map.insert(key, value)),
                None => {
                    let text = value.as_str().map(str::to_owned);
                    *key = Some(text.unwrap_or_else(|| value.to_string()));
                }
            },
        }
    }
    Err("it is empty".to_owned())
}

/// A scalar without quotes: a number, a word for true, false or nothing, or a text.
fn plain(text: &str) -> Value {
    match text {
        "true" | "True" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        "null" | "Null" | "~" | "" => Value::Null,
        _ => {
            let whole = text.parse::<i64>().ok().map(Number::from);
            let real = || text.parse::<f64>().ok().and_then(Number::from_f64);
            whole
                .or_else(real)
                .map_or_else(|| Value::String(text.to_owned()), Value::Number)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_maps_and_plain_values_are_read() {
        let text = "# a task\nfiles:\n  - {\"name\": \"a.py\", \"source\": \"@SUBMISSION@\"}\nlang: \"py\"\ndescription: |\n  two\n  lines\n\
                    tests:\n  - {\"size\": 127, \"mask\": True, \"scale\": 0.5, kind: normal}\n";
        assert_eq!(
            read(text),
            Ok(json!({
                "files": [{ "name": "a.py", "source": "@SUBMISSION@" }], "lang": "py", "description": "two\nlines\n",
                "tests": [{ "size": 127, "mask": true, "scale": 0.5, "kind": "normal" }],
            }))
        );
        assert!(read("a: [1").unwrap_err().contains("it is not YAML"));
        assert!(read("a: &x 1\nb: *x\n").unwrap_err().contains("line 2"));
    }
}
