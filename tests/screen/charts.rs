//! The throughput chart of real experiments, of unusual ones, and of very many.

use super::states::check;
use super::world::World;
use lab_run::experiment::Status::{self, Crash as C, Discard as D, Keep as K};
use std::time::{Duration, Instant};

/// The run was wrong, so its figure says nothing.
const W: f64 = f64::NAN;

/// WaveGRU on an H200, the first of results.tsv.
#[rustfmt::skip]
const H200: [(f64, Status); 62] = [
    (52190., K), (68860., K), (64925., D), (111668., K), (117978., K), (W, D),
    (167147., K), (151435., D), (133549., D), (137771., D), (211073., K), (237918., K),
    (231580., D), (122048., D), (233419., D), (232857., D), (218007., D), (240259., K),
    (235160., D), (256708., K), (243942., D), (219822., D), (220534., D), (216325., D),
    (259126., K), (260114., K), (265230., K), (258431., D), (263727., D), (259400., D),
    (253819., D), (246558., D), (264902., D), (246757., D), (239558., D), (227718., D),
    (214553., D), (255298., D), (235997., D), (236569., D), (179553., D), (248390., D),
    (258737., D), (238312., D), (236864., D), (239301., D), (217882., D), (214559., D),
    (225318., D), (204753., D), (236774., D), (229242., D), (240474., D), (216456., D),
    (196823., D), (238160., D), (214627., D), (254638., D), (235225., D), (181570., D),
    (251745., D), (238325., D),
];

fn world(past: &[(f64, Status)]) -> World {
    let past: Vec<_> = past
        .iter()
        .map(|(value, status)| (*value, *status, "an attempt"))
        .collect();
    World::new().with_experiments(&past)
}

#[test]
fn the_experiments_of_an_h200() {
    let mut world = world(&H200);
    check("chart_h200", world.tell("open; press tab z"));
    check("chart_h200_newest_20", world.tell("press + +"));
    check("chart_h200_log", world.tell("press 0 L"));
    check("chart_h200_old", world.tell("press + + g j j j j j j j"));
}

#[test]
fn the_chart_is_zoomed_in_round_numbers() {
    let mut world = world(&H200);
    world.tell("open; press tab z");
    for (keys, says) in [
        ("+", "50 of 62 experiments"),
        ("=", "20 of 62 experiments"),
        ("+ + +", "5 of 62 experiments"),
        ("-", "10 of 62 experiments"),
        ("- - -", "sps · 62 experiments"),
        ("+ 0", "sps · 62 experiments"),
        ("L", "sps · log scale · 62 experiments"),
        ("L", "sps · 62 experiments"),
    ] {
        world.tell(&format!("press {keys}"));
        assert!(
            world.words().contains(says),
            "after {keys}: {}",
            world.screen(160, 45)
        );
    }
}

#[test]
fn odd_histories_have_a_chart_too() {
    let odd: [(&str, &[(f64, Status)]); 6] = [
        ("one", &[(52_190.0, K)]),
        ("no_figures", &[(0.0, C), (W, D), (0.0, C)]),
        ("equal", &[(100.0, K), (100.0, D), (100.0, D)]),
        ("zeros", &[(0.0, K), (0.0, D)]),
        ("huge", &[(1e-3, K), (5.0, K), (4e12, K), (2e3, D)]),
        (
            "wild",
            &[
                (100.0, K),
                (1e9, D),
                (99.0, D),
                (98.0, D),
                (101.0, K),
                (97.0, D),
                (2.0, D),
                (100.0, D),
            ],
        ),
    ];
    for (name, past) in odd {
        check(
            &format!("chart_{name}"),
            world(past).tell("open; press tab z k"),
        );
    }
    let mut huge = world(odd[4].1);
    check("chart_huge_log", huge.tell("open; press tab z L"));
    let mut none = world(&[]);
    assert!(
        none.tell("open; press tab z + - 0 L k")
            .words()
            .contains("no experiment yet")
    );
}

const BOUNDS: &str = "say stage: verify | d_max_diff: 1e-6 limit=1e-5 | stage: measure | floor_us: 0.80 | estimate_us: 5.50 \
    exchanges=4 | of_estimate: 83 | throughput_sps: 151510 low=141000 high=162000 | kernel_us: 6.60 | correctness: pass";

#[test]
fn the_verdict_that_waits_has_an_interval_and_the_device_its_bounds() {
    let mut world = World::new().with_history();
    world
        .tell("open; say correctness: pass; end pass 142050; save")
        .tell(BOUNDS)
        .tell("end pass 151510");
    world.wide_interval(0.07);
    check("chart_waiting", world.tell("press tab z"));
}

#[test]
fn without_braille_the_chart_is_ascii() {
    let mut world = World::new().with_history();
    world.model.appearance.symbols = lab_tui::chart::SymbolSet::Ascii;
    check("chart_ascii", world.tell("open; press tab z k k k"));
}

/// The first experiment's mark and the last one's are there, and no frame takes long.
#[test]
fn ten_thousand_experiments_are_drawn_at_once() {
    let past: Vec<(f64, Status)> = (0..10_000)
        .map(|at| {
            let better = 50e3 * (1.0 + f64::from(at) / 2_500.0);
            match at % 97 {
                0 => (better, K),
                5 => (0.0, C),
                n => (better * (1.0 - f64::from(n) / 300.0), D),
            }
        })
        .collect();
    let mut world = world(&past);
    check("chart_ten_thousand", world.tell("open; press tab z"));
    check("chart_ten_thousand_newest", world.tell("press + + + + + +"));
    world.tell("press 0");
    // The quickest of ten: the machine has other work to do. A debug build takes several times as
    // long.
    let frame = |world: &mut World| {
        let began = Instant::now();
        world.screen(200, 60);
        began.elapsed()
    };
    let least = (0..10).map(|_| frame(&mut world)).min().unwrap();
    println!("a frame with 10,000 experiments at 200×60 takes {least:?}");
    assert!(least < Duration::from_millis(150), "{least:?}");
}

/// Gates as the built-in harness prints them, 1,024 steps thinned to 512 points.
fn verified(value: &str) -> World {
    let points: Vec<String> = (0..512)
        .map(|at| format!("{:e}", 1e-7 * f64::from(1 + at % 13)))
        .collect();
    let mut points = points.join(",");
    points.push_str(" cells=1024");
    let mut world = World::new().with_history();
    world.tell("open; say stage: verify | sample_mismatches: 0 limit=0");
    world.tell(&format!(
        "say teacher_prob_max_diff: {value} limit=3e-5 at=step~731 | teacher_prob_max_diff_series: {points} | \
         teacher_prob_max_diff_histogram: 3,40,410,2100,4800,700,90,1 from=-26 exact=48 not_finite=0 | \
         h0_max_diff: 1.2e-6 limit=1.5e-5 at=unit~17 | h0_max_diff_series: 1e-7,2e-7,1.2e-6,9e-7,0 | \
         h0_max_diff_histogram: 10,20,700,30,0,0,2 from=-29 exact=262 not_finite=0 | correctness: pass | stage: done"
    ));
    world.tell("end pass 165210.4");
    world
}

#[test]
fn the_differences_have_histograms_and_the_worst_is_named() {
    let mut world = verified("2.1e-6");
    check("chart_differences", &mut world);
    check("chart_histograms", world.tell("press H"));
    let words = world.words();
    assert!(
        words.contains("worst: step 731, 2.1e-6 of 3.0e-5 limit"),
        "{words}"
    );
    check("chart_histograms_zoomed", world.tell("press H z"));
    assert!(
        world.words().contains("8,192 values, 48 equal"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        world.tell("press H H z").words().contains("run.log run"),
        "{}",
        world.screen(160, 45)
    );
    check(
        "chart_histograms_beyond",
        verified("4.2e-4").tell("press H z"),
    );
    let mut none = World::new();
    assert!(
        none.tell("open; say correctness: pass; end pass 1; press H")
            .words()
            .contains("no histogram yet")
    );
}
