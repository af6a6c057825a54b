//! The MCP server: takes calls, gives their work to the jobs, waits for the answers, tells
//! progress.

mod handler;

use super::answer::Answer;
use super::history;
use super::jobs::{Job, Jobs, Lane, Phase};
use super::limits;
use super::profile;
use super::tools::{self, DecideArguments, Judge, JudgeArguments, MeasureArguments, WaitArguments};
use super::work::{self, Workplace};
use lab_core::run::Reason;
use lab_core::runner::spec::RunSpec;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonObject, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};

/// Most calls at once.
const MOST_CALLS: usize = 64;

/// How often a client with a progress token is told how far its call is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Most bytes of a progress message. Clients show about so many characters.
const PROGRESS: usize = 200;

/// The server of one client.
pub struct Server {
    workplace: Workplace,
    jobs: Arc<Jobs>,
    calls: AtomicUsize,
}

/// A call that is being answered.
struct Call<'a>(&'a AtomicUsize);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whose job a call waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// Its own: cancelling the call ends the job.
    ForOwn,
    /// An earlier call's: cancelling the call ends the wait alone.
    ForOther,
}

impl Server {
    pub fn new(workplace: Workplace, jobs: Arc<Jobs>) -> Server {
        Server {
            workplace,
            jobs,
            calls: AtomicUsize::new(0),
        }
    }

    /// Counts a call. `None` where too many are being answered.
    fn begin(&self) -> Option<Call<'_>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let counted = Call(&self.calls);
        (call < MOST_CALLS).then_some(counted)
    }

    async fn call(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let Some(_call) = self.begin() else {
            let why = format!("{MOST_CALLS} calls are being answered already");
            return Ok(Answer::error(
                &why,
                "Wait for their answers, then call again.",
            ));
        };
        let answer = match name {
            "judge" => self.judge(arguments, context).await,
            "measure" => self.measure(arguments, context).await,
            "profile" => self.profile(arguments, context).await,
            "keep" => self.decide("keep", arguments, context).await,
            "discard" => self.decide("discard", arguments, context).await,
            "undo_or_restore" => {
                let arguments = tools::read(name, arguments);
                self.start(
                    Lane::Decisions,
                    "undo_or_restore",
                    None,
                    context,
                    arguments,
                    |workplace, arguments, job| {
                        workplace.with(|project| work::undo_or_restore(project, arguments, job))
                    },
                )
                .await
            }
            "history" => {
                let arguments = tools::read(name, arguments);
                self.start(
                    Lane::Reads,
                    "history",
                    None,
                    context,
                    arguments,
                    |workplace, arguments, _| {
                        workplace.with(|project| history::history(project, &arguments))
                    },
                )
                .await
            }
            "experiment" => {
                let arguments = tools::read(name, arguments);
                self.start(
                    Lane::Reads,
                    "experiment",
                    None,
                    context,
                    arguments,
                    |workplace, arguments, _| {
                        workplace.with(|project| history::experiment(project, &arguments))
                    },
                )
                .await
            }
            "wait" => match tools::read(name, arguments) {
                Ok(arguments) => self.wait(&arguments, context).await,
                Err(why) => wrong(&why),
            },
            other => {
                let mut other = other.to_owned();
                limits::cut(&mut other, PROGRESS);
                let why = format!("there is no tool '{other}': tools/list names them");
                return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, why, None));
            }
        };
        Ok(answer)
    }

    async fn judge(
        &self,
        arguments: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let read = tools::read::<JudgeArguments>("judge", arguments).and_then(|arguments| {
            let spec = RunSpec {
                device: tools::device(arguments.device)?,
                ..RunSpec::new(Reason::Command)
            };
            let unless_known = arguments.unless_known.unwrap_or(true);
            Ok(Judge {
                spec,
                unless_known,
                max_s: arguments.max_s,
            })
        });
        self.run("judge", read, context).await
    }

    async fn measure(
        &self,
        arguments: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let read = tools::read::<MeasureArguments>("measure", arguments).and_then(|arguments| {
            let device = tools::device(arguments.device)?;
            let spec = RunSpec {
                device,
                peers: !arguments.no_peers,
                ..RunSpec::new(Reason::Measure)
            };
            Ok(Judge {
                spec,
                unless_known: false,
                max_s: arguments.max_s,
            })
        });
        self.run("measure", read, context).await
    }

    async fn profile(
        &self,
        arguments: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let (read, max_s) = tools::profile(arguments)
            .map_or_else(|why| (Err(why), None), |(spec, max_s)| (Ok(spec), max_s));
        self.start(
            Lane::Runs,
            "profile",
            max_s,
            context,
            read,
            |workplace, spec, job| workplace.with(|project| profile::profile(project, spec, job)),
        )
        .await
    }

    async fn run(
        &self,
        tool: &'static str,
        read: Result<Judge, String>,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let max_s = read.as_ref().ok().and_then(|judge| judge.max_s);
        self.start(
            Lane::Runs,
            tool,
            max_s,
            context,
            read,
            |workplace,
             Judge {
                 spec, unless_known, ..
             },
             job| {
                workplace.with(|project| work::judge(project, spec, unless_known, job))
            },
        )
        .await
    }

    async fn decide(
        &self,
        tool: &'static str,
        arguments: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let read = tools::read::<DecideArguments>(tool, arguments);
        let read = read.and_then(|arguments| match tool == "keep" && arguments.unjudged {
            true => Err("`unjudged` is an argument of discard: a keep needs a verdict".to_owned()),
            false => Ok(arguments),
        });
        let max_s = read.as_ref().ok().and_then(|arguments| arguments.max_s);
        self.start(
            Lane::Decisions,
            tool,
            max_s,
            context,
            read,
            move |workplace, arguments, job| {
                workplace.with(|project| match tool {
                    "keep" => work::keep(project, &arguments, job),
                    _ => work::discard(project, &arguments),
                })
            },
        )
        .await
    }

    /// Starts the job of a call and waits for it.
    async fn start<A: Send + 'static>(
        &self,
        lane: Lane,
        tool: &'static str,
        max_s: Option<u64>,
        context: &RequestContext<RoleServer>,
        arguments: Result<A, String>,
        work: impl FnOnce(&Workplace, A, &Job) -> Answer + Send + 'static,
    ) -> Answer {
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(why) => return wrong(&why),
        };
        let workplace = self.workplace.clone();
        match self
            .jobs
            .add(lane, tool, move |job| work(&workplace, arguments, job))
        {
            Ok(job) => self.follow(&job, max_s, Waits::ForOwn, context).await,
            Err(error) => Answer::error(
                &format!("{error:#}"),
                "Call wait for a job of an earlier call, then call again.",
            )
            .with("open_jobs", self.jobs.open()),
        }
    }

    async fn wait(
        &self,
        arguments: &WaitArguments,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let Some(job) = self.jobs.find(arguments.job) else {
            let why = format!(
                "there is no job {}, or its result is too old",
                arguments.job
            );
            return Answer::error(&why, "Call history to see what was judged and decided.")
                .with("open_jobs", self.jobs.open());
        };
        if arguments.end {
            job.control.end();
        }
        self.follow(&job, arguments.max_s, Waits::ForOther, context)
            .await
    }

    /// Waits for a job, and tells progress where the client gave a token. Answers with the result,
    /// or with the job where it takes longer.
    async fn follow(
        &self,
        job: &Job,
        max_s: Option<u64>,
        waits: Waits,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let token = context.meta.get_progress_token();
        let end = Instant::now() + tools::wait(max_s);
        let mut ticks = tokio::time::interval_at(Instant::now() + TELL_EVERY, TELL_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = job.wait() => break,
                () = context.ct.cancelled() => {
                    if waits == Waits::ForOwn {
                        job.control.end();
                    }
                    break;
                }
                // The answer may still reach a client that only closed its end.
                () = self.jobs.closed() => break,
                () = tokio::time::sleep_until(end) => break,
                _ = ticks.tick(), if token.is_some() => {
                    if let Some(token) = &token {
                        let (message, seconds) = (progress(job), job.started.elapsed().as_secs_f64());
                        let told = ProgressNotificationParam::new(token.clone(), seconds).with_message(message);
                        // A client that is gone is noticed where messages are read.
                        let _ = context.peer.notify_progress(told).await;
                    }
                }
            }
        }
        let answer = job.answer().filter(|_| job.phase() == Phase::Ended);
        answer.map_or_else(|| in_progress(job), |answer| answer.with("job", job.id))
    }
}

/// An answer about wrong arguments.
fn wrong(why: &str) -> Answer {
    Answer::error(
        why,
        "Correct the arguments and call the tool again: tools/list has its schema.",
    )
}

/// How far a job is, in one line.
fn progress(job: &Job) -> String {
    let (run, line) = job.progress();
    let run = run.map(|run| format!("run {run}: ")).unwrap_or_default();
    let mut text = if line.is_empty() {
        format!("{run}{}", job.phase().word())
    } else {
        run + &line
    };
    limits::cut(&mut text, PROGRESS);
    text
}

/// The answer of a call whose job has not ended.
fn in_progress(job: &Job) -> Answer {
    let (run, line) = job.progress();
    let seconds = job.started.elapsed().as_secs();
    let summary = format!(
        "{} goes on as job {}, since {seconds} s: {}",
        job.tool,
        job.id,
        progress(job)
    );
    let next = format!(
        "Call wait with \"job\": {}. With \"end\": true it is ended.",
        job.id
    );
    let rest = json!({
        "job": job.id, "tool": job.tool, "state": job.phase().word(), "run": run, "seconds": seconds, "last_line": line
    });
    Answer::new(&summary, &next, rest)
}
