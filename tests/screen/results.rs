//! The view Results: the table of experiments, one experiment alone, two side by side.

use super::hands::place;
use super::states::{check, check_at};
use super::world::World;
use lab_bench::summary::TimeOverRuns;
use lab_bench::{BenchDigest, BenchId};
use lab_run::experiment::Status;
use lab_tui::views::Pane;

const WIDE: [(u16, u16); 2] = [(220, 60), (120, 35)];

/// The measures of an experiment, and its gates.
const RUN: &str = "say stage: build | device: NVIDIA H200 | build_s: 0.38 | registers: 168 | spill_bytes: 0 | \
    stage: verify | rows_f32_max_diff: 2.1e-06 limit=3e-05 | rows_f32_series: 1e-7,2e-7,3e-7,9e-7,2.1e-6,1e-7 | \
    stage: measure | throughput_sps: 165210.4 low=164880 high=165540 | kernel_us: 6.05 | speed_ratio: 1.031 low=1.028 \
    high=1.034 quads=3 | speed: faster | sm_clock_mhz: 1980 low=1965 high=1980 | temperature_c: 41 low=39 high=42 | \
    power_w: 320 low=300 high=330 | throttle: none | correctness: pass | stage: done";

/// A history, two experiments of this screen, and one of each kind that has a sign.
fn world() -> World {
    let mut world = World::new().with_history().with_strangers();
    world
        .tell("open; save")
        .tell(RUN)
        .tell("end pass 165210.4 0.031; press c; type overlap loads; press enter");
    world.tell("save").tell(RUN).tell("say caveat: it was hot");
    world.tell("end pass 164000 -0.007; press d; type two rows a block; press enter; press 3");
    world
}

#[test]
fn the_table() {
    check("table", &mut world());
    check_at("table", &mut world(), &WIDE);
}

/// The experiment shows the bench of the same bytes by `lab bench`.
#[test]
fn a_bench_stands_with_its_experiment() {
    let mut world = world();
    let mean = TimeOverRuns {
        mean: 13.615,
        low: 11.095,
        high: 15.953,
        spread_pct: 43.8,
    };
    world.benches = vec![BenchDigest {
        bench: BenchId(3),
        device: Some("NVIDIA H200".into()),
        runs: 6,
        mean: Some(mean),
        passed: 53,
        workloads: 54,
        emulated: true,
        foreign: false,
    }];
    // The details of the selected experiment are loaded already.
    world.tell("press j enter");
    let screen = world.screen(160, 60);
    for line in [
        "benches of these bytes",
        "bench 3: 13.615 µs (11.095 … 15.953) over 6 runs, passed 53/54, NVIDIA H200",
        "emulated: the times say nothing about a GPU",
    ] {
        assert!(screen.contains(line), "{line} is not in\n{screen}");
    }
}

#[test]
fn the_table_before_there_is_anything() {
    check("table_empty", World::new().tell("open; press 3"));
}

#[test]
fn the_table_shows_one_problem_or_all() {
    let mut world = world();
    assert!(!world.screen(160, 45).contains("four grid.sync() a step"));
    world.tell("press P");
    check("table_all_problems", &mut world);
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("Experiments 13 of all problems") && screen.contains("wavegru"),
        "{screen}"
    );
    // The selected row goes with its problem.
    world.tell("press f; type kernel:wave; press enter; press down");
    assert!(
        world
            .screen(160, 45)
            .contains("Experiments 1 of 13 of all problems · kernel:wave")
    );
    world.tell("press P");
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("Experiments 12 of this problem (P: all 13)"),
        "{screen}"
    );
    // A filter that names a kernel chooses among all.
    world.tell("press f; type kernel:wave; press enter");
    assert!(world.screen(160, 45).contains("four grid.sync() a step"));
}

#[test]
fn an_experiment_of_another_problem_that_git_selected_is_in_the_table() {
    let mut world = world();
    let stranger = world
        .history
        .iter()
        .position(|e| e.row.description.starts_with("four grid"))
        .unwrap();
    let key = world.history[stranger].key();
    world.tell("press 4");
    world.model.selection.key = Some(key);
    world.tell("press 3");
    assert!(
        world.screen(160, 45).contains("▸ 0a1b2c0"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_problem_without_experiments_names_the_way_to_those_of_others() {
    let mut world = World::new().with_history();
    world
        .history
        .iter_mut()
        .for_each(|e| e.kernel = Some("kernels/softmax/kernel.cu".into()));
    world.tell("open");
    let words = world.words();
    assert!(
        words.contains("There are 8 of")
            && words.contains("kernels/softmax/kernel.cu: 3, then P, shows them"),
        "{words}"
    );
    world.tell("press 3");
    let words = world.words();
    assert!(
        words.contains("no experiment of this problem yet")
            && words.contains("P shows those of all problems (8)"),
        "{words}"
    );
    world.tell("press P");
    assert!(
        world
            .screen(160, 45)
            .contains("Experiments 8 of all problems")
    );
}

/// In a fresh clone the ledger has rows whose records are elsewhere: their device is not known, and
/// perhaps not their problem.
#[test]
fn a_row_without_a_record_says_what_is_unknown_and_how_to_fetch_it() {
    let mut world = World::new().with_history();
    for (at, experiment) in world.history.iter_mut().enumerate() {
        experiment.device = None;
        experiment.run = None;
        experiment.kernel = experiment.kernel.take().filter(|_| at > 2);
    }
    world.tell("open; save; say device: cpu (emulated, 2 threads) | throughput_sps: 12 | correctness: pass; end pass 12 0");
    let screen = world.screen(300, 60);
    assert!(!screen.contains("unknown device"), "{screen}");
    let says = "8 rows have no record here, and only a record names the device (of 3 also the problem): `lab fetch` in a shell";
    world.tell("press tab z");
    let screen = world.screen(220, 60);
    assert!(screen.contains(says), "{screen}");
    world.tell("press z");
    // The table shows them, because they may belong to this problem.
    world.tell("press 3 P");
    let screen = world.screen(220, 60);
    assert!(screen.contains("baseline"), "{screen}");
}

#[test]
fn sorted_and_filtered() {
    let mut world = world();
    world.tell("press f; type status:keep >50k; press enter; press o o O");
    check("table_filtered", &mut world);
}

#[test]
fn typing_a_filter() {
    let mut world = world();
    world.tell("press f; type device:h200 !keep");
    check("table_typing", &mut world);
    world.tell("press space; type stat:x");
    check("table_wrong_filter", &mut world);
}

/// Rows of the table, as their commits.
fn rows(world: &mut World) -> String {
    let screen = world.screen(160, 45);
    let is_row = |line: &&str| {
        ["●", "○", "✗"].iter().any(|mark| line.contains(mark)) && line.contains("-05-0")
    };
    let commit = |line: &str| {
        line.trim_start_matches(['▸', '◆', ' '])
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned()
    };
    screen
        .lines()
        .filter(is_row)
        .map(commit)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_filter_counts_while_it_is_typed_and_esc_takes_it_back() {
    let mut world = world();
    let all = rows(&mut world);
    world.tell("press f; type status:crash");
    assert_eq!(rows(&mut world), "9f8e7d3");
    world.tell("press esc");
    assert_eq!(rows(&mut world), all);
    world.tell("press f; type status:crash; press enter");
    assert_eq!(rows(&mut world), "9f8e7d3");
    world.tell("press esc");
    assert_eq!(rows(&mut world), all);
}

#[test]
fn a_wrong_word_leaves_the_rows_and_keeps_the_line_open() {
    let mut world = world();
    world.tell("press f; type status:crash; press space; paste what:ever; press enter");
    assert_eq!(rows(&mut world), "9f8e7d3");
    assert!(
        world.words().contains("no field 'what'"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press ctrl-w; press enter");
    assert!(
        !world.words().contains("filter›"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_chosen_row_stays_chosen_when_the_order_is_another() {
    let mut world = world();
    world.tell("press j j; press o O o");
    let chosen = world.model.selected().unwrap().row.commit.clone();
    let screen = world.screen(160, 45);
    let line = screen
        .lines()
        .find(|l| l.trim_start().starts_with('▸'))
        .unwrap();
    assert!(line.contains(&chosen), "{chosen}: {line}");
    // If the filter hides the selected row, the topmost row is selected.
    world.tell("press f; type nothing; press enter");
    assert!(world.model.selection.key.is_none());
}

#[test]
fn enter_shows_one_alone_and_esc_goes_back_to_the_table() {
    let mut world = world();
    world.tell("press j enter");
    assert_eq!(world.model.panes.focus().name(), "Experiment");
    assert!(world.model.panes.zoom());
    world.tell("press esc");
    assert_eq!(
        (world.model.panes.focus().name(), world.model.panes.zoom()),
        ("Experiments", false)
    );
}

#[test]
fn one_whole() {
    let mut world = world();
    world.tell("press j");
    check("whole", &mut world);
    check_at("whole", &mut world, &WIDE);
    world.tell("press enter");
    check("whole_alone", &mut world);
    world.tell("press ] ]");
    check("whole_scrolled", &mut world);
}

#[test]
fn one_whose_record_is_not_here() {
    check("whole_bare", world().tell("press j j j enter"));
}

#[test]
fn brackets_go_from_section_to_section() {
    let mut world = world();
    world.tell("press j enter");
    world.screen(100, 16);
    let mut seen = vec![0];
    for _ in 0..5 {
        world.tell("press ]");
        world.screen(100, 16);
        seen.push(world.model.panes.text(Pane::Experiment).first);
    }
    assert!(
        seen.windows(2).all(|pair| pair[0] <= pair[1]) && seen[2] > seen[1],
        "{seen:?}"
    );
    world.tell("press [ [ [ [ [ [ [");
    world.screen(100, 16);
    assert_eq!(world.model.panes.text(Pane::Experiment).first, 0);
}

#[test]
fn two_are_marked_and_compared() {
    let mut world = world();
    world.tell("press space; press j space; press =");
    check("compared", &mut world);
    // The older one is the first, whichever was marked first.
    assert!(
        world.words().contains("c0fff0b and c0fff0c"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        world.words().contains("same -0.7 % (-1.0 … -0.4)"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press esc");
    assert_eq!(
        (
            world.model.selection.comparing.is_some(),
            world.model.panes.focus().name()
        ),
        (false, "Experiments")
    );
}

#[test]
fn with_one_mark_it_is_compared_with_the_chosen_one() {
    let mut world = world();
    world.tell("press =");
    assert!(
        world.words().contains("compare: mark two with Space"),
        "{}",
        world.screen(160, 45)
    );
    // An old experiment has no measure that this repository knows.
    world.tell("press space; press G; press =");
    assert!(
        world
            .words()
            .contains("none: the record of one of them is not here"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn an_experiment_is_put_back_once_asked_and_judged_where_it_never_was() {
    let mut world = world();
    world.tell("press G R");
    check("restore", &mut world);
    let before = world.runs();
    world.tell("press n");
    assert_eq!(world.runs(), before);
    world.tell("press R y");
    let words = world.words();
    assert!(
        words.contains("now has the bytes of 9f8e7d0 · what was on disk is kept as 5a7ed00"),
        "{words}"
    );
    assert_eq!(world.runs(), before + 1, "nobody judged these bytes before");
    assert!(words.contains("restored"), "{words}");
}

#[test]
fn what_was_judged_before_has_its_verdict_back_at_once() {
    let mut world = world();
    let before = world.runs();
    world.tell("press j R y");
    assert_eq!(
        world.runs(),
        before,
        "the run that judged these bytes is remembered"
    );
    assert!(
        world.words().contains("● PASS kept 165,210 sps"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_kernel_of_another_problem_is_not_put_back_here() {
    let mut world = world();
    world.tell("press f; type wavegru; press ctrl-u; type kernel:wavegru; press enter; press R");
    assert!(
        world
            .words()
            .contains("another kernel: `lab restore 0a1b2c0`"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press esc; press G; press 1; save; press 3 R");
    assert!(
        world.words().contains("restore: run"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_restore_that_fails_is_said() {
    let mut world = world();
    world.refusal = Some("no space left on the disk: make room".into());
    world.tell("press j R y");
    assert!(
        world.words().contains("Restore: not now"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        world.words().contains("make room"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn ten_thousand_rows() {
    let row = |at: u32| {
        (
            f64::from(40_000 + at * 37 % 9_973),
            Status::Keep,
            "unroll, and stage through shared memory",
        )
    };
    let past: Vec<_> = (0..10_000).map(row).collect();
    let mut world = World::new().with_experiments(&past);
    world.tell("open; press 3; press G");
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("Experiments 10,000 · by when ▼") && screen.contains("▸ 9f8e7d0"),
        "{screen}"
    );
    world.tell("press f; type >49960");
    assert!(
        world
            .screen(160, 45)
            .contains("Experiments 12 of 10,000 · >49960"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_topmost_row_can_be_copied_before_any_is_chosen() {
    let mut world = world();
    world.tell("press y");
    assert!(
        world.words().contains("copied c0fff0c"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_click_on_the_head_of_a_column_sorts_by_it() {
    let mut world = world();
    world.tell("config mouse = true");
    let click = |world: &mut World, text: &str, beside: usize| {
        let (x, y) = place(world, text);
        world.tell(&format!("click {} {y}", x + beside));
    };
    let see = |world: &mut World, text: &str| {
        assert!(world.words().contains(text), "{}", world.screen(160, 45));
    };
    see(&mut world, "by when ▼");
    click(&mut world, "vs best", 0);
    see(&mut world, "by vs best ▼");
    click(&mut world, "vs best▼", 0);
    see(&mut world, "by vs best ▲");
    // A text begins with its first letter.
    click(&mut world, "description", 3);
    see(&mut world, "by description ▲");
    // A click between two columns does nothing.
    click(&mut world, "vs best", "vs best ".len());
    see(&mut world, "by description ▲");
    // A dialog covers the heads, and another view has no heads there.
    let (x, y) = place(&mut world, "vs best");
    world.tell(&format!("press :; click {x} {y}; press esc; press 4"));
    see(&mut world, "Commit");
    world.tell(&format!("click {x} {y}; press 3"));
    see(&mut world, "by description ▲");
}

#[test]
fn the_details_show_the_trailers_as_they_were_described_last() {
    let mut world = World::new().with_history();
    world.tell("open; press 3");
    assert!(world.words().contains("Constraint 48 kB of shared memory"));
    // In another terminal: `lab describe`.
    let newest = world.history.last_mut().unwrap();
    newest.trailers = vec![("Note".parse().unwrap(), "slower on small rows".to_owned())];
    world.tell("elsewhere");
    let words = world.words();
    assert!(words.contains("Note slower on small rows"), "{words}");
    assert!(!words.contains("Constraint"), "{words}");
}

#[test]
fn a_wrong_field_leaves_the_rows_and_enter_keeps_the_filter_open() {
    let mut world = world();
    world.tell("press f; type statsu:keep warp; press enter");
    let words = world.words();
    assert!(
        words.contains("no field 'statsu' (did you mean status?)"),
        "{words}"
    );
    assert!(words.contains("one warp a row"), "{words}");
    assert!(!words.contains("no experiment matches"), "{words}");
    world.tell("press esc");
    assert!(
        world.words().contains("Experiments 12"),
        "{}",
        world.words()
    );
}

#[test]
fn experiments_that_different_rules_judged_are_not_compared() {
    let mut world = world();
    world.differing_rules = vec!["kernels/rmsnorm/problem.toml".to_owned()];
    world.tell("press space; press j space; press =");
    let words = world.words();
    for said in [
        "their rules differ: kernels/rmsnorm/problem.toml",
        "! The two were judged by different rules",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
}
