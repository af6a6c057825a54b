//! Starts harnesses, one at a time, and reports their runs by events. A newer start ends the older
//! run.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod new_peer;

mod announced;
pub mod builder;
mod duplicate;
pub mod event;
pub mod execute;
pub mod follow;
pub(crate) mod harness_files;
pub mod held_out;
pub mod job;
mod log_link;
pub mod process;
pub mod profiling;
pub mod python_standby;
pub mod ready;
pub mod spec;
pub mod standby;
pub mod supervise;
mod thread;

use crate::process::Control;
use crate::spec::{Confinement, RunSpec, own_program};
use crate::thread::Thread;
use lab_project::Project;
use lab_run::RunId;
use lab_system::threads;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

pub use crate::event::{RunEvent, Sink};
pub use crate::follow::Batch;

/// A thread that runs harnesses. Dropping it ends the run in progress and waits for the thread.
pub struct Runner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    program: PathBuf,
    confinement: Confinement,
    /// Whether a judge is kept on standby for the next run.
    keeps_standby: bool,
}

struct State {
    project: Arc<Project>,
    /// Ends the run in progress.
    current: Option<Arc<Control>>,
    next: Option<Next>,
    /// The standby judge may have been started for an older incumbent or an older lab.toml.
    check_standby: bool,
    quit: bool,
}

/// What the thread was asked for.
enum Next {
    Run(RunSpec),
    Follow(RunId),
}

/// What the thread does next.
enum Task {
    Run(Arc<Project>, RunSpec),
    Follow(Arc<Project>, RunId),
    CheckStandby,
}

impl Runner {
    /// The runner of a screen: while nothing runs, the next run's judge is on standby, if the screen
    /// judges.
    pub fn new(
        project: Arc<Project>,
        confinement: Confinement,
        judges: bool,
        sink: Sink,
    ) -> io::Result<Runner> {
        Runner::with_program(project, own_program(), confinement, judges, sink)
    }

    /// A runner of another executable that has the lab's hidden subcommands.
    pub fn with_program(
        project: Arc<Project>,
        program: PathBuf,
        confinement: Confinement,
        keeps_standby: bool,
        sink: Sink,
    ) -> io::Result<Runner> {
        let state = State {
            project,
            current: None,
            next: None,
            check_standby: false,
            quit: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Condvar::new(),
            program,
            confinement,
            keeps_standby,
        });
        let of_thread = shared.clone();
        let thread = threads::start("runner", move || {
            Thread::new(&of_thread, &sink).work();
        })?;
        Ok(Runner {
            shared,
            thread: Some(thread),
        })
    }

    /// Starts a run; a run in progress is ended first. Returns at once. A `Reason` alone is a run
    /// of the files on disk; a [`RunSpec`] may carry the inputs that the watcher read. The runner's
    /// own program goes before the spec's.
    pub fn start(&self, spec: impl Into<RunSpec>) {
        self.ask(Next::Run(spec.into()));
    }

    /// Follows a run that another process judges. Returns at once; after any number of `Progress`
    /// comes `Ended`, or `Left` where the run gave no verdict.
    pub fn follow(&self, run: RunId) {
        self.ask(Next::Follow(run));
    }

    fn ask(&self, next: Next) {
        let mut state = self.shared.lock();
        state.next = Some(next);
        state.end_current();
        self.shared.wake.notify_one();
    }

    /// Ends the run in progress, if any. Returns at once; `Ended` follows.
    pub fn kill(&self) {
        let mut state = self.shared.lock();
        state.next = None;
        state.end_current();
    }

    /// Replaces the standby judge where HEAD holds another incumbent than the judge was started
    /// for. Returns at once.
    pub fn check_standby(&self) {
        self.shared.lock().check_standby = true;
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
        threads::lock(&self.state)
    }

    fn spec(&self, spec: impl Into<RunSpec>) -> RunSpec {
        RunSpec {
            program: self.program.clone(),
            confinement: self.confinement,
            ..spec.into()
        }
    }

    /// Waits for the next task; a run comes before a check of the standby judge. `None` when the
    /// runner is dropped.
    fn next_task(&self) -> Option<Task> {
        let waiting =
            |state: &mut State| state.next.is_none() && !state.check_standby && !state.quit;
        let mut state = self
            .wake
            .wait_while(self.lock(), waiting)
            .unwrap_or_else(PoisonError::into_inner);
        if state.quit {
            return None;
        }
        Some(match state.next.take() {
            Some(Next::Run(spec)) => Task::Run(state.project.clone(), self.spec(spec)),
            Some(Next::Follow(run)) => Task::Follow(state.project.clone(), run),
            None => {
                state.check_standby = false;
                Task::CheckStandby
            }
        })
    }
}
