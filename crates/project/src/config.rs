//! lab.toml: its settings, their defaults and their limits.

mod harness;
mod slurm;

pub use crate::objective::Goal;
pub use harness::Harness;
pub use slurm::{Executor, SlurmConfig};

use crate::objective::Objective;
use anyhow::{Context, Result, bail};
use lab_protocol::{CompileOptions, Target};
use lab_system::failure::Failure;
use lab_system::root::Root;
use lab_text::{glob, toml_error};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file's name.
pub const FILE: &str = "lab.toml";

/// Most bytes of the file.
const SIZE_LIMIT: u64 = 1 << 20;

/// Keys that say which kernel is judged, where, and when, but not how. The device is among them
/// because records and ledgers name it, and `lab run --device` takes another one without a change
/// of the file.
const NOT_JUDGING: [&str; 13] = [
    "kernel",
    "device",
    "project.kernels",
    "auto.decide",
    "auto.keep_shorter",
    "auto.keep_correct",
    "watch.quiet_ms",
    "watch.ceiling_ms",
    "executor",
    "slurm.options",
    "slurm.tasks_at_once",
    "slurm.points_per_task",
    "slurm.ask_s",
];

/// The whole file. Every key has a default, which holds without a lab.toml too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Path of the kernel, relative to lab.toml.
    pub kernel: Option<String>,
    /// A harness of the user's own. `None` means the built-in harness.
    pub harness: Option<Harness>,
    pub device: Target,
    /// What starts the judges of sweeps and benches.
    pub executor: Executor,
    /// The Python interpreter: a path relative to lab.toml, or a name that PATH leads to. `None`
    /// means python3.
    pub python: Option<String>,
    /// Key of the result line that is the measure.
    pub objective: Objective,
    pub goal: Goal,
    /// Seconds after which a run is ended, more than 0 and at most 1,000,000.
    pub time_limit_s: f64,
    /// MiB of output after which a run is ended, from 1 to 65,536.
    pub output_limit_mib: u64,
    /// Names of environment variables that reach the kernel's processes beside the usual ones, in
    /// a trusted folder.
    pub environment: Vec<String>,
    pub compile: CompileConfig,
    pub measure: MeasureConfig,
    pub watch: WatchConfig,
    pub auto: AutoConfig,
    pub project: ProjectConfig,
    pub slurm: SlurmConfig,
}

/// Which kernels the list of kernels shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectConfig {
    /// Patterns of kernels or their folders, relative to lab.toml; after `!` those to leave out.
    /// Empty: the usual ones.
    pub kernels: Vec<String>,
}

/// Decisions by rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AutoConfig {
    /// Whether the screen keeps and discards by the rule of `decide::auto`.
    pub decide: bool,
    /// Whether the rule keeps a kernel that is as fast as the incumbent and has fewer tokens.
    pub keep_shorter: bool,
    /// Whether the rule keeps what is correct on an emulated device, whose times say nothing.
    pub keep_correct: bool,
}

/// How the built-in harness measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureConfig {
    /// Milliseconds for the timed launches on save and of `lab run`, from 1 to 600,000.
    pub budget_ms: u64,
    /// Percent, from 0.01 to 50: two speeds count as the same where the interval of their ratio
    /// reaches into ± this.
    pub same_within: f64,
    /// Percent, from 0.01 to 50: a save stops measuring once the interval's half width is no more
    /// than this.
    pub narrow: f64,
    /// `lab bench --verdict`: untimed launches at the start of each trial.
    pub warm_up: usize,
    /// `lab bench --verdict`: timed launches of a trial, at least 2.
    pub iterations: usize,
    /// `lab bench --verdict`: trials, each with a new process, at least 1.
    pub trials: usize,
    /// `lab bench --verdict`: seconds after which it ends, even if trials are missing.
    pub limit_s: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompileConfig {
    /// Options for the compilers of both devices.
    pub options: CompileOptions,
    /// As in `sm_90`. `None` means the device's own.
    pub arch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchConfig {
    /// More files that a verdict depends on, relative to lab.toml.
    pub extra: Vec<String>,
    /// Milliseconds without an event after which a save is judged; fewer once the file was closed.
    pub quiet_ms: u64,
    /// Milliseconds after a save's first event at which it is judged in any case.
    pub ceiling_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            kernel: None,
            harness: None,
            device: Target::Auto,
            executor: Executor::default(),
            python: None,
            objective: Objective::default(),
            goal: Goal::Maximize,
            time_limit_s: 60.0,
            output_limit_mib: 64,
            environment: Vec::new(),
            compile: CompileConfig::default(),
            measure: MeasureConfig::default(),
            watch: WatchConfig::default(),
            auto: AutoConfig::default(),
            project: ProjectConfig::default(),
            slurm: SlurmConfig::default(),
        }
    }
}

impl Default for MeasureConfig {
    fn default() -> Self {
        MeasureConfig {
            budget_ms: 250,
            same_within: 0.5,
            narrow: 0.25,
            warm_up: 3,
            iterations: 100,
            trials: 5,
            limit_s: 300.0,
        }
    }
}

impl MeasureConfig {
    fn check(&self) -> Result<()> {
        let MeasureConfig {
            budget_ms,
            same_within,
            narrow,
            warm_up,
            iterations,
            trials,
            limit_s,
        } = *self;
        if !(1..=600_000).contains(&budget_ms) {
            bail!("measure.budget_ms = {budget_ms}: it must be from 1 to 600000 milliseconds");
        }
        for (name, percent) in [("same_within", same_within), ("narrow", narrow)] {
            if !(0.01..=50.0).contains(&percent) {
                bail!("measure.{name} = {percent}: it is in percent, from 0.01 to 50");
            }
        }
        for (name, count, least) in [
            ("warm_up", warm_up, 0),
            ("iterations", iterations, 2),
            ("trials", trials, 1),
        ] {
            if !(least..=100_000).contains(&count) {
                bail!("measure.{name} = {count}: it must be from {least} to 100000");
            }
        }
        if !(limit_s > 0.0 && limit_s <= 1e6) {
            bail!(
                "measure.limit_s = {limit_s}: it must be more than 0 and at most 1000000 seconds"
            );
        }
        Ok(())
    }
}

impl Default for WatchConfig {
    fn default() -> Self {
        WatchConfig {
            extra: Vec::new(),
            quiet_ms: 30,
            ceiling_ms: 500,
        }
    }
}

impl Config {
    /// The harness command as a record names it: `built-in` for the built-in harness.
    pub fn harness_command(&self) -> String {
        self.harness
            .as_ref()
            .map_or_else(|| "built-in".to_owned(), ToString::to_string)
    }

    /// The lab.toml of `folder`: the nearest one upwards, no further than `root`.
    pub fn find(folder: &Path, root: &Path) -> Option<PathBuf> {
        folder
            .ancestors()
            .take_while(|above| above.starts_with(root))
            .map(|above| above.join(FILE))
            // A link that leads nowhere is a lab.toml too: reading it says what is wrong.
            .find(|file| file.symlink_metadata().is_ok_and(|about| !about.is_dir()))
    }

    /// Reads a lab.toml of the work tree at `root`. A link may lead to another place in the work
    /// tree. An error names the file and the line.
    pub fn read(file: &Path, root: &Path) -> Result<Config> {
        Config::read_with_content(file, root).map(|(config, _)| config)
    }

    /// [`Config::read`] with the text that was read: trust is in that text, whatever the file holds
    /// later.
    pub fn read_with_content(file: &Path, root: &Path) -> Result<(Config, String)> {
        let bytes = Root::new(root).read_resolved(file, SIZE_LIMIT);
        let bytes = bytes.cannot("read", file)?;
        let text =
            String::from_utf8(bytes).with_context(|| format!("{} is no UTF-8", file.display()))?;
        Ok((Config::parse(&text, &file.display().to_string())?, text))
    }

    /// Reads the text of a lab.toml. Errors call the file `shown_as`.
    pub fn parse(text: &str, shown_as: &str) -> Result<Config> {
        check_options(text, shown_as)?;
        let config: Config = toml::from_str(text)
            .map_err(|error| anyhow::anyhow!(toml_error::explain(text, shown_as, &error)))?;
        config
            .check()
            .map_err(|what| anyhow::anyhow!("{shown_as}: {what}"))?;
        Ok(config)
    }

    /// The keys that change how a kernel is judged and that have another value in `other`, as in
    /// `measure.same_within`, sorted. Every key is one of them but those of `NOT_JUDGING`.
    pub fn judging_differences(&self, other: &Config) -> Vec<String> {
        let (ours, theirs) = (self.judging_keys(), other.judging_keys());
        let differs = |key: &&String| ours.get(*key) != theirs.get(*key);
        let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        keys.into_iter().filter(differs).cloned().collect()
    }

    fn judging_keys(&self) -> BTreeMap<String, serde_json::Value> {
        let mut keys = BTreeMap::new();
        let Ok(serde_json::Value::Object(all)) = serde_json::to_value(self) else {
            return keys;
        };
        for (name, value) in all {
            match value {
                serde_json::Value::Object(table) => {
                    keys.extend(
                        table
                            .into_iter()
                            .map(|(key, value)| (format!("{name}.{key}"), value)),
                    );
                }
                value => drop(keys.insert(name, value)),
            }
        }
        keys.retain(|key, _| !NOT_JUDGING.contains(&key.as_str()));
        keys
    }

    /// Checks what the types do not: limits of numbers, and that the objective names a result line.
    fn check(&self) -> Result<()> {
        if !(self.time_limit_s.is_finite() && self.time_limit_s > 0.0 && self.time_limit_s <= 1e6) {
            bail!(
                "time_limit_s = {}: it must be more than 0 and at most 1000000 seconds",
                self.time_limit_s
            );
        }
        if !(1..=65_536).contains(&self.output_limit_mib) {
            bail!(
                "output_limit_mib = {}: it must be from 1 to 65536",
                self.output_limit_mib
            );
        }
        let probe = format!("{}: 0", self.objective);
        if lab_protocol::report::parse(&probe).is_none() {
            bail!(
                "objective = \"{}\": it names a result line, as in throughput_sps",
                self.objective
            );
        }
        if self.harness.as_ref().is_some_and(Harness::is_empty) {
            bail!("harness is empty: remove the line to use the built-in harness");
        }
        if self
            .python
            .as_ref()
            .is_some_and(|python| python.trim().is_empty())
        {
            bail!(
                "python is empty: name an interpreter, as in \".venv/bin/python\", or remove the line to use python3"
            );
        }
        self.measure.check()?;
        self.slurm.check()?;
        for pattern in &self.project.kernels {
            if let Some(fault) = glob::fault(pattern.strip_prefix('!').unwrap_or(pattern)) {
                bail!("project.kernels = [\"{pattern}\"]: {fault}");
            }
        }
        if self.watch.quiet_ms > self.watch.ceiling_ms {
            bail!(
                "watch.quiet_ms = {} is above watch.ceiling_ms = {}",
                self.watch.quiet_ms,
                self.watch.ceiling_ms
            );
        }
        Ok(())
    }
}

/// Checks the compiler's options before the rest of the file, so that an error names the line of
/// the option.
fn check_options(text: &str, shown_as: &str) -> Result<()> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct File {
        compile: Compile,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Compile {
        options: Vec<toml::Spanned<String>>,
    }
    // Whatever else is wrong is the other reader's to say.
    let Ok(File {
        compile: Compile { options },
    }) = toml::from_str(text)
    else {
        return Ok(());
    };
    let given: Vec<String> = options
        .iter()
        .map(|option| option.get_ref().clone())
        .collect();
    match CompileOptions::parse(&given) {
        Ok(_) => Ok(()),
        Err(refused) => {
            let at = options
                .get(refused.index)
                .map_or(0, |option| option.span().start);
            bail!("{}: {refused}", toml_error::position(text, shown_as, at))
        }
    }
}

#[cfg(test)]
mod tests;
