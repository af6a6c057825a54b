//! What holds of the rules whatever the case is otherwise.

use super::*;
use proptest::prelude::*;

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Pass),
        1 => Just(Outcome::Fail),
        1 => Just(Outcome::Crash),
        1 => Just(Outcome::Void),
        1 => Just(Outcome::NotJudged),
    ]
}

fn statuses() -> impl Strategy<Value = Status> {
    prop_oneof![
        Just(Status::Keep),
        Just(Status::Discard),
        Just(Status::Crash)
    ]
}

/// One of three kernels; so two that are drawn are often the same.
fn bytes() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("c".to_owned())
    ]
}

/// True in one of eight.
fn seldom() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.125)
}

fn candidates() -> impl Strategy<Value = Candidate> {
    let kinds = (seldom(), seldom(), seldom(), seldom());
    let of_run = (bytes(), prop::option::weighted(0.9, outcomes()), kinds);
    (
        of_run,
        prop::option::weighted(0.2, statuses()),
        prop::option::weighted(0.4, outcomes()),
    )
        .prop_map(
            |(
                (bytes, outcome, (is_check, is_foreign, is_other, is_unmeasured)),
                decided,
                held_out,
            )| Candidate {
                id: RunId(7),
                kernel: if is_other { "b.cu" } else { KERNEL }.into(),
                is_check,
                is_foreign,
                fingerprint: Fingerprint(bytes.clone()),
                blob: bytes.clone(),
                device: None,
                inputs: vec![file(KERNEL, &bytes)],
                outcome,
                word: outcome.map_or("", Outcome::word),
                unmeasured: is_unmeasured.then(|| "nothing was measured".into()),
                decided,
                held_out: held_out.map(|outcome| (outcome, "why".into())),
                sealed_runs: u32::from(held_out == Some(Outcome::Pass)),
            },
        )
}

fn outside_include() -> OutsideInclude {
    OutsideInclude {
        file: KERNEL.into(),
        include: "/abs/x.h".into(),
        is_macro: false,
    }
}

fn rule_change() -> RuleChange {
    RuleChange {
        path: "problem.toml".into(),
        what: RuleDifference::Content,
    }
}

fn presents() -> impl Strategy<Value = Result<Present, String>> {
    let of_commit = (seldom(), seldom(), seldom(), any::<bool>());
    (bytes(), seldom(), of_commit, any::<bool>()).prop_map(
        |(bytes, unreadable, of_commit, is_known)| {
            let (uncommitted, outside, changed, refused) = of_commit;
            let known = Present {
                fingerprint: Fingerprint(bytes.clone()),
                blob: Some(bytes.clone()),
                files: vec![file(KERNEL, &bytes)],
                uncommitted_includes: uncommitted.then(|| "tile.cuh".into()).into_iter().collect(),
                outside: outside.then(outside_include).into_iter().collect(),
                rules: Rules {
                    changed: changed.then(rule_change).into_iter().collect(),
                    first: Vec::new(),
                },
                sealed_runs: if refused { 8 } else { 1 },
                keeps_at_same: false,
            };
            match (unreadable, is_known) {
                (true, _) => Err("it cannot be read".into()),
                (false, true) => Ok(known),
                (false, false) => Ok(known.fingerprint.into()),
            }
        },
    )
}

fn decisions() -> impl Strategy<Value = LastDecision> {
    let later_work = prop_oneof![
        Just(LaterWork::Unknown),
        Just(LaterWork::None),
        Just(LaterWork::Found("a commit".into()))
    ];
    let of_decision = (
        statuses(),
        prop::option::of(any::<bool>()),
        seldom(),
        later_work,
    );
    of_decision.prop_map(|(status, made, is_foreign, later_work)| {
        let (commit, description) = ("a1b2c3d4".into(), "x".into());
        LastDecision {
            run: RunId(6),
            status,
            description,
            commit,
            made,
            is_foreign,
            later_work,
        }
    })
}

fn obstacles() -> impl Strategy<Value = Obstacle> {
    prop_oneof![
        Just(Obstacle::Operation(Operation::Merge)),
        Just(Obstacle::Head(
            "HEAD names refs/tags/v1, which is no branch".into()
        )),
        Just(Obstacle::Locked("lock".into())),
        Just(Obstacle::NoIdentity)
    ]
}

fn snapshots() -> impl Strategy<Value = Snapshot> {
    let git = (
        prop::option::weighted(0.9, bytes()),
        prop::option::weighted(0.1, obstacles()),
    );
    let running = prop_oneof![
        Just(RunInProgress::Starting),
        Just(RunInProgress::Started(RunId(8)))
    ];
    let screen = (
        seldom(),
        prop::option::weighted(0.1, running),
        any::<bool>(),
    );
    let runs = (
        prop::option::weighted(0.9, candidates()),
        prop::option::of(decisions()),
    );
    (git, screen, runs, presents()).prop_map(
        |(
            (incumbent, obstacle),
            (deciding, running, external),
            (candidate, last_decision),
            present,
        )| {
            Snapshot {
                kernel: KERNEL.into(),
                argument: String::new(),
                external,
                incumbent,
                present,
                obstacle,
                candidate,
                running,
                deciding,
                last_decision,
                kept: Vec::new(),
                damaged: None,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever is the case otherwise: a keep takes judged, present, passing, measured, undecided
    /// bytes.
    #[test]
    fn a_keep_is_of_the_judged_bytes_and_they_passed_and_were_measured(snapshot in snapshots()) {
        let Ok(keep) = allowed(&snapshot).keep else { return Ok(()) };
        let run = snapshot.candidate.expect("a run");
        let present = snapshot.present.expect("readable");
        prop_assert_eq!(&run.fingerprint, &present.fingerprint);
        prop_assert_eq!(run.outcome, Some(Outcome::Pass));
        prop_assert_eq!((run.unmeasured, run.decided, run.is_check), (None, None, false));
        prop_assert_eq!(run.kernel, snapshot.kernel);
        prop_assert!(present.uncommitted_includes.is_empty());
        prop_assert!(present.outside.is_empty() && present.rules.changed.is_empty());
        let is_enough = snapshot.external || run.sealed_runs >= present.sealed_runs;
        prop_assert!(keep == Keep::CheckHeldOut || is_enough);
        prop_assert_eq!((snapshot.obstacle, snapshot.running, snapshot.deciding), (None, None, false));
        let held_out = run.held_out.map(|(outcome, _)| outcome);
        prop_assert!(matches!(held_out, None | Some(Outcome::Pass)));
        if keep == Keep::Commit {
            prop_assert!(snapshot.external || held_out == Some(Outcome::Pass));
        }
    }

    /// Bytes that no verdict is about are never removed without a question, nor are the
    /// incumbent's.
    #[test]
    fn a_discard_without_a_question_removes_judged_bytes_only(snapshot in snapshots()) {
        let Ok(discard) = allowed(&snapshot).discard else { return Ok(()) };
        prop_assert_eq!((snapshot.running, snapshot.deciding), (None, false));
        let incumbent = snapshot.incumbent.expect("something to put back");
        match discard {
            Discard::Run(id) => {
                let run = snapshot.candidate.expect("a run");
                prop_assert_eq!(run.id, id);
                prop_assert!(run.is_undecided() && !run.is_check);
                prop_assert_eq!(run.fingerprint, snapshot.present.expect("readable").fingerprint);
                prop_assert_ne!(run.blob, incumbent);
            }
            Discard::AlsoNewer(..) => {
                let run = snapshot.candidate.expect("a run");
                prop_assert!(run.is_undecided());
                prop_assert_ne!(Ok(run.fingerprint), snapshot.present.map(|p| p.fingerprint));
            }
            Discard::Decided(id, status) => {
                let run = snapshot.candidate.expect("a run");
                prop_assert_eq!((run.id, run.decided), (id, Some(status)));
                prop_assert_eq!(run.fingerprint, snapshot.present.expect("readable").fingerprint);
                prop_assert_ne!(run.blob, incumbent);
            }
            Discard::Unjudged { unreadable, .. } => {
                // An undecided run of the incumbent's own bytes says nothing about newer ones.
                let of_others = |run: Candidate| run.is_undecided() && run.blob != incumbent;
                prop_assert!(!snapshot.candidate.is_some_and(of_others));
                prop_assert_eq!(unreadable, snapshot.present.is_err());
                prop_assert_ne!(snapshot.present.ok().and_then(|p| p.blob), Some(incumbent));
            }
        }
    }

    #[test]
    fn a_commit_that_something_was_built_on_is_never_undone(snapshot in snapshots()) {
        if allowed(&snapshot).undo.is_err() {
            return Ok(());
        }
        prop_assert_eq!((snapshot.obstacle, snapshot.running, snapshot.deciding), (None, None, false));
        let last = snapshot.last_decision.expect("a decision");
        if last.status == Status::Keep {
            prop_assert!(last.made != Some(true) || !matches!(last.later_work, LaterWork::Found(_)));
        }
    }

    /// Each refusal has words: a hint that fits in a line of hints, and one sentence or two.
    #[test]
    fn every_refusal_says_why(snapshot in snapshots()) {
        let Allowed { keep, discard, undo } = allowed(&snapshot);
        for why in [keep.err(), discard.err(), undo.err()].into_iter().flatten() {
            let (hint, text) = (why.hint(), why.to_string());
            prop_assert!(!hint.is_empty() && hint.chars().count() <= 40, "{}", hint);
            prop_assert!(!text.is_empty() && !text.ends_with(' '), "{}", text);
        }
    }
}
