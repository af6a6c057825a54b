//! The timed launches: the candidate alone, or in turns with the incumbent (A B B A).
//!
//! This file decides which kernel is launched next and when to stop. [`times`] keeps what was timed
//! and derives the ratio from it; [`lines`] writes the result lines.

mod lines;
mod times;
mod workloads;

use super::incumbent::{Incumbent, no_comparison};
use crate::measure;
use crate::outcome::{Result, Stop, unless_wrong};
use crate::probe::bounds;
use crate::problem::{
    CHECKED_LAUNCHES, Prepared, ProblemContext, SetsUp, Timed, WorkerFor, WorkerRole,
};
use crate::worker::{ModuleId, Worker};
use lab_protocol::plan::{LEAST_BLOCKS, Plan, SoFar};
use lab_protocol::report::Writer;
use lab_stats::several;
use lab_stats::speed::Speed;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use times::{BlockTurns, Times};
use workloads::TimedWorkloads;

/// Shortest time between two writings of the measures. A screen cannot show more.
const WRITE_EVERY: Duration = Duration::from_millis(50);

/// Times the candidate and writes the measures. `ended` is called after the last turn; it returns
/// whether something disturbed the measurement, and then the verdict on speed needs a clearer
/// difference.
///
/// The outputs of timed launches are checked too. Returns [`Stop::Wrong`] if one was wrong or took
/// less time than the device can; the measures that were written so far are then taken back.
pub fn measure<P: SetsUp>(
    cx: &mut ProblemContext,
    plan: &Plan,
    candidate: Candidate<P>,
    incumbent: &mut Option<Incumbent>,
    ended: &mut dyn FnMut(&mut Writer) -> Result<bool>,
) -> Result {
    let mut measuring = Measuring {
        plan,
        incumbent,
        times: Times::default(),
        began: Instant::now(),
        in_turns: Duration::ZERO,
        last_written: None,
        measures: Vec::new(),
        workloads: TimedWorkloads::default(),
        disturbed: false,
    };
    measuring.leave_out_a_slow_incumbent(cx)?;
    let verdict = in_workers(cx, candidate, &mut measuring);
    match &verdict {
        Ok(()) => {
            measuring.disturbed = ended(cx.out)?;
            measuring.write_last_lines(cx)?;
        }
        Err(Stop::Wrong) => {
            measuring.take_measures_back(cx)?;
            ended(cx.out)?;
        }
        Err(_) => measuring.take_measures_back(cx)?,
    }
    verdict
}

/// The kernel that is timed.
pub struct Candidate<'a, P = Prepared> {
    pub problem: &'a mut P,
    /// The worker that the candidate was verified in.
    pub worker: &'a mut Worker,
    /// The candidate's module in that worker.
    pub module: ModuleId,
    /// The candidate's image, for further workers.
    pub image: &'a Path,
}

impl<P> Candidate<'_, P> {
    /// The same candidate, for one of several measurements.
    pub fn again(&mut self) -> Candidate<'_, P> {
        Candidate {
            problem: &mut *self.problem,
            worker: &mut *self.worker,
            ..*self
        }
    }
}

/// What times turns of a candidate in one worker after the other.
pub trait TurnTaker {
    /// Times a trial in a worker in which the candidate is set up, and checks what it left behind.
    /// Breaks after the last one, or when the time is up.
    fn take_trial(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        timed: Box<dyn Timed>,
        is_first: bool,
    ) -> Result<ControlFlow<()>>;
}

/// Times a trial in the candidate's worker, and each further one in a worker of its own.
pub fn in_workers<P: SetsUp>(
    cx: &mut ProblemContext,
    candidate: Candidate<P>,
    taker: &mut dyn TurnTaker,
) -> Result {
    let Candidate {
        problem,
        worker,
        module,
        image,
    } = candidate;
    let mut timed = problem.set_up(cx, worker, module, WorkerRole::Verified)?;
    let mut fresh: Option<Worker> = None;
    let mut number = 0;
    loop {
        let worker = fresh.as_mut().unwrap_or(worker);
        if taker.take_trial(cx, worker, timed, number == 0)?.is_break() {
            return Ok(());
        }
        // The old worker ends while the new one is set up; where it holds much of the device's memory,
        // before that.
        let mut old = fresh.take();
        if let Some(old) = &mut old {
            old.kill();
        }
        let old = old.filter(|_| problem.fits_twice(cx.device));
        number += 1;
        let mut next = (cx.spawn_worker)(WorkerFor::Candidate)?;
        let module = next.load(image)?;
        timed = problem.set_up(cx, &mut next, module, WorkerRole::Fresh(number))?;
        fresh = Some(next);
        drop(old);
    }
}

/// The candidate set up in one worker.
struct TimedWorker {
    timed: Box<dyn Timed>,
    /// The incumbent in the same worker, unless it has one of its own.
    incumbent: Option<Box<dyn Timed>>,
}

impl TimedWorker {
    fn new(
        timed: Box<dyn Timed>,
        worker: &mut Worker,
        incumbent: Option<&Incumbent>,
    ) -> Result<Self> {
        let image = incumbent.and_then(|incumbent| incumbent.image.as_deref());
        let incumbent = image
            .map(|image| timed.in_same_worker(worker, image))
            .transpose()?;
        Ok(TimedWorker { timed, incumbent })
    }

    /// Where both kernels share a worker and its inputs, the first turn of each takes up to 11 %
    /// longer or less than the others (rmsnorm on an H200). So each takes a turn that does not
    /// count.
    fn warm_up_in_turns(&mut self, worker: &mut Worker, out: &mut Writer) -> Result {
        let Some(incumbent) = &mut self.incumbent else {
            return Ok(());
        };
        let inputs = self.timed.next_inputs();
        // If its results are wrong, its first turn that counts finds that.
        unless_wrong(incumbent.turn(worker, inputs, None, &mut Writer::new(io::sink())))?;
        self.timed.turn(worker, inputs, None, out)?;
        Ok(())
    }
}

struct Measuring<'a> {
    plan: &'a Plan,
    incumbent: &'a mut Option<Incumbent>,
    times: Times,
    began: Instant,
    /// Time spent in turns and in what surrounds them, without the start of workers.
    in_turns: Duration,
    /// When the measures were last written.
    last_written: Option<Instant>,
    /// The keys of the measures that were written.
    measures: Vec<&'static str>,
    /// What was timed of each workload. Empty before the last turn.
    workloads: TimedWorkloads,
    /// Something disturbed the measurement. Not known before its end.
    disturbed: bool,
}

impl TurnTaker for Measuring<'_> {
    fn take_trial(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        timed: Box<dyn Timed>,
        is_first: bool,
    ) -> Result<ControlFlow<()>> {
        let mut timed = TimedWorker::new(timed, worker, self.incumbent.as_ref())?;
        let checked = if is_first { CHECKED_LAUNCHES } else { 0 };
        let warm_up = self.plan.warm_up().saturating_sub(checked);
        let next = self.take_turns(cx, worker, &mut timed, warm_up)?;
        timed.timed.check(worker, cx.out)?;
        Ok(next)
    }
}

impl Measuring<'_> {
    /// Drops an incumbent whose launches alone would take all the time.
    fn leave_out_a_slow_incumbent(&mut self, cx: &mut ProblemContext) -> Result {
        let needs = |incumbent: &Incumbent| incumbent.turn_duration() * 2 * LEAST_BLOCKS as u32;
        let slow = self
            .incumbent
            .take_if(|incumbent| needs(incumbent) > self.plan.patience());
        if let Some(slow) = slow {
            let seconds = slow.turn_duration().as_secs_f64();
            let reason = format!(
                "a turn of its launches takes {seconds:.2} s, too long for a save; use `lab bench --verdict`"
            );
            cx.out.caveat(no_comparison(&reason))?;
        }
        Ok(())
    }

    /// Measures in one worker, until its trial is complete or the time is up.
    fn take_turns(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        timed: &mut TimedWorker,
        warm_up: usize,
    ) -> Result<ControlFlow<()>> {
        // An emulated device has no incumbent, but maybe a peer in its place.
        if cx.device.emulated && self.incumbent.is_none() {
            return self.single_turn(cx, worker, timed);
        }
        for _ in 0..warm_up {
            let inputs = timed.timed.next_inputs();
            timed.timed.turn(worker, inputs, None, cx.out)?;
        }
        timed.warm_up_in_turns(worker, cx.out)?;
        loop {
            if self.pair(cx, worker, timed)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.times.pairs += 1;
            self.write_measures(cx, timed)?;
            if cx.is_enough.load(Ordering::Relaxed) {
                return self.finish(cx, timed);
            }
            let spent = self.spent();
            if !self.plan.goes_on(&self.so_far(timed), spent) {
                let last = self.times.trials.len() == self.plan.shape().1;
                if last || spent >= self.plan.budget {
                    return self.finish(cx, timed);
                }
                self.times.begin_trial();
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// What counts against the plan's budget: on save the time in turns, in `lab bench --verdict`
    /// all time.
    fn spent(&self) -> Duration {
        if self.plan.trials.is_some() {
            self.began.elapsed()
        } else {
            self.in_turns
        }
    }

    /// Compares the times with the device's bounds and writes the candidate's measures for the last
    /// time.
    fn finish(&mut self, cx: &mut ProblemContext, timed: &TimedWorker) -> Result<ControlFlow<()>> {
        check_bounds(cx, &*timed.timed, &self.times.candidate)?;
        timed.timed.write(&self.times.candidate, cx.out)?;
        timed.timed.write_once(cx.out)?;
        self.workloads = TimedWorkloads::of(cx, &*timed.timed, &self.times.candidate);
        Ok(ControlFlow::Break(()))
    }

    /// On the emulated device, whose times say nothing about a GPU: one turn, to show that the
    /// kernel ran.
    fn single_turn(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        timed: &mut TimedWorker,
    ) -> Result<ControlFlow<()>> {
        let inputs = timed.timed.next_inputs();
        let seconds = timed.timed.turn(worker, inputs, None, cx.out)?;
        self.times.candidate.push(seconds);
        self.finish(cx, timed)
    }

    /// Times two turns of the candidate, and with an incumbent one turn of it before and one after
    /// them, on the same inputs.
    fn pair(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        timed: &mut TimedWorker,
    ) -> Result<ControlFlow<()>> {
        let inputs = [timed.timed.next_inputs(), timed.timed.next_inputs()];
        let began = Instant::now();
        let before = self.in_turns;
        let first = self.turn_of_incumbent(cx, worker, timed, inputs[0])?;
        let mut between = [Vec::new(), Vec::new()];
        for (turn, inputs) in between.iter_mut().zip(inputs) {
            let seconds = timed.timed.turn(worker, inputs, None, cx.out)?;
            turn.clone_from(&seconds);
            self.times.candidate.push(seconds);
            self.in_turns = before + began.elapsed();
            if self.spent() >= self.plan.patience() {
                return self.finish(cx, timed);
            }
        }
        let last = self.turn_of_incumbent(cx, worker, timed, inputs[1])?;
        self.in_turns = before + began.elapsed();
        if let (Some(first), Some(last)) = (first, last) {
            let turns = BlockTurns {
                a: [first, last],
                b: between,
            };
            let whole = |turn: &Vec<f64>| timed.timed.seconds_of_turn(turn).unwrap_or(f64::NAN);
            let block = measure::abba::AbbaBlock {
                a: turns.a.each_ref().map(whole),
                b: turns.b.each_ref().map(whole),
            };
            self.times.add_block(block, &turns);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Times a turn of the incumbent; `None` without one. An incumbent that fails is dropped with a
    /// caveat, and the comparison that was written so far is taken back.
    fn turn_of_incumbent(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        timed: &mut TimedWorker,
        inputs: u64,
    ) -> Result<Option<Vec<f64>>> {
        let Some(incumbent) = self.incumbent.as_mut() else {
            return Ok(None);
        };
        let turn = match &mut timed.incumbent {
            Some(here) => {
                let discarded = &mut Writer::new(io::sink());
                let turn = unless_wrong(here.turn(worker, inputs, None, discarded))?;
                turn.ok_or_else(|| Stop::Wrong.to_string())
            }
            None => incumbent.turn(inputs),
        };
        match turn {
            Ok(seconds) => {
                self.times.incumbent.push(seconds.clone());
                Ok(Some(seconds))
            }
            Err(reason) => {
                self.take_comparison_back(cx)?;
                *self.incumbent = None;
                self.times.drop_blocks();
                cx.out.caveat(no_comparison(&reason))?;
                Ok(None)
            }
        }
    }

    /// What was measured so far: the interval of the ratio and whether it decides, or the interval
    /// of the candidate's own rate without an incumbent.
    fn so_far(&self, timed: &TimedWorker) -> SoFar {
        let blocks = self.times.pairs;
        if self.incumbent.is_some() {
            let ratio = self.times.ratio();
            let half_width = ratio.map_or(f64::INFINITY, |ratio| ratio.log.half_width);
            let speed = ratio.map_or(Speed::Undecided, |ratio| ratio.speed(self.plan.same_within));
            return SoFar {
                blocks,
                half_width,
                undecided: speed == Speed::Undecided,
                widest_workload: several::widest(&self.times.of_each_launch()),
            };
        }
        let own = timed.timed.throughput(&self.times.candidate);
        let ends = own.and_then(|m| Some((m.low?, m.high?)));
        let half_width = ends.map_or(f64::INFINITY, |(low, high)| (high / low).ln() / 2.0);
        SoFar {
            blocks,
            half_width,
            undecided: false,
            widest_workload: 0.0,
        }
    }
}

/// Returns [`Stop::Wrong`] if the device cannot be as fast as a launch seems to have been. `turns` are
/// seconds. Without a probe, and on the emulated device, there are no bounds.
pub fn check_bounds(cx: &mut ProblemContext, timed: &dyn Timed, turns: &[Vec<f64>]) -> Result {
    let Some(figures) = cx.figures.filter(|_| !cx.device.emulated) else {
        return Ok(());
    };
    let demands = timed.demands();
    let median = |at: usize| measure::of_workload(turns, at).map(|s| s.median);
    let seconds: Option<Vec<f64>> = (0..demands.len()).map(median).collect();
    let Some(seconds) = seconds else {
        return Ok(());
    };
    bounds::judge(
        &figures,
        cx.device.l2_bytes,
        &demands,
        &seconds,
        timed.aggregate(),
        cx.out,
    )
}

#[cfg(test)]
pub mod tests;
