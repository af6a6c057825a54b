//! The repository worker: the thread that reads and writes disk and git for the screen. It answers
//! one request after the other, so a look at the repository never sees half a decision.

use jiff::Timestamp;
use lab_core::decide::{Decided, Refusal, Undone};
use lab_core::message::Message;
use lab_core::project::Project;
use lab_core::project::trust;
use lab_core::repo::{Marks, Repo};
use lab_core::run::RunId;
use lab_core::run::experiment::Status;
use lab_core::runner::follow::read_log;
use lab_core::runner::held_out::RunContext;
use lab_core::runner::process::Control;
use lab_core::runner::spec;
use lab_core::store::RunIndex;
use lab_core::store::RunStore;
use lab_core::watch::{self, Watcher, Written};
use lab_core::{auto, decide, history, repo, status};
use lab_tui::event::Event;
use lab_tui::reply::{Overview, RepositoryReply, RestoredKernel, RunLog};
use lab_tui::request::RepositoryRequest;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

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

pub struct RepositoryWorker {
    requests: Option<Sender<RepositoryRequest>>,
    keep: Arc<Mutex<CheckControl>>,
    thread: Option<JoinHandle<()>>,
}

/// The held-out check before a keep. Another thread can end it.
#[derive(Default)]
struct CheckControl {
    running: Option<Arc<Control>>,
    /// The screen closes: no further check starts.
    closing: bool,
}

fn lock(keep: &Mutex<CheckControl>) -> MutexGuard<'_, CheckControl> {
    keep.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RepositoryWorker {
    pub fn start(
        project: Arc<Project>,
        opening: Opening,
        events: Sender<Event>,
    ) -> std::io::Result<Self> {
        let (requests, inbox) = mpsc::channel();
        let keep = Arc::<Mutex<CheckControl>>::default();
        let index = RunIndex::new(&project);
        let mut worker = RepositoryThread {
            project,
            opening,
            events,
            watcher: None,
            keep: keep.clone(),
            index,
        };
        let thread = thread::Builder::new()
            .name("repository".to_owned())
            .spawn(move || {
                // First, because this may put a kernel on disk, which the watcher must not report
                // as a save.
                let resumed = decide::resume(&worker.project).map_err(in_one_line);
                if let Some(text) = resumed.unwrap_or_else(Some) {
                    let _ = worker
                        .events
                        .send(Event::Watch(watch::WatchEvent::Problem(text)));
                }
                // Before the first look, so that a save between the two is not missed.
                worker.watch();
                let mut waiting = VecDeque::new();
                while let Some(request) = next(&inbox, &mut waiting) {
                    let answer = worker.answer(request);
                    if worker.events.send(Event::Repository(answer)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(RepositoryWorker {
            requests: Some(requests),
            keep,
            thread: Some(thread),
        })
    }

    /// Ends the held-out check before a keep, if one runs.
    pub fn stop_keep(&self) {
        if let Some(control) = &lock(&self.keep).running {
            control.end();
        }
    }

    pub fn ask(&self, request: RepositoryRequest) {
        if let Some(requests) = &self.requests {
            // The channel is closed only after the worker has panicked, and the panic hook has
            // reported that.
            let _ = requests.send(request);
        }
    }
}

impl Drop for RepositoryWorker {
    /// Waits for a decision that is being carried out. A keep that is still being checked is
    /// cancelled.
    fn drop(&mut self) {
        lock(&self.keep).closing = true;
        self.stop_keep();
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the next request. Of several waiting looks only the last is answered.
fn next(
    inbox: &mpsc::Receiver<RepositoryRequest>,
    waiting: &mut VecDeque<RepositoryRequest>,
) -> Option<RepositoryRequest> {
    if waiting.is_empty() {
        waiting.push_back(inbox.recv().ok()?);
    }
    waiting.extend(inbox.try_iter());
    if let Some(last) = waiting.iter().rposition(|r| *r == RepositoryRequest::Look) {
        let mut at = 0;
        waiting.retain(|request| {
            let keep = *request != RepositoryRequest::Look || at == last;
            at += 1;
            keep
        });
    }
    waiting.pop_front()
}

struct RepositoryThread {
    project: Arc<Project>,
    opening: Opening,
    events: Sender<Event>,
    watcher: Option<Watcher>,
    keep: Arc<Mutex<CheckControl>>,
    /// The index of all runs. A look reads only what changed since the last one.
    index: RunIndex,
}

impl RepositoryThread {
    fn watch(&mut self) {
        let events = self.events.clone();
        let sink = Arc::new(move |event| drop(events.send(Event::Watch(event))));
        match watch::start(Arc::clone(&self.project), sink) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(why) => {
                let text = format!("saves are not noticed, a rerun judges by hand: {why}");
                let _ = self
                    .events
                    .send(Event::Watch(watch::WatchEvent::Problem(text)));
            }
        }
    }

    fn answer(&mut self, request: RepositoryRequest) -> RepositoryReply {
        let project = &*self.project;
        match request {
            RepositoryRequest::Look => RepositoryReply::Overview(Box::new(self.look())),
            RepositoryRequest::Log(run) => RepositoryReply::Log(Box::new(self.load_log(run))),
            RepositoryRequest::Keep {
                run,
                message,
                by_rule,
            } => RepositoryReply::Decided(self.keep(run, &message, by_rule)),
            RepositoryRequest::Discard {
                run,
                message,
                confirmed,
            } => RepositoryReply::Decided(self.discard(run, message, confirmed)),
            RepositoryRequest::Undoable => {
                self.index.refresh();
                let repo = Repo::open(project).map_err(Refusal::from);
                let undoable = repo.and_then(|repo| decide::undoable(&repo, project, &self.index));
                RepositoryReply::Undoable(undoable.map_err(|refusal| refusal.to_string()))
            }
            RepositoryRequest::Undo(run) => RepositoryReply::Undone(self.undo(run)),
            RepositoryRequest::Describe {
                commit,
                description,
            } => RepositoryReply::Described(decide::describe(
                project,
                &commit,
                &decide::Changes::of_description(&description),
            )),
            RepositoryRequest::Restore(commit) => {
                RepositoryReply::Restored(self.restore(commit).map_err(in_one_line))
            }
            RepositoryRequest::Trust(request) => {
                RepositoryReply::Trusted(trust::grant(&request).map_err(in_one_line))
            }
            RepositoryRequest::Kernels => {
                self.index.refresh();
                RepositoryReply::Kernels(history::kernels::list(project, &self.index))
            }
            RepositoryRequest::Loop(asked) => RepositoryReply::LoopAsked(
                asked,
                auto::request_everywhere(project, asked)
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
        let history = history::look(&repo, &self.project, &mut self.index);
        let log = repo::log_page(&repo, &Marks::of(&history.experiments), None, COMMITS);
        Overview {
            at,
            status: status::look(&repo, &self.project, &self.index).map_err(in_one_line),
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

    fn keep(&mut self, run: RunId, message: &Message, by_rule: bool) -> Result<Decided, Refusal> {
        let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
        {
            let mut keep = lock(&self.keep);
            if keep.closing {
                control.end();
            }
            keep.running = Some(control.clone());
        }
        let mut asked = RunContext {
            control: &control,
            program: spec::own_program(),
            tell: &mut |run, batch| {
                drop(
                    self.events
                        .send(Event::Repository(RepositoryReply::HeldOut(run, batch))),
                );
            },
            by_rule,
        };
        let came = decide::keep(
            &self.project,
            &mut self.index,
            Some(run),
            message,
            &mut asked,
        );
        lock(&self.keep).running = None;
        came
    }

    /// Puts the incumbent on disk. The watcher is told, so that it does not report a save.
    fn discard(&self, run: RunId, message: Message, confirmed: bool) -> Result<Decided, Refusal> {
        let project = Arc::clone(&self.project);
        let act = move || {
            let decided = decide::discard(
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
            let undone = decide::undo(&project, Some(run));
            let put = match &undone {
                // Undoing a keep puts nothing on disk.
                Ok(undone) if undone.status == Status::Keep => None,
                Ok(undone) => bytes_of(&project, &undone.commit).ok(),
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
                let restored = decide::restore(&project, &commit)?;
                let repo = Repo::open(&project)?;
                let bytes = repo::bytes_of(&repo, &project, &restored.commit)?;
                let blob = repo::blob_id(&repo, &project.kernel_name, &bytes)?;
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
    repo::bytes_of(&Repo::open(project)?, project, commit)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_waiting_looks_only_the_last_is_answered() {
        let (send, inbox) = mpsc::channel();
        for request in [
            RepositoryRequest::Look,
            RepositoryRequest::Log(RunId(1)),
            RepositoryRequest::Look,
            RepositoryRequest::Look,
            RepositoryRequest::Undoable,
        ] {
            send.send(request).expect("the inbox is here");
        }
        drop(send);
        let mut waiting = VecDeque::new();
        let order: Vec<RepositoryRequest> =
            std::iter::from_fn(|| next(&inbox, &mut waiting)).collect();
        assert_eq!(
            order,
            [
                RepositoryRequest::Log(RunId(1)),
                RepositoryRequest::Look,
                RepositoryRequest::Undoable
            ]
        );
    }
}
