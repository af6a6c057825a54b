//! What is stored of a bench and of each of its runs.

use jiff::Timestamp;
use lab_protocol::Exit;
use lab_protocol::plan::Discipline;
use lab_protocol::report::{Report, first_word};
use lab_run::Fingerprint;
use lab_run::peers::MeasuredPeer;
use lab_run::record::{InputFile, Origin, VERSION};
use lab_run::verdict::Outcome;
pub use lab_store::series::SeriesId as BenchId;
use lab_text::figures::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a bench measures: `bench.json`, written once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchStart {
    pub version: u32,
    /// Version of the lab that wrote it.
    pub lab: String,
    /// Known once it is read; stands in no file.
    #[serde(skip)]
    pub origin: Origin,
    pub bench: BenchId,
    /// Repository-relative path of the kernel.
    pub kernel: String,
    /// Git blob id of the kernel's bytes, hex.
    pub blob: String,
    /// Hash of the bytes and the rules: of every file that a verdict depends on.
    pub fingerprint: Fingerprint,
    pub inputs: Vec<InputFile>,
    /// Whether all tracked files were as in HEAD; see [`lab_git::is_clean`]. `None` if that is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean_tree: Option<bool>,
    /// The harness command; `built-in` for the built-in harness.
    pub command: String,
    /// The device that was asked for: `auto`, `cpu`, `cuda:1`.
    pub target: String,
    /// `None` of a harness of the user's own, which has a discipline of its own.
    pub discipline: Option<Discipline>,
    /// The number of runs that was asked for.
    pub runs: u32,
    pub started: Timestamp,
}

impl BenchStart {
    /// The start of a bench that begins now.
    pub fn now(bench: BenchId, kernel: String, blob: String, fingerprint: Fingerprint) -> Self {
        BenchStart {
            version: VERSION,
            lab: env!("CARGO_PKG_VERSION").to_owned(),
            origin: Origin::Own,
            bench,
            kernel,
            blob,
            fingerprint,
            inputs: Vec::new(),
            clean_tree: None,
            command: "built-in".to_owned(),
            target: "auto".to_owned(),
            discipline: None,
            runs: 1,
            started: lab_run::now(),
        }
    }

    /// How each run measures; `each` says of what the launches are. An emulated device makes one
    /// launch, whatever the discipline is.
    fn measures(&self, each: &str, emulated: bool) -> String {
        let Some(Discipline {
            warm_up,
            iterations,
            trials,
        }) = self.discipline
        else {
            return format!("as `{}` measures", self.command);
        };
        if emulated {
            return format!("one timed launch{each}: an emulated device has no times of a GPU");
        }
        let trials = counted(trials, "trial");
        format!("{warm_up} untimed and {iterations} timed launches{each}, {trials}")
    }

    /// Whether a harness of the user's own measures.
    pub fn is_external(&self) -> bool {
        self.discipline.is_none()
    }
}

/// What a run was measured with. The runs of one bench have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BenchedDevice {
    pub name: Option<String>,
    pub uuid: Option<String>,
    pub driver: Option<String>,
    pub compiler: Option<String>,
}

impl BenchedDevice {
    /// The keys of the result lines, with what each names.
    const KEYS: [(&str, &str); 4] = [
        ("device", "the device"),
        ("device_uuid", "the device's identifier"),
        ("driver", "the driver"),
        ("compiler", "the compiler"),
    ];

    pub fn of(report: &Report) -> Self {
        let value = |key: &str| report.value(key).map(str::to_owned);
        let [name, uuid, driver, compiler] = Self::KEYS.map(|(key, _)| value(key));
        BenchedDevice {
            name,
            uuid,
            driver,
            compiler,
        }
    }

    /// What a report names differently, in words: `the driver was 550 and is 560`. `None` if
    /// nothing differs so far: a report of a run in progress may lack lines.
    pub fn difference(&self, report: &Report) -> Option<String> {
        let known = [&self.name, &self.uuid, &self.driver, &self.compiler];
        known.iter().zip(Self::KEYS).find_map(|(was, (key, what))| {
            let (was, is) = (was.as_deref()?, report.value(key)?);
            (was != is).then(|| format!("{what} was {was} and is {is}"))
        })
    }
}

/// The result of a workload in one run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorkloadRun {
    /// The dims and the type, as in `batch=8 T=f32`. Unique within a run: a second one of the same
    /// dims ends with ` nr=2`.
    pub name: String,
    pub outcome: WorkloadOutcome,
    /// Microseconds of a launch: the mean of `trials_us`. `None` unless it passed and was timed.
    #[serde(rename = "kernel_us")]
    pub us: Option<f64>,
    /// The median of each trial. Empty if the harness gave none.
    pub trials_us: Vec<f64>,
    /// 10⁹ bytes per second; `None` if the harness gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gbps: Option<f64>,
    /// 10⁹ operations per second; `None` if the harness gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
}

/// The result of a workload, from the best to the worst.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadOutcome {
    Pass,
    /// Another workload ended the run before.
    NotJudged,
    Fail,
    Crash,
}

impl WorkloadOutcome {
    pub fn word(self) -> &'static str {
        match self {
            WorkloadOutcome::Pass => "pass",
            WorkloadOutcome::Fail => "fail",
            WorkloadOutcome::Crash => "crash",
            WorkloadOutcome::NotJudged => "not judged",
        }
    }

    /// The outcome of a word behind `correctness=`; `None` of an unknown word.
    pub fn of_word(word: &str) -> Option<Self> {
        serde_json::from_value(first_word(word).into()).ok()
    }
}

/// The result of a run or of a whole bench. A kernel that did not build has a word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchOutcome {
    Pass,
    Fail,
    BuildError,
    Crash,
    Interrupted,
    NotJudged,
    /// Runs are missing, and none failed.
    Incomplete,
}

impl BenchOutcome {
    /// The exit code of `lab bench`, as of a run with the same end.
    pub fn exit(self) -> Exit {
        match self {
            BenchOutcome::Pass => Exit::Passed,
            BenchOutcome::Fail => Exit::Wrong,
            BenchOutcome::BuildError => Exit::NotBuilt,
            BenchOutcome::NotJudged => Exit::NOT_JUDGED,
            BenchOutcome::Crash | BenchOutcome::Interrupted | BenchOutcome::Incomplete => {
                Exit::Crashed
            }
        }
    }
}

/// A run that has ended with a verdict: a line of `runs.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// Known once it is read; stands in no file.
    #[serde(skip)]
    pub origin: Origin,
    pub bench: BenchId,
    /// From 1.
    pub run: u32,
    /// That of the bench: a line of another bench counts for nothing here.
    pub fingerprint: Fingerprint,
    pub started: Timestamp,
    pub seconds: f64,
    pub outcome: Outcome,
    /// The build did not succeed.
    pub build_failed: bool,
    /// The reason, if it did not pass.
    pub why: String,
    #[serde(flatten)]
    pub device: BenchedDevice,
    pub emulated: bool,
    pub workloads: Vec<WorkloadRun>,
    pub caveats: Vec<String>,
    /// Clocks and foreign processes while it measured; `None` if the device does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_state: Option<String>,
}

impl BenchRun {
    pub fn came_to(&self) -> BenchOutcome {
        match self.outcome {
            Outcome::Pass => BenchOutcome::Pass,
            Outcome::Fail => BenchOutcome::Fail,
            Outcome::Crash if self.build_failed => BenchOutcome::BuildError,
            Outcome::Crash => BenchOutcome::Crash,
            // No run of these outcomes is recorded.
            Outcome::Void | Outcome::NotJudged => BenchOutcome::NotJudged,
        }
    }

    /// The arithmetic mean of the workloads' times in µs. `None` unless every workload passed and
    /// was timed.
    pub fn mean_us(&self) -> Option<f64> {
        self.times().map(|times| mean(&times))
    }

    /// The time of each workload in µs. `None` unless every workload passed and was timed.
    pub fn times(&self) -> Option<Vec<f64>> {
        let times: Option<Vec<f64>> = self.workloads.iter().map(|w| w.us).collect();
        times.filter(|times| self.outcome == Outcome::Pass && !times.is_empty())
    }

    /// Workloads that passed.
    pub fn passed(&self) -> usize {
        self.workloads
            .iter()
            .filter(|w| w.outcome == WorkloadOutcome::Pass)
            .count()
    }

    /// The workloads that did not pass, each with its result: `batch=8 fail`. Workloads that were not
    /// launched are left out.
    pub fn failed(&self) -> Vec<String> {
        let failed =
            |w: &&WorkloadRun| matches!(w.outcome, WorkloadOutcome::Fail | WorkloadOutcome::Crash);
        self.workloads
            .iter()
            .filter(failed)
            .map(|w| format!("{} {}", w.name, w.outcome.word()))
            .collect()
    }
}

/// What a bench measured beside the problem's peers: `peers.json`, written after the last run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchPeers {
    /// Known once it is read; stands in no file.
    #[serde(skip)]
    pub origin: Origin,
    pub bench: BenchId,
    /// That of the bench.
    pub fingerprint: Fingerprint,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    pub peers: Vec<MeasuredPeer>,
    /// Why the peers could not be timed, in words.
    pub failure: Option<String>,
    /// What qualifies these turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

/// A bench: what it measures, the runs that have ended, in order, and what was timed beside the
/// peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Bench {
    pub start: BenchStart,
    pub runs: Vec<BenchRun>,
    /// `None` before the last run has ended, and of a problem without peers.
    pub peers: Option<BenchPeers>,
}

impl Bench {
    /// The run that did not pass. It ends a bench.
    pub fn failed_run(&self) -> Option<&BenchRun> {
        self.runs.iter().find(|run| run.outcome != Outcome::Pass)
    }

    /// What the runs were measured with; `None` without a run.
    pub fn device(&self) -> Option<&BenchedDevice> {
        self.runs.first().map(|run| &run.device)
    }

    /// The name of that device.
    pub fn device_name(&self) -> Option<&str> {
        self.device()?.name.as_deref()
    }

    /// Whether a run was on an emulated device.
    pub fn is_emulated(&self) -> bool {
        self.runs.iter().any(|run| run.emulated)
    }

    /// How each run measures; `each` says of what the launches are.
    pub fn measures(&self, each: &str) -> String {
        let is_emulated = self.is_emulated() || self.start.target == "cpu";
        self.start.measures(each, is_emulated)
    }

    /// Whether all of it is this user's.
    pub fn is_own(&self) -> bool {
        self.start.origin == Origin::Own && self.runs.iter().all(|run| run.origin == Origin::Own)
    }
}

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_differs_by_its_name_its_identifier_its_driver_or_its_compiler() {
        let of = |driver: &str| {
            Report::read(&format!(
                "device: H200\ndevice_uuid: GPU-1\ndriver: {driver}\n"
            ))
        };
        let device = BenchedDevice::of(&of("550"));
        assert_eq!(device.difference(&of("550")), None);
        assert_eq!(
            device.difference(&of("560")).as_deref(),
            Some("the driver was 550 and is 560")
        );
        assert_eq!(
            device.difference(&Report::read("device: H200\n")),
            None,
            "the rest is not printed yet"
        );
        let other = Report::read("device: H200\ndevice_uuid: GPU-2\n");
        assert_eq!(
            device.difference(&other).as_deref(),
            Some("the device's identifier was GPU-1 and is GPU-2")
        );
    }
}
