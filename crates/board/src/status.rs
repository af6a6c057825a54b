//! The status of a decision: a rule over its evidence, with every reason that limits it.

use crate::claim::Cited;
use crate::evidence::{Evidence, EvidenceKind, RATIO};
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

/// What one piece of evidence lacks by itself.
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
    if evidence.emulated {
        caveat(format!(
            "{id} was measured on an emulated device: its times say nothing about a GPU"
        ));
    }
    if evidence.commit.is_none() {
        caveat(format!(
            "{id} is not from a clean tree: no commit holds the files that were measured"
        ));
    }
    let caveats = evidence.caveats.iter();
    caveats.for_each(|text| caveat(format!("{id}: {text}")));
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
    for (id, Held { evidence, .. }) in timed().filter(|(id, _)| !any_cited || is_cited(id)) {
        let of = (&evidence.kernel, &evidence.blob, &evidence.device);
        let (sum, ids) = runs.entry(of).or_default();
        *sum += evidence.runs;
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
    let ratios = cited
        .iter()
        .filter(|figure| figure.metric.starts_with(RATIO));
    let mut any = false;
    for figure in ratios {
        let Some(held) = evidence.get(figure.evidence.as_str()) else {
            continue;
        };
        any = true;
        let (id, peer) = (&figure.evidence, held.evidence.peer(&figure.metric));
        let name = peer.map_or(figure.metric.as_str(), |peer| peer.name.as_str());
        if peer.is_none_or(|peer| peer.call.is_empty() || peer.versions.is_empty()) {
            let text = format!("{id} does not record the call and the versions of {name}");
            limit(Status::Measured, text);
        }
        for (workload, ratio) in named(&held.evidence, figure) {
            let at = workload.map(|key| format!(" on {key}")).unwrap_or_default();
            let (allows, word) = match (expected, speed_of(ratio)) {
                (Expected::Faster, Some(Speed::Faster))
                | (Expected::AsFast, Some(Speed::Faster | Speed::Same))
                | (Expected::Slower, Some(Speed::Slower)) => continue,
                (_, Some(Speed::Same)) => (Status::Measured, "as fast as"),
                (_, Some(Speed::Slower)) => (Status::Rejected, "slower than"),
                (_, Some(Speed::Faster)) => (Status::Rejected, "faster than"),
                (_, _) => (Status::Measured, "undecided beside"),
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
mod tests {
    use super::*;

    fn cited(metric: &str) -> Cited {
        Cited {
            text: String::new(),
            evidence: "e".into(),
            workload: None,
            metric: metric.into(),
            value: 1.0,
            low: None,
            high: None,
        }
    }

    /// A bench that timed the kernel beside a peer on two workloads, each with this interval.
    fn bench(intervals: [(f64, f64); 2]) -> Held {
        let mut evidence = Evidence {
            kind: EvidenceKind::Bench,
            commit: Some("c".into()),
            outcome: Outcome::Pass,
            runs: RUNS,
            ..Evidence::default()
        };
        for (key, (low, high)) in ["a", "b"].into_iter().zip(intervals) {
            let ratio = Measure {
                value: low.midpoint(high),
                low: Some(low),
                high: Some(high),
            };
            let figures = &mut evidence.workloads.entry(key.into()).or_default().figures;
            figures.insert("vs_p".into(), ratio);
        }
        let peer = evidence.peers.entry("p".into()).or_default();
        peer.name = "P".into();
        peer.call = "P(x)".into();
        peer.versions = "torch=2.11.0".into();
        Held {
            evidence,
            signer: Some("Ada".into()),
            faults: Vec::new(),
            stale: None,
        }
    }

    fn ruled(expected: Expected, held: &[(&str, Held)]) -> (Status, String) {
        let all: BTreeMap<&str, &Held> = held.iter().map(|(id, held)| (*id, held)).collect();
        let found = reasons(Some(expected), &all, &[&cited("vs_p")]);
        let texts: Vec<&str> = found.iter().map(|reason| reason.text.as_str()).collect();
        (by_rule(&found), texts.join("; "))
    }

    const FASTER: (f64, f64) = (1.1, 1.2);
    const SAME: (f64, f64) = (0.998, 1.003);
    const SLOWER: (f64, f64) = (0.8, 0.9);
    const WIDE: (f64, f64) = (0.9, 1.2);

    #[test]
    fn a_figure_over_all_workloads_names_each_of_them() {
        use Expected::{AsFast, Faster, Slower};
        for (expected, intervals, status, reason) in [
            (Faster, [FASTER, FASTER], Status::Supported, ""),
            (AsFast, [FASTER, SAME], Status::Supported, ""),
            (Slower, [SLOWER, SLOWER], Status::Supported, ""),
            (
                Faster,
                [FASTER, SAME],
                Status::Measured,
                "e: as fast as P on b",
            ),
            (
                Faster,
                [WIDE, FASTER],
                Status::Measured,
                "e: undecided beside P on a",
            ),
            (
                Faster,
                [FASTER, SLOWER],
                Status::Rejected,
                "e: slower than P on b",
            ),
            (
                Slower,
                [FASTER, SLOWER],
                Status::Rejected,
                "e: faster than P on a",
            ),
        ] {
            let said = ruled(expected, &[("e", bench(intervals))]);
            assert_eq!(
                said,
                (status, reason.to_owned()),
                "{expected:?} {intervals:?}"
            );
        }
    }

    #[test]
    fn what_qualifies_the_evidence_qualifies_the_claim() {
        type Case = (fn(&mut Held), Status, &'static str);
        let cases: [Case; 8] = [
            (
                |it| it.evidence.emulated = true,
                Status::Caveated,
                "emulated device",
            ),
            (
                |it| it.evidence.commit = None,
                Status::Caveated,
                "clean tree",
            ),
            (|it| it.evidence.runs = 1, Status::Caveated, "a single run"),
            (|it| it.evidence.runs = 2, Status::Measured, "2 runs"),
            (|it| it.signer = None, Status::Caveated, "signed by no key"),
            (
                |it| it.faults.push("changed".into()),
                Status::Caveated,
                "is false: changed",
            ),
            (
                |it| it.evidence.peers.clear(),
                Status::Measured,
                "the call and the versions",
            ),
            (
                |it| it.evidence.outcome = Outcome::Fail,
                Status::Rejected,
                "the verdict is FAIL",
            ),
        ];
        let change = |change: fn(&mut Held)| {
            let mut held = bench([FASTER; 2]);
            change(&mut held);
            ruled(Expected::Faster, &[("e", held)])
        };
        for (with, status, reason) in cases {
            let (ruled, texts) = change(with);
            assert!(
                ruled == status && texts.contains(reason),
                "{reason}: {texts}"
            );
        }
    }

    #[test]
    fn a_profile_of_another_kernel_than_the_timed_one_is_a_caveat() {
        let mut profile = bench([FASTER; 2]);
        profile.evidence.kind = EvidenceKind::Profile;
        let both = |profile| {
            ruled(
                Expected::Faster,
                &[("e", bench([FASTER; 2])), ("p", profile)],
            )
        };
        assert_eq!(both(profile.clone()).0, Status::Supported);
        profile.evidence.blob = "another".into();
        let (status, reason) = both(profile);
        let text = "p profiles another kernel than the one that was timed";
        assert_eq!((status, reason.as_str()), (Status::Caveated, text));
    }

    #[test]
    fn several_benches_of_a_kernel_count_together() {
        let mut one = bench([FASTER; 2]);
        one.evidence.runs = 2;
        let (mut all, other) = (cited("vs_p"), one.clone());
        all.evidence = "f".into();
        let both = BTreeMap::from([("e", &one), ("f", &other)]);
        let found = reasons(Some(Expected::Faster), &both, &[&cited("vs_p"), &all]);
        assert_eq!(by_rule(&found), Status::Supported, "{found:?}");
    }
}
