//! What was timed, and the ratio of the two speeds that follows from it.

use crate::measure::abba::{AbbaBlock, Ratio};

/// The times of a measurement, in seconds.
pub struct Times {
    /// The candidate's turns; each has one time for each launch of the turn.
    pub candidate: Vec<Vec<f64>>,
    /// The incumbent's turns.
    pub incumbent: Vec<Vec<f64>>,
    pub blocks: Vec<AbbaBlock>,
    /// The log ratios of each trial's blocks, two a block. Never empty.
    pub trials: Vec<Vec<f64>>,
    /// Pairs of the candidate's turns in the present trial, with or without an incumbent.
    pub pairs: usize,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            candidate: Vec::new(),
            incumbent: Vec::new(),
            blocks: Vec::new(),
            trials: vec![Vec::new()],
            pairs: 0,
        }
    }
}

impl Times {
    /// Begins the next trial.
    pub fn begin_trial(&mut self) {
        self.trials.push(Vec::new());
        self.pairs = 0;
    }

    /// Adds an ABBA block to the present trial.
    pub fn add_block(&mut self, block: AbbaBlock) {
        if let Some(trial) = self.trials.last_mut() {
            trial.extend(block.log_ratios());
        }
        self.blocks.push(block);
    }

    /// Removes every block: the incumbent's times are not to be trusted.
    pub fn drop_blocks(&mut self) {
        self.trials.iter_mut().for_each(Vec::clear);
        self.blocks.clear();
    }

    /// The candidate's speed over the incumbent's; `None` without a block.
    pub fn ratio(&self) -> Option<Ratio> {
        Ratio::of(&self.trials)
    }
}
