//! The timed cases on one worker. They are uploaded once, and the checked and the timed launches of
//! every kernel in that worker use the same buffers.

use super::case_data::CaseData;
use super::input_sets::WINDOW_SECONDS;
use super::launcher::{self, CaseLauncher};
use super::random::told;
use super::spec::{Case, ProblemSpec};
use crate::outcome::Result;
use crate::worker::{Breach, BufferId, LentInputs, Worker};
use itertools::Itertools as _;
use lab_device::Submission;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// The data of the timed cases.
pub type TimedCases = Rc<Vec<CaseData>>;

/// The timed cases on one worker.
pub struct Resident {
    pub spec: Rc<ProblemSpec>,
    pub timed: TimedCases,
    /// Whether the worker's device is the cpu device.
    pub emulated: bool,
    /// In the order of the timed cases.
    pub launchers: Vec<CaseLauncher>,
    /// How the launches of a timed window get to the device.
    pub submission: Submission,
    /// The memory of the inputs, where a further worker can read it too.
    pub inputs: Option<Rc<LentInputs>>,
    /// The buffer that is written before a cold launch.
    pub scratch: Option<BufferId>,
    /// The key of all digests of the run.
    pub key: u64,
    /// For each timed case the seconds of a launch, of the slowest kernel that has taken a turn; 0
    /// before.
    slowest: RefCell<Vec<f64>>,
}

/// Most launches of a window before it is known how long one takes.
const FIRST_LAUNCHES: usize = 16;

impl Resident {
    /// Uploads the inputs, unless a worker that has them lends them. The digests of a run have a key
    /// that follows from its seed.
    pub fn set_up(
        spec: &Rc<ProblemSpec>,
        timed: &TimedCases,
        worker: &mut Worker,
        (seed, lent): (u64, Option<Rc<LentInputs>>),
    ) -> Result<Resident> {
        let scratch = launcher::scratch(spec, worker)?;
        let timed_sets = timed.iter().collect_vec();
        let (launchers, inputs) = CaseLauncher::set_up_beside(&timed_sets, worker, lent)?;
        Ok(Resident {
            inputs,
            spec: spec.clone(),
            timed: timed.clone(),
            emulated: worker.info().emulated,
            launchers,
            submission: worker.submission(spec.graph),
            scratch,
            key: told(seed, "the digests of outputs"),
            slowest: RefCell::new(vec![0.0; timed.len()]),
        })
    }

    /// Most launches of a window of a timed case: with more it would last longer than it needs to.
    /// The same for all kernels here, as long as none takes its first turn.
    pub fn most_launches(&self, at: usize) -> usize {
        match self.slowest.borrow().get(at) {
            Some(seconds) if *seconds > 0.0 => (WINDOW_SECONDS / seconds).ceil() as usize,
            _ => FIRST_LAUNCHES,
        }
    }

    /// Notes the seconds of a launch of each timed case in the first turn of a kernel.
    pub fn note_first_turn(&self, seconds: &[f64]) {
        let mut slowest = self.slowest.borrow_mut();
        for (slowest, seconds) in slowest.iter_mut().zip(seconds) {
            *slowest = slowest.max(*seconds);
        }
    }

    /// Forgets how long launches took, and with them the kernels.
    pub fn forget_times(&self) {
        self.slowest.borrow_mut().fill(0.0);
    }

    /// Frees its buffers.
    pub fn take_down(self, worker: &mut Worker) -> Result {
        CaseLauncher::take_down_all(self.launchers, worker)?;
        self.scratch.map_or(Ok(()), |scratch| worker.free(scratch))
    }

    /// Reads the inputs of these sets, which brings them into the L2 cache as far as it holds them.
    pub fn read_inputs(&self, worker: &mut Worker, at: usize, sets: &[usize]) -> Result {
        let launcher = &self.launchers[at];
        let inputs = sets.iter().flat_map(|set| launcher.only_read(*set));
        let inputs = inputs.collect();
        worker.digests(inputs, self.key).map(drop)
    }

    /// For each of these sets of timed cases, the digests of its outputs.
    pub fn output_digests(
        &self,
        worker: &mut Worker,
        sets: &[(usize, usize)],
    ) -> Result<Vec<Vec<u64>>> {
        let outputs = sets
            .iter()
            .map(|(at, set)| self.launchers[*at].read_after(*set));
        let outputs = outputs.collect_vec();
        let mut digests = worker.digests(outputs.concat(), self.key)?.into_iter();
        let each = outputs.iter();
        Ok(each
            .map(|outputs| digests.by_ref().take(outputs.len()).collect())
            .collect())
    }

    /// The position of a case among the timed ones; `None` if it is not timed.
    pub fn position(&self, case: &Case) -> Option<usize> {
        let mut timed = self.timed.iter();
        timed.position(|timed| timed.case.index == case.index)
    }

    /// The timed case whose buffer a breach concerns; `None` if the buffer belongs to no timed
    /// case.
    pub fn owner(&self, breach: &Breach) -> Option<&CaseLauncher> {
        let mut launchers = self.launchers.iter();
        launchers.find(|launcher| launcher.owns(breach))
    }
}

/// The outputs that were compared with the reference and are right: the number of the timed case,
/// the set, and the digests of its outputs. A kernel may give several right results, as with atomic
/// additions.
pub type AcceptedOutputs = Rc<RefCell<HashSet<(usize, usize, Vec<u64>)>>>;
