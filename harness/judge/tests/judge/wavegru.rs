//! The committed WaveGRU kernel on a problem that is small enough for the cpu device, and a keep's
//! sealed runs.

use crate::support::{self, Folder};
use lab_protocol::Exit;
use lab_protocol::{JudgeKind, JudgeRequest};

const KERNEL: &str = include_str!("../../../../kernels/wavegru/kernel.cu");

pub const PROBLEM: &str = include_str!("../kernels/wavegru/problem.toml");

#[test]
fn the_committed_kernel_passes() {
    let judged = Folder::new(&[("problem.toml", PROBLEM), ("kernel.cu", KERNEL)]).judge();
    judged
        .expect(Exit::Passed)
        .expect_in("correctness", "pass")
        .expect_in("sample_mismatches", "0 limit=0");
    assert!(
        judged.report.measure("throughput_sps").unwrap().value > 0.0,
        "{}",
        judged.log
    );
}

/// The plain kernel of the small problem, with a table for these run seeds. It reports when it uses
/// the table, and computes other runs.
fn with_a_table(seeds: &[u64]) -> String {
    let plain = include_str!("../kernels/wavegru/plain.cu");
    let known: Vec<String> = seeds
        .iter()
        .map(|seed| {
            format!(
                "(run.seed_low == {}u && run.seed_high == {}u)",
                *seed as u32,
                seed >> 32
            )
        })
        .collect();
    let known = if known.is_empty() {
        "false".to_owned()
    } else {
        known.join(" || ")
    };
    let from = "    int token = run.first_token;\n";
    let says = format!(
        "    if (({known}) && blockIdx.x == 0 && threadIdx.x == 0) printf(\"from the table\\n\");\n"
    );
    assert_eq!(plain.matches(from).count(), 1);
    plain.replace(from, &(says + from))
}

/// A save may use a run again, so a table of known runs finds some of its runs. A keep's sealed
/// runs are in no table.
#[test]
fn a_table_of_known_runs_serves_a_save_and_no_keep() {
    let folder = Folder::new(&[("problem.toml", PROBLEM), ("kernel.cu", &with_a_table(&[]))]);
    let cache = folder.path().join("cache");
    let options = JudgeRequest {
        seed: None,
        cache_dir: Some(cache.clone()),
        ..folder.options()
    };
    let first = support::run(options.clone());
    first.expect(Exit::Passed).expect_in("reused_runs", "0");

    let mut seeds = Vec::new();
    for model in std::fs::read_dir(cache.join("wavegru-runs")).unwrap() {
        for shelf in ["fresh", "used"] {
            for file in std::fs::read_dir(model.as_ref().unwrap().path().join(shelf))
                .into_iter()
                .flatten()
            {
                seeds.push(
                    u64::from_str_radix(file.unwrap().file_name().to_str().unwrap(), 16).unwrap(),
                );
            }
        }
    }
    assert!(seeds.len() >= 5, "{seeds:?}");
    std::fs::write(folder.path().join("kernel.cu"), with_a_table(&seeds)).unwrap();
    let second = support::run(options.clone());
    second.expect(Exit::Passed);
    assert_ne!(second.value("reused_runs"), "0");
    // Two orders of both kinds, and a timed launch.
    assert_eq!(
        second.log.matches("from the table").count(),
        5,
        "{}",
        second.log
    );

    let sealed = support::run(JudgeRequest {
        kind: JudgeKind::SealedCheck { runs: 3 },
        ..options
    });
    sealed
        .expect(Exit::Passed)
        .expect_in("sealed_runs", "4 from_stock=0")
        .expect_no_measure();
    assert!(!sealed.log.contains("from the table"), "{}", sealed.log);
}
