//! Timed launches of a tensor problem: a window for each timed case in a turn, and the lines of the
//! measures.
//!
//! Two times are reported. `kernel_us` is the time of one launch among several that follow one
//! another in a CUDA graph, so it holds what the device needs between two launches, and nothing of
//! the host. `latency_us` is the time between two device events around a single launch.

use super::launcher::Written;
use super::objective::{Amounts, Figure, Objective};
use super::parameters::require_entries;
use super::random::{below, draw_sets, shuffle};
use super::resident::{AcceptedOutputs, Resident};
use super::spec::Case;
use super::tally::{CaseOutcome, ComparedOutputs, GateTally};
use crate::measure::{self, TimingSummary};
use crate::outcome::{Result, Stop};
use crate::probe::bounds::{CacheState, Demand};
use crate::problem::api::{Timed, WorkerRole, WorkloadFigures, in_digits};
use crate::worker::{BufferId, ModuleId, Repeated, Window, Worker};
use itertools::Itertools as _;
use lab_device::{ExecutionOrder, Submission};
use lab_protocol::report::{Measure, Writer};
use lab_stats::aggregate::{Aggregate, Better};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

/// A kernel that is set up in a worker.
pub struct TensorTiming {
    pub resident: Rc<Resident>,
    pub module: ModuleId,
    /// The outputs of this kernel that are known to be right, and those of a kernel that
    /// [`Timed::in_same_worker`] sets up beside this one.
    pub accepted: [AcceptedOutputs; 2],
    tally: GateTally,
    pub(super) seed: u64,
    /// Gives each turn the number of its inputs.
    numbers: ChaCha8Rng,
    /// How the launches of a window get to the device.
    submission: Submission,
    turns: usize,
    place: WorkerRole,
    /// The indices of the cases of a candidate in Python whose time on new inputs is compared with
    /// that on known ones. Such a kernel may keep what it computes beyond its module, so every turn
    /// begins with a module that was loaded anew.
    pub(super) renewed: BTreeSet<usize>,
    /// Seconds of single launches, by case; empty if they are not measured.
    latencies: Vec<Vec<f64>>,
}

/// Windows that are asked for together: to ask takes as long as a short window. All of them may
/// take as long as one launch.
const MOST_WINDOWS: usize = 16;

/// Memory is looked at after one in so many turns of a kernel that is timed alone.
const LOOKS_ONE_IN: usize = 4;

/// Turns after which single launches are timed too. More would take time from the windows, which
/// decide.
const LATENCY_TURNS: usize = 3;

impl TensorTiming {
    /// `seed` is the run's seed. `accepted` are the right outputs of this kernel and of one beside
    /// it.
    pub fn new(
        resident: Rc<Resident>,
        module: ModuleId,
        accepted: [AcceptedOutputs; 2],
        place: WorkerRole,
        seed: u64,
    ) -> Self {
        let cases = resident.timed.iter().map(|drawn| &drawn.case);
        let mut tally = GateTally::new(&resident.spec, cases, CaseOutcome::Pass);
        tally.begin_case(0);
        let has_latencies = !resident.emulated && !place.is_beside();
        let latencies = resident.timed.iter().filter(|_| has_latencies);
        TensorTiming {
            submission: resident.submission,
            latencies: latencies.map(|_| Vec::new()).collect(),
            resident,
            module,
            accepted,
            tally,
            seed,
            numbers: ChaCha8Rng::seed_from_u64(seed ^ place.salt()),
            turns: 0,
            place,
            renewed: BTreeSet::new(),
        }
    }

    /// Times windows of different cases, each of a case on these sets, one launch after the other.
    /// Returns the seconds of a launch of each case; NaN of one without a window. With `graph` as
    /// the launches of a turn.
    fn windows(
        &mut self,
        worker: &mut Worker,
        windows: &[(usize, Vec<usize>)],
        graph: bool,
        out: &mut Writer,
    ) -> Result<Vec<f64>> {
        let resident = self.resident.clone();
        let case = |at: usize| &resident.timed[at].case;
        let is_alone = |at: usize| case(at).has_fixed() || case(at).has_state();
        let together = windows.chunk_by(|one, next| !is_alone(one.0) && !is_alone(next.0));
        let mut seconds = vec![f64::NAN; resident.timed.len()];
        for windows in together.flat_map(|windows| windows.chunks(MOST_WINDOWS)) {
            if case(windows[0].0).has_fixed() {
                worker.reload(self.module)?;
            }
            let timed = self.windows_together(worker, windows, graph, out)?;
            for ((at, _), timed) in windows.iter().zip(timed) {
                seconds[*at] = timed;
            }
        }
        Ok(seconds)
    }

    /// [`TensorTiming::windows`] in one request. Returns the seconds of a launch in each.
    fn windows_together(
        &mut self,
        worker: &mut Worker,
        windows: &[(usize, Vec<usize>)],
        graph: bool,
        out: &mut Writer,
    ) -> Result<Vec<f64>> {
        let mut wanted = Vec::with_capacity(windows.len());
        for (at, sets) in windows {
            wanted.push(self.window(worker, *at, sets)?);
        }
        let how = (self.flush(), graph && self.resident.spec.graph);
        let (replayed, failure) = worker.replay_each(wanted, how, self.resident.key)?;
        let (mut seconds, mut written) = (Vec::with_capacity(windows.len()), Vec::new());
        for ((at, sets), replayed) in windows.iter().zip(replayed) {
            if let Some(why) = &replayed.uncaptured
                && self.submission != replayed.submission
            {
                self.submission = replayed.submission;
                write_no_graph(why, out)?;
            }
            let each = (replayed.digests.len() / sets.len().max(1)).max(1);
            let digests = sets.iter().zip(replayed.digests.chunks(each));
            written.extend(digests.map(|(set, digests)| (*at, *set, digests.to_vec())));
            seconds.push(replayed.seconds / sets.len() as f64);
        }
        self.compare(worker, written, out)?;
        match failure {
            Some(stop) => {
                let at = windows.get(seconds.len()).map(|(at, _)| *at);
                self.noting_a_crash(at, Err(stop), out)
            }
            None => Ok(seconds),
        }
    }

    /// A window of a case on these sets, whose outputs hold what they hold before a launch.
    fn window(&self, worker: &mut Worker, at: usize, sets: &[usize]) -> Result<Window> {
        let resident = &*self.resident;
        let (launcher, data) = (&resident.launchers[at], &resident.timed[at]);
        let of = |buffers: &dyn Fn(usize) -> Vec<BufferId>| {
            sets.iter().flat_map(|set| buffers(*set)).collect()
        };
        for set in sets {
            launcher.write_before(worker, data, *set)?;
        }
        let (first, further) = sets.split_first().unwrap_or((&0, &[]));
        let forward = ExecutionOrder::Forward;
        let further = further.iter().map(|set| launcher.args_of(data, *set));
        Ok(Window {
            launches: Repeated {
                launch: launcher.launch_of(self.module, data, *first, forward),
                further: further.collect(),
            },
            fills: worker.chosen_patterns(of(&|set| launcher.poisoned(set))),
            read: match resident.spec.cache {
                CacheState::Cold => Vec::new(),
                CacheState::Warm => of(&|set| launcher.only_read(set)),
            },
            digested: of(&|set| launcher.read_after(set)),
        })
    }

    /// Prepares the outputs, and a warm L2 cache.
    pub(super) fn prepare(&self, worker: &mut Worker, at: usize, sets: &[usize]) -> Result {
        let resident = &*self.resident;
        resident.launchers[at].prepare(worker, &resident.timed[at], sets)?;
        match resident.spec.cache {
            CacheState::Cold => Ok(()),
            CacheState::Warm => resident.read_inputs(worker, at, sets),
        }
    }

    /// The buffer that a launch with a cold L2 cache flushes the cache with.
    pub(super) fn flush(&self) -> Option<BufferId> {
        let is_cold = self.resident.spec.cache == CacheState::Cold;
        self.resident.scratch.filter(|_| is_cold)
    }

    /// Checks what the last launches on these sets of cases wrote: by digests, and only if one is
    /// new, by comparing all cells.
    fn compare(
        &mut self,
        worker: &mut Worker,
        mut written: Vec<(usize, usize, Vec<u64>)>,
        out: &mut Writer,
    ) -> Result {
        written.retain(|outputs| !self.accepted[0].borrow().contains(outputs));
        // In the judge's memory there is room for one after the other.
        let together = if worker.holds_cells() {
            written.len().max(1)
        } else {
            1
        };
        written
            .chunks(together)
            .try_for_each(|written| self.compare_all(worker, written, out))
    }

    /// Compares all cells of what launches wrote.
    fn compare_all(
        &mut self,
        worker: &mut Worker,
        written: &[(usize, usize, Vec<u64>)],
        out: &mut Writer,
    ) -> Result {
        let resident = self.resident.clone();
        let read = |(at, set, _): &(usize, usize, Vec<u64>)| {
            resident.launchers[*at].written(worker, *set, Worker::look_at)
        };
        let contents: Result<Vec<Written>> = written.iter().map(read).collect();
        let contents = contents?;
        let each = written.iter().zip(&contents);
        let launches = each
            .map(|((at, set, _), content)| {
                let drawn = &resident.timed[*at];
                (&*drawn.case, content, None, &drawn.sets[*set].expected)
            })
            .collect_vec();
        let compared = ComparedOutputs::of_each(&launches)?;
        let how = format!("timed launch in turn {}", self.turns);
        for (outputs, compared) in written.iter().zip(compared) {
            let (drawn, set) = (&resident.timed[outputs.0], outputs.1);
            if self.tally.add(drawn, set, &how, compared, out)? {
                self.accepted[0].borrow_mut().insert(outputs.clone());
            }
        }
        Ok(())
    }

    /// Times a single launch of each case that had a window, with all that a launch costs.
    fn time_single_launches(
        &mut self,
        worker: &mut Worker,
        windows: &[(usize, Vec<usize>)],
        out: &mut Writer,
    ) -> Result {
        if self.latencies.is_empty() {
            return Ok(());
        }
        let single = windows.iter().map(|(at, _)| (*at, vec![0])).collect_vec();
        let seconds = self.windows(worker, &single, false, out)?;
        for (at, _) in single {
            self.latencies[at].push(seconds[at]);
        }
        Ok(())
    }

    /// Writes the outcome of each case, if the kernel crashed in a launch of the case at this
    /// position.
    fn noting_a_crash<T>(
        &mut self,
        at: Option<usize>,
        timed: Result<T>,
        out: &mut Writer,
    ) -> Result<T> {
        if matches!(timed, Err(Stop::Crash(_))) {
            self.tally.crash(at, out)?;
        }
        timed
    }

    fn report_breaches(&mut self, worker: &mut Worker, out: &mut Writer) -> Result {
        for breach in worker.breaches()? {
            // A breach that belongs to no case is reported with the first one.
            let first = self.resident.launchers.first();
            if let Some(owner) = self.resident.owner(&breach).or(first) {
                let (case, what) = (owner.case(), owner.describe(&breach));
                self.tally
                    .breach(case, "timed launches", &what, &breach, out)?;
            }
        }
        Ok(())
    }

    fn verdict(&mut self, out: &mut Writer) -> Result {
        let verdict = self.tally.verdict();
        if verdict.is_err() {
            self.tally.write(true, out)?;
            self.tally.write_outcomes(out)?;
        }
        verdict
    }

    fn cases(&self) -> impl Iterator<Item = &Case> {
        self.resident.timed.iter().map(|drawn| &*drawn.case)
    }

    /// The median of a case's single launches, in seconds; `None` if none was timed.
    fn latency(&self, at: usize) -> Option<f64> {
        measure::summarise(self.latencies.get(at)?).map(|summary| summary.median)
    }

    /// The size of a launch of each timed case.
    fn amounts(&self) -> Vec<Amounts> {
        self.cases().map(|case| case.amounts).collect()
    }

    fn objective(&self) -> Objective {
        self.resident.spec.objective
    }

    /// The figure of all timed cases over these turns.
    fn measure(&self, figure: Figure, turns: &[Vec<f64>]) -> Option<Measure> {
        let summaries = self.summaries(turns)?;
        self.objective()
            .measure(figure, &self.amounts(), &summaries)
    }

    /// Summary of each case's times over all turns.
    fn summaries(&self, turns: &[Vec<f64>]) -> Option<Vec<TimingSummary>> {
        let cases = 0..self.resident.timed.len();
        cases.map(|at| measure::of_workload(turns, at)).collect()
    }
}

impl Timed for TensorTiming {
    /// Each number is the seed of a turn's order.
    fn next_inputs(&mut self) -> u64 {
        self.numbers.next_u64()
    }

    /// The first turn uses the module as verification left it: that finds a kernel that is right in
    /// its first launches only. Before each further turn the module is loaded anew, so that its
    /// globals hold nothing. A candidate in Python is loaded anew before the first turn too: it
    /// could know the inputs of verification again. The cases follow in a random order, each with a
    /// window of its own: its outputs are poisoned, its launches run as one graph, and then its
    /// outputs are checked, before any other launch. So no launch can do the work of another one
    /// outside of a timed window. No launch is there to warm up: what the first launch of a window
    /// costs more is divided among all its launches.
    ///
    /// A kernel that changed an input, or anything else that it was not given, is found here,
    /// before another kernel gets the same buffers.
    fn turn(
        &mut self,
        worker: &mut Worker,
        inputs: u64,
        mut left: Option<&mut [usize]>,
        out: &mut Writer,
    ) -> Result<Vec<f64>> {
        self.turns += 1;
        // A peer in Python would compile its functions again, for each workload of each turn. It is
        // not judged: one that remembers results makes only itself faster.
        let stays = self.place == WorkerRole::Peer && worker.is_python();
        if !stays && (self.turns > 1 || !self.renewed.is_empty()) {
            worker.reload(self.module)?;
        }
        // On a GPU after the turns: a kernel that counts its launches may begin to remember in any
        // of them.
        let emulated = self.resident.emulated;
        if self.turns == 1 && emulated {
            self.expect_same_time_on_new_inputs(worker)?;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(inputs);
        let mut order = (0..self.resident.timed.len()).collect_vec();
        shuffle(&mut rng, &mut order);
        let drawn = order.into_iter().filter_map(|at| {
            let left = left.as_mut().map(|left| &mut left[at]);
            let most = left.as_ref().map_or(usize::MAX, |left| **left);
            let most = most.min(self.resident.most_launches(at));
            if most == 0 {
                return None;
            }
            let all = self.resident.launchers[at].sets();
            let mut sets = draw_sets(&mut rng, all, most, emulated);
            if self.resident.timed[at].case.has_fixed() {
                // What one launch computes of fixed inputs would help the next.
                sets.truncate(1);
            }
            if let Some(left) = left {
                *left -= sets.len();
            }
            Some((at, sets))
        });
        let windows = drawn.collect_vec();
        let seconds = self.windows(worker, &windows, true, out)?;
        if self.turns == 1 {
            self.resident.note_first_turn(&seconds);
        }
        if self.turns <= LATENCY_TURNS {
            self.time_single_launches(worker, &windows, out)?;
        }
        // Where no other kernel gets the buffers, only chance must know when memory is looked at.
        if left.is_none() || below(&mut rng, LOOKS_ONE_IN) == 0 {
            self.report_breaches(worker, out)?;
        }
        self.verdict(out)?;
        Ok(seconds)
    }

    fn in_same_worker(&self, worker: &mut Worker, image: &Path) -> Result<Box<dyn Timed>> {
        let module = worker.load(image)?;
        require_entries(&self.resident.spec, worker, module)?;
        let mut accepted = self.accepted.clone();
        accepted.reverse();
        let (resident, place) = (self.resident.clone(), WorkerRole::Incumbent);
        let timing = TensorTiming::new(resident, module, accepted, place, self.seed);
        Ok(Box::new(timing))
    }

    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result {
        if !self.resident.emulated {
            self.expect_same_time_on_new_inputs(worker)?;
        }
        self.report_breaches(worker, out)?;
        self.verdict(out)
    }

    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        self.measure(Figure::Samples, turns)
    }

    fn seconds_of_turn(&self, turn: &[f64]) -> Option<f64> {
        self.objective().seconds_of_turn(&self.amounts(), turn)
    }

    fn aggregate(&self) -> Aggregate {
        self.objective().aggregate
    }

    fn demands(&self) -> Vec<Demand> {
        let cache = self.resident.spec.cache;
        self.cases().map(|case| case.demand(cache)).collect()
    }

    fn measures(&self) -> Vec<&'static str> {
        let figures = self.objective().figures().into_iter();
        figures.map(Figure::key).collect()
    }

    fn workloads(&self, turns: &[Vec<f64>]) -> Vec<WorkloadFigures> {
        let summaries = self.summaries(turns).unwrap_or_default();
        let each = self.cases().zip(summaries).enumerate();
        each.map(|(at, (case, seconds))| WorkloadFigures {
            label: case.label.clone(),
            seconds,
            words: case.amounts.words(&seconds, self.latency(at)),
        })
        .collect()
    }

    fn write_once(&self, out: &mut Writer) -> Result {
        Ok(out.line("launched_as", self.submission.word())?)
    }

    fn write(&self, turns: &[Vec<f64>], out: &mut Writer) -> Result {
        let objective = self.objective();
        let cases = self.resident.timed.len();
        // Figures of several workloads say so.
        let aggregate = match cases {
            0 | 1 => String::new(),
            _ => format!(
                " aggregate={} workloads={cases}",
                objective.aggregate.word()
            ),
        };
        for figure in objective.figures() {
            let measure = self.measure(figure, turns);
            let measure =
                measure.ok_or_else(|| Stop::Lab("the device gave no time for a launch".into()))?;
            let value = in_digits(&measure, figure.digits());
            out.line(figure.key(), format_args!("{value}{aggregate}"))?;
        }
        let latencies: Option<Vec<f64>> = (0..cases).map(|at| self.latency(at)).collect();
        if let Some(latency) =
            latencies.and_then(|each| objective.aggregate.of(each, Better::Smaller))
        {
            let microseconds = latency * 1e6;
            out.line("latency_us", format_args!("{microseconds:.3}{aggregate}"))?;
        }
        Ok(())
    }
}

/// Writes that the launches could not be submitted as one CUDA graph.
fn write_no_graph(why: &str, out: &mut Writer) -> Result {
    let why = why.lines().next().unwrap_or("").trim_end_matches(':');
    Ok(out.caveat(format_args!(
        "the kernel could not be captured as a CUDA graph ({why}): its times hold what the host needs for each launch"
    ))?)
}

#[cfg(test)]
mod tests;
