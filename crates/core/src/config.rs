//! lab.toml, and what is true without one.

use crate::objective::Objective;
use anyhow::{Context, Result, bail};
use lab_protocol::Target;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What the file is called.
pub const FILE: &str = "lab.toml";

/// Which way is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    #[default]
    Maximize,
    Minimize,
}

impl Goal {
    /// Whether `a` is better than `b`.
    pub fn prefers(self, a: f64, b: f64) -> bool {
        match self {
            Goal::Maximize => a > b,
            Goal::Minimize => a < b,
        }
    }
}

/// The whole file. Every key has a default: without a lab.toml this is what holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Relative to lab.toml.
    pub kernel: Option<String>,
    /// A command line for `sh -c`; absent: the built-in harness.
    pub harness: Option<String>,
    pub device: Target,
    /// The result line that is the measure.
    pub objective: Objective,
    pub goal: Goal,
    pub time_limit_s: f64,
    pub output_limit_mib: u64,
    pub compile: Compile,
    pub measure: Measure,
    pub watch: Watch,
    pub auto: Auto,
}

/// What the screen decides by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auto {
    /// By the rule of [`crate::decide::auto`].
    pub decide: bool,
}

/// How the built-in harness measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Of the timed launches on save and of `lab run`.
    pub budget_ms: u64,
    /// Percent: two speeds whose ratio's interval reaches into ± this count as the same.
    pub same_within: f64,
    /// Percent: a save stops measuring where the interval's half width is no more.
    pub narrow: f64,
    /// `lab measure`: untimed launches at the beginning of each process of the kernel's …
    pub warm_up: usize,
    /// … timed launches of a trial …
    pub iterations: usize,
    /// … and trials, each with a new process.
    pub trials: usize,
    /// `lab measure` ends after this, whatever is missing.
    pub limit_s: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compile {
    /// Passed to the compiler as they are.
    pub options: Vec<String>,
    /// `sm_90`; absent: what the device is.
    pub arch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watch {
    /// Further files that a verdict depends on, relative to lab.toml.
    pub extra: Vec<String>,
    /// A save is taken up after this much quiet (less once the file was closed) …
    pub quiet_ms: u64,
    /// … but no later than this after its first event.
    pub ceiling_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            kernel: None,
            harness: None,
            device: Target::Auto,
            objective: Objective::default(),
            goal: Goal::Maximize,
            time_limit_s: 60.0,
            output_limit_mib: 64,
            compile: Compile::default(),
            measure: Measure::default(),
            watch: Watch::default(),
            auto: Auto::default(),
        }
    }
}

impl Default for Measure {
    fn default() -> Self {
        Measure {
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

impl Measure {
    fn check(&self) -> Result<()> {
        let Measure { budget_ms, same_within, narrow, warm_up, iterations, trials, limit_s } = *self;
        if !(1..=600_000).contains(&budget_ms) {
            bail!("measure.budget_ms = {budget_ms}: it must be from 1 to 600000 milliseconds");
        }
        for (name, percent) in [("same_within", same_within), ("narrow", narrow)] {
            if !(0.01..=50.0).contains(&percent) {
                bail!("measure.{name} = {percent}: it is in percent, from 0.01 to 50");
            }
        }
        for (name, count, least) in
            [("warm_up", warm_up, 0), ("iterations", iterations, 2), ("trials", trials, 1)]
        {
            if !(least..=100_000).contains(&count) {
                bail!("measure.{name} = {count}: it must be from {least} to 100000");
            }
        }
        if !(limit_s > 0.0 && limit_s <= 1e6) {
            bail!("measure.limit_s = {limit_s}: it must be more than 0 and at most 1000000 seconds");
        }
        Ok(())
    }
}

impl Default for Watch {
    fn default() -> Self {
        Watch { extra: Vec::new(), quiet_ms: 30, ceiling_ms: 500 }
    }
}

impl Config {
    /// The lab.toml that holds in `folder`: the nearest one upwards, no further than `root`.
    pub fn find(folder: &Path, root: &Path) -> Option<PathBuf> {
        folder
            .ancestors()
            .take_while(|above| above.starts_with(root))
            .map(|above| above.join(FILE))
            .find(|file| file.is_file())
    }

    /// Reads a lab.toml. An error names the file and the line.
    pub fn read(file: &Path) -> Result<Config> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Config::parse(&text, &file.display().to_string())
    }

    /// `shown_as` is what errors call the file.
    pub fn parse(text: &str, shown_as: &str) -> Result<Config> {
        let config: Config =
            toml::from_str(text).map_err(|error| anyhow::anyhow!(complaint(text, shown_as, &error)))?;
        config.check().map_err(|what| anyhow::anyhow!("{shown_as}: {what}"))?;
        Ok(config)
    }

    /// What a type cannot say.
    fn check(&self) -> Result<()> {
        if !(self.time_limit_s.is_finite() && self.time_limit_s > 0.0 && self.time_limit_s <= 1e6) {
            bail!("time_limit_s = {}: it must be more than 0 and at most 1000000 seconds", self.time_limit_s);
        }
        if !(1..=65_536).contains(&self.output_limit_mib) {
            bail!("output_limit_mib = {}: it must be from 1 to 65536", self.output_limit_mib);
        }
        let probe = format!("{}: 0", self.objective);
        if lab_protocol::report::parse(&probe).is_none() {
            bail!("objective = \"{}\": it names a result line, as in throughput_sps", self.objective);
        }
        if self.harness.as_ref().is_some_and(|h| h.trim().is_empty()) {
            bail!("harness is empty: remove the line to use the built-in harness");
        }
        self.measure.check()?;
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

/// What the parser says of a file, with its place.
pub fn complaint(text: &str, shown_as: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let said = unquoted(text.get(at..).unwrap_or_default(), error.message());
    format!("{}: {}", place(text, shown_as, at), said.unwrap_or_else(|| in_words(error.message())))
}

/// What the parser's words come to where `rest` of the file begins with a value that is none.
fn unquoted(rest: &str, message: &str) -> Option<String> {
    let guesses = ["string values must be quoted", "invalid float", "invalid boolean"];
    if !guesses.iter().any(|guess| message.starts_with(guess)) {
        return None;
    }
    let word = rest.split(|c: char| c.is_whitespace() || ",]}#\"'".contains(c)).next().unwrap_or_default();
    Some(match word.to_lowercase().as_str() {
        "" => "here a value is wanted".to_owned(),
        small @ ("true" | "false") => format!("{word} is written {small}"),
        small if small.starts_with(|c: char| c.is_alphabetic() || "~./$".contains(c)) => {
            format!("{word} must stand in quotes: \"{word}\"")
        }
        _ => return None,
    })
}

/// Where this byte of a file is, as editors take it: `FILE:LINE:COLUMN`, from 1, columns in characters.
pub fn place(text: &str, shown_as: &str, at: usize) -> String {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[begin..]).chars().count() + 1;
    format!("{shown_as}:{line}:{column}")
}

/// The parser's message, with a suggestion where a name is not known.
fn in_words(message: &str) -> String {
    if let Some((found, wanted)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    {
        let wanted = match wanted {
            "a boolean" => "true or false",
            "a string" => "a text in quotes",
            "a sequence" => "a list",
            "f64" | "i64" | "u64" | "u32" | "usize" => "a number",
            other => other,
        };
        return format!("here stands {}, and {wanted} is wanted", found.replace('`', ""));
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let Some((wrong, known)) = names.next().map(|wrong| (wrong, names.collect::<Vec<_>>())) else {
        return message.to_owned();
    };
    if !message.starts_with("unknown") {
        return message.to_owned();
    }
    // Of a key, or of one of the words that a key may have.
    let what = if message.starts_with("unknown variant") { "value" } else { "key" };
    let near = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(wrong, name), *name))
        .filter(|(distance, name)| *distance <= name.len().max(4) / 2)
        .min();
    match near {
        Some((_, name)) => format!("unknown {what} '{wrong}' (did you mean '{name}'?)"),
        None => format!("unknown {what} '{wrong}': known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text, "lab.toml").expect_err("it must be refused").to_string()
    }

    #[test]
    fn an_empty_file_is_the_defaults() {
        let config = Config::parse("", "lab.toml").expect("an empty file is fine");
        assert_eq!(config, Config::default());
        assert_eq!((config.time_limit_s, config.output_limit_mib), (60.0, 64));
    }

    #[test]
    fn a_mistyped_key_gets_its_line_and_a_suggestion() {
        assert_eq!(
            error("device = \"cpu\"\nobjectve = \"x\"\n"),
            "lab.toml:2:1: unknown key 'objectve' (did you mean 'objective'?)"
        );
        assert!(
            error("[watch]\nextras = []\n")
                .contains("lab.toml:2:1: unknown key 'extras' (did you mean 'extra'?)")
        );
        assert!(
            error("[measure]\nbudget = 3\n")
                .contains("lab.toml:2:1: unknown key 'budget' (did you mean 'budget_ms'?)")
        );
        assert!(error("[auto]\ndecides = true\n").contains("(did you mean 'decide'?)"));
        assert!(error("zzzzzzzzzzzz = 1\n").contains("known are kernel, harness"));
    }

    #[test]
    fn wrong_values_say_what_is_right() {
        assert!(
            error("device = \"gpu\"").contains("lab.toml:1:10: unknown device 'gpu': it is one of auto, cpu")
        );
        assert_eq!(
            error("goal = \"bigger\""),
            "lab.toml:1:8: unknown value 'bigger': known are maximize, minimize"
        );
        assert!(error("time_limit_s = -1").contains("more than 0"));
        assert_eq!(
            error("\ntime_limit_s = \"long\""),
            "lab.toml:2:16: here stands string \"long\", and a number is wanted"
        );
        assert!(error("output_limit_mib = 0").contains("from 1"));
        assert!(error("objective = \"Throughput SPS\"").contains("names a result line"));
        assert!(error("harness = \" \"").contains("built-in harness"));
        assert!(
            error("[measure]\nsame_within = 0.005").contains("measure.same_within = 0.005: it is in percent")
        );
        assert!(error("[measure]\ntrials = 0").contains("from 1 to 100000"));
        assert!(error("[measure]\nbudget_ms = 0").contains("from 1 to 600000"));
        assert!(error("[measure]\nlimit_s = nan").contains("more than 0"));
    }

    #[test]
    fn the_nearest_file_upwards_holds_but_none_above_the_repository() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let (root, deep) = (temp.path().join("repo"), temp.path().join("repo/a/b"));
        std::fs::create_dir_all(&deep).expect("folders");
        std::fs::write(temp.path().join(FILE), "").expect("a file above");
        assert_eq!(Config::find(&deep, &root), None);
        std::fs::write(root.join(FILE), "").expect("a file");
        assert_eq!(Config::find(&deep, &root), Some(root.join(FILE)));
        std::fs::write(root.join("a").join(FILE), "").expect("a nearer file");
        assert_eq!(Config::find(&deep, &root), Some(root.join("a").join(FILE)));
    }
}
