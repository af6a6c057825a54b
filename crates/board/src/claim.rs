//! Claims: figures are placeholders that the evidence fills, and no other number may stand there.

use crate::evidence::{RATIO, in_words};
use crate::filled::{Cited, Filled, Piece};
use crate::proof::Held;
use crate::typed::{MEASURES, typed_numbers};
use lab_text::suggest::did_you_mean;
use std::collections::BTreeMap;

/// Which numbers a text may have beside those of its placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Those that the evidence names.
    Cited,
    Any,
}

/// Fills the placeholders `{evidence.workload.metric}` and `{evidence.metric}` of a text. Returns
/// also what is wrong with them, and which numbers were typed by hand; a placeholder that names
/// nothing stays as it is. `listed` evidence that is not in `evidence` cannot be read.
pub fn fill(
    text: &str,
    numbers: Numbers,
    listed: &[&str],
    evidence: &BTreeMap<&str, &Held>,
) -> (Filled, Vec<String>) {
    let (mut pieces, mut faults, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some((before, (inside, after))) = rest
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        pieces.extend((!before.is_empty()).then(|| Piece::Text(before.to_owned())));
        pieces.push(match cite(inside, listed, evidence) {
            Ok(cited) => Piece::Figure(cited),
            Err(fault) => {
                faults.push(format!("{{{inside}}} {fault}"));
                Piece::Text(format!("{{{inside}}}"))
            }
        });
        rest = after;
    }
    pieces.extend((!rest.is_empty()).then(|| Piece::Text(rest.to_owned())));
    let is_open = |piece: &Piece| matches!(piece, Piece::Text(text) if text.trim_matches(['{', '}']).contains(['{', '}']));
    if rest.contains(['{', '}']) || pieces.iter().any(is_open) {
        faults.push("it has a brace without its other half".to_owned());
    }
    faults.extend(pieces.windows(2).filter_map(unit_twice));
    faults.extend(pieces.windows(2).filter_map(contrary));
    faults.extend(pieces.windows(2).filter_map(joined));
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.as_str(),
        Piece::Figure(cited) => &cited.text,
    });
    let text = shown.collect();
    if numbers == Numbers::Cited {
        faults.extend(typed_numbers(&pieces, evidence).map(|word| {
            format!(
                "'{word}' was typed by hand, and no evidence of this decision holds it: write \
                 {{evidence.workload.metric}} in its place"
            )
        }));
    }
    (Filled { text, pieces }, faults)
}

/// A figure has its unit: that the text behind it says it again.
fn unit_twice(pieces: &[Piece]) -> Option<String> {
    let [Piece::Figure(figure), Piece::Text(behind)] = pieces else {
        return None;
    };
    let unit = figure
        .text
        .trim_start_matches(|c: char| c.is_ascii_digit() || " ,.".contains(c));
    let also: &[&str] = match unit {
        "µs" => &["us", "microseconds"],
        "×" => &["x", "times"],
        "%" => &["percent"],
        _ => &[],
    };
    let word = behind.split_whitespace().next()?;
    let word = word.trim_end_matches(['.', ',', ':', ';', ')', '?', '!']);
    let text = &figure.text;
    if word == unit || also.contains(&word) {
        return Some(format!(
            "'{text} {word}' has its unit twice: a placeholder brings its own, so leave '{word}' out"
        ));
    }
    MEASURES.contains(&word).then(|| {
        format!("'{text} {word}' is another figure than its evidence holds: leave '{word}' out")
    })
}

/// A placeholder stands for a whole figure: that something before or behind it makes another one of it,
/// as a sign or a digit does.
fn joined(pieces: &[Piece]) -> Option<String> {
    let may_stand = |c: char| c.is_whitespace() || "()[]\"'“”‘’.,:;!?…–—/".contains(c);
    let (before, behind) = match pieces {
        [Piece::Figure(before), Piece::Figure(behind)] => {
            (before.text.as_str(), behind.text.as_str())
        }
        [Piece::Text(before), Piece::Figure(behind)] if !before.ends_with(may_stand) => {
            (before.as_str(), behind.text.as_str())
        }
        [Piece::Figure(before), Piece::Text(behind)] if !behind.starts_with(may_stand) => {
            (before.text.as_str(), behind.as_str())
        }
        _ => return None,
    };
    let before = before.split_whitespace().next_back().unwrap_or(before);
    let behind = behind.split_whitespace().next().unwrap_or(behind);
    Some(format!(
        "'{before}{behind}' is another figure than its evidence holds: write a blank before and behind a placeholder"
    ))
}

/// That the word behind a ratio says the contrary: a ratio is the speed of the kernel over a peer's.
fn contrary(pieces: &[Piece]) -> Option<String> {
    let [Piece::Figure(figure), Piece::Text(behind)] = pieces else {
        return None;
    };
    let is_ratio = figure.metric.starts_with(RATIO);
    let wrong = if figure.value < 1.0 {
        "faster"
    } else {
        "slower"
    };
    let word = behind.split_whitespace().next().filter(|_| is_ratio)?;
    (word == wrong).then(|| {
        let text = &figure.text;
        format!("'{text} {word}' is contrary to its evidence: write '{text} as fast as'")
    })
}

/// The figure that a placeholder names. The error follows the placeholder in a sentence.
fn cite(inside: &str, listed: &[&str], all: &BTreeMap<&str, &Held>) -> Result<Cited, String> {
    let form = "names no figure: write {evidence.workload.metric} or {evidence.metric}";
    let (id, rest) = inside.split_once('.').ok_or(form)?;
    let (workload, metric) = match rest.rsplit_once('.') {
        Some((workload, metric)) => (Some(workload), metric),
        None => (None, rest),
    };
    let Some(Held { evidence, .. }) = all.get(id) else {
        if listed.contains(&id) {
            return Err(format!("names '{id}', which cannot be read"));
        }
        let like = did_you_mean(id, all.keys().copied());
        return Err(format!(
            "names '{id}', which is not among the evidence of this decision{like}"
        ));
    };
    let figures = match workload {
        None => &evidence.figures,
        Some(key) => match evidence.workloads.get(key) {
            Some(of) => &of.figures,
            None => {
                let like = did_you_mean(key, evidence.workloads.keys().map(String::as_str));
                return Err(format!("names '{key}', which is no workload of {id}{like}"));
            }
        },
    };
    let counted = || workload.is_none().then(|| evidence.count(metric)).flatten();
    let Some(measure) = figures.get(metric).copied().or_else(counted) else {
        let known: Vec<&str> = figures.keys().map(String::as_str).collect();
        let known = match known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        return Err(format!(
            "names '{metric}', which was not measured there: there is {known}"
        ));
    };
    Ok(Cited {
        text: in_words(metric, measure.value),
        evidence: id.to_owned(),
        workload: workload.map(str::to_owned),
        metric: metric.to_owned(),
        value: measure.value,
        low: measure.low,
        high: measure.high,
    })
}
