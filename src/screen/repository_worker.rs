//! The thread that reads and writes disk and git for the screen: one request after the other, so
//! that a look at the repository never sees half a decision.

use lab_core::decide::{Decided, Refusal, Undone};
use lab_core::message::Message;
use lab_core::project::Project;
use lab_core::project::trust;
use lab_core::repo::Marks;
use lab_core::run::RunId;
use lab_core::run::experiment::Status;
use lab_core::runner::follow::read_log;
use lab_core::runner::held_out::Asked;
use lab_core::runner::process::Control;
use lab_core::runner::spec as order;
use lab_core::store::Records;
use lab_core::store::index::Shelf;
use lab_core::watch::{self, Put, Watcher};
use lab_core::{decide, history, repo, status};
use lab_tui::event::{Event, Facts, LastLog, PutBack};
use lab_tui::request::Request;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Commits that the git log shows at most.
const COMMITS: usize = 500;

/// Lines of an old run's log that are read at most.
const LOG_LINES: usize = 20_000;

/// The watcher's thread broke.
const DEAF: &str = "nothing watches the kernel any more: start the lab anew";

/// How the project was opened, to open it again when lab.toml changes.
#[derive(Clone, Debug)]
pub struct Opening {
    pub from: PathBuf,
    pub kernel: Option<PathBuf>,
}

pub struct Desk {
    requests: Option<Sender<Request>>,
    keep: Arc<Mutex<Keep>>,
    thread: Option<JoinHandle<()>>,
}

/// The check before a keep, to be ended from another thread.
#[derive(Default)]
struct Keep {
    going_on: Option<Arc<Control>>,
    /// The screen is being left: none is begun any more.
    over: bool,
}

fn lock(keep: &Mutex<Keep>) -> MutexGuard<'_, Keep> {
    keep.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    pub fn start(project: Arc<Project>, opening: Opening, events: Sender<Event>) -> std::io::Result<Self> {
        let (requests, inbox) = mpsc::channel();
        let keep = Arc::<Mutex<Keep>>::default();
        let shelf = Shelf::new(&project);
        let mut clerk = Clerk { project, opening, events, watcher: None, keep: keep.clone(), shelf };
        let thread = thread::Builder::new().name("desk".to_owned()).spawn(move || {
            // Before anything is watched: it may put a kernel on disk.
            if let Err(why) = decide::mend(&clerk.project) {
                let _ = clerk.events.send(Event::Watch(watch::WatchEvent::Problem(in_words(why))));
            }
            // Before the first look: a save between the two must not be missed.
            clerk.watch();
            let mut waiting = VecDeque::new();
            while let Some(request) = next(&inbox, &mut waiting) {
                let answer = clerk.answer(request);
                if clerk.events.send(answer).is_err() {
                    return;
                }
            }
        })?;
        Ok(Desk { requests: Some(requests), keep, thread: Some(thread) })
    }

    /// Ends the check that goes on before a keep, if any.
    pub fn stop_keep(&self) {
        if let Some(control) = &lock(&self.keep).going_on {
            control.end();
        }
    }

    pub fn ask(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // Where the desk broke, the screen was told by the panic hook.
            let _ = requests.send(request);
        }
    }
}

impl Drop for Desk {
    /// A decision that is being carried out is finished first; one that is still being checked is not made.
    fn drop(&mut self) {
        lock(&self.keep).over = true;
        self.stop_keep();
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The next request. Of several looks that wait, one is enough: the last.
fn next(inbox: &mpsc::Receiver<Request>, waiting: &mut VecDeque<Request>) -> Option<Request> {
    if waiting.is_empty() {
        waiting.push_back(inbox.recv().ok()?);
    }
    waiting.extend(inbox.try_iter());
    if let Some(last) = waiting.iter().rposition(|r| *r == Request::Look) {
        let mut at = 0;
        waiting.retain(|request| {
            let keep = *request != Request::Look || at == last;
            at += 1;
            keep
        });
    }
    waiting.pop_front()
}

struct Clerk {
    project: Arc<Project>,
    opening: Opening,
    events: Sender<Event>,
    watcher: Option<Watcher>,
    keep: Arc<Mutex<Keep>>,
    /// What is known of all runs: a look reads only what is new.
    shelf: Shelf,
}

impl Clerk {
    fn watch(&mut self) {
        let events = self.events.clone();
        let sink = Arc::new(move |event| drop(events.send(Event::Watch(event))));
        match watch::start(Arc::clone(&self.project), sink) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(why) => {
                let text = format!("saves are not noticed, a rerun judges by hand: {why}");
                let _ = self.events.send(Event::Watch(watch::WatchEvent::Problem(text)));
            }
        }
    }

    fn answer(&mut self, request: Request) -> Event {
        let project = &*self.project;
        match request {
            Request::Look => {
                self.shelf.refresh();
                let history = history::look(project, &mut self.shelf);
                let log = repo::log_page(project, &Marks::of(&history.experiments), None, COMMITS);
                Event::Facts(Box::new(Facts {
                    status: status::look(project, &self.shelf).map_err(in_words),
                    log: log.map_err(in_words),
                    history: Ok(history),
                }))
            }
            Request::Log(run) => Event::LastLog(Box::new(self.load_log(run))),
            Request::Keep { run, message } => Event::Decided(self.keep(run, &message)),
            Request::Discard { run, message, confirmed } => {
                Event::Decided(self.discard(run, message, confirmed))
            }
            Request::Undoable => {
                self.shelf.refresh();
                Event::Undoable(decide::undoable(project, &self.shelf))
            }
            Request::Undo(run) => Event::Undone(self.undo(run)),
            Request::Describe { commit, description } => {
                Event::Described(decide::describe(project, &commit, &description))
            }
            Request::Restore(commit) => Event::Restored(self.restore(commit).map_err(in_words)),
            Request::Trust => Event::Trusted(trust::grant(project).map(drop).map_err(in_words)),
            Request::Reopen => self.reopen(),
        }
    }

    fn reopen(&mut self) -> Event {
        match Project::open(&self.opening.from, self.opening.kernel.as_deref()) {
            Ok(project) => {
                self.project = Arc::new(project);
                self.shelf = Shelf::new(&self.project);
                self.watch();
                Event::Project(Ok(Arc::clone(&self.project)))
            }
            Err(why) => Event::Project(Err(in_words(why))),
        }
    }

    fn keep(&self, run: RunId, message: &Message) -> Result<Decided, Refusal> {
        let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
        {
            let mut keep = lock(&self.keep);
            if keep.over {
                control.end();
            }
            keep.going_on = Some(control.clone());
        }
        let mut asked = Asked {
            control: &control,
            program: order::own_program(),
            tell: &mut |run, batch| drop(self.events.send(Event::HeldOut(run, batch))),
        };
        let came = decide::keep(&self.project, Some(run), message, &mut asked);
        lock(&self.keep).going_on = None;
        came
    }

    /// Puts bytes on disk, which the watcher must not take for a save.
    fn discard(&self, run: RunId, message: Message, confirmed: bool) -> Result<Decided, Refusal> {
        let project = Arc::clone(&self.project);
        let act = move || {
            let decided = decide::discard(&project, Some(run), &message, confirmed);
            let put = decided.is_ok().then(|| repo::bytes_of(&project, "HEAD").ok()).flatten();
            (decided, put)
        };
        self.unnoticed(act).unwrap_or_else(|| Err(Refusal::No(DEAF.to_owned())))
    }

    /// Likewise.
    fn undo(&self, run: RunId) -> Result<Undone, Refusal> {
        let project = Arc::clone(&self.project);
        let act = move || {
            let undone = decide::undo(&project, Some(run));
            // Of a keep nothing is put on disk.
            let from = undone.as_ref().ok().filter(|undone| undone.status != Status::Keep);
            let put = from.and_then(|undone| repo::bytes_of(&project, &undone.commit).ok());
            (undone, put)
        };
        self.unnoticed(act).unwrap_or_else(|| Err(Refusal::No(DEAF.to_owned())))
    }

    /// Likewise. Which bytes they are the next look is told, so that they can be judged.
    fn restore(&self, commit: String) -> anyhow::Result<PutBack> {
        let project = Arc::clone(&self.project);
        let put_back = move || {
            let restored = decide::restore(&project, &commit)?;
            let bytes = repo::bytes_of(&project, &restored.commit)?;
            let blob = repo::blob_id(&project, &project.kernel_name, &bytes)?;
            Ok((PutBack { restored, blob }, bytes))
        };
        let act = move || match put_back() {
            Ok((put_back, bytes)) => (Ok(put_back), Some(bytes)),
            Err(error) => (Err(error), None),
        };
        self.unnoticed(act).unwrap_or_else(|| Err(anyhow::anyhow!(DEAF)))
    }

    /// Does what puts bytes on disk; `None` where the watcher is gone.
    fn unnoticed<T: Send + 'static>(&self, act: impl FnOnce() -> (T, Put) + Send + 'static) -> Option<T> {
        match &self.watcher {
            Some(watcher) => watcher.expect(act),
            None => Some(act().0),
        }
    }

    /// A log that cannot be read is an empty one: the record is what counts.
    fn load_log(&self, run: RunId) -> LastLog {
        let records = Records::new(&self.project.lab_dir);
        let lines = read_log(&records.log(run), LOG_LINES).unwrap_or_default();
        let mut report = records.read(run).map(|record| record.report()).unwrap_or_default();
        // Diagnostics are in the log only.
        for line in lines.iter().filter(|line| !line.result) {
            report.push_line(&line.text);
        }
        LastLog { run, lines, report: Arc::new(report) }
    }
}

/// An error and what it came from, in one line.
fn in_words(error: anyhow::Error) -> String {
    format!("{error:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_looks_one_is_taken_and_nothing_else_is_lost() {
        let (send, inbox) = mpsc::channel();
        for request in [Request::Look, Request::Log(RunId(1)), Request::Look, Request::Look, Request::Trust] {
            send.send(request).expect("the inbox is here");
        }
        drop(send);
        let mut waiting = VecDeque::new();
        let order: Vec<Request> = std::iter::from_fn(|| next(&inbox, &mut waiting)).collect();
        assert_eq!(order, [Request::Log(RunId(1)), Request::Look, Request::Trust]);
    }
}
