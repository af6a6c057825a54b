//! The text of the trailer `Tested:`, from a run's verdict.

use lab_git::{Notes, Repo};
use lab_project::config::{Config, Goal};
use lab_project::objective::Objective;
use lab_protocol::report::{AggregateOf, Measure};
use lab_run::KernelBlob;
use lab_run::chosen::ChosenMeasure;
use lab_run::experiment::{Alike, Experiment, Measured, Status};
use lab_run::ledger;
use lab_run::record::{HeldOut, Record};
use lab_run::verdict::{Change, Figure, Outcome};
use lab_store::RunIndex;
use lab_text::figures;

/// `NVIDIA H200, 5 of 5 gates, 165210 samples/s (164880 … 165540), faster +3.1 % (+2.9 … +3.3) vs incumbent, best so far`.
///
/// `history` holds the experiments of this kernel and of others. Times of an emulated device are
/// left out. Empty while the run is in progress.
pub fn tested(record: &Record, history: &[Experiment], config: &Config) -> String {
    tested_beside(record, config, || best(record, history, config.goal))
}

/// The same, where `best` finds the best kept result of this kernel on this device, if it is
/// needed.
pub fn tested_beside(
    record: &Record,
    config: &Config,
    best: impl FnOnce() -> Option<Best>,
) -> String {
    let Some(verdict) = &record.verdict else {
        return String::new();
    };
    let mut parts: Vec<String> = record.device.iter().cloned().collect();
    let report = record.report();
    let gates = report.gates();
    if !gates.is_empty() {
        let passed = gates.iter().filter(|gate| gate.passes()).count();
        parts.push(format!("{passed} of {} gates", gates.len()));
    }
    let some = verdict.judged.filter(|judged| judged.judged < judged.of);
    parts.extend(some.map(|judged| judged.to_string()));
    match verdict.outcome {
        Outcome::Pass if gates.is_empty() => parts.push("correct".to_owned()),
        Outcome::Pass => {}
        Outcome::Fail => parts.push(verdict.why.clone()),
        Outcome::Crash if verdict.build_failed => {
            parts.push(format!("does not build: {}", verdict.why));
        }
        Outcome::Crash => parts.push(format!("crashed: {}", verdict.why)),
        Outcome::Void | Outcome::NotJudged => parts.push("no verdict".to_owned()),
    }
    if let Some(measure) = verdict.objective.filter(|_| !verdict.emulated) {
        let unit = match &config.objective {
            Objective::Throughput => "samples/s",
            other => other.name(),
        };
        let ends = |measure: &Measure| {
            let ends = measure.low.zip(measure.high);
            ends.map_or_else(String::new, |(low, high)| {
                format!(" ({} … {})", plain(low), plain(high))
            })
        };
        if let Some(Figure {
            measure, objective, ..
        }) = &verdict.chosen
        {
            parts.push(format!(
                "{} {}{}",
                plain(measure.value),
                objective.unit(),
                ends(measure)
            ));
        }
        parts.push(format!("{} {unit}{}", plain(measure.value), ends(&measure)));
        if let Some(AggregateOf {
            aggregate,
            workloads,
        }) = verdict.aggregate
        {
            parts.push(format!("{} of {workloads} workloads", aggregate.name()));
        }
        parts.extend(verdict.change.map(|change| {
            format!(
                "{} vs {}",
                change.in_words(&config.objective, config.goal),
                change.against()
            )
        }));
        parts.extend(verdict.slower_workloads());
        let measured = Measured::from(verdict);
        if let Some(Measure { value, .. }) = measured.shown() {
            let goal = measured
                .chosen
                .map_or(config.goal, |chosen| chosen.of.goal());
            parts.extend(best().and_then(|best| beside_best((value, verdict.change), &best, goal)));
        }
    }
    if verdict.emulated {
        parts.push("times not measured on a GPU".to_owned());
    }
    if !verdict.caveats.is_empty() {
        parts.push(format!("caveats: {}", verdict.caveats.join("; ")));
    }
    parts.join(", ")
}

/// The text with how many workloads the check before a keep judged beside how many the run judged,
/// if these were fewer. The text was made before the check, and its author may have changed it.
pub fn with_check(tested: &str, record: &Record) -> String {
    let verdict = record.verdict.as_ref();
    let some = verdict
        .and_then(|verdict| verdict.judged)
        .filter(|judged| judged.judged < judged.of);
    let checked = record.held_out.as_ref().and_then(HeldOut::judged_workloads);
    match some
        .zip(checked)
        .filter(|(some, all)| all.judged > some.judged)
    {
        Some((some, all)) => {
            let some = some.to_string();
            let both = format!(
                "{some} and {} of {} checked before the keep",
                all.judged, all.of
            );
            tested.replacen(&some, &both, 1)
        }
        None => tested.to_owned(),
    }
}

/// The best kept result of a kernel on a device: the figure that is shown, and the short id of its
/// commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    pub value: f64,
    pub commit: String,
    /// Its kernel, if its record is here.
    pub blob: Option<KernelBlob>,
}

fn alike_of(record: &Record) -> Alike {
    let verdict = record.verdict.as_ref();
    verdict.map_or((None, None), |verdict| Measured::from(verdict).alike())
}

/// Finds the best kept result of this user among experiments; `None` if nothing was kept.
fn best(record: &Record, history: &[Experiment], goal: Goal) -> Option<Best> {
    let of_record = alike_of(record);
    let goal = of_record.1.map_or(goal, ChosenMeasure::goal);
    let comparable = |e: &&Experiment| {
        e.row.status == Status::Keep
            && !e.foreign
            && !e.emulated
            && e.run != Some(record.start.id)
            && e.kernel.as_ref() == Some(&record.start.kernel)
            && e.device == record.device
            && e.measured.alike() == of_record
    };
    let figures = history
        .iter()
        .filter(comparable)
        .filter_map(|e| Some((e.figure()?, e)));
    let positive = figures.filter(|(value, _)| *value > 0.0);
    let (value, best) = positive.reduce(|a, b| if goal.prefers(b.0, a.0) { b } else { a })?;
    Some(Best {
        value,
        commit: best.row.commit.clone(),
        blob: best.measured.blob,
    })
}

/// Finds the best kept result in results.tsv that is not foreign. It reads the records only of the rows that are better
/// than the best so far, from the newest row on: of 10,000 rows these are few.
pub fn best_in_ledger(repo: &Repo, index: &mut RunIndex, record: &Record) -> Option<Best> {
    let (project, of_record) = (&repo.project, alike_of(record));
    let goal = of_record.1.map_or(project.config.goal, ChosenMeasure::goal);
    let text = ledger::read_text(&ledger::path(project, false)).ok()?;
    let (notes, signers) = (Notes::of(repo), crate::signers(repo));
    let mut best: Option<Best> = None;
    for (line, value) in ledger::kept(&text).filter(|(_, value)| *value > 0.0) {
        // Among equal results the oldest counts. A row lacks the figure that a problem chose.
        let is_worse = |value| {
            best.as_ref()
                .is_some_and(|best| goal.prefers(best.value, value))
        };
        if of_record.1.is_none() && is_worse(value) {
            continue;
        }
        let Ok(row) = line.row() else { continue };
        let hash = RunIndex::hash_of(&row);
        let run = index
            .rows(false)
            .find(|(_, of)| *of == hash)
            .map(|(run, _)| run);
        if index.needs_note(run) {
            index.read_notes(&notes, &signers, std::iter::once(row.commit.as_str()));
        }
        let summary = index.summary_of_row(run, &row.commit);
        let comparable = summary.filter(|summary| {
            summary.kernel == record.start.kernel
                && summary.device == record.device
                && !summary.emulated()
                && !crate::is_foreign(&row, Some(summary))
                && summary.measured().alike() == of_record
        });
        let Some(summary) = comparable.filter(|_| run != Some(record.start.id)) else {
            continue;
        };
        let value = summary
            .measured()
            .chosen
            .map_or(value, |chosen| chosen.measure.value);
        if !is_worse(value) {
            let blob = KernelBlob::of(&summary.blob);
            best = Some(Best {
                value,
                commit: row.commit,
                blob,
            });
        }
    }
    best
}

/// Compares a figure with the best kept one. If the run timed the two in turns, its change says
/// which one is better, and by how much stands in the text already.
fn beside_best((value, change): (f64, Option<Change>), best: &Best, goal: Goal) -> Option<String> {
    let in_turns = change.filter(|change| change.is_in_turns_with(best.blob));
    let is_better = in_turns.map_or(goal.prefers(value, best.value), |change| {
        change.improvement(goal).ratio > 0.0
    });
    let percent = (value / best.value - 1.0) * 100.0;
    match (is_better, in_turns) {
        (true, Some(_)) => Some("best so far".to_owned()),
        (true, None) => Some("best so far, not in turns".to_owned()),
        (false, Some(_)) => None,
        (false, None) => Some(format!(
            "{percent:+.1} % vs best ({}), not in turns",
            best.commit
        )),
    }
}

/// A figure without commas: commas separate the parts of the sentence.
fn plain(value: f64) -> String {
    figures::figure(value).replace(',', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::When;
    use lab_protocol::report::{JudgedWorkloads, Measure, Report, Speed};
    use lab_run::RunId;
    use lab_run::chosen::Chosen;
    use lab_run::experiment::{Correctness, Row};
    use lab_run::verdict::{Change, Verdict};
    use lab_testing::record;

    fn run() -> Record {
        let objective = Measure {
            value: 165_210.4,
            low: Some(164_880.0),
            high: Some(165_540.0),
        };
        let speed = Some(Speed::Faster);
        let change = Change {
            ratio: 0.031,
            interval: Some((0.029, 0.033)),
            speed,
            ..Change::default()
        };
        Record {
            verdict: Some(Verdict {
                objective: Some(objective),
                kernel_us: Some(24.0),
                change: Some(change),
                ..Verdict::bare(Outcome::Pass, "")
            }),
            device: Some("NVIDIA H200".into()),
            results: [("a_diff", "1e-7 limit=1e-5"), ("b_diff", "2e-7 limit=1e-5")]
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .to_vec(),
            ..record(RunId(9))
        }
    }

    #[test]
    fn a_run_of_some_workloads_says_how_many() {
        let mut record = run();
        let judged = |judged| {
            Some(JudgedWorkloads {
                judged,
                of: 54,
                when: When::Save,
            })
        };
        let mut said = |number| {
            if let Some(verdict) = &mut record.verdict {
                verdict.judged = judged(number);
            }
            tested(&record, &[], &Config::default())
        };
        assert!(
            said(3).contains("2 of 2 gates, 3 of 54 workloads judged, "),
            "{}",
            said(3)
        );
        assert!(!said(54).contains("workloads judged"));
    }

    #[test]
    fn a_kept_run_says_how_many_workloads_were_checked_before_the_keep() {
        let judged = |judged| {
            Some(JudgedWorkloads {
                judged,
                of: 50,
                when: When::Save,
            })
        };
        let mut record = with(|verdict| verdict.judged = judged(8));
        record.held_out = Some(HeldOut {
            checked: jiff::Timestamp::UNIX_EPOCH,
            outcome: Outcome::Pass,
            why: String::new(),
            results: vec![("workloads".into(), "50 of=50 when=keep".into())],
            sealed_runs: 1,
            measured: None,
            mixed: None,
            caveats: Vec::new(),
            tokens: None,
        });
        let before = tested(&record, &[], &Config::default());
        assert!(before.contains(", 8 of 50 workloads judged, "), "{before}");
        let said = with_check(&before, &record);
        assert!(
            said.contains(", 8 of 50 workloads judged and 50 of 50 checked before the keep, "),
            "{said}"
        );
        assert_eq!(with_check("by hand", &record), "by hand");
        record
            .verdict
            .iter_mut()
            .for_each(|verdict| verdict.judged = judged(50));
        assert_eq!(with_check(&before, &record), before);
    }

    #[test]
    fn the_best_is_of_the_measure_that_the_problem_chose() {
        let chosen = |value| Chosen {
            of: ChosenMeasure::Time,
            measure: Measure {
                value,
                low: None,
                high: None,
            },
        };
        let record = with(|v| {
            let measure = Measure {
                value: 6.0,
                low: None,
                high: None,
            };
            v.chosen = Some(Figure {
                objective: Objective::KernelTime,
                measure,
                aggregate: None,
            });
        });
        let mut of_time = kept("aaaaaaa", 1.0);
        of_time.measured.chosen = Some(chosen(5.0));
        // More samples per second, and no time that the problem chose.
        let of_samples = kept("bbbbbbb", 1e9);
        let said = |history: &[Experiment]| tested(&record, history, &Config::default());
        assert!(
            said(&[of_time.clone(), of_samples.clone()])
                .ends_with(", +20.0 % vs best (aaaaaaa), not in turns")
        );
        of_time.measured.chosen = Some(chosen(7.0));
        assert!(said(&[of_time, of_samples.clone()]).ends_with(", best so far, not in turns"));
        assert!(!said(&[of_samples]).contains("best"));
    }

    fn kept(commit: &str, value: f64) -> Experiment {
        Experiment {
            row: Row {
                commit: commit.into(),
                throughput_sps: value,
                kernel_us: 1.0,
                correctness: Correctness::Pass,
                status: Status::Keep,
                description: String::new(),
            },
            run: Some(RunId(1)),
            kernel: Some("kernel.cu".into()),
            device: Some("NVIDIA H200".into()),
            renamed_from: None,
            foreign: false,
            emulated: false,
            decided: None,
            peers: Vec::new(),
            trailers: Vec::new(),
            measured: lab_run::experiment::Measured::default(),
        }
    }

    fn with(change: impl FnOnce(&mut Verdict)) -> Record {
        let mut record = run();
        if let Some(verdict) = &mut record.verdict {
            change(verdict);
        }
        record
    }

    #[test]
    fn it_says_what_was_seen() {
        let config = Config::default();
        let of = |record: &Record, history: &[Experiment]| tested(record, history, &config);
        assert_eq!(
            of(&run(), &[]),
            "NVIDIA H200, 2 of 2 gates, 165210 samples/s (164880 … 165540), faster +3.1 % (+2.9 … +3.3) vs incumbent"
        );
        let history = [kept("aaaaaaa", 160_000.0), kept("bbbbbbb", 150_000.0)];
        assert!(of(&run(), &history).ends_with("vs incumbent, best so far, not in turns"));
        assert!(
            of(&run(), &[kept("ccccccc", 170_000.0)])
                .ends_with(", -2.8 % vs best (ccccccc), not in turns")
        );
        // A save judged three workloads, and `lab bench --verdict` 54: their means are two figures.
        let save = with(|verdict| {
            verdict.judged = Some(JudgedWorkloads {
                judged: 3,
                of: 54,
                when: When::Save,
            });
        });
        assert!(!of(&save, &[kept("ccccccc", 170_000.0)]).contains("best"));
        let mut same = kept("ccccccc", 170_000.0);
        same.measured.part = Some(3);
        assert!(of(&save, &[same]).ends_with(", -2.8 % vs best (ccccccc), not in turns"));
        // Of another kernel, or on another device, nothing is better or worse.
        let other = Experiment {
            kernel: Some("other.cu".into()),
            ..kept("ddddddd", 1.0)
        };
        assert_eq!(of(&run(), &[other]), of(&run(), &[]));
        let caveated = with(|v| v.caveats.push("clocks moved".into()));
        assert!(of(&caveated, &[]).ends_with("vs incumbent, caveats: clocks moved"));
    }

    #[test]
    fn several_workloads_name_their_aggregate_and_the_worst() {
        let config = Config::default();
        let mixed = with(|v| {
            let log = "objective: kernel_us\nkernel_us: 6.05 low=6.0 high=6.1 aggregate=arithmetic workloads=2\n\
                       throughput_sps: 165210.4 aggregate=arithmetic workloads=2\n\
                       workload: n=1 us=1 ratio=1.2 speed=faster\nworkload: n=2 us=1 ratio=0.9 speed=slower\n";
            let report = Report::read(log);
            v.chosen = Figure::chosen(&report, &Objective::Throughput);
            v.aggregate = report.aggregate_of("throughput_sps");
            v.workloads = report.workload_speeds();
            v.change = v.change.map(|change| Change {
                speed: Some(Speed::Mixed),
                ..change
            });
        });
        assert_eq!(
            tested(&mixed, &[], &config),
            "NVIDIA H200, 2 of 2 gates, 6.05 µs (6 … 6.1), 165210 samples/s (164880 … 165540), arithmetic mean of 2 \
             workloads, mixed +3.1 % (+2.9 … +3.3) vs incumbent, 1 of 2 workloads is slower, the worst n=2 by -10.0 %"
        );
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let config = Config::default();
        let emulated = with(|v| (v.emulated, v.change) = (true, None));
        assert_eq!(
            tested(&emulated, &[], &config),
            "NVIDIA H200, 2 of 2 gates, times not measured on a GPU"
        );
        let wrong = with(|v| {
            *v = Verdict {
                outcome: Outcome::Fail,
                why: "a_diff is 2".into(),
                objective: None,
                change: None,
                ..v.clone()
            }
        });
        assert_eq!(
            tested(&wrong, &[], &config),
            "NVIDIA H200, 2 of 2 gates, a_diff is 2"
        );
        let crash = |build_failed| {
            let why = "kernel.cu:3: no".to_owned();
            with(|v| {
                *v = Verdict {
                    outcome: Outcome::Crash,
                    why,
                    build_failed,
                    objective: None,
                    change: None,
                    ..v.clone()
                }
            })
        };
        assert!(tested(&crash(true), &[], &config).ends_with(", does not build: kernel.cu:3: no"));
        assert!(tested(&crash(false), &[], &config).ends_with(", crashed: kernel.cu:3: no"));
        assert_eq!(
            tested(&record(RunId(1)), &[], &config),
            "",
            "the run goes on"
        );
    }
}
