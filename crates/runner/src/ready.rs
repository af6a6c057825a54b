//! The judges that are started before their kernels, so that a kernel waits for no device to open
//! and for no input to be drawn.
//!
//! One gets ready while the command of a loop edits. Where edits take less time than that, and the
//! machine has cores for it, further ones get ready while a kernel is judged. The device's lock keeps
//! their launches away from what is measured. A judge of a sweep judges one point after the other.

use crate::execute::inputs_of;
use crate::python_standby::PythonStandby;
use crate::spec::RunSpec;
use crate::standby::{Owner, Standby};
use lab_project::Project;
use lab_protocol::Target;
use std::collections::VecDeque;

/// Seconds in which most judges get ready. A loop with quicker edits has [`MOST`] of them.
const SOON: f64 = 4.0;

/// Most judges that get ready or are ready. Wrong kernels are judged in a fraction of the time in
/// which a judge gets ready.
const MOST: usize = 3;

/// Cores for each judge that gets ready beside one that judges.
const CORES: usize = 5;

/// Judges on standby, and the Python that their workers are forked from, as far as the project has
/// them.
pub struct Ready {
    /// Whose they are, by number, and the first number.
    owner: fn(usize) -> Owner,
    first: usize,
    /// The oldest first.
    standbys: VecDeque<Standby>,
    /// How many were started. Their folders have numbers in turn, so that none gets the folder of
    /// the one that judges.
    started: usize,
    python: Option<PythonStandby>,
    /// Whether edits are quicker than a judge gets ready.
    edits_are_quick: bool,
}

impl Ready {
    /// None yet, of the owner of a number. `lane` counts those that have judges of their own at the
    /// same time.
    pub fn new(owner: fn(usize) -> Owner, lane: usize) -> Ready {
        Ready {
            owner,
            first: lane * (MOST + 1),
            standbys: VecDeque::new(),
            started: 0,
            python: None,
            edits_are_quick: false,
        }
    }

    /// Notes how many seconds the last edit took.
    pub fn note_edit(&mut self, seconds: f64) {
        self.edits_are_quick = seconds < SOON;
    }

    /// Starts the judges that are missing, for a kernel in place of the present one. Where none can
    /// be started, the run starts its own, and says why that fails.
    pub fn prepare(&mut self, project: &Project, spec: &RunSpec) {
        let Ok(inputs) = inputs_of(project, spec) else {
            return;
        };
        PythonStandby::keep(&mut self.python, project, (self.owner)(self.first));
        let spec = self.spec(spec);
        self.standbys
            .retain_mut(|standby| standby.fits(project, &spec));
        while self.standbys.len() < self.wanted(project, &spec) {
            let owner = (self.owner)(self.first + self.started % (MOST + 1));
            let Ok(Some(standby)) = Standby::start(project, &spec, &inputs, owner) else {
                return;
            };
            self.started += 1;
            self.standbys.push_back(standby);
        }
    }

    /// As [`Ready::prepare`], while a kernel is judged: only where that disturbs nobody.
    pub fn prepare_meanwhile(&mut self, project: &Project, spec: &RunSpec) {
        if self.wanted(project, spec) > 1 {
            self.prepare(project, spec);
        }
    }

    fn wanted(&self, project: &Project, spec: &RunSpec) -> usize {
        let is_gpu = spec.device.unwrap_or(project.config.device) != Target::Cpu;
        // The workers are forks of the Python on standby, whose use of the device another run takes
        // for a stranger's.
        let is_forked = self.python.is_some();
        let cores = lab_system::threads::cores();
        if self.edits_are_quick && is_gpu && !is_forked {
            (cores / CORES).clamp(1, MOST)
        } else {
            1
        }
    }

    /// The run that the judges were started for.
    pub fn spec(&self, spec: &RunSpec) -> RunSpec {
        let socket = self
            .python
            .as_ref()
            .map(|python| python.socket().to_owned());
        RunSpec {
            python_standby: socket,
            ..spec.clone()
        }
    }

    /// Gives a judge away.
    pub fn take(&mut self) -> Option<Standby> {
        self.standbys.pop_front()
    }

    /// Takes a judge back that stands by for another kernel.
    pub fn put_back(&mut self, standby: Standby) {
        self.standbys.push_front(standby);
    }
}
