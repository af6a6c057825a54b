//! One bench beside another: how many times as fast each workload was. The two were not timed in
//! turns, so clocks and other work of their minutes are in the ratio.

use crate::record::{Bench, BenchId};
use crate::summary::{Summary, TimeOverRuns};
use schemars::JsonSchema;
use serde::Serialize;

/// A bench beside an earlier or a later one.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "BenchComparison")]
pub struct Comparison {
    /// The number of the other bench.
    pub bench: BenchId,
    /// Git blob id of the kernel that it measured.
    pub blob: String,
    /// Why the two say nothing about one another; null if they do.
    pub unlike: Option<String>,
    /// The geometric mean over the workloads that both timed; null without one.
    pub mean: Option<SpeedOverRuns>,
    /// Those workloads, in the order of the problem.
    pub workloads: Vec<ComparedWorkload>,
}

/// A workload that both benches timed.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ComparedWorkload {
    /// As in `batch=8 T=f32`.
    pub name: String,
    #[serde(flatten)]
    pub speed: SpeedOverRuns,
}

/// How many times as fast a bench was as the other one.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SpeedOverRuns {
    /// Of the means over the runs.
    pub ratio: f64,
    /// Of this bench's slowest run beside the other's fastest, and the other way round: between them
    /// the runs of the two overlap.
    pub low: f64,
    pub high: f64,
}

impl SpeedOverRuns {
    fn of(this: &TimeOverRuns, other: &TimeOverRuns) -> Self {
        SpeedOverRuns {
            ratio: other.mean / this.mean,
            low: other.low / this.high,
            high: other.high / this.low,
        }
    }

    /// Whether some run of the slower bench was as fast as one of the faster bench.
    pub fn overlaps(&self) -> bool {
        self.low <= 1.0 && self.high >= 1.0
    }

    /// The geometric mean; `None` of nothing.
    fn mean(all: &[SpeedOverRuns]) -> Option<Self> {
        let mean = |figure: fn(&SpeedOverRuns) -> f64| {
            let logarithms = all.iter().map(|speed| figure(speed).ln());
            (logarithms.sum::<f64>() / all.len() as f64).exp()
        };
        (!all.is_empty()).then(|| SpeedOverRuns {
            ratio: mean(|speed| speed.ratio),
            low: mean(|speed| speed.low),
            high: mean(|speed| speed.high),
        })
    }
}

impl Comparison {
    /// `this` beside `other`.
    pub fn of(this: &Bench, other: &Bench) -> Self {
        let unlike = unlike(this, other);
        let mut workloads = Vec::new();
        if unlike.is_none() {
            let others = Summary::of(other).workloads;
            for workload in Summary::of(this).workloads {
                let same = others.iter().find(|it| it.name == workload.name);
                let times = workload.us.zip(same.and_then(|it| it.us));
                workloads.extend(times.map(|(this, other)| ComparedWorkload {
                    name: workload.name,
                    speed: SpeedOverRuns::of(&this, &other),
                }));
            }
        }
        let speeds: Vec<SpeedOverRuns> = workloads.iter().map(|it| it.speed).collect();
        let none = "they timed no workload of the same name";
        Comparison {
            bench: other.start.bench,
            blob: other.start.blob.clone(),
            unlike: unlike.or(speeds.is_empty().then(|| none.to_owned())),
            mean: SpeedOverRuns::mean(&speeds),
            workloads,
        }
    }
}

/// Why the times of two benches cannot be compared.
fn unlike(this: &Bench, other: &Bench) -> Option<String> {
    if this.is_emulated() || other.is_emulated() {
        return Some("times of an emulated device say nothing about a GPU".to_owned());
    }
    let (one, two) = (this.device_name()?, other.device_name()?);
    (one != two).then(|| format!("one was measured on {one}, the other on {two}"))
}
