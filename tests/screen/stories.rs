//! What a person does, in their words, and what comes of it: saves, runs, the screen itself.

use super::world::World;
use lab_core::run::RunId;
use lab_core::runner::RunEvent;
use lab_tui::event::{Event, UserInput};
use lab_tui::reply::RepositoryReply;
use lab_tui::state::Running;
use std::time::Duration;

pub fn check(story: &str, seen: &[&str]) -> World {
    let mut world = World::new();
    world.tell(story);
    let words = world.words();
    for text in seen {
        assert!(words.contains(text), "after `{story}` nobody sees `{text}`:\n{}", world.screen(160, 45));
    }
    world
}

pub const PASS: &str = "say correctness: pass; end pass 1000";

#[test]
fn opening_judges_what_was_never_judged() {
    check("open", &["run 1 · opened 12:00:00"]);
}

#[test]
fn opening_judges_what_was_not_judged_to_the_end() {
    for ending in ["end void it was stopped", "killed"] {
        let mut world = check(&format!("open; {ending}; reopen"), &["run 2 · opened"]);
        assert!(!world.words().contains("CRASH"), "{}", world.screen(160, 45));
        assert!(world.model.usable(lab_tui::keymap::Action::Discard).is_err());
    }
    check(&format!("open; {PASS}; reopen"), &["run 1 · opened", "● PASS"]);
    check("open; end crash it hangs; reopen", &["run 1 · opened", "CRASH"]);
}

#[test]
fn a_long_message_is_said_to_its_end() {
    let mut world = check(&format!("open; {PASS}"), &[]);
    let why = "results.tsv cannot be written (permission denied): the decision stands, the row is missing; give \
               yourself the right to write it, then `lab log --append-missing` adds it";
    world.send(Event::Repository(RepositoryReply::Project(Err(why.into()))));
    for (width, height) in [(160, 45), (120, 30), (80, 24), (60, 16), (60, 12)] {
        let screen = world.screen(width, height);
        assert!(screen.contains("adds it"), "{screen}");
    }
}

#[test]
fn where_nothing_can_be_shown_only_q_acts() {
    let mut world = World::new();
    world.tell(&format!("open; {PASS}; save; {PASS}"));
    world.screen(20, 5);
    world.tell("press d x enter c e p r; paste x; press enter");
    assert!(world.history.is_empty() && world.asked.is_empty() && world.model.overlays.is_empty());
    assert!(matches!(world.model.runs.running, Running::No) && !world.model.runs.paused);
    // A dialog that was open when the terminal shrank waits.
    world.screen(160, 45);
    world.tell("press d");
    world.screen(39, 10);
    world.tell("press x enter y");
    assert!(world.history.is_empty() && world.model.overlays.len() == 1);
    world.tell("press q");
    assert_eq!(world.asked, ["Quit"]);
}

#[test]
fn a_save_during_a_run_takes_its_place() {
    let mut world = check("open; say stage: verify; save", &["run 2 · saved"]);
    // What the first still had to say comes late, and nobody listens.
    let late = world.model.panes.log.log().len();
    let batch = lab_core::runner::follow::Batch { lines: Vec::new(), skipped: 9, report: None };
    world.send(Event::Run(RunEvent::Progress(RunId(1), batch)));
    assert_eq!(world.model.panes.log.log().len(), late);
    assert!(world.model.runs.last.is_none(), "a run that was ended by a newer one leaves no verdict");
}

#[test]
fn bytes_that_did_not_change_start_nothing() {
    let world = check(&format!("open; {PASS}; touch"), &["run 1"]);
    assert!(matches!(world.model.runs.running, Running::No));
}

#[test]
fn while_paused_a_save_only_makes_it_stale() {
    let story = format!("open; {PASS}; press p; save");
    check(&story, &["stale", "paused", "not watching"]);
    check(&format!("{story}; press p"), &["run 2 · saved", "stale"]);
    check(&format!("{story}; press r"), &["run 2 · rerun"]);
}

#[test]
fn an_untrusted_command_runs_after_a_yes_only() {
    let mut world = World::new().external();
    world.tell("open");
    assert!(world.words().contains("uv run harness.py"));
    world.tell("press n");
    assert!(matches!(world.model.runs.running, Running::No));
    assert!(world.words().contains("not trusted"));
    world.tell("press r; press y");
    assert!(matches!(world.model.runs.running, Running::Live(_)));
}

#[test]
fn what_is_being_typed_answers_no_question() {
    let mut world = World::new().external();
    world.tell("open; press n; press :; save; type y");
    assert!(matches!(world.model.runs.running, Running::No), "{}", world.screen(160, 45));
    // The question waits below, and is answered once it is seen.
    world.tell("press esc");
    assert!(world.words().contains("uv run harness.py"), "{}", world.screen(160, 45));
    world.tell("press y");
    assert!(matches!(world.model.runs.running, Running::Live(_)));
}

#[test]
fn a_run_can_be_stopped() {
    let world = check("open; say stage: verify; press x", &["∅ VOID", "it was ended before it was done"]);
    assert!(matches!(world.model.runs.running, Running::No));
    check(&format!("open; {PASS}; press x"), &["stop: no run in progress"]);
}

#[test]
fn quitting_ends_the_run() {
    let world = check("open; press q", &[]);
    assert_eq!(world.asked, ["Quit"]);
}

#[test]
fn the_editor_opens_at_the_first_error() {
    let mut world = World::new();
    world.tell("open; say kernels/rmsnorm/kernel.cu(31): error: no; end unbuilt it does not build; press e");
    assert_eq!(world.asked, ["OpenEditor(Some(Spot { line: 31, column: None }))"]);
}

#[test]
fn the_editor_opens_at_an_error_that_an_external_harness_shows() {
    let mut world = World::new().external();
    world.tell(
        "open; press y; say kernel.cu:2:9: error: no; end crash the harness ended with exit code 1; press e",
    );
    assert_eq!(world.asked, ["OpenEditor(Some(Spot { line: 2, column: Some(9) }))"]);
    world.tell("save; say correctness: pass; end pass 5; press e");
    assert_eq!(world.asked[1], "OpenEditor(None)");
}

#[test]
fn pasted_text_is_text() {
    check("open; paste q q q", &["run 1"]);
    let story = format!("open; {PASS}; save; {PASS}; press c; paste quick q; press enter");
    let world = check(&story, &["kept"]);
    assert_eq!(world.history[0].row.description, "quick q");
    assert!(world.asked.is_empty());
    let lines = "two rows\r\n  a warp\rand\n\nmore";
    let mut world = World::new();
    world.tell(&format!("open; {PASS}; save; {PASS}; press c"));
    world.send(Event::Input(UserInput::Paste(lines.into())));
    world.tell("press enter");
    assert_eq!(world.history[0].row.description, "two rows a warp and more");
}

#[test]
fn escape_and_ctrl_c_leave_a_dialog_and_not_the_screen() {
    let world = check(&format!("open; {PASS}; save; {PASS}; press c ctrl-c c esc ? q"), &["● PASS"]);
    assert!(world.model.overlays.is_empty());
    assert!(world.asked.is_empty());
}

#[test]
fn what_is_typed_into_the_help_decides_nothing() {
    let story = format!("open; {PASS}; save; {PASS}; press ?; type /undo; press d p x space tab");
    // The search goes with the first Esc, the help with the next key that closes it.
    for close in ["esc", "q", "?", "enter", "f1"] {
        let mut world = check(&story, &["/ undodpx", "Esc ends the search"]);
        world.tell("press esc d p x space tab");
        assert!(world.words().contains("In the view Bench") && world.words().contains("Esc closes"));
        world.tell(&format!("press {close}"));
        assert!(world.model.overlays.is_empty(), "{close} closes it");
        assert!(world.asked.is_empty() && world.history.is_empty() && !world.model.runs.paused);
    }
}

#[test]
fn an_idle_screen_wants_no_clock() {
    let world = check(&format!("open; {PASS}"), &[]);
    assert_eq!(world.model.wakes_at(), None);
    let world = check("open", &[]);
    assert_eq!(world.model.wakes_at(), Some(Duration::from_millis(100)));
    let world = check(&format!("open; {PASS}; press p; wait 10000"), &[]);
    assert_eq!(world.model.wakes_at(), None, "the message has gone");
}

#[test]
fn a_broken_part_says_so_and_the_rest_goes_on() {
    let mut world = check(&format!("open; {PASS}"), &[]);
    world.send(Event::WorkerDied { name: "watch".into(), message: "index out of bounds".into() });
    assert!(world.words().contains("a thread of the lab panicked (watch): index out of bounds"));
    world.tell("press r");
    assert!(world.words().contains("run 2 · rerun"));
}

#[test]
fn the_help_says_all_of_it_on_a_small_screen() {
    let mut world = World::new();
    world.tell("open; press ?");
    let mut seen = String::new();
    for _ in 0..140 {
        seen.push_str(&world.screen(80, 24));
        world.tell("press j");
    }
    let words: Vec<&str> = seen.split(|c: char| c.is_whitespace() || "│╭╮╰╯─".contains(c)).collect();
    for binding in lab_tui::keymap::TABLE {
        for word in binding.doc.split_whitespace() {
            assert!(words.contains(&word), "'{word}' of '{}' is cut", binding.doc);
        }
    }
}

#[test]
fn from_the_end_of_the_help_one_goes_back_row_by_row() {
    let mut world = World::new();
    world.tell("open; press ? G");
    let end = world.screen(80, 24);
    world.tell("press k");
    let before = world.screen(80, 24);
    assert_ne!(before, end, "one row up");
    world.tell("press j j j");
    assert_eq!(world.screen(80, 24), end);
}

#[test]
fn a_commit_of_another_kernel_shows_no_figure() {
    let mut world = World::new().with_history();
    world.tell("open; end pass 5");
    assert!(world.words().contains("● 61,240 float4 loads"), "{}", world.screen(160, 45));
    let entry = world.commits.iter_mut().find(|c| c.subject == "float4 loads").unwrap();
    entry.experiment.as_mut().unwrap().kernel = Some("kernels/other/kernel.cu".into());
    world.tell("save; end pass 6");
    assert!(world.words().contains("float4 loads") && !world.words().contains("61,240 float4 loads"));
}

#[test]
fn a_reason_without_end_leaves_room_for_the_gates() {
    let long = "x".repeat(100_000);
    let story = format!("open; say out_max_diff: 2 limit=1 | first_failure: {long}; end fail {long}");
    check(&story, &["out_max_diff", "x…"]);
}

#[test]
fn only_experiments_of_this_device_stand_beside_each_other() {
    let mut world = World::new().with_history();
    world.history[0].emulated = true;
    world.history[1].device = Some("NVIDIA A100".into());
    world.history[2].kernel = Some("kernels/other/kernel.cu".into());
    world.tell("open; say device: NVIDIA H200; end pass 5");
    assert_eq!(world.model.repository.comparable().len(), world.history.len() - 3);
}

#[test]
fn what_is_chosen_in_one_pane_is_shown_in_the_others() {
    let mut world = World::new().with_history();
    // The third from the right of the chart.
    world.tell("open; press tab k k k; press 3");
    let screen = world.screen(160, 45);
    assert!(screen.contains("+ the bytes of 9f8e7d4"), "{screen}");
    world.tell("press j; press 1");
    assert!(world.screen(160, 45).contains("▸ 4 of 8  9f8e7d3"), "{}", world.screen(160, 45));
}

#[test]
fn each_view_keeps_its_own_focus() {
    let mut world = World::new().with_history();
    world.tell("open; press tab tab; press 3; press tab; press 1");
    assert_eq!(world.model.panes.focus().name(), "Git log");
    world.tell("press 3");
    assert_eq!(world.model.panes.focus().name(), "Experiment");
}
