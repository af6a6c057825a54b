//! The fixed discipline of `lab bench` with the real children, and the lines of a run for each
//! workload if one of them fails.

use crate::doubled;
use crate::support::{Judged, run};
use lab_protocol::JudgeRequest;
use lab_protocol::plan::Discipline;
use lab_protocol::{Exit, JudgeKind};

fn benched(body: &str) -> Judged {
    let source = doubled::kernel("__device__ int launches = 0;", body);
    let folder = doubled::folder(&[100, 200, 300, 400], &source);
    let kind = JudgeKind::Bench(Discipline {
        warm_up: 3,
        iterations: 100,
        trials: 3,
    });
    run(JudgeRequest {
        kind,
        ..folder.options()
    })
}

/// `n=100 pass` for each workload.
fn outcomes(judged: &Judged) -> Vec<String> {
    let workloads = judged.report.workloads();
    let word = |words: &[(&str, &str)], key: &str| {
        words
            .iter()
            .find(|(of, _)| *of == key)
            .map_or_else(String::new, |(_, value)| (*value).to_owned())
    };
    workloads
        .iter()
        .map(|w| format!("n={} {}", word(w, "n"), word(w, "correctness")))
        .collect()
}

#[test]
fn every_workload_is_timed_in_every_trial() {
    let judged = benched("");
    judged.expect(Exit::Passed).expect_in("discipline", "0/1/3");
    let workloads = judged.report.workloads();
    assert_eq!(workloads.len(), 4, "{}", judged.log);
    for words in &workloads {
        let trials = words
            .iter()
            .find(|(key, _)| *key == "trials_us")
            .map(|(_, trials)| *trials)
            .unwrap();
        assert_eq!(
            trials
                .split(',')
                .filter(|us| us.parse::<f64>().is_ok_and(|us| us > 0.0))
                .count(),
            3
        );
    }
    assert!(
        judged.report.number("mean_us").is_some_and(|us| us > 0.0),
        "{}",
        judged.log
    );
    let caveats = judged.report.caveats().join("; ");
    assert!(
        caveats.contains("a trial is one launch of each workload instead of 100"),
        "{caveats}"
    );
}

#[test]
fn a_kernel_that_fails_one_workload_says_which_and_the_others_pass() {
    let judged = benched("if (n == 300 && i == 299) { y[i] = 0; return; }");
    judged.expect(Exit::Wrong).expect_no_measure();
    assert_eq!(
        outcomes(&judged),
        ["n=100 pass", "n=200 pass", "n=300 fail", "n=400 pass"]
    );
}

#[test]
fn a_kernel_that_crashes_in_one_workload_says_which_and_which_were_not_launched() {
    let judged = benched("if (n == 200) *(volatile int*)8 = 1;");
    judged.expect(Exit::Crashed);
    assert_eq!(
        outcomes(&judged),
        [
            "n=100 pass",
            "n=200 crash",
            "n=300 not_judged",
            "n=400 not_judged"
        ]
    );
}

#[test]
fn a_store_out_of_bounds_fails_the_workload_that_made_it() {
    let judged = benched("if (n == 200 && i == 0) y[n] = 1;");
    judged.expect(Exit::Wrong);
    assert_eq!(
        outcomes(&judged),
        [
            "n=100 pass",
            "n=200 fail",
            "n=300 not_judged",
            "n=400 not_judged"
        ]
    );
}
