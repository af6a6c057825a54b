//! The committed WaveGRU kernel on a problem that is small enough for the cpu device.

use crate::support::Folder;
use lab_protocol::Exit;

const KERNEL: &str = include_str!("../../../../kernels/wavegru/kernel.cu");

pub const PROBLEM: &str = r#"
kind = "wavegru"
hidden = 256
steps = 48
steps_cpu = 24
temperature = 1.0
min_p = 0.05
first_token = 128
weight_seed = 1
run_seeds = [3, 6, 7, 8, 12, 13, 14, 16]
margin = 1e-4
timed_launches = 6
orders = 2
[limits]
teacher_prob_max_diff = 2e-5
teacher_prob_mean_diff = 2.5e-6
h0_max_diff = 1e-5
h1_max_diff = 1.5e-5
"#;

#[test]
fn the_committed_kernel_passes() {
    let judged = Folder::new(&[("problem.toml", PROBLEM), ("kernel.cu", KERNEL)]).judge();
    judged.expect(Exit::Passed).expect_in("correctness", "pass").expect_in("sample_mismatches", "0 limit=0");
    assert!(judged.report.measure("throughput_sps").unwrap().value > 0.0, "{}", judged.log);
}
