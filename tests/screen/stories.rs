//! Actions of a person and their effects: saves, runs, the screen itself.

use super::states;
use super::world::World;
use lab_run::RunId;
use lab_runner::RunEvent;
use lab_tui::event::{Event, UserInput};
use lab_tui::keymap::Action;
use lab_tui::reply::RepositoryReply;
use lab_tui::state::Running;
use std::time::Duration;

pub fn check(story: &str, seen: &[&str]) -> World {
    let mut world = World::new();
    world.tell(story);
    let words = world.words();
    for text in seen {
        assert!(
            words.contains(text),
            "after `{story}` nobody sees `{text}`:\n{}",
            world.screen(160, 45)
        );
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
        assert!(
            !world.words().contains("CRASH"),
            "{}",
            world.screen(160, 45)
        );
        assert!(
            world
                .model
                .usable(lab_tui::keymap::Action::Discard)
                .is_err()
        );
    }
    check(
        &format!("open; {PASS}; reopen"),
        &["run 1 · opened", "● PASS"],
    );
    check(
        "open; end crash it hangs; reopen",
        &["run 1 · opened", "CRASH"],
    );
}

#[test]
fn what_could_not_be_judged_says_why_and_is_not_the_kernels_fault() {
    let why = "problem.toml:3:1: error: no such key";
    let not_judged = format!("end not-judged {why}");
    let mut world = check(
        &format!("open; {PASS}; save; {not_judged}"),
        &["– NOT JUDGED", why, "saved 12:00:00"],
    );
    let words = world.words();
    assert!(
        !words.contains("CRASH") && !words.contains("run 2"),
        "{words}"
    );
    world
        .model
        .usable(Action::Keep)
        .expect_err("nothing to keep");
    // Reading the repository, which has only run 1, does not replace it.
    world.tell("elsewhere; elsewhere");
    assert!(
        world.words().contains("NOT JUDGED"),
        "{}",
        world.screen(160, 45)
    );
    // Without another save, nothing is judged again; the next run gets the free number.
    assert!(matches!(world.model.runs.running, Running::No));
    world.tell(&format!("save; {PASS}"));
    assert!(
        world.words().contains("run 2 · saved"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("elsewhere; press c");
    // The same if no run was judged before, again and again.
    let first =
        format!("open; {not_judged}; save; {not_judged}; press r; {not_judged}; save; {PASS}");
    check(&first, &["● PASS", "run 1 · saved"]);
    // Bytes that were judged before show their verdict once the problem is repaired.
    check(
        &format!("open; {not_judged}; reopen; {PASS}"),
        &["● PASS", "run 1 · opened"],
    );
}

#[test]
fn where_several_kernels_are_the_list_comes_first() {
    let mut world = check(
        "open somewhere",
        &[
            "Kernels",
            "▸kernels/rmsnorm/kernel.cu",
            "kernels/two/fast.cu",
        ],
    );
    world.tell("press down; press enter");
    assert_eq!(
        world.asked.last().unwrap(),
        "OpenKernel(\"kernels/softmax/kernel.cu\")"
    );
}

#[test]
fn another_kernel_of_the_repository_is_chosen_from_a_list() {
    let story =
        format!("open; {PASS}; press c; type a first one; press enter; save; {PASS}; press ctrl-o");
    let mut world = check(
        &story,
        &[
            "Kernels",
            "▸kernels/rmsnorm/kernel.cu",
            "this screen, 1 experiment",
            "kernels/softmax/kernel.cu",
            "87 % floor",
            "0.97× torch.compile, 6.67×",
        ],
    );
    // Each kernel has its last verdict and its incumbent's figure.
    states::check("kernels", &mut world);
    let words = world.words();
    assert!(
        words.contains("✗ BUILD ERROR")
            && words.contains("● PASS")
            && words.contains("kept 1,000 sps"),
        "{words}"
    );
    // Keys that are pressed while the kernels are still looked for wait for them.
    world.tell("press esc; press ctrl-o t w o down up enter");
    assert_eq!(
        world.asked.pop().unwrap(),
        "OpenKernel(\"kernels/two/fast.cu\")"
    );
    world.tell("press ctrl-o down down enter");
    assert_eq!(
        world.asked.pop().unwrap(),
        "OpenKernel(\"kernels/two/fast.cu\")"
    );
    world.tell("press ctrl-o down esc");
    assert!(world.asked.is_empty() && world.model.overlays.is_empty());
    // Choosing the present kernel changes nothing.
    world.tell("press ctrl-o; press enter");
    assert!(
        world.asked.is_empty() && world.model.overlays.is_empty(),
        "{:?}",
        world.asked
    );
    world.tell("press ctrl-o; press down; press enter");
    assert_eq!(world.asked, ["OpenKernel(\"kernels/softmax/kernel.cu\")"]);
    // A part of the name is enough, and Esc changes nothing.
    world.asked.clear();
    world.tell("press ctrl-o; type fast; press enter; press ctrl-o; press down esc; press ctrl-o; type zzz; press enter");
    assert_eq!(world.asked, ["OpenKernel(\"kernels/two/fast.cu\")"]);
    assert!(
        world.words().contains("nothing fits"),
        "{}",
        world.screen(160, 45)
    );
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
    // Late events of the first run have no effect.
    let late = world.model.panes.log.log().lines.len();
    let batch = lab_runner::follow::Batch {
        lines: Vec::new(),
        skipped: 9,
        report: None,
    };
    world.send(Event::Run(RunEvent::Progress(RunId(1), batch)));
    assert_eq!(world.model.panes.log.log().lines.len(), late);
    assert!(
        world.model.runs.last.is_none(),
        "a run that was ended by a newer one leaves no verdict"
    );
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
fn kernels_that_cannot_be_confined_run_after_a_yes_only() {
    let mut world = World::new().unconfined();
    world.tell("open");
    assert!(
        world.words().contains("Trust this folder?"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        world
            .words()
            .contains("they cannot be kept from your files here")
    );
    world.tell("press n");
    assert!(matches!(world.model.runs.running, Running::No));
    assert!(
        world
            .words()
            .contains("no verdict: this folder is not trusted")
    );
    world.tell("press r; press y");
    assert!(matches!(world.model.runs.running, Running::Live(_)));
}

#[test]
fn a_long_command_is_run_once_all_of_its_lines_were_shown() {
    let lines: Vec<String> = (1..=60).map(|n| format!("echo {n}")).collect();
    let command = format!("{}\nrm -rf \u{202e}~", lines.join("\n"));
    let mut world = World::new().external();
    world.model.setup.external = Some(command);
    world.tell("open");
    // A yes has no effect before the question and its end were drawn.
    world.tell("press y");
    world.screen(100, 30);
    for key in ["y", "G", "y", "down", "y", "up", "up", "y"] {
        world.tell(&format!("press {key}"));
        let screen = world.screen(100, 30);
        assert!(matches!(world.model.runs.running, Running::No), "{screen}");
        assert!(
            screen.contains("Trust this harness?") && !screen.contains("rm -rf"),
            "{screen}"
        );
    }
    assert!(
        world
            .words()
            .contains("yes is possible once all of the question was shown")
    );
    world.tell("press g");
    let mut pages = Vec::new();
    while !world.screen(100, 30).contains("Run it?") {
        pages.push(world.screen(100, 30));
        assert!(pages.len() < 20, "the end never comes");
        world.tell("press ctrl-d");
    }
    pages.push(world.screen(100, 30));
    let all = pages.concat();
    for n in 1..=60 {
        assert!(all.contains(&format!("{n:>5} │ echo {n} ")), "{n}: {all}");
    }
    assert!(all.contains(r"   61 │ rm -rf \u{202e}~"), "{all}");
    // Another width has other rows, so the whole question must be shown again.
    world.screen(60, 24);
    world.tell("press y");
    assert!(matches!(world.model.runs.running, Running::No));
    while !world.screen(60, 24).contains("Run it?") {
        world.tell("press ctrl-d");
    }
    world.screen(60, 24);
    world.tell("press y");
    assert!(matches!(world.model.runs.running, Running::Live(_)));
}

#[test]
fn what_is_being_typed_answers_no_question() {
    let mut world = World::new().external();
    world.tell("open; press n; press :; save; type y");
    assert!(
        matches!(world.model.runs.running, Running::No),
        "{}",
        world.screen(160, 45)
    );
    // The question waits below the dialog, and can be answered once it is shown.
    world.tell("press esc");
    assert!(
        world.words().contains("uv run harness.py"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press y");
    assert!(matches!(world.model.runs.running, Running::Live(_)));
}

#[test]
fn a_measurement_is_started_by_a_key_and_judges_more_workloads() {
    check(
        "open; say correctness: pass | workloads: 3 of=54 when=save; end pass 1000",
        &["● PASS", "3 of 54 workloads"],
    );
    let story =
        format!("open; {PASS}; press m; say correctness: pass | workloads: 54 of=54 when=measure");
    check(&story, &["run 2 · measure"]);
    let mut world = check(
        &format!("{story}; end pass 1000"),
        &["● PASS", "run 2 · measure"],
    );
    assert!(
        !world.words().contains("of 54 workloads"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_run_can_be_stopped() {
    let world = check(
        "open; say stage: verify; press x",
        &["∅ VOID", "it was ended before it was done"],
    );
    assert!(matches!(world.model.runs.running, Running::No));
    check(
        &format!("open; {PASS}; press x"),
        &["stop: no run in progress"],
    );
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
    assert_eq!(
        world.asked,
        ["OpenEditor(Some(Spot { line: 31, column: None }))"]
    );
}

#[test]
fn the_editor_opens_at_an_error_that_an_external_harness_shows() {
    let mut world = World::new().external();
    world.tell(
        "open; press y; say kernel.cu:2:9: error: no; end crash the harness ended with exit code 1; press e",
    );
    assert_eq!(
        world.asked,
        ["OpenEditor(Some(Spot { line: 2, column: Some(9) }))"]
    );
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
    let world = check(
        &format!("open; {PASS}; save; {PASS}; press c ctrl-c c esc ? q"),
        &["● PASS"],
    );
    assert!(world.model.overlays.is_empty());
    assert!(world.asked.is_empty());
}

#[test]
fn what_is_typed_into_the_help_decides_nothing() {
    let story = format!("open; {PASS}; save; {PASS}; press ?; type /undo; press d p x space tab");
    // The first Esc ends the search, the next key closes the help.
    for close in ["esc", "q", "?", "enter", "f1"] {
        let mut world = check(&story, &["/ undodpx", "Esc ends the search"]);
        world.tell("press esc d p x space tab");
        assert!(
            world.words().contains("In the view Bench") && world.words().contains("Esc closes")
        );
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
    assert_eq!(world.model.wakes_at(), Some(Duration::from_millis(500)));
    // A clock that shows seconds is drawn each second.
    let world = check("open; wait 12300", &["START 12 s"]);
    assert_eq!(world.model.wakes_at(), Some(Duration::from_millis(13_300)));
    let world = check(&format!("open; {PASS}; press p; wait 10000"), &[]);
    assert_eq!(world.model.wakes_at(), None, "the message has gone");
}

#[test]
fn a_broken_part_says_so_and_the_rest_goes_on() {
    let mut world = check(&format!("open; {PASS}"), &[]);
    world.send(Event::WorkerDied {
        name: "watch".into(),
        message: "index out of bounds".into(),
    });
    assert!(
        world
            .words()
            .contains("a thread of the lab panicked (watch): index out of bounds")
    );
    world.tell("press r");
    assert!(world.words().contains("run 2 · rerun"));
}

#[test]
fn the_help_says_all_of_it_on_a_small_screen() {
    let mut world = World::new();
    world.tell("open; press ?");
    let mut seen = String::new();
    for _ in 0..180 {
        seen.push_str(&world.screen(80, 24));
        world.tell("press j");
    }
    let words: Vec<&str> = seen
        .split(|c: char| c.is_whitespace() || "│╭╮╰╯─".contains(c))
        .collect();
    for binding in lab_tui::keymap::TABLE {
        for word in binding.doc.split_whitespace() {
            assert!(
                words.contains(&word),
                "'{word}' of '{}' is cut",
                binding.doc
            );
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
    assert!(
        world.words().contains("● 61,240 float4 loads"),
        "{}",
        world.screen(160, 45)
    );
    let entry = world
        .commits
        .iter_mut()
        .find(|c| c.subject == "float4 loads")
        .unwrap();
    entry.experiment.as_mut().unwrap().kernel = Some("kernels/other/kernel.cu".into());
    world.tell("save; end pass 6");
    assert!(
        world.words().contains("float4 loads") && !world.words().contains("61,240 float4 loads")
    );
}

#[test]
fn a_reason_without_end_leaves_room_for_the_gates() {
    let long = "x".repeat(100_000);
    let story =
        format!("open; say out_max_diff: 2 limit=1 | first_failure: {long}; end fail {long}");
    check(&story, &["out_max_diff", "x…"]);
}

#[test]
fn only_experiments_of_this_device_stand_beside_each_other() {
    let mut world = World::new().with_history();
    world.history[0].emulated = true;
    world.history[1].device = Some("NVIDIA A100".into());
    world.history[2].kernel = Some("kernels/other/kernel.cu".into());
    world.tell("open; say device: NVIDIA H200; end pass 5");
    assert_eq!(
        world.model.repository.comparable().len(),
        world.history.len() - 3
    );
}

#[test]
fn what_is_chosen_in_one_pane_is_shown_in_the_others() {
    let mut world = World::new().with_history();
    // The third from the right of the chart.
    world.tell("open; press tab k k k; press 3");
    let screen = world.screen(160, 45);
    assert!(screen.contains("+ the bytes of 9f8e7d4"), "{screen}");
    world.tell("press j; press 1");
    assert!(
        world.screen(160, 45).contains("▸ 4 of 8  9f8e7d3"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn each_view_keeps_its_own_focus() {
    let mut world = World::new().with_history();
    world.tell("open; press tab tab; press 3; press tab; press 1");
    assert_eq!(world.model.panes.focus().name(), "Git log");
    world.tell("press 3");
    assert_eq!(world.model.panes.focus().name(), "Experiment");
}
