//! Turns of several workloads.

use super::*;
use crate::problem::WorkloadFigures;
use lab_stats::aggregate::{Aggregate, Better};

/// The seconds of each workload's launch.
type Each = fn(WorkerRole) -> Vec<f64>;

/// A script in which a turn launches several workloads.
struct SeveralScript {
    script: Script,
    each: Each,
}

struct SeveralScripted {
    timed: Box<dyn Timed>,
    seconds: Vec<f64>,
}

impl SetsUp for SeveralScript {
    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>> {
        let timed = self.script.set_up(cx, worker, module, place)?;
        Ok(Box::new(SeveralScripted {
            timed,
            seconds: (self.each)(place),
        }))
    }
}

impl Timed for SeveralScripted {
    fn next_inputs(&mut self) -> u64 {
        self.timed.next_inputs()
    }
    /// The script's time says how much longer than usual everything takes.
    fn turn(
        &mut self,
        worker: &mut Worker,
        inputs: u64,
        left: Option<&mut [usize]>,
        out: &mut Writer,
    ) -> Result<Vec<f64>> {
        let turn = self.timed.turn(worker, inputs, left, out)?;
        Ok(self
            .seconds
            .iter()
            .map(|seconds| seconds * turn[0])
            .collect())
    }
    fn in_same_worker(&self, worker: &mut Worker, image: &Path) -> Result<Box<dyn Timed>> {
        self.timed.in_same_worker(worker, image)
    }
    fn seconds_of_turn(&self, turn: &[f64]) -> Option<f64> {
        self.timed.seconds_of_turn(turn)
    }
    fn aggregate(&self) -> Aggregate {
        self.timed.aggregate()
    }
    fn measures(&self) -> Vec<&'static str> {
        self.timed.measures()
    }
    fn write_once(&self, out: &mut Writer) -> Result {
        self.timed.write_once(out)
    }
    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result {
        self.timed.check(worker, out)
    }
    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        let means: Option<Vec<Vec<f64>>> = turns
            .iter()
            .map(|turn| {
                Some(vec![
                    Aggregate::Geometric.of(turn.iter().copied(), Better::Smaller)?,
                ])
            })
            .collect();
        self.timed.throughput(&means?)
    }
    /// One step each, so that a launch takes one trip to the L2 cache at least.
    fn demands(&self) -> Vec<Demand> {
        let demand = |n: usize| Demand {
            label: format!("n={n}"),
            steps: 1.0,
            ..Demand::default()
        };
        (1..=self.seconds.len()).map(demand).collect()
    }
    fn workloads(&self, turns: &[Vec<f64>]) -> Vec<WorkloadFigures> {
        let of = |at: usize| {
            let seconds: Vec<f64> = turns.iter().map(|turn| turn[at]).collect();
            let seconds = measure::summarise(&seconds).unwrap();
            WorkloadFigures {
                label: format!("n={} k=4", at + 1),
                seconds,
                words: " gbps=1.00".into(),
            }
        };
        (0..self.seconds.len()).map(of).collect()
    }
    fn write(&self, turns: &[Vec<f64>], out: &mut Writer) -> Result {
        let rate = self.throughput(turns).unwrap();
        Ok(out.line("throughput_sps", in_digits(&rate, 3))?)
    }
}

/// The lines of a measurement of these workloads, whose launches vary by ± 0.3 % or are disturbed.
fn report(each: Each, beside: bool, disturbed: bool) -> Report {
    fn noisy(_: WorkerRole, before: usize) -> Option<f64> {
        Some(0.997 + 0.0006 * (before * 7919 % 11) as f64)
    }
    let script = Script {
        takes: noisy,
        launches: Launches::default(),
    };
    let mut problem = SeveralScript { script, each };
    // 20 blocks, however fast the machine is.
    let trials = Some(Discipline {
        warm_up: 0,
        iterations: 40,
        trials: 1,
    });
    let plan = Plan {
        trials,
        budget: Duration::from_secs(1000),
        ..Plan::default()
    };
    let (passes, report) = measured_of(&mut problem, Some(FIGURES), &plan, beside, disturbed);
    assert!(passes);
    report
}

/// The value of a word of a workload's line.
fn word(report: &Report, workload: usize, key: &str) -> Option<String> {
    let rows = report.workloads();
    rows[workload]
        .iter()
        .find(|(name, _)| *name == key)
        .map(|(_, value)| (*value).to_owned())
}

fn number(report: &Report, workload: usize, key: &str) -> f64 {
    word(report, workload, key)
        .unwrap_or_else(|| panic!("no {key}"))
        .parse()
        .unwrap()
}

#[test]
fn each_workload_has_its_interval_its_floor_its_ratio_and_its_word() {
    let report = report(
        |place| {
            if place == A {
                vec![2e-6, 8e-6]
            } else {
                vec![1e-6, 8e-6]
            }
        },
        true,
        false,
    );
    assert_eq!(report.workloads().len(), 2);
    let all = [
        "ratio",
        "kernel_us",
        "low_us",
        "high_us",
        "mad_us",
        "samples",
        "gbps",
        "of_floor",
        "incumbent_us",
    ];
    for workload in 0..2 {
        assert!(all.iter().all(|key| number(&report, workload, key) > 0.0));
        let [low, us, high] =
            ["low_us", "kernel_us", "high_us"].map(|key| number(&report, workload, key));
        assert!(low <= us && us <= high, "{low} {us} {high}");
        assert_eq!(
            word(&report, workload, "correctness").as_deref(),
            Some("pass")
        );
        let [low, ratio, high] =
            ["ratio_low", "ratio", "ratio_high"].map(|key| number(&report, workload, key));
        assert!(low <= ratio && ratio <= high);
    }
    assert!((number(&report, 0, "ratio") - 2.0).abs() < 0.01);
    // Half a microsecond is the floor.
    assert!((number(&report, 0, "of_floor") - 50.0).abs() < 0.5);
    assert!((number(&report, 1, "of_floor") - 6.2).abs() < 0.1);
    assert!((number(&report, 0, "incumbent_us") - 2.0).abs() < 0.01);
    assert_eq!(word(&report, 0, "speed").as_deref(), Some("faster"));
    assert_eq!(word(&report, 1, "speed").as_deref(), Some("same"));
    assert_eq!(report.value("speed"), Some("faster"));
    assert_eq!(
        report.value("workload_speeds"),
        Some("2 faster=1 same=1 slower=0 undecided=0")
    );
    assert_eq!(report.value("worst_workload"), None);
}

#[test]
fn one_slower_workload_among_faster_ones_makes_the_result_mixed_and_is_named() {
    let each: Each = |place| {
        if place == A {
            vec![2e-6, 8e-6, 4e-6, 4e-6]
        } else {
            vec![1e-6, 8.4e-6, 2e-6, 4.8e-6]
        }
    };
    let mixed = report(each, true, false);
    assert_eq!(mixed.value("speed"), Some("mixed"));
    assert!(
        mixed.measure("speed_ratio").unwrap().value > 1.3,
        "by the geometric mean it is faster"
    );
    assert_eq!(
        mixed.value("workload_speeds"),
        Some("4 faster=2 same=0 slower=2 undecided=0")
    );
    let worst = mixed.measure("worst_workload").unwrap();
    assert!((worst.value - 4.0 / 4.8).abs() < 0.01 && worst.high.unwrap() < 0.9);
    assert_eq!(mixed.place("worst_workload").as_deref(), Some("n=4 k=4"));
    assert_eq!(word(&mixed, 1, "speed").as_deref(), Some("slower"));
    // What is slower everywhere is plainly slower.
    let slower = report(
        |place| vec![if place == A { 1e-6 } else { 2e-6 }; 3],
        true,
        false,
    );
    assert_eq!(slower.value("speed"), Some("slower"));
    assert!(slower.value("worst_workload").is_some());
}

#[test]
fn a_disturbed_measurement_widens_the_interval_of_each_workload() {
    let each: Each = |place| {
        if place == A {
            vec![2e-6, 8e-6]
        } else {
            vec![1e-6, 8e-6]
        }
    };
    let width = |report: &Report| number(report, 1, "ratio_high") - number(report, 1, "ratio_low");
    let (calm, disturbed) = (report(each, true, false), report(each, true, true));
    assert!(
        width(&disturbed) > 1.5 * width(&calm),
        "{} {}",
        width(&disturbed),
        width(&calm)
    );
}

#[test]
fn without_an_incumbent_a_workload_has_a_time_and_no_ratio() {
    let report = report(|_| vec![1e-6, 8e-6], false, false);
    assert!(number(&report, 1, "kernel_us") > 7.0);
    assert_eq!(
        (word(&report, 0, "ratio"), word(&report, 0, "speed")),
        (None, None)
    );
    assert_eq!(
        (report.value("workload_speeds"), report.value("speed")),
        (None, None)
    );
}

#[test]
fn a_single_workload_has_the_verdict_of_the_whole() {
    let report = report(
        |place| vec![if place == A { 2e-6 } else { 1e-6 }],
        true,
        false,
    );
    let whole = report.comparison().unwrap();
    assert_eq!(whole.speed, Some(Speed::Faster));
    assert!((number(&report, 0, "ratio") - whole.ratio.value).abs() < 1e-9);
    assert!((number(&report, 0, "ratio_low") - whole.ratio.low.unwrap()).abs() < 1e-9);
    assert_eq!(word(&report, 0, "speed").as_deref(), Some("faster"));
    assert_eq!(
        (
            report.value("workload_speeds"),
            report.value("worst_workload")
        ),
        (None, None)
    );
}
