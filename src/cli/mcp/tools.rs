//! The tools: their names, what a model reads about them, and their arguments. No argument is a
//! figure of a result.

use super::limits::{ARGUMENT, LISTED};
use lab_core::message::{self, Trailer};
use lab_core::runner::profiling::ProfileSpec;
use lab_core::runner::spec::RunSpec;
use lab_protocol::Target;
use lab_protocol::profile::ProfileSet;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// Most seconds that a call waits. Clients end calls after 60 s.
pub const LONGEST_WAIT_S: u64 = 45;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeArguments {
    pub device: Option<String>,
    /// `None` is true.
    pub unless_known: Option<bool>,
    pub max_s: Option<u64>,
}

/// What judge and measure ask for.
#[derive(Debug)]
pub struct Judge {
    pub spec: RunSpec,
    pub unless_known: bool,
    pub max_s: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureArguments {
    pub device: Option<String>,
    #[serde(default)]
    pub no_peers: bool,
    pub max_s: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileArguments {
    device: Option<String>,
    set: Option<String>,
    workload: Option<String>,
    max_s: Option<u64>,
}

impl ProfileArguments {
    /// What to profile. The error says which argument is wrong.
    fn spec(&self) -> Result<ProfileSpec, String> {
        let set = self
            .set
            .as_deref()
            .map_or(Ok(ProfileSet::default()), str::parse);
        let set = set.map_err(|why| format!("`set` is wrong: {why}"))?;
        if self
            .workload
            .as_ref()
            .is_some_and(|workload| workload.len() > ARGUMENT)
        {
            return Err(format!(
                "`workload` has more than {ARGUMENT} bytes: name it by its number"
            ));
        }
        let (device, workload) = (device(self.device.clone())?, self.workload.clone());
        Ok(ProfileSpec {
            device,
            workload,
            ..ProfileSpec::new(set)
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideArguments {
    pub message: String,
    pub run: Option<u64>,
    pub hypothesis: Option<String>,
    pub lesson: Option<String>,
    #[serde(default)]
    pub trailers: Vec<String>,
    /// Of a discard alone.
    #[serde(default)]
    pub unjudged: bool,
    pub max_s: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndoOrRestoreArguments {
    pub restore: Option<String>,
    pub run: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryArguments {
    pub limit: Option<usize>,
    #[serde(default)]
    pub offset: usize,
    pub status: Option<String>,
    #[serde(default)]
    pub lessons: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentArguments {
    pub run: Option<u64>,
    pub commit: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitArguments {
    pub job: u64,
    pub max_s: Option<u64>,
    #[serde(default)]
    pub end: bool,
}

/// Reads the arguments of a tool. The error says what is wrong with them.
pub fn read<T: DeserializeOwned>(tool: &str, arguments: Option<JsonObject>) -> Result<T, String> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    serde_json::from_value(arguments)
        .map_err(|error| format!("the arguments of {tool} are wrong: {error}"))
}

/// Reads the arguments of profile: what to profile, and how long to wait.
pub fn profile(arguments: Option<JsonObject>) -> Result<(ProfileSpec, Option<u64>), String> {
    let arguments: ProfileArguments = read("profile", arguments)?;
    Ok((arguments.spec()?, arguments.max_s))
}

/// How long a call waits for its job.
pub fn wait(max_s: Option<u64>) -> Duration {
    Duration::from_secs(max_s.unwrap_or(LONGEST_WAIT_S).min(LONGEST_WAIT_S))
}

/// Reads a device's name, as of `--device`.
pub fn device(name: Option<String>) -> Result<Option<Target>, String> {
    let parse = |name: String| {
        name.parse()
            .map_err(|why| format!("`device` is wrong: {why}"))
    };
    name.map(parse).transpose()
}

impl DecideArguments {
    /// The trailers: those that were given, then the hypothesis and the lesson.
    pub fn trailers(&self) -> Result<Vec<Trailer>, String> {
        let named = [("Hypothesis", &self.hypothesis), ("Lesson", &self.lesson)].into_iter();
        let named =
            named.filter_map(|(key, text)| text.as_ref().map(|text| format!("{key}: {text}")));
        let all = self.trailers.iter().cloned().chain(named);
        let too_long = [&self.message]
            .into_iter()
            .chain(&self.trailers)
            .chain(&self.hypothesis)
            .chain(&self.lesson);
        if too_long.map(String::len).sum::<usize>() > ARGUMENT {
            return Err(format!(
                "message, hypothesis, lesson and trailers have more than {ARGUMENT} bytes together: shorten them"
            ));
        }
        all.map(|text| message::trailer(&text)).collect()
    }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn whole(description: &str, most: Option<u64>) -> Value {
    let mut schema = json!({ "type": "integer", "minimum": 0, "description": description });
    if let Some(most) = most {
        schema["maximum"] = most.into();
    }
    schema
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn max_s() -> Value {
    whole(
        "Seconds to wait for the result at most; then the answer names a job [default: 45]",
        Some(LONGEST_WAIT_S),
    )
}

fn device_schema() -> Value {
    text("auto, cpu, cuda, cuda:1; overrides lab.toml")
}

fn decide(and: &[(&str, Value)]) -> Value {
    let mut properties = json!({
        "message": text("What was tried, in one line"),
        "run": whole("The run to decide [default: the newest run of the present bytes]", None),
        "hypothesis": text("What was expected, and why"),
        "lesson": text("What the result teaches"),
        "trailers": { "type": "array", "items": { "type": "string" }, "description": "More trailers of the commit, each 'Key: value'" },
        "max_s": max_s(),
    });
    for (key, schema) in and {
        properties[*key] = schema.clone();
    }
    properties
}

/// The tools that `lab mcp` lists.
pub fn all() -> Vec<Tool> {
    let tool = |name: &'static str,
                description: &'static str,
                properties: Value,
                required: &[&str]| {
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        });
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new(name, description, schema)
    };
    let reads = || ToolAnnotations::new().read_only(true).open_world(false);
    let writes = || {
        ToolAnnotations::new()
            .read_only(false)
            .destructive(false)
            .open_world(false)
    };
    vec![
        tool(
            "judge",
            "Build the kernel's present bytes, compare its results with the independent reference and its speed with the \
             incumbent's (the kernel in HEAD). Answers with the verdict. A kernel that fails is a result, not an error.",
            json!({
                "device": device_schema(),
                "unless_known": flag("Answer with the earlier verdict if the same kernel was judged before, comments and blanks aside [default: true]"),
                "max_s": max_s(),
            }),
            &[],
        )
        .annotate(writes()),
        tool(
            "measure",
            "Judge the present bytes with the long measurement of lab.toml, over all workloads and beside the problem's peers. \
             Takes minutes: the answer may name a job for `wait`.",
            json!({ "device": device_schema(), "no_peers": flag("Leave the peers out"), "max_s": max_s() }),
            &[],
        )
        .annotate(writes()),
        tool(
            "profile",
            "Read the GPU's counters during one launch of the judged present bytes, under Nsight Compute: why the kernel is as fast as it \
             is. Without counters the answer says why, and tells what the built image says. Takes 6 to 60 s: the answer may name a job \
             for `wait`.",
            json!({
                "set": { "type": "string", "enum": ["quick", "source", "full"], "description": "quick: the main counters; source: also hot lines; full: also the profiler's findings [default: quick]" },
                "workload": text("A timed workload by the problem's words or by its number; `all` only times each [default: the largest]"),
                "device": device_schema(),
                "max_s": max_s(),
            }),
            &[],
        )
        .annotate(writes()),
        tool(
            "keep",
            "Keep a judged run: check it on held-out inputs, commit exactly the judged bytes and write its row. It becomes the \
             incumbent. Refused unless the rules allow it.",
            decide(&[]),
            &["message"],
        )
        .annotate(writes()),
        tool(
            "discard",
            "Discard a judged run: put the incumbent's kernel back on disk and write the row. The attempt stays in git.",
            decide(&[(
                "unjudged",
                flag("Discard also if the present bytes are newer than the verdict or have none; they are saved first"),
            )]),
            &["message"],
        )
        .annotate(writes()),
        tool(
            "undo_or_restore",
            "Without `restore`: take back the last keep or discard, if nothing is built on it. With `restore`: put the kernel of an \
             experiment or commit on disk; the bytes there are saved first.",
            json!({
                "restore": text("A commit as git names it, or the number of a discarded run"),
                "run": whole("Undo only if the last decision is that of this run", None),
            }),
            &[],
        )
        .annotate(writes()),
        tool(
            "history",
            "List the experiments of this kernel, newest first, with the incumbent and the undecided run.",
            json!({
                "limit": whole("How many to list [default: 20]", Some(LISTED as u64)),
                "offset": whole("How many of the newest to skip", None),
                "status": { "type": "string", "enum": ["keep", "discard", "crash", "rules"], "description": "List only these" },
                "lessons": flag("Tell also by idea what the experiments brought and taught"),
            }),
            &[],
        )
        .annotate(reads()),
        tool(
            "experiment",
            "One experiment with its verdict, figures and diff: by its run's number, or by its commit.",
            json!({ "run": whole("The run's number", None), "commit": text("The commit of its row") }),
            &[],
        )
        .annotate(reads()),
        tool(
            "wait",
            "Wait for a job that an earlier call named, and answer with its result. With `end`: end the job first.",
            json!({
                "job": whole("The job's number", None),
                "max_s": max_s(),
                "end": flag("End the job: its run stops, or nothing is kept"),
            }),
            &["job"],
        )
        .annotate(writes()),
    ]
}
