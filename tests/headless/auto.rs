//! `lab run --decide`: the rule decides, or leaves it and says why.

use crate::lab::Lab;

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
    lab.lab("run --decide -m wrong").is(11).says("✗ FAIL").says("discard run 1");
    assert_eq!(lab.read("kernel.cu"), "// the first\n");

    lab.write("kernel.cu", "// crash\n");
    lab.harness("kill -SEGV $$");
    lab.lab("run --decide -m crash").is(12).says("left undecided: it crashed");
    assert_eq!(lab.read("kernel.cu"), "// crash\n");
    lab.write("kernel.cu", "// not compared\n");
    lab.passing(2000.0);
    lab.lab("run --decide -m quick")
        .is(12)
        .says("left undecided: it was not timed in turns with the incumbent");
    lab.lab("run --decide").is(64);

    in_turns(&lab, 1.05, "faster");
    lab.lab("run --decide -m quick").is(10).says("keep run 4");
    assert_eq!(lab.git("log -1 --format=%s"), "quick\n");
    lab.write("kernel.cu", "// slow\n");
    in_turns(&lab, 0.95, "slower");
    lab.lab("run --decide -m slow").is(11).says("discard run 5");
    assert_eq!(lab.read("kernel.cu"), "// not compared\n");
    assert_eq!(lab.rows().len(), 3);
    lab.lab("run --decide -m again").is(12).says("left undecided: these are the incumbent's own bytes");
}

/// A harness that prints turns, and a word of its own that does not count.
fn prints_turns(lab: &Lab, blocks: usize, slower: f64) {
    let block = format!("turns: 0.0100 {0} {1} 0.0101", 0.0100 * slower, 0.0101 * slower);
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
        .says("left undecided: the result is caveated: speed undecided");
    prints_turns(&lab, 6, 0.9);
    lab.lab("run --decide -m quick").is(10).says("faster +11.1 %").says("keep run 2");
    lab.write("kernel.cu", "// slow\n");
    prints_turns(&lab, 6, 1.1);
    lab.lab("run --decide -m slow").is(11).says("discard run 3");
    in_turns(&lab, 1.001, "undecided");
    lab.write("kernel.cu", "// unclear\n");
    lab.lab("run --decide -m unclear").is(12).says("left undecided: the verdict on speed is undecided");
    // A person may keep it.
    lab.lab("keep -m unclear").is(0);
}
