//! The things that a new user of the screen looks for.

use super::states::check;
use super::world::World;
use lab_run::experiment::Status;
use lab_tui::chart::SymbolSet;
use lab_tui::theme::style::SELECTED;
use lab_tui::theme::{Catalogue, ColorDepth, Theme};

const PASS: &str = "say stage: build | build_s: 0.38 | correctness: pass; end pass 1200";

/// The hints, the last row.
fn hints(world: &mut World, width: u16) -> String {
    world
        .screen(width, 45)
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_device_without_experiments_shows_those_of_another_greyed_and_named() {
    let mut world = World::new().with_history();
    let cpu = "device: cpu (emulated, 2 threads)";
    world.tell(&format!(
        "open; say stage: build | {cpu} | correctness: pass; end pass 12.5"
    ));
    assert!(
        world
            .words()
            .contains("H200, not this device · 8 experiments")
    );
    check("chart_elsewhere", &mut world);
    // After a keep, the chart shows the present device, and says that there are others.
    world.tell("press c; type the first on the cpu; press enter");
    assert!(
        world
            .words()
            .contains("1 experiment · emulated times · 8 not comparable"),
        "{}",
        world.words()
    );
    // A key shows those of the other device alone, in the table too.
    world.tell("press D");
    assert!(
        world
            .words()
            .contains("H200, not this device · 8 experiments")
    );
    world.tell("press 3");
    let words = world.words();
    assert!(
        words.contains("Experiments 8") && words.contains("on H200"),
        "{words}"
    );
    world.tell("press D D 1");
    assert!(world.words().contains("1 experiment · emulated times"));
}

#[test]
fn every_view_keeps_its_key_on_a_narrow_screen() {
    let mut world = World::new().with_history();
    world
        .tell("open; say device: NVIDIA H200")
        .tell(PASS)
        .tell("press 3");
    let all = "1 Bench  2 Source ▸3 Results  4 Git  5 Device  6 Decisions  7 Loop  8 Sweep";
    for (width, height, names) in [
        (160, 45, all),
        (120, 45, all),
        (110, 40, all),
        (100, 30, all),
        (80, 24, all),
        (54, 16, "1 2 ▸3 Results 4 5 6 7 8"),
        (46, 16, "1 2 ▸3 Results 4 5 6 7 8"),
    ] {
        let screen = world.screen(width, height);
        assert!(screen.contains(names), "{width}×{height}\n{screen}");
    }
    assert!(
        world.screen(40, 16).contains("1 2 ▸3"),
        "{}",
        world.screen(40, 16)
    );
    // A click on a key shows its view, also on a small screen.
    world.tell("press :; type mouse; press enter");
    let screen = world.screen(80, 24);
    let (row, line) = screen
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains("▸3 Results"))
        .unwrap();
    let column = line
        .chars()
        .collect::<Vec<_>>()
        .windows(2)
        .position(|w| w == ['▸', '3'])
        .unwrap()
        - 2;
    world.tell(&format!("click {column} {row}"));
    assert_eq!(world.model.panes.view.name(), "Source");
}

#[test]
fn a_selected_row_has_no_holes_on_a_painted_background() {
    for name in ["nord", "lab-light", "dracula"] {
        let catalogue = Catalogue::built_in();
        let entry = catalogue.find(name).unwrap();
        let mut world = World::new().with_history().with_strangers();
        world.tell("open; say device: NVIDIA H200").tell(PASS);
        world.model.appearance.theme = entry.theme(ColorDepth::Rgb, true);
        let theme: Theme = world.model.appearance.theme.clone();
        for story in [
            "press 3; press j",
            "press 1; press tab tab; press j",
            "press 4; press j",
            "press :",
        ] {
            world.tell(story);
            let buffer = world.draw(160, 45);
            let wanted = theme.shown(SELECTED).bg;
            let is_selected = |x: u16, y: u16| buffer[(x, y)].bg == wanted.unwrap();
            // A selected point of the chart is one cell.
            let count = |y: &u16| (0..160).filter(|x| is_selected(*x, *y)).count();
            let row = (0..45).find(|y| count(y) > 1).unwrap();
            let first = (0..160).find(|x| is_selected(*x, row)).unwrap();
            let last = (0..160).rfind(|x| is_selected(*x, row)).unwrap();
            let holes: Vec<u16> = (first..=last).filter(|x| !is_selected(*x, row)).collect();
            assert!(
                last > first + 20 && holes.is_empty(),
                "{name}, {story}: row {row}, holes at {holes:?}"
            );
        }
    }
}

/// Two kept runs with these `workload:` lines.
fn compared(first: &str, second: &str) -> World {
    let mut world = World::new();
    let run = |workloads: &str| {
        format!(
            "save; say device: NVIDIA H200 | {workloads} | throughput_sps: 1000 low=999 high=1001 | correctness: pass; \
             end pass 1000; press c; type one; press enter"
        )
    };
    world
        .tell(&format!("open; {PASS}"))
        .tell(&run(first))
        .tell(&run(second));
    world.tell("press 3; press space j space; press =");
    world
}

#[test]
fn two_runs_of_different_workloads_are_compared_on_those_that_both_timed() {
    let mut world = compared(
        "workload: n=1 kernel_us=4 correctness=pass",
        "workload: n=1 kernel_us=2 correctness=pass | workload: n=2 kernel_us=900 correctness=pass",
    );
    let words = world.words();
    assert!(words.contains("+100.0 %"), "{}", world.screen(160, 45));
    assert!(
        words.contains("Of the workload that both timed"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_comparison_has_the_time_of_each_workload_and_the_ratio_of_the_speeds() {
    let mut world = compared(
        "workload: rows=1 cols=8 T=f32 kernel_us=2.10 gbps=30 correctness=pass | \
         workload: rows=128 cols=4096 T=f32 kernel_us=6.05 gbps=347 correctness=pass | \
         workload: rows=64 cols=64 T=f16 kernel_us=3 correctness=pass",
        "workload: rows=1 cols=8 T=f32 kernel_us=2.10 gbps=30 correctness=pass | \
         workload: rows=128 cols=4096 T=f32 kernel_us=5.50 gbps=382 correctness=pass | \
         workload: rows=7 cols=7 T=f16 kernel_us=1 correctness=fail",
    );
    let words = world.words();
    for wanted in [
        "workloads rows=1 cols=8 T=f32 2.10 µs 2.10 µs +0.0 %",
        "rows=128 cols=4096 T=f32 6.05 µs 5.50 µs +10.0 %",
        "rows=64 cols=64 T=f16 3.00 µs ·",
        "rows=7 cols=7 T=f16 · ✗ fail 1.00 µs",
    ] {
        assert!(
            words.contains(wanted),
            "{wanted}\n{}",
            world.screen(160, 45)
        );
    }
    check("compared_workloads", &mut world);
}

#[test]
fn workloads_of_a_harness_of_ones_own_are_compared_by_what_tells_them_apart() {
    let mut world = compared(
        "workload: shape=1x8 gbps=10.001 | workload: shape=2x8 gbps=20",
        "workload: shape=1x8 gbps=10.002 | workload: shape=2x8 gbps=30",
    );
    let words = world.words();
    assert!(
        words.contains("shape=2x8 20.00 gbps 30.00 gbps +50.0 %"),
        "{words}"
    );
    assert!(
        words.contains("shape=1x8 10.001 gbps 10.002 gbps +0.01 %"),
        "different figures look different: {words}"
    );
    // If the two share no measure, only the words tell what there was.
    let words = compared("workload: case=a ok=pass", "workload: case=a ok=fail").words();
    assert!(words.contains("case=a ✓ pass ✗ fail"), "{words}");
}

#[test]
fn figures_that_differ_look_different() {
    let mut world = World::new().with_experiments(&[
        (142_050.0, Status::Keep, "one"),
        (142_090.0, Status::Keep, "a little faster"),
    ]);
    world.tell(&format!("open; say device: NVIDIA H200; {PASS}"));
    for view in ["1", "3", "4"] {
        world.tell(&format!("press {view}"));
        let words = world.words();
        assert!(
            words.contains("142,050") && words.contains("142,090"),
            "{view}: {words}"
        );
    }
    // A gate that fails by little, and an interval of close ends.
    world.tell(
        "press 1; save; say out_error: 1.00002 limit=1 | kernel_us: 5.001 low=5.0004 high=5.0021; end fail x",
    );
    let words = world.words();
    assert!(words.contains("1.00002 > 1.00000"), "{words}");
    assert!(words.contains("5.001 (5.000 … 5.002)"), "{words}");
}

#[test]
fn a_check_that_is_asked_for_during_a_run_follows_it() {
    let mut world = World::new();
    world.tell("open; say stage: build; press s");
    assert!(
        world.words().contains("a check follows this run"),
        "{}",
        world.words()
    );
    // The run continues, and no other one begins.
    assert_eq!(world.runs(), 1);
    world.tell("wait 10000");
    assert!(
        world.words().contains("a check follows"),
        "{}",
        world.words()
    );
    world.tell("say correctness: pass; end pass 1200");
    assert_eq!(world.runs(), 2);
    assert!(world.model.runs.is_checking());
    world.tell("say correctness: pass; end pass");
    assert_eq!(world.runs(), 2, "one check was asked for");
}

#[test]
fn a_check_that_follows_can_be_taken_back_and_ends_with_the_run() {
    let mut world = World::new();
    world.tell("open; say stage: build; press s s");
    assert!(
        world.words().contains("no check follows this run"),
        "{}",
        world.words()
    );
    world.tell(PASS);
    assert_eq!(world.runs(), 1);
    world.tell("press r; press s; press x");
    assert_eq!(world.runs(), 2, "stopped with its run");
    // A kernel that does not build cannot be checked.
    world
        .tell("save; press s; say kernel.cu:3:1: error: no such word; end unbuilt kernel.cu:3: no such word");
    assert_eq!(world.runs(), 3);
    assert!(
        world
            .words()
            .contains("no check follows: kernel.cu does not build"),
        "{}",
        world.words()
    );
    // A newer save takes the run's place; the check follows the newer run.
    world.tell("save; press s; save").tell(PASS);
    assert_eq!(world.runs(), 6);
    assert!(world.model.runs.is_checking());
}

#[test]
fn stop_undo_and_auto_stand_among_the_hints_when_they_apply() {
    let mut world = World::new();
    world.tell("open; say stage: build");
    assert!(
        hints(&mut world, 160).contains("x stop"),
        "{}",
        hints(&mut world, 160)
    );
    assert!(
        !hints(&mut world, 160).contains("u undo"),
        "nothing was decided"
    );
    assert!(
        hints(&mut world, 60).contains("x stop"),
        "at every width: {}",
        hints(&mut world, 60)
    );
    world.tell(PASS);
    assert!(!hints(&mut world, 160).contains("x stop"));
    assert!(hints(&mut world, 160).contains("a by rule"));
    world
        .tell("save")
        .tell(PASS)
        .tell("press c; type faster; press enter");
    assert!(
        hints(&mut world, 160).contains("u undo"),
        "{}",
        hints(&mut world, 160)
    );
    world.tell("press u; press y");
    assert!(!hints(&mut world, 160).contains("u undo"));
    world.tell("press a");
    assert!(world.words().contains("Decide by rule?"));
    assert!(
        !world.words().contains("RULE DECIDES"),
        "not before the answer"
    );
    world.tell("press y");
    assert!(world.words().contains("RULE DECIDES"));
    assert!(hints(&mut world, 160).contains("a decide yourself"));
    assert!(!hints(&mut world, 160).contains("a by rule"), "once");
}

#[test]
fn a_compiler_error_is_told_once_in_the_pane() {
    let mut world = World::new();
    let line = "kernels/rmsnorm/kernel.cu:31:5: error: 'warp_sun' was not declared";
    world.tell(&format!(
        "open; say stage: build | {line} | {line} | build_s: 0.11 | stopped: kernel.cu does not build; \
         end unbuilt kernel.cu:31: 'warp_sun' was not declared"
    ));
    let screen = world.screen(160, 45);
    let pane: Vec<&str> = screen
        .lines()
        .skip_while(|line| !line.contains("Correctness"))
        .collect();
    let columns = |line: &str| line.chars().take(70).collect::<String>();
    let told = pane
        .iter()
        .filter(|line| columns(line).contains("warp_sun"))
        .count();
    assert_eq!(told, 1, "{screen}");
    // A reason without a message of the compiler is shown.
    world.tell("save; say stopped: no compiler; end unbuilt the compiler was not found");
    assert!(
        world.words().contains("✗ the compiler was not found"),
        "{}",
        world.words()
    );
}

#[test]
fn the_marks_of_the_chart_count_other_rules_for_nothing() {
    // A change of the rules was measured on no device, so it is not an experiment.
    let mut world = World::new().with_experiments(&[(0.0, Status::Rules, "a smaller limit")]);
    world.tell("open; say device: NVIDIA L40S").tell(PASS);
    assert!(
        !world.words().contains("of NVIDIA H200"),
        "{}",
        world.words()
    );
}

/// The rows of the help, without its frame.
fn help_rows(world: &mut World) -> Vec<String> {
    let screen = world.screen(160, 200);
    let title = screen
        .lines()
        .find(|line| line.contains("Keys and words"))
        .unwrap();
    let column = |sign: char| title.chars().position(|letter| letter == sign).unwrap();
    let (left, right) = (column('╭'), column('╮'));
    let rows = screen
        .lines()
        .skip_while(|line| !line.contains("Keys and words"))
        .skip(1);
    let rows = rows.take_while(|line| !line.contains('╰'));
    let inside = rows.map(|line| {
        line.chars()
            .skip(left + 1)
            .take(right - left - 1)
            .collect::<String>()
    });
    inside
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn the_help_begins_with_the_present_view_and_the_words_on_the_screen() {
    let mut world = World::new().with_history();
    world
        .tell("open; say device: NVIDIA H200 | caveat: the clock moved")
        .tell(PASS)
        .tell("press 3; press ?");
    let rows = help_rows(&mut world);
    assert_eq!(rows[0], "In the view Results");
    let headings: Vec<&str> = rows
        .iter()
        .map(String::as_str)
        .filter(|row| row.starts_with("In ") || row.contains("ords") || *row == "Everywhere")
        .filter(|row| !row.contains("  "))
        .collect();
    assert_eq!(
        headings[..3],
        ["In the view Results", "Words on this screen", "Everywhere"]
    );
    assert_eq!(headings.last(), Some(&"Other words"));
    let between: Vec<&String> = rows
        .iter()
        .skip_while(|row| *row != "Words on this screen")
        .take_while(|row| *row != "Everywhere")
        .collect();
    assert!(
        between.iter().any(|row| row.starts_with("caveated  ")),
        "{between:?}"
    );
    assert!(
        !between.iter().any(|row| row.starts_with("VOID")),
        "{between:?}"
    );
    world.tell("press esc; press 1 ?");
    assert_eq!(help_rows(&mut world)[0], "In the view Bench");
}

#[test]
fn each_word_that_is_the_tools_own_is_in_the_help() {
    let mut world = World::new();
    world.tell("open; press ?");
    let all = help_rows(&mut world).join("\n");
    let words = [
        "quads",
        "margin",
        "caveated",
        "spread",
        "VOID",
        "HELD OUT",
        "of_estimate",
        "floor",
        "gate",
        "sealed",
        "mad_us",
    ];
    for word in words {
        world.tell(&format!("press /; press ctrl-u; type {word}; press enter"));
        let found = help_rows(&mut world);
        assert!(
            found.len() > 2 && found.len() * 3 < all.lines().count(),
            "{word}: {found:?}"
        );
        world.tell("press esc");
    }
}

#[test]
fn the_help_is_searched_as_it_is_typed() {
    let mut world = World::new();
    world.tell("open; press ?; press /; type border left");
    let rows = help_rows(&mut world);
    assert_eq!(rows[0], "/ border left");
    assert_eq!(rows[1], "Everywhere");
    assert!(
        rows[2].starts_with("Ctrl-←")
            || rows[2].contains("Move the border beside the focused pane to the left")
    );
    assert_eq!(rows.len(), 3, "{rows:?}");
    // A typed letter decides nothing, and Esc goes back step by step.
    world.tell("type qcd");
    assert!(help_rows(&mut world).contains(&"no key and no word has this".to_owned()));
    world.tell("press esc");
    assert_eq!(help_rows(&mut world)[0], "In the view Bench");
    world.tell("press esc");
    assert!(world.model.overlays.is_empty());
    check("help_search", world.tell("press ?; press /; type judge"));
}

#[test]
fn the_meaning_of_a_figure_stands_beside_it() {
    let mut world = World::new();
    world.tell(
        "open; say device: NVIDIA H200 | throughput_sps: 1000 low=999 high=1001 | speed_ratio: 1.0310 low=1.0280 \
         high=1.0340 quads=3 | speed: faster | spread_pct: 0.012 launches=6 trials=1 | correctness: pass; end pass 1000",
    );
    world.tell("press z");
    let words = world.words();
    assert!(
        words.contains("speed_ratio 1.0310 (1.0280 … 1.0340) in 3 ABBA blocks"),
        "{words}"
    );
    assert!(
        words.contains(
            "spread_pct 0.012 launches=6 trials=1 median distance of the candidate's turns"
        ),
        "{words}"
    );
    world.tell("press z; save; end void a newer save ended it");
    assert!(
        world
            .words()
            .contains("void: the run says nothing about the bytes"),
        "{}",
        world.words()
    );
}

#[test]
fn a_terminal_without_unicode_gets_ascii_alone() {
    let mut world = World::new().with_history();
    world.model.appearance.symbols = SymbolSet::Ascii;
    world.tell("open; say correctness: pass | h: 1 limit=2; end pass 1000; save; say correctness: fail; end fail out is wrong");
    for keys in ["1", "2", "3", "4", "5", "6", "7", "8", "?"] {
        world.tell(&format!("press {keys}"));
        for (width, height) in [(160, 45), (80, 24)] {
            let screen = world.screen(width, height);
            assert!(screen.is_ascii(), "{keys}:\n{screen}");
        }
    }
}
