//! The committed WaveGRU kernel on a model that is small enough for the cpu device, and the inputs
//! of a keep.

use crate::support::{self, Folder};
use lab_protocol::Exit;
use lab_protocol::{JudgeKind, JudgeRequest};
use std::collections::BTreeSet;

const KERNEL: &str = include_str!("../../../../kernels/wavegru/kernel.cu");

/// A folder with the small model and this kernel.
pub fn folder(kernel: &str) -> Folder {
    let problem = include_str!("../kernels/wavegru/problem.toml");
    let reference = include_str!("../../../../kernels/wavegru/reference.cpp");
    Folder::new(&[
        ("problem.toml", problem),
        ("reference.cpp", reference),
        ("kernel.cu", kernel),
    ])
}

/// reference.cu computes on every device what reference.cpp computes.
#[test]
fn both_references_pass_the_committed_kernel() {
    let native = folder(KERNEL).judge();
    native
        .expect(Exit::Passed)
        .expect_in("correctness", "pass")
        .expect_in("sample_mismatches", "0 limit=0");
    assert!(
        native.report.measure("throughput_sps").unwrap().value > 0.0,
        "{}",
        native.log
    );

    let folder = folder(KERNEL);
    std::fs::remove_file(folder.path().join("reference.cpp")).unwrap();
    let reference = include_str!("../../../../kernels/wavegru/reference.cu");
    std::fs::write(folder.path().join("reference.cu"), reference).unwrap();
    let judged = folder.judge();
    judged.expect(Exit::Passed);
    // The same seed gives the same inputs, and both refuse the same ones.
    for key in [
        "sample_margin",
        "min_p_tells",
        "temperature_tells",
        "median_entropy",
    ] {
        assert_eq!(judged.value(key), native.value(key), "{}", judged.log);
    }
}

/// The plain kernel of the small problem.
pub const PLAIN: &str = include_str!("../kernels/wavegru/plain.cu");

/// The plain kernel, which prints the seed of each run that it samples.
fn telling() -> String {
    let from = "    int token = run.first_token;\n";
    let says = "    if (!forced && blockIdx.x == 0 && threadIdx.x == 0) printf(\"run %08x%08x\\n\", run.seed_high, run.seed_low);\n";
    assert_eq!(PLAIN.matches(from).count(), 1);
    PLAIN.replace(from, &(says.to_owned() + from))
}

/// The seeds of the sampled runs of a log.
fn seeds(log: &str) -> BTreeSet<String> {
    let seeds = log.lines().filter_map(|line| line.strip_prefix("| run "));
    seeds.map(str::to_owned).collect()
}

/// A table of the runs that somebody has seen helps no later judgement, and no keep.
#[test]
fn no_judgement_has_a_run_of_another() {
    let folder = folder(&telling());
    let options = JudgeRequest {
        seed: None,
        ..folder.options()
    };
    let mut known = BTreeSet::new();
    let sealed = JudgeKind::SealedCheck { runs: 3 };
    for kind in [options.kind.clone(), options.kind.clone(), sealed] {
        let judged = support::run(JudgeRequest {
            kind,
            ..options.clone()
        });
        judged.expect(Exit::Passed);
        let seeds = seeds(&judged.log);
        assert!(seeds.len() >= 2, "{}", judged.log);
        for seed in seeds {
            assert!(known.insert(seed), "{}", judged.log);
        }
    }
}
