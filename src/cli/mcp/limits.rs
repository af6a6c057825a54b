//! The size of answers: what a model reads has a limit, and what was left out is named.

use crate::cli::json::to_line;
use lab_text::json::each_text;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The keys that stand first in every answer, in this order.
pub const FIRST: [&str; 2] = ["summary", "next"];

/// Most bytes of an answer as JSON. A token of such text has at least 2.5 bytes, so this is below
/// 10,000 tokens.
pub const ANSWER: usize = 24_000;

/// Most bytes of a resource's text.
pub const RESOURCE: usize = 24_000;

/// Most bytes of a diff inside an answer. The resource has more of the diff.
pub const DIFF: usize = 8_000;

/// Most experiments that one call lists.
pub const LISTED: usize = 50;

/// Most bytes of the description of a listed experiment. Twenty experiments take less than 1,500 tokens.
pub const LISTED_TEXT: usize = 72;

/// Most bytes of any other string of an answer.
const STRING: usize = 2_000;

/// Most bytes of `message`, `hypothesis`, `lesson` and the like in a call.
pub const ARGUMENT: usize = 4_000;

/// Shortens an object until its JSON has at most `limit` bytes: long strings first, then the
/// longest lists, which lose their ends. `left_out` in the object counts the items that each list
/// lost, by its path.
pub fn fit(value: &mut Value, limit: usize) {
    cut_strings(value, |key| if key == "diff" { DIFF } else { STRING });
    let mut lost: BTreeMap<String, usize> =
        serde_json::from_value(value["left_out"].clone()).unwrap_or_default();
    let mut longest_string = DIFF;
    loop {
        if !lost.is_empty() {
            value["left_out"] = json!(lost);
        }
        if to_line(value).len() <= limit {
            return;
        }
        let mut found = None;
        longest_list(value, "", &mut found);
        match found {
            Some((_, path)) => {
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
                cut_strings(value, |_| longest_string);
            }
            None => {
                if let Value::Object(values) = value {
                    let kept = FIRST.iter().filter_map(|key| values.remove_entry(*key));
                    *values = kept.collect::<Map<_, _>>();
                    values.insert("left_out".to_owned(), json!({ "all other keys": 1 }));
                }
                return;
            }
        }
    }
}

/// Finds the longest list with its path. A list inside a list goes with it.
fn longest_list(value: &Value, path: &str, found: &mut Option<(usize, String)>) {
    match value {
        Value::Array(list) => {
            let size = to_line(value).len();
            if !list.is_empty() && found.as_ref().is_none_or(|(longest, _)| size > *longest) {
                *found = Some((size, path.to_owned()));
            }
        }
        Value::Object(values) => {
            for (key, value) in values.iter().filter(|(key, _)| *key != "left_out") {
                let key = key.replace('~', "~0").replace('/', "~1");
                longest_list(value, &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// Cuts every string to the limit of its key; of an item of a list, the key is that of the list.
fn cut_strings(value: &mut Value, limit: impl Fn(&str) -> usize) {
    each_text(value, "", &|key, text| {
        if let Some(key) = key {
            cut(text, limit(key));
        }
    });
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
    // How many of these lines fit into so many bytes.
    let fitting = |lines: &mut dyn Iterator<Item = &String>, mut left: usize| {
        lines
            .take_while(|line| {
                left.checked_sub(size(line))
                    .map(|rest| left = rest)
                    .is_some()
            })
            .count()
    };
    let head = fitting(&mut lines.iter(), room / 4);
    let tail = fitting(&mut lines[head..].iter().rev(), room - room / 4);
    let end = lines.len() - tail;
    let left_out = format!("… {} lines are left out here …", end - head);
    let kept = lines[..head].iter().chain([&left_out]).chain(&lines[end..]);
    kept.map(|line| format!("{line}\n")).collect()
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
        assert!(to_line(&value).len() <= 5_000, "{}", to_line(&value).len());
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
        assert!(to_line(&value).len() <= ANSWER);
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
