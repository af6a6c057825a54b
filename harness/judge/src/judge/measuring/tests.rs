//! The timed launches of two simulated kernels, whose times are given and not waited for.
#![allow(clippy::unwrap_used)]

mod several;

use super::super::incumbent::Incumbent;
use super::*;
use crate::probe::DeviceFigures;
use crate::probe::bounds::Demand;
use crate::problem::{WorkloadFigures, in_digits};
use crate::testing;
use lab_device::{
    Arg, DeviceError, DeviceInfo, Driver, Entry, ExecutionOrder, Filling, MemoryRange, Shape,
};
use lab_protocol::plan::Discipline;
use lab_protocol::report::Log;
use lab_protocol::report::{Measure, Report, Speed};
use lab_stats::aggregate::{Aggregate, Better};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

/// A device that does nothing and is not emulated.
struct Idle;

impl Driver for Idle {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            l2_bytes: 1 << 20,
            ..testing::device()
        }
    }
    fn load(&mut self, _: &Path) -> Result<u32, DeviceError> {
        Ok(0)
    }
    fn unload(&mut self, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    fn entry(&mut self, _: u32, _: &str) -> Result<Option<Entry>, DeviceError> {
        Ok(None)
    }
    fn blocks_per_sm(&mut self, _: Entry, _: u32, _: u32) -> Result<u32, DeviceError> {
        Ok(1)
    }
    fn alloc(&mut self, _: usize) -> Result<u64, DeviceError> {
        Ok(256)
    }
    fn free(&mut self, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn upload(&mut self, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }
    fn download(&mut self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        Ok(())
    }
    fn fill(&mut self, _: MemoryRange, _: u32, _: Filling) -> Result<(), DeviceError> {
        Ok(())
    }
    fn launch(
        &mut self,
        _: Entry,
        _: &Shape,
        _: &[Arg],
        _: ExecutionOrder,
    ) -> Result<f64, DeviceError> {
        Ok(1.0)
    }
}

pub fn worker() -> Result<Worker> {
    Worker::on_a_thread(|| Ok(Box::new(Idle)), Duration::from_secs(30))
}

/// Which kernel launched on which inputs, in the order of all launches.
pub type Launches = Rc<RefCell<Vec<(WorkerRole, u64)>>>;

/// Seconds of a launch, given the kernel and the number of launches before it; `None` if its
/// results are wrong, or if it spoils memory.
pub type Takes = fn(WorkerRole, usize) -> Option<f64>;

pub struct Script {
    pub takes: Takes,
    pub launches: Launches,
}

struct Scripted {
    place: WorkerRole,
    takes: Takes,
    launches: Launches,
    turns: u64,
}

impl SetsUp for Script {
    fn set_up(
        &mut self,
        _: &mut ProblemContext,
        _: &mut Worker,
        _: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>> {
        Ok(Box::new(Scripted {
            place,
            takes: self.takes,
            launches: self.launches.clone(),
            turns: 0,
        }))
    }
}

impl Timed for Scripted {
    fn next_inputs(&mut self) -> u64 {
        self.turns += 1;
        self.turns - 1
    }
    /// A window is one launch.
    fn turn(
        &mut self,
        _: &mut Worker,
        inputs: u64,
        left: Option<&mut [usize]>,
        out: &mut Writer,
    ) -> Result<Vec<f64>> {
        if let Some([left, ..]) = left {
            *left -= 1;
        }
        let seconds = (self.takes)(self.place, self.launches.borrow().len());
        self.launches.borrow_mut().push((self.place, inputs));
        match seconds {
            Some(seconds) => Ok(vec![seconds]),
            None => {
                out.line("first_failure", "a timed launch was wrong")?;
                Err(Stop::Wrong)
            }
        }
    }
    fn in_same_worker(&self, _: &mut Worker, _: &Path) -> Result<Box<dyn Timed>> {
        Err(Stop::Lab("each has its own worker here".into()))
    }
    fn check(&mut self, _: &mut Worker, _: &mut Writer) -> Result {
        Ok(())
    }
    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        let rates: Vec<f64> = turns.iter().map(|turn| 1.0 / turn[0]).collect();
        let rate = measure::summarise(&rates)?;
        let (low, high) = rate.interval.unzip();
        Some(Measure {
            value: rate.median,
            low,
            high,
        })
    }
    fn seconds_of_turn(&self, turn: &[f64]) -> Option<f64> {
        Aggregate::Geometric.of(turn.iter().copied(), Better::Smaller)
    }
    fn aggregate(&self) -> Aggregate {
        Aggregate::Geometric
    }
    fn workloads(&self, _: &[Vec<f64>]) -> Vec<WorkloadFigures> {
        Vec::new()
    }
    fn measures(&self) -> Vec<&'static str> {
        vec!["throughput_sps", "kernel_us"]
    }
    fn write_once(&self, _: &mut Writer) -> Result {
        Ok(())
    }
    /// One step, so that a launch takes one trip to the L2 cache at least.
    fn demands(&self) -> Vec<Demand> {
        vec![Demand {
            steps: 1.0,
            exchanges: 2.0,
            ..Demand::default()
        }]
    }
    fn write(&self, turns: &[Vec<f64>], out: &mut Writer) -> Result {
        let rate = self.throughput(turns).unwrap();
        out.line("throughput_sps", in_digits(&rate, 3))?;
        Ok(out.line(
            "kernel_us",
            in_digits(
                &Measure {
                    value: 1e6 / rate.value,
                    low: None,
                    high: None,
                },
                3,
            ),
        )?)
    }
}

struct Measured {
    passes: bool,
    report: Report,
    launches: Vec<(WorkerRole, u64)>,
}

/// Measures with or without an incumbent, on a device that was not probed.
fn run(plan: &Plan, beside: bool, takes: Takes) -> Measured {
    run_on(None, plan, beside, takes)
}

fn run_on(figures: Option<DeviceFigures>, plan: &Plan, beside: bool, takes: Takes) -> Measured {
    measured_on(figures, plan, beside, takes, false)
}

fn measured_on(
    figures: Option<DeviceFigures>,
    plan: &Plan,
    beside: bool,
    takes: Takes,
    disturbed: bool,
) -> Measured {
    let launches = Launches::default();
    let mut script = Script {
        takes,
        launches: launches.clone(),
    };
    let (passes, report) = measured_of(&mut script, figures, plan, beside, disturbed);
    let launches = launches.borrow().clone();
    Measured {
        passes,
        report,
        launches,
    }
}

/// Whether all was right, and the lines of a measurement of this problem.
fn measured_of(
    problem: &mut impl SetsUp,
    figures: Option<DeviceFigures>,
    plan: &Plan,
    beside: bool,
    disturbed: bool,
) -> (bool, Report) {
    let mut worker_of_candidate = worker().unwrap();
    let device = worker_of_candidate.info().clone();
    let log = Log::default();
    let mut out = log.writer();
    let mut cx = ProblemContext {
        memory: None,
        device: &device,
        figures,
        cache_dir: Path::new("/nowhere"),
        seed: 1,
        seed_is_fixed: true,
        is_swept: false,
        is_enough: &AtomicBool::new(false),
        out: &mut out,
        spawn_worker: &mut |_| worker(),
        build: &mut |_, _| Err(Stop::Lab("nothing is built".into())),
    };
    let mut incumbent = beside.then(|| {
        let mut own = worker().unwrap();
        let timed = problem
            .set_up(&mut cx, &mut own, ModuleId(0), WorkerRole::Incumbent)
            .unwrap();
        Incumbent::new(own, timed)
    });
    let candidate = Candidate {
        problem,
        worker: &mut worker_of_candidate,
        module: ModuleId(0),
        image: Path::new("image"),
    };
    let verdict = measure(&mut cx, plan, candidate, &mut incumbent, &mut |_| {
        Ok(disturbed)
    });
    let passes = unless_wrong(verdict).unwrap().is_some();
    (passes, Report::read(&log.text()))
}

const A: WorkerRole = WorkerRole::Incumbent;
const B: WorkerRole = WorkerRole::Verified;

#[test]
fn turns_are_a_b_b_a_on_the_same_inputs_in_pairs() {
    let measured = run(&Plan::default(), true, |_, _| Some(0.02));
    assert_eq!(measured.launches[..4], [(A, 0), (B, 0), (B, 1), (A, 1)]);
    assert_eq!(
        measured.launches.len(),
        12,
        "three blocks of a calm kernel are enough"
    );
    assert_eq!(
        measured.report.value("speed_ratio"),
        Some("1.0000 low=1.0000 high=1.0000 quads=3")
    );
    assert_eq!(
        measured.report.value("incumbent_sps"),
        Some("50.0 low=50.0 high=50.0")
    );
    assert_eq!(
        measured.report.measure("throughput_sps").unwrap().low,
        Some(50.0)
    );
    assert_eq!(
        measured.report.comparison().unwrap().speed,
        Some(Speed::Same)
    );
    assert!(measured.report.caveats().is_empty());
}

#[test]
fn one_that_takes_two_percent_longer_is_slower_though_the_clock_falls() {
    let takes: Takes = |place, before| {
        let clock = 1.0 + 0.003 * before as f64;
        Some(0.02 * clock * if place == A { 1.0 } else { 1.02 })
    };
    let report = run(&Plan::default(), true, takes).report;
    let comparison = report.comparison().unwrap();
    assert_eq!(comparison.speed, Some(Speed::Slower));
    let turns = report.series("turns").unwrap();
    assert!(
        turns.len() >= 12 && turns.len() < 60,
        "{} turns",
        turns.len()
    );
    assert!(
        turns[1] / turns[0] > 1.02 && turns[3] / turns[2] < 1.0,
        "A B B A: {turns:?}"
    );
    assert!(
        (comparison.ratio.value - 1.0 / 1.02).abs() < 2e-4,
        "{comparison:?}"
    );
}

#[test]
fn the_full_discipline_takes_every_launch_of_every_trial() {
    let trials = Some(Discipline {
        warm_up: 3,
        iterations: 4,
        trials: 3,
    });
    let measured = run(
        &Plan {
            trials,
            ..Plan::default()
        },
        true,
        |_, _| Some(0.02),
    );
    let of = |place: WorkerRole| measured.launches.iter().filter(|l| l.0 == place).count();
    // The two verification launches count as warm-up.
    assert_eq!(
        [B, WorkerRole::Fresh(1), WorkerRole::Fresh(2)].map(of),
        [1 + 4, 3 + 4, 3 + 4]
    );
    assert_eq!(
        measured.report.value("spread_pct"),
        Some("0.000 launches=12 trials=3")
    );
    assert!(
        measured
            .report
            .value("speed_ratio")
            .unwrap()
            .ends_with(" quads=6")
    );
}

#[test]
fn an_incumbent_that_fails_is_given_up_and_the_candidate_passes() {
    let measured = run(&Plan::default(), true, |place, before| {
        (place == B || before < 7).then_some(0.02)
    });
    assert!(measured.passes);
    assert_eq!(measured.report.comparison(), None);
    assert_eq!(
        measured.report.caveats(),
        ["no comparison with the incumbent: its own results are wrong"]
    );
    assert!(
        measured
            .report
            .measure("throughput_sps")
            .unwrap()
            .low
            .is_some()
    );
    assert_eq!(
        measured.report.value("first_failure"),
        None,
        "its failure is not the candidate's"
    );
}

#[test]
fn a_wrong_candidate_is_found_before_the_incumbent_is_launched_again() {
    // What the candidate spoils would make the incumbent's next result wrong.
    let measured = run(&Plan::default(), true, |_, before| {
        (before < 2).then_some(0.02)
    });
    assert!(!measured.passes);
    assert_eq!(measured.launches, [(A, 0), (B, 0), (B, 1)]);
    assert!(
        measured.report.caveats().is_empty(),
        "nobody else is blamed"
    );
}

#[test]
fn without_an_incumbent_the_candidate_is_timed_alone() {
    let measured = run(&Plan::default(), false, |_, _| Some(0.02));
    assert_eq!(
        measured.launches,
        (0..6).map(|inputs| (B, inputs)).collect::<Vec<_>>()
    );
    assert_eq!(
        (measured.report.comparison(), measured.report.value("speed")),
        (None, None)
    );
    assert!(measured.report.caveats().is_empty());
}

#[test]
fn a_launch_that_takes_longer_than_all_that_is_to_be_spent_is_the_only_one() {
    let plan = Plan {
        budget: Duration::from_nanos(1),
        ..Plan::default()
    };
    let measured = run(&plan, true, |_, _| Some(30.0));
    assert!(measured.passes);
    assert_eq!(measured.launches, [(A, 0), (B, 0)]);
    let throughput = measured.report.measure("throughput_sps").unwrap();
    assert_eq!((throughput.low, measured.report.comparison()), (None, None));
    let caveat = &measured.report.caveats()[0];
    assert!(
        caveat.starts_with("one timed launch: it takes 30.000 s"),
        "{caveat}"
    );
}

#[test]
fn a_kernel_that_is_wrong_in_its_last_timed_launch_has_no_figure() {
    let measured = run(&Plan::default(), true, |_, before| {
        (before < 10).then_some(0.02)
    });
    assert!(!measured.passes);
    let report = measured.report;
    assert!(
        report
            .measure("throughput_sps")
            .is_none_or(|m| m.value.is_nan()),
        "{report:?}"
    );
    assert!(report.measure("kernel_us").is_none_or(|m| m.value.is_nan()));
    assert_eq!(report.comparison(), None);
    assert_eq!(
        report.value("first_failure"),
        Some("a timed launch was wrong")
    );
}

/// Every third launch takes a tenth longer.
const NOISY: Takes = |_, before| Some(if before % 3 == 0 { 0.022 } else { 0.02 });

#[test]
fn a_noisy_comparison_is_undecided_and_says_why() {
    let plan = Plan {
        budget: Duration::from_nanos(1),
        ..Plan::default()
    };
    let least = Plan {
        budget: Duration::from_secs(1000),
        ..Plan::default()
    };
    assert_eq!(
        run(&plan, true, NOISY).launches.len(),
        2,
        "the budget is nothing"
    );
    let report = run(
        &Plan {
            half_width: 0.09,
            ..least
        },
        true,
        NOISY,
    )
    .report;
    assert_eq!(report.comparison().unwrap().speed, Some(Speed::Undecided));
    let caveat = &report.caveats()[0];
    assert!(
        caveat.starts_with("speed undecided: the interval "),
        "{caveat}"
    );
    assert!(
        caveat.ends_with(" % is too wide; use `lab bench --verdict`"),
        "{caveat}"
    );
}

#[test]
fn the_full_discipline_may_be_undecided_too() {
    let trials = Some(Discipline {
        warm_up: 3,
        iterations: 4,
        trials: 3,
    });
    let report = run(
        &Plan {
            trials,
            budget: Duration::from_secs(1000),
            ..Plan::default()
        },
        true,
        NOISY,
    )
    .report;
    assert_eq!(report.comparison().unwrap().speed, Some(Speed::Undecided));
    let caveat = &report.caveats()[0];
    assert!(
        caveat.contains("raise `iterations` or `trials` under [measure]"),
        "{caveat}"
    );
}

#[test]
fn a_disturbed_measurement_says_faster_only_if_it_is_clear() {
    let plan = Plan::default();
    let by = |takes: Takes, disturbed| {
        let report = measured_on(None, &plan, true, takes, disturbed).report;
        (
            report.comparison().unwrap().speed.unwrap(),
            report.caveats().first().cloned(),
        )
    };
    // Noise of ± 0.3 %: the measurement ends as soon as the interval is narrow.
    fn noisy(seconds: f64, before: usize) -> f64 {
        seconds * (0.997 + 0.0006 * (before * 7919 % 11) as f64)
    }
    let clear: Takes = |place, before| Some(noisy(if place == A { 0.02 } else { 0.018 }, before));
    assert_eq!(by(clear, true).0, Speed::Faster);
    // 0.85 % is beyond half a percent with an interval of ± 0.25 %, and not with twice as much.
    let slight: Takes =
        |place, before| Some(noisy(if place == A { 0.02 * 1.0085 } else { 0.02 }, before));
    assert_eq!(by(slight, false), (Speed::Faster, None));
    let (speed, caveat) = by(slight, true);
    assert_eq!(speed, Speed::Undecided);
    let caveat = caveat.unwrap();
    assert!(
        caveat.contains("twice as wide, because the measurement was disturbed"),
        "{caveat}"
    );
}

/// With an L2 round trip of a microsecond, a step takes half a microsecond at least.
const FIGURES: DeviceFigures = DeviceFigures {
    copy: 4e12,
    l2: 6e12,
    fma: 6e13,
    tensor: None,
    l2_round_trip: 1e-6,
    launch: 2e-6,
    exchange: 3e-6,
};

#[test]
fn a_time_below_the_floor_is_refused_and_no_figure_stands() {
    let measured = run_on(Some(FIGURES), &Plan::default(), true, |_, _| Some(0.4e-6));
    assert!(!measured.passes);
    let report = measured.report;
    let failure = report.value("first_failure").unwrap();
    assert!(
        failure.starts_with(
            "0.4000 µs is below the floor of 0.5000 µs, which this device cannot reach"
        ),
        "{failure}"
    );
    assert!(
        report
            .measure("throughput_sps")
            .is_none_or(|m| m.value.is_nan()),
        "{report:?}"
    );
    assert_eq!(
        (report.value("of_estimate"), report.comparison()),
        (None, None)
    );
}

#[test]
fn an_honest_time_is_shown_beside_the_estimate() {
    let measured = run_on(Some(FIGURES), &Plan::default(), true, |_, _| Some(20e-6));
    assert!(measured.passes);
    let lines = ["floor_us", "estimate_us", "of_estimate"].map(|key| measured.report.value(key));
    assert_eq!(
        lines,
        [Some("0.5000"), Some("8.000 exchanges=2"), Some("40")]
    );
    let unknown = run(&Plan::default(), true, |_, _| Some(0.4e-6));
    assert_eq!(
        (unknown.passes, unknown.report.value("floor_us")),
        (true, None)
    );
}
