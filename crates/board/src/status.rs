//! The status of a decision: a rule over its evidence, with every reason that limits it.

use crate::evidence::{Evidence, EvidenceKind, RATIO};
use crate::filled::Cited;
use crate::proof::Held;
use lab_protocol::report::{Measure, Speed};
use lab_run::verdict::Outcome;
use lab_stats::centre::Centre;
use lab_stats::speed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How far the evidence carries a claim, from the best to the worst.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schemars(rename = "DecisionStatus")]
pub enum Status {
    /// The expected verdict holds on every named workload and device, without caveat, in at least
    /// three runs of committed files, beside a peer whose call is recorded.
    Supported,
    /// The figures are sound, and the claim says more than they decide.
    Measured,
    /// Something qualifies the evidence.
    Caveated,
    /// The evidence says the contrary.
    Rejected,
}

impl Status {
    /// Every status, the best first.
    pub const ALL: [Status; 4] = [
        Status::Supported,
        Status::Measured,
        Status::Caveated,
        Status::Rejected,
    ];

    /// The word of decisions.toml.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// What the rule asks for.
    pub fn rule(self) -> &'static str {
        match self {
            Status::Supported => {
                "the stated verdict holds on every named workload and device, without caveat, in three or more \
                 runs of committed files, beside peers whose calls are recorded"
            }
            Status::Measured => {
                "the figures hold, and no verdict is stated, they do not decide it, or runs or a peer's call are missing"
            }
            Status::Caveated => {
                "something qualifies the evidence, as a moved clock, a single run, an emulated device or no signature"
            }
            Status::Rejected => "the evidence shows the contrary, or a kernel that is wrong",
        }
    }
}

/// What every workload that a claim names must show beside the peer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(rename = "ExpectedVerdict")]
pub enum Expected {
    Faster,
    /// The same or faster.
    AsFast,
    Slower,
}

impl Expected {
    /// The word of decisions.toml.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Whether a ratio to a peer shows the verdict by its interval.
pub fn shows(expected: Expected, ratio: Measure) -> bool {
    matches!(
        (expected, speed_of(ratio)),
        (Expected::Faster, Some(Speed::Faster))
            | (Expected::AsFast, Some(Speed::Faster | Speed::Same))
            | (Expected::Slower, Some(Speed::Slower))
    )
}

/// Why a status is not better.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "StatusReason")]
pub struct Reason {
    /// The best status that it allows.
    pub allows: Status,
    /// One sentence, which begins with the evidence that it is about.
    pub text: String,
}

/// Runs that *supported* needs.
const RUNS: u32 = 3;

/// The difference of two speeds that does not matter, as in lab.toml by default.
const SAME_WITHIN: f64 = 0.005;

/// The status that the reasons allow.
pub fn by_rule(reasons: &[Reason]) -> Status {
    let allowed = reasons.iter().map(|reason| reason.allows);
    allowed.max().unwrap_or(Status::Supported)
}

/// Everything that limits the status of a claim. `evidence` is what the decision lists and is there,
/// `cited` the figures in its claim.
pub fn reasons(
    expected: Option<Expected>,
    evidence: &BTreeMap<&str, &Held>,
    cited: &[&Cited],
) -> Vec<Reason> {
    let mut found = Vec::new();
    let mut limit = |allows, text: String| found.push(Reason { allows, text });
    if evidence.is_empty() {
        limit(Status::Caveated, "it names no evidence".to_owned());
    }
    for (id, held) in evidence {
        for text in of_one(id, held) {
            limit(text.0, text.1);
        }
    }
    let is_timed = |held: &&&Held| held.evidence.is_timed();
    let timed: BTreeSet<&str> = evidence
        .values()
        .filter(is_timed)
        .map(|held| held.evidence.blob.as_str())
        .collect();
    for (id, held) in evidence {
        let is_profile = held.evidence.kind == EvidenceKind::Profile;
        if is_profile && !timed.is_empty() && !timed.contains(held.evidence.blob.as_str()) {
            let text = format!("{id} profiles another kernel than the one that was timed");
            limit(Status::Caveated, text);
        }
    }
    found.extend(of_runs(evidence, cited));
    found.extend(of_verdict(expected, evidence, cited));
    found
}

/// What one piece of evidence lacks by itself. Evidence without the hashes of its files proves no tree.
fn of_one(id: &str, held: &Held) -> Vec<(Status, String)> {
    let evidence = &held.evidence;
    let mut found = Vec::new();
    let mut caveat = |text: String| found.push((Status::Caveated, text));
    if held.signer.is_none() {
        caveat(format!("{id} is signed by no key of {}", crate::SIGNERS));
    }
    held.faults
        .iter()
        .for_each(|fault| caveat(format!("{id} is false: {fault}")));
    if held.unchecked.is_some() {
        caveat(format!(
            "{id} cannot be checked here: this clone is shallow"
        ));
    }
    if evidence.emulated {
        caveat(format!(
            "{id} was measured on an emulated device: its times say nothing about a GPU"
        ));
    }
    if evidence.commit.is_none() || evidence.inputs.is_empty() {
        caveat(format!(
            "{id} is not from a clean tree: no commit holds the files that were measured"
        ));
    } else if evidence.clean_tree == Some(false) {
        caveat(format!(
            "{id} is not from a clean tree: tracked files were changed while it was measured"
        ));
    }
    let caveats = evidence.caveats.iter();
    caveats.for_each(|text| caveat(format!("{id}: {text}")));
    if evidence.clean_tree.is_none() {
        let text = format!("{id} does not say whether its tree was clean, and supported needs it");
        found.push((Status::Measured, text));
    }
    if evidence.outcome != Outcome::Pass {
        let word = evidence.outcome.word();
        found.push((Status::Rejected, format!("{id}: the verdict is {word}")));
    }
    found
}

/// Too few runs of a kernel on a device. Where the claim cites times, those of the cited evidence
/// count.
fn of_runs(evidence: &BTreeMap<&str, &Held>, cited: &[&Cited]) -> Vec<Reason> {
    let timed = || evidence.iter().filter(|(_, held)| held.evidence.is_timed());
    let is_cited = |id: &str| cited.iter().any(|figure| figure.evidence == id);
    let any_cited = timed().any(|(id, _)| is_cited(id));
    let mut runs: BTreeMap<_, (u32, Vec<&str>)> = BTreeMap::new();
    // The same record under two ids is one measurement.
    let mut counted = BTreeSet::new();
    for (id, Held { evidence, .. }) in timed().filter(|(id, _)| !any_cited || is_cited(id)) {
        let of = (&evidence.kernel, &evidence.blob, &evidence.device);
        let (sum, ids) = runs.entry(of).or_default();
        if counted.insert(evidence.record()) {
            *sum += evidence.runs;
        }
        ids.push(id);
    }
    let few = runs.into_values().filter(|(runs, _)| *runs < RUNS);
    let reason = |(runs, ids): (u32, Vec<&str>)| {
        let (allows, count) = match runs {
            0 | 1 => (Status::Caveated, "a single run".to_owned()),
            runs => (Status::Measured, format!("{runs} runs")),
        };
        let text = format!("{}: {count}, and supported needs {RUNS}", ids.join(" and "));
        Reason { allows, text }
    };
    few.map(reason).collect()
}

/// Whether the expected verdict holds on each named workload, beside peers whose calls are known.
fn of_verdict(
    expected: Option<Expected>,
    evidence: &BTreeMap<&str, &Held>,
    cited: &[&Cited],
) -> Vec<Reason> {
    let mut found = Vec::new();
    let mut limit = |allows, text: String| found.push(Reason { allows, text });
    let Some(expected) = expected else {
        let text = "it states no verdict (`verdict`) that the evidence must show";
        limit(Status::Measured, text.to_owned());
        return found;
    };
    let mut any = false;
    for figure in cited {
        let Some(held) = evidence.get(figure.evidence.as_str()) else {
            continue;
        };
        let is_ratio = figure.metric.starts_with(RATIO);
        let (id, peer) = (&figure.evidence, held.evidence.peer(&figure.metric));
        let name = peer.map_or(figure.metric.as_str(), |peer| peer.name.as_str());
        let is_unknown = peer.map_or(is_ratio, |peer| peer.called().is_none());
        if is_unknown {
            let text = format!("{id} does not record the call and the versions of {name}");
            limit(Status::Measured, text);
        }
        if !is_ratio {
            continue;
        }
        any = true;
        for (workload, ratio) in named(&held.evidence, figure) {
            let at = workload.map(|key| format!(" on {key}")).unwrap_or_default();
            if shows(expected, ratio) {
                continue;
            }
            let (allows, word) = match speed_of(ratio) {
                Some(Speed::Same) => (Status::Measured, "as fast as"),
                Some(Speed::Slower) => (Status::Rejected, "slower than"),
                Some(Speed::Faster) => (Status::Rejected, "faster than"),
                _ => (Status::Measured, "undecided beside"),
            };
            limit(allows, format!("{id}: {word} {name}{at}"));
        }
    }
    if !any {
        let text = "its claim cites no ratio to a peer (`vs_…`)";
        limit(Status::Measured, text.to_owned());
    }
    found
}

/// The ratios that a figure names: that of its workload, or without one those of all.
fn named<'e>(evidence: &'e Evidence, cited: &'e Cited) -> Vec<(Option<&'e str>, Measure)> {
    let metric = cited.metric.as_str();
    if let Some(key) = cited.workload.as_deref() {
        let ratio = evidence.figure(Some(key), metric);
        return ratio.map(|ratio| (Some(key), ratio)).into_iter().collect();
    }
    let each = evidence.workloads.iter();
    let each = each.filter_map(|(key, of)| Some((Some(key.as_str()), *of.figures.get(metric)?)));
    let each: Vec<_> = each.collect();
    match each.is_empty() {
        true => vec![(None, cited.measure())],
        false => each,
    }
}

/// The verdict on a ratio by its interval; `None` if it decides nothing.
fn speed_of(Measure { low, high, .. }: Measure) -> Option<Speed> {
    let (low, high) = (low?.ln(), high?.ln());
    let log = Centre {
        value: f64::midpoint(low, high),
        half_width: (high - low) / 2.0,
    };
    speed::decide(log, speed::LEAST_BLOCKS, SAME_WITHIN).ok()
}

#[cfg(test)]
mod tests;
