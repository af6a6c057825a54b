//! The view Sweep: how far the newest sweep is, what each constant matters, the map and the points.

use super::states::check;
use super::world::World;
use lab_run::record::Origin;
use lab_sweep::{PointOutcome, Sweep, SweepJobs, SweepPoint, SweepStart, SweepView};
use lab_tui::event::Event;
use lab_watch::WatchEvent;
use serde_json::json;

const BLOCKS: [&str; 3] = ["64", "128", "256"];
const ROWS: [&str; 2] = ["1", "2"];

/// Point `at` of the six: `us` microseconds, or no figure where it did not pass.
fn point(at: usize, us: f64, outcome: PointOutcome, why: &str) -> SweepPoint {
    let figure = json!({ "objective": "kernel_us", "measure": { "value": us, "low": us - 0.1, "high": us + 0.1 } });
    let point = serde_json::from_value(json!({
        "sweep": 2, "fingerprint": "f", "number": at + 1, "point": at,
        "values": [BLOCKS[at / 2], ROWS[at % 2], if at > 2 { "1" } else { "0" }],
        "written": at == 0, "blob": "a".repeat(40), "outcome": outcome, "why": why,
        "figure": outcome.is_correct().then_some(figure), "goal": "minimize", "change": null,
        "device": "NVIDIA H200", "emulated": false, "caveats": [], "started": "2026-05-04T09:50:00Z",
        "seconds": 1.0, "elapsed_s": 2.0 * (at + 1) as f64
    }));
    SweepPoint {
        origin: Origin::Own,
        ..point.unwrap()
    }
}

fn sweep(points: Vec<SweepPoint>, in_progress: bool) -> SweepView {
    let parameter = |name: &str, values: &[&str]| json!({ "name": name, "values": values });
    let start: SweepStart = serde_json::from_value(json!({
        "version": 1, "lab": "0.1.0", "sweep": 2, "kernel": "kernels/rmsnorm/kernel.cu", "fingerprint": "f",
        "target": "auto", "requires": [], "points": 6, "seed": 1, "started": "2026-05-04T09:50:00Z",
        "parameters": [parameter("BLOCK", &BLOCKS), parameter("ROWS", &ROWS), parameter("LATE", &["0", "1"])],
    }))
    .unwrap();
    let start = SweepStart {
        origin: Origin::Own,
        ..start
    };
    let sweep = Sweep { start, points };
    SweepView {
        sweep,
        read: 0,
        in_progress,
        jobs: None,
    }
}

/// The same sweep on a cluster.
fn on_a_cluster(in_progress: bool, lost: usize) -> SweepView {
    let mut view = sweep(points(), in_progress);
    view.sweep.start.target = "slurm auto".to_owned();
    view.jobs = Some(SweepJobs {
        job: "4711".to_owned(),
        tasks: 6,
        pending: 2,
        running: 1,
        done: 3 - lost,
        lost,
        ..SweepJobs::default()
    });
    view
}

fn points() -> Vec<SweepPoint> {
    vec![
        point(0, 20.0, PointOutcome::Pass, ""),
        point(1, 21.0, PointOutcome::Pass, ""),
        point(2, 10.0, PointOutcome::Pass, ""),
        point(3, 0.0, PointOutcome::Fail, "y is wrong in 3 of 4,096 cells"),
        point(4, 14.0, PointOutcome::Slower, ""),
    ]
}

/// A sweep that has ended.
pub fn swept() -> SweepView {
    sweep(points(), false)
}

fn world(newest: Option<SweepView>) -> World {
    let mut world = World::new();
    world.sweep = newest;
    world.tell("open; say correctness: pass; end pass 165210; press 8");
    world
}

#[test]
fn a_sweep_in_progress_shows_its_map_what_matters_and_the_time_left() {
    check("sweep", &mut world(Some(sweep(points(), true))));
    let words = world(Some(sweep(points(), true))).words();
    assert!(words.contains("5 of 6 points"), "{words}");
    assert!(words.contains("about 2 s left for all points"), "{words}");
    assert!(words.contains("BLOCK down, ROWS across"), "{words}");
}

#[test]
fn a_sweep_whose_records_are_somebody_elses_says_so() {
    let foreign = "foreign: somebody else's lab wrote it, or it was changed since";
    let words = world(Some(sweep(points(), false))).words();
    assert!(!words.contains("foreign"), "{words}");
    let mut view = sweep(points(), false);
    view.sweep.points[2].origin = Origin::Foreign;
    let words = world(Some(view)).words();
    assert!(words.contains(foreign), "{words}");
}

#[test]
fn a_sweep_on_two_devices_shows_its_lanes() {
    let mut view = sweep(points(), true);
    view.sweep.start.target = "cuda:0,cuda:1".to_owned();
    let words = world(Some(view)).words();
    assert!(
        words.contains("NVIDIA H200, 2 lanes: cuda:0, cuda:1"),
        "{words}"
    );
}

#[test]
fn a_sweep_on_a_cluster_shows_its_tasks() {
    check("sweep_cluster", &mut world(Some(on_a_cluster(true, 1))));
    let words = world(Some(on_a_cluster(true, 0))).words();
    assert!(
        words.contains("Slurm job 4711: 6 tasks: 1 running, 2 pending, 3 done"),
        "{words}"
    );
    let words = world(Some(on_a_cluster(false, 0))).words();
    assert!(
        words.contains("`lab sweep kernels/rmsnorm/kernel.cu --executor slurm` goes on"),
        "{words}"
    );
}

#[test]
fn a_point_that_a_condition_excludes_is_not_one_that_is_left_to_try() {
    let mut view = sweep(points(), false);
    let (block_256, rows_2) = ((0, 2), (1, 1));
    view.sweep.start.excluded = [(block_256, rows_2), (rows_2, block_256)].into();
    let mut world = world(Some(view));
    check("sweep_excluded", &mut world);
    let words = world.words();
    assert!(
        words.contains("(% of the best, ✗ not correct, · not tried, – excluded)"),
        "{words}"
    );
    assert!(words.contains("256 71 –"), "{words}");
}

#[test]
fn the_map_is_over_the_pair_of_constants_that_is_asked_for() {
    let mut world = world(Some(swept()));
    let mut seen = Vec::new();
    for _ in 0..4 {
        let words = world.words();
        let at = words.find(" down, ").unwrap();
        let names = words[..at].rsplit(' ').next().unwrap().to_owned()
            + words[at + 6..].split(" across").next().unwrap();
        seen.push(names);
        world.tell("press o");
    }
    assert_eq!(seen[0], seen[3], "{seen:?}");
    assert!(seen[0] != seen[1] && seen[1] != seen[2], "{seen:?}");
}

#[test]
fn a_new_point_is_shown_at_once_and_the_end_says_what_to_do() {
    let mut all = points();
    let mut world = world(Some(sweep(all.clone(), true)));
    all.push(point(5, 12.0, PointOutcome::Pass, ""));
    world.sweep = Some(sweep(all, false));
    world.send(Event::Watch(WatchEvent::Swept));
    world.tell("wait 10");
    let words = world.words();
    assert!(words.contains("6 of 6 points"), "{words}");
    assert!(
        words.contains("`lab sweep kernels/rmsnorm/kernel.cu --apply 3` writes point 3"),
        "{words}"
    );
}

#[test]
fn the_best_point_is_written_into_the_kernel_once_asked_and_judged() {
    let mut world = world(Some(swept()));
    world.tell("press R");
    let words = world.words();
    assert!(
        words.contains("Write point 3 (BLOCK=128 ROWS=1 LATE=0) into kernels/rmsnorm/kernel.cu?"),
        "{words}"
    );
    let before = world.runs();
    world.tell("press y");
    let words = world.words();
    assert!(
        words.contains("now has the values of point 3 of sweep 2"),
        "{words}"
    );
    assert_eq!(world.runs(), before + 1, "nobody judged these bytes before");
}

#[test]
fn another_point_of_the_list_is_chosen_and_stays_so() {
    let mut all = points();
    let mut world = world(Some(sweep(all.clone(), true)));
    // The points have the focus: they are chosen from.
    world.tell("press j; press R");
    let of_first = "Write point 1 (BLOCK=64 ROWS=1 LATE=0) into kernels/rmsnorm/kernel.cu?";
    assert!(world.words().contains(of_first), "{}", world.words());
    world.tell("press n");
    all.push(point(5, 9.0, PointOutcome::Pass, ""));
    world.sweep = Some(sweep(all, true));
    world.send(Event::Watch(WatchEvent::Swept));
    world.tell("press R");
    assert!(world.words().contains(of_first), "{}", world.words());
    world.tell("press n; press G; press R");
    let words = world.words();
    assert!(
        words.contains("select a correct point; 4: wrong"),
        "{words}"
    );
}

#[test]
fn without_a_sweep_the_view_says_how_to_begin_one() {
    let words = world(None).words();
    assert!(
        words.contains("the points are listed here, the best first"),
        "{words}"
    );
    assert!(
        words.contains(
            "`lab sweep` tries the values of the tune lines: `// lab: tune NAME = 64, 128`"
        ),
        "{words}"
    );
}

#[test]
fn a_python_kernel_gets_the_hint_in_its_own_comments() {
    let mut world = World::new();
    world.model.setup.kernel = "kernels/rmsnorm/kernel.py".into();
    world.tell("open; press 8");
    let words = world.words();
    assert!(words.contains("`# lab: tune NAME = 64, 128`"), "{words}");
}

#[test]
fn an_emulated_sweep_names_no_best_point() {
    let mut all = points();
    all.push(point(5, 12.0, PointOutcome::Pass, ""));
    all.iter_mut().for_each(|point| point.emulated = true);
    let words = world(Some(sweep(all, false))).words();
    assert!(words.contains("~12.00"), "{words}");
    assert!(
        words.contains("choose a point: emulated times have no best. `lab sweep"),
        "{words}"
    );
}
