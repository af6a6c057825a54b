//! The two keys: what a keep and a discard ask, when they are refused, and what they change.

use super::stories::{PASS, check};
use super::world::World;
use lab_decide::Refusal;
use lab_run::verdict::Outcome;
use lab_run::{Reason, RunId};
use lab_tui::event::Event;
use lab_tui::reply::RepositoryReply;
use lab_tui::state::Running;

#[test]
fn save_pass_and_keep() {
    let story = format!("open; {PASS}; save; {PASS}; press c; type two rows a warp; press enter");
    let world = check(
        &story,
        &["run 2 kept as c0ffee2", "two rows a warp", "● PASS", "kept"],
    );
    assert_eq!(world.history.len(), 1);
    assert_eq!(world.history[0].row.description, "two rows a warp");
}

#[test]
fn a_keep_wants_words() {
    let world = check(
        &format!("open; {PASS}; press c enter"),
        &["describe what you tried"],
    );
    assert!(world.history.is_empty());
}

#[test]
fn a_save_while_the_words_are_typed_is_not_committed_over() {
    let story = format!("open; {PASS}; save; {PASS}; press c; type fast; save; press enter");
    let world = check(&story, &["there is a newer run"]);
    assert!(world.history.is_empty());
    let story = format!("{story}; {PASS}; press enter");
    check(&story, &["there is a newer run"]);
}

#[test]
fn a_failing_verdict_cannot_be_kept_but_discarded() {
    let story =
        "open; say correctness: fail; save; say correctness: fail; end fail out is wrong; press c";
    check(
        story,
        &[
            "✗ FAIL",
            "needs a passing verdict",
            "c keep (needs a passing verdict)",
        ],
    );
    let world = check(
        "open; say correctness: pass; end pass 5; save; say correctness: fail; end fail out is wrong; press d enter",
        &["discarded", "● PASS"],
    );
    assert_eq!(world.history[0].row.description, "out is wrong");
}

#[test]
fn what_is_typed_after_a_refused_key_is_no_command() {
    // If the user types `c`, a sentence and Enter at once, the letters of the sentence must not
    // discard.
    let story = "open; say correctness: pass; end pass 5; save; say correctness: fail; end fail out is wrong";
    let refused = "open; say correctness: pass; end pass 5; press d; type added dry run q; paste d";
    let world = check(
        refused,
        &["not now", "incumbent's own bytes", "Enter go back"],
    );
    assert!(world.asked.is_empty());
    let mut world = check(&format!("{refused}; wait 600; press enter"), &["● PASS"]);
    assert!(
        world.model.overlays.is_empty() && world.history.is_empty() && !world.model.runs.paused
    );
    assert!(!world.words().contains("not now"));
    let world = check(
        &format!("{story}; press c; type added; press enter"),
        &["✗ FAIL"],
    );
    assert!(world.history.is_empty());
}

#[test]
fn a_keep_during_a_run_waits_for_its_verdict() {
    let story = format!(
        "open; {PASS}; save; say stage: verify; press c; type two rows a warp; press enter"
    );
    let waits = check(&story, &["the keep follows this run", "a keep follows"]);
    assert!(waits.history.is_empty());
    let world = check(&format!("{story}; {PASS}"), &["run 2 kept as"]);
    assert_eq!(world.history[0].row.description, "two rows a warp");
    // The key again takes it back, and the text stays for the next keep.
    let back = format!("{story}; press c; {PASS}");
    let world = check(&back, &["● PASS"]);
    assert!(world.history.is_empty());
    check(
        &format!("{back}; press c"),
        &["Keep run 2", "two rows a warp"],
    );
    // A verdict that cannot be kept says so, and a newer save withdraws it.
    let failed = format!("{story}; say correctness: fail; end fail out is wrong");
    let world = check(&failed, &["Keep: not now", "needs a passing verdict"]);
    assert!(world.history.is_empty());
    let world = check(
        &format!("{story}; save; {PASS}"),
        &["no keep follows: there is a newer run"],
    );
    assert!(world.history.is_empty());
}

#[test]
fn keys_right_after_a_save_wait_until_the_run_has_its_number() {
    let starting = |keys: &str| {
        let mut world = World::new();
        world.tell(&format!("open; {PASS}"));
        world.model.runs.running = Running::Asked(Reason::Saved, world.model.now);
        world.tell(keys);
        world
    };
    let keys = "press c; type two rows a warp; press enter";
    let mut world = starting(keys);
    assert!(!world.words().contains("not now"), "{}", world.words());
    world.tell("begins");
    assert!(
        world.words().contains("the keep follows this run"),
        "{}",
        world.words()
    );
    world.tell(PASS);
    assert_eq!(world.history[0].row.description, "two rows a warp");
    // A run that does not begin soon is not waited for.
    let mut world = starting(&format!("{keys}; wait 600"));
    assert!(
        world.words().contains("a run is starting"),
        "{}",
        world.words()
    );
    assert!(world.history.is_empty());
}

#[test]
fn a_discard_during_a_run_waits_for_its_end() {
    let story =
        format!("open; {PASS}; save; say stage: verify; press d; type no gain; press enter");
    let waits = check(
        &story,
        &["the discard follows this run", "a discard follows"],
    );
    assert!(waits.history.is_empty());
    for end in ["say correctness: fail; end fail out is wrong", PASS] {
        let world = check(&format!("{story}; {end}"), &["run 2 discarded"]);
        assert_eq!(world.history[0].row.description, "no gain");
    }
    // The key again takes it back.
    let world = check(&format!("{story}; press d; {PASS}"), &["● PASS"]);
    assert!(world.history.is_empty());
    // Nothing is left to decide where the run was stopped or a newer save came. The text stays.
    let stopped =
        "no discard follows: run 2 gave no verdict; your text is kept for the next discard";
    for (withdrawn, why) in [
        ("press x", stopped),
        ("end void stopped", stopped),
        (
            "save",
            "no discard follows: there is a newer run; your text is kept",
        ),
    ] {
        let mut world = check(&format!("{story}; {withdrawn}"), &[why]);
        world.tell(&format!("save; {PASS}"));
        assert!(
            world.history.is_empty() && world.model.overlays.is_empty(),
            "{withdrawn}"
        );
        world.tell("press d");
        let words = world.words();
        assert!(
            words.contains("Discard run") && words.contains("no gain"),
            "{words}"
        );
    }
    let paused = "no discard follows: the bytes on disk are not those that the run judged; your text is kept";
    let world = check(&format!("{story}; press p; save; {PASS}"), &[paused]);
    assert!(world.history.is_empty());
    // The incumbent's own bytes cannot be discarded, so nothing waits.
    check("open; say stage: verify; press d", &["Discard: not now"]);
}

#[test]
fn a_decision_that_fails_says_all_of_why() {
    let mut world = World::new();
    world.tell(&format!("open; {PASS}; save; {PASS}"));
    let why = "git's index is locked: another git command is at work; try again when it is done. If none runs, remove \
               /home/ada/kernels/.git/index.lock";
    world.send(Event::Repository(RepositoryReply::Changed(Err(
        Refusal::No(why.into()),
    ))));
    assert!(world.words().contains("If none runs, remove"));
    for (width, height) in [(80, 24), (40, 12)] {
        let screen = world.screen(width, height);
        assert!(
            screen.contains("index.loc") && screen.contains("Enter"),
            "{screen}"
        );
    }
    world.tell("press d d esc");
    assert!(world.model.overlays.is_empty());
}

#[test]
fn a_message_that_was_not_used_is_there_again() {
    let story =
        format!("open; {PASS}; save; {PASS}; press c; type two rows; press tab; type 48 kB");
    for (why, goes_on) in [
        ("left", "press esc; press c; type  a warp"),
        (
            "a newer run",
            "save; press enter esc; say correctness: pass; end pass 5; press c; press end; type  a warp",
        ),
    ] {
        let mut world = World::new();
        world.tell(&format!("{story}; {goes_on}"));
        let words = world.words();
        assert!(
            words.contains("two rows a warp") && words.contains("48 kB"),
            "{why}: {words}"
        );
        world.tell("press enter");
        let experiment = &world.history[0];
        assert_eq!(experiment.row.description, "two rows a warp", "{why}");
        // A used text is gone.
        world.tell(&format!("save; {PASS}; press c"));
        assert!(
            !world.words().contains("48 kB"),
            "{}",
            world.screen(160, 45)
        );
    }
    let mut world = World::new();
    world.refusal = Some("git's index is locked".into());
    world.tell(&format!("{story}; press enter"));
    assert!(
        world.words().contains("Keep: not now"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press esc; press c");
    assert!(
        world.words().contains("two rows") && world.words().contains("48 kB"),
        "{}",
        world.screen(160, 45)
    );
    // Its line is emptied like any other; a discard has a text of its own.
    world.tell("press ctrl-u esc; press d; type no gain; press esc d");
    let words = world.words();
    assert!(
        words.contains("no gain") && !words.contains("two rows"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_save_is_not_forgotten_over_a_run_of_older_bytes() {
    let mut world = World::new();
    world.slow = true;
    // Two runs were asked for, and the second begins after the first one's verdict was decided.
    world.tell(&format!(
        "open; {PASS}; save; {PASS}; press d; type no; press enter; begins; save; decided"
    ));
    world.tell("end void kernel.cu changed while the harness ran");
    assert!(
        world.words().contains("run 4 · saved"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_save_while_a_commit_is_made_is_judged_after_it() {
    let mut world = World::new();
    world.slow = true;
    world.tell(&format!(
        "open; {PASS}; save; {PASS}; press c; type fast; press enter; save"
    ));
    assert!(matches!(world.model.runs.running, Running::No));
    assert!(
        world.words().contains("keeping …"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("decided");
    assert!(
        world.words().contains("run 3 · saved"),
        "{}",
        world.screen(160, 45)
    );
    world.tell(PASS);
    assert!(!world.words().contains("stale"));
    // Without a save, nothing is judged again.
    world.tell("press c; type faster; press enter; wait 10; decided");
    assert!(matches!(world.model.runs.running, Running::No));
}

#[test]
fn a_keep_shows_its_check_and_esc_cancels_it() {
    let mut world = World::new();
    world.slow = true;
    world.refusal = Some("cancelled: nothing was kept, and run 2 is open".to_owned());
    world.tell(&format!(
        "open; {PASS}; save; {PASS}; press c; type fast; press enter"
    ));
    world.tell("held-out lab: before it is kept | stage: verify | progress: 1/2");
    let words = world.words();
    for seen in ["HELD OUT", "1/2", "Esc cancels", "before it is kept"] {
        assert!(words.contains(seen), "{}", world.screen(160, 45));
    }
    // The way out and the tags come before the explanation, which a narrow screen cuts off.
    world.model.runs.paused = true;
    for columns in [80, 120] {
        let screen = world.screen(columns, 24);
        let has = |text| screen.contains(text);
        assert!(has("Esc cancels") && has("paused"), "{screen}");
    }
    world.model.runs.paused = false;
    // Other keys work meanwhile, and Esc closes the topmost dialog first.
    world.tell("press tab z ? esc");
    assert_eq!(world.asked, [""; 0]);
    world.tell("press esc");
    assert_eq!(world.asked, ["StopKeep"]);
    world.tell("decided");
    assert!(
        world.words().contains("nothing was kept"),
        "{}",
        world.screen(160, 45)
    );
    assert!(!world.words().contains("HELD OUT"));
    // The run can still be kept.
    world.tell(
        "press esc; press z; press c; type fast; press enter; held-out progress: 1/2; decided",
    );
    assert!(
        world.words().contains("run 2 kept as"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_keep_that_is_refused_names_the_gate() {
    let mut world = World::new();
    let why = "keep refused: h1_max_diff is 3.1e-4, its limit 1.5e-5, on a held-out start state (seed 12)";
    world.refusal = Some(why.to_owned());
    world.tell(&format!(
        "open; {PASS}; save; {PASS}; press c; type fast; press enter"
    ));
    let words = world.words();
    assert!(
        words.contains("keep refused: h1_max_diff is 3.1e-4"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_discard_shows_the_incumbents_verdict_again() {
    let world = check(
        &format!(
            "open; {PASS}; save; say correctness: pass; end pass 900; press d; type no; press enter"
        ),
        &["run 2 discarded", "1,000 sps"],
    );
    let last = world.model.runs.last.as_ref().unwrap();
    assert_eq!(
        (last.start.id, last.verdict.outcome),
        (RunId(1), Outcome::Pass)
    );
}

#[test]
fn a_discard_to_bytes_that_nobody_judged_judges_them() {
    let mut world = World::new();
    world.tell("open; save");
    world.tell(&format!("{PASS}; press d enter"));
    let is_restored = matches!(&world.model.runs.running, Running::Live(live) if live.start.reason == Reason::Restored);
    assert!(is_restored, "{}", world.screen(160, 45));
}

#[test]
fn a_discard_of_newer_bytes_asks_once() {
    let story = format!("open; {PASS}; save; {PASS}; press p; save; press d");
    check(
        &story,
        &[
            "Discard run 2",
            "has changed since run 2 judged it: the newer",
        ],
    );
    let asked = format!("{story}; type both; press enter");
    check(
        &asked,
        &["Discard?", "has changed since run 2 judged it: the newer"],
    );
    let world = check(&format!("{asked} y"), &["run 2 discarded"]);
    assert_eq!(world.history[0].row.description, "both");
    let world = check(&format!("{asked} n"), &["stale"]);
    assert!(world.history.is_empty());
}

#[test]
fn a_question_before_a_discard_ends_with_a_newer_run() {
    let mut world = check(
        &format!("open; {PASS}; save; end void stopped; press d enter"),
        &["Discard?", "No verdict belongs to the present bytes"],
    );
    world.tell(&format!("save; {PASS}"));
    assert!(world.model.overlays.is_empty(), "{}", world.screen(160, 45));
    let words = world.words();
    assert!(
        words.contains("no discard follows: there is a newer run"),
        "{words}"
    );
}

#[test]
fn a_discard_that_writes_no_row_needs_no_text() {
    let before = format!("open; {PASS}; save; end void stopped; press c esc; press d");
    let ask = "kept in git, but no row is written.";
    check(&before, &["Discard unjudged", "∅ no verdict", ask]);
    let story = format!("{before} enter; press y");
    let saved = "discarded · the bytes that were on disk are kept as 5a7ed00";
    let world = check(&story, &[saved, "1,000 sps"]);
    assert!(world.model.overlays.is_empty() && world.history.is_empty());
}

#[test]
fn text_typed_behind_the_key_of_a_discard_is_text_whatever_is_discarded() {
    let typed = "press d; type yes, no gain by __expf; press enter";
    let mut world = check(
        &format!("open; {PASS}; save; end void stopped; {typed}"),
        &["Discard?", "No verdict belongs to the present bytes"],
    );
    // A text for another dialog is no answer, until the typing rests.
    world.tell("type tried yes");
    assert!(world.words().contains("this question takes no text"));
    assert!(!world.words().contains("5a7ed00"));
    world.tell("wait 600; press y");
    assert!(world.words().contains("kept as 5a7ed00"));
}

#[test]
fn a_draft_ends_when_its_run_is_decided_in_a_shell() {
    let mut world = World::new();
    world.tell(&format!(
        "open; {PASS}; save; {PASS}; press c; type two rows; press esc"
    ));
    world.keep_beside(RunId(2), "kept in a shell");
    world.tell(&format!("elsewhere; save; {PASS}; press c"));
    let words = world.words();
    assert!(
        words.contains("Keep run 3") && !words.contains("two rows"),
        "{words}"
    );
}

#[test]
fn nothing_runs_while_a_commit_is_made_whatever_is_pressed() {
    let mut world = World::new();
    world.slow = true;
    world.tell(&format!(
        "open; {PASS}; save; {PASS}; press c; type fast; press enter; press p; save; press p"
    ));
    assert!(
        matches!(world.model.runs.running, Running::No),
        "{}",
        world.screen(160, 45)
    );
    world.tell("decided");
    assert!(
        world.words().contains("run 3 · saved"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_commit_of_emulated_times_says_so() {
    let run = "say device: cpu (emulated, 2 threads) | correctness: pass | throughput_sps: 12.5; end pass 12.5";
    check(
        &format!("open; {run}; press c"),
        &["● PASS 12.50 sps emulated"],
    );
}

#[test]
fn a_keep_of_what_head_holds_speaks_of_no_commit() {
    check(
        &format!("open; {PASS}; press c"),
        &["HEAD holds these bytes already"],
    );
    check(
        &format!("open; {PASS}; save; {PASS}; press c"),
        &["This becomes the commit's subject"],
    );
    // The run in progress is what would be kept, not the last one.
    check(
        &format!("open; {PASS}; save; say stage: verify; press c"),
        &["Keep run 2", "This becomes the commit's subject"],
    );
}

#[test]
fn a_look_from_before_the_verdict_says_nothing_of_it() {
    let mut world = World::new();
    world.tell("open; say correctness: pass; end pass 1000; save");
    let before = [world.facts(), world.facts()]
        .map(|facts| Event::Repository(RepositoryReply::Overview(Box::new(facts))));
    world.tell("say correctness: pass; end pass 2000");
    for (late, next) in before
        .into_iter()
        .zip(["press c; type fast", "press enter"])
    {
        world.send(late);
        assert!(
            world.words().contains("2,000 sps"),
            "{}",
            world.screen(160, 45)
        );
        world.tell(next);
    }
    assert!(
        world.words().contains("run 2 kept as"),
        "{}",
        world.screen(160, 45)
    );

    let older = world.facts();
    world.tell("save");
    let saved = world.model.runs.present.clone();
    world.send(Event::Repository(RepositoryReply::Overview(Box::new(
        older,
    ))));
    assert_eq!(
        world.model.runs.present, saved,
        "what the watcher told of is on disk"
    );
    let before = world.facts();
    world.tell("say correctness: fail; end fail out is wrong");
    world.send(Event::Repository(RepositoryReply::Overview(Box::new(
        before,
    ))));
    world.tell("press d");
    assert!(
        world.words().contains("Discard run 3"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_run_that_just_ended_can_be_kept_though_the_last_look_found_it_in_progress() {
    let mut world = World::new();
    world.tell(&format!("open; {PASS}"));
    let mut during = world.facts();
    let status = during.status.as_mut().unwrap();
    status.snapshot.candidate.as_mut().unwrap().outcome = None;
    world.send(Event::Repository(RepositoryReply::Overview(Box::new(
        during,
    ))));
    assert!(
        world.model.allowed().keep.is_ok(),
        "{:?}",
        world.model.allowed().keep
    );
}

#[test]
fn the_dialog_of_a_keep_says_that_the_run_is_caveated() {
    let run =
        "say caveat: the clock moved | correctness: pass | throughput_sps: 12.5; end pass 12.5";
    check(
        &format!("open; {run}; press c"),
        &["● PASS 12.50 sps caveated"],
    );
}

/// Nothing is faster on an emulated device: the question says so before the first run is decided.
#[test]
fn the_rule_says_that_it_keeps_nothing_on_an_emulated_device() {
    let run = "say device: cpu (emulated, 2 threads) | correctness: pass | throughput_sps: 12.5; end pass 12.5";
    let world = check(
        &format!("open; {run}; press a"),
        &["the rule keeps nothing there"],
    );
    drop(world);
    let mut world = check(&format!("open; {PASS}; press a"), &["Decide by rule?"]);
    assert!(!world.words().contains("emulated"), "{}", world.words());
}

#[test]
fn text_of_an_earlier_run_is_replaced_by_what_is_typed() {
    let before = format!("open; {PASS}; press c; type two rows; press esc; save; {PASS}; press c");
    check(&before, &["two rows", "the text of an earlier run"]);
    let world = check(
        &format!("{before}; type four rows; press enter"),
        &["run 2 kept"],
    );
    assert_eq!(world.history[0].row.description, "four rows");
    let world = check(
        &format!("{before}; press end; type , again; press enter"),
        &["run 2 kept"],
    );
    assert_eq!(world.history[0].row.description, "two rows, again");
}

#[test]
fn leaving_before_a_decision_is_made_is_asked() {
    let waits = format!("open; {PASS}; save; press c; type two rows; press enter; press q");
    let mut world = check(
        &waits,
        &["Quit?", "The keep of run 2 waits for its verdict."],
    );
    assert!(world.asked.is_empty());
    world.tell("press n");
    assert!(world.asked.is_empty() && world.model.overlays.is_empty());
    world.tell("press q y");
    assert_eq!(world.asked, ["Quit"]);
}

#[test]
fn a_refusal_stays_until_the_text_that_ran_into_it_has_ended() {
    let mut world = check(
        "open; say correctness: fail; end fail; press c; type no gain; press enter",
        &["Keep: not now"],
    );
    world.tell("wait 600; press enter");
    assert!(world.model.overlays.is_empty());
}

#[test]
fn a_refusal_says_that_a_newer_run_has_ended_and_takes_the_text_that_runs_into_it() {
    let refused = "open; say correctness: pass; end pass 5; save; say correctness: fail; end fail out is wrong; press c";
    let mut world = check(refused, &["Keep: not now", "needs a passing verdict"]);
    assert!(!world.words().contains("newer run"), "{}", world.words());
    world.tell(&format!("save; {PASS}"));
    let words = world.words();
    let said = "A newer run has ended since: PASS. Before it: needs a passing verdict";
    assert!(words.contains(said), "{words}");
    // Its dialog was there first, so no letter keeps, discards or quits.
    world.tell("type added dry run q");
    assert!(world.history.is_empty() && world.asked.is_empty());
    world.tell("wait 600; press enter; press c");
    assert!(world.words().contains("Keep run 3"), "{}", world.words());
}
