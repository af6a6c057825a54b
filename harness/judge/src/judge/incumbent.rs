//! The incumbent, which is the kernel in HEAD: built, checked once, and kept in a worker of its
//! own, ready for timed launches.
//!
//! A failure of the incumbent never counts against the candidate: the run goes on without a
//! comparison and with a caveat.
//!
//! The timed launches of the incumbent run in the candidate's worker instead
//! ([`Timed::in_same_worker`]). A failure there counts like any failure in that worker,
//! because the candidate may have caused it.

use super::kernel_snapshot::KernelSnapshot;
use super::processes::{no_output, start_worker};
use super::session::Session;
use crate::compiler::SNAPSHOTS;
use crate::outcome::Stop;
use crate::problem::{BuildNeeds, Prepared, SetsUp, Timed, WorkerRole};
use crate::worker::{StartingWorker, Worker};
use lab_protocol::JudgeRequest;
use lab_protocol::report::{Measure, Writer};
use lab_protocol::{Language, Target};
use std::io;
use std::mem;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A turn of the incumbent that takes longer than this is not repeated while the candidate builds.
const SLOW_TURN: Duration = Duration::from_millis(150);

/// The incumbent of a run before it is set up: the worker that is opening the device, or why there
/// is no comparison.
#[derive(Default)]
pub enum IncumbentState {
    /// The run has no incumbent, or its times would mean nothing.
    #[default]
    Absent,
    Starting(Box<StartingWorker>),
    /// It was set up.
    Spent,
    Failed(Stop),
}

/// A kernel that was set up for its timed launches and gave right results in one.
pub struct Incumbent {
    /// `None` if the kernel has no image in a file, as in tests. The source itself if it is Python.
    pub image: Option<PathBuf>,
    /// The copy of a source in Python, which is loaded again in the candidate's worker.
    _source: Option<KernelSnapshot>,
    worker: Worker,
    timed: Box<dyn Timed>,
    /// Takes the lines that the incumbent's checks write: they must not appear in the candidate's
    /// log.
    discarded: Writer,
    turns: u64,
    /// Duration of the last turn, with everything around the launches.
    last_turn: Duration,
}

/// Starts the incumbent's worker, if there is an incumbent and the device is a GPU.
pub fn start(request: &JudgeRequest) -> IncumbentState {
    let (target, language) = (lab_device::resolve(request.device), request.language());
    let source = request.incumbent_source();
    let source = source.filter(|_| matches!(target, Target::Cuda(_)));
    let Some(source) = source else {
        return IncumbentState::Absent;
    };
    let started = if Language::of(source) == language {
        start_worker(request, language, target, no_output())
    } else {
        let why = "it is written in another language than the kernel";
        Err(Stop::Lab(why.into()))
    };
    started.map_or_else(IncumbentState::Failed, |starting| {
        IncumbentState::Starting(Box::new(starting))
    })
}

impl IncumbentState {
    /// Builds the incumbent and sets it up. Returns `None` without an incumbent, if it was set up
    /// before, or if it fails; a failure is kept for [`IncumbentState::caveat`].
    pub fn set_up(
        &mut self,
        session: &mut Session,
        problem: &mut Prepared,
        needs: &BuildNeeds,
    ) -> Option<Incumbent> {
        let starting = match mem::take(self) {
            IncumbentState::Starting(starting) => starting,
            other => {
                *self = other;
                return None;
            }
        };
        let ready = set_up(*starting, session, problem, needs);
        let (state, incumbent) = match ready {
            Ok(incumbent) => (IncumbentState::Spent, Some(incumbent)),
            Err(stop) => (IncumbentState::Failed(stop), None),
        };
        *self = state;
        incumbent
    }

    /// Whether it was set up.
    pub fn is_spent(&self) -> bool {
        matches!(self, IncumbentState::Spent)
    }

    /// The caveat of a run that has an incumbent and cannot compare with it.
    pub fn caveat(&self) -> Option<String> {
        match self {
            IncumbentState::Failed(stop) => Some(no_comparison(&stop.to_string())),
            _ => None,
        }
    }
}

/// The text of the caveat for this reason, of which the first line is shown.
pub fn no_comparison(reason: &str) -> String {
    format!(
        "no comparison with the incumbent: {}",
        reason.lines().next().unwrap_or("")
    )
}

fn set_up(
    starting: StartingWorker,
    session: &mut Session,
    problem: &mut Prepared,
    needs: &BuildNeeds,
) -> Result<Incumbent, Stop> {
    let given = session.request.incumbent_source();
    let given = given.ok_or_else(|| Stop::Lab("no incumbent was named".into()))?;
    let (image, source) = match session.request.language() {
        Language::Cuda => (session.builder.incumbent(&given, needs)?, None),
        Language::Python => {
            // A copy under the name of a kernel.
            let folder = session.cache_dir.join(SNAPSHOTS);
            let copy = KernelSnapshot::copy(&given, "its source", &folder)?;
            (copy.source(), Some(copy))
        }
    };
    let mut worker = session.with_memory(starting.ready()?)?;
    let module = worker.load(&image)?;
    let timed =
        session.with(|cx| problem.set_up(cx, &mut worker, module, WorkerRole::Incumbent))?;
    let mut incumbent = Incumbent {
        image: Some(image),
        _source: source,
        ..Incumbent::new(worker, timed)
    };
    incumbent.warm_up().map_err(Stop::Lab)?;
    incumbent
        .timed
        .check(&mut incumbent.worker, &mut incumbent.discarded)?;
    Ok(incumbent)
}

impl Incumbent {
    /// An incumbent without an image file.
    pub fn new(worker: Worker, timed: Box<dyn Timed>) -> Self {
        Incumbent {
            image: None,
            _source: None,
            worker,
            timed,
            discarded: Writer::new(io::sink()),
            turns: 0,
            last_turn: Duration::ZERO,
        }
    }

    /// Makes the first turn, which may compile and compares all that it wrote. If it took long, makes
    /// another one: only that shows how long a turn takes. The error is the reason for the caveat.
    pub fn warm_up(&mut self) -> Result<(), String> {
        self.turn(0)?;
        if self.last_turn > SLOW_TURN {
            self.turn(1)?;
        }
        Ok(())
    }

    /// Times a turn on the inputs of this number and returns the seconds of each launch. The error
    /// is the reason for the caveat.
    pub fn turn(&mut self, inputs: u64) -> Result<Vec<f64>, String> {
        self.turns += 1;
        let began = Instant::now();
        let turn = self
            .timed
            .turn(&mut self.worker, inputs, None, &mut self.discarded);
        self.last_turn = began.elapsed();
        turn.map_err(|stop| stop.to_string())
    }

    /// How long the last turn took, with everything around its launches.
    pub fn turn_duration(&self) -> Duration {
        self.last_turn
    }

    /// Repeats turns while `wanted` returns true. A slow incumbent does not run here, because the
    /// end of its turn would be waited for.
    pub fn run_while(&mut self, mut wanted: impl FnMut() -> bool) -> Result<Vec<Vec<f64>>, String> {
        let mut turns = Vec::new();
        while wanted() && self.last_turn < SLOW_TURN {
            turns.push(self.turn(self.turns)?);
        }
        Ok(turns)
    }

    /// Samples per second over these turns.
    pub fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        self.timed.throughput(turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incumbent_that_failed_on_standby_still_gives_its_caveat_after_the_build() {
        let failed = Stop::Build("it does not build\nkernel.cu:1".into());
        let state = IncumbentState::Failed(failed);
        assert_eq!(
            state.caveat().as_deref(),
            Some("no comparison with the incumbent: it does not build")
        );
        assert_eq!(IncumbentState::default().caveat(), None);
    }
}
