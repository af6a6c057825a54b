//! The workloads of one run, each beside the incumbent and the peers.

use askama::Template;
use lab_board::{Evidence, EvidenceKind, EvidenceWorkload, RATIO};
use lab_history::bounds::workloads_of;
use lab_protocol::report::{Measure, PeerRatio, Workload};
use lab_run::peers::MeasuredPeer;
use lab_run::record::Record;
use lab_text::figures::{count, distinct, figure, percents, thousands};

/// Rows of a table at most.
const MOST: usize = 100;

const INTERVAL: &str = "95 % interval";

/// The workloads of one run, or of evidence, as a table.
#[derive(Template)]
#[template(path = "workloads.html")]
pub struct Workloads {
    /// The run, the experiment, the commit.
    pub of: String,
    /// What stands in brackets behind a time.
    pub bounds: &'static str,
    pub rows: Vec<WorkloadRow>,
    pub left_out: usize,
    /// Names of the peers that each row has a cell for.
    pub peers: Vec<String>,
    pub has_ratio: bool,
    pub has_floor: bool,
    pub has_amounts: bool,
    pub has_rates: bool,
}

pub struct WorkloadRow {
    pub name: String,
    pub us: String,
    pub ratio: String,
    pub speed: &'static str,
    pub peers: Vec<String>,
    pub of_floor: String,
    pub bytes: String,
    pub operations: String,
    pub gbps: String,
    pub gflops: String,
}

impl Workloads {
    /// `None` if the run tells nothing of single workloads. `peers` are those that its bytes were
    /// timed beside.
    pub fn of(record: &Record, peers: &[MeasuredPeer], of: String) -> Option<Self> {
        let all = workloads_of(&record.report());
        let compared = peers.iter().filter(|it| !it.peer.workloads.is_empty());
        let compared: Vec<&MeasuredPeer> = compared.collect();
        let beside = |it: &Workload| {
            let of_peer = |peer: &&MeasuredPeer| {
                let mut all = peer.peer.workloads.iter();
                all.find(|of| of.name == it.name).map(|of| of.ratio)
            };
            compared.iter().map(of_peer).collect()
        };
        let peers = compared.iter().map(|it| it.peer.name.clone());
        Self::table(&all, peers.collect(), beside, (of, INTERVAL))
    }

    /// `None` if the evidence holds no times of single workloads.
    pub fn of_evidence(of: &Evidence) -> Option<Self> {
        let workloads = of.workloads.values();
        let has = |metric: &String| workloads.clone().any(|it| it.figures.contains_key(metric));
        let peers = of.peers.iter();
        let peers = peers.map(|(name, peer)| (format!("{RATIO}{name}"), peer.name.clone()));
        let (metrics, names): (Vec<String>, Vec<String>) =
            peers.filter(|(metric, _)| has(metric)).unzip();
        let workload = |it: &EvidenceWorkload| {
            let figure = |metric: &str| it.figures.get(metric).copied();
            let value = |metric| figure(metric).map(|of| of.value);
            Workload {
                name: it.name.clone(),
                us: figure("us"),
                incumbent_us: None,
                of_floor: value("of_floor"),
                gbps: value("gbps"),
                gflops: value("tflops").map(|tflops| tflops * 1e3),
                bytes: None,
                flops: None,
                ratio: figure("vs_incumbent"),
                speed: None,
                correctness: None,
            }
        };
        let all: Vec<Workload> = workloads.clone().map(workload).collect();
        let beside = |it: &Workload| {
            let found = workloads.clone().find(|of| of.name == it.name);
            let ratio = |metric| Some(PeerRatio::from(*found?.figures.get(metric)?));
            metrics.iter().map(ratio).collect()
        };
        let bounds = match of.kind {
            EvidenceKind::Bench => "fastest … slowest run",
            _ => INTERVAL,
        };
        of.is_timed()
            .then(|| Self::table(&all, names, beside, (String::new(), bounds)))?
    }

    fn table(
        all: &[Workload],
        peers: Vec<String>,
        beside: impl Fn(&Workload) -> Vec<Option<PeerRatio>>,
        (of, bounds): (String, &'static str),
    ) -> Option<Self> {
        let rows = all.iter().take(MOST);
        (!all.is_empty()).then(|| Workloads {
            of,
            bounds,
            rows: rows.map(|it| row(it, beside(it))).collect(),
            left_out: all.len().saturating_sub(MOST),
            peers,
            has_ratio: all.iter().any(|it| it.ratio.is_some()),
            has_floor: all.iter().any(|it| it.of_floor.is_some()),
            has_amounts: all
                .iter()
                .any(|it| it.bytes.is_some() || it.flops.is_some()),
            has_rates: all
                .iter()
                .any(|it| it.gbps.is_some() || it.gflops.is_some()),
        })
    }
}

fn row(of: &Workload, beside: Vec<Option<PeerRatio>>) -> WorkloadRow {
    let text = |value: Option<f64>, form: fn(f64) -> String| value.map(form).unwrap_or_default();
    let shown = |ratio: Option<PeerRatio>| ratio.map(|it| it.to_string()).unwrap_or_default();
    WorkloadRow {
        name: of.name.clone(),
        us: of.us.map(|us| interval(&us)).unwrap_or_default(),
        ratio: of.ratio.map(|ratio| change(&ratio)).unwrap_or_default(),
        speed: of.speed.map_or("", |speed| speed.word()),
        peers: beside.into_iter().map(shown).collect(),
        of_floor: text(of.of_floor, figure),
        bytes: text(of.bytes, thousands),
        operations: text(of.flops, thousands),
        gbps: text(of.gbps, count),
        gflops: text(of.gflops, count),
    }
}

/// `16.29 (16.20 … 16.38)`
pub fn interval(measure: &Measure) -> String {
    let Some((low, high)) = measure.low.zip(measure.high) else {
        return count(measure.value);
    };
    let [value, low, high] = distinct([measure.value, low, high], count);
    format!("{value} ({low} … {high})")
}

/// `+2.1 % (+1.9 … +2.4)` of a ratio.
fn change(ratio: &Measure) -> String {
    let over = |value: f64| value - 1.0;
    let Some((low, high)) = ratio.low.zip(ratio.high) else {
        return format!("{} %", percents([over(ratio.value)])[0]);
    };
    let [value, low, high] = percents([ratio.value, low, high].map(over));
    format!("{value} % ({low} … {high})")
}
