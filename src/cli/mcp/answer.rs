//! What a tool answers: one object, of which a model reads `summary` and `next` first.

use super::limits::{self, FIRST};
use crate::cli::json::to_line;
use itertools::Itertools;
use lab_protocol::text::escape_invisible;
use lab_text::json::each_text;
use rmcp::ErrorData;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Answer {
    pub(super) summary: String,
    pub(super) next: String,
    /// The job of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// The runs and decisions that have not ended, where the call was refused because of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_jobs: Option<Vec<u64>>,
    /// What else can be read about the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// How many items each list lost, by its path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, usize>,
    /// What the tool itself tells.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
    /// The tool did not do what it was asked for.
    #[serde(skip)]
    pub is_error: bool,
}

impl Answer {
    /// `rest` serializes to an object.
    pub fn new(summary: &str, next: &str, rest: impl Serialize) -> Answer {
        Answer {
            summary: summary.to_owned(),
            next: next.to_owned(),
            job: None,
            open_jobs: None,
            resources: Vec::new(),
            left_out: BTreeMap::new(),
            rest: Map::new(),
            is_error: false,
        }
        .with_all(rest)
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
        self.rest.insert(
            key.to_owned(),
            serde_json::to_value(value).unwrap_or(Value::Null),
        );
        self
    }

    /// Says one more thing in the summary, and another thing to do next.
    #[must_use]
    pub fn said(mut self, also: &str, next: &str) -> Answer {
        self.summary = format!("{}; {also}", self.summary);
        next.clone_into(&mut self.next);
        self
    }

    /// Adds the keys of `rest`, which serializes to an object. They replace none.
    #[must_use]
    pub fn with_all(mut self, rest: impl Serialize) -> Answer {
        if let Ok(Value::Object(rest)) = serde_json::to_value(rest) {
            for (key, value) in rest {
                self.rest.entry(key).or_insert(value);
            }
        }
        self
    }

    #[cfg(test)]
    pub fn summary(&self) -> &str {
        &self.summary
    }
}

/// The answer for a client: clean, within [`limits::ANSWER`] bytes. The text is the same object, for
/// a client that does not pass structured content on.
impl IntoCallToolResult for Answer {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        let mut value = serde_json::to_value(&self).unwrap_or_default();
        // Line breaks and tabs stay.
        each_text(&mut value, "", &|_, text| {
            *text = text.split('\n').map(escape_invisible).join("\n");
        });
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
