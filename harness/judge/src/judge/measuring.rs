//! The timed launches: the candidate alone, or in turns with the incumbent.

use super::incumbent::{Incumbent, WRONG, no_comparison};
use crate::measure::abba::{AbbaBlock, Ratio};
use crate::measure::plan::{LEAST_BLOCKS, Plan};
use crate::measure::{geometric_mean, summarise};
use crate::outcome::{Correctness, Stop};
use crate::probe::bounds;
use crate::problem::{CHECKED_LAUNCHES, Problem, ProblemContext, Timed, WorkerRole, in_digits};
use crate::worker::{ModuleId, Worker};
use lab_protocol::report::{Measure, SERIES_POINTS, Writer};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Half the length of an interval, of the ratio's logarithm, in which a kernel that is 2 % slower may hide.
const HIDES: f64 = 0.015;

/// The lines of the measures come no closer than this: a screen cannot show more.
const TOLD_EVERY: Duration = Duration::from_millis(50);

/// Times the candidate and writes the measures. What was timed is checked too: `Fail` where a timed
/// launch was wrong, and then no measure stands.
pub fn measure(
    cx: &mut ProblemContext,
    plan: &Plan,
    candidate: Candidate,
    incumbent: &mut Option<Incumbent>,
) -> Result<Correctness, Stop> {
    let mut measuring = Measuring {
        plan,
        incumbent,
        times: Times { trials: vec![Vec::new()], ..Times::default() },
        began: Instant::now(),
        in_turns: Duration::ZERO,
        told: None,
    };
    measuring.leave_out_a_slow_one(cx)?;
    let verdict = measuring.run(cx, candidate);
    match verdict {
        Ok(Correctness::Pass) => measuring.conclude(cx)?,
        Ok(Correctness::Fail) | Err(_) => measuring.take_back(cx)?,
    }
    verdict
}

/// What is timed.
pub struct Candidate<'a> {
    pub problem: &'a mut dyn Problem,
    /// The worker that it was checked in, and its module there.
    pub worker: &'a mut Worker,
    pub module: ModuleId,
    /// For further workers.
    pub image: &'a Path,
}

/// A worker of the candidate's, and what is left of its inputs.
struct TimedWorker {
    timed: Box<dyn Timed>,
    inputs: Box<dyn Iterator<Item = u64>>,
    /// The incumbent in the same worker. It takes inputs that the candidate had already: what it leaves behind is of no
    /// use any more.
    beside: Option<Box<dyn Timed>>,
    spent: Vec<u64>,
}

impl TimedWorker {
    fn new(timed: Box<dyn Timed>, worker: &mut Worker, incumbent: Option<&Incumbent>) -> Result<Self, Stop> {
        let image = incumbent.and_then(|incumbent| incumbent.image.as_deref());
        let beside = image.map(|image| timed.beside(worker, image)).transpose()?.flatten();
        Ok(TimedWorker { inputs: timed.inputs(), spent: timed.spent(), timed, beside })
    }

    /// The candidate's turn.
    fn turn(&mut self, worker: &mut Worker, inputs: u64, out: &mut Writer) -> Result<Option<Vec<f64>>, Stop> {
        self.spent.push(inputs);
        self.timed.turn(worker, inputs, out)
    }
}

#[derive(Default)]
struct Times {
    /// DeviceAccess of the candidate and of the incumbent.
    candidate: Vec<Vec<f64>>,
    incumbent: Vec<Vec<f64>>,
    blocks: Vec<AbbaBlock>,
    /// The figures of each trial's pairs.
    trials: Vec<Vec<f64>>,
    /// Pairs of turns of this trial, with an incumbent or without.
    pairs: usize,
}

struct Measuring<'a> {
    plan: &'a Plan,
    incumbent: &'a mut Option<Incumbent>,
    times: Times,
    began: Instant,
    /// Time in turns and in what surrounds them; starting a worker is not counted.
    in_turns: Duration,
    /// When lines were written last.
    told: Option<Instant>,
}

/// Why a turn was the last one of its worker.
enum TurnOutcome {
    Continue,
    /// The time is up, within a pair.
    TimeUp,
    WrongResult,
}

impl Measuring<'_> {
    /// An incumbent that alone would use up all the time leaves none for the candidate.
    fn leave_out_a_slow_one(&mut self, cx: &mut ProblemContext) -> Result<(), Stop> {
        let needs = |incumbent: &Incumbent| incumbent.takes() * 2 * LEAST_BLOCKS as u32;
        let slow = self.incumbent.take_if(|incumbent| needs(incumbent) > self.plan.patience());
        if let Some(slow) = slow {
            let why =
                format!("its launch takes {:.2} s; `lab measure` takes longer", slow.takes().as_secs_f64());
            cx.out.caveat(no_comparison(&why))?;
        }
        Ok(())
    }

    fn run(&mut self, cx: &mut ProblemContext, candidate: Candidate) -> Result<Correctness, Stop> {
        let Candidate { problem, worker, module, image } = candidate;
        let timed = problem.set_up(cx, worker, module, WorkerRole::Verified)?;
        let mut seat = TimedWorker::new(timed, worker, self.incumbent.as_ref())?;
        let mut warm_up = self.plan.warm_up().saturating_sub(CHECKED_LAUNCHES);
        let mut fresh: Option<Worker> = None;
        let mut number = 0;
        loop {
            let worker = fresh.as_mut().unwrap_or(worker);
            let before = self.times.candidate.len();
            let ended = self.use_up(cx, worker, &mut seat, warm_up)?;
            let right = !matches!(ended, TurnOutcome::WrongResult)
                && seat.timed.check(worker, cx.out)? == Correctness::Pass;
            if !right {
                return Ok(Correctness::Fail);
            }
            if matches!(ended, TurnOutcome::TimeUp) {
                return Ok(Correctness::Pass);
            }
            if number > 0 && self.times.candidate.len() == before {
                return Err(Stop::Problem("the pool has too few runs to time a kernel with".into()));
            }
            // One that has seen nothing; the old one ends first, so that it holds no memory.
            drop(fresh.take());
            number += 1;
            let mut next = (cx.spawn_worker)()?;
            let module = next.load(image)?;
            let timed = problem.set_up(cx, &mut next, module, WorkerRole::Fresh(number))?;
            seat = TimedWorker::new(timed, &mut next, self.incumbent.as_ref())?;
            warm_up = self.plan.warm_up();
            fresh = Some(next);
        }
    }

    /// Measures in one worker, until its inputs or the trial are used up, or the time.
    fn use_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        seat: &mut TimedWorker,
        warm_up: usize,
    ) -> Result<TurnOutcome, Stop> {
        if cx.device.emulated {
            return self.once(cx, worker, seat);
        }
        // A pair must be left.
        let spare = seat.inputs.size_hint().1.map_or(warm_up, |all| all.saturating_sub(2));
        for _ in 0..warm_up.min(spare) {
            let Some(inputs) = seat.inputs.next() else { break };
            if seat.turn(worker, inputs, cx.out)?.is_none() {
                return Ok(TurnOutcome::WrongResult);
            }
        }
        while let (Some(first), Some(second)) = (seat.inputs.next(), seat.inputs.next()) {
            match self.pair(cx, worker, seat, [first, second])? {
                TurnOutcome::Continue => {}
                ended => return Ok(ended),
            }
            self.times.pairs += 1;
            self.tell(cx, seat)?;
            let spent = self.spent();
            if !self.plan.goes_on(self.times.pairs, self.half_width(seat), spent) {
                let last = self.times.trials.len() == self.plan.shape().1;
                if last || spent >= self.plan.budget {
                    return self.over(cx, seat);
                }
                self.times.trials.push(Vec::new());
                self.times.pairs = 0;
                return Ok(TurnOutcome::Continue);
            }
        }
        if self.worth_a_worker() { Ok(TurnOutcome::Continue) } else { self.over(cx, seat) }
    }

    /// A further worker takes long to start: on save none is for less than a pair, nor where there were
    /// several already.
    fn worth_a_worker(&self) -> bool {
        let each = self.in_turns / self.times.pairs.max(1) as u32;
        let time = self.in_turns + each <= self.plan.budget && self.began.elapsed() < self.plan.patience();
        self.plan.trials.is_some() || self.times.pairs < LEAST_BLOCKS || time
    }

    /// What the plan's budget is compared with: on save the turns, else all that somebody waits for.
    fn spent(&self) -> Duration {
        if self.plan.trials.is_some() { self.began.elapsed() } else { self.in_turns }
    }

    fn over(&self, cx: &mut ProblemContext, seat: &TimedWorker) -> Result<TurnOutcome, Stop> {
        if self.held_against_bounds(cx, seat)? == Correctness::Fail {
            return Ok(TurnOutcome::WrongResult);
        }
        seat.timed.write(&self.times.candidate, true, cx.out)?;
        Ok(TurnOutcome::TimeUp)
    }

    /// Times there say nothing about a GPU: one, to show that it ran.
    fn once(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        seat: &mut TimedWorker,
    ) -> Result<TurnOutcome, Stop> {
        let inputs = seat.inputs.next().unwrap_or(0);
        let Some(seconds) = seat.turn(worker, inputs, cx.out)? else { return Ok(TurnOutcome::WrongResult) };
        self.times.candidate.push(seconds);
        self.over(cx, seat)
    }

    /// Two turns of the candidate, between two of the incumbent on the same inputs where there is one.
    fn pair(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        seat: &mut TimedWorker,
        inputs: [u64; 2],
    ) -> Result<TurnOutcome, Stop> {
        let began = Instant::now();
        let before = self.in_turns;
        let first = self.turn_of_incumbent(cx, worker, seat, inputs[0])?;
        let mut between = [0.0; 2];
        for (turn, inputs) in between.iter_mut().zip(inputs) {
            let Some(seconds) = seat.turn(worker, inputs, cx.out)? else {
                return Ok(TurnOutcome::WrongResult);
            };
            *turn = geometric_mean(seconds.iter().copied()).unwrap_or(f64::NAN);
            self.times.candidate.push(seconds);
            self.in_turns = before + began.elapsed();
            if self.spent() >= self.plan.patience() {
                return self.over(cx, seat);
            }
        }
        let last = self.turn_of_incumbent(cx, worker, seat, inputs[1])?;
        self.in_turns = before + began.elapsed();
        if let (Some(first), Some(last)) = (first, last) {
            let block = AbbaBlock { a: [first, last], b: between };
            if let Some(trial) = self.times.trials.last_mut() {
                trial.extend(block.log_ratios());
            }
            self.times.blocks.push(block);
        }
        Ok(TurnOutcome::Continue)
    }

    /// `None` without one. An incumbent that fails is no fault of the candidate's: it is given up.
    fn turn_of_incumbent(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        seat: &mut TimedWorker,
        inputs: u64,
    ) -> Result<Option<f64>, Stop> {
        let Some(incumbent) = self.incumbent.as_mut() else { return Ok(None) };
        let turn = match (&mut seat.beside, seat.spent.last()) {
            (Some(beside), Some(spent)) => {
                let turn = beside.turn(worker, *spent, &mut Writer::new(io::sink()))?;
                turn.ok_or_else(|| WRONG.to_owned())
            }
            _ => incumbent.turn(inputs),
        };
        match turn {
            Ok(seconds) => {
                let turn = geometric_mean(seconds.iter().copied());
                self.times.incumbent.push(seconds);
                Ok(turn)
            }
            Err(why) => {
                self.take_ratio_back(cx)?;
                *self.incumbent = None;
                self.times.trials.iter_mut().for_each(Vec::clear);
                self.times.blocks.clear();
                cx.out.caveat(no_comparison(&why))?;
                Ok(None)
            }
        }
    }

    /// A time that the device cannot reach is no measurement. Without a probe, and of an emulated device,
    /// nothing bounds it.
    fn held_against_bounds(&self, cx: &mut ProblemContext, seat: &TimedWorker) -> Result<Correctness, Stop> {
        let Some(figures) = cx.figures.filter(|_| !cx.device.emulated) else { return Ok(Correctness::Pass) };
        let demands = seat.timed.demands();
        let turns = &self.times.candidate;
        let median = |at: usize| {
            let seconds: Vec<f64> = turns.iter().filter_map(|turn| turn.get(at).copied()).collect();
            summarise(&seconds).map(|s| s.median)
        };
        let seconds: Option<Vec<f64>> = (0..demands.len()).map(median).collect();
        let Some(seconds) = seconds else { return Ok(Correctness::Pass) };
        Ok(bounds::judge(&figures, cx.device.l2_bytes, &demands, &seconds, cx.out)?)
    }

    /// Of what is to become narrow: the ratio's interval, or without an incumbent the candidate's own.
    fn half_width(&self, seat: &TimedWorker) -> f64 {
        if self.incumbent.is_some() {
            return self.ratio().map_or(f64::INFINITY, |ratio| ratio.log.half_width);
        }
        let own = seat.timed.throughput(&self.times.candidate);
        let ends = own.and_then(|m| Some((m.low?, m.high?)));
        ends.map_or(f64::INFINITY, |(low, high)| (high / low).ln() / 2.0)
    }

    fn ratio(&self) -> Option<Ratio> {
        Ratio::of(&self.times.trials)
    }

    /// The measures so far, unless they were told a moment ago.
    fn tell(&mut self, cx: &mut ProblemContext, seat: &TimedWorker) -> Result<(), Stop> {
        if self.told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
            return Ok(());
        }
        self.told = Some(Instant::now());
        seat.timed.write(&self.times.candidate, false, cx.out)?;
        self.compared(cx)
    }

    /// The lines of the comparison.
    fn compared(&self, cx: &mut ProblemContext) -> Result<(), Stop> {
        let (Some(incumbent), Some(ratio)) = (self.incumbent.as_ref(), self.ratio()) else { return Ok(()) };
        if let Some(rate) = incumbent.throughput(&self.times.incumbent) {
            cx.out.line("incumbent_sps", in_digits(&rate, 1))?;
        }
        let (low, high) = ratio.interval().unzip();
        let value = in_digits(&Measure { value: ratio.value(), low, high }, 4);
        cx.out.line("speed_ratio", format_args!("{value} quads={}", ratio.blocks))?;
        if let Some(speed) = ratio.speed(self.plan.same_within) {
            cx.out.line("speed", speed.word())?;
        }
        Ok(())
    }

    /// The last lines; the candidate's own measures were written with its last turn.
    fn conclude(&self, cx: &mut ProblemContext) -> Result<(), Stop> {
        self.compared(cx)?;
        if cx.device.emulated {
            return Ok(());
        }
        self.spread(cx)?;
        self.turns(cx)?;
        if let Some(caveat) = self.caveat() {
            cx.out.caveat(caveat)?;
        }
        Ok(())
    }

    /// What was to be measured and was not.
    fn caveat(&self) -> Option<String> {
        let launches = self.times.candidate.len();
        if launches < 2 {
            let seconds = self.times.candidate.iter().flatten().sum::<f64>();
            return Some(format!(
                "one trial: a launch takes {seconds:.3} s, longer than all that is to be spent, so there is no interval"
            ));
        }
        if let Some(trials) = self.plan.trials {
            let wanted = self.plan.shape().0 * 2 * trials.trials;
            return (launches < wanted)
                .then(|| format!("the time was up after {launches} of {wanted} launches"));
        }
        self.incumbent.as_ref()?;
        let width = self.ratio().map_or(f64::INFINITY, |ratio| ratio.log.half_width);
        if width.is_infinite() {
            return Some(
                "no verdict on speed: the time was up before two ABBA blocks; `lab measure` takes longer"
                    .into(),
            );
        }
        // The interval stands beside the ratio for all to see; this one says too little to be gone by.
        (width > HIDES).then(|| {
            format!(
                "the time was up while the ratio's interval was ± {} %: `lab measure` takes longer",
                percent(width)
            )
        })
    }

    /// The median of the turns' distances from their median.
    fn spread(&self, cx: &mut ProblemContext) -> Result<(), Stop> {
        let turns: Option<Vec<f64>> =
            self.times.candidate.iter().map(|turn| geometric_mean(turn.iter().copied())).collect();
        let Some(spread) = turns.and_then(|turns| summarise(&turns)) else { return Ok(()) };
        let trials = self.times.trials.len();
        let mad = percent(spread.mad / spread.median);
        cx.out.line("spread_pct", format_args!("{mad} launches={} trials={trials}", spread.n))?;
        Ok(())
    }

    /// Every block's turns, in microseconds and in their order: what the verdict on speed was made of.
    fn turns(&self, cx: &mut ProblemContext) -> Result<(), Stop> {
        let turns = self.times.blocks.iter().take(SERIES_POINTS / 4);
        let turns = turns.flat_map(|block| [block.a[0], block.b[0], block.b[1], block.a[1]]);
        let words: Vec<String> = turns.map(|seconds| format!("{:.3}", seconds * 1e6)).collect();
        if !words.is_empty() {
            cx.out.line("turns_series", words.join(","))?;
        }
        Ok(())
    }

    /// No figure stands beside a failure: the last one of each key holds.
    fn take_back(&self, cx: &mut ProblemContext) -> Result<(), Stop> {
        if self.told.is_none() {
            return Ok(());
        }
        for key in ["throughput_sps", "kernel_us"] {
            cx.out.line(key, "nan")?;
        }
        self.take_ratio_back(cx)
    }

    fn take_ratio_back(&self, cx: &mut ProblemContext) -> Result<(), Stop> {
        if self.told.is_some() && self.ratio().is_some() {
            cx.out.line("speed_ratio", "nan")?;
            cx.out.line("speed", "none")?;
        }
        Ok(())
    }
}

/// Of a fraction, with the digits that matter.
fn percent(fraction: f64) -> String {
    format!("{:.3}", fraction * 100.0)
}

#[cfg(test)]
#[path = "measuring_tests.rs"]
mod tests;
