//! What the result lines of a run say about each workload.

use crate::record::{WorkloadOutcome, WorkloadRun};
use lab_protocol::report::workloads::{self, Words, Workload};
use lab_protocol::report::{Report, first_word, number};
use lab_run::verdict::{Outcome, Verdict};
use std::collections::HashMap;

/// The workloads of a run, in the order of their lines; of at most [`workloads::MOST`], as
/// everywhere. A run without such lines has one workload, named `whole`. A kernel that does not
/// build has none: nobody looked at them.
pub fn workloads(report: &Report, verdict: &Verdict, whole: &str) -> Vec<WorkloadRun> {
    if verdict.build_failed {
        return Vec::new();
    }
    let words = report.workloads().into_iter().take(workloads::MOST);
    let mut rows: Vec<WorkloadRun> = words.map(|words| row(&words, verdict, whole)).collect();
    if rows.is_empty() {
        let us = report.number("kernel_us");
        rows.push(made(
            whole.to_owned(),
            whole_outcome(verdict),
            us,
            Vec::new(),
        ));
    }
    number_repeated(&mut rows);
    rows
}

fn row(words: &Words, verdict: &Verdict, whole: &str) -> WorkloadRun {
    let named = workloads::unmeasured_words(words);
    let name = workloads::name(words, named);
    let value = |wanted: &str| workloads::value(words, wanted);
    let word = value("correctness").or_else(|| value("ok"));
    let outcome = word.map_or_else(
        || whole_outcome(verdict),
        |word| WorkloadOutcome::of_word(word).unwrap_or(WorkloadOutcome::Fail),
    );
    let figures = Workload::of(words, named);
    let us = figures.us.map(|us| us.value);
    let trials = value("trials_us")
        .into_iter()
        .flat_map(|trials| trials.split(','));
    let trials = trials.filter_map(|us| number(first_word(us)));
    let name = Some(name).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| whole.to_owned());
    let trials = trials.filter(|us| us.is_finite()).collect();
    let made = made(name, outcome, us, trials);
    WorkloadRun {
        gbps: figures.gbps.filter(|_| made.us.is_some()),
        gflops: figures.gflops.filter(|_| made.us.is_some()),
        ..made
    }
}

/// Only a workload that passed has a time.
fn made(
    name: String,
    outcome: WorkloadOutcome,
    us: Option<f64>,
    trials_us: Vec<f64>,
) -> WorkloadRun {
    let is_time = |us: &f64| us.is_finite() && *us > 0.0 && outcome == WorkloadOutcome::Pass;
    WorkloadRun {
        name,
        outcome,
        us: us.filter(is_time),
        trials_us,
        gbps: None,
        gflops: None,
    }
}

/// The result of a workload that the report does not mention.
fn whole_outcome(verdict: &Verdict) -> WorkloadOutcome {
    match verdict.outcome {
        Outcome::Pass => WorkloadOutcome::Pass,
        Outcome::Fail => WorkloadOutcome::Fail,
        Outcome::Crash => WorkloadOutcome::Crash,
        Outcome::Void | Outcome::NotJudged => WorkloadOutcome::NotJudged,
    }
}

/// Tells workloads of the same name apart: the second one gets ` nr=2`.
fn number_repeated(rows: &mut [WorkloadRun]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for row in rows {
        let count = seen.entry(row.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            row.name = format!("{} nr={count}", row.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str, outcome: Outcome) -> Vec<(String, WorkloadOutcome, Option<f64>)> {
        let verdict = Verdict::bare(outcome, "");
        let rows = workloads(&Report::read(log), &verdict, "scale");
        rows.into_iter()
            .map(|row| (row.name, row.outcome, row.us))
            .collect()
    }

    #[test]
    fn a_workload_is_named_by_what_stands_before_its_figures() {
        let log = "workload: batch=1 T=f32 kernel_us=7.01 trials_us=7,7.02 n=2 correctness=pass\n\
                   workload: batch=1 T=f32 kernel_us=7.17 trials_us=7.17 n=2 correctness=pass\n\
                   workload: kernel_us=3 correctness=pass\n";
        let pass = WorkloadOutcome::Pass;
        let rows = of(log, Outcome::Pass);
        assert_eq!(rows[0], ("batch=1 T=f32".into(), pass, Some(7.01)));
        assert_eq!(rows[1], ("batch=1 T=f32 nr=2".into(), pass, Some(7.17)));
        assert_eq!(rows[2], ("scale".into(), pass, Some(3.0)));
        let verdict = Verdict::bare(Outcome::Pass, "");
        assert_eq!(
            workloads(&Report::read(log), &verdict, "scale")[0].trials_us,
            [7.0, 7.02]
        );
    }

    #[test]
    fn a_harness_of_the_users_own_may_use_other_words_and_units() {
        let rows = of(
            "workload: shape=1x8 ms=0.5 ok=pass\nworkload: shape=2x8 us=nan ok=no\n",
            Outcome::Pass,
        );
        assert_eq!(
            rows[0],
            ("shape=1x8".into(), WorkloadOutcome::Pass, Some(500.0))
        );
        assert_eq!(rows[1], ("shape=2x8".into(), WorkloadOutcome::Fail, None));
    }

    #[test]
    fn a_dimension_may_be_called_n() {
        let rows = of(
            "workload: n=1 T=f32 kernel_us=6 mad_us=0 n=1 correctness=pass\n\
             workload: m=16 n=4096 k=8 kernel_us=7 mad_us=0 n=100 correctness=pass\n",
            Outcome::Pass,
        );
        assert_eq!(
            rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
            ["n=1 T=f32", "m=16 n=4096 k=8"]
        );
    }

    #[test]
    fn without_lines_the_whole_run_is_the_workload() {
        assert_eq!(
            of("kernel_us: 4.5\n", Outcome::Pass),
            [("scale".into(), WorkloadOutcome::Pass, Some(4.5))]
        );
        assert_eq!(
            of("kernel_us: nan\n", Outcome::Fail),
            [("scale".into(), WorkloadOutcome::Fail, None)]
        );
        assert_eq!(
            of("", Outcome::Crash),
            [("scale".into(), WorkloadOutcome::Crash, None)]
        );
    }

    #[test]
    fn no_time_stands_beside_a_failure() {
        let rows = of(
            "workload: rows=3 kernel_us=1 correctness=fail\n",
            Outcome::Fail,
        );
        assert_eq!(rows, [("rows=3".into(), WorkloadOutcome::Fail, None)]);
    }
}
