//! The view Loop: what it shows of `lab auto`, and the requests that its keys make.

use super::states::{check, check_at};
use super::world::World;
use super::world::made::{no_loop, noon};
use jiff::SignedDuration;
use lab_auto::{Best, Budget, LaneView, LoopRun, LoopView, OnDisk, Phase, Request, State};
use lab_protocol::report::{Measure, Speed};
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::verdict::{Change, Outcome};
use serde_json::json;

/// A state as `.lab/auto/KEY/state.json` holds it.
fn state(phase: &str) -> State {
    let turn = json!({
        "turn": 11, "outcome": "discarded", "why": "no gate failed, and it is 1.2 % slower", "run": 41, "answer_error": null,
        "command": "exit code 0", "seconds": 31.5, "output": ["done"],
        "ignored": ["changed notes.txt", "changed Makefile"], "ignored_ref": "refs/lab/auto/11",
        "noticed": []
    });
    let counts = json!({
        "experiments": 40, "seconds": 7680.0, "cost": 2.5, "kept": 3, "discarded": 30, "crashed": 2, "left": 5, "known": 1,
        "nothing": 0, "failed": 2, "failures_in_a_row": 0, "discards_in_a_row": 4, "mended": 0
    });
    serde_json::from_value(json!({
        "schema_version": 1, "process": 4711, "kernel": "kernels/rmsnorm/kernel.cu", "phase": phase, "turn": 12,
        "since": (noon() - SignedDuration::from_secs(34)).to_string(), "started": "2026-05-04T09:50:00Z",
        "budget": { "experiments": 200, "hours": 8.0, "cost": null },
        "counts": counts, "last_turn": turn, "candidate": null, "mending": null, "patch": null, "ended": null,
        "plateau": false, "older_kept": [], "cleaned": 0, "left": []
    }))
    .unwrap()
}

fn run(id: u64, status: Option<Status>, ratio: f64, description: &str) -> LoopRun {
    let speed = if ratio > 0.0 {
        Speed::Faster
    } else {
        Speed::Slower
    };
    LoopRun {
        id: RunId(id),
        outcome: Some(Outcome::Pass),
        status,
        description: description.into(),
        change: Some(Change {
            ratio,
            spread: Some(0.003),
            speed: Some(speed),
            ..Change::default()
        }),
        objective: Some(Measure {
            value: 165_210.4,
            low: None,
            high: None,
        }),
        emulated: false,
    }
}

/// A loop in its twelfth turn, whose command edits.
fn editing() -> LoopView {
    let kept = run(38, Some(Status::Keep), 0.031, "two fewer loads");
    LoopView {
        running: true,
        state: Some(state("editing")),
        edit: Ok("@@ -1,4 +1,5 @@ rmsnorm\n __global__ void rmsnorm() {\n-    int x = 1;\n+    int x = 2;\n+    int y = 3;\n }\n".into()),
        output: (1..=30).map(|at| format!("step {at}: the agent looks at rmsnorm")).collect(),
        incumbent: Some(kept.clone()),
        runs: vec![
            LoopRun { outcome: None, change: None, objective: None, ..run(42, None, 0.0, "") },
            run(41, Some(Status::Discard), -0.012, "wider tiles, \u{202e}once more"),
            LoopRun { outcome: Some(Outcome::Crash), change: None, ..run(40, Some(Status::Crash), 0.0, "a cluster of two") },
            run(39, None, 0.011, ""),
            kept,
        ],
        device: Some("NVIDIA H200".into()),
        ..no_loop()
    }
}

fn world(view: LoopView) -> World {
    let mut world = World::new();
    world.loops = Ok(view);
    world.tell("open; say correctness: pass; end pass 165210; loop; press 7");
    world
}

#[test]
fn what_a_loop_puts_back_is_judged_only_if_nobody_judged_it() {
    let mut world = world(no_loop());
    world.tell("save; say correctness: pass; end pass 166000");
    let before = world.runs();
    world.tell("loop-writes bytes-0");
    assert_eq!(world.runs(), before, "run 1 judged these bytes");
    world.tell("loop-writes bytes-9");
    assert_eq!(world.runs(), before + 1, "nobody judged these bytes");
}

#[test]
fn without_a_loop_the_view_says_what_one_is_and_the_line_that_starts_one() {
    let mut world = world(no_loop());
    check("loop_none", &mut world);
    world.screen(160, 45);
    world.tell("press space");
    assert!(
        world.words().contains("pause loop: no loop runs"),
        "{}",
        world.words()
    );
    assert_eq!(world.asked, [""; 0]);
    let other = LoopView {
        kernel_option: " --kernel kernels/rmsnorm".into(),
        ..no_loop()
    };
    let words = self::world(other).words();
    assert!(
        words.contains("lab auto --kernel kernels/rmsnorm --hours 8 -- COMMAND"),
        "{words}"
    );
}

#[test]
fn a_loop_whose_command_edits() {
    check("loop_editing", &mut world(editing()));
}

#[test]
fn a_small_screen_shows_what_there_is_in_place_of_an_empty_edit() {
    let shown = |view: LoopView| {
        let mut world = world(view);
        let titles = |screen: String| {
            let names = ["Edit", "Verdicts", "Command"];
            let is_shown = |name: &&str| screen.contains(&format!("─ {name} "));
            names.into_iter().filter(is_shown).collect::<Vec<_>>()
        };
        let first = titles(world.screen(80, 24));
        world.tell("press tab");
        assert!(
            world.screen(80, 24).contains("━ Edit "),
            "it is one key away"
        );
        first
    };
    let unchanged = LoopView {
        edit: Ok(String::new()),
        ..editing()
    };
    assert_eq!(shown(unchanged.clone()), ["Verdicts"]);
    let first_turn = LoopView {
        runs: Vec::new(),
        ..unchanged
    };
    assert_eq!(shown(first_turn.clone()), ["Command"]);
    let silent = LoopView {
        output: Vec::new(),
        ..first_turn
    };
    assert_eq!(shown(silent.clone()), [""; 0], "the pane Loop has all rows");
    let unreadable = LoopView {
        edit: Err("the kernel in the work tree of the command cannot be read".into()),
        ..silent
    };
    assert_eq!(shown(unreadable), ["Edit"], "why there is no edit is told");
}

/// Two lanes, of which one edits and the other one judges, beside a kernel whose own work tree has
/// no loop.
fn lanes() -> LoopView {
    let lane = |device: &str, phase, best| LaneView {
        name: device.into(),
        device: device.into(),
        running: true,
        state: Ok(Some(State {
            best,
            ..state(phase)
        })),
    };
    let best = Best {
        run: RunId(38),
        commit: "a".repeat(40),
        description: "two fewer loads, \u{202e}and a longer description of the rest".into(),
        objective: "throughput_sps".into(),
        value: 165_210.4,
        low: None,
        high: None,
        device: Some("NVIDIA H200".into()),
    };
    let lanes = vec![
        lane("cuda:0", "editing", Some(best)),
        lane("cuda:1", "judging", None),
    ];
    LoopView {
        state: None,
        running: false,
        lanes,
        output: Vec::new(),
        edit: Ok(String::new()),
        ..editing()
    }
}

#[test]
fn each_lane_has_a_row() {
    check_at(
        "loop_lanes",
        &mut world(lanes()),
        &[(80, 24), (120, 40), (200, 50)],
    );
}

#[test]
fn lanes_that_ended_were_killed_or_cannot_be_read_say_so_and_the_keys_are_about_all_lanes() {
    let mut view = lanes();
    let done = State {
        ended: Some("the budget is spent".into()),
        ..state("ended")
    };
    view.lanes[0] = LaneView {
        running: false,
        state: Ok(Some(done)),
        ..view.lanes[0].clone()
    };
    view.lanes.push(LaneView {
        name: "repo-cuda-2".into(),
        device: "cuda:2".into(),
        running: false,
        state: Ok(Some(state("editing"))),
    });
    view.lanes.push(LaneView {
        name: "repo-cuda-3".into(),
        device: "cuda:3".into(),
        running: true,
        state: Ok(None),
    });
    view.lanes.push(LaneView {
        name: "repo-cpu".into(),
        device: "cpu".into(),
        running: false,
        state: Err("state.json is damaged".into()),
    });
    let mut world = world(view.clone());
    let words = world.words();
    for said in [
        "cuda:0 12 ended",
        "cuda:2 12 killed",
        "cuda:3 has not begun",
        "cpu state.json is damaged",
        "5 lanes",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
    world.tell("press x");
    assert_eq!(world.asked.pop().as_deref(), Some("Loop(EndTurn)"));
    world.tell("press X");
    assert_eq!(world.asked.pop().as_deref(), Some("Loop(Stop)"));
    world.tell("press space");
    assert_eq!(world.asked.pop().as_deref(), Some("Loop(Pause)"));
    view.lanes.truncate(2);
    view.lanes[1].state = Ok(Some(state("paused")));
    world.loops = Ok(view);
    world.tell("loop; press space");
    assert_eq!(
        world.asked.pop().as_deref(),
        Some("Loop(Resume)"),
        "all lanes that run are paused"
    );
}

#[test]
fn a_person_has_edited_the_kernel() {
    let waiting = LoopView {
        state: Some(state("waiting_for_person")),
        on_disk: OnDisk::Other,
        ..editing()
    };
    check("loop_by_hand", &mut world(waiting));
    let soon = LoopView {
        on_disk: OnDisk::Other,
        ..editing()
    };
    let words = world(soon).words();
    assert!(
        words.contains("waits for you once its command has ended"),
        "{words}"
    );
}

#[test]
fn a_loop_that_ended_and_one_that_was_killed_say_so() {
    let ended = State {
        ended: Some("the budget of 40 experiments is spent".into()),
        ..state("ended")
    };
    let mut world = world(LoopView {
        running: false,
        state: Some(ended),
        ..editing()
    });
    let words = world.words();
    assert!(
        words.contains("ended after turn 12: the budget of 40 experiments is spent"),
        "{words}"
    );
    world.loops = Ok(LoopView {
        running: false,
        ..editing()
    });
    world.tell("loop");
    let words = world.words();
    assert!(
        words.contains("killed in turn 12; the next `lab auto` goes on from there"),
        "{words}"
    );
    world.loops = Err("state.json is damaged: remove it".into());
    world.tell("loop");
    assert!(
        world.words().contains("state.json is damaged: remove it"),
        "{}",
        world.words()
    );
}

#[test]
fn the_budget_may_be_a_part_of_the_floor() {
    let mut view = editing();
    let state = view.state.as_mut().unwrap();
    state.budget = Budget {
        until_floor: Some(90.0),
        ..Budget::default()
    };
    let words = world(view).words();
    assert!(
        words.contains("until the floor is 90 % of the time"),
        "{words}"
    );
    assert!(!words.contains("no limit"), "{words}");
}

#[test]
fn space_pauses_and_resumes_and_x_ends_the_turn() {
    let mut world = world(editing());
    assert!(
        world.words().contains("Space pause loop") && world.words().contains("x end turn"),
        "{}",
        world.words()
    );
    world.tell("press space");
    assert_eq!(world.asked.pop().as_deref(), Some("Loop(Pause)"));
    assert!(
        world.words().contains("the loop pauses after this turn"),
        "{}",
        world.words()
    );
    world.loops = Ok(LoopView {
        asked: Some(Request::Pause),
        ..editing()
    });
    world.tell("loop");
    let words = world.words();
    assert!(
        words.contains("· pauses after this turn") && words.contains("Space resume loop"),
        "{words}"
    );
    world.tell("press space");
    assert_eq!(world.asked.pop().as_deref(), Some("Loop(Resume)"));
    world.tell("press x");
    assert_eq!(world.asked.pop().as_deref(), Some("Loop(EndTurn)"));
    let words = world.words();
    assert!(
        words.contains("the turn ends; the loop then waits: Space lets it go on"),
        "{words}"
    );
    world.loops = Ok(LoopView {
        state: Some(state("paused")),
        ..editing()
    });
    world.tell("loop; press space");
    assert_eq!(world.asked.pop().as_deref(), Some("Loop(Resume)"));
    world.tell("press x");
    assert!(
        world.words().contains("end turn: no turn is in progress"),
        "{}",
        world.words()
    );
    assert_eq!(world.asked, [""; 0]);
}

#[test]
fn in_other_views_the_keys_mean_what_they_always_mean() {
    let mut world = world(editing());
    world.tell("press 1; press x");
    assert!(
        world.words().contains("stop: no run in progress"),
        "{}",
        world.words()
    );
    assert_eq!(world.asked, [""; 0], "the loop was asked for nothing");
    world.tell("press esc");
    let words = world.words();
    assert!(words.contains("a loop runs here: 7 shows it"), "{words}");
}

#[test]
fn the_clock_goes_on_and_nothing_is_read_for_it() {
    let mut world = world(editing());
    assert!(
        world.words().contains("the command edits · 34 s"),
        "{}",
        world.words()
    );
    world.loops = Err("nobody reads this".into());
    world.tell("wait 30000");
    let words = world.words();
    assert!(words.contains("the command edits · 1 min 04 s"), "{words}");
    assert!(words.contains("2 h 09 min of 8 h"), "{words}");
}

#[test]
fn what_an_agent_prints_cannot_move_the_cursor() {
    let mut view = editing();
    view.output = vec!["\u{1b}[2Jgone \u{9b}31m".into()];
    let last = view.state.as_mut().unwrap().last_turn.as_mut().unwrap();
    last.why = "\u{1b}]0;title\u{7}why".into();
    view.edit = Err("\u{1b}[Hno edit".into());
    let mut world = world(view);
    let screen = world.screen(160, 45);
    assert!(
        !screen.contains('\u{1b}') && !screen.contains('\u{9b}') && !screen.contains('\u{7}'),
        "{screen:?}"
    );
    assert!(
        screen.contains("gone") && screen.contains("no edit"),
        "{screen}"
    );
}

#[test]
fn the_end_of_the_output_is_shown_until_somebody_scrolls_up() {
    let mut world = world(editing());
    assert!(
        world.words().contains("step 30:") && !world.words().contains("step 1:"),
        "{}",
        world.words()
    );
    world.tell("press tab; press tab; press tab; press g");
    assert!(world.words().contains("step 1:"), "{}", world.words());
    let mut view = editing();
    view.output.push("step 31: new".into());
    world.loops = Ok(view);
    world.tell("loop");
    assert!(!world.words().contains("step 31:"), "{}", world.words());
    world.tell("press G");
    assert!(world.words().contains("step 31: new"), "{}", world.words());
    world.tell("press y");
    assert!(
        world.clipboard.starts_with("step 1: the agent"),
        "{}",
        world.clipboard
    );
}

#[test]
fn a_loop_decides_its_runs_itself() {
    let mut world = world(editing());
    world.tell("press 1; press a y; save; say correctness: pass; end pass 170020 0.029");
    assert!(world.words().contains("RULE DECIDES"), "{}", world.words());
    assert_eq!(
        world.commits.len(),
        1,
        "the rule of the screen left the run to the loop"
    );
    assert_eq!(
        world
            .model
            .loops
            .view()
            .and_then(|view| Some(view.state.as_ref()?.phase)),
        Some(Phase::Editing)
    );
}

#[test]
fn what_happened_to_the_repository_and_what_failed_since_are_shown() {
    let mut view = editing();
    let state = view.state.as_mut().unwrap();
    state.trouble = Some("cuda:0 is\u{1b}[2J lost".to_owned());
    state.last_turn.as_mut().unwrap().noticed = vec!["HEAD of your repository moved".to_owned()];
    let shown = world(view).screen(160, 45);
    assert!(
        shown.contains("noticed     HEAD of your repository moved"),
        "{shown}"
    );
    assert!(
        shown.contains("failed      cuda:0 is") && !shown.contains('\u{1b}'),
        "{shown}"
    );
}
