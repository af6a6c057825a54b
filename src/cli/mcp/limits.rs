//! The size of answers: what a model reads has a limit, and what was left out is named.

use super::wire_text::to_text;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Most bytes of an answer as JSON. A token of such text has at least 2.5 bytes, so this is below
/// 10,000 tokens.
pub const ANSWER: usize = 24_000;

/// Most bytes of a resource's text.
pub const RESOURCE: usize = 24_000;

/// Most bytes of a diff inside an answer. The resource has more of the diff.
pub const DIFF: usize = 8_000;

/// Most experiments that one call lists.
pub const LISTED: usize = 50;

/// Most bytes of any other string of an answer.
const STRING: usize = 2_000;

/// Most bytes of `message`, `hypothesis`, `lesson` and the like in a call.
pub const ARGUMENT: usize = 4_000;

/// Shortens an object until its JSON has at most `limit` bytes: long strings first, then the
/// longest lists, which lose their ends. `left_out` in the object counts the items that each list
/// lost, by its path.
pub fn fit(value: &mut Value, limit: usize) {
    cut_strings(value, "");
    let mut lost: BTreeMap<String, usize> = BTreeMap::new();
    let mut longest_string = DIFF;
    loop {
        if !lost.is_empty() {
            value["left_out"] = json!(lost);
        }
        if to_text(value).len() <= limit {
            return;
        }
        let mut found = None;
        longest_list(value, "", &mut found);
        match found {
            Some(Longest { path, .. }) => {
                let Some(Value::Array(list)) = value.pointer_mut(&path) else {
                    return;
                };
                let kept = list.len() / 2;
                *lost
                    .entry(path.trim_start_matches('/').to_owned())
                    .or_default() += list.len() - kept;
                list.truncate(kept);
            }
            // Every list is empty: only strings and objects are left.
            None if longest_string > 16 => {
                longest_string /= 2;
                shorten(value, longest_string);
            }
            None => {
                if let Value::Object(values) = value {
                    let kept = ["summary", "next"]
                        .iter()
                        .filter_map(|key| values.remove_entry(*key));
                    *values = kept.collect::<Map<_, _>>();
                    values.insert("left_out".to_owned(), json!({ "all other keys": 1 }));
                }
                return;
            }
        }
    }
}

struct Longest {
    path: String,
    size: usize,
}

fn longest_list(value: &Value, path: &str, found: &mut Option<Longest>) {
    match value {
        Value::Array(list) => {
            let size = to_text(value).len();
            if !list.is_empty() && found.as_ref().is_none_or(|found| size > found.size) {
                *found = Some(Longest {
                    path: path.to_owned(),
                    size,
                });
            }
            // A list inside a list goes with it.
        }
        Value::Object(values) => {
            for (key, value) in values.iter().filter(|(key, _)| *key != "left_out") {
                longest_list(
                    value,
                    &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        _ => {}
    }
}

fn cut_strings(value: &mut Value, key: &str) {
    match value {
        Value::String(text) => cut(text, if key == "diff" { DIFF } else { STRING }),
        Value::Array(list) => list.iter_mut().for_each(|value| cut_strings(value, "")),
        Value::Object(values) => values
            .iter_mut()
            .for_each(|(key, value)| cut_strings(value, key)),
        _ => {}
    }
}

fn shorten(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => cut(text, limit),
        Value::Array(list) => list.iter_mut().for_each(|value| shorten(value, limit)),
        Value::Object(values) => values.values_mut().for_each(|value| shorten(value, limit)),
        _ => {}
    }
}

/// Cuts text at a character's end; `…` stands for the rest.
pub fn cut(text: &mut String, limit: usize) {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit.saturating_sub('…'.len_utf8())));
        text.push('…');
    }
}

/// Text of several lines in at most `limit` bytes: the first quarter and the end. A line between
/// them counts the lines left out.
pub fn head_and_tail(lines: &[String], limit: usize) -> String {
    let size = |line: &String| line.len() + 1;
    if lines.iter().map(size).sum::<usize>() <= limit {
        return lines.iter().map(|line| format!("{line}\n")).collect();
    }
    // The line about those that are left out takes less than this.
    let room = limit.saturating_sub(100);
    let mut left = room / 4;
    let mut fits = |line: &&String| {
        left.checked_sub(size(line))
            .map(|rest| left = rest)
            .is_some()
    };
    let head = lines.iter().take_while(&mut fits).count();
    let mut left = room - room / 4;
    let mut fits = |line: &&String| {
        left.checked_sub(size(line))
            .map(|rest| left = rest)
            .is_some()
    };
    let tail = lines[head..].iter().rev().take_while(&mut fits).count();
    let end = lines.len() - tail;
    let mut text: String = lines[..head]
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    text += &format!("… {} lines are left out here …\n", end - head);
    lines[end..]
        .iter()
        .for_each(|line| text += &format!("{line}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_lists_lose_their_ends_and_are_named() {
        let mut value = json!({
            "summary": "s", "next": "n", "a": vec!["x".repeat(50); 1000], "b": [1, 2, 3], "c": { "d": vec![7; 9000] }
        });
        fit(&mut value, 5_000);
        assert!(to_text(&value).len() <= 5_000, "{}", to_text(&value).len());
        assert_eq!(value["b"], json!([1, 2, 3]));
        let kept = value["a"].as_array().map(Vec::len);
        assert_eq!(
            value["left_out"]["a"].as_u64(),
            kept.map(|kept| 1000 - kept as u64)
        );
        assert!(
            value["left_out"]["c/d"].as_u64() > Some(0) && value["c"]["d"][0] == 7,
            "{value}"
        );
    }

    #[test]
    fn every_object_fits() {
        let keys: Map<String, Value> = (0..5000)
            .map(|n| (format!("key {n}"), "text\u{1b}".repeat(400).into()))
            .collect();
        let mut value = json!({ "summary": "é".repeat(9000), "next": "n", "keys": keys });
        fit(&mut value, ANSWER);
        assert!(to_text(&value).len() <= ANSWER);
        assert!(
            value["summary"]
                .as_str()
                .is_some_and(|text| text.ends_with('…'))
        );
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let lines: Vec<String> = (0..10_000).map(|n| format!("line {n}")).collect();
        let text = head_and_tail(&lines, 2_000);
        assert!(
            text.len() <= 2_000 && text.starts_with("line 0\n") && text.ends_with("line 9999\n")
        );
        let left_out = text
            .lines()
            .find(|line| line.contains("left out"))
            .unwrap_or_default();
        let shown = text.lines().count() - 1;
        assert_eq!(
            left_out,
            format!("… {} lines are left out here …", 10_000 - shown)
        );
        assert_eq!(head_and_tail(&lines[..2], 2_000), "line 0\nline 1\n");
    }
}
