//! The MCP server: the tools, what the protocol asks for besides, and how a call waits for its job
//! and tells progress.

use super::answer::Answer;
use super::jobs::{Job, Jobs, Lane, OpenJob, Phase, State};
use super::tools::{
    CheckArguments, DecideArguments, JudgeArguments, MeasureArguments, ProfileArguments,
    SweepArguments, WaitArguments, arguments,
};
use super::{history, limits, profile, prompts, resources, schema, sweep, work};
use anyhow::Result;
use lab_project::Project;
use rmcp::handler::server::common::schema_for_input;
use rmcp::handler::server::tool::{IntoCallToolResult, ToolCallContext, ToolRoute, ToolRouter};
use rmcp::model::{
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool_handler};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};

/// Most seconds that a call waits. Clients end calls after 60 s.
const LONGEST_WAIT_S: u64 = 45;

/// How often a client with a progress token is told how far its call is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Most bytes of a progress message. Clients show about so many characters.
const PROGRESS: usize = 200;

const INSTRUCTIONS: &str = "lab judges a CUDA or Python kernel against an independent reference and against the incumbent, the kernel in \
    HEAD. Edit the kernel's file, call judge, read `summary` and `next`, then keep or discard with a message, and go on. Decide every \
    run before the next edit. lab://problem says what is judged. Give a hypothesis and a lesson: the history keeps them. Figures come from lab's records only. A call \
    that takes longer than 45 s answers with a job: call wait. lab://agent-guide is the contract of the loop, `lab auto`.";

/// Where the server was started, and the kernel that it was started for.
#[derive(Clone, Debug)]
pub struct Workplace {
    pub from: PathBuf,
    pub kernel: Option<PathBuf>,
}

impl Workplace {
    /// Opens the project as it is now: lab.toml may have changed.
    pub fn open(&self) -> Result<Project> {
        Project::open(&self.from, self.kernel.as_deref())
    }
}

/// The server of one client.
pub struct Server {
    workplace: Workplace,
    jobs: Arc<Jobs>,
}

type Context = RequestContext<RoleServer>;

/// What a tool does. It gets the project as it is now.
type Work<A> = fn(&Project, A, &Job) -> Result<Answer>;

/// The tools, each with what a model reads about it.
fn tools() -> ToolRouter<Server> {
    let rows = [
        row(
            Lane::Runs,
            "judge",
            "Build the kernel's present bytes, compare its results with the independent reference and its\n\
             speed with the incumbent's (the kernel in HEAD). Answers with the verdict. A kernel that fails\n\
             is a result, not an error.",
            |asked: &JudgeArguments| asked.max_s,
            work::judge,
        ),
        row(
            Lane::Runs,
            "measure",
            "Judge the present bytes with the long measurement of lab.toml, over all workloads and beside\n\
             the problem's peers. Takes minutes: it may name a job for `wait`.",
            |asked: &MeasureArguments| asked.max_s,
            work::measure,
        ),
        row(
            Lane::Runs,
            "profile",
            "Read the GPU's counters during one launch of the judged present bytes, under Nsight Compute:\n\
             why the kernel is as fast as it is. Without counters the answer says why, and tells what the\n\
             built image says. Takes 6 to 60 s: the answer may name a job for `wait`.",
            |asked: &ProfileArguments| asked.max_s,
            profile::profile,
        ),
        row(
            Lane::Runs,
            "sweep",
            "Measure the kernel with other values of the constants in its tune lines, as in\n\
             `// lab: tune BLOCK = 64, 128, 256`, or write the best point into it with `apply`. A sweep\n\
             goes on where it ended. Takes minutes: it may name a job for `wait`.",
            |asked: &SweepArguments| asked.max_s,
            sweep::sweep,
        ),
        row(
            Lane::Runs,
            "check",
            "Run the present bytes on small cases under tools that watch each memory access: invalid\n\
             accesses, data races, reads of unset memory. Gives findings with their lines, and no verdict.",
            |asked: &CheckArguments| asked.max_s,
            work::check,
        ),
        row(
            Lane::Decisions,
            "keep",
            "Keep a judged run: check it on held-out inputs, commit exactly the judged bytes and write its\n\
             row. It becomes the incumbent. Refused unless the rules allow it.",
            |asked: &DecideArguments| asked.max_s,
            work::keep,
        ),
        row(
            Lane::Decisions,
            "discard",
            "Discard a judged run: put the incumbent's kernel back on disk and write the row. The attempt\n\
             stays in git.",
            |asked: &DecideArguments| asked.max_s,
            work::discard,
        ),
        row(
            Lane::Decisions,
            "undo_or_restore",
            "With `run`: take back its keep or discard, if that is the last decision and nothing is built on\n\
             it. With `restore`: put the kernel of an experiment or commit on disk; the bytes there are saved first.",
            |_| None,
            work::undo_or_restore,
        ),
        row(
            Lane::Reads,
            "history",
            "List the experiments of this kernel, newest first, with the incumbent and the open run.",
            |_| None,
            history::history,
        ),
        row(
            Lane::Reads,
            "experiment",
            "One experiment with its verdict, figures and diff: by its run's number, or by its commit.",
            |_| None,
            history::experiment,
        ),
        row(
            Lane::Reads,
            "rules",
            "How the files that say how the kernel is judged differ from those in HEAD. While they do,\n\
             nothing can be kept.",
            |_| None,
            history::rules,
        ),
        row(
            Lane::Reads,
            "peers",
            "The implementations that the kernel is measured beside, with their last figures.",
            |_| None,
            history::peers,
        ),
        ToolRoute::new_dyn(
            tool::<WaitArguments>(
                "wait",
                "Wait for a job that an earlier call named, and answer with its result. With `end`: end the\n\
                 job first.",
                false,
            ),
            |mut call: ToolCallContext<Server>| {
                Box::pin(async move {
                    let answer = match arguments(&mut call) {
                        Ok(asked) => call.service.wait(asked, &call.request_context).await,
                        Err(why) => Answer::wrong(&why),
                    };
                    answer.into_call_tool_result()
                })
            },
        ),
    ];
    rows.into_iter()
        .fold(ToolRouter::new(), ToolRouter::with_route)
}

/// A tool whose work is a job of this lane. `max_s` is how long its call wants to wait.
fn row<A: DeserializeOwned + JsonSchema + Send + 'static>(
    lane: Lane,
    name: &'static str,
    about: &'static str,
    max_s: fn(&A) -> Option<u64>,
    work: Work<A>,
) -> ToolRoute<Server> {
    let tool = tool::<A>(name, about, lane == Lane::Reads);
    ToolRoute::new_dyn(tool, move |mut call: ToolCallContext<Server>| {
        Box::pin(async move {
            let answer = match arguments::<A, _>(&mut call) {
                Ok(asked) => {
                    let (server, max_s) = (call.service, max_s(&asked));
                    let context = &call.request_context;
                    server.start(lane, name, asked, work, max_s, context).await
                }
                Err(why) => Answer::wrong(&why),
            };
            answer.into_call_tool_result()
        })
    })
}

/// A tool as the client sees it. None destroys anything, or works outside of the repository.
fn tool<A: JsonSchema + 'static>(name: &'static str, about: &'static str, reads: bool) -> Tool {
    let destroys = (!reads).then_some(false);
    let hints = ToolAnnotations::from_raw(None, Some(reads), destroys, None, Some(false));
    // The schema of a struct is that of an object, so there is one.
    let mut arguments = schema_for_input::<A>().unwrap_or_default();
    let schema = Arc::make_mut(&mut arguments);
    schema.remove("$schema");
    schema.values_mut().for_each(leave_out_formats);
    Tool::new_with_raw(name, Some(about.into()), arguments)
        .with_raw_output_schema(schema::of(name))
        .with_annotations(hints)
}

/// Removes the sizes and signs of integers, and defaults that say nothing, which a model pays for and
/// does not need.
fn leave_out_formats(schema: &mut Value) {
    if let Value::Object(keys) = schema {
        let says_nothing = |value: &Value| {
            matches!(value, Value::Null | Value::Bool(false))
                || value.as_array().is_some_and(Vec::is_empty)
        };
        keys.retain(|key, value| match key.as_str() {
            "format" => false,
            "minimum" => *value != 0,
            "default" => !says_nothing(value),
            _ => true,
        });
        keys.values_mut().for_each(leave_out_formats);
    }
}

impl Server {
    pub fn new(workplace: Workplace, jobs: Arc<Jobs>) -> Server {
        Server { workplace, jobs }
    }

    async fn wait(&self, asked: WaitArguments, context: &Context) -> Answer {
        let Some(job) = self.jobs.find(asked.job) else {
            let why = format!("there is no job {}, or its result is too old", asked.job);
            return Answer {
                open_jobs: Some(self.jobs.open()),
                ..Answer::error(&why, "Call history to see what was judged and decided.")
            };
        };
        if asked.end {
            job.control.end();
        }
        self.follow(&job, asked.max_s, context).await
    }

    /// Starts the job of a call and waits for it. A call that is cancelled ends its job.
    async fn start<A: Send + 'static>(
        &self,
        lane: Lane,
        tool: &'static str,
        asked: A,
        work: Work<A>,
        max_s: Option<u64>,
        context: &Context,
    ) -> Answer {
        let workplace = self.workplace.clone();
        let work = move |job: &Job| match workplace.open() {
            Ok(project) => {
                work(&project, asked, job).unwrap_or_else(|error| work::failed(&project, &error))
            }
            Err(error) => work::not_done(&lab_git::told(&error)),
        };
        match self.jobs.add(lane, tool, work) {
            Ok(job) => {
                let answer = self.follow(&job, max_s, context).await;
                if context.ct.is_cancelled() {
                    job.control.end();
                }
                answer
            }
            Err(error) => Answer {
                open_jobs: Some(self.jobs.open()),
                ..Answer::error(
                    &lab_git::told(&error),
                    "Call wait for a job of an earlier call, then call again.",
                )
            },
        }
    }

    /// Waits for a job, and tells progress where the client gave a token. Answers with the result,
    /// or with the job where it takes longer.
    async fn follow(&self, job: &Job, max_s: Option<u64>, context: &Context) -> Answer {
        let token = context.meta.get_progress_token();
        let longest = Duration::from_secs(max_s.unwrap_or(LONGEST_WAIT_S).min(LONGEST_WAIT_S));
        let end = Instant::now() + longest;
        let mut ticks = tokio::time::interval_at(Instant::now() + TELL_EVERY, TELL_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = job.wait() => break,
                () = context.ct.cancelled() => break,
                // The answer may still reach a client that only closed its end.
                () = self.jobs.closed() => break,
                () = tokio::time::sleep_until(end) => break,
                _ = ticks.tick(), if token.is_some() => {
                    if let Some(token) = &token {
                        let (message, seconds) = (progress(&job.state()), job.started.elapsed());
                        let told = ProgressNotificationParam::new(token.clone(), seconds.as_secs_f64());
                        // A client that is gone is noticed where messages are read.
                        let _ = context.peer.notify_progress(told.with_message(message)).await;
                    }
                }
            }
        }
        let state = job.state();
        match &state.answer {
            Some(answer) if state.phase == Phase::Ended => Answer {
                job: Some(job.id),
                ..answer.clone()
            },
            _ => in_progress(job, &state),
        }
    }
}

/// How far a job is, in one line.
fn progress(state: &State) -> String {
    let run = state
        .run
        .map(|run| format!("run {run}: "))
        .unwrap_or_default();
    let what = if state.line.is_empty() {
        state.phase.word()
    } else {
        &state.line
    };
    let mut text = run + what;
    limits::cut(&mut text, PROGRESS);
    text
}

/// The answer of a call whose job has not ended.
fn in_progress(job: &Job, state: &State) -> Answer {
    let (id, tool, seconds) = (job.id, job.tool, job.started.elapsed().as_secs());
    let rest = OpenJob {
        tool,
        state: state.phase.word(),
        run: state.run,
        seconds,
        last_line: &state.line,
    };
    let next = format!("Call wait with \"job\": {id}. With \"end\": true it is ended.");
    let summary = format!(
        "{tool} goes on as job {id}, since {seconds} s: {}",
        progress(state)
    );
    Answer {
        job: Some(id),
        ..Answer::new(&summary, &next, rest)
    }
}

#[tool_handler(router = tools())]
impl ServerHandler for Server {
    /// Without the one version that has batches, which are refused here.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let all = ProtocolVersion::KNOWN_VERSIONS.iter();
        all.filter(|version| **version != ProtocolVersion::V_2025_03_26)
            .cloned()
            .collect()
    }

    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("lab", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut name = request.name;
        prompts::get(&name).map(Into::into).ok_or_else(|| {
            limits::cut(&mut name, PROGRESS);
            let why = format!("there is no prompt {name}: prompts/list names them");
            ErrorData::invalid_params(why, None)
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut uri = request.uri;
        let Some(named) = resources::parse(&uri) else {
            limits::cut(&mut uri, PROGRESS);
            let why = format!(
                "there is no resource {uri}: lab://problem, lab://run/N/run.log, lab://run/N/diff, lab://results.tsv, lab://agent-guide"
            );
            return Err(ErrorData::resource_not_found(why, None));
        };
        let workplace = self.workplace.clone();
        let (tell, told) = tokio::sync::oneshot::channel();
        let job = self.jobs.add(Lane::Reads, "resource", move |_| {
            let _ = tell.send(resources::read(|| workplace.open(), named));
            Answer::new("read", "", ())
        });
        let failed = |why: String| ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None);
        let job = job.map_err(|error| failed(lab_git::told(&error)))?;
        tokio::select! {
            () = job.wait() => {}
            () = context.ct.cancelled() => job.control.end(),
            () = self.jobs.closed() => {}
        }
        match told.await {
            Ok(Ok(text)) => {
                Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]).into())
            }
            Ok(Err(error)) => Err(ErrorData::resource_not_found(lab_git::told(&error), None)),
            Err(_) => Err(failed(format!("{uri} was not read: the server is ending"))),
        }
    }

    /// Also gets requests of the protocol whose parameters are wrong.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: Context,
    ) -> Result<CustomResult, ErrorData> {
        let mut method = request.method;
        limits::cut(&mut method, PROGRESS);
        let what = match method.as_str() {
            "tools/call" => "`name` is a string, `arguments` an object",
            "resources/read" => "`uri` is a string",
            "prompts/get" => "`name` is a string",
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)),
        };
        Err(ErrorData::invalid_params(
            format!("the parameters of {method} are wrong: {what}"),
            None,
        ))
    }
}
