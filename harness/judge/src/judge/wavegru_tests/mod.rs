//! The WaveGRU problem as the judge drives it, on a fake device whose kernel knows the answers and
//! may spoil them.
#![allow(clippy::unwrap_used)]

mod fake;

use crate::problem::wavegru::config::WaveGruConfig;
use crate::problem::wavegru::reference::ReferenceModel;
use crate::problem::wavegru::run_inputs::RunInputs;
use crate::problem::wavegru::run_stock::{RunStock, Shelf, StockSize};
use crate::problem::wavegru::tests::SMALL;
use crate::problem::wavegru::weights::Weights;
use fake::{Judging, judge, judge_in};
use lab_protocol::report::Report;
use lab_system::root::{Access, Root};
use std::path::Path;

fn fails(log: &str, gate: Option<&str>, failure: Option<&str>) {
    let report = Report::read(log);
    assert_eq!(report.correctness(), Some(false), "{log}");
    assert_eq!(
        report.failing_gate().map(|g| g.name).as_deref(),
        gate,
        "{log}"
    );
    assert_eq!(report.value("first_failure"), failure, "{log}");
    assert_eq!(
        report.value("throughput_sps"),
        None,
        "a wrong kernel has no speed"
    );
}

#[test]
fn a_right_kernel_passes_every_gate_and_is_timed() {
    let report = Report::read(&judge(false, |_, _| {}));
    assert_eq!(report.correctness(), Some(true));
    assert_eq!(report.value("sample_steps"), Some("48"));
    assert_eq!(report.value("sample_mismatches"), Some("0 limit=0"));
    assert_eq!(report.value("sample_first_mismatch"), Some("-1"));
    let names: Vec<String> = report.gates().into_iter().map(|g| g.name).collect();
    let all = [
        "teacher_prob_max_diff",
        "teacher_prob_mean_diff",
        "h0_max_diff",
        "h1_max_diff",
    ];
    assert_eq!(names[1..5], all);
    assert_eq!(names[5], "teacher_score_diff");
    assert_eq!(report.series("teacher_prob_max_diff").unwrap().len(), 48);
    // The fake device takes half a second for 48 samples, every time.
    let measure = report.measure("throughput_sps").unwrap();
    assert_eq!(
        (measure.value, measure.low, measure.high),
        (96.0, Some(96.0), Some(96.0))
    );
    assert_eq!(report.number("kernel_us"), Some(10416.6667));
}

#[test]
fn on_the_emulated_device_two_orders_are_checked_and_one_launch_timed() {
    let report = Report::read(&judge(true, |_, _| {}));
    assert_eq!(report.correctness(), Some(true));
    assert_eq!(
        report.value("sample_steps"),
        Some("48"),
        "24 steps in each order"
    );
    assert_eq!(
        report.value("throughput_sps"),
        Some("48.0"),
        "no interval of one launch"
    );
}

#[test]
fn one_wrong_token_fails_and_is_named() {
    let log = judge(true, |memory, seen| {
        if seen.forced == 0 {
            memory[seen.tokens + 4 * 7] ^= 1;
        }
    });
    fails(
        &log,
        Some("sample_mismatches"),
        Report::read(&log).value("first_failure"),
    );
    assert_eq!(
        Report::read(&log).value("sample_mismatches"),
        Some("2 limit=0")
    );
    assert_eq!(Report::read(&log).value("sample_first_mismatch"), Some("7"));
    assert!(log.contains("first_failure: step 7 gave token "), "{log}");
}

#[test]
fn an_unwritten_token_fails_and_is_named() {
    let log = judge(true, |memory, seen| {
        if seen.forced == 0 {
            memory[seen.tokens + 4 * 20..][..16]
                .copy_from_slice(&lab_device::POISON.to_le_bytes().repeat(4));
        }
    });
    assert!(
        log.contains("\nfailure 2: tokens[20] was never written (4 of 24 cells were not)\n"),
        "{log}"
    );
    fails(
        &log,
        Some("sample_mismatches"),
        Report::read(&log).value("first_failure"),
    );
}

#[test]
fn a_probability_or_state_that_is_no_number_fails_and_is_named() {
    let log = judge(true, |memory, seen| {
        if seen.forced != 0 {
            memory[seen.teacher_prob + 12..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        }
    });
    fails(
        &log,
        Some("teacher_prob_max_diff"),
        Some("teacher_prob[3] is NaN"),
    );
    let log = judge(true, |memory, seen| {
        memory[seen.h1 + 1020..][..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    });
    fails(&log, Some("h1_max_diff"), Some("h1[255] is inf"));
}

#[test]
fn a_state_slightly_off_fails_its_own_gate() {
    let log = judge(true, |memory, seen| {
        let unit = &mut memory[seen.h0 + 400..][..4];
        let value = f32::from_le_bytes(unit.try_into().unwrap()) + 1e-3;
        unit.copy_from_slice(&value.to_le_bytes());
    });
    fails(&log, Some("h0_max_diff"), None);
    let series = Report::read(&log).series("h0_max_diff").unwrap();
    assert!((series[100] - 1e-3).abs() < 1e-6);
}

#[test]
fn a_kernel_that_touches_what_is_not_its_own_fails() {
    let log = judge(true, |memory, seen| memory[seen.tokens - 4] ^= 1);
    fails(
        &log,
        Some("out_of_bounds"),
        Some("the kernel wrote outside tokens: at byte -4 from its beginning"),
    );
    let log = judge(true, |memory, seen| memory[seen.embed + 9] ^= 1);
    fails(
        &log,
        Some("inputs_changed"),
        Some("the kernel changed its input embed: first at byte 9"),
    );
}

#[test]
fn a_kernel_that_is_wrong_only_while_it_is_timed_has_no_speed() {
    // The kernel counts its launches: two orders twice, then a timed launch.
    let log = judge(true, |memory, seen| {
        memory[0] += 1;
        if memory[0] == 5 {
            memory[seen.tokens + 8] ^= 1;
        }
    });
    fails(
        &log,
        Some("sample_mismatches"),
        Report::read(&log).value("first_failure"),
    );
    assert!(
        log.contains("first_failure: timed launch 0: step 2 gave token"),
        "{log}"
    );
}

/// The kernel counts its launches: two orders of both kinds, then a timed launch.
#[test]
fn a_kernel_that_writes_other_states_only_while_it_is_timed_has_no_speed() {
    let log = judge(true, |memory, seen| {
        memory[0] += 1;
        if memory[0] == 5 {
            let unit = &mut memory[seen.h1 + 12..][..4];
            let value = f32::from_le_bytes(unit.try_into().unwrap()) + 1e-3;
            unit.copy_from_slice(&value.to_le_bytes());
        }
    });
    fails(
        &log,
        Some("h1_max_diff"),
        Report::read(&log).value("first_failure"),
    );
    assert!(
        log.contains("first_failure: timed launch 0: h1[3] is off by 1.00e-3"),
        "{log}"
    );
    assert!(log.contains("at=unit~3"), "{log}");
}

#[test]
fn a_score_beyond_the_margin_fails_although_its_probability_hardly_changes() {
    let log = judge(true, |memory, seen| {
        if seen.forced != 0 {
            let cells = memory[seen.teacher_prob..][..4 * 24].as_chunks_mut::<4>().0;
            let least = cells
                .iter_mut()
                .min_by(|a, b| f32::from_le_bytes(**a).total_cmp(&f32::from_le_bytes(**b)));
            let cell = least.unwrap();
            *cell = (f32::from_le_bytes(*cell) * (1.0 + 6.4e-4)).to_le_bytes();
        }
    });
    let failing: Vec<String> = Report::read(&log)
        .gates()
        .into_iter()
        .filter(|g| !g.passes())
        .map(|g| g.name)
        .collect();
    assert_eq!(failing, ["teacher_score_diff"], "{log}");
}

#[test]
fn no_run_is_launched_twice_and_none_is_sampled_after_its_tokens_were_on_the_device() {
    for emulated in [false, true] {
        let cache = tempfile::tempdir().unwrap();
        let (_, launched) = judge_in(cache.path(), emulated, |_, _| {}, Judging::default());
        let (mut taught, mut sampled) = (Vec::new(), Vec::new());
        for (seed, is_taught) in &launched {
            assert!(
                *is_taught || !taught.contains(seed),
                "run {seed} is sampled after it was taught"
            );
            (if *is_taught {
                &mut taught
            } else {
                &mut sampled
            })
            .push(*seed);
        }
        assert!(
            !taught.is_empty() && sampled.len() > taught.len(),
            "{launched:?}"
        );
        assert_eq!(distinct(&launched).len(), launched.len(), "{launched:?}");
    }
}

fn distinct(launched: &[(u64, bool)]) -> Vec<u64> {
    let mut all: Vec<u64> = launched.iter().map(|(seed, _)| *seed).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn config() -> WaveGruConfig {
    WaveGruConfig::read(Path::new("wavegru/problem.toml"), SMALL).unwrap()
}

/// Two tokens of any two neighbouring runs cannot both follow from one fixed min-p.
#[test]
fn the_sampled_runs_of_a_check_tell_every_fixed_min_p() {
    let cache = tempfile::tempdir().unwrap();
    let pool = Judging {
        from_pool: true,
        ..Judging::default()
    };
    let (log, launched) = judge_in(cache.path(), true, |_, _| {}, pool);
    let sampled: Vec<u64> = launched[..4]
        .iter()
        .filter(|(_, taught)| !taught)
        .map(|(seed, _)| *seed)
        .collect();
    assert_eq!(sampled.len(), 2, "{log}");
    let inputs: Vec<RunInputs> = sampled
        .iter()
        .map(|seed| RunInputs::draw(256, 24, &config().ranges(), *seed))
        .collect();
    let found = ReferenceModel::new(&Weights::draw(256, 1)).run(&inputs, 2, &mut |_, _| {});
    let ([low, high], [other_low, other_high]) = (found[0].same_min_p, found[1].same_min_p);
    assert!(
        high < other_low || other_high < low,
        "{:?} {:?}",
        found[0].same_min_p,
        found[1].same_min_p
    );
}

#[test]
fn a_save_takes_fresh_runs_and_uses_old_ones_again_only_where_it_must() {
    let cache = tempfile::tempdir().unwrap();
    let pool = Judging {
        from_pool: true,
        ..Judging::default()
    };
    let reused = |log: &str| Report::read(log).value("reused_runs").unwrap().to_owned();

    let (first, launched) = judge_in(cache.path(), true, |_, _| {}, pool);
    assert!(
        first.contains("computing 5 references on the cpu, once"),
        "{first}"
    );
    assert_eq!(
        (reused(&first).as_str(), launched.len()),
        ("0", 5),
        "{first}"
    );
    // Nobody has filled the stock since.
    let (second, again) = judge_in(cache.path(), true, |_, _| {}, pool);
    assert!(!second.contains("computing"), "{second}");
    let known = distinct(&launched);
    let reused_now = distinct(&again)
        .iter()
        .filter(|seed| known.contains(seed))
        .count();
    assert_eq!(reused(&second), reused_now.to_string());
    assert!(
        reused_now >= 3,
        "the first run made at most two more than it needed"
    );
    // A judge on standby replaces what it would use again.
    let (third, fresh) = judge_in(
        cache.path(),
        true,
        |_, _| {},
        Judging {
            on_standby: true,
            ..pool
        },
    );
    assert_eq!(reused(&third), "0", "{third}");
    assert!(distinct(&fresh).iter().all(|seed| !known.contains(seed)));
    let seeds = config().run_seeds;
    assert!(
        [launched, again, fresh]
            .iter()
            .flatten()
            .all(|(seed, _)| !seeds.contains(seed))
    );
    for log in [first, second, third] {
        assert_eq!(Report::read(&log).correctness(), Some(true), "{log}");
    }
}

#[test]
fn sealed_runs_are_made_ahead_launched_once_and_gone() {
    let cache = tempfile::tempdir().unwrap();
    let (config, weights) = (config(), Weights::draw(256, 1));
    let stock = RunStock::new(&config, &weights, weights.digest(), 24, cache.path());
    let size = StockSize {
        judgement: 0,
        keep: 2,
        sealed: 4,
    };

    // An interruption stops the work at once.
    let mut looks = 0;
    let mut fourth_look = || {
        looks += 1;
        looks < 4
    };
    stock.make_ahead(size, &mut fourth_look).unwrap();
    assert!(stock.stored(Shelf::Sealed).is_empty());
    assert_eq!(looks, 4);

    stock.make_ahead(size, &mut || true).unwrap();
    let stored = stock.stored(Shelf::Sealed);
    assert!(stored.len() >= 4);
    for (run, _) in &stored {
        assert!(
            !config.run_seeds.contains(&run.inputs.seed) && run.expected.margin >= config.margin
        );
    }
    // One process makes runs at a time: each uses many cores.
    let folder = std::fs::read_dir(cache.path().join("wavegru-runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let others = Root::new(&folder)
        .take_lock("making.lock".as_ref(), Access::ReadAppend)
        .unwrap()
        .unwrap();
    let more = StockSize { sealed: 20, ..size };
    stock.make_ahead(more, &mut || true).unwrap();
    assert_eq!(stock.stored(Shelf::Sealed).len(), stored.len());
    drop(others);
    // What is in stock is not made again.
    let before = stock.stored(Shelf::Sealed).len();
    stock.make_ahead(size, &mut || true).unwrap();
    assert_eq!(stock.stored(Shelf::Sealed).len(), before);

    let sealed = Judging {
        sealed: Some(1),
        ..Judging::default()
    };
    let (log, launched) = judge_in(cache.path(), true, |_, _| {}, sealed);
    let report = Report::read(&log);
    assert_eq!(report.correctness(), Some(true), "{log}");
    assert_eq!(report.value("sealed_runs"), Some("2 from_stock=2"), "{log}");
    assert_eq!((launched.len(), distinct(&launched).len()), (2, 2));
    assert_eq!(launched.iter().filter(|(_, taught)| *taught).count(), 1);
    let left: Vec<u64> = stock
        .stored(Shelf::Sealed)
        .iter()
        .map(|(run, _)| run.inputs.seed)
        .collect();
    assert_eq!(left.len(), stored.len() - 2);
    assert!(distinct(&launched).iter().all(|seed| !left.contains(seed)));

    // After a refusal: eight in a row, of which the stock has too few.
    let eight = Judging {
        sealed: Some(8),
        ..Judging::default()
    };
    let (log, launched) = judge_in(cache.path(), true, |_, _| {}, eight);
    assert!(log.contains("sealed runs: the stock has too few"), "{log}");
    assert_eq!(distinct(&launched).len(), 8, "{log}");
    assert!(
        Report::read(&log).value("throughput_sps").is_none(),
        "the cpu device is not timed"
    );
}

#[test]
fn a_sealed_check_on_a_gpu_is_timed_on_sealed_runs_in_one_worker() {
    let cache = tempfile::tempdir().unwrap();
    let sealed = Judging {
        sealed: Some(1),
        ..Judging::default()
    };
    // No further worker can be started here, and none is asked for.
    let (log, launched) = judge_in(cache.path(), false, |_, _| {}, sealed);
    let report = Report::read(&log);
    assert_eq!(report.correctness(), Some(true), "{log}");
    assert!(
        log.contains("computing a held-out reference on the cpu for each of 8 sealed runs"),
        "{log}"
    );
    assert_eq!(report.value("sealed_runs"), Some("8 from_stock=0"), "{log}");
    // Two are checked. A busy machine may run out of time before all six others are timed.
    assert!((4..=8).contains(&launched.len()), "{log}");
    assert_eq!(launched.len(), distinct(&launched).len(), "{log}");
    assert_eq!(
        report.measure("throughput_sps").map(|m| m.value),
        Some(96.0),
        "{log}"
    );
    assert!(report.value("held_out_seed").is_some());

    let (log, _) = judge_in(
        cache.path(),
        false,
        |memory, seen| {
            memory[0] += 1;
            if memory[0] == 3 {
                memory[seen.tokens + 8] ^= 1;
            }
        },
        sealed,
    );
    fails(
        &log,
        Some("sample_mismatches"),
        Report::read(&log).value("first_failure"),
    );
    assert!(
        log.contains("first_failure: timed launch 0: step 2"),
        "{log}"
    );
}

#[test]
fn references_of_a_fixed_seed_come_from_the_cache_the_second_time() {
    let cache = tempfile::tempdir().unwrap();
    let judge = || judge_in(cache.path(), true, |_, _| {}, Judging::default());
    let (log, launched) = judge();
    assert!(log.contains("computing 5 references"), "{log}");
    let (again, launched_again) = judge();
    assert!(!again.contains("computing"), "{again}");
    assert_eq!(launched, launched_again, "the same runs in the same order");
    assert_eq!(Report::read(&again).correctness(), Some(true));

    // Only the damaged reference is computed again.
    let file = std::fs::read_dir(cache.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = file.filter(|path| path.is_file()).min().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[40] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let (log, _) = judge();
    assert!(log.contains("computing 1 references"), "{log}");
    assert_eq!(Report::read(&log).correctness(), Some(true));
}

#[test]
fn a_dump_is_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let dump = Judging {
        dump: Some(folder.path()),
        ..Judging::default()
    };
    let (_, launched) = judge_in(folder.path(), true, |_, _| {}, dump);
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("tokens_kernel.npy"), bytes("tokens_reference.npy"));
    assert_eq!(
        bytes("h1_final_kernel.npy"),
        bytes("h1_final_reference.npy")
    );
    let facts: serde_json::Value = serde_json::from_slice(&bytes("run.json")).unwrap();
    assert_eq!(
        facts["seed"].as_u64(),
        config().run_seeds.first().copied(),
        "a published run"
    );
    assert_eq!(
        launched
            .iter()
            .filter(|(seed, _)| Some(*seed) == facts["seed"].as_u64())
            .count(),
        2
    );
    let inputs = RunInputs::draw(256, 24, &config().ranges(), facts["seed"].as_u64().unwrap());
    assert_eq!(
        facts["temperature"].as_f64().map(|t| t as f32),
        Some(inputs.sampling.temperature)
    );
    let h0 = bytes("h0_start.npy");
    assert_eq!(
        npyz::NpyFile::new(&h0[..])
            .unwrap()
            .into_vec::<f32>()
            .unwrap(),
        inputs.h0
    );
}
