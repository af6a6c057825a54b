//! Histories that a story can begin with.

use super::made::{commit, noon, row};
use super::{KERNEL, World};
use lab_run::RunId;
use lab_run::experiment::{Experiment, Measured, Status as Word};
use std::time::Duration;

/// Experiments of another kernel, of another device, and of the emulated one.
const STRANGERS: [(&str, &str, bool, f64, &str); 3] = [
    (
        "kernels/wavegru/kernel.cu",
        "NVIDIA H200",
        false,
        52_190.2,
        "four grid.sync() a step",
    ),
    (
        KERNEL,
        "NVIDIA L40S",
        false,
        88_120.0,
        "on the small machine",
    ),
    (
        KERNEL,
        "cpu (emulated, 2 threads)",
        true,
        12.5,
        "is it right at all?",
    ),
];

impl World {
    /// A history with kept and discarded experiments, a crash, and a wrong one.
    /// The runs are those of a lab that recorded no incumbents.
    pub fn forget_incumbents(&mut self) {
        let records = self
            .records
            .iter_mut()
            .filter_map(|record| record.verdict.as_mut());
        let changes = records.filter_map(|verdict| verdict.change.as_mut());
        changes.for_each(|change| change.incumbent = None);
        let rows = self.history.iter_mut();
        let changes = rows.filter_map(|row| row.measured.change.as_mut());
        changes.for_each(|change| change.incumbent = None);
    }

    pub fn with_history(self) -> Self {
        let past = [
            (42_013.0, Word::Keep, "baseline"),
            (39_500.0, Word::Discard, "two rows a block"),
            (61_240.0, Word::Keep, "float4 loads"),
            (0.0, Word::Crash, "async copy, misaligned"),
            (60_900.0, Word::Discard, "unroll by 8"),
            (118_700.0, Word::Keep, "one warp a row"),
            (95_000.0, Word::Discard, "shared staging"),
            (142_050.0, Word::Keep, "rsqrt in fp32, scale fused"),
        ];
        self.with_experiments(&past)
    }

    /// Experiments, an hour apart: figure, decision, description. A figure that is NaN stands for a
    /// wrong run.
    pub fn with_experiments(mut self, past: &[(f64, Word, &str)]) -> Self {
        let count = past.len();
        for (at, (value, word, text)) in past.iter().copied().enumerate() {
            let id = format!("{:07x}", 0x9f8e7d0 + at);
            let experiment = Experiment {
                row: row(&id, value, word, text),
                run: Some(RunId(at as u64 + 1)),
                kernel: Some(KERNEL.into()),
                device: Some("NVIDIA H200".into()),
                renamed_from: None,
                foreign: false,
                emulated: false,
                decided: Some(noon() - Duration::from_secs(3600 * (count + 1 - at) as u64)),
                peers: Vec::new(),
                trailers: Vec::new(),
                measured: Measured::default(),
            };
            self.history.push(experiment.clone());
            if word == Word::Keep {
                self.commits.insert(0, commit(&id, text, Some(experiment)));
            }
        }
        self.runs = 41;
        self
    }

    pub fn with_strangers(mut self) -> Self {
        for (at, (kernel, device, emulated, value, text)) in STRANGERS.into_iter().enumerate() {
            self.history.push(Experiment {
                row: row(&format!("{:07x}", 0xa1b2c0 + at), value, Word::Keep, text),
                run: None,
                kernel: Some(kernel.into()),
                device: Some(device.into()),
                renamed_from: None,
                foreign: false,
                emulated,
                decided: Some(noon() - Duration::from_secs(60 * (9 - at as u64))),
                peers: Vec::new(),
                trailers: Vec::new(),
                measured: Measured::default(),
            });
        }
        self
    }
}
