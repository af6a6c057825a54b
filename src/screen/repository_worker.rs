//! The repository worker: the thread that reads and writes disk and git for the screen. It answers
//! one request after the other, so a look at the repository never sees half a decision.

use crate::screen::worker::{Requests, Worker};
use jiff::Timestamp;
use lab_decide::status;
use lab_decide::{Decided, Refusal, Undone};
use lab_git::{Marks, Repo};
use lab_project::Project;
use lab_project::trust;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::message::Message;
use lab_runner::follow::read_log;
use lab_runner::held_out::RunContext;
use lab_runner::process::Control;
use lab_runner::spec;
use lab_store::RunIndex;
use lab_store::RunStore;
use lab_tui::event::Event;
use lab_tui::reply::{Overview, RepositoryReply, RestoredKernel, RunLog};
use lab_tui::request::RepositoryRequest;
use lab_watch::{Watcher, Written};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The git log shows at most this many commits.
const COMMITS: usize = 500;

/// At most this many lines of an old run's log are read.
const LOG_LINES: usize = 20_000;

/// The error where the watcher has panicked.
const WATCHER_GONE: &str =
    "the file watcher has stopped, so nothing was put on disk: restart `lab`";

/// The arguments the project was opened with. The worker opens it again with them when lab.toml
/// changes.
#[derive(Clone, Debug)]
pub struct Opening {
    pub from: PathBuf,
    pub kernel: Option<PathBuf>,
}

/// Starts the thread. A keep that is still being checked is ended by [`Worker::stop`] and with the
/// screen; a decision that is being carried out is waited for.
pub fn start(
    project: Arc<Project>,
    opening: Opening,
    events: Sender<Event>,
) -> std::io::Result<Worker<RepositoryRequest>> {
    let index = RunIndex::new(&project);
    let mut thread = RepositoryThread {
        project,
        opening,
        events,
        watcher: None,
        index,
    };
    Worker::start("repository", replaces, move |requests| {
        // First, because this may put a kernel on disk, which the watcher must not report as a
        // save.
        let resumed = lab_decide::resume(&thread.project).map_err(in_one_line);
        if let Some(text) = resumed.unwrap_or_else(Some) {
            thread.warn(text);
        }
        // Before the first look, so that a save between the two is not missed.
        thread.watch();
        while let Some(request) = requests.wait() {
            let answer = thread.answer(request, requests);
            if thread.events.send(Event::Repository(answer)).is_err() {
                return;
            }
        }
    })
}

/// Of several waiting looks only the last is answered.
pub fn replaces(known: &RepositoryRequest, new: &RepositoryRequest) -> bool {
    *known == RepositoryRequest::Look && *new == RepositoryRequest::Look
}

struct RepositoryThread {
    project: Arc<Project>,
    opening: Opening,
    events: Sender<Event>,
    watcher: Option<Watcher>,
    /// The index of all runs. A look reads only what changed since the last one.
    index: RunIndex,
}

impl RepositoryThread {
    fn watch(&mut self) {
        let events = self.events.clone();
        let sink = Arc::new(move |event| drop(events.send(Event::Watch(event))));
        match lab_watch::start(Arc::clone(&self.project), sink) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(why) => {
                self.warn(format!(
                    "saves are not noticed, a rerun judges by hand: {why}"
                ));
            }
        }
    }

    fn warn(&self, text: String) {
        // Sending fails only while the screen closes.
        let _ = self
            .events
            .send(Event::Watch(lab_watch::WatchEvent::Problem(text)));
    }

    fn answer(
        &mut self,
        request: RepositoryRequest,
        requests: &Requests<RepositoryRequest>,
    ) -> RepositoryReply {
        let project = &*self.project;
        match request {
            RepositoryRequest::Look => RepositoryReply::Overview(Box::new(self.look())),
            RepositoryRequest::Log(run) => RepositoryReply::Log(Box::new(self.load_log(run))),
            RepositoryRequest::Keep {
                run,
                message,
                by_rule,
            } => {
                let control = requests
                    .control()
                    .map_err(|error| Refusal::from(anyhow::Error::from(error)));
                let kept = control.and_then(|control| self.keep(run, &message, by_rule, &control));
                RepositoryReply::Decided(kept)
            }
            RepositoryRequest::Discard {
                run,
                message,
                confirmed,
            } => RepositoryReply::Decided(self.discard(run, message, confirmed)),
            RepositoryRequest::Undoable => {
                self.index.refresh();
                let repo = Repo::open(project).map_err(Refusal::from);
                let undoable = repo.and_then(|repo| lab_decide::undoable(&repo, &self.index));
                RepositoryReply::Undoable(undoable.map_err(|refusal| refusal.to_string()))
            }
            RepositoryRequest::Undo(run) => RepositoryReply::Undone(self.undo(run)),
            RepositoryRequest::Describe {
                commit,
                description,
            } => RepositoryReply::Described(lab_decide::describe(
                project,
                &commit,
                &lab_decide::Changes {
                    description: Some(&description),
                    trailers: &[],
                },
            )),
            RepositoryRequest::Restore(commit) => {
                RepositoryReply::Restored(self.restore(commit).map_err(in_one_line))
            }
            RepositoryRequest::Trust(request) => {
                RepositoryReply::Trusted(trust::grant(&request).map_err(in_one_line))
            }
            RepositoryRequest::Kernels => {
                self.index.refresh();
                RepositoryReply::Kernels(lab_history::kernels::list(project, &self.index))
            }
            RepositoryRequest::Loop(asked) => RepositoryReply::LoopAsked(
                asked,
                lab_auto::request_everywhere(project, asked)
                    .map(drop)
                    .map_err(in_one_line),
            ),
            RepositoryRequest::Reopen => self.reopen(),
        }
    }

    /// Looks at disk and git with one repository handle.
    fn look(&mut self) -> Overview {
        let at = Timestamp::now();
        let repo = match Repo::open(&self.project) {
            Ok(repo) => repo,
            Err(error) => {
                let why = in_one_line(error);
                return Overview {
                    at,
                    status: Err(why.clone()),
                    log: Err(why.clone()),
                    history: Err(why),
                };
            }
        };
        self.index.refresh();
        let history = lab_history::look(&repo, &mut self.index);
        let log = lab_git::log_page(&repo, &Marks::of(&history.experiments), None, COMMITS);
        Overview {
            at,
            status: status::look(&repo, &self.index).map_err(in_one_line),
            log: log.map_err(in_one_line),
            history: Ok(history),
        }
    }

    fn reopen(&mut self) -> RepositoryReply {
        match Project::open(&self.opening.from, self.opening.kernel.as_deref()) {
            Ok(project) => {
                self.project = Arc::new(project);
                self.index = RunIndex::new(&self.project);
                self.watch();
                RepositoryReply::Project(Ok(Arc::clone(&self.project)))
            }
            Err(why) => RepositoryReply::Project(Err(in_one_line(why))),
        }
    }

    fn keep(
        &mut self,
        run: RunId,
        message: &Message,
        by_rule: bool,
        control: &Control,
    ) -> Result<Decided, Refusal> {
        let events = &self.events;
        let mut asked = RunContext {
            control,
            program: spec::own_program(),
            tell: &mut |run, batch| {
                drop(events.send(Event::Repository(RepositoryReply::HeldOut(run, batch))));
            },
            by_rule,
        };
        lab_decide::keep(
            &self.project,
            &mut self.index,
            Some(run),
            message,
            &mut asked,
        )
    }

    /// Puts the incumbent on disk. The watcher is told, so that it does not report a save.
    fn discard(&self, run: RunId, message: Message, confirmed: bool) -> Result<Decided, Refusal> {
        let project = Arc::clone(&self.project);
        let act = move || {
            let decided = lab_decide::discard(
                &project,
                &mut RunIndex::new(&project),
                Some(run),
                &message,
                confirmed,
            );
            let put = match &decided {
                Ok(_) => bytes_of(&project, "HEAD").ok(),
                Err(refusal) => put_by_resuming(&project, refusal),
            };
            (decided, put)
        };
        self.without_a_save(act)
            .unwrap_or_else(|| Err(Refusal::No(WATCHER_GONE.to_owned())))
    }

    /// Takes a decision back. The watcher is told of the bytes that this puts on disk.
    fn undo(&self, run: RunId) -> Result<Undone, Refusal> {
        let project = Arc::clone(&self.project);
        let act = move || {
            let undone = lab_decide::undo(&project, Some(run), |_| {});
            let put = match &undone {
                // Undoing a keep puts nothing on disk.
                Ok(undone) if undone.last.status == Status::Keep => None,
                Ok(undone) => bytes_of(&project, &undone.last.commit).ok(),
                Err(refusal) => put_by_resuming(&project, refusal),
            };
            (undone, put)
        };
        self.without_a_save(act)
            .unwrap_or_else(|| Err(Refusal::No(WATCHER_GONE.to_owned())))
    }

    /// Puts the kernel of a commit on disk. The reply names its blob, so that the next look can
    /// have it judged.
    fn restore(&self, commit: String) -> anyhow::Result<RestoredKernel> {
        let project = Arc::clone(&self.project);
        let act = move || {
            let put_back = || -> anyhow::Result<(RestoredKernel, Vec<u8>)> {
                let restored = lab_decide::restore(&project, &commit)?;
                let repo = Repo::open(&project)?;
                let bytes = lab_git::bytes_of(&repo, &restored.commit)?;
                let blob = lab_git::blob_id(&repo, &project.kernel_name, &bytes)?;
                Ok((RestoredKernel { restored, blob }, bytes))
            };
            match put_back() {
                Ok((put_back, bytes)) => (Ok(put_back), Some(bytes)),
                Err(error) => {
                    let put = error
                        .downcast_ref()
                        .and_then(|refusal| put_by_resuming(&project, refusal));
                    (Err(error), put)
                }
            }
        };
        self.without_a_save(act)
            .unwrap_or_else(|| Err(anyhow::anyhow!(WATCHER_GONE)))
    }

    /// Runs `act`, which puts bytes on disk, so that the watcher does not report them as a save.
    /// `None` if the watcher has stopped.
    fn without_a_save<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> (T, Written) + Send + 'static,
    ) -> Option<T> {
        match &self.watcher {
            Some(watcher) => watcher.without_event(act),
            None => Some(act().0),
        }
    }

    /// Reads the log of a run. A log that cannot be read counts as empty: the record holds the
    /// verdict.
    fn load_log(&self, run: RunId) -> RunLog {
        let records = RunStore::new(&self.project.lab_dir);
        let lines = records
            .open_log(run)
            .and_then(|log| read_log(log, LOG_LINES))
            .unwrap_or_default();
        let mut report = records
            .read(run)
            .map(|record| record.report())
            .unwrap_or_default();
        // Compiler diagnostics are in the log only, not in the record.
        for line in lines.iter().filter(|line| !line.result) {
            report.push_line(&line.text);
        }
        RunLog {
            run,
            lines,
            report: Arc::new(report),
        }
    }
}

/// The kernel of a commit, in the form that it has on disk.
fn bytes_of(project: &Project, commit: &str) -> anyhow::Result<Vec<u8>> {
    lab_git::bytes_of(&Repo::open(project)?, commit)
}

/// The error and its causes, in one line.
fn in_one_line(error: anyhow::Error) -> String {
    format!("{error:#}")
}

/// The bytes on disk, if a decision was refused because that of an earlier lab was completed: that
/// may have put them there.
fn put_by_resuming(project: &Project, refusal: &Refusal) -> Written {
    match refusal {
        Refusal::Resumed { .. } => std::fs::read(&project.kernel).ok(),
        _ => None,
    }
}
