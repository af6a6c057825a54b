//! The incumbent, the kernel in HEAD: resident in a worker of its own, where it is built, shown to be right, and run while
//! the candidate builds. Whatever goes wrong with it there is no fault of the candidate's: there is no comparison then, and a
//! caveat. Where its problem can, its timed turns are taken in the candidate's worker instead ([`Timed::beside`]); what goes wrong
//! there is told as any launch's of that worker, because a candidate may be the cause.

use super::kernel_builder::KernelBuilder;
use super::{JudgeOptions, JudgeRun};
use crate::outcome::{Correctness, Stop};
use crate::problem::{BuildNeeds, Problem, Timed, WorkerRole};
use crate::worker::{StartingWorker, Worker};
use lab_protocol::Target;
use lab_protocol::report::{Measure, Writer};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far the incumbent of a run is.
pub enum IncumbentState {
    /// There is none, or its times would mean nothing.
    None,
    /// Its device is opening.
    Opening(Box<StartingWorker>),
    Ready,
    /// In words, why there will be no comparison.
    Lost(String),
}

/// A kernel that was set up for its timed launches, and was right in one.
pub struct Incumbent {
    /// `None` where it is no image in a file.
    pub image: Option<PathBuf>,
    worker: Worker,
    timed: Box<dyn Timed>,
    /// Its failures are nobody's result lines.
    unheard: Writer,
    turns: u64,
    /// The last turn, with all that belongs to it.
    took: Duration,
}

/// Begins to open its device, where there is an incumbent and times mean something.
pub fn start(options: &JudgeOptions, target: Target) -> IncumbentState {
    if options.incumbent.is_none() || !matches!(target, Target::Cuda(_)) {
        return IncumbentState::None;
    }
    // What it prints would look like the candidate's words.
    let forward = Arc::new(|_: &str| {});
    match Worker::start(&options.worker, target, options.time_limit, forward) {
        Ok(starting) => IncumbentState::Opening(Box::new(starting)),
        Err(stop) => IncumbentState::Lost(stop.to_string()),
    }
}

impl IncumbentState {
    /// Builds it and makes it resident, unless that was done or has failed.
    pub fn settle(
        &mut self,
        setting: &JudgeRun,
        problem: &mut dyn Problem,
        build: &mut KernelBuilder,
        needs: &BuildNeeds,
        out: &mut Writer,
    ) -> Option<Incumbent> {
        let IncumbentState::Opening(starting) = std::mem::replace(self, IncumbentState::Ready) else {
            return None;
        };
        match set_up(*starting, setting, problem, build, needs, out) {
            Ok(incumbent) => Some(incumbent),
            Err(stop) => {
                *self = IncumbentState::Lost(stop.to_string());
                None
            }
        }
    }

    /// The caveat that is due where there was to be a comparison and will be none.
    pub fn caveat(&self) -> Option<String> {
        match self {
            IncumbentState::Lost(why) => Some(no_comparison(why)),
            _ => None,
        }
    }
}

pub fn no_comparison(why: &str) -> String {
    format!("no comparison with the incumbent: {}", why.lines().next().unwrap_or(""))
}

fn set_up(
    starting: StartingWorker,
    setting: &JudgeRun,
    problem: &mut dyn Problem,
    build: &mut KernelBuilder,
    needs: &BuildNeeds,
    out: &mut Writer,
) -> Result<Incumbent, Stop> {
    let image = build.incumbent(needs)?;
    let mut worker = starting.ready()?;
    let module = worker.load(&image.path)?;
    let timed = setting
        .with_context(build, out, |cx| problem.set_up(cx, &mut worker, module, WorkerRole::Incumbent))?;
    let mut incumbent = Incumbent { image: Some(image.path), ..Incumbent::new(worker, timed) };
    incumbent.turn(0).map_err(Stop::Lab)?;
    match incumbent.timed.check(&mut incumbent.worker, &mut incumbent.unheard)? {
        Correctness::Pass => Ok(incumbent),
        Correctness::Fail => Err(Stop::Lab(WRONG.into())),
    }
}

pub const WRONG: &str = "it is wrong itself";

impl Incumbent {
    pub fn new(worker: Worker, timed: Box<dyn Timed>) -> Self {
        Incumbent {
            image: None,
            worker,
            timed,
            unheard: Writer::new(io::sink()),
            turns: 0,
            took: Duration::ZERO,
        }
    }

    /// Seconds of a turn; an error is in words.
    pub fn turn(&mut self, inputs: u64) -> Result<Vec<f64>, String> {
        self.turns += 1;
        let began = Instant::now();
        let turn = self.timed.turn(&mut self.worker, inputs, &mut self.unheard);
        self.took = began.elapsed();
        turn.map_err(|stop| stop.to_string())?.ok_or_else(|| WRONG.to_owned())
    }

    /// How long a turn takes.
    pub fn takes(&self) -> Duration {
        self.took
    }

    /// DeviceAccess on any inputs, as long as `wanted`: what the device does while nothing else needs it. One
    /// that is slow would be waited for, and does not run.
    pub fn run_while(&mut self, mut wanted: impl FnMut() -> bool) -> Result<Vec<Vec<f64>>, String> {
        const SLOW: Duration = Duration::from_millis(150);
        let mut turns = Vec::new();
        while wanted() && self.took < SLOW {
            turns.push(self.turn(self.turns)?);
        }
        Ok(turns)
    }

    pub fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        self.timed.throughput(turns)
    }
}
