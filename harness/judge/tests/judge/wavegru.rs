//! The committed WaveGRU kernel on a problem that is small enough for the cpu device.

use crate::support::Folder;
use lab_protocol::Exit;

const KERNEL: &str = include_str!("../../../../kernels/wavegru/kernel.cu");

const PROBLEM: &str = include_str!("../kernels/wavegru/problem.toml");

#[test]
fn the_committed_kernel_passes() {
    let judged = Folder::new(&[("problem.toml", PROBLEM), ("kernel.cu", KERNEL)]).judge();
    judged.expect(Exit::Passed).expect_in("correctness", "pass").expect_in("sample_mismatches", "0 limit=0");
    assert!(judged.report.measure("throughput_sps").unwrap().value > 0.0, "{}", judged.log);
}
