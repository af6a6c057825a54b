//! `lab run --decide`: the rule decides, or leaves it and says why.

use crate::lab::Lab;
use serde_json::json;

/// A harness that timed candidate and incumbent in turns.
pub fn in_turns(lab: &Lab, ratio: f64, speed: &str) {
    lab.harness(&format!(
        "echo 'device: Test GPU'\necho 'h0_max_diff: 1e-6 limit=1e-5'\necho 'throughput_sps: 1000'\n\
         echo 'kernel_us: 1000'\necho 'speed_ratio: {ratio} low={} high={} quads=3'\necho 'speed: {speed}'\necho 'correctness: pass'",
        ratio - 0.002,
        ratio + 0.002
    ));
}

#[test]
fn the_rule_keeps_discards_and_leaves() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// wrong\n");
    lab.harness("echo 'h0_max_diff: 1 limit=1e-5'; echo 'correctness: fail'");
    lab.lab("run --decide -m wrong")
        .is(11)
        .says("✗ FAIL")
        .says("discard run 1");
    assert_eq!(lab.read("kernel.cu"), "// the first\n");

    lab.write("kernel.cu", "// crash\n");
    lab.harness("kill -SEGV $$");
    lab.lab("run --decide -m crash")
        .is(12)
        .says("left to you: it crashed");
    assert_eq!(lab.read("kernel.cu"), "// crash\n");
    lab.write("kernel.cu", "// not compared\n");
    lab.passing(2000.0);
    lab.lab("run --decide -m quick")
        .is(12)
        .says("left to you: it was not timed in turns with the incumbent");
    lab.lab("run --decide").is(64);

    in_turns(&lab, 1.05, "faster");
    lab.lab("run --decide -m quick").is(10).says("keep run 4");
    assert_eq!(lab.git("log -1 --format=%s"), "quick\n");
    lab.write("kernel.cu", "// slow\n");
    in_turns(&lab, 0.95, "slower");
    lab.lab("run --decide -m slow").is(11).says("discard run 5");
    assert_eq!(lab.read("kernel.cu"), "// not compared\n");
    assert_eq!(lab.rows().len(), 3);
    lab.lab("run --decide -m again")
        .is(12)
        .says("left to you: these are the incumbent's own bytes");
}

/// A harness that prints turns, and a `speed:` line that does not count beside them.
fn prints_turns(lab: &Lab, blocks: usize, slower: f64) {
    let block = format!(
        "turns: 0.0100 {0} {1} 0.0101",
        0.0100 * slower,
        0.0101 * slower
    );
    let lines = format!("echo '{block}'\n").repeat(blocks);
    lab.harness(&format!(
        "echo 'device: Test GPU'\necho 'throughput_sps: 1000'\necho 'speed: slower'\n{lines}echo 'correctness: pass'"
    ));
}

#[test]
fn turns_of_a_harness_are_judged_and_too_few_leave_the_run_undecided() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// quick\n");
    prints_turns(&lab, 2, 0.9);
    lab.lab("run --decide -m quick")
        .is(12)
        .says("speed undecided: only 2 ABBA blocks, and a verdict needs 3")
        .says("left to you: the result is caveated: speed undecided");
    prints_turns(&lab, 6, 0.9);
    lab.lab("run --decide -m quick")
        .is(10)
        .says("faster +11.1 %")
        .says("keep run 2");
    lab.write("kernel.cu", "// slow\n");
    prints_turns(&lab, 6, 1.1);
    lab.lab("run --decide -m slow").is(11).says("discard run 3");
    in_turns(&lab, 1.001, "undecided");
    lab.write("kernel.cu", "// unclear\n");
    lab.lab("run --decide -m unclear")
        .is(12)
        .says("left to you: the verdict on speed is undecided");
    // A person may keep it.
    lab.lab("keep -m unclear").is(0);
}

/// Lines of three workloads; the second one is slower.
fn mixed(lab: &Lab, speed: &str) {
    let row = |n: u32, ratio: f64, speed: &str| {
        let (low, high) = (ratio - 0.01, ratio + 0.01);
        format!(
            "echo 'workload: n={n} kernel_us={n}.5 ratio={ratio} ratio_low={low:.3} ratio_high={high:.3} speed={speed} correctness=pass'\n"
        )
    };
    let rows = row(1, 1.3, "faster") + &row(2, 0.951, "slower") + &row(3, 1.0, "same");
    lab.harness(&format!(
        "echo 'device: Test GPU'\necho 'throughput_sps: 1000 low=990 high=1010 aggregate=geometric workloads=3'\n{rows}\
         echo 'speed_ratio: 1.07 low=1.06 high=1.08 quads=9'\necho 'speed: {speed}'\necho 'correctness: pass'"
    ));
}

#[test]
fn a_mixed_result_is_left_to_a_person_and_names_the_worst_workload() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// faster on the whole\n");
    let worst = "1 of 3 workloads is slower, the worst n=2 by -4.9 % (-5.9 … -3.9)";
    // Although the harness calls the whole faster.
    for speed in ["mixed", "faster"] {
        mixed(&lab, speed);
        lab.lab("run --decide -m whole")
            .is(12)
            .says("1,000 sps, geometric mean of 3 workloads")
            .says("mixed +7.0 % (+6.0 … +8.0) vs incumbent")
            .says(worst)
            .says(&format!("left to you: the result is mixed: {worst}"));
    }
    let answer = lab.lab("run --json").is(0).json();
    assert_eq!(answer["speed"], "mixed");
    assert_eq!(
        answer["aggregate"],
        json!({ "name": "geometric", "workloads": 3 })
    );
    let ratio = json!({ "value": 0.951, "low": 0.941, "high": 0.961 });
    assert_eq!(
        answer["workload_speeds"],
        json!({ "faster": 1, "same": 1, "slower": 1, "undecided": 0, "worst": { "name": "n=2", "ratio": ratio } })
    );
    assert_eq!(answer["workloads"][1]["speed"], "slower");
    assert_eq!(answer["ratio"]["value"], 1.07);
    // A person may keep it, and the history says that it was mixed.
    lab.lab("keep -m whole").is(0);
    assert_eq!(
        lab.lab("log --json").is(0).json()["experiments"][0]["speed"],
        "mixed"
    );
}

#[test]
fn a_single_workload_has_no_aggregate() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// quick\n");
    in_turns(&lab, 1.05, "faster");
    let answer = lab.lab("run --json").is(0).json();
    assert_eq!(
        (&answer["aggregate"], &answer["workload_speeds"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(answer["speed"], "faster");
}

/// Turns of workloads. `slower` says how many times as long the candidate takes in each. The second
/// workload has a row of its own.
fn prints_turns_of_workloads(lab: &Lab, slower: [f64; 3]) {
    let block = |n: usize| {
        let (b1, b2) = (0.0100 * slower[n - 1], 0.0101 * slower[n - 1]);
        format!("echo 'turns: 0.0100 {b1:.6} {b2:.6} 0.0101 workload=n={n}~k=8'\n")
    };
    lab.harness(&format!(
        "echo 'device: Test GPU'\n{}echo 'workload: n=2 k=8 kernel_us=5.5 gbps=12 speed=faster correctness=pass'\n\
         echo 'throughput_sps: 1000'\necho 'correctness: pass'",
        (block(1) + &block(2) + &block(3)).repeat(8)
    ));
}

#[test]
fn turns_of_workloads_are_judged_for_each_and_a_slower_one_is_left_to_a_person() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// faster on the whole\n");
    prints_turns_of_workloads(&lab, [0.5, 1.1, 1.0]);
    let worst = "1 of 3 workloads is slower, the worst n=2 k=8 by -9.1 %";
    lab.lab("run --decide -m whole")
        .is(12)
        .says("mixed +22.0 %")
        .says(worst)
        .says("left to you");
    let answer = lab.lab("run --json").is(0).json();
    assert_eq!(answer["speed"], "mixed");
    let speeds = &answer["workload_speeds"];
    assert_eq!(
        [&speeds["faster"], &speeds["same"], &speeds["slower"]],
        [1, 1, 1]
    );
    assert_eq!(speeds["worst"]["name"], "n=2 k=8");
    let rows = answer["workloads"].as_array().expect("three workloads");
    // The harness printed a row for one of them only.
    assert_eq!([&rows[0]["n"], &rows[1]["n"], &rows[2]["n"]], [2, 1, 3]);
    assert_eq!(
        (&rows[0]["kernel_us"], &rows[0]["gbps"]),
        (&json!(5.5), &json!(12))
    );
    assert_eq!(
        [&rows[0]["speed"], &rows[1]["speed"], &rows[2]["speed"]],
        ["slower", "faster", "same"]
    );
    assert_eq!(
        (&rows[1]["kernel_us"], &rows[1]["incumbent_us"]),
        (&json!(5025.0), &json!(10050.0))
    );
    let ratio = ["ratio_low", "ratio", "ratio_high"].map(|key| rows[1][key].as_f64());
    assert!(
        ratio[0] <= Some(2.0) && ratio[1] == Some(2.0) && ratio[2] >= Some(2.0),
        "{ratio:?}"
    );

    // If no workload is slower, the rule decides.
    lab.write("kernel.cu", "// faster everywhere\n");
    prints_turns_of_workloads(&lab, [0.5, 0.9, 1.0]);
    lab.lab("run --decide -m everywhere")
        .is(10)
        .says("faster +30.5 %");
}
