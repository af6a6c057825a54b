//! The profile of one launch: what the counters of a GPU, or only the built image, say about a
//! kernel.
//!
//! The judge writes it as `profile.json` into a run's folder. Sets of counters differ by chip and
//! by version of the profiler, so a metric is looked up by its name and may be missing; nothing is
//! found by its place in a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of `profile.json` that this program writes.
pub const VERSION: u32 = 1;

/// What is known of one launch of one kernel.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Profile {
    /// [`VERSION`] of the program that wrote it.
    pub version: u32,
    pub origin: Origin,
    /// The device's name.
    pub device: String,
    /// The target of the built image, as in `sm_90a`.
    pub arch: String,
    /// The kernel's function.
    pub entry: String,
    /// The workload as the problem names it, as in `rows=4096 cols=4096 f16`.
    pub workload: String,
    /// `None` where nothing was launched.
    pub launch: Option<LaunchShape>,
    /// By the profiler's own name, in base units (ns, bytes, hertz, percent).
    pub metrics: BTreeMap<String, Metric>,
    /// What the profiler itself says about the launch.
    pub findings: Vec<Finding>,
    /// The lines of source that were sampled, or that have instructions, by file and number.
    pub lines: Vec<ProfiledLine>,
    /// Registers, spills and the like of the built image.
    pub image: ImageFacts,
    /// What the report did not have, in words.
    pub missing: Vec<String>,
    /// When it was made, in seconds since 1970.
    pub taken_unix_s: Option<u64>,
    /// The kernels of the launch in order, where it is a list of several. The profile is that of
    /// the longest.
    pub kernels: Vec<ListedKernel>,
    /// What the workload costs at least; `None` if the problem does not say.
    pub least: Option<LeastWork>,
    /// How the profiled launch differs from a launch of a run, in words.
    pub differences: Vec<String>,
}

/// What one launch of a workload cannot avoid, and the time that follows for the device.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LeastWork {
    /// Bytes that must be read.
    pub read_bytes: f64,
    /// Bytes that must be written.
    pub written_bytes: f64,
    /// Operations, a multiply-add counts as two; `None` where the problem does not say.
    pub flops: Option<f64>,
    /// The steps of the launch, which follow one another; 1 without steps. A run gives the time of
    /// one step.
    pub steps: f64,
    /// No launch takes fewer microseconds. `None` on the cpu device, on a device that was not
    /// probed, and where arithmetic limits the launch.
    pub floor_us: Option<f64>,
    /// Microseconds of a good implementation of the stated algorithm; `None` as above.
    pub estimate_us: Option<f64>,
    /// Microseconds of one launch in the run that judged these bytes; `None` if that run timed
    /// another workload, or nothing.
    pub run_us: Option<f64>,
}

/// One kernel of a launch that is a list.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ListedKernel {
    pub entry: String,
    /// Microseconds under the profiler.
    pub us: Option<f64>,
}

/// How long a launch of each workload takes under a profiler, as in profile-workloads.json.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorkloadDurations {
    /// [`VERSION`] of the program that wrote it.
    pub version: u32,
    /// Program and version, as in `ncu 2025.3.1.0`.
    pub tool: String,
    /// The device's name.
    pub device: String,
    pub workloads: Vec<WorkloadDuration>,
    /// The arithmetic mean of the durations, in microseconds.
    pub mean_us: f64,
}

/// How long one launch takes under a profiler.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorkloadDuration {
    /// As in `rows=3 cols=257 T=f16`.
    pub name: String,
    /// The parts of the name, as in `rows` and `3`.
    pub axes: BTreeMap<String, String>,
    /// Microseconds, the sum over the kernels of the launch.
    pub us: f64,
    /// How many kernels the launch has.
    pub kernels: u32,
    /// Whether every kernel but the lab's own was counted, because the names of the candidate's
    /// were not known.
    pub used_fallback_filter: bool,
}

/// Where a profile comes from.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(rename = "ProfileOrigin")]
pub enum Origin {
    /// Counters, read by a profiler while the kernel ran.
    Counters {
        /// Program and version, as in `ncu 2025.3.1.0`.
        tool: String,
        set: ProfileSet,
        /// How often the profiler replayed the launch.
        passes: Option<u32>,
        /// The profiler's own report beside `profile.json`, if it was kept.
        report: Option<String>,
        /// Milliseconds from the start of the profiler to the end of its report.
        took_ms: u64,
    },
    /// The built image alone: nothing ran.
    Image {
        /// Why there are no counters, and what to do.
        why: String,
    },
}

/// Which counters are read.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown_set)]
pub enum ProfileSet {
    /// About two dozen metrics, without lines of source.
    #[default]
    Quick,
    /// Everything that the profiler has, its findings and the lines of source included.
    Full,
    /// Samples by line of source.
    Source,
}

/// The launch that was profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LaunchShape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

/// One figure of the profiler.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Metric {
    pub value: f64,
    /// In base units, as in `ns`, `byte`, `%`, `hz`; empty for a number.
    pub unit: String,
}

/// What the profiler itself says, from its rules.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "ProfilerFinding")]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// Whether it is advice (`OPT`) or a remark.
    pub is_advice: bool,
    pub text: String,
    /// The profiler's estimate in percent. Estimates overlap: they are never added up.
    pub estimated_gain: Option<f64>,
}

/// A line of source with what was seen at its instructions.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ProfiledLine {
    /// Relative to the repository, as the build's diagnostics name it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// Samples of all warps.
    pub samples: u64,
    /// Samples by reason, without the prefix `stall_`, the most frequent first.
    pub stalls: Vec<(String, u64)>,
    /// Sectors of global memory that were moved beyond what the addresses needed.
    pub excess_sectors: Option<u64>,
    /// How often its instructions were executed by a warp.
    pub executed: Option<u64>,
    pub sass: Vec<SassLine>,
}

/// One machine instruction.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SassLine {
    /// Within the function, in bytes.
    pub address: u64,
    pub text: String,
    pub samples: u64,
    /// The most frequent reason of its samples.
    pub stall: Option<String>,
}

/// What the built image says without a launch.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ImageFacts {
    pub registers: Option<u32>,
    /// Bytes of local memory for each thread.
    pub local_bytes: Option<u32>,
    /// Bytes that each thread spills.
    pub spill_bytes: Option<u32>,
    pub static_shared_bytes: Option<u32>,
    /// Blocks that fit into one multiprocessor at once, and what limits them.
    pub occupancy: Option<Occupancy>,
    /// Instructions by kind (`fma`, `load global`, …), the most frequent first.
    pub mix: Vec<(String, u64)>,
    /// The loops, the innermost first.
    pub loops: Vec<SassLoop>,
}

/// How many warps fit into one multiprocessor.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Occupancy {
    /// Percent of the multiprocessor's warps.
    pub percent: f64,
    /// `registers`, `shared memory`, `blocks` or `warps`.
    pub limiter: String,
}

/// A loop in the machine code.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SassLoop {
    /// The line of source at its beginning, if the image names it.
    pub line: Option<u32>,
    pub instructions: Vec<SassLine>,
}

impl ProfileSet {
    /// The name on the command line and in `profile.json`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

fn unknown_set(word: &str) -> String {
    format!("'{word}' is not a set of counters: quick, full or source")
}

impl WorkloadDuration {
    /// The parts of a workload's name that are `key=value`.
    pub fn axes_of(name: &str) -> BTreeMap<String, String> {
        let parts = name
            .split_whitespace()
            .filter_map(|word| word.split_once('='));
        parts
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }
}

impl Profile {
    /// The value of a metric, if the report had it.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric).map(|found| found.value)
    }
}
