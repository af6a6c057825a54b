//! The judges that are started before their kernels are there, so that no kernel waits for a device to open and for inputs to be
//! drawn.

use super::options::Editor;
use crate::project::Project;
use crate::runner::execute::inputs_of;
use crate::runner::python_standby::PythonStandby;
use crate::runner::spec::RunSpec;
use crate::runner::standby::{Owner, Standby};
use std::collections::VecDeque;

/// Judges ahead where an edit takes no time. On an H200 rmsnorm is judged in 1.2 s, and its judge takes 4 s to be ready.
const MOST: usize = 3;

/// Cores that a judge which gets ready can use.
const CORES_OF_EACH: usize = 4;

/// Judges on standby, and the Python that their workers are forked from, as far as the project has them.
#[derive(Default)]
pub(super) struct Ready {
    waiting: VecDeque<Standby>,
    /// The one that judges, or that judged last. Its folder is not given to another one.
    taken: Option<Owner>,
    python: Option<PythonStandby>,
}

/// How many judges are worth having ahead: one where a command edits, which takes longer than a judge needs.
pub(super) fn ahead(editor: &Editor) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match editor {
        Editor::Command(_) => 1,
        Editor::Patches(_) | Editor::Mutator(_) => (cores / CORES_OF_EACH).clamp(1, MOST),
    }
}

impl Ready {
    /// Starts judges for kernels in place of the present one until this many wait that fit. Where none can be started, the run
    /// starts its own, and says why that fails.
    pub fn prepare(&mut self, project: &Project, spec: &RunSpec, ahead: usize) {
        if !self.python.as_mut().is_some_and(|python| python.fits(project)) {
            // The old one ends before the new one gets its folder.
            drop(self.python.take());
        }
        let Ok(inputs) = inputs_of(project, spec) else { return };
        if self.python.is_none() {
            self.python = PythonStandby::start(project, Owner::Loop(0)).ok().flatten();
        }
        let spec = self.spec(spec);
        self.waiting.retain_mut(|standby| standby.fits(project, &spec));
        while self.waiting.len() < ahead {
            let Some(owner) = self.free_owner() else { return };
            let Ok(Some(standby)) = Standby::start(project, &spec, &inputs, owner) else { return };
            self.waiting.push_back(standby);
        }
    }

    /// The first number whose folder no judge has.
    fn free_owner(&self) -> Option<Owner> {
        let is_free = |owner: &Owner| {
            self.taken != Some(*owner) && self.waiting.iter().all(|standby| standby.owner() != *owner)
        };
        (0..=MOST).map(Owner::Loop).find(is_free)
    }

    /// The run that the judges were started for.
    pub fn spec(&self, spec: &RunSpec) -> RunSpec {
        let socket = self.python.as_ref().map(|python| python.socket().to_owned());
        RunSpec { python_standby: socket, ..spec.clone() }
    }

    /// Gives away the judge that was started first. It judges once.
    pub fn take(&mut self) -> Option<Standby> {
        let standby = self.waiting.pop_front()?;
        self.taken = Some(standby.owner());
        Some(standby)
    }
}
