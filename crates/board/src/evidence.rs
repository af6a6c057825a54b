//! Evidence: the figures of one experiment, bench, sweep or profile, as a clone has to see them.

use jiff::Timestamp;
use lab_bench::BenchId;
use lab_git::short;
use lab_protocol::report::{Measure, PeerPart, PeerRatio, Speed};
use lab_run::RunId;
use lab_run::peers::PeerFigure;
use lab_run::verdict::Outcome;
use lab_sweep::SweepId;
use lab_text::figures::figure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Display, Formatter};

/// What made a piece of evidence.
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
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EvidenceKind {
    /// A run of the kernel, kept or not.
    #[default]
    Experiment,
    Bench,
    Sweep,
    /// The counters of one launch.
    Profile,
}

impl EvidenceKind {
    /// The word that files and messages use.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// The record that evidence is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Run(RunId),
    Bench(BenchId),
    Sweep(SweepId),
    /// The profile in the folder of this run.
    Profile(RunId),
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Source::Run(run) => write!(f, "run {run}"),
            Source::Bench(bench) => write!(f, "bench {bench}"),
            Source::Sweep(sweep) => write!(f, "sweep {sweep}"),
            Source::Profile(run) => write!(f, "profile {run}"),
        }
    }
}

/// The content of evidence/ID.json.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Evidence {
    /// Version of the format.
    pub version: u32,
    /// Version of the lab that wrote it.
    pub lab: String,
    pub kind: EvidenceKind,
    /// The number of the run, the bench or the sweep where it was made. A profile has the number of
    /// its run.
    pub number: u64,
    /// Repository-relative path of the kernel.
    pub kernel: String,
    /// Git blob id of the measured kernel.
    pub blob: String,
    /// The commit that holds every file of `inputs` with these bytes; null if none was found.
    pub commit: Option<String>,
    /// Whether all tracked files were as in HEAD when it was measured, but for the ledgers,
    /// decisions.toml and evidence/; null if its record does not say it.
    pub clean_tree: Option<bool>,
    /// BLAKE3 of each file that the verdict depends on, by its path. A sweep has none.
    pub inputs: BTreeMap<String, String>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    pub driver: Option<String>,
    pub compiler: Option<String>,
    /// Clocks, temperature, throttling and foreign processes while it was measured.
    pub device_state: Option<String>,
    /// Whether the times say nothing about a GPU.
    pub emulated: bool,
    /// Whether the kernel was correct.
    pub outcome: Outcome,
    /// The verdict on the speed against the incumbent of that time.
    pub speed: Option<Speed>,
    /// Independent runs that passed: each in a judge process of its own.
    pub runs: u32,
    /// What qualifies the figures.
    pub caveats: Vec<String>,
    /// Figures over all workloads, by metric.
    pub figures: BTreeMap<String, Measure>,
    /// Each workload, by its key, as in `f16.4096x8192`. Of a sweep, its best points.
    pub workloads: BTreeMap<String, EvidenceWorkload>,
    /// What the kernel was timed beside, by the name in the metrics.
    pub peers: BTreeMap<String, EvidencePeer>,
    /// The command that makes it again.
    pub command: String,
    pub measured: Timestamp,
    /// The public key and the Ed25519 signature of all other keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The figures of one workload.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct EvidenceWorkload {
    /// As in `rows=4096 cols=8192 T=f16`.
    pub name: String,
    /// By metric, as in `us` and `vs_eager`.
    pub figures: BTreeMap<String, Measure>,
}

/// A peer: its exact call, and what it was called with.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct EvidencePeer {
    /// As problem.toml names it.
    pub name: String,
    /// What is called, as its source says it.
    pub call: String,
    /// Packages and their versions, as in `torch=2.11.0 triton=3.6.0`.
    pub versions: String,
    /// The file that it was read from; null if problem.toml does not name it.
    pub source: Option<String>,
    /// BLAKE3 of that file.
    pub hash: Option<String>,
    /// Why it could not be compared, on which workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl Evidence {
    /// What tells the record from which it was made from every other.
    pub fn record(&self) -> (&'static str, u64, Timestamp) {
        (self.kind.word(), self.number, self.measured)
    }

    /// A figure; without a workload that over all of them.
    pub fn figure(&self, workload: Option<&str>, metric: &str) -> Option<Measure> {
        let figures = match workload {
            Some(key) => &self.workloads.get(key)?.figures,
            None => &self.figures,
        };
        figures.get(metric).copied()
    }

    /// The record from which it was made.
    pub fn source(&self) -> Source {
        match self.kind {
            EvidenceKind::Experiment => Source::Run(RunId(self.number)),
            EvidenceKind::Bench => Source::Bench(BenchId(self.number)),
            EvidenceKind::Sweep => Source::Sweep(SweepId(self.number)),
            EvidenceKind::Profile => Source::Profile(RunId(self.number)),
        }
    }

    /// Figures that are counted: its runs, and the workloads that were measured.
    pub fn count(&self, metric: &str) -> Option<Measure> {
        match metric {
            "runs" => Some(plain(self.runs.into())),
            "workloads" => Some(plain(self.workloads.len() as f64)),
            _ => None,
        }
    }

    /// Whether it holds times of a kernel.
    pub fn is_timed(&self) -> bool {
        self.kind != EvidenceKind::Profile
    }

    /// How fast the kernel was beside each peer, over the timed workloads that the peer computes.
    pub fn peer_figures(&self) -> Vec<PeerFigure> {
        // A peer's figure stands with the first of several workloads with the same extents.
        let extents = |it: &EvidenceWorkload| it.name.split(" nr=").next().map(str::to_owned);
        let of = self.workloads.values().filter_map(extents);
        let of = of.collect::<HashSet<_>>().len() as u64;
        let figure = |(name, peer): (&String, &EvidencePeer)| {
            let metric = format!("{RATIO}{name}");
            let has_it = |workload: &&EvidenceWorkload| workload.figures.contains_key(&metric);
            let compared = self.workloads.values().filter(has_it);
            let compared = compared.filter_map(extents).collect::<HashSet<_>>().len() as u64;
            PeerFigure {
                name: peer.name.clone(),
                ratio: self.figure(None, &metric).map(PeerRatio::from),
                part: (compared < of).then_some(PeerPart { compared, of }),
                measured: Some(self.measured),
                failure: None,
            }
        };
        self.peers.iter().map(figure).collect()
    }

    /// The peer of a metric such as `vs_eager` or `us_eager`.
    pub fn peer(&self, metric: &str) -> Option<&EvidencePeer> {
        let name = metric.strip_prefix(RATIO).or(metric.strip_prefix("us_"));
        self.peers.get(name?)
    }
}

impl EvidencePeer {
    /// What is called, and with which versions: `torch.sum(x)  torch=2.11.0`. A source in CUDA is the
    /// call itself, and has the evidence's compiler. `None` if it is not recorded.
    pub fn called(&self) -> Option<String> {
        let named = !self.call.is_empty() && !self.versions.is_empty();
        let is_cuda = |source: &&String| source.ends_with(".cu");
        let source = self.source.as_ref().filter(is_cuda);
        match (named, source, &self.hash) {
            (true, ..) => Some(format!("{}  {}", self.call, self.versions)),
            (_, Some(source), Some(hash)) => Some(format!("{source}  blake3={}", short(hash))),
            _ => None,
        }
    }
}

/// What the metric of a ratio to a peer begins with.
pub const RATIO: &str = "vs_";

/// A name as a metric has it: `F.rms_norm` is `f_rms_norm`.
pub fn metric_name(name: &str) -> String {
    let plain = |c: char| match c.is_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '_',
    };
    name.chars().map(plain).collect()
}

/// The key of a workload: its words that are no numbers, then its numbers.
///
/// ```
/// use lab_board::key_of_workload;
/// assert_eq!(key_of_workload("rows=4096 cols=8192 T=f16"), "f16.4096x8192");
/// ```
pub fn key_of_workload(name: &str) -> String {
    let words = name.split_whitespace();
    let values = words.map(|word| word.split_once('=').map_or(word, |(_, value)| value));
    let (numbers, mut parts): (Vec<&str>, Vec<&str>) =
        values.partition(|value| value.starts_with(|c: char| c.is_ascii_digit()));
    let numbers = numbers.join("x");
    parts.extend((!numbers.is_empty()).then_some(numbers.as_str()));
    parts.join(".")
}

/// A figure as a claim shows it: with its unit, and as many digits as a person reads.
pub fn in_words(metric: &str, value: f64) -> String {
    let unit = match metric {
        "us" => " µs",
        "gbps" => " GB/s",
        "tflops" => " TFLOP/s",
        "sps" => " samples/s",
        "of_floor" => " %",
        it if it.starts_with("us_") => " µs",
        it if it.ends_with("_pct") => " %",
        it if it.starts_with(RATIO) => {
            let interval = None;
            return PeerRatio { value, interval }.to_string();
        }
        _ => "",
    };
    format!("{}{unit}", figure(value))
}

/// A figure without an interval.
pub fn plain(value: f64) -> Measure {
    Measure {
        value,
        low: None,
        high: None,
    }
}

/// JSON that git can compare: the keys sorted, a line for each value, and a figure with its interval
/// on one line.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out.push('\n');
    out
}

fn write(value: &Value, depth: usize, out: &mut String) {
    let is_leaf = |value: &Value| !value.is_object() && !value.is_array();
    let (ends, mut items): (_, Vec<(String, &Value)>) = match value {
        Value::Object(object) => {
            let mut items: Vec<_> = object.iter().collect();
            items.sort_unstable_by_key(|(key, _)| *key);
            let key = |key: &String| format!("{}: ", Value::from(key.as_str()));
            let items = items.into_iter().map(|(name, item)| (key(name), item));
            (['{', '}'], items.collect())
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| (String::new(), item));
            (['[', ']'], items.collect())
        }
        leaf => return out.push_str(&leaf.to_string()),
    };
    let is_figure = value.get("value").is_some() && items.iter().all(|(_, item)| is_leaf(item));
    // A figure without an interval says so by leaving it out.
    items.retain(|(_, item)| !is_figure || !item.is_null());
    out.push(ends[0]);
    for (at, (key, item)) in items.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        match is_figure {
            true => out.push(' '),
            false => {
                out.push('\n');
                out.push_str(&"  ".repeat(depth + 1));
            }
        }
        out.push_str(key);
        write(item, depth + 1, out);
    }
    match (items.is_empty(), is_figure) {
        (true, _) => {}
        (_, true) => out.push(' '),
        _ => {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        }
    }
    out.push(ends[1]);
}
