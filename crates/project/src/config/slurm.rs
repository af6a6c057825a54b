//! Where sweeps and benches run: the keys `executor` and `[slurm]`.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// What starts the judges of a sweep or a bench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    /// `lab` itself, on this machine.
    #[default]
    Local,
    /// Slurm, on the nodes of a cluster.
    Slurm,
}

/// How jobs are sent to Slurm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmConfig {
    /// Options of `sbatch` and `srun`, each one word, as in `--partition=gpu`. They need trust.
    pub options: Vec<String>,
    /// Most tasks of a sweep that run at the same time; 0 is no limit.
    pub tasks_at_once: usize,
    /// Points that a task judges, from 1 to 100,000. More of them share the start of a task.
    pub points_per_task: usize,
    /// Least seconds between two questions to Slurm, from 1 to 3,600.
    pub ask_s: u64,
}

impl Default for SlurmConfig {
    fn default() -> Self {
        SlurmConfig {
            options: Vec::new(),
            tasks_at_once: 0,
            points_per_task: 16,
            ask_s: 30,
        }
    }
}

impl SlurmConfig {
    pub(super) fn check(&self) -> Result<()> {
        let (points, seconds) = (self.points_per_task, self.ask_s);
        if !(1..=100_000).contains(&points) {
            bail!("slurm.points_per_task = {points}: it must be from 1 to 100000");
        }
        if !(1..=3600).contains(&seconds) {
            bail!("slurm.ask_s = {seconds}: it must be from 1 to 3600 seconds");
        }
        // Another word would be the script that sbatch sends.
        let is_option = |option: &&String| option.starts_with('-') && *option != "--";
        if let Some(word) = self.options.iter().find(|option| !is_option(option)) {
            bail!(
                "slurm.options = [\"{word}\"]: each is an option of sbatch in one word, as in \"--partition=gpu\""
            );
        }
        if let Some((word, own)) = self.options.iter().find_map(|word| overridden(word)) {
            bail!(
                "slurm.options = [\"{word}\"]: lab sets {own} itself, and finds its tasks and what they print by it: leave it out"
            );
        }
        Ok(())
    }
}

/// Options of sbatch and srun that lab sets, and their short forms.
const OWN: [(&str, &str); 8] = [
    ("--array", "-a"),
    ("--chdir", "-D"),
    ("--error", "-e"),
    ("--job-name", "-J"),
    ("--open-mode", ""),
    ("--output", "-o"),
    ("--parsable", ""),
    ("--wrap", ""),
];

/// An option that overrides one that lab sets, and that one. Slurm takes the beginning of a long name
/// too.
fn overridden(option: &str) -> Option<(&str, &'static str)> {
    let name = option.split('=').next().unwrap_or_default();
    let is_own = |(long, short): &&(&str, &str)| match option.starts_with("--") {
        true => name.len() > 4 && long.starts_with(name),
        false => !short.is_empty() && option.starts_with(short),
    };
    let (long, _) = OWN.iter().find(is_own)?;
    Some((option, long))
}
