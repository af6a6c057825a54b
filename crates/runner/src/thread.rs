//! The runner's thread: it starts and follows runs, one at a time, and keeps a judge on standby.

use super::{Shared, Task};
use crate::duplicate::{self, Followed};
use crate::event::{RunEvent, Sink};
use crate::execute::{self, Begun, NotRun};
use crate::process::Control;
use crate::python_standby::PythonStandby;
use crate::spec::RunSpec;
use crate::standby::{Owner, Standby};
use lab_project::Project;
use lab_project::trust::{self, Trust};
use lab_run::inputs::Inputs;
use lab_run::record::Record;
use lab_run::{Reason, RunId};
use lab_store::RunIndex;
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

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

/// The runner's thread.
pub struct Thread<'a> {
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

impl<'a> Thread<'a> {
    pub fn new(shared: &'a Shared, sink: &'a Sink) -> Self {
        Thread {
            shared,
            sink,
            latest: Latest::default(),
            told: HashSet::new(),
            begun: Vec::new(),
            python: None,
        }
    }

    /// Works until the runner is dropped.
    pub fn work(&mut self) {
        let mut standby = self.standby();
        while let Some(task) = self.shared.next_task() {
            let (project, spec) = match task {
                Task::Run(project, spec) => (project, spec),
                Task::Follow(project, run) => {
                    self.follow(&project, run);
                    continue;
                }
                Task::CheckStandby => {
                    if !standby.as_mut().is_some_and(|standby| self.fits(standby)) {
                        // The old judge ends before the new one gets its folder.
                        drop(standby.take());
                        standby = self.standby();
                    }
                    continue;
                }
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

    /// The control that ends what the thread begins now.
    fn control(&self) -> io::Result<Arc<Control>> {
        let control = Arc::new(Control::new()?);
        let mut state = self.shared.lock();
        state.current = Some(control.clone());
        // A stop or a newer start may have come before the control was there.
        if state.quit || state.next.is_some() {
            control.end();
        }
        Ok(control)
    }

    fn follow(&mut self, project: &Project, run: RunId) {
        let followed = match self.control() {
            Ok(control) => duplicate::follow(project, run, &control, &mut |event| self.tell(event)),
            Err(_) => Followed::Left,
        };
        self.tell(match followed {
            Followed::Ended(record) => RunEvent::Ended(record),
            Followed::Gone | Followed::Left => RunEvent::Left(run),
        });
        self.shared.lock().current = None;
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
        let control = self.control().map_err(anyhow::Error::from)?;
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
