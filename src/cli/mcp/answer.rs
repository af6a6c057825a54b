//! What a tool answers: one object, of which a model reads `summary` and `next` first.

use super::limits::{self, FIRST};
use crate::cli::json::to_line;
use lab_protocol::text::{escape_invisible, is_visible};
use rmcp::ErrorData;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    value: Map<String, Value>,
    /// The tool did not do what it was asked for.
    pub is_error: bool,
}

impl Answer {
    /// `rest` serializes to an object.
    pub fn new(summary: &str, next: &str, rest: impl Serialize) -> Answer {
        let mut value = match serde_json::to_value(rest) {
            Ok(Value::Object(value)) => value,
            _ => Map::new(),
        };
        value.insert("summary".to_owned(), summary.into());
        value.insert("next".to_owned(), next.into());
        Answer {
            value,
            is_error: false,
        }
    }

    /// The tool refused or failed; `why` ends with what to do where that is known.
    pub fn error(why: &str, next: &str) -> Answer {
        Answer {
            is_error: true,
            ..Answer::new(why, next, Map::new())
        }
    }

    /// The arguments are wrong.
    pub fn wrong(why: &str) -> Answer {
        let next = "Correct the arguments and call the tool again: tools/list has its schema.";
        Answer::error(why, next)
    }

    /// Adds a key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Answer {
        self.value.insert(
            key.to_owned(),
            serde_json::to_value(value).unwrap_or(Value::Null),
        );
        self
    }

    /// Says one more thing in the summary, and another thing to do next.
    #[must_use]
    pub fn said(self, also: &str, next: &str) -> Answer {
        let summary = self
            .value
            .get("summary")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let summary = format!("{summary}; {also}");
        self.with("summary", summary).with("next", next)
    }

    /// Adds the keys of `rest`, which serializes to an object. They replace none.
    #[must_use]
    pub fn with_all(mut self, rest: impl Serialize) -> Answer {
        if let Ok(Value::Object(rest)) = serde_json::to_value(rest) {
            for (key, value) in rest {
                self.value.entry(key).or_insert(value);
            }
        }
        self
    }

    #[cfg(test)]
    pub fn summary(&self) -> &str {
        self.value["summary"].as_str().unwrap_or_default()
    }
}

/// The answer for a client: clean, within [`limits::ANSWER`] bytes. The text is the same object, for
/// a client that does not pass structured content on.
impl IntoCallToolResult for Answer {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        let mut value = Value::Object(self.value);
        clean(&mut value);
        limits::fit(&mut value, limits::ANSWER);
        let text = ContentBlock::text(to_line(&SummaryFirst(&value)));
        let mut result = CallToolResult::structured(value);
        result.content = vec![text];
        result.is_error = Some(self.is_error);
        Ok(result.into())
    }
}

/// JSON with the keys `summary` and `next` of each object first.
pub struct SummaryFirst<'a>(pub &'a Value);

impl Serialize for SummaryFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(values) => {
                let mut entries: Vec<_> = values
                    .iter()
                    .map(|(key, value)| (key, Self(value)))
                    .collect();
                // The sort is stable: the other keys keep their order.
                entries.sort_by_key(|(key, _)| {
                    FIRST
                        .iter()
                        .position(|first| first == key)
                        .unwrap_or(FIRST.len())
                });
                serializer.collect_map(entries)
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(Self)),
            value => value.serialize(serializer),
        }
    }
}

/// Makes characters that a terminal does not show visible, in every string. Line breaks and tabs
/// stay.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if text
                .chars()
                .any(|c| !is_visible(c) && !matches!(c, '\n' | '\t'))
            {
                *text = text
                    .split('\n')
                    .map(escape_invisible)
                    .collect::<Vec<_>>()
                    .join("\n");
            }
        }
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(values) => {
            let named = std::mem::take(values).into_iter().map(|(key, mut value)| {
                clean(&mut value);
                (escape_invisible(&key).into_owned(), value)
            });
            *values = named.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn the_summary_stands_first_and_text_is_clean() {
        let rest = json!({ "a": "\x1b[2J\u{202e}x\n\ty", "b": { "next": 1, "a": 2 } });
        let result = Answer::new("done", "go on", rest).into_call_tool_result();
        let CallToolResponse::Complete(result) = result.unwrap() else {
            panic!("a result")
        };
        let value = result.structured_content.unwrap();
        assert_eq!(value["a"], "\\u{1b}[2J\\u{202e}x\n\ty");
        let text = to_line(&SummaryFirst(&value));
        assert!(
            text.starts_with(r#"{"summary":"done","next":"go on","a":"#),
            "{text}"
        );
        assert!(text.ends_with(r#""b":{"next":1,"a":2}}"#), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
