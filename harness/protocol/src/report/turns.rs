//! The `turns:` lines of a harness that times candidate and incumbent in turns and leaves the statistics to the lab.

use super::{attribute, number};
use lab_stats::abba::{AbbaBlock, Ratio};

/// Most ABBA blocks of a run. Further blocks are not kept.
pub const TURN_BLOCKS: usize = 4096;

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
    /// The blocks of each trial, in order of first appearance.
    trials: Vec<(String, Vec<AbbaBlock>)>,
    fault: Option<String>,
    taken_back: bool,
}

impl Turns {
    /// Takes in the value of a `turns:` line. `none` forgets all lines before it. A line that cannot be read counts as a
    /// [fault](Turns::fault) and adds nothing.
    pub(super) fn push(&mut self, value: &str) {
        if value == "none" {
            *self = Turns { taken_back: true, ..Turns::default() };
            return;
        }
        match blocks(value) {
            Ok(blocks) => {
                // `attribute` skips the first word, which is a time here.
                let trial = attribute(value, "trial").unwrap_or_default();
                let free = TURN_BLOCKS - self.len();
                let blocks = blocks.into_iter().take(free);
                match self.trials.iter_mut().find(|(name, _)| name == trial) {
                    Some((_, known)) => known.extend(blocks),
                    None => self.trials.push((trial.to_owned(), blocks.collect())),
                }
            }
            Err(why) => {
                self.fault.get_or_insert(why);
            }
        }
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.trials.iter().map(|(_, blocks)| blocks.len()).sum()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every block, trial by trial.
    pub fn blocks(&self) -> impl Iterator<Item = &AbbaBlock> {
        self.trials.iter().flat_map(|(_, blocks)| blocks)
    }

    /// Whether `turns: none` took blocks back.
    pub fn taken_back(&self) -> bool {
        self.taken_back
    }

    /// Why the first line that could not be read could not be read.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Candidate's speed over incumbent's; `None` without a block.
    pub fn ratio(&self) -> Option<Ratio> {
        let logs = |blocks: &Vec<AbbaBlock>| blocks.iter().flat_map(AbbaBlock::log_ratios).collect();
        let trials: Vec<Vec<f64>> = self.trials.iter().map(|(_, blocks)| logs(blocks)).collect();
        Ratio::of(&trials)
    }
}

/// The blocks of one line: four times each, in seconds. Words with `=` are attributes.
fn blocks(value: &str) -> Result<Vec<AbbaBlock>, String> {
    let mut times = Vec::new();
    for word in value.split_whitespace().filter(|word| !word.contains('=')) {
        match number(word) {
            Some(seconds) if seconds.is_normal() && seconds > 0.0 => times.push(seconds),
            _ => return Err(format!("'{word}' is no time in seconds")),
        }
    }
    match times.as_chunks::<4>() {
        ([], _) | (_, [_, ..]) => Err(format!("{} times are no whole ABBA blocks of four", times.len())),
        (blocks, []) => {
            Ok(blocks.iter().map(|&[a1, b1, b2, a2]| AbbaBlock { a: [a1, a2], b: [b1, b2] }).collect())
        }
    }
}
