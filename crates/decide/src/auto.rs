//! Decides a run by rule, if the user asked for that (`[auto] decide = true`, or
//! `lab run --decide`). The rule decides only clear cases and leaves the rest to the user.

use lab_project::config::AutoConfig;
use lab_protocol::report::Speed;
use lab_run::record::{HeldOut, Origin, Record};
use lab_run::verdict::Outcome;

/// The rule in one line, for the screen and for the command of a loop.
const RULE: &str = "The rule keeps what is correct and faster; discards what is slower, the same or wrong; leaves what does not \
                    build, crashes, is correct but caveated, is mixed, is undecided or was not timed in turns with the incumbent";

/// The rule with `keep_shorter`.
const RULE_KEEP_SHORTER: &str = "The rule keeps what is correct and faster, or the same and shorter in tokens; discards what is slower, \
                                 wrong, or the same and not shorter; leaves what does not build, crashes, is correct but caveated, is mixed, is \
                                 undecided or was not timed in turns with the incumbent";

/// The rule in one line, as lab.toml sets it.
pub fn rule(config: &AutoConfig) -> String {
    let rule = if config.keep_shorter {
        RULE_KEEP_SHORTER
    } else {
        RULE
    };
    let correct = match config.keep_correct {
        true => "; on the cpu device keeps what is correct",
        false => "",
    };
    rule.to_owned() + correct
}

/// What else than *faster* is enough for a keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Enough {
    /// A kernel of the same speed is to be kept, because it is shorter
    /// ([`keeps_at_same`](super::keeps_at_same)).
    pub at_same: bool,
    /// `[auto] keep_correct`: on an emulated device a correct kernel is to be kept.
    pub correct: bool,
}

/// The rule's decision about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AutoDecision {
    Keep,
    Discard,
    /// The user decides; the text says why.
    Leave(String),
}

/// Applies the rule. `incumbent` is the git blob id of the kernel in HEAD.
pub fn decide(record: &Record, incumbent: Option<&str>, enough: Enough) -> AutoDecision {
    let leave = |why: &str| AutoDecision::Leave(why.to_owned());
    if record.start.is_check() {
        return leave("a check judges nothing");
    }
    if record.decision.is_some() {
        return leave("it is decided already");
    }
    if record.origin != Origin::Own {
        return leave("its record is foreign");
    }
    let Some(verdict) = &record.verdict else {
        return leave("the run is still in progress");
    };
    match verdict.outcome {
        Outcome::Void => return leave("no verdict belongs to these bytes"),
        Outcome::NotJudged => return leave("it was not judged"),
        Outcome::Crash if verdict.build_failed => return leave("it does not build"),
        Outcome::Crash => return leave("it crashed"),
        Outcome::Pass | Outcome::Fail => {}
    }
    match incumbent {
        None => return leave("there is no incumbent yet"),
        Some(held) if held == record.start.blob => {
            return leave("these are the incumbent's own bytes");
        }
        Some(_) => {}
    }
    // A caveat weakens a time, or says that less was checked. What failed a check is wrong all the
    // same.
    if verdict.outcome == Outcome::Fail {
        return AutoDecision::Discard;
    }
    if let Some(caveat) = verdict.caveats.first() {
        return AutoDecision::Leave(format!("the result is caveated: {caveat}"));
    }
    if verdict.emulated && enough.correct {
        return AutoDecision::Keep;
    }
    if verdict.emulated {
        return leave("the times of an emulated device are no verdict on speed");
    }
    let in_turns = verdict.change.filter(|change| change.interval.is_some());
    match in_turns.and_then(|change| change.speed) {
        None => leave("it was not timed in turns with the incumbent"),
        Some(Speed::Slower) => AutoDecision::Discard,
        Some(Speed::Same) if !enough.at_same => AutoDecision::Discard,
        Some(Speed::Faster | Speed::Same) => {
            match record.held_out.as_ref().and_then(mixed_on_held_out) {
                Some(why) => AutoDecision::Leave(why),
                None => AutoDecision::Keep,
            }
        }
        Some(Speed::Mixed) => AutoDecision::Leave(format!(
            "the result is mixed: {}",
            verdict.mixed().unwrap_or_default()
        )),
        Some(Speed::Undecided) => {
            leave("the verdict on speed is undecided: measure longer with `lab bench --verdict`")
        }
    }
}

/// Why the held-out check leaves a run to the user whose own result was *faster*.
pub(super) fn mixed_on_held_out(held_out: &HeldOut) -> Option<String> {
    held_out
        .mixed
        .as_ref()
        .map(|slower| format!("the result on held-out inputs is mixed: {slower}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::report::{Measure, WorkloadSpeeds, WorstWorkload};
    use lab_run::verdict::{Change, Verdict};
    use lab_run::{Reason, RunId};
    use lab_testing::record;

    const HELD: &str = "the incumbent's blob";

    /// A correct run, timed in turns.
    fn run(speed: Option<Speed>, interval: Option<(f64, f64)>) -> Record {
        let change = Some(Change {
            ratio: 0.02,
            interval,
            speed,
            ..Change::default()
        });
        let verdict = Verdict {
            change,
            ..Verdict::bare(Outcome::Pass, "")
        };
        Record {
            verdict: Some(verdict),
            ..record(RunId(1))
        }
    }

    fn with(speed: Speed, change: impl FnOnce(&mut Verdict)) -> Record {
        let mut record = run(Some(speed), Some((0.01, 0.03)));
        if let Some(verdict) = &mut record.verdict {
            change(verdict);
        }
        record
    }

    #[track_caller]
    fn decides(record: &Record, wanted: &str) {
        decides_of(record, false, wanted);
    }

    #[track_caller]
    fn decides_of(record: &Record, at_same: bool, wanted: &str) {
        let enough = Enough {
            at_same,
            correct: false,
        };
        decides_with(record, enough, wanted);
    }

    #[track_caller]
    fn decides_with(record: &Record, enough: Enough, wanted: &str) {
        let decision = match decide(record, Some(HELD), enough) {
            AutoDecision::Keep => "keep".to_owned(),
            AutoDecision::Discard => "discard".to_owned(),
            AutoDecision::Leave(why) => why,
        };
        assert_eq!(decision, wanted);
    }

    #[test]
    fn it_keeps_what_is_faster_and_discards_what_is_not_or_is_wrong() {
        decides(&with(Speed::Faster, |_| {}), "keep");
        decides(&with(Speed::Slower, |_| {}), "discard");
        decides(&with(Speed::Same, |_| {}), "discard");
        let wrong = |v: &mut Verdict| (v.outcome, v.change) = (Outcome::Fail, None);
        decides(&with(Speed::Faster, wrong), "discard");
        let wrong_and_caveated = |v: &mut Verdict| {
            wrong(v);
            v.caveats.push("heat".into());
        };
        decides(&with(Speed::Faster, wrong_and_caveated), "discard");
        // Wrong is wrong on an emulated device too.
        decides(
            &with(Speed::Faster, |v| {
                (v.outcome, v.change, v.emulated) = (Outcome::Fail, None, true);
            }),
            "discard",
        );
    }

    #[test]
    fn what_is_the_same_and_shorter_is_kept_if_that_is_asked_for() {
        decides_of(&with(Speed::Same, |_| {}), true, "keep");
        decides_of(&with(Speed::Slower, |_| {}), true, "discard");
        let caveated = with(Speed::Same, |v| v.caveats.push("heat".into()));
        decides_of(&caveated, true, "the result is caveated: heat");
        decides_of(
            &with(Speed::Same, |v| {
                (v.outcome, v.change) = (Outcome::Fail, None);
            }),
            true,
            "discard",
        );
        let undecided =
            "the verdict on speed is undecided: measure longer with `lab bench --verdict`";
        decides_of(&with(Speed::Undecided, |_| {}), true, undecided);
        let rule = |keep_shorter| {
            rule(&AutoConfig {
                keep_shorter,
                ..AutoConfig::default()
            })
        };
        assert!(rule(true).contains("shorter in tokens") && !rule(false).contains("shorter"));
    }

    #[test]
    fn what_is_correct_on_an_emulated_device_is_kept_if_that_is_asked_for() {
        let enough = Enough {
            correct: true,
            ..Enough::default()
        };
        let emulated = with(Speed::Slower, |v| (v.emulated, v.change) = (true, None));
        decides_with(&emulated, enough, "keep");
        decides_with(&with(Speed::Slower, |_| {}), enough, "discard");
        let wrong = with(Speed::Slower, |v| {
            (v.emulated, v.outcome) = (true, Outcome::Fail);
        });
        decides_with(&wrong, enough, "discard");
        let caveated = with(Speed::Slower, |v| {
            v.emulated = true;
            v.caveats.push("less was checked".into());
        });
        decides_with(
            &caveated,
            enough,
            "the result is caveated: less was checked",
        );
    }

    #[test]
    fn everything_else_is_left_to_the_user() {
        let fast = |change: fn(&mut Verdict)| with(Speed::Faster, change);
        decides(
            &fast(|v| v.outcome = Outcome::Void),
            "no verdict belongs to these bytes",
        );
        decides(
            &fast(|v| v.outcome = Outcome::NotJudged),
            "it was not judged",
        );
        decides(&fast(|v| v.outcome = Outcome::Crash), "it crashed");
        decides(
            &fast(|v| (v.outcome, v.build_failed) = (Outcome::Crash, true)),
            "it does not build",
        );
        decides(
            &fast(|v| v.caveats.push("clocks moved".into())),
            "the result is caveated: clocks moved",
        );
        decides(
            &fast(|v| v.emulated = true),
            "the times of an emulated device are no verdict on speed",
        );
        decides(
            &fast(|v| v.change = None),
            "it was not timed in turns with the incumbent",
        );
        decides(
            &with(Speed::Mixed, |_| {}),
            "the result is mixed: some workloads are slower",
        );
        let mixed = |v: &mut Verdict| {
            let ratio = Measure {
                value: 0.951,
                low: Some(0.94),
                high: Some(0.962),
            };
            let worst = Some(WorstWorkload {
                name: "rows=1 cols=8".into(),
                ratio,
            });
            v.workloads = Some(WorkloadSpeeds {
                faster: 50,
                same: 2,
                slower: 1,
                undecided: 1,
                worst,
            });
        };
        decides(
            &with(Speed::Mixed, mixed),
            "the result is mixed: 1 of 54 workloads is slower, the worst rows=1 cols=8 by -4.9 % (-6.0 … -3.8)",
        );
        let undecided =
            "the verdict on speed is undecided: measure longer with `lab bench --verdict`";
        decides(&with(Speed::Undecided, |_| {}), undecided);
        decides(
            &run(Some(Speed::Faster), None),
            "it was not timed in turns with the incumbent",
        );
        decides(
            &run(None, Some((0.1, 0.2))),
            "it was not timed in turns with the incumbent",
        );
        let mut own = fast(|_| {});
        own.start.blob = HELD.into();
        decides(&own, "these are the incumbent's own bytes");
        let mut check = fast(|_| {});
        check.start.reason = Reason::Check;
        decides(&check, "a check judges nothing");
        decides(
            &Record {
                origin: Origin::Foreign,
                ..fast(|_| {})
            },
            "its record is foreign",
        );
        decides(
            &Record {
                verdict: None,
                ..fast(|_| {})
            },
            "the run is still in progress",
        );
        assert_eq!(
            decide(&fast(|_| {}), None, Enough::default()),
            AutoDecision::Leave("there is no incumbent yet".into())
        );
    }
}
