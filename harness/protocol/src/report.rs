//! The run.log protocol: the result lines a harness prints, a tolerant reader and a writer.
//!
//! A result line is `key: value` at the start of a line, key `[a-z][a-z0-9_]*`. A value may carry
//! attributes after it (`2.1e-06 limit=1e-04`). Everything else is log text. Where a key appears
//! twice the last one stands.
//!
//! Of speed the built-in harness writes, again and again while it measures:
//! - `throughput_sps:`, `kernel_us:`: medians of the candidate's timed launches, with 95 % intervals;
//! - `incumbent_sps: v low= high=`: the same of the incumbent;
//! - `speed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3`: candidate's speed over incumbent's, timed in
//!   blocks of turns A B B A, and `speed: faster`, `slower` or `same`; absent where nothing
//!   was compared, `nan` and `none` where what was told was taken back.
//!
//! and at the end `spread_pct: 0.012 launches=6 trials=1`, the median distance of the candidate's turns
//! from their median, and `turns_series:`, the microseconds of every turn in its order.
//!
//! Of a gate it also tells where and how often, for whoever draws it:
//! - `y_diff: 2.1e-6 limit=3e-5 at=step~731`: the place of the largest difference, in a word or two (`~` stands for a
//!   blank);
//! - `y_diff_series: v0,v1,… cells=1024`: the largest difference of each of so many cells, thinned to 512 points;
//! - `y_diff_histogram: 3,50,0,210 from=-22 exact=12 not_finite=0`: how many differences are how large, counts of
//!   octaves from 2^from upwards ([`Histogram`]); equal ones, and those that are no number, beside them.
//!
//! Of the kernel as built: `registers:`, `spill_bytes:`, `shared_bytes:`, and how its launch statement launches it
//! `launch: 132x1x1 block=512x1x1 shared_bytes=197632 cooperative=yes blocks_per_sm=1 occupancy=25`, the occupancy
//! in percent of a multiprocessor's threads. `device_uuid:` names the GPU.

mod diagnostic;
pub mod histogram;
mod writer;

pub use diagnostic::{Diagnostic, Severity};
pub use histogram::Histogram;
pub use writer::{Clock, Writer, at};

use std::collections::HashMap;

/// More points than this in a `_series:` line are not kept.
pub const SERIES_POINTS: usize = 512;

/// Longest line that the reader looks into, in bytes; a longer one is log text.
pub const LINE_LIMIT: usize = 64 * 1024;

/// More different caveats than this are not kept.
pub const CAVEATS: usize = 200;

/// One result line, split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub key: &'a str,
    pub value: &'a str,
}

/// Reads one line, without its newline. `None` for log text.
pub fn parse(line: &str) -> Option<Entry<'_>> {
    if line.len() > LINE_LIMIT {
        return None;
    }
    let (key, value) = line.split_once(':')?;
    let mut letters = key.bytes();
    let starts = letters.next().is_some_and(|b| b.is_ascii_lowercase());
    let goes_on = letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !(starts && goes_on) {
        return None;
    }
    // `key:value` without the blank is read too, but a path such as `http://…` or `c::d` is text.
    if value.starts_with(':') || value.starts_with('/') {
        return None;
    }
    Some(Entry { key, value: value.trim() })
}

/// The first word of a value.
pub fn first_word(value: &str) -> &str {
    value.split_whitespace().next().unwrap_or("")
}

/// The value of attribute `name=` behind the first word.
pub fn attribute<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    value.split_whitespace().skip(1).find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// A number as a harness writes it; `nan` and `inf` in any case are numbers here.
pub fn number(word: &str) -> Option<f64> {
    word.replace(',', "").parse().ok()
}

/// A line with a `limit=`.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    pub name: String,
    pub value: f64,
    pub limit: f64,
}

impl Gate {
    /// Value ≤ limit. NaN on either side fails.
    pub fn passes(&self) -> bool {
        self.value <= self.limit
    }
}

/// A measure and, where the harness gave them, the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measure {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The verdict on speed: *same* wherever the interval does not lie wholly beyond the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speed {
    Faster,
    Slower,
    Same,
}

impl Speed {
    pub const ALL: [Speed; 3] = [Speed::Faster, Speed::Slower, Speed::Same];

    /// The word of the protocol.
    pub fn word(self) -> &'static str {
        match self {
            Speed::Faster => "faster",
            Speed::Slower => "slower",
            Speed::Same => "same",
        }
    }
}

/// Candidate and incumbent timed in turns, from `speed_ratio:` and `speed:`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Candidate's speed over incumbent's, with its 95 % interval.
    pub ratio: Measure,
    pub speed: Option<Speed>,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Build,
    Reference,
    Verify,
    Measure,
    Done,
}

impl Stage {
    pub const ALL: [Stage; 5] = [Stage::Build, Stage::Reference, Stage::Verify, Stage::Measure, Stage::Done];

    /// The word of the protocol.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Build => "build",
            Stage::Reference => "reference",
            Stage::Verify => "verify",
            Stage::Measure => "measure",
            Stage::Done => "done",
        }
    }
}

/// Everything that the result lines of a run said so far. Fed line by line; asking is cheap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// In order of first appearance; the value is the last one given.
    entries: Vec<(String, String)>,
    /// Where each key is in `entries`: a harness may make up keys without end.
    places: HashMap<String, usize>,
    caveats: Vec<String>,
    workloads: Vec<String>,
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Takes in one line; true where it was a result line.
    pub fn push_line(&mut self, line: &str) -> bool {
        let Some(Entry { key, value }) = parse(line) else {
            if let Some(found) = diagnostic::parse(line) {
                self.diagnostics.push(found);
            }
            return false;
        };
        match key {
            "caveat" if self.caveats.len() >= CAVEATS || self.caveats.iter().any(|c| c == value) => {}
            "caveat" => self.caveats.push(value.to_owned()),
            "workload" => self.workloads.push(value.to_owned()),
            _ => match self.places.get(key) {
                Some(&place) => value.clone_into(&mut self.entries[place].1),
                None => {
                    self.places.insert(key.to_owned(), self.entries.len());
                    self.entries.push((key.to_owned(), value.to_owned()));
                }
            },
        }
        true
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
        self.places.get(key).map(|&place| self.entries[place].1.as_str())
    }

    /// Every key and value, in order of first appearance.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        self.value(key).and_then(|v| number(first_word(v)))
    }

    /// `correctness: pass` is `Some(true)`, `fail` is `Some(false)`; any other word counts as fail.
    pub fn correctness(&self) -> Option<bool> {
        self.value("correctness").map(|v| first_word(v) == "pass")
    }

    pub fn stage(&self) -> Option<Stage> {
        let word = first_word(self.value("stage")?);
        Stage::ALL.into_iter().find(|s| s.word() == word)
    }

    /// `progress: 3/10`.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let (done, all) = first_word(self.value("progress")?).split_once('/')?;
        Some((done.parse().ok()?, all.parse().ok()?))
    }

    pub fn device(&self) -> Option<&str> {
        self.value("device")
    }

    /// Whether the harness said that its times are of an emulated device.
    pub fn emulated(&self) -> bool {
        self.device().is_some_and(|d| attribute(d, "emulated").is_some() || d.contains("(emulated"))
    }

    /// A measure with its interval; `None` where it is missing or no number.
    pub fn measure(&self, key: &str) -> Option<Measure> {
        let value = self.value(key)?;
        let end = |name| attribute(value, name).and_then(number);
        Some(Measure { value: number(first_word(value))?, low: end("low"), high: end("high") })
    }

    /// `speed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3` and `speed: faster`; `None` where the two were
    /// not timed in turns, or the ratio is no number.
    pub fn comparison(&self) -> Option<Comparison> {
        let ratio = self.measure("speed_ratio").filter(|m| m.value.is_finite())?;
        let word = self.value("speed").map(first_word);
        Some(Comparison { ratio, speed: Speed::ALL.into_iter().find(|s| Some(s.word()) == word) })
    }

    /// Every line with a `limit=`, in order. A value that is no number is NaN, so that it fails.
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

    /// The first gate that does not pass.
    pub fn failing_gate(&self) -> Option<Gate> {
        self.gates().into_iter().find(|g| !g.passes())
    }

    /// The points of `NAME_series:`. Words that are no numbers become NaN.
    pub fn series(&self, name: &str) -> Option<Vec<f64>> {
        let value = self.value(&format!("{name}_series"))?;
        let points = first_word(value).split(',').take(SERIES_POINTS);
        Some(points.map(|p| number(p).unwrap_or(f64::NAN)).collect())
    }

    /// How many cells the points of `NAME_series:` stand for; as many as there are points where it does not say.
    pub fn series_cells(&self, name: &str) -> Option<usize> {
        let value = self.value(&format!("{name}_series"))?;
        let said = attribute(value, "cells").and_then(|cells| cells.parse().ok()).filter(|cells| *cells > 0);
        Some(said.unwrap_or_else(|| first_word(value).split(',').take(SERIES_POINTS).count()))
    }

    /// The counts of `NAME_histogram:`.
    pub fn histogram(&self, name: &str) -> Option<Histogram> {
        Histogram::parse(self.value(&format!("{name}_histogram"))?)
    }

    /// Where a gate's value was found: `at=step~731` is `step 731`.
    pub fn place(&self, gate: &str) -> Option<String> {
        attribute(self.value(gate)?, "at").map(|place| place.replace('~', " "))
    }

    pub fn caveats(&self) -> &[String] {
        &self.caveats
    }

    /// Each `workload:` line: its `key=value` pairs in order.
    pub fn workloads(&self) -> Vec<Vec<(&str, &str)>> {
        self.workloads
            .iter()
            .map(|line| line.split_whitespace().filter_map(|word| word.split_once('=')).collect())
            .collect()
    }

    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

#[cfg(test)]
mod tests;
