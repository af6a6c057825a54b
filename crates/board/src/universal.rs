//! Words that claim more than the evidence holds: `for every shape`, `never slower`, `on any GPU`.

use crate::evidence::{Evidence, RATIO};
use crate::filled::{Cited, Filled, Piece};
use crate::proof::Held;
use crate::status::{Expected, shows};
use std::collections::{BTreeMap, BTreeSet};

/// Words that claim something of a noun behind them.
const QUANTIFIERS: [&str; 9] = [
    "all",
    "any",
    "each",
    "every",
    "irrespective",
    "no",
    "regardless",
    "whatever",
    "whichever",
];

/// Words between a quantifier and its noun, at most: `all of the shapes`.
const BETWEEN: usize = 2;

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// Workloads: the evidence holds a ratio for each.
    Workloads,
    /// What a kernel is compared with, on each workload.
    Peers,
    /// Devices: no evidence holds all of them.
    Devices,
}

/// Words that claim by themselves.
const ALONE: [(&str, About); 12] = [
    ("always", About::Workloads),
    ("consistently", About::Workloads),
    ("invariably", About::Workloads),
    ("never", About::Workloads),
    ("anything", About::Peers),
    ("everything", About::Peers),
    ("nothing", About::Peers),
    ("fastest", About::Peers),
    ("unbeaten", About::Peers),
    ("anywhere", About::Devices),
    ("everywhere", About::Devices),
    ("universally", About::Devices),
];

/// The nouns of quantifiers, as one.
const NOUNS: [(&str, About); 23] = [
    ("batch", About::Workloads),
    ("case", About::Workloads),
    ("dtype", About::Workloads),
    ("input", About::Workloads),
    ("length", About::Workloads),
    ("matrix", About::Workloads),
    ("matrice", About::Workloads),
    ("problem", About::Workloads),
    ("shape", About::Workloads),
    ("size", About::Workloads),
    ("type", About::Workloads),
    ("workload", About::Workloads),
    ("baseline", About::Peers),
    ("implementation", About::Peers),
    ("library", About::Peers),
    ("librarie", About::Peers),
    ("peer", About::Peers),
    ("accelerator", About::Devices),
    ("architecture", About::Devices),
    ("card", About::Devices),
    ("device", About::Devices),
    ("gpu", About::Devices),
    ("machine", About::Devices),
];

/// What a title and a claim say of all workloads, peers or devices, and their evidence does not show:
/// each in a sentence.
pub fn overclaimed(
    texts: [&Filled; 2],
    expected: Option<Expected>,
    evidence: &BTreeMap<&str, &Held>,
) -> Vec<String> {
    let cited: Vec<&Cited> = texts.iter().flat_map(|filled| filled.cited()).collect();
    let is_mean = cited.iter().any(|it| it.workload.is_none());
    let mut faults = Vec::new();
    for (words, about) in texts.iter().flat_map(|filled| claims(filled, is_mean)) {
        let why = match about {
            About::Devices => Some(measured_on(evidence)),
            _ => not_shown(&cited, expected, evidence, about),
        };
        faults
            .extend(why.map(|why| format!("'{words}' claims more than its evidence shows: {why}")));
    }
    faults
}

/// The claims of a text about all of something, each with its words. `is_mean` says that a figure over
/// all workloads is cited: `over all workloads` then names it.
fn claims(filled: &Filled, is_mean: bool) -> Vec<(String, About)> {
    let mut found = Vec::new();
    for piece in &filled.pieces {
        let Piece::Text(text) = piece else { continue };
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
        let words = words.filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_lowercase).collect();
        let named = |table: &[(&str, About)], word: &str| {
            let mut all = table.iter();
            all.find(|(known, _)| *known == word)
                .map(|(_, about)| *about)
        };
        for (at, word) in words.iter().enumerate() {
            if let Some(about) = named(&ALONE, word) {
                found.push((word.clone(), about));
            }
            if !QUANTIFIERS.contains(&word.as_str()) {
                continue;
            }
            let behind = words.iter().enumerate().skip(at + 1).take(BETWEEN + 1);
            let mut nouns = behind.filter_map(|(to, noun)| {
                let noun = named(&NOUNS, noun).or_else(|| named(&NOUNS, noun.strip_suffix('s')?));
                Some((to, noun?))
            });
            let Some((to, about)) = nouns.next() else {
                continue;
            };
            let is_over = at > 0 && ["over", "of"].contains(&words[at - 1].as_str());
            if !(is_mean && is_over && about == About::Workloads) {
                found.push((words[at..=to].join(" "), about));
            }
        }
    }
    found
}

fn measured_on(evidence: &BTreeMap<&str, &Held>) -> String {
    let device = |held: &&Held| held.evidence.device.clone();
    let devices: BTreeSet<String> = evidence.values().filter_map(device).collect();
    let devices: Vec<String> = devices.into_iter().collect();
    match devices.as_slice() {
        [] => "it names no device".to_owned(),
        devices => format!("it was measured on {} alone", devices.join(" and ")),
    }
}

/// Why the cited ratios, or those to all peers, do not show the verdict on every workload. `None` if
/// they do.
fn not_shown(
    cited: &[&Cited],
    expected: Option<Expected>,
    evidence: &BTreeMap<&str, &Held>,
    about: About,
) -> Option<String> {
    let Some(expected) = expected else {
        return Some("state the `verdict` that holds on each workload".to_owned());
    };
    let mut ratios: Vec<(&str, &Evidence, String)> = Vec::new();
    for figure in cited.iter().filter(|it| it.metric.starts_with(RATIO)) {
        let Some(held) = evidence.get(figure.evidence.as_str()) else {
            continue;
        };
        let peers = held.evidence.peers.keys();
        let peers = peers.filter(|_| about == About::Peers);
        let peers = peers.map(|name| format!("{RATIO}{name}"));
        let metrics = [figure.metric.clone()].into_iter().chain(peers);
        ratios.extend(metrics.map(|metric| (figure.evidence.as_str(), &held.evidence, metric)));
    }
    if ratios.is_empty() {
        return Some("it cites no ratio to a peer (`vs_…`)".to_owned());
    }
    ratios.iter().find_map(|(id, of, metric)| {
        let mut workloads = of.workloads.iter();
        workloads.find_map(|(key, workload)| match workload.figures.get(metric) {
            None => Some(format!("{id} has no {metric} of {key}")),
            Some(ratio) if !shows(expected, *ratio) => {
                Some(format!("{id}.{key}.{metric} is not `{}`", expected.word()))
            }
            Some(_) => None,
        })
    })
}
