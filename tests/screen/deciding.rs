//! Keep and discard with a message, undo, and decisions by rule.

use super::states::check;
use super::world::World;
use lab_decide::rules::{RuleChange, RuleDifference};
use lab_run::experiment::Status;

const RUN: &str = "say stage: build | device: NVIDIA H200 | stage: verify | rows_diff: 1e-6 limit=1e-5 | stage: measure | \
    throughput_sps: 170000 | kernel_us: 5.9 | correctness: pass";

/// A screen whose newest bytes passed, undecided.
fn world() -> World {
    let mut world = World::new().with_history();
    world
        .tell("open")
        .tell(RUN)
        .tell("end pass 165210 0.0; save")
        .tell(RUN)
        .tell("end pass 170020 0.029");
    world
}

/// The message of the last decision, as the commit holds it.
fn message(world: &World) -> String {
    let last = world.history.last().unwrap();
    let mut out = last.row.description.clone();
    for (key, value) in &last.trailers {
        out.push_str(&format!("; {key}: {value}"));
    }
    out
}

const TESTED: &str = "NVIDIA H200, 1 of 1 gates, 170020 samples/s (169680 … 170360), faster +2.9 % (+2.6 … +3.2) vs \
    incumbent, best so far, not in turns";

#[test]
fn a_subject_alone_is_enough_and_tested_is_filled_in() {
    let mut world = world();
    world.tell("press c; type float4 stores; press enter");
    assert_eq!(message(&world), format!("float4 stores; Tested: {TESTED}"));
}

#[test]
fn the_trailers_are_folded_away_until_they_are_asked_for() {
    let mut world = world();
    world.tell("press c; type float4 stores; press ctrl-t; press tab tab; type 48 kB of shared memory; press tab tab; type hi; press tab");
    check("message_open", &mut world);
    world.tell("press shift-tab shift-tab shift-tab; press ctrl-t; press enter");
    let wanted = format!(
        "float4 stores; Constraint: 48 kB of shared memory; Confidence: high; Tested: {TESTED}"
    );
    assert_eq!(message(&world), wanted);
}

#[test]
fn a_trailer_of_few_words_takes_no_other() {
    let mut world = world();
    world.tell(
        "press c; type float4 stores; press tab tab tab tab tab; type certain; press ctrl-t; press enter",
    );
    let words = world.words();
    assert!(
        words.contains("✗ Confidence: 'certain' is none of its words: it is low, medium, high"),
        "{words}"
    );
    assert!(
        words.contains("› Confidence certain"),
        "its line is the one that is typed into: {words}"
    );
    assert!(words.contains("↓ next word"), "{words}");
    world.tell("press left");
    assert!(
        world.words().contains("✗ Confidence"),
        "it is as wrong as before: {}",
        world.screen(160, 45)
    );
    world.tell("press ctrl-u; type l");
    assert!(
        !world.words().contains("✗ Confidence"),
        "it is another: {}",
        world.screen(160, 45)
    );
    world.tell("press ctrl-u; press down; press down; press tab; press up; press enter");
    let wanted = format!("float4 stores; Confidence: medium; Scope-risk: broad; Tested: {TESTED}");
    assert_eq!(message(&world), wanted);
    let mut world = self::world();
    world.tell("press d; press tab tab tab tab tab; type perhaps; press enter");
    assert!(
        world.words().contains("'perhaps' is none of its words"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn tested_can_be_told_otherwise_and_left_out() {
    let mut world = world();
    world.tell(
        "press d; type no gain; press shift-tab shift-tab; press ctrl-u; type by eye; press enter",
    );
    assert_eq!(message(&world), "no gain; Tested: by eye");
    let mut world = self::world();
    world.tell("press c; type fast; press shift-tab shift-tab; press ctrl-u; press enter");
    assert_eq!(message(&world), "fast");
}

#[test]
fn a_long_subject_is_said_to_be_long() {
    let mut world = world();
    world.tell("press c; type 0123456789 0123456789 0123456789 0123456789 01234567");
    assert!(
        world.words().contains("52 of 72"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("type 0123456789 0123456789");
    assert!(
        world.words().contains("! 73, more than 72"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_last_decision_is_taken_back_once_asked() {
    let mut world = world();
    world.tell("press u");
    let words = world.words();
    assert!(
        words.contains("Undo: not now")
            && words.contains("nothing was decided about kernels/rmsnorm/kernel.cu yet"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press enter; press c; type float4 stores; press enter; press u");
    check("undo", &mut world);
    world.tell("press n");
    assert_eq!(world.history.len(), 9);
    world.tell("press u; press y");
    assert_eq!(world.history.len(), 8);
    let words = world.words();
    assert!(
        words.contains("run 43 is open again: keep c0fff0b is undone · the commit stays in git"),
        "{words}"
    );
    world.tell("press c; type once more; press enter");
    assert!(
        message(&world).starts_with("once more"),
        "it can be decided anew"
    );
}

#[test]
fn a_discard_is_taken_back_and_its_bytes_have_their_verdict() {
    let mut world = world();
    world.tell("press d; type no gain; press enter");
    let before = world.runs();
    world.tell("press u; press y");
    assert_eq!(world.runs(), before, "nothing is judged again");
    assert!(
        world.words().contains("run 43 is open again: discard"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        world
            .words()
            .contains("170,020 sps faster +2.9 % (+2.6 … +3.2)"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn an_undo_that_is_refused_is_said() {
    let mut world = world();
    world.tell("press c; type fast; press enter");
    world.refusal = Some("something was built on it".into());
    world.tell("press u; press y");
    assert!(
        world.words().contains("Undo: not now"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn an_experiment_gets_a_note_and_tags() {
    let mut world = world();
    world.tell("press 3; press j T");
    check("annotate", &mut world);
    world.tell("press enter");
    assert!(
        world.words().contains("Note: has no value"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("type slower on small rows; press enter");
    let words = world.words();
    assert!(
        words.contains("is now 'slower on small rows'"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn an_experiment_is_put_in_other_words() {
    let mut world = world();
    world.tell("press 3; press j E");
    check("describe", &mut world);
    world.tell("press ctrl-u enter");
    assert!(
        world.words().contains("describe in a few words"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("type shared staging, two rows; press enter");
    let words = world.words();
    assert!(
        words.contains("9f8e7d6 is now 'shared staging, two rows'"),
        "{words}"
    );
    assert!(words.contains("○ discard 95,000"), "{words}");
}

#[test]
fn a_keep_with_other_rules_names_the_files_the_keys_and_the_command() {
    let mut world = World::new().with_history();
    let change = |path: &str, what| RuleChange {
        path: path.into(),
        what,
    };
    let keys = RuleDifference::Keys(vec!["compile.options".into(), "measure.same_within".into()]);
    world.keep_needs.0.changed = vec![
        change("kernels/rmsnorm/problem.toml", RuleDifference::Content),
        change("lab.toml", keys),
    ];
    world
        .tell("open")
        .tell(RUN)
        .tell("end pass 165210 0.0; save")
        .tell(RUN)
        .tell("end pass 170020 0.029; press c");
    check("rules_refused", &mut world);
    assert_eq!(world.history.len(), 8);
    world.tell("press enter");
    let words = world.words();
    assert!(
        words.contains("c keep (2 files of the rules are not as in HEAD)"),
        "{words}"
    );
}

#[test]
fn a_keep_says_what_else_it_commits_and_how_many_sealed_runs_come_first() {
    let mut world = World::new().with_history();
    world.slow = true;
    world.keep_needs.0.first = vec![
        "kernels/rmsnorm/problem.toml".into(),
        "kernels/rmsnorm/reference.cu".into(),
    ];
    world.keep_needs.1 = 8;
    world
        .tell("open")
        .tell(RUN)
        .tell("end pass 165210 0.0; save")
        .tell(RUN)
        .tell("end pass 170020 0.029; press c");
    check("keep_needs", &mut world);
    world.tell(
        "type fast; press enter; held-out lab: before it is kept | stage: verify | progress: 1/2",
    );
    let words = world.words();
    assert!(
        words.contains("Esc cancels 8 sealed runs, then the commit"),
        "{words}"
    );
}

#[test]
fn a_change_of_the_rules_is_seen_in_the_history() {
    let mut world = World::new().with_experiments(&[
        (42_013.0, Status::Keep, "baseline"),
        (f64::NAN, Status::Rules, "a wider tolerance"),
        (61_240.0, Status::Keep, "float4 loads"),
    ]);
    world.tell("open; press 3");
    check("rules_row", &mut world);
    let words = world.words();
    assert!(
        words.contains("≠ rules") && words.contains("a wider tolerance"),
        "{words}"
    );
    // It is a row, and no experiment: it has no record that could be missing.
    assert!(words.contains("Experiments 2"), "{words}");
    world.tell("press j");
    let words = world.words();
    assert!(
        words.contains("A change of the rules is no run") && !words.contains("lab fetch"),
        "{words}"
    );
    // Figures on its two sides are not compared.
    world.tell("press esc; press 1");
    check("rules_chart", &mut world);
    let words = world.words();
    assert!(
        words.contains("2 experiments") && words.contains("≠ rules 1"),
        "{words}"
    );
    assert!(!words.contains("vs the best before"), "{words}");
}

/// A screen that decides by rule; its newest run ends like this.
fn ruled(end: &str) -> World {
    let mut world = World::new().with_history();
    world
        .tell("open")
        .tell(RUN)
        .tell("end pass 165210 0.0; press a y; save")
        .tell(RUN)
        .tell(end);
    world
}

#[test]
fn by_rule_what_is_faster_is_kept_and_the_rule_is_on_the_screen() {
    let mut world = ruled("end pass 170020 0.029");
    assert_eq!(
        message(&world),
        format!("by rule: faster +2.9 % (+2.6 … +3.2) vs incumbent; Tested: {TESTED}")
    );
    assert!(
        world.words().contains("run 43 kept"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("wait 7000");
    check("auto", &mut world);
    world
        .tell("press a; save")
        .tell(RUN)
        .tell("end pass 180000 0.05");
    assert!(
        message(&world).starts_with("by rule: faster +2.9 %"),
        "off again, nothing is decided"
    );
}

#[test]
fn by_rule_what_is_slower_the_same_or_wrong_is_discarded() {
    for (end, words) in [
        (
            "end pass 160000 -0.03",
            "by rule: slower -3.0 % (-3.3 … -2.7) vs incumbent",
        ),
        (
            "end pass 165300 0.001",
            "by rule: same +0.1 % (-0.2 … +0.4) vs incumbent",
        ),
        (
            "end fail rows_diff is 1, its limit 1e-5",
            "by rule: rows_diff is 1, its limit 1e-5",
        ),
    ] {
        let world = ruled(end);
        assert!(message(&world).starts_with(words), "{}", message(&world));
        assert_eq!(
            world.history.last().unwrap().row.status.word(),
            "discard",
            "{end}"
        );
    }
}

#[test]
fn by_rule_everything_else_is_left() {
    for (end, why) in [
        (
            "end unbuilt kernel.cu:3: no such thing",
            "it does not build",
        ),
        ("end crash an illegal access", "it crashed"),
        ("end void it changed", "no verdict belongs to these bytes"),
        (
            "say caveat: it was hot; end pass 170020 0.029",
            "the result is caveated",
        ),
        ("end pass 170020", "it was not timed in turns"),
        ("press /; end pass 170020 0.029", "a dialog is open"),
    ] {
        let mut world = ruled(end);
        assert_eq!(world.history.len(), 8, "{end}");
        assert!(
            world.words().contains(why),
            "{end}: {}",
            world.screen(160, 45)
        );
    }
}

#[test]
fn a_refusal_of_what_was_decided_by_rule_opens_no_dialog() {
    let mut world = World::new().with_history();
    world
        .tell("open")
        .tell(RUN)
        .tell("end pass 165210 0.0; press a y; save")
        .tell(RUN);
    world.refusal = Some("keep refused: held_out_diff is 1".into());
    world.tell("end pass 170020 0.029");
    assert!(world.model.overlays.is_empty());
    assert!(
        world
            .words()
            .contains("the rule leaves the run to you: keep refused"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_verdict_of_an_earlier_screen_is_not_decided_by_rule() {
    let mut world = world();
    world.model.setup.auto.decide = true;
    world.tell("reopen");
    assert!(world.model.decision.auto);
    assert_eq!(world.history.len(), 8);
}
