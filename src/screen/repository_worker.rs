//! The repository worker: the thread that reads and writes disk and git for the screen. It answers
//! one request after the other, so a look at the repository never sees half a decision.

use crate::screen::exports;
use crate::screen::worker::{Requests, Worker, in_words};
use lab_decide::status;
use lab_decide::{Decided, Refusal, Restored};
use lab_git::{Marks, Repo};
use lab_history::kernels;
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
use lab_tui::reply::{Changed, Overview, RepositoryReply, RestoredKernel, RunLog};
use lab_tui::request::{Change, RepositoryRequest};
use lab_watch::Watcher;
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
    /// The user named no kernel and none is meant: `kernel` is one of several.
    pub lists: bool,
}

impl Opening {
    /// Whether the user is to say which kernel: none was named, the folder is not a kernel's, and
    /// the repository has several.
    pub fn asks_for_kernel(&self, project: &Project) -> bool {
        self.lists
            || self.kernel.is_none()
                && !self.from.starts_with(&project.problem_dir)
                && kernels::names(project).len() > 1
    }
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
        is_first: true,
    };
    Worker::start("repository", replaces, move |requests| {
        // First, because this may put a kernel on disk, which the watcher must not report as a
        // save.
        let resumed = lab_decide::resume(&thread.project).map_err(in_words);
        if let Some(text) = resumed.unwrap_or_else(Some) {
            thread.warn(text);
        }
        // Before the first look, so that a save between the two is not missed.
        thread.watch();
        requests.answer(&thread.events.clone(), |request, requests| {
            Some(Event::Repository(thread.answer(request, requests)))
        });
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
    /// No look was taken yet.
    is_first: bool,
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
            RepositoryRequest::Change(change) => {
                RepositoryReply::Changed(self.change(change, requests))
            }
            RepositoryRequest::Undoable => {
                self.index.refresh();
                let repo = Repo::open(project).map_err(Refusal::from);
                let undoable = repo.and_then(|repo| lab_decide::undoable(&repo, &self.index));
                RepositoryReply::Undoable(undoable.map_err(|refusal| refusal.to_string()))
            }
            RepositoryRequest::Trust(request) => {
                RepositoryReply::Trusted(trust::grant(&request).map_err(in_words))
            }
            RepositoryRequest::Loop(asked) => RepositoryReply::LoopAsked(
                asked,
                lab_auto::request_everywhere(project, asked)
                    .map(drop)
                    .map_err(in_words),
            ),
            RepositoryRequest::Cite(source, decision) => {
                let repo = Repo::open(project);
                let cited = repo.and_then(|repo| lab_board::cite(&repo, &decision, source));
                RepositoryReply::Cited(cited.map_err(in_words))
            }
            RepositoryRequest::Export(export) => {
                RepositoryReply::Exported(exports::write(project, export).map_err(in_words))
            }
            RepositoryRequest::Reopen => self.reopen(),
        }
    }

    /// Looks at disk and git with one repository handle.
    fn look(&mut self) -> Overview {
        let at = lab_run::now();
        let repo = match Repo::open(&self.project) {
            Ok(repo) => repo,
            Err(error) => {
                let why = in_words(error);
                return Overview {
                    at,
                    stage_times: None,
                    status: Err(why.clone()),
                    log: Err(why.clone()),
                    history: Err(why),
                };
            }
        };
        self.index.refresh();
        let history = lab_history::look(&repo, &mut self.index);
        let is_first = std::mem::take(&mut self.is_first);
        let stage_times =
            is_first.then(|| lab_history::stage_times(&self.index, &self.project.kernel_name));
        let log = lab_git::log_page(&repo, &Marks::of(&history.experiments), None, COMMITS);
        Overview {
            at,
            stage_times,
            status: status::look(&repo, &self.index).map_err(in_words),
            log: log.map_err(in_words),
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
            Err(why) => RepositoryReply::Project(Err(in_words(why))),
        }
    }

    fn change(
        &mut self,
        change: Change,
        requests: &Requests<RepositoryRequest>,
    ) -> Result<Changed, Refusal> {
        match change {
            Change::Keep {
                run,
                message,
                by_rule,
            } => {
                let control = requests.control().map_err(anyhow::Error::from)?;
                let kept = self.keep(run, &message, by_rule, &control);
                kept.map(Changed::Decided)
            }
            Change::Discard {
                run,
                message,
                confirmed,
            } => self.put(move |project| {
                let index = &mut RunIndex::new(project);
                let decided = lab_decide::discard(project, index, Some(run), &message, confirmed)?;
                Ok((Changed::Decided(decided), Some("HEAD".to_owned())))
            }),
            Change::Undo(run) => self.put(move |project| {
                let undone = lab_decide::undo(project, Some(run), |_| {})?;
                // Undoing a keep puts nothing on disk.
                let put = (undone.last.status != Status::Keep).then(|| undone.last.commit.clone());
                Ok((Changed::Undone(undone), put))
            }),
            // The reply names the blob of the kernel, so that the next look can have it judged.
            Change::Restore(commit) => self.put(move |project| {
                let restored = lab_decide::restore(project, &commit)?;
                put_on_disk(project, restored, None)
            }),
            Change::ApplyPoint(number) => self.put(move |project| {
                let (point, restored) = lab_decide::apply_point(project, Some(number))?;
                let unnamed = point.unnamed.map_or_else(String::new, |why| {
                    format!("; the commit does not name the sweep: {why}")
                });
                let (sweep, values) = (point.sweep, point.values);
                let said = format!("point {number} of sweep {sweep}: {values}{unnamed}");
                put_on_disk(project, restored, Some(said))
            }),
            Change::Describe {
                commit,
                description,
                trailers,
            } => {
                let changes = lab_decide::Changes {
                    description: description.as_deref(),
                    trailers: &trailers,
                };
                lab_decide::describe(&self.project, &commit, &changes).map(Changed::Described)
            }
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

    /// Makes a change that puts the kernel of a commit on disk, and returns the commit with it. The
    /// watcher knows of the write, so it reports no save.
    fn put(
        &self,
        change: impl FnOnce(&Project) -> Result<(Changed, Option<String>), Refusal> + Send + 'static,
    ) -> Result<Changed, Refusal> {
        let project = Arc::clone(&self.project);
        let act = move || match change(&project) {
            Ok((changed, commit)) => {
                let put = commit.and_then(|commit| bytes_of(&project, &commit).ok());
                (Ok(changed), put)
            }
            // The decision of an earlier lab was completed: that may have put bytes on disk.
            Err(refusal @ Refusal::Resumed { .. }) => {
                (Err(refusal), std::fs::read(&project.kernel).ok())
            }
            Err(refusal) => (Err(refusal), None),
        };
        match &self.watcher {
            Some(watcher) => watcher
                .without_event(act)
                .unwrap_or_else(|| Err(Refusal::No(WATCHER_GONE.to_owned()))),
            None => act().0,
        }
    }

    /// Reads the log of a run. A log that cannot be read counts as empty: the record holds the
    /// verdict.
    fn load_log(&self, run: RunId) -> RunLog {
        let records = RunStore::of(&self.project);
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

/// The reply about a kernel that was put on disk, with its commit.
fn put_on_disk(
    project: &Project,
    restored: Restored,
    point: Option<String>,
) -> Result<(Changed, Option<String>), Refusal> {
    let bytes = bytes_of(project, &restored.commit)?;
    let blob = lab_git::blob_id(&Repo::open(project)?, &project.kernel_name, &bytes)?;
    let put = restored.commit.clone();
    let kernel = RestoredKernel {
        restored,
        point,
        blob,
    };
    Ok((Changed::Restored(kernel), Some(put)))
}

/// The kernel of a commit, in the form that it has on disk.
fn bytes_of(project: &Project, commit: &str) -> anyhow::Result<Vec<u8>> {
    lab_git::bytes_of(&Repo::open(project)?, commit)
}
