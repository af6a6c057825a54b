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
        inputs: [("kernel.cu".to_owned(), "h".to_owned())].into(),
        outcome: Outcome::Pass,
        clean_tree: Some(true),
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
        unchecked: None,
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
    let cases: [Case; 10] = [
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
        (
            |it| it.evidence.clean_tree = None,
            Status::Measured,
            "does not say whether its tree was clean",
        ),
        (
            |it| it.evidence.clean_tree = Some(false),
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
    let (mut all, mut other) = (cited("vs_p"), one.clone());
    all.evidence = "f".into();
    let status = |other: &Held| {
        let both = BTreeMap::from([("e", &one), ("f", other)]);
        let found = reasons(Some(Expected::Faster), &both, &[&cited("vs_p"), &all]);
        by_rule(&found)
    };
    // The same bench under two names has two runs, not four.
    assert_eq!(status(&other), Status::Measured);
    other.evidence.number = 2;
    assert_eq!(status(&other), Status::Supported);
}

#[test]
fn a_peer_in_cuda_is_named_by_its_file_and_hash() {
    let mut held = bench([FASTER; 2]);
    let peer = held.evidence.peers.entry("p".into()).or_default();
    (peer.call, peer.versions) = (String::new(), String::new());
    let status = |held: &Held| ruled(Expected::Faster, &[("e", held.clone())]).0;
    assert_eq!(status(&held), Status::Measured);
    let of_time = reasons(
        Some(Expected::Faster),
        &BTreeMap::from([("e", &held)]),
        &[&cited("us_p")],
    );
    assert!(of_time[0].text.contains("the call and the versions of P"));
    let peer = held.evidence.peers.entry("p".into()).or_default();
    (peer.source, peer.hash) = (Some("k/copy.cu".into()), Some("a".repeat(64)));
    assert_eq!(status(&held), Status::Supported);
}
