//! The WaveGRU problem as the judge drives it, on a fake device whose kernel knows the answers and may spoil them.
#![allow(clippy::unwrap_used)]

mod fake;

use crate::problem::wavegru::config::WaveGruConfig;
use crate::problem::wavegru::held_out::HeldOutRuns;
use crate::problem::wavegru::reference::StartState;
use crate::problem::wavegru::tests::SMALL;
use crate::problem::wavegru::weights::Weights;
use crate::worker::Worker;
use fake::{fake, judge, judge_in, judge_worker};
use lab_device::Driver;
use lab_protocol::report::Report;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn fails(log: &str, gate: Option<&str>, failure: Option<&str>) {
    let report = Report::read(log);
    assert_eq!(report.correctness(), Some(false), "{log}");
    assert_eq!(report.failing_gate().map(|g| g.name).as_deref(), gate, "{log}");
    assert_eq!(report.value("first_failure"), failure, "{log}");
    assert_eq!(report.value("throughput_sps"), None, "a wrong kernel has no speed");
}

#[test]
fn a_right_kernel_passes_every_gate_and_is_timed() {
    let report = Report::read(&judge(false, |_, _| {}));
    assert_eq!(report.correctness(), Some(true));
    assert_eq!(report.value("sample_steps"), Some("48"));
    assert_eq!(report.value("sample_mismatches"), Some("0 limit=0"));
    assert_eq!(report.value("sample_first_mismatch"), Some("-1"));
    let names: Vec<String> = report.gates().into_iter().map(|g| g.name).collect();
    let all = ["teacher_prob_max_diff", "teacher_prob_mean_diff", "h0_max_diff", "h1_max_diff"];
    assert_eq!(names[1..5], all);
    assert_eq!(report.series("teacher_prob_max_diff").unwrap().len(), 48);
    // The fake device takes half a second for 48 samples, every time.
    let measure = report.measure("throughput_sps").unwrap();
    assert_eq!((measure.value, measure.low, measure.high), (96.0, Some(96.0), Some(96.0)));
    assert_eq!(report.number("kernel_us"), Some(10416.6667));
}

#[test]
fn on_the_emulated_device_two_orders_are_checked_and_one_launch_timed() {
    let report = Report::read(&judge(true, |_, _| {}));
    assert_eq!(report.correctness(), Some(true));
    assert_eq!(report.value("sample_steps"), Some("48"), "24 steps in each order");
    assert_eq!(report.value("throughput_sps"), Some("48.0"), "no interval of one launch");
}

#[test]
fn one_wrong_token_fails_and_is_named() {
    let log = judge(true, |memory, seen| {
        if seen.forced == 0 {
            memory[seen.tokens + 4 * 7] ^= 1;
        }
    });
    fails(&log, Some("sample_mismatches"), Report::read(&log).value("first_failure"));
    assert_eq!(Report::read(&log).value("sample_mismatches"), Some("2 limit=0"));
    assert_eq!(Report::read(&log).value("sample_first_mismatch"), Some("7"));
    assert!(log.contains("first_failure: step 7 gave token "), "{log}");
}

#[test]
fn an_unwritten_token_fails_and_is_named() {
    let log = judge(true, |memory, seen| {
        if seen.forced == 0 {
            memory[seen.tokens + 4 * 20..][..16].copy_from_slice(&lab_device::POISON.to_le_bytes().repeat(4));
        }
    });
    assert!(log.contains("\nfailure 2: tokens[20] was never written (4 of 24 cells were not)\n"), "{log}");
    fails(&log, Some("sample_mismatches"), Report::read(&log).value("first_failure"));
}

#[test]
fn a_probability_or_state_that_is_no_number_fails_and_is_named() {
    let log = judge(true, |memory, seen| {
        if seen.forced != 0 {
            memory[seen.teacher_prob + 12..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        }
    });
    fails(&log, Some("teacher_prob_max_diff"), Some("teacher_prob[3] is NaN"));
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
    fails(&log, Some("inputs_changed"), Some("the kernel changed its input embed: first at byte 9"));
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
    fails(&log, Some("sample_mismatches"), Report::read(&log).value("first_failure"));
    assert!(log.contains("first_failure: timed launch 0: step 2 gave token"), "{log}");
}

#[test]
fn no_run_is_launched_twice_and_none_is_sampled_after_its_tokens_were_on_the_device() {
    for emulated in [false, true] {
        let fake = fake(emulated, |_, _| {});
        let launched = fake.launched.clone();
        let worker = Worker::on_a_thread(move || Ok(Box::new(fake)), Duration::from_secs(30)).unwrap();
        judge_worker(worker, Path::new("image"), tempfile::tempdir().unwrap().path(), None, false);
        let launched = launched.lock().unwrap();
        let (mut taught, mut sampled) = (Vec::new(), Vec::new());
        for (seed, is_taught) in launched.iter() {
            assert!(*is_taught || !taught.contains(seed), "run {seed} is sampled after it was taught");
            (if *is_taught { &mut taught } else { &mut sampled }).push(*seed);
        }
        assert!(!taught.is_empty() && sampled.len() > taught.len(), "{launched:?}");
        let mut all: Vec<u64> = launched.iter().map(|(seed, _)| *seed).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), launched.len(), "{launched:?}");
    }
}

#[test]
fn a_held_out_run_is_made_ahead_launched_once_and_gone() {
    let cache = tempfile::tempdir().unwrap();
    let config = WaveGruConfig::read(Path::new("wavegru/problem.toml"), SMALL).unwrap();
    let weights = Weights::draw(256, 1);
    let mut device = fake(true, |_, _| {});
    let sampling = config.sampling(&device.info());
    let held_out = HeldOutRuns::new(&config, &weights, sampling, cache.path());

    // An interruption stops the work at once.
    let mut looks = 0;
    let mut third_look = || {
        looks += 1;
        looks < 3
    };
    held_out.make_ahead(&mut third_look).unwrap();
    assert!(held_out.ready().is_none());
    assert_eq!(looks, 3);

    held_out.make_ahead(&mut || true).unwrap();
    let (run, file) = held_out.ready().unwrap();
    assert!(!config.run_seeds.contains(&run.start.seed) && run.expected.margin >= config.margin);
    // A stored run is not made again.
    held_out.make_ahead(&mut || panic!("one is ready")).unwrap();

    let seed = run.start.seed;
    device.answers = Arc::new(vec![(run.start, run.expected)]);
    let launched = device.launched.clone();
    let worker = Worker::on_a_thread(move || Ok(Box::new(device)), Duration::from_secs(30)).unwrap();
    let log = judge_worker(worker, Path::new("image"), cache.path(), None, true);
    let report = Report::read(&log);
    assert_eq!(report.correctness(), Some(true), "{log}");
    assert_eq!(report.value("held_out_seed"), Some(seed.to_string().as_str()));
    assert_eq!(*launched.lock().unwrap(), [(seed, false), (seed, true)]);
    assert!(!file.exists() && held_out.ready().is_none());
}

#[test]
fn references_come_from_the_cache_the_second_time() {
    let cache = tempfile::tempdir().unwrap();
    let computes = |log: &str| log.contains("computing 8 references");
    assert!(computes(&judge_in(cache.path(), true, |_, _| {}, None)));
    let again = judge_in(cache.path(), true, |_, _| {}, None);
    assert!(!computes(&again), "{again}");
    assert_eq!(Report::read(&again).correctness(), Some(true));

    // Only the damaged reference is computed again.
    let file = std::fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[40] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let log = judge_in(cache.path(), true, |_, _| {}, None);
    assert!(log.contains("computing 1 references"), "{log}");
    assert_eq!(Report::read(&log).correctness(), Some(true));
}

#[test]
fn a_dump_is_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    judge_in(folder.path(), true, |_, _| {}, Some(folder.path()));
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("tokens_kernel.npy"), bytes("tokens_reference.npy"));
    assert_eq!(bytes("h1_final_kernel.npy"), bytes("h1_final_reference.npy"));
    let facts: serde_json::Value = serde_json::from_slice(&bytes("run.json")).unwrap();
    let start = StartState::draw(256, facts["seed"].as_u64().unwrap());
    let h0 = bytes("h0_start.npy");
    assert_eq!(npyz::NpyFile::new(&h0[..]).unwrap().into_vec::<f32>().unwrap(), start.h0);
}
