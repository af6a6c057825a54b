//! What a kernel engineer expects of figures, copies, names and waiting times.

use super::world::World;
use super::world::made::commit;
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_tui::chart::SymbolSet;
use lab_tui::event::Event;
use lab_watch::WatchEvent;

const RUN: &str = "say device: NVIDIA H200 | kernel_us: 0.65 | correctness: pass";

/// Keeps a kernel of this figure; `change` is against the incumbent that it was timed in turns with.
fn keep(world: &mut World, figure: &str, change: &str, words: &str) {
    world.tell("save").tell(RUN).tell(&format!(
        "end pass {figure} {change}; press c; type {words}; press enter"
    ));
}

fn see(world: &mut World, text: &str) {
    let words = world.words();
    assert!(words.contains(text), "nobody sees `{text}`:\n{words}");
}

fn see_not(world: &mut World, text: &str) {
    let words = world.words();
    assert!(!words.contains(text), "`{text}` is there:\n{words}");
}

/// The clock boost makes every figure of the second run twice as large: in turns it was 18.2 %.
fn boosted() -> World {
    let mut world = World::new();
    world.tell("open");
    keep(&mut world, "1000", "", "the first");
    keep(&mut world, "2095", "0.182", "the second");
    world
}

#[test]
fn a_kernel_is_better_than_the_best_by_what_the_turns_say() {
    let mut world = boosted();
    see(&mut world, "+18.2 % vs the best before");
    world.tell("press 3");
    see_not(&mut world, "109.5");
    let screen = world.screen(220, 60);
    let row = screen.lines().find(|row| row.contains("▸ c0ffee3"));
    let row: String = row.unwrap_or_default().chars().take(120).collect();
    assert_eq!(row.matches("+18.2 %").count(), 2, "{screen}");
}

#[test]
fn two_of_one_run_are_compared_by_its_turns_in_either_order() {
    let mut world = boosted();
    world.tell("press 3 space j space =");
    see(&mut world, "faster +18.2 %");
    see(&mut world, "One run timed the two in turns.");
    see_not(&mut world, "109.5");
}

#[test]
fn what_no_run_timed_in_turns_is_not_called_faster() {
    let mut world = boosted();
    keep(&mut world, "4000", "", "the third");
    see(&mut world, "not in turns with the best");
    world.tell("press 3");
    let screen = world.screen(220, 60);
    let row = screen.lines().find(|row| row.contains("▸ c0ffee4"));
    assert!(
        row.is_some_and(|row| row.contains("not in turns")),
        "{screen}"
    );
    world.tell("press space j space =");
    see(&mut world, "+90.9 % ± 0.5, not in turns");
    see_not(&mut world, "faster +90.9");
}

#[test]
fn a_comparison_says_how_to_go_on_in_it_and_back() {
    let mut world = boosted();
    world.tell("press 3");
    see_not(&mut world, "Esc back");
    world.tell("press space j space =");
    see(&mut world, "Esc back ] next w context");
    world.tell("press esc");
    see_not(&mut world, "Esc back");
}

#[test]
fn an_action_without_a_key_stays_in_its_column_of_the_palette() {
    let mut world = boosted();
    world.tell("press :; type reload-config");
    let screen = world.screen(160, 45);
    // The mark stands in place of the first blank, the name behind the empty column of keys.
    assert!(screen.contains("│ ▸     reload-config"), "{screen}");
}

#[test]
fn a_run_that_names_no_incumbent_is_not_said_to_be_timed_without_it() {
    let mut world = boosted();
    // As versions of the lab recorded it that named no incumbent.
    world.forget_incumbents();
    world.tell("press 3 space j space =");
    see(&mut world, "names no incumbent");
    see(&mut world, "an incumbent that its record does not name");
    see_not(&mut world, "not in turns");
}

#[test]
fn a_time_that_is_the_figure_is_shown_once() {
    let mut world = World::new();
    world.model.setup.objective = Objective::KernelTime;
    world.model.setup.goal = Goal::Minimize;
    world.tell("open");
    keep(&mut world, "0.65", "", "the first");
    world.tell("press 3");
    let screen = world.screen(220, 60);
    assert!(!screen.contains("kernel µs"), "{screen}");
}

#[test]
fn a_diff_is_copied_with_its_signs() {
    let mut world = boosted();
    world.tell("press 3 space j space =").tell("press Y");
    let signs = world
        .clipboard
        .lines()
        .filter(|line| line.starts_with(['-', '+']));
    let signs: Vec<&str> = signs.collect();
    assert_eq!(signs.len(), 2, "{}", world.clipboard);
    assert!(
        signs[0].starts_with("-the bytes of") && signs[1].starts_with("+the bytes of"),
        "{signs:?}"
    );
    let mut git = World::new().with_history();
    git.tell("open; press 4; press tab Y");
    assert!(
        git.clipboard.contains("\n+    s += bias;"),
        "{}",
        git.clipboard
    );
}

#[test]
fn the_commits_of_this_kernel_are_found_below_hundreds_of_others() {
    let mut world = World::new();
    world.commits = (0..300)
        .map(|at| commit(&format!("d0c5{at:04}"), "docs: words", None))
        .collect();
    world.own_commits = vec![commit("0b1ec7a0", "rmsnorm: two rows a block", None)];
    world.tell("open");
    see(&mut world, "this kernel's first");
    see(&mut world, "0b1ec7a rmsnorm: two rows a block");
    // The others are marked as such.
    see(&mut world, "d0c5000 other docs: words");
}

#[test]
fn the_views_are_named_on_a_small_screen_and_beside_a_long_name() {
    let names = [
        "Bench",
        "Source",
        "Results",
        "Git",
        "Device",
        "Decisions",
        "Loop",
        "Sweep",
    ];
    let mut world = World::new().with_history();
    world.tell("open").tell(RUN).tell("end pass 1200");
    let all_named = |world: &mut World, width, height| {
        let screen = world.screen(width, height);
        let is_row = |row: &str| names.iter().all(|name| row.contains(name));
        assert!(screen.lines().any(is_row), "{width}x{height}\n{screen}");
    };
    for (width, height) in [
        (62, 20),
        (80, 24),
        (100, 30),
        (101, 40),
        (120, 30),
        (160, 45),
    ] {
        all_named(&mut world, width, height);
    }
    // With a message too, and for a problem with a long name.
    world.tell("press n");
    all_named(&mut world, 80, 24);
    world.model.setup.name =
        "a_problem_with_a_name_of_more_than_sixty_letters_which_is_too_long".into();
    for (width, height) in [(80, 24), (100, 30), (120, 30), (160, 45)] {
        all_named(&mut world, width, height);
    }
}

#[test]
fn a_message_names_an_action_in_plain_words() {
    let mut world = World::new().with_history();
    world.tell("open").tell(RUN).tell("end pass 1200; press n");
    see(&mut world, "next match: search first");
    world.tell("press i");
    see_not(&mut world, "wrong-cells:");
}

#[test]
fn that_the_kernel_was_empty_is_gone_with_its_next_bytes() {
    let mut world = World::new();
    world.tell("open").tell(RUN).tell("end pass 1000");
    let why = "softplus/kernel.py is empty: nothing to judge";
    world.send(Event::Watch(WatchEvent::Unreadable(why.into())));
    world.tell("save").tell(RUN).tell("end pass 1000");
    see_not(&mut world, "nothing to judge");
}

#[test]
fn the_time_left_of_a_stage_is_known_from_the_run_that_took_its_time() {
    let mut world = World::new();
    world.tell("open; say stage: build at=0 | stage: verify at=16.2 | correctness: pass | stage: done at=20");
    world.tell("end pass 1000; save; say stage: build at=0 | stage: verify at=0.1 | correctness: pass | stage: done at=1");
    // The build was found in the cache; the next one is not.
    world.tell("end pass 1000; save; say stage: build at=0");
    see(&mut world, "about 17 s left");
}

#[test]
fn the_first_stage_of_its_kind_has_no_time_left_and_says_so() {
    let mut world = World::new();
    world.tell("open; say stage: build at=0; wait 900");
    see_not(&mut world, "the first here");
    world.tell("wait 3100");
    see(&mut world, "BUILD 4.0 s, the first here: no time known");
    // How far it is says how long it takes.
    world.tell("say stage: verify at=4.1 | progress: 1/10; wait 2100");
    see(&mut world, "6.1 s, the first here: no time known");
    world.tell("say progress: 5/10");
    see(&mut world, "about 2 s left");
    world.tell("say stage: measure at=9 | correctness: pass | stage: done at=9.2; end pass 1000");
    world.tell("save; say stage: build at=0; wait 2000");
    see(&mut world, "about 3 s left");
}

#[test]
fn a_run_that_was_ended_leaves_the_verdict_before_it_on_the_screen() {
    for (width, height) in [(160, 45), (80, 24)] {
        let mut world = World::new();
        world
            .tell("open")
            .tell(RUN)
            .tell("end pass 1000; save; say stage: build at=0; end void");
        let screen = world.screen(width, height);
        assert!(screen.contains("VOID") || width > 100, "{screen}");
        assert!(screen.contains("last  ● PASS  1,000 sps"), "{screen}");
        world.tell("save").tell(RUN).tell("end pass 2000");
        see_not(&mut world, "last  ●");
    }
}

#[test]
fn all_rows_of_a_pane_are_those_of_that_pane() {
    let mut world = World::new().with_history();
    world.tell("open").tell(RUN).tell("end pass 1200");
    world.screen(160, 45);
    world.tell("press Y");
    let gates = world.clipboard.clone();
    assert!(gates.contains("correctness  pass"), "{gates}");
    world.tell("press tab; press Y");
    assert!(world.clipboard.contains("\tkeep\t"), "{}", world.clipboard);
}

#[test]
fn what_a_pane_shows_is_written_into_a_file() {
    let mut world = boosted();
    world.tell("press 3; press :; type export; press enter");
    see(&mut world, "wrote .lab/exports/table-1.tsv");
    assert!(
        world.exported.starts_with("commit\tstatus\tfigure")
            && world.exported.contains("\tthe second"),
        "{}",
        world.exported
    );
    world.tell("press space j space =; press :; type export; press enter");
    see(&mut world, "wrote .lab/exports/diff-1.diff");
    assert!(
        world
            .exported
            .starts_with("--- a/kernels/rmsnorm/kernel.cu\n+++ b/kernels/rmsnorm/kernel.cu\n@@ "),
        "{}",
        world.exported
    );
    world.tell("press 1; press tab; press :; type export; press enter");
    see(&mut world, "wrote .lab/exports/");
}

#[test]
fn the_palette_names_a_key_only_where_it_does_that() {
    let mut world = World::new().with_history();
    world.tell("open; press 3; press :; type profile");
    see_not(&mut world, "P profile");
    world.tell("press ctrl-c; press 1; press :; type profile");
    see(&mut world, "P profile");
}

#[test]
fn without_unicode_a_verdict_is_text() {
    let mut world = World::new();
    world.model.appearance.symbols = SymbolSet::Ascii;
    world.tell("open").tell(RUN).tell("end pass 1000");
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("PASS") && !screen.contains("##"),
        "{screen}"
    );
}
