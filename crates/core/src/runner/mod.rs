//! Starts harnesses, one at a time, and tells how they fare. A newer start ends the older run.

mod announced;
pub mod execute;
pub mod follow;
pub mod held_out;
pub mod process;
pub mod spec;
pub mod standby;
pub mod supervise;

use crate::inputs;
use crate::project::Project;
use crate::run::record::Record;
use crate::run::{Reason, RunId, RunStart};
use crate::runner::execute::{NotRun, Told};
use crate::runner::process::Control;
use crate::runner::spec::{Order, own_program};
use crate::runner::standby::Standby;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

pub use crate::runner::follow::Batch;

#[derive(Clone, Debug)]
pub enum RunEvent {
    Started(Box<RunStart>),
    Progress(RunId, Batch),
    /// The verdict stands. Also of a run that a newer save ended (`Outcome::Void`).
    Ended(Box<Record>),
    /// No run could start: kernel.cu is missing, the disk is full, … in words.
    NotStarted {
        reason: Reason,
        why: String,
    },
    /// The harness command of lab.toml is not trusted yet.
    NeedsTrust {
        reason: Reason,
        command: String,
        file: PathBuf,
    },
}

/// Where events go; called from the runner's thread. It may block for a while: the harness then
/// waits at its pipe.
pub type Sink = Arc<dyn Fn(RunEvent) + Send + Sync>;

/// A thread that runs harnesses. Dropping it ends the run that goes on and waits for the thread.
pub struct Runner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    program: PathBuf,
    /// Whether the judge of the next run is started ahead.
    ahead: bool,
}

struct State {
    project: Arc<Project>,
    /// The run that goes on.
    current: Option<Arc<Control>>,
    next: Option<Reason>,
    /// What a judge stands by for may be another by now.
    look: bool,
    quit: bool,
}

/// What the thread is to do.
enum Task {
    Run(Arc<Project>, Order),
    /// See whether the judge on standby still fits.
    Look,
}

impl Runner {
    /// Of a screen: whenever nothing runs, the judge of the next run gets ready.
    pub fn new(project: Arc<Project>, sink: Sink) -> io::Result<Runner> {
        Runner::with_standby(project, own_program(), sink)
    }

    /// `program` is the executable with the lab's hidden subcommands: of a test that is another.
    pub fn with_standby(project: Arc<Project>, program: PathBuf, sink: Sink) -> io::Result<Runner> {
        Runner::begin(project, program, true, sink)
    }

    /// Starts each judge when its run does.
    pub fn with_program(project: Arc<Project>, program: PathBuf, sink: Sink) -> io::Result<Runner> {
        Runner::begin(project, program, false, sink)
    }

    fn begin(project: Arc<Project>, program: PathBuf, ahead: bool, sink: Sink) -> io::Result<Runner> {
        let state = State { project, current: None, next: None, look: false, quit: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new(), program, ahead });
        let of_thread = shared.clone();
        let thread =
            std::thread::Builder::new().name("runner".into()).spawn(move || of_thread.work(&sink))?;
        Ok(Runner { shared, thread: Some(thread) })
    }

    /// Judges the present bytes; a run that goes on is ended first. Returns at once.
    pub fn start(&self, reason: Reason) {
        let mut state = self.shared.lock();
        state.next = Some(reason);
        state.end_current();
        self.shared.wake.notify_one();
    }

    /// Ends the run that goes on, if any. Returns at once; `Ended` follows.
    pub fn kill(&self) {
        let mut state = self.shared.lock();
        state.next = None;
        state.end_current();
    }

    /// HEAD may hold another incumbent now: a judge that stands by for the old one is replaced.
    pub fn look(&self) {
        self.shared.lock().look = true;
        self.shared.wake.notify_one();
    }

    /// Further runs are of this project: lab.toml changed.
    pub fn set_project(&self, project: Arc<Project>) {
        self.shared.lock().project = project;
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.quit = true;
            state.end_current();
        }
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl State {
    fn end_current(&self) {
        if let Some(control) = &self.current {
            control.end();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, sink: &Sink) {
        let mut standby = self.standby();
        while let Some(task) = self.next_task() {
            let Task::Run(project, order) = task else {
                if !standby.as_mut().is_some_and(|standby| self.fits(standby)) {
                    // The old one ends before the new one takes its folder.
                    drop(standby.take());
                    standby = self.standby();
                }
                continue;
            };
            let reason = order.reason;
            // The judge that is ready goes on waiting while something is checked.
            let ready = if reason == Reason::Check { None } else { standby.take() };
            match self.run(ready, &project, &order, sink) {
                Ok(record) => sink(RunEvent::Ended(Box::new(record))),
                Err(NotRun::NeedsTrust { command, file }) => {
                    sink(RunEvent::NeedsTrust { reason, command, file })
                }
                Err(error) => sink(RunEvent::NotStarted { reason, why: error.to_string() }),
            }
            self.lock().current = None;
            standby = standby.or_else(|| self.standby());
        }
    }

    /// A judge for the next run, unless that is waiting already. Where none can be started, the run
    /// will say why.
    fn standby(&self) -> Option<Standby> {
        let (project, order) = {
            let state = self.lock();
            if !self.ahead || state.quit || state.next.is_some() {
                return None;
            }
            (state.project.clone(), self.order(Reason::Saved))
        };
        Standby::start(&project, &order).ok().flatten()
    }

    fn order(&self, reason: Reason) -> Order {
        Order { program: self.program.clone(), ..Order::new(reason) }
    }

    /// Whether a save of the present bytes would be judged by it.
    fn fits(&self, standby: &mut Standby) -> bool {
        let (project, order) = {
            let state = self.lock();
            (state.project.clone(), self.order(Reason::Saved))
        };
        // A kernel that cannot be read now is no reason to replace it.
        inputs::read(&project).map_or(true, |inputs| standby.fits(&project, &order, &inputs))
    }

    /// A run comes before a look; `None` when it is over.
    fn next_task(&self) -> Option<Task> {
        let waiting = |state: &mut State| state.next.is_none() && !state.look && !state.quit;
        let mut state = self.wake.wait_while(self.lock(), waiting).unwrap_or_else(PoisonError::into_inner);
        if state.quit {
            return None;
        }
        let Some(reason) = state.next.take() else {
            state.look = false;
            return Some(Task::Look);
        };
        let order = self.order(reason);
        Some(Task::Run(state.project.clone(), order))
    }

    fn run(
        &self,
        standby: Option<Standby>,
        project: &Project,
        order: &Order,
        sink: &Sink,
    ) -> Result<Record, NotRun> {
        let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
        {
            let mut state = self.lock();
            state.current = Some(control.clone());
            // Told to stop, or to start anew, between the two locks.
            if state.quit || state.next.is_some() {
                control.end();
            }
        }
        execute::execute_with(standby, project, order, &control, |told| match told {
            Told::Started(start) => sink(RunEvent::Started(start)),
            Told::Progress(id, batch) => sink(RunEvent::Progress(id, batch)),
        })
    }
}
