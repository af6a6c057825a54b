//! The `turns:` lines of a harness that times candidate and incumbent in turns and leaves the
//! statistics to the lab.

use super::number;
use super::workloads::Words;
use super::{AggregateOf, SERIES_POINTS};
use itertools::Itertools;
use lab_stats::abba::{AbbaBlock, Ratio};
use lab_stats::aggregate::{Aggregate, Better};
use lab_stats::several::{self, LogRatios, WorkloadSpeed};
use lab_stats::summary::{TimingSummary, summarise};
use std::ops::RangeInclusive;

/// Most ABBA blocks of a run, of all its workloads. Further blocks are not kept.
pub const TURN_BLOCKS: usize = 16_384;

/// Seconds that a turn may take.
const TURN_SECONDS: RangeInclusive<f64> = 1e-15..=1e9;

/// Most different faults of `turns:` lines that are told.
const FAULTS_TOLD: usize = 3;

/// The ABBA blocks of a run, from its `turns:` lines.
///
/// ```
/// use lab_protocol::report::Report;
///
/// let line = "turns: 0.0200 0.0100 0.0100 0.0200\n";
/// let report = Report::read(&line.repeat(3));
/// assert_eq!(report.turns().len(), 3);
/// assert!((report.turns().ratio().unwrap().value() - 2.0).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turns {
    /// In order of first appearance.
    series: Vec<Series>,
    blocks: usize,
    /// Whether there were more than [`TURN_BLOCKS`].
    is_cut: bool,
    /// Why lines could not be read, of the first ones that differ.
    faults: Vec<String>,
    /// How many lines could not be read.
    unread: usize,
    taken_back: bool,
}

/// The blocks of one workload in one trial.
#[derive(Clone, Debug, PartialEq)]
struct Series {
    /// As in `n=8 k=2`; empty of lines about the whole.
    workload: String,
    trial: String,
    /// Of the whole: what its seconds are of the workloads, if the first line says so.
    aggregate: Option<AggregateOf>,
    blocks: Vec<AbbaBlock>,
}

/// What the turns say of a workload.
pub(super) struct TimedWorkload<'t> {
    /// As in `n=8 k=2`.
    pub name: &'t str,
    /// The candidate's turns, in seconds.
    candidate: Option<TimingSummary>,
    /// The median of the incumbent's turns, in seconds.
    incumbent: Option<f64>,
    /// `None` without a block.
    pub speed: Option<WorkloadSpeed>,
}

impl Turns {
    /// Takes in the value of a `turns:` line. `none` forgets all lines before it. A line that
    /// cannot be read counts as a [fault](Turns::fault) and adds nothing.
    pub(super) fn push(&mut self, value: &str) {
        if value == "none" {
            *self = Turns {
                taken_back: true,
                ..Turns::default()
            };
            return;
        }
        match read(value) {
            Ok(mut read) => {
                let free = TURN_BLOCKS - self.blocks;
                self.is_cut |= read.blocks.len() > free;
                read.blocks.truncate(free);
                if read.blocks.is_empty() {
                    return;
                }
                self.blocks += read.blocks.len();
                let like = |known: &&mut Series| {
                    known.workload == read.workload && known.trial == read.trial
                };
                match self.series.iter_mut().find(like) {
                    Some(known) => known.blocks.extend(read.blocks),
                    None => self.series.push(read),
                }
            }
            Err(why) => {
                self.unread += 1;
                if self.faults.len() < FAULTS_TOLD && !self.faults.contains(&why) {
                    self.faults.push(why);
                }
            }
        }
    }

    /// The number of blocks, of all workloads.
    pub fn len(&self) -> usize {
        self.blocks
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Every block of the whole, trial by trial: those of the lines without a workload. Without
    /// such lines, the geometric means of the workloads' times, as many as each workload has in
    /// that trial.
    pub fn blocks(&self) -> impl Iterator<Item = AbbaBlock> {
        self.of_whole().into_iter().flatten()
    }

    /// Whether `turns: none` took blocks back.
    pub fn taken_back(&self) -> bool {
        self.taken_back
    }

    /// How many lines could not be read, and why, in words; `None` if all could.
    pub fn fault(&self) -> Option<String> {
        let lines = match self.unread {
            0 => return None,
            1 => "a turns: line".to_owned(),
            several => format!("{several} turns: lines"),
        };
        Some(format!(
            "{lines} cannot be read: {}",
            self.faults.join("; ")
        ))
    }

    /// Candidate's speed over incumbent's; `None` without a block of the [whole](Turns::blocks).
    pub fn ratio(&self) -> Option<Ratio> {
        let whole = self.of_whole();
        let trials = whole.iter().map(|blocks| log_ratios(blocks));
        Ratio::of(&trials.collect::<Vec<_>>())
    }

    /// How the turns of the whole came from those of the workloads: as the lines of the whole say,
    /// or else the geometric mean that stands for them. `None` of a single workload, and if such
    /// lines do not say so.
    pub(super) fn aggregate(&self) -> Option<AggregateOf> {
        if let Some(whole) = self.of_trials("").next() {
            return whole.aggregate;
        }
        let workloads = self.workloads().len();
        (workloads > 1).then_some(AggregateOf {
            aggregate: Aggregate::Geometric,
            workloads,
        })
    }

    /// What to say about turns that were read and do not count.
    pub(super) fn left_out(&self) -> Option<String> {
        let workloads = self.workloads();
        if self.is_cut && !workloads.is_empty() {
            return Some(format!(
                "only the first {TURN_BLOCKS} ABBA blocks of the turns: lines count"
            ));
        }
        let whole = self.of_whole().iter().map(Vec::len).sum::<usize>();
        (!workloads.is_empty() && whole == 0).then(|| {
            "the whole has no ABBA block: in each trial, time every workload, and print its turns: lines"
                .to_owned()
        })
    }

    /// What the lines say of each workload that they name, in order of first appearance; of at most
    /// [`MOST`](super::workloads::MOST). The verdicts are corrected for the number of workloads.
    pub(super) fn judge_workloads(&self, same_within: f64) -> Vec<TimedWorkload<'_>> {
        let names = self.workloads();
        let ratios = names.iter().map(|name| {
            let trials = self.of_trials(name);
            trials.map(|series| log_ratios(&series.blocks)).collect()
        });
        let ratios: Vec<LogRatios> = ratios.collect();
        let judged = several::judge(&ratios, same_within, false);
        let timed = names.into_iter().zip(judged).map(|(name, speed)| {
            let blocks = || self.of_trials(name).flat_map(|series| &series.blocks);
            let incumbent = summarise(&blocks().flat_map(|block| block.a).collect::<Vec<_>>());
            TimedWorkload {
                name,
                candidate: summarise(&blocks().flat_map(|block| block.b).collect::<Vec<_>>()),
                incumbent: incumbent.map(|summary| summary.median),
                speed,
            }
        });
        timed.collect()
    }

    /// The workloads that the lines name.
    fn workloads(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let all = self.series.iter().map(|series| series.workload.as_str());
        for name in all.filter(|name| !name.is_empty()) {
            if names.len() < super::workloads::MOST && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The blocks of the whole, of each trial.
    fn of_whole(&self) -> Vec<Vec<AbbaBlock>> {
        let own: Vec<Vec<AbbaBlock>> = self
            .of_trials("")
            .map(|series| series.blocks.clone())
            .collect();
        let names = self.workloads();
        if !own.is_empty() || names.is_empty() {
            return own;
        }
        // Only what all workloads have: the mean of some would be another figure.
        let first = self.of_trials(names[0]);
        first
            .map(|first| self.means_of_trial(&first.trial, &names))
            .collect()
    }

    fn of_trials<'t>(&'t self, workload: &str) -> impl Iterator<Item = &'t Series> {
        self.series
            .iter()
            .filter(move |series| series.workload == workload)
    }

    /// The blocks of a trial with the geometric mean of these workloads' times.
    fn means_of_trial(&self, trial: &str, names: &[&str]) -> Vec<AbbaBlock> {
        let of_trial = self.series.iter().filter(|series| series.trial == trial);
        let each: Vec<&[AbbaBlock]> = of_trial
            .filter(|series| names.contains(&series.workload.as_str()))
            .map(|series| series.blocks.as_slice())
            .collect();
        if each.len() < names.len() {
            return Vec::new();
        }
        let mean = |at: usize, of: fn(&AbbaBlock) -> f64| {
            Aggregate::Geometric
                .of(each.iter().map(|blocks| of(&blocks[at])), Better::Smaller)
                .unwrap_or(f64::NAN)
        };
        let blocks = each.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
        let block = |at| AbbaBlock {
            a: [mean(at, |block| block.a[0]), mean(at, |block| block.a[1])],
            b: [mean(at, |block| block.b[0]), mean(at, |block| block.b[1])],
        };
        (0..blocks).map(block).collect()
    }
}

impl TimedWorkload<'_> {
    /// The row of this workload: the words of the harness's own line, if it printed one, with what
    /// follows from the turns in place of its own figures of it.
    pub fn row(&self, own: Option<&Words>) -> String {
        const OF_TURNS: [&str; 5] = ["incumbent_us", "ratio", "ratio_low", "ratio_high", "speed"];
        let named = self.name.split_whitespace().count();
        let mut row = self.name.to_owned();
        let measured = own.map_or(&[][..], |own| &own[named.min(own.len())..]);
        for (key, value) in measured.iter().filter(|(key, _)| !OF_TURNS.contains(key)) {
            row += &format!(" {key}={value}");
        }
        let has_time = measured
            .iter()
            .any(|(key, _)| super::workloads::TIMES.contains(key));
        if let Some(seconds) = self.candidate.as_ref().filter(|_| !has_time) {
            row += &time_words(seconds);
        }
        row + &compared_words(self.incumbent, self.speed)
    }
}

/// The words of a workload about its time: ` kernel_us=4.1 low_us=4.0 high_us=4.3`.
pub fn time_words(seconds: &TimingSummary) -> String {
    let mut words = format!(" kernel_us={}", us(seconds.median));
    if let Some((low, high)) = seconds.interval {
        words += &format!(" low_us={} high_us={}", us(low), us(high));
    }
    words
}

/// The words of a workload about how it compares with the incumbent, whose median is in seconds:
/// ` incumbent_us=4.2 ratio=1.0213 ratio_low=1.0190 ratio_high=1.0236 speed=faster`.
pub fn compared_words(incumbent: Option<f64>, found: Option<WorkloadSpeed>) -> String {
    let mut words = String::new();
    if let Some(incumbent) = incumbent {
        words += &format!(" incumbent_us={}", us(incumbent));
    }
    if let Some(found) = found {
        words += &format!(" ratio={:.4}", found.ratio);
        words += &ends_words("ratio_", found.interval);
        words += &format!(" speed={}", found.speed.word());
    }
    words
}

/// The words of a ratio's interval, if it has one, behind this: ` ratio_low=1.0190 ratio_high=1.0236`.
pub fn ends_words(before: &str, interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(String::new, |(low, high)| {
        format!(" {before}low={low:.4} {before}high={high:.4}")
    })
}

/// Seconds as microseconds with three digits.
pub fn us(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e6)
}

/// The value of a line `turns_series:`, the microseconds of the turns of these blocks in their order:
/// as many blocks as a series has points for.
pub fn series_of(blocks: impl Iterator<Item = AbbaBlock>) -> String {
    let blocks = blocks.take(SERIES_POINTS / 4);
    let turns = blocks.flat_map(|block| [block.a[0], block.b[0], block.b[1], block.a[1]]);
    turns.map(us).join(",")
}

fn log_ratios(blocks: &[AbbaBlock]) -> Vec<f64> {
    blocks.iter().flat_map(AbbaBlock::log_ratios).collect()
}

/// Reads the blocks of one line: four times each, in seconds. Words with `=` are attributes.
fn read(value: &str) -> Result<Series, String> {
    let attribute = |name: &str| {
        value
            .split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or("")
    };
    let workload = name_of(attribute("workload"))?;
    let mut times = Vec::new();
    for word in value.split_whitespace().filter(|word| !word.contains('=')) {
        match number(word) {
            Some(seconds) if TURN_SECONDS.contains(&seconds) => times.push(seconds),
            _ => return Err(format!("'{word}' is no time in seconds")),
        }
    }
    match times.as_chunks::<4>() {
        ([], _) | (_, [_, ..]) => Err(format!(
            "{} times are no whole ABBA blocks of four",
            times.len()
        )),
        (blocks, []) => {
            let blocks = blocks
                .iter()
                .map(|&[a1, b1, b2, a2]| AbbaBlock {
                    a: [a1, a2],
                    b: [b1, b2],
                })
                .collect();
            let aggregate = AggregateOf::of_value(value);
            Ok(Series {
                workload,
                trial: attribute("trial").to_owned(),
                aggregate,
                blocks,
            })
        }
    }
}

/// The name of a workload, from its words joined by `~`, as in `rows=3~cols=257`. A value may hold
/// a `~` too.
fn name_of(joined: &str) -> Result<String, String> {
    let mut name = String::new();
    for part in joined.split('~').filter(|part| !part.is_empty()) {
        match (name.is_empty(), part.contains('=')) {
            (true, false) => {
                return Err(format!(
                    "'{part}' names no workload: name one as in workload=rows=3~cols=257"
                ));
            }
            (true, true) => {}
            (false, is_word) => name.push(if is_word { ' ' } else { '~' }),
        }
        name += part;
    }
    Ok(name)
}
