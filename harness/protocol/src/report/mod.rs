//! The run.log protocol: the result lines that a harness prints, a tolerant reader ([`Report`]) and
//! a writer ([`Writer`]).
//!
//! # Lines
//! A result line is `key: value` at the start of a line; a key matches `[a-z][a-z0-9_]*`. A value
//! may have attributes behind its first word: `2.1e-06 limit=1e-04`. Every other line is log text,
//! and so is a line of more than 64 KiB. If a key appears twice, the last line counts, except that
//! `caveat:`, `workload:`, `turns:` and `peer…:` lines are collected. Where a number is expected,
//! the first word is read; commas in it are ignored, and `nan` and `inf` are numbers.
//!
//! # Verdict
//! - `correctness: pass` or `fail`: the verdict on correctness. Any other word counts as fail.
//! - A line with `limit=` is a gate. It passes if its value is less than or equal to the limit; NaN
//!   fails.
//! - `first_failure: TEXT`: the first store out of bounds or change of an input, else the first wrong
//!   value, with its place and both values.
//! - `stopped: TEXT`: why the built-in harness ended without a verdict.
//! - `fault: problem` or `fault: lab`: before such a line: the problem's files, or the lab or the
//!   machine failed, and not the kernel. The run is *not judged*.
//! - `build: failed`: a harness of the user's own says that the kernel does not build.
//! - `caveat: TEXT`: something that qualifies the result. Up to [`CAVEATS`] different ones are
//!   kept.
//!
//! # Progress
//! - `stage: verify at=0.512`: what the run does, as a [`Stage`], and the seconds since its start.
//! - `progress: 3/10`: how far the stage is.
//!
//! # Gates in detail
//! For a gate NAME, the harness may say where and how often differences occur:
//! - `NAME: 2.1e-6 limit=3e-5 at=step~731`: the place of the largest difference; `~` stands for a
//!   blank.
//! - `NAME_series: v0,v1,… cells=1024`: the largest difference of each of so many cells, thinned to
//!   [`SERIES_POINTS`] points.
//! - `NAME_histogram: 3,50,0,210 from=-22 exact=12 not_finite=0`: how many differences are how
//!   large. The counts are of octaves from 2^from upwards ([`Histogram`]); differences of zero and
//!   differences that are not finite are counted apart.
//! - `NAME_wrong_map: 0009/0000 shape=64x4096 block=2x64 wrong=123 pattern=… workload=…`: which cells
//!   of an output are wrong ([`wrong_cells::WrongMap`]), and `NAME_wrong_tile: 0,96
//!   expected=1.5,2.5/… got=1.5,!2/…`: the values around the first ([`wrong_cells::WrongTile`]).
//!
//! # Speed
//! While it measures, the built-in harness writes these lines again and again:
//! - `throughput_sps: V low=L high=H`, in samples per second, and `kernel_us: V low=L high=H`, in
//!   microseconds: medians of the candidate's timed launches with their 95 % intervals. Of several
//!   workloads with `aggregate=geometric`, `arithmetic` or `worst`, and `workloads=N`.
//! - `objective: throughput_tflops`: the key of the measure, if the problem chose another one than
//!   `throughput_sps`.
//! - `incumbent_sps: V low=L high=H`: the incumbent's throughput.
//! - `speed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3`: the candidate's speed over the
//!   incumbent's, timed in turns A B B A. `quads` is the number of such ABBA blocks.
//! - `speed: faster`, `slower`, `same`, `undecided` or `mixed`: the verdict on speed ([`Speed`]).
//!
//! The last two are absent if nothing was compared, and `nan` and `none` if a comparison was taken
//! back.
//!
//! A harness of the user's own may print turns instead, and leave ratio and verdict to the lab:
//! - `turns: 0.01544 0.01499 0.01501 0.01543`: seconds of the turns of an ABBA block (incumbent,
//!   candidate, candidate, incumbent), or of several blocks, one after the other. All such lines
//!   count, up to [`TURN_BLOCKS`] blocks; `trial=2` names the process that a line belongs to.
//!   `turns: none` takes all earlier lines back. Where turns are printed, `speed_ratio:` and
//!   `speed:` follow from them ([`Report::judge_turns`]).
//! - `turns: … workload=rows=3~cols=257`: the same of one of several workloads, with `~` for a
//!   blank. Time, ratio and verdict of its `workload:` line follow from them. Without lines for the
//!   whole, the whole is the geometric mean of the workloads.
//!
//! At the end come
//! - `spread_pct: 0.012 launches=6 trials=1`: the median distance of the candidate's turns from
//!   their median, in percent.
//! - `turns_series: 15436.500,…`: the microseconds of every turn, in order.
//! - `workload: rows=3 cols=257 kernel_us=4.1 low_us=4.0 high_us=4.3 mad_us=… samples=… gbps=… gflops=… bytes=… flops=… of_floor=61.2 incumbent_us=4.2 ratio=1.0213 ratio_low=1.0190 ratio_high=1.0236 speed=faster correctness=pass`:
//!   one workload, as `key=value` words ([`Workload`]).
//! - `workloads: 3 of=54 when=save`: how many of the problem's workloads were judged
//!   ([`JudgedWorkloads`]).
//! - `workload_speeds: 4 faster=2 same=0 slower=2 undecided=0` and
//!   `worst_workload: 0.8331 low=… high=… at=rows=3~cols=257`: the verdicts on several workloads,
//!   and the slower one with the lowest ratio.
//! - `floor_us: V`, `estimate_us: V exchanges=N`, `of_estimate: P`: the least time that the device
//!   can take, the time that a good implementation takes, both in microseconds, and the estimate in
//!   percent of the measured time.
//!
//! # Peers
//! `peer:`, `peer_workload:`, `peer_call:`, `peer_hash:`, `peer_left_out:` and `peer_versions:`
//! lines are collected; see [`peers`].
//!
//! # Build and device
//! - `problem:`, `compiler:`, `driver:`, `seed:`, `held_out_seed:`: as named.
//! - `build_s: 0.40 reused=yes`: seconds of the build; `reused=yes` if the build cache had it.
//! - `registers:`, `spill_bytes:`, `shared_bytes:`: the kernel's resources a thread, a thread and a
//!   block.
//! - `launch: 132x1x1 block=512x1x1 shared_bytes=197632 cooperative=yes blocks_per_sm=1 occupancy=25`:
//!   the shape from the launch statement; the occupancy is in percent of a multiprocessor's
//!   threads. `cluster=2x1x1` are the blocks of a cluster, `tensor_maps=1` is the number of TMA
//!   tensor maps.
//! - `launch_list: 2 scratch_bytes=4096 scratch=zeroed`: a launch list, with the number of its
//!   launches and its scratch buffer (`zeroed`, `unset` or `none`). Then `launch:` is its first
//!   launch, `launch_2:` the next one that differs in more than its arguments, each with `entry=`, and
//!   with `times=` if several are alike. With `shown=64` there are more that differ.
//! - `launched_as: graph` or `plain`: how the timed launches got to the device, as one CUDA graph
//!   or one after the other.
//! - `built_for: sm_90a`: the architecture that the image of a GPU says it is for.
//! - `ragged: 4 left_out=k`: cases with extents that no workload has, and the dimensions for which there
//!   is none.
//! - `target: sm_80 registers=40 spill_bytes=0 shared_bytes=1024`, `target_2:` and so on: what the kernel
//!   needs on the architectures that the problem names; `refused=yes` if it does not build there.
//! - `device: NVIDIA H200`, `device_uuid: GPU-…`: the device. `(emulated` in the name or an
//!   attribute `emulated=` marks a device whose times say nothing about a GPU.
//! - `sandbox: landlock 7 + seccomp` or `none`, and `sandbox_readable: ["/opt/include"]`, a JSON
//!   list: what holds the kernel's process and the compiler back, and the paths outside the
//!   repository that the compiler may read.
//! - `sm_clock_mhz:`, `memory_clock_mhz:`, `temperature_c:`, `power_w:`: medians over the
//!   measurement, with `low=` and `high=`.
//! - `throttle: none` or words of [`ThrottleReason`](crate::telemetry::ThrottleReason), separated
//!   by commas.
//! - `foreign_processes: 0`: other processes that had the device open; `unknown` if the device does
//!   not tell.
//!
//! # lab check
//! - `check_tools: TOOL, …` and `check_size: TEXT`: what is run, and how large.
//! - `TOOL_findings: 0 limit=0`: a gate for each tool.
//! - `check: TOOL, … clean` or `TOOL, … found something`.
//!
//! Compiler messages and findings of `lab check` are log text in the compilers' form; see
//! [`Diagnostic`]. The text of `stopped:` may have this form too.

pub mod all_cells;
mod diagnostic;
mod histogram;
mod launches;
mod line;
mod log;
pub mod peers;
mod turns;
mod turns_judged;
mod values;
pub mod workloads;
mod writer;
pub mod wrong_cells;

pub use diagnostic::{Diagnostic, Severity};
pub use histogram::Histogram;
pub use lab_stats::aggregate::Aggregate;
pub use lab_stats::speed::Speed;
pub use launches::{LaunchLine, MOST_LAUNCH_LINES, ScratchLine, TargetLine};
pub use line::{
    LINE_LIMIT, ResultLine, attribute, first_word, is_failing_word, number, numbered, parse,
    says_the_same,
};
use line::{finite, parsed};
pub use log::Log;
pub use peers::{Peer, PeerLeftOut, PeerPart, PeerRatio, PeerWorkload};
pub use time_left::{Asked, StageTimes, time_left};
pub use turns::{TURN_BLOCKS, Turns, compared_words, ends_words, series_of, time_words, us};
pub use values::{Comparison, Gate, Measure, Stage, gate_is_share};
pub use workloads::{AggregateOf, JudgedWorkloads, Workload, WorkloadSpeeds, WorstWorkload};
pub use writer::{Clock, Writer, at, larger, peak};

use std::collections::HashMap;

/// Most points of a `_series:` line. Further points are not kept.
pub const SERIES_POINTS: usize = 512;

/// Most different caveats of a run. Further caveats are not kept.
pub const CAVEATS: usize = 200;

/// What the result lines of a run have said so far. It is fed line by line; queries are cheap.
///
/// ```
/// use lab_protocol::report::{Report, Speed};
///
/// let report = Report::read("\
/// stage: measure
/// y_error: 0.5 limit=1 at=y[3]
/// throughput_sps: 42013.5 low=41890 high=42102
/// speed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3
/// speed: faster
/// any other text
/// correctness: pass
/// ");
/// assert_eq!(report.correctness(), Some(true));
/// assert_eq!(report.number("throughput_sps"), Some(42013.5));
/// assert_eq!(report.failing_gate(), None);
/// assert_eq!(report.place("y_error").as_deref(), Some("y[3]"));
/// assert_eq!(report.comparison().unwrap().speed, Some(Speed::Faster));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// In order of first appearance; the value is the last one.
    entries: Vec<(String, String)>,
    /// The index of each key in `entries`. A harness may print any number of keys, so a search must
    /// not be linear.
    index: HashMap<String, usize>,
    /// The first two different values of each key whose lines differ.
    changed: HashMap<String, [String; 2]>,
    /// The first line of text that would be `correctness: fail` but for blanks, capital letters or
    /// control sequences.
    disguised: Option<String>,
    caveats: Vec<String>,
    /// The `workload:` lines as they were printed.
    printed_workloads: Vec<String>,
    /// The same with what follows from the `turns:` lines of workloads, if there are such lines.
    timed_workloads: Option<Vec<String>>,
    /// Key and value of each line about a peer.
    peer_lines: Vec<(String, String)>,
    turns: Turns,
    /// Why the verdict on the turns is *undecided*.
    doubt: Option<String>,
    /// The last stage that the run reached before `done`.
    reached: Option<Stage>,
    /// The last stages that said when they began, each with the seconds since the run's start. A check
    /// on several sealed inputs has the same stages several times.
    began: Vec<(Stage, f64)>,
    /// How far the present stage is.
    progress: Option<(u64, u64)>,
    diagnostics: Vec<Diagnostic>,
}

/// Most beginnings of stages that are kept.
const STAGES: usize = 32;

/// `3/10` as a pair.
fn parts(value: &str) -> Option<(u64, u64)> {
    let (done, all) = first_word(value).split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

/// A message is compared with so many before it, because a harness may print any number of them.
const LIKE: usize = 100;

/// Whether the value of a line `device:` is an emulated device, whose times say nothing.
pub fn is_emulated(device: &str) -> bool {
    attribute(device, "emulated").is_some() || device.contains("(emulated")
}

impl Report {
    /// Reads one line, without its newline. Returns whether it was a result line.
    pub fn push_line(&mut self, line: &str) -> bool {
        match parse(line) {
            Some(ResultLine { key, value }) => {
                self.push(key, value);
                true
            }
            None => {
                self.push_text(line);
                false
            }
        }
    }

    /// Reads one line of log text, without its newline.
    pub fn push_text(&mut self, line: &str) {
        self.note_diagnostic(line);
        if self.disguised.is_none() && line.len() <= LINE_LIMIT {
            let plain = line.trim_start().to_ascii_lowercase();
            let is_failure = plain.split_once([':', '=']).is_some_and(|(key, value)| {
                key.trim() == "correctness" && is_failing_word(first_word(value))
            });
            self.disguised = is_failure.then(|| line.trim().to_owned());
        }
    }

    /// Takes in a result line that is split already.
    pub fn push(&mut self, key: &str, value: &str) {
        match key {
            "stopped" => {
                self.note_diagnostic(value);
                self.set(key, value);
            }
            "caveat"
                if self.caveats.len() >= CAVEATS || self.caveats.iter().any(|c| c == value) => {}
            "caveat" => self.caveats.push(value.to_owned()),
            "workload" => self.printed_workloads.push(value.to_owned()),
            "turns" => self.turns.push(value),
            "peer" | "peer_workload" | "peer_call" | "peer_hash" | "peer_left_out"
            | "peer_versions" => {
                if self.peer_lines.len() < peers::MOST_LINES {
                    self.peer_lines.push((key.to_owned(), value.to_owned()));
                }
            }
            _ => {
                self.note_change(key, value);
                self.set(key, value);
            }
        }
        match key {
            "stage" => self.note_stage(value),
            "progress" => self.progress = parts(value),
            _ => {}
        }
    }

    fn note_stage(&mut self, value: &str) {
        let stage = self.stage();
        self.reached = stage.filter(|stage| *stage != Stage::Done).or(self.reached);
        self.progress = None;
        let at = attribute(value, "at").and_then(number);
        if let Some(began) = stage.zip(at) {
            if self.began.len() == STAGES {
                self.began.remove(0);
            }
            self.began.push(began);
        }
    }

    /// Keeps a compiler's message. A compiler that builds a file several times says the same each
    /// time.
    fn note_diagnostic(&mut self, text: &str) {
        if let Some(found) = diagnostic::parse(text) {
            let mut last = self.diagnostics.iter().rev().take(LIKE);
            if !last.any(|known| *known == found) {
                self.diagnostics.push(found);
            }
        }
    }

    /// Keeps what a key said before, if that was something else. A comparison may be taken back.
    fn note_change(&mut self, key: &str, value: &str) {
        let is_none = |value: &str| {
            let word = first_word(value);
            word == "none" || number(word).is_some_and(f64::is_nan)
        };
        let can_be_taken_back = matches!(key, "speed" | "speed_ratio");
        if can_be_taken_back && is_none(value) {
            self.changed.remove(key);
            return;
        }
        let before = self.value(key);
        let Some(before) = before.filter(|before| !says_the_same(before, value)) else {
            return;
        };
        let was_none = can_be_taken_back && is_none(before);
        if !was_none && !self.changed.contains_key(key) {
            let both = [before, value].map(str::to_owned);
            self.changed.insert(key.to_owned(), both);
        }
    }

    /// Gives a key its value.
    fn set(&mut self, key: &str, value: &str) {
        match self.index.get(key) {
            Some(&at) => value.clone_into(&mut self.entries[at].1),
            None => {
                self.index.insert(key.to_owned(), self.entries.len());
                self.entries.push((key.to_owned(), value.to_owned()));
            }
        }
    }

    /// The `turns:` lines.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The `workload:` lines, as [`Report::judge_turns`] left them.
    fn workload_lines(&self) -> &[String] {
        self.timed_workloads
            .as_deref()
            .unwrap_or(&self.printed_workloads)
    }

    /// What is to be said about the verdict on the turns: why it is *undecided*, or that a line
    /// cannot be read. `None` before [`Report::judge_turns`].
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// Reads a whole log.
    pub fn read(log: &str) -> Self {
        let mut report = Report::default();
        for line in log.lines() {
            report.push_line(line);
        }
        report
    }

    /// The whole value of a key, attributes included.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.index.get(key).map(|&at| self.entries[at].1.as_str())
    }

    /// The first two different values of a key; `None` if its lines agree, or the comparison that
    /// they are about was taken back. Lines about speed do not count beside `turns:` lines.
    ///
    /// ```
    /// use lab_protocol::report::Report;
    ///
    /// let report = Report::read("correctness: fail\ncorrectness: pass\n");
    /// assert_eq!(report.changed("correctness"), Some(["fail", "pass"]));
    /// ```
    pub fn changed(&self, key: &str) -> Option<[&str; 2]> {
        let follows_from_turns = matches!(key, "speed" | "speed_ratio") && !self.turns.is_empty();
        let both = self.changed.get(key).filter(|_| !follows_from_turns)?;
        Some(both.each_ref().map(String::as_str))
    }

    /// The first line that would say `correctness: fail`, or another such word, but for blanks before
    /// it, capital letters or control sequences. It is log text, and decides nothing by itself.
    pub fn disguised_failure(&self) -> Option<&str> {
        self.disguised.as_deref()
    }

    /// The gates whose lines differ, in the order of the keys, each with its first two values.
    pub fn changed_gates(&self) -> impl Iterator<Item = (&str, [&str; 2])> {
        let keys = self.entries.iter().map(|(key, _)| key.as_str());
        let changed = keys.filter_map(|key| Some((key, self.changed(key)?)));
        changed.filter(|(key, both)| {
            let last = self.value(key);
            let mut values = both.iter().copied().chain(last);
            values.any(|value| attribute(value, "limit").is_some())
        })
    }

    /// Every key and value except caveats and workloads, in order of first appearance.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// The first word of a key's value as a number; `None` if the key is missing or the word is not
    /// a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.value(key).and_then(|v| number(first_word(v)))
    }

    /// Whether `correctness:` says `pass`; any other word is `Some(false)`. `None` without the
    /// line.
    pub fn correctness(&self) -> Option<bool> {
        self.value("correctness").map(|v| first_word(v) == "pass")
    }

    /// Whether `build:` says `failed`.
    pub fn build_failed(&self) -> bool {
        self.value("build")
            .is_some_and(|v| first_word(v) == "failed")
    }

    /// What `fault:` says is to blame instead of the kernel.
    pub fn fault(&self) -> Option<&str> {
        self.value("fault").map(first_word)
    }

    /// The stage; `None` without the line or with an unknown word.
    pub fn stage(&self) -> Option<Stage> {
        first_word(self.value("stage")?).parse().ok()
    }

    /// The last known stage besides `done`: where the run is, or where it ended. `None` of a
    /// harness that names none.
    pub fn reached(&self) -> Option<Stage> {
        self.reached
    }

    /// How far the stage is: `progress: 3/10` is `(3, 10)`. `None` before the first such line of
    /// the stage.
    pub fn progress(&self) -> Option<(u64, u64)> {
        self.progress
    }

    /// When a stage began last, in seconds since the run's start; `None` where the harness does not
    /// say.
    pub fn stage_began(&self, stage: Stage) -> Option<f64> {
        let mut began = self.began.iter().rev();
        began.find(|(of, _)| *of == stage).map(|(_, at)| *at)
    }

    /// The last stages that said when they began, each with the seconds since the run's start.
    pub fn stages(&self) -> &[(Stage, f64)] {
        &self.began
    }

    /// The seconds that a stage took the last time; `None` before the next one has begun. The judge
    /// names the build again once it is done, with the time at which it began: what went on beside it
    /// lasted until the stage after that.
    pub fn stage_took(&self, stage: Stage) -> Option<f64> {
        let at = self.began.iter().rposition(|(of, _)| *of == stage)?;
        let (_, began) = self.began[at];
        let mut later = self.began[at + 1..].iter().map(|(_, at)| at - began);
        later.find(|seconds| *seconds >= 0.0)
    }

    /// The value of `device:`.
    pub fn device(&self) -> Option<&str> {
        self.value("device")
    }

    /// The clocks, the temperature, throttling and foreign processes of the device while it measured;
    /// `None` if the device does not tell.
    pub fn device_state(&self) -> Option<String> {
        const LINES: [(&str, &str, &str); 6] = [
            ("sm_clock_mhz", "SM clock", " MHz"),
            ("memory_clock_mhz", "memory clock", " MHz"),
            ("temperature_c", "temperature", " °C"),
            ("power_w", "power", " W"),
            ("throttle", "throttle", ""),
            ("foreign_processes", "foreign processes", ""),
        ];
        let line = |(key, what, unit): (&str, &str, &str)| {
            let shown = match self.measure(key) {
                Some(Measure {
                    value,
                    low: Some(low),
                    high: Some(high),
                }) => {
                    format!("{value} ({low} … {high}){unit}")
                }
                _ => format!("{}{unit}", self.value(key)?),
            };
            Some(format!("{what} {shown}"))
        };
        let lines: Vec<String> = LINES.into_iter().filter_map(line).collect();
        (!lines.is_empty()).then(|| lines.join(", "))
    }

    /// Whether the times are of an emulated device.
    pub fn emulated(&self) -> bool {
        self.device().is_some_and(is_emulated)
    }

    /// A figure with its interval; `None` if the key is missing or its first word is not a finite
    /// number. An end that is none is left out: what comes from here can be written as JSON.
    pub fn measure(&self, key: &str) -> Option<Measure> {
        let value = self.value(key)?;
        let end = |name| attribute(value, name).and_then(finite);
        Some(Measure {
            value: finite(first_word(value))?,
            low: end("low"),
            high: end("high"),
        })
    }

    /// The comparison with the incumbent, *mixed* if a workload's line says that it is slower;
    /// `None` if the two were not timed in turns, or the ratio is not finite.
    pub fn comparison(&self) -> Option<Comparison> {
        let ratio = self.measure("speed_ratio")?;
        let speed = self
            .value("speed")
            .and_then(|value| first_word(value).parse().ok());
        let aggregate = self.aggregate_of("speed_ratio");
        Some(Comparison {
            ratio,
            speed: speed.map(|speed| self.of_whole(speed)),
            aggregate,
        })
    }

    /// Every line with a `limit=`, in order. A value or limit that is not a number becomes NaN, so
    /// that the gate fails.
    pub fn gates(&self) -> Vec<Gate> {
        self.entries()
            .filter_map(|(name, value)| {
                let limit = attribute(value, "limit")?;
                Some(Gate {
                    name: name.to_owned(),
                    value: number(first_word(value)).unwrap_or(f64::NAN),
                    limit: number(limit).unwrap_or(f64::NAN),
                })
            })
            .collect()
    }

    /// The first gate that fails.
    pub fn failing_gate(&self) -> Option<Gate> {
        self.gates().into_iter().find(|g| !g.passes())
    }

    /// The points of `NAME_series:`, at most [`SERIES_POINTS`]. A word that is not a number becomes
    /// NaN.
    pub fn series(&self, name: &str) -> Option<Vec<f64>> {
        let value = self.value(&format!("{name}_series"))?;
        let points = first_word(value).split(',').take(SERIES_POINTS);
        Some(points.map(|p| number(p).unwrap_or(f64::NAN)).collect())
    }

    /// How many cells the points of `NAME_series:` stand for: the attribute `cells=`, or else the
    /// number of points.
    pub fn series_cells(&self, name: &str) -> Option<usize> {
        let value = self.value(&format!("{name}_series"))?;
        let cells = parsed(value, "cells").filter(|cells| *cells > 0);
        Some(cells.unwrap_or_else(|| first_word(value).split(',').take(SERIES_POINTS).count()))
    }

    /// The counts of `NAME_histogram:`.
    pub fn histogram(&self, name: &str) -> Option<Histogram> {
        Histogram::parse(self.value(&format!("{name}_histogram"))?)
    }

    /// Where a gate's value was found: `at=step~731` is `step 731`.
    pub fn place(&self, gate: &str) -> Option<String> {
        attribute(self.value(gate)?, "at").map(|place| place.replace('~', " "))
    }

    /// The caveats, each once, in order.
    pub fn caveats(&self) -> &[String] {
        &self.caveats
    }

    /// How many `workload:` lines there are.
    pub fn workload_count(&self) -> usize {
        self.workload_lines().len()
    }

    /// The `key=value` pairs of each `workload:` line, in order.
    pub fn workloads(&self) -> Vec<Vec<(&str, &str)>> {
        self.workload_lines()
            .iter()
            .map(|line| words(line))
            .collect()
    }

    /// The compiler messages in the log text, and of `stopped:`, in order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// The `key=value` words of a line.
fn words(line: &str) -> workloads::Words<'_> {
    line.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .collect()
}

#[cfg(test)]
mod tests;
mod time_left;
