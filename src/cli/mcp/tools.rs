//! The arguments of the tools, with what a model reads about each. No argument is a figure of a
//! result.

use super::limits::ARGUMENT;
use crate::cli::sweep::StrategyArg;
use lab_protocol::profile::ProfileSet;
use lab_protocol::{Target, Tool};
use lab_run::experiment::Status;
use lab_run::message::{self, Trailer};
use lab_runner::profiling::ProfileSpec;
use lab_sweep::Budget;
use rmcp::handler::server::tool::ToolCallContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::Value;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// Reads the arguments of a call. What is wrong with them is an answer of the tool, no error of the
/// protocol.
pub fn arguments<A: DeserializeOwned, S>(call: &mut ToolCallContext<S>) -> Result<A, String> {
    let arguments = Value::Object(call.arguments.take().unwrap_or_default());
    serde_json::from_value(arguments).map_err(|error| {
        let name = call.name();
        format!("the arguments of {name} are wrong: {error}")
    })
}

/// Reads an argument by its `FromStr`, whose error says what is allowed.
fn named<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse())
        .transpose()
        .map_err(Error::custom)
}

/// The number of a run or a commit, as a number or as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Number(u64),
    Text(String),
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = Option::<Name>::deserialize(deserializer)?;
    Ok(name.map(|name| match name {
        Name::Number(number) => number.to_string(),
        Name::Text(text) => text,
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeArguments {
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[schemars(with = "Option<String>")]
    pub device: Option<Target>,
    /// Answer with the earlier verdict if the same kernel was judged before, comments and blanks
    /// aside [default: true]
    pub unless_known: Option<bool>,
    /// Seconds to wait, then the answer names a job [default: 45]
    #[schemars(range(max = 45))]
    pub max_s: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasureArguments {
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[schemars(with = "Option<String>")]
    pub device: Option<Target>,
    /// Leave the peers out
    #[serde(default)]
    pub no_peers: bool,
    /// Seconds to wait, then the answer names a job [default: 45]
    #[schemars(range(max = 45))]
    pub max_s: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepArguments {
    /// grid: all points in their order; random; tpe: values that were frequent among the best
    /// [default: grid]
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("enum" = ["grid", "random", "tpe"]))]
    pub strategy: StrategyArg,
    /// End after so many points [default: all]
    pub points: Option<usize>,
    /// End after so many seconds
    pub seconds: Option<u32>,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[schemars(with = "Option<String>")]
    pub device: Option<Target>,
    /// Measure nothing: write the best point of the last sweep into the kernel
    #[serde(default)]
    pub apply: bool,
    /// With `apply`: the point of this number in place of the best
    pub point: Option<u32>,
    /// Seconds to wait, then the answer names a job [default: 45]
    #[schemars(range(max = 45))]
    pub max_s: Option<u64>,
}

impl SweepArguments {
    /// When the sweep ends. The error says which arguments are wrong.
    pub fn budget(&self) -> Result<Budget, String> {
        match (self.points, self.seconds) {
            (Some(_), Some(_)) => {
                Err("`points` and `seconds` both end a sweep: give one of them".to_owned())
            }
            (Some(points), None) => Ok(Budget::Points(points)),
            (None, Some(seconds)) => Ok(Budget::Time(Duration::from_secs(seconds.into()))),
            (None, None) => Ok(Budget::All),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckArguments {
    /// Only these. On cuda: memcheck, racecheck, initcheck, synccheck; on cpu: address, race
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub tools: Vec<Tool>,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[schemars(with = "Option<String>")]
    pub device: Option<Target>,
    /// Seconds to wait, then the answer names a job [default: 45]
    #[schemars(range(max = 45))]
    pub max_s: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileArguments {
    /// quick: the main counters; source: also hot lines; full: also the profiler's findings
    /// [default: quick]
    #[serde(default, deserialize_with = "named")]
    #[schemars(with = "Option<String>", extend("enum" = ["quick", "source", "full"]))]
    pub set: Option<ProfileSet>,
    /// A timed workload by the problem's words or by its number; `all` only times each [default:
    /// the largest]
    #[schemars(length(max = ARGUMENT))]
    pub workload: Option<String>,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[schemars(with = "Option<String>")]
    pub device: Option<Target>,
    /// Seconds to wait, then the answer names a job [default: 45]
    #[schemars(range(max = 45))]
    pub max_s: Option<u64>,
}

impl ProfileArguments {
    /// What to profile. The error says which argument is wrong.
    pub fn spec(self) -> Result<ProfileSpec, String> {
        if self
            .workload
            .as_ref()
            .is_some_and(|workload| workload.len() > ARGUMENT)
        {
            return Err(format!(
                "`workload` has more than {ARGUMENT} bytes: name it by its number"
            ));
        }
        let mut spec = ProfileSpec::new(self.set.unwrap_or_default());
        (spec.run.device, spec.workload) = (self.device, self.workload);
        Ok(spec)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideArguments {
    /// What was tried, in one line
    pub message: String,
    /// The run to decide [default: the newest run of the present bytes]
    pub run: Option<u64>,
    /// What was expected, and why
    pub hypothesis: Option<String>,
    /// What the result teaches
    pub lesson: Option<String>,
    /// More trailers of the commit, each 'Key: value'
    #[serde(default)]
    pub trailers: Vec<String>,
    /// Of a discard alone: discard also if the present bytes are newer than the verdict or have
    /// none; they are saved first
    #[serde(default)]
    pub unjudged: bool,
    /// Seconds to wait, then the answer names a job [default: 45]
    #[schemars(range(max = 45))]
    pub max_s: Option<u64>,
}

impl DecideArguments {
    /// The trailers: those that were given, then the hypothesis and the lesson.
    pub fn trailers(&self) -> Result<Vec<Trailer>, String> {
        let named = [("Hypothesis", &self.hypothesis), ("Lesson", &self.lesson)].into_iter();
        let named = named.filter_map(|(key, text)| Some(format!("{key}: {}", text.as_ref()?)));
        let all: Vec<String> = self.trailers.iter().cloned().chain(named).collect();
        if all
            .iter()
            .chain([&self.message])
            .map(String::len)
            .sum::<usize>()
            > ARGUMENT
        {
            return Err(format!(
                "message, hypothesis, lesson and trailers have more than {ARGUMENT} bytes together: shorten them"
            ));
        }
        all.iter().map(|text| message::trailer(text)).collect()
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoOrRestoreArguments {
    /// A commit as git names it, or the number of a discarded run
    pub restore: Option<String>,
    /// Undo the decision of this run, if it is the last one
    pub run: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryArguments {
    /// How many to list [default: 20]
    #[schemars(range(max = 50))]
    pub limit: Option<usize>,
    /// How many of the newest to skip
    #[serde(default)]
    pub offset: usize,
    /// List only these
    #[serde(default, deserialize_with = "named")]
    #[schemars(with = "Option<String>", extend("enum" = ["keep", "discard", "crash", "rules"]))]
    pub status: Option<Status>,
    /// Tell also by idea what the experiments brought and taught
    #[serde(default)]
    pub lessons: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentArguments {
    /// The run's number
    #[serde(default, deserialize_with = "name")]
    #[schemars(with = "Option<String>", extend("type" = ["integer", "string", "null"]))]
    pub run: Option<String>,
    /// The commit of its row
    #[serde(default, deserialize_with = "name")]
    pub commit: Option<String>,
    /// Compare with another: a run's number or a commit
    #[serde(default, deserialize_with = "name")]
    #[schemars(with = "Option<String>", extend("type" = ["integer", "string", "null"]))]
    pub against: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitArguments {
    /// The job's number
    pub job: u64,
    /// Seconds to wait, then the answer names a job [default: 45]
    #[schemars(range(max = 45))]
    pub max_s: Option<u64>,
    /// End the job: its run stops, or nothing is kept
    #[serde(default)]
    pub end: bool,
}
