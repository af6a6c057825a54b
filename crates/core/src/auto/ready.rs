//! The judge that is started while the command edits, so that its kernel waits for no device to open and for no input to be drawn.
//! It does not get ready while another kernel is judged: then each result has the caveat that another process used the device.

use crate::project::Project;
use crate::runner::execute::inputs_of;
use crate::runner::python_standby::PythonStandby;
use crate::runner::spec::RunSpec;
use crate::runner::standby::{Owner, Standby};

/// A judge on standby, and the Python that its workers are forked from, as far as the project has them.
#[derive(Default)]
pub(super) struct Ready {
    standby: Option<Standby>,
    python: Option<PythonStandby>,
}

impl Ready {
    /// Starts a judge for a kernel in place of the present one, unless one is ready that fits. Where none can be started, the run
    /// starts its own, and says why that fails.
    pub fn prepare(&mut self, project: &Project, spec: &RunSpec) {
        if !self.python.as_mut().is_some_and(|python| python.fits(project)) {
            // The old one ends before the new one gets its folder.
            drop(self.python.take());
        }
        let Ok(inputs) = inputs_of(project, spec) else { return };
        if self.python.is_none() {
            self.python = PythonStandby::start(project, Owner::Loop).ok().flatten();
        }
        let spec = self.spec(spec);
        if !self.standby.as_mut().is_some_and(|standby| standby.fits(project, &spec)) {
            drop(self.standby.take());
            self.standby = Standby::start(project, &spec, &inputs, Owner::Loop).ok().flatten();
        }
    }

    /// The run that the judge was started for.
    pub fn spec(&self, spec: &RunSpec) -> RunSpec {
        let socket = self.python.as_ref().map(|python| python.socket().to_owned());
        RunSpec { python_standby: socket, ..spec.clone() }
    }

    /// Gives the judge away. It judges once.
    pub fn take(&mut self) -> Option<Standby> {
        self.standby.take()
    }
}
