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

use crate::execute::{Begun, NotRun};
use crate::process::Control;
use crate::python_standby::PythonStandby;
use crate::spec::{Confinement, RunSpec, own_program};
use crate::standby::{Owner, Standby};
use lab_project::Project;
use lab_project::trust::{self, Trust};
use lab_run::inputs::Inputs;
use lab_run::record::Record;
use lab_run::{Reason, RunId};
use lab_store::RunIndex;
use lab_system::threads;
use std::collections::HashSet;
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
    next: Option<RunSpec>,
    /// The standby judge may have been started for an older incumbent or an older lab.toml.
    check_standby: bool,
    quit: bool,
}

/// What the thread does next.
enum Task {
    Run(Arc<Project>, RunSpec),
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
            let (latest, told) = (Latest::default(), HashSet::new());
            Thread {
                shared: &of_thread,
                sink: &sink,
                latest,
                told,
                begun: Vec::new(),
                python: None,
            }
            .work();
        })?;
        Ok(Runner {
            shared,
            thread: Some(thread),
        })
    }

    /// Starts a run; a run in progress is ended first. Returns at once. A [`Reason`] alone is a run
    /// of the files on disk; a [`RunSpec`] may carry the inputs that the watcher read. The runner's
    /// own program goes before the spec's.
    pub fn start(&self, spec: impl Into<RunSpec>) {
        let mut state = self.shared.lock();
        state.next = Some(spec.into());
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

/// The inputs that the thread saw last, and the project that they are of: the next standby judge is
/// started on them.
#[derive(Default)]
struct Latest(Option<(Arc<Project>, Arc<Inputs>)>);

impl Latest {
    /// Reads the files only where no run of this project had inputs before.
    fn of(&mut self, project: &Arc<Project>, spec: &RunSpec) -> Option<Arc<Inputs>> {
        if !self
            .0
            .as_ref()
            .is_some_and(|(of, _)| Arc::ptr_eq(of, project))
        {
            // A kernel that cannot be read is the watcher's to report.
            self.0 = spec
                .read_inputs(project)
                .ok()
                .map(|inputs| (Arc::clone(project), inputs));
        }
        self.0.as_ref().map(|(_, inputs)| Arc::clone(inputs))
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
        let Some(spec) = state.next.take() else {
            state.check_standby = false;
            return Some(Task::CheckStandby);
        };
        Some(Task::Run(state.project.clone(), self.spec(spec)))
    }
}

/// The runner's thread.
struct Thread<'a> {
    shared: &'a Shared,
    sink: &'a Sink,
    latest: Latest,
    /// Reasons without a standby judge that the user was told.
    told: HashSet<String>,
    /// The runs that this thread began.
    begun: Vec<RunId>,
    /// The Python that forks the workers of judges, for a project in which Python runs.
    python: Option<PythonStandby>,
}

impl Thread<'_> {
    fn work(&mut self) {
        let mut standby = self.standby();
        while let Some(task) = self.shared.next_task() {
            let Task::Run(project, spec) = task else {
                if !standby.as_mut().is_some_and(|standby| self.fits(standby)) {
                    // The old judge ends before the new one gets its folder.
                    drop(standby.take());
                    standby = self.standby();
                }
                continue;
            };
            let spec = RunSpec {
                python_standby: self.python_socket(&project),
                ..spec
            };
            let reason = spec.reason;
            // A check leaves the standby judge to the next run.
            let mut none = None;
            let ready = if reason == Reason::Check {
                &mut none
            } else {
                &mut standby
            };
            match self.run(ready, &project, &spec) {
                Ok(Some(record)) => self.tell(RunEvent::Ended(record)),
                Ok(None) => {}
                Err(NotRun::NeedsTrust(request)) => {
                    self.tell(RunEvent::NeedsTrust { reason, request });
                }
                Err(error) => self.tell(RunEvent::NotStarted {
                    reason,
                    why: error.to_string(),
                }),
            }
            self.shared.lock().current = None;
            standby = standby.or_else(|| self.standby());
        }
    }

    fn tell(&mut self, event: RunEvent) {
        match &event {
            RunEvent::NoStandby { why } if !self.told.insert(why.clone()) => {}
            // The screen waits for the newer run already.
            RunEvent::Withdrawn if self.shared.lock().next.is_some() => {}
            _ => (self.sink)(event),
        }
    }

    /// Starts a judge for the next run, unless a run waits already.
    fn standby(&mut self) -> Option<Standby> {
        let project = {
            let state = self.shared.lock();
            if !self.shared.keeps_standby || state.quit || state.next.is_some() {
                return None;
            }
            state.project.clone()
        };
        let mut spec = self.shared.spec(Reason::Saved);
        // Before the user has agreed, no process of this folder starts. The run itself asks.
        if !matches!(
            trust::check(&project, || spec.unconfined(&project)),
            Ok(Trust::Given)
        ) {
            return None;
        }
        let inputs = self.latest.of(&project, &spec)?;
        PythonStandby::keep(&mut self.python, &project, Owner::Screen);
        spec.python_standby = self.python_socket(&project);
        Standby::start(&project, &spec, &inputs, Owner::Screen).unwrap_or_else(|error| {
            let why = format!(
                "no standby judge could be started ({error:#}): each run starts its own, which takes longer"
            );
            self.tell(RunEvent::NoStandby { why });
            None
        })
    }

    /// Where the judges of this project find it.
    fn python_socket(&mut self, project: &Project) -> Option<PathBuf> {
        let python = self.python.as_mut()?;
        python.fits(project).then(|| python.socket().to_owned())
    }

    fn fits(&mut self, standby: &mut Standby) -> bool {
        let project = self.shared.lock().project.clone();
        let spec = RunSpec {
            python_standby: self.python_socket(&project),
            ..self.shared.spec(Reason::Saved)
        };
        standby.fits(&project, &spec)
    }

    /// Runs the harness, or follows another process that judges the same inputs. Returns the
    /// record; `None` where a run that was followed goes on. Takes the standby judge only for a run
    /// of its own.
    fn run(
        &mut self,
        standby: &mut Option<Standby>,
        project: &Arc<Project>,
        spec: &RunSpec,
    ) -> Result<Option<Box<Record>>, NotRun> {
        let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
        {
            let mut state = self.shared.lock();
            state.current = Some(control.clone());
            // A stop or a newer start may have come before the control was there.
            if state.quit || state.next.is_some() {
                control.end();
            }
        }
        let begun = self.begun.clone();
        match execute::begin(project, spec, &begun, &control, &mut |event| {
            self.tell(event);
        })? {
            Begun::Own(run) => {
                self.begun.push(run.start().id);
                self.latest.0 = Some((Arc::clone(project), run.inputs()));
                let ready = standby.take();
                // Read if the run needs it, and forgotten: with 10,000 runs it takes megabytes.
                let mut index = RunIndex::new(project);
                let record = run.judge(ready, &mut index, &control, &mut |event| self.tell(event));
                Ok(Some(Box::new(record)))
            }
            Begun::Joined(record) => Ok(Some(record)),
            Begun::Left(_) => Ok(None),
        }
    }
}
