//! What was timed, and the ratios of the two speeds that follow from it.

use crate::measure::abba::{AbbaBlock, Ratio};
use lab_stats::several::LogRatios;

/// The times of a measurement, in seconds.
pub struct Times {
    /// The candidate's turns; each has one time for each launch of the turn.
    pub candidate: Vec<Vec<f64>>,
    /// The incumbent's turns.
    pub incumbent: Vec<Vec<f64>>,
    /// Of whole turns.
    pub blocks: Vec<AbbaBlock>,
    /// Never empty.
    pub trials: Vec<Trial>,
    /// Pairs of the candidate's turns in the present trial, with or without an incumbent.
    pub pairs: usize,
}

/// The log ratios of a trial's blocks, two a block.
#[derive(Default)]
pub struct Trial {
    /// Of whole turns.
    whole: Vec<f64>,
    /// Of each launch of a turn. Empty without a block.
    each: Vec<Vec<f64>>,
}

/// The four turns of an ABBA block, with the seconds of each launch.
pub struct BlockTurns {
    /// The incumbent's first and last turn.
    pub a: [Vec<f64>; 2],
    /// The candidate's two turns between them.
    pub b: [Vec<f64>; 2],
}

impl Default for Times {
    fn default() -> Self {
        Times {
            candidate: Vec::new(),
            incumbent: Vec::new(),
            blocks: Vec::new(),
            trials: vec![Trial::default()],
            pairs: 0,
        }
    }
}

impl Times {
    /// Begins the next trial.
    pub fn begin_trial(&mut self) {
        self.trials.push(Trial::default());
        self.pairs = 0;
    }

    /// Adds an ABBA block to the present trial. `whole` has the seconds that stand for each of its
    /// turns.
    pub fn add_block(&mut self, whole: AbbaBlock, turns: &BlockTurns) {
        if let Some(trial) = self.trials.last_mut() {
            trial.add(&whole, turns);
        }
        self.blocks.push(whole);
    }

    /// Removes every block: the incumbent's times are not to be trusted.
    pub fn drop_blocks(&mut self) {
        self.trials
            .iter_mut()
            .for_each(|trial| *trial = Trial::default());
        self.blocks.clear();
    }

    /// The candidate's speed over the incumbent's; `None` without a block.
    pub fn ratio(&self) -> Option<Ratio> {
        let trials: Vec<Vec<f64>> = self
            .trials
            .iter()
            .map(|trial| trial.whole.clone())
            .collect();
        Ratio::of(&trials)
    }

    /// The log ratios of each launch of a turn. Empty without a block.
    pub fn of_each_launch(&self) -> Vec<LogRatios> {
        let count = self
            .trials
            .iter()
            .map(|trial| trial.each.len())
            .max()
            .unwrap_or(0);
        let of = |at: usize| {
            let trials = self.trials.iter();
            trials
                .map(|trial| trial.each.get(at).cloned().unwrap_or_default())
                .collect()
        };
        (0..count).map(of).collect()
    }
}

impl Trial {
    fn add(&mut self, whole: &AbbaBlock, turns: &BlockTurns) {
        self.whole.extend(whole.log_ratios());
        let count = turns
            .a
            .iter()
            .chain(&turns.b)
            .map(Vec::len)
            .min()
            .unwrap_or(0);
        self.each.resize_with(count.max(self.each.len()), Vec::new);
        let at = |of: &[Vec<f64>; 2], at: usize| [of[0][at], of[1][at]];
        for (launch, each) in self.each.iter_mut().enumerate().take(count) {
            each.extend(
                AbbaBlock {
                    a: at(&turns.a, launch),
                    b: at(&turns.b, launch),
                }
                .log_ratios(),
            );
        }
    }
}
