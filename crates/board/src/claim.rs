//! Claims: figures are placeholders that the evidence fills, and no other number may stand there.

use crate::evidence::{Evidence, in_words};
use crate::proof::Held;
use lab_protocol::report::Measure;
use lab_text::suggest::did_you_mean;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A text whose placeholders are filled.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Filled {
    /// The whole, as a person reads it.
    pub text: String,
    /// Its parts in order, so that a figure can lead to its run.
    pub pieces: Vec<Piece>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ClaimPiece")]
pub enum Piece {
    Text(String),
    Figure(Cited),
}

/// A figure in a text, and where it is from.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "CitedFigure")]
pub struct Cited {
    /// As the text shows it: `10.2×`.
    pub text: String,
    /// The id of the evidence.
    pub evidence: String,
    /// The key of the workload; null of a figure over all of them.
    pub workload: Option<String>,
    /// As in `vs_eager`.
    pub metric: String,
    pub value: f64,
    /// The ends of its interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Cited {
    /// The figure with its interval.
    pub fn measure(&self) -> Measure {
        let Cited {
            value, low, high, ..
        } = *self;
        Measure { value, low, high }
    }
}

impl Filled {
    /// The figures in it.
    pub fn cited(&self) -> impl Iterator<Item = &Cited> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Figure(cited) => Some(cited),
            Piece::Text(_) => None,
        })
    }
}

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
        "" => return None,
        "µs" => &["us", "microseconds"],
        "×" => &["x", "times"],
        "%" => &["percent"],
        _ => &[],
    };
    let word = behind.split_whitespace().next()?;
    let word = word.trim_end_matches(['.', ',', ':', ';', ')', '?', '!']);
    (word == unit || also.contains(&word)).then(|| {
        let text = &figure.text;
        format!("'{text} {word}' has its unit twice: a placeholder brings its own, so leave '{word}' out")
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

/// The numbers that somebody typed into a text. A word with a digit is no such number if
/// - it begins with a letter and has letters, digits, `_` and `-` only, as `H200` and `f16`;
/// - the evidence names a workload, a device, a peer or a version so, as in `4096x8192`,
///   `rows=4096` and `2.11.0`. Digits alone are no name: they could be any figure.
fn typed_numbers<'p>(
    pieces: &'p [Piece],
    evidence: &BTreeMap<&str, &Held>,
) -> impl Iterator<Item = &'p str> + use<'p> {
    let texts = pieces.iter().filter_map(|piece| match piece {
        // A placeholder that names nothing is told as such.
        Piece::Text(text) => (!text.starts_with('{')).then_some(text),
        Piece::Figure(_) => None,
    });
    let known: Vec<String> = evidence
        .values()
        .flat_map(|held| names(&held.evidence))
        .collect();
    let words =
        texts.flat_map(|text| text.split(|c: char| c.is_whitespace() || "()[],;/".contains(c)));
    let words = words.map(|word| word.trim_matches(['.', ':', '"', '\'', '?', '!']));
    words.filter(move |word| {
        let is_number = word.contains(char::is_numeric);
        let is_bare = word.chars().all(|c| c.is_ascii_digit());
        let is_known = || known.contains(&word.replace('×', "x").to_lowercase());
        is_number && !is_name(word) && (is_bare || !is_known())
    })
}

/// `H200`, and not `x10`.
fn is_name(word: &str) -> bool {
    let is_factor = word
        .strip_prefix(['x', 'X'])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(plain) && !is_factor
}

/// Names with digits that the evidence holds, in small letters.
fn names(evidence: &Evidence) -> Vec<String> {
    let mut texts = Vec::new();
    texts.extend(evidence.device.clone());
    for (key, workload) in &evidence.workloads {
        texts.extend(key.rsplit('.').next().map(str::to_owned));
        texts.extend([key.clone(), workload.name.clone()]);
    }
    for peer in evidence.peers.values() {
        let versions = peer.versions.split(['=', ' ']).map(str::to_owned);
        texts.extend(versions);
        texts.extend([peer.name.clone(), peer.versions.clone()]);
    }
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    words.map(str::to_lowercase).collect()
}

/// What a title and a claim say of cards that their evidence denies: each card that they name must
/// have been measured, and then each figure must be of one of them.
pub fn cards(texts: [&Filled; 2], evidence: &BTreeMap<&str, &Held>) -> Vec<String> {
    let typed = texts.iter().flat_map(|filled| &filled.pieces);
    let typed = typed.filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.split(|c: char| !c.is_ascii_alphanumeric())),
        Piece::Figure(_) => None,
    });
    let named: BTreeSet<&str> = typed.flatten().filter(|word| is_card(word)).collect();
    let is_of = |evidence: &Evidence, card: &str| {
        let device = evidence.device.as_deref().unwrap_or_default();
        // `RTX4090` is `NVIDIA GeForce RTX 4090` too.
        let words: Vec<&str> = device.split([' ', '-']).collect();
        words.contains(&card) || words.windows(2).any(|two| two.concat() == card)
    };
    let mut faults = Vec::new();
    for card in &named {
        if !evidence.values().any(|held| is_of(&held.evidence, card)) {
            faults.push(format!(
                "it names {card}, and none of its evidence was measured there"
            ));
        }
    }
    let cited = texts.iter().flat_map(|filled| filled.cited());
    for id in cited
        .map(|figure| figure.evidence.as_str())
        .collect::<BTreeSet<_>>()
    {
        let of = evidence.get(id).map(|held| &held.evidence);
        let of = of.filter(|of| !named.is_empty() && !named.iter().any(|card| is_of(of, card)));
        faults.extend(of.map(|of| {
            let device = of
                .device
                .as_deref()
                .unwrap_or("a device that it does not tell");
            format!("{id} was measured on {device}, which its claim does not name")
        }));
    }
    faults
}

/// `H200`, `A10G`, `RTX4090`, `T4`; neither `L2` nor `F16`.
fn is_card(word: &str) -> bool {
    let digit = word.find(|c: char| c.is_ascii_digit()).unwrap_or_default();
    let (series, number) = word.split_at(digit);
    let is_series = ["A", "B", "GB", "GH", "GTX", "H", "L", "RTX", "T", "V"].contains(&series);
    let digits = number.chars().take_while(char::is_ascii_digit).count();
    is_series && (digits > 1 || ["L4", "T4"].contains(&word))
}
