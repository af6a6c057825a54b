//! What is said of a profile of kernels/wavegru, recorded on an H200 with `lab profile --set full`
//! and cut down.
#![allow(clippy::unwrap_used)]

use super::compare::{self, By};
use super::digest::{MOST, digest};
use super::read::parse;
use super::{facts, least, lines, roofline};
use lab_protocol::profile::{LeastWork, Metric, Origin, Profile};

fn wavegru() -> Profile {
    parse(include_bytes!("wavegru.json")).unwrap()
}

fn set(profile: &mut Profile, metric: &str, value: f64) {
    profile.metrics.insert(
        metric.to_owned(),
        Metric {
            value,
            unit: String::new(),
        },
    );
}

#[test]
fn a_profile_in_a_few_lines() {
    let lines = digest(&wavegru());
    assert!(lines.len() <= MOST, "{lines:#?}");
    assert_eq!(lines.join("\n"), include_str!("digest.txt").trim_end());
}

#[test]
fn a_static_view_says_why_and_what_the_image_holds() {
    let mut profile = wavegru();
    profile.origin = Origin::Image {
        why: "there is no ncu here".into(),
    };
    profile.metrics.clear();
    (profile.lines, profile.findings) = (Vec::new(), Vec::new());
    profile.image.mix = vec![("fma".into(), 900), ("load global".into(), 40)];
    profile.image.spill_bytes = Some(16);
    let text = digest(&profile).join("\n");
    for said in [
        "nothing ran",
        "there is no ncu here",
        "instructions: fma 900",
        "spills 16 bytes",
        "242 registers",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(roofline::of(&profile), None);
    assert!(facts::loads(&profile).is_empty() && facts::stalls(&profile).is_empty());
}

#[test]
fn the_roofline_uses_the_reports_own_peaks() {
    let found = roofline::of(&wavegru()).unwrap();
    // 1,504 bytes a cycle of DRAM, and two operations of each of 16,896 f32 units.
    assert!((4.6e12..5.0e12).contains(&found.bandwidth), "{found:?}");
    assert!((6.5e13..6.8e13).contains(&found.peak), "{found:?}");
    assert_eq!(found.pipe, "f32");
    assert!(!found.is_memory_bound(), "its weights stay on the chip");
    // (2 × 1,758 + 540 + 183) operations a cycle at 1.97 GHz.
    assert!((8.2e12..8.5e12).contains(&found.achieved), "{found:?}");
}

#[test]
fn tensor_cores_are_held_against_their_dense_peak() {
    let mut profile = wavegru();
    set(
        &mut profile,
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum.per_second",
        6e14,
    );
    set(
        &mut profile,
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained",
        8192.0 * 132.0,
    );
    let found = roofline::of(&profile).unwrap();
    assert_eq!(found.pipe, "tensor bf16");
    let dense = 4096.0 * 132.0 * profile.value("sm__cycles_elapsed.avg.per_second").unwrap();
    assert!((found.peak / dense - 1.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn shares_of_the_stalls_are_of_all_of_them() {
    let stalls = facts::stalls(&wavegru());
    assert!((stalls.iter().map(|stall| stall.percent).sum::<f64>() - 100.0).abs() < 1e-6);
    assert_eq!(stalls[0].reason, "wait");
    assert!(
        stalls
            .iter()
            .all(|stall| facts::meaning(&stall.reason).is_some() || stall.reason == "misc")
    );
}

#[test]
fn hot_lines_come_first_and_add_up() {
    let profile = wavegru();
    let hot = lines::hottest(&profile);
    assert!(
        !hot.is_empty()
            && hot
                .windows(2)
                .all(|pair| pair[0].percent >= pair[1].percent)
    );
    assert!(hot.iter().map(|line| line.percent).sum::<f64>() <= 100.0);
}

#[test]
fn what_moved_between_two_profiles_is_told_with_units() {
    let (before, mut after) = (wavegru(), wavegru());
    assert_eq!(compare::moved(&before, &after), []);
    let time = before.value("gpu__time_duration.sum").unwrap();
    set(&mut after, "gpu__time_duration.sum", time / 2.0);
    set(
        &mut after,
        "dram__bytes_read.sum",
        4.0 * before.value("dram__bytes_read.sum").unwrap(),
    );
    after.metrics.remove("lts__t_sector_hit_rate.pct");
    let moved = compare::moved(&before, &after);
    let words: Vec<&str> = moved.iter().map(|moved| moved.what.as_str()).collect();
    assert_eq!(
        (words[0], words[1], *words.last().unwrap()),
        ("time", "DRAM read", "L2 hits")
    );
    assert_eq!(moved[0].by, Some(By::Factor(0.5)));
    assert!(moved[0].before.ends_with(" µs") && moved[0].by.unwrap().words() == "0.50×");
    assert_eq!(
        (
            moved.last().unwrap().after.as_str(),
            moved.last().unwrap().by
        ),
        ("-", None)
    );
    assert_eq!(compare::caution(&before, &after), None);
    after.workload = "another".into();
    assert!(
        compare::caution(&before, &after)
            .unwrap()
            .starts_with("other workloads")
    );
}

#[test]
fn a_file_of_a_later_version_or_half_a_file_is_refused_in_words() {
    let text = include_str!("wavegru.json").replacen("\"version\": 1", "\"version\": 2", 1);
    assert!(
        parse(text.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("version 2")
    );
    assert!(
        parse(&text.as_bytes()[..500])
            .unwrap_err()
            .to_string()
            .contains("no profile")
    );
}

/// What rmsnorm of 4096 rows of 4096 f32 costs at least, on a device that was probed.
fn rmsnorm_costs() -> LeastWork {
    let matrix = 4096.0 * 4096.0 * 4.0;
    LeastWork {
        read_bytes: matrix,
        written_bytes: matrix,
        flops: Some(6.0e7),
        steps: 1.0,
        floor_us: Some(20.0),
        estimate_us: Some(32.5),
        run_us: Some(36.0),
    }
}

#[test]
fn the_counters_and_the_run_are_held_against_what_the_workload_costs() {
    let mut profile = wavegru();
    profile.least = Some(rmsnorm_costs());
    set(&mut profile, "dram__bytes_read.sum", 7.0e7);
    set(&mut profile, "dram__bytes_write.sum", 7.0e7);
    assert_eq!(
        least::lines(&profile),
        [
            "a launch must read 67.11 MB, write 67.11 MB, compute 60 MFLOP (0.447 FLOP a byte)",
            "DRAM moved 140 MB, 1.04× the least bytes",
            "the run took 36 µs a launch, 1.80× the floor of 20 µs; the estimate is 32.5 µs",
        ]
    );
    let text = digest(&profile).join("\n");
    assert!(
        text.contains("1.04× the least bytes") && text.contains("1.80× the floor"),
        "{text}"
    );
    // What is written may stay in the cache.
    set(&mut profile, "dram__bytes_write.sum", 0.0);
    assert!(
        least::lines(&profile)[1]
            .contains("0.52× the least bytes: what was written may still be in the L2")
    );
}

#[test]
fn what_is_not_known_of_the_least_work_is_left_out_or_told() {
    let mut profile = wavegru();
    assert_eq!(
        least::lines(&profile),
        Vec::<String>::new(),
        "the least work is not known"
    );
    profile.metrics.clear();
    let costs = LeastWork {
        run_us: None,
        estimate_us: None,
        flops: None,
        ..rmsnorm_costs()
    };
    profile.least = Some(costs.clone());
    let expected = [
        "a launch must read 67.11 MB, write 67.11 MB",
        "no launch takes less than 20 µs",
    ];
    assert_eq!(least::lines(&profile), expected);
    profile.least = Some(LeastWork {
        floor_us: None,
        ..costs.clone()
    });
    assert!(least::lines(&profile)[1].contains("the device was not probed yet (`lab probe` does)"));
    // The cpu device has no floor, and probing it gives none.
    (profile.arch, profile.origin) = (
        String::new(),
        Origin::Image {
            why: "no GPU".into(),
        },
    );
    assert_eq!(least::lines(&profile).len(), 1);
}

#[test]
fn how_the_launch_differs_from_a_run_is_in_the_digest() {
    let mut profile = wavegru();
    profile.differences = vec!["the launch was made without a CUDA graph".into()];
    assert!(
        digest(&profile)
            .contains(&"not as in a run: the launch was made without a CUDA graph".to_owned())
    );
}
