//! Verifying one case: launching it and comparing what it wrote.

use super::case_data::CaseData;
use super::launcher::{CaseLauncher, Inputs, Outputs, Written};
use super::resident::{AcceptedOutputs, Resident};
use super::spec::ProblemSpec;
use super::tally::{ComparedOutputs, GateTally, LaunchOf};
use crate::outcome::Stop;
use crate::problem::api::ProblemContext;
use crate::worker::{Breach, ModuleId, Worker};
use lab_device::ExecutionOrder;
use std::rc::Rc;
use std::thread::{Scope, ScopedJoinHandle};

/// Launches of a case after each of which all memory is looked at.
const LOOKS: usize = 3;

/// What checks of all cases share.
pub struct CaseCheck<'a> {
    pub spec: &'a Rc<ProblemSpec>,
    /// The timed cases, which are set up all the time.
    pub resident: &'a Resident,
    pub module: ModuleId,
    pub tally: &'a mut GateTally,
}

/// A launch of a case on one of its sets.
#[derive(Clone)]
struct CheckedLaunch<'a> {
    launcher: &'a CaseLauncher,
    drawn: &'a CaseData,
    set: usize,
    order: ExecutionOrder,
    /// Names the launch in messages.
    how: String,
}

impl<'a> CheckedLaunch<'a> {
    fn of(&'a self, how: &'a str) -> LaunchOf<'a> {
        LaunchOf {
            case: self.launcher.case(),
            how,
            planted: &self.drawn.planted[self.set],
        }
    }
}

/// What a launch wrote: where only two launches show an unwritten cell, the first and the second
/// one's.
enum Outcome {
    Once(Outputs),
    Twice([Written; 2]),
}

/// A comparison on a thread of its own.
struct Comparing<'scope, 'a> {
    launch: CheckedLaunch<'a>,
    /// Of the outputs, if right ones are noted.
    digests: Vec<u64>,
    compared: ScopedJoinHandle<'scope, Vec<ComparedOutputs>>,
}

impl<'scope, 'a: 'scope> Comparing<'scope, 'a> {
    fn start(
        scope: &'scope Scope<'scope, '_>,
        launch: CheckedLaunch<'a>,
        (outcome, digests): (Outcome, Vec<u64>),
    ) -> Self {
        let (case, want) = (launch.launcher.case(), &launch.drawn.expected[launch.set]);
        let compared = scope.spawn(move || match outcome {
            Outcome::Once(got) => vec![ComparedOutputs::of(case, &got, want)],
            Outcome::Twice([first, second]) => vec![
                ComparedOutputs::beside(case, [&first, &second], want),
                ComparedOutputs::beside(case, [&second, &first], want),
            ],
        });
        Comparing {
            launch,
            digests,
            compared,
        }
    }
}

/// What a case is launched on.
#[derive(Clone, Copy)]
struct Launches<'a> {
    launcher: &'a CaseLauncher,
    drawn: &'a CaseData,
    accepted: Accepted<'a>,
    least: usize,
}

/// Right outputs of a timed case, and its number.
type Accepted<'a> = Option<(usize, &'a AcceptedOutputs)>;

impl CaseCheck<'_> {
    /// Launches a case on each set of inputs, at least `least` times, and on the emulated device in
    /// several orders of blocks and threads, and compares the outputs. Notes the right ones in
    /// `accepted`, under the number of the timed case. Stops after a launch that got most of an
    /// output wrong, and after a store out of bounds.
    pub fn run(
        &mut self,
        launcher: &CaseLauncher,
        drawn: &CaseData,
        accepted: Accepted,
        least: usize,
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        // What a launch wrote is compared while the next set is launched.
        std::thread::scope(|scope| {
            let mut comparing = None;
            let launches = Launches {
                launcher,
                drawn,
                accepted,
                least,
            };
            // The first launch of a function in Python may compile it.
            let limit = drawn
                .launch_limit(cx.device.emulated)
                .filter(|_| !worker.is_python());
            worker.limit_launches(limit);
            let launched = self.launch_all(&launches, scope, &mut comparing, cx, worker);
            worker.limit_launches(None);
            // Also after a crash: what was wrong before it is told.
            self.finish(comparing, accepted, cx)?;
            launched
        })
    }

    fn launch_all<'scope, 'a: 'scope>(
        &mut self,
        launches: &Launches<'a>,
        scope: &'scope Scope<'scope, '_>,
        comparing: &mut Option<Comparing<'scope, 'a>>,
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        let Launches {
            launcher,
            drawn,
            accepted,
            least,
        } = *launches;
        let sets = drawn.sets.len();
        // A GPU has an order of its own.
        let is_ordered = worker.orders_threads();
        let launches = if cx.device.emulated {
            sets.max(least)
        } else {
            sets
        };
        let shuffled = ExecutionOrder::Shuffled(cx.seed);
        let orders = match is_ordered {
            true => vec![ExecutionOrder::Forward, ExecutionOrder::Reverse, shuffled],
            false => vec![ExecutionOrder::Forward],
        };
        for i in 0..launches {
            let (set, order) = (i % sets, orders[i % orders.len()]);
            let how = match (is_ordered, order) {
                (false, _) => format!("launch {}", i + 1),
                (true, ExecutionOrder::Forward) => "threads in order".into(),
                (true, ExecutionOrder::Reverse) => "threads in reverse order".into(),
                (true, ExecutionOrder::Shuffled(seed)) => {
                    format!("threads in shuffled order {seed}")
                }
            };
            let launch = CheckedLaunch {
                launcher,
                drawn,
                set,
                order,
                how: how.clone(),
            };
            // Each set is launched twice where only two launches show an unwritten cell.
            let twice = i < sets && self.spec.needs_two_launches(launcher.case());
            let written = self.launch(&launch, twice, accepted, worker)?;
            self.finish(comparing.take(), accepted, cx)?;
            *comparing = Some(Comparing::start(scope, launch.clone(), written));
            if self.spec.steps > 1 {
                self.finish(comparing.take(), accepted, cx)?;
                self.compare_steps(&launch, cx, worker)?;
            }
            // To look at all memory takes a while. A stray store of later launches is found after
            // the last one. Shared buffers are looked at before the inputs of the next set lie over
            // a change of these.
            let (breaches, how) = if i < LOOKS {
                (worker.breaches()?, how)
            } else if i + 1 == launches {
                (
                    worker.breaches()?,
                    format!("launches {} to {launches}", LOOKS + 1),
                )
            } else if launcher.shares_buffers() {
                (worker.breaches_of_given()?, how)
            } else {
                continue;
            };
            if !breaches.is_empty() {
                self.finish(comparing.take(), accepted, cx)?;
                self.report(launcher, breaches, &how, cx)?;
            }
            if self.tally.has_seen_enough() {
                break;
            }
        }
        Ok(())
    }

    /// Launches a resident case on renewed inputs, which lie where its sets have lain, and compares
    /// the outputs. Then its sets are there again.
    pub fn run_renewed(
        &mut self,
        launcher: &CaseLauncher,
        renewed: &CaseData,
        known: &[Inputs],
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        std::thread::scope(|scope| {
            let how = "new inputs in the place of others";
            for (set, inputs) in renewed.sets.iter().enumerate() {
                launcher.write_inputs(worker, set, inputs)?;
                let order = ExecutionOrder::Forward;
                let launch = CheckedLaunch {
                    launcher,
                    drawn: renewed,
                    set,
                    order,
                    how: how.into(),
                };
                let twice = self.spec.needs_two_launches(launcher.case());
                let written = self.launch(&launch, twice, None, worker)?;
                let comparing = Comparing::start(scope, launch, written);
                let breaches = worker.breaches_of_given()?;
                launcher.write_inputs(worker, set, &known[set % known.len().max(1)])?;
                self.finish(Some(comparing), None, cx)?;
                self.report(launcher, breaches, how, cx)?;
            }
            Ok(())
        })
    }

    /// Launches a set once or twice. Returns what was written, and its digests if right outputs are
    /// noted.
    fn launch(
        &self,
        launch: &CheckedLaunch,
        twice: bool,
        accepted: Accepted,
        worker: &mut Worker,
    ) -> Result<(Outcome, Vec<u64>), Stop> {
        let CheckedLaunch {
            launcher,
            drawn,
            set,
            order,
            ..
        } = *launch;
        let inputs = &drawn.sets[set];
        let mut first = None;
        if twice {
            launcher.launch(worker, self.module, set, &drawn.sets, order)?;
            first = Some(launcher.written(worker, set, inputs)?);
        }
        launcher.launch(worker, self.module, set, &drawn.sets, order)?;
        let digests = match accepted {
            Some((at, _)) => self.resident.output_digests(worker, at, &[set])?.concat(),
            None => Vec::new(),
        };
        let outcome = match first {
            None => Outcome::Once(launcher.outputs(worker, set)?),
            Some(first) => Outcome::Twice([first, launcher.written(worker, set, inputs)?]),
        };
        Ok((outcome, digests))
    }

    /// Waits for a comparison, and adds it to the gates.
    fn finish(
        &mut self,
        comparing: Option<Comparing>,
        accepted: Accepted,
        cx: &mut ProblemContext,
    ) -> Result<(), Stop> {
        let Some(Comparing {
            launch,
            digests,
            compared,
        }) = comparing
        else {
            return Ok(());
        };
        let again = format!("{}, again", launch.how);
        let names = [&launch.how, &again];
        let mut right = true;
        for (compared, how) in compared
            .join()
            .expect("comparing numbers does not panic")
            .into_iter()
            .zip(names)
        {
            right &= self
                .tally
                .add(self.spec, launch.of(how), compared, cx.out)?;
        }
        if let Some((at, accepted)) = accepted.filter(|_| right) {
            accepted.insert(at, launch.set, digests);
        }
        Ok(())
    }

    /// Makes the further launches in a row on what the last one left, and compares what is there
    /// after them.
    fn compare_steps(
        &mut self,
        launch: &CheckedLaunch,
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        let CheckedLaunch {
            launcher,
            drawn,
            set,
            order,
            ..
        } = *launch;
        for _ in 1..self.spec.steps {
            launcher.launch_again(worker, self.module, set, &drawn.sets, order)?;
        }
        let got = launcher.outputs(worker, set)?;
        let how = format!(
            "{}, after {} launches in a row",
            launch.how, self.spec.steps
        );
        let compared = ComparedOutputs::of(launcher.case(), &got, &drawn.after_steps[set]);
        self.tally
            .add(self.spec, launch.of(&how), compared, cx.out)?;
        Ok(())
    }

    fn report(
        &mut self,
        launcher: &CaseLauncher,
        breaches: Vec<Breach>,
        how: &str,
        cx: &mut ProblemContext,
    ) -> Result<(), Stop> {
        for breach in breaches {
            let input = matches!(breach, Breach::InputChanged { .. });
            let found = if launcher.owns(&breach) {
                None
            } else {
                self.resident.describe(&breach)
            };
            let what = match found {
                Some((case, what)) => {
                    format!("{what}, which belongs to the workload {}", case.label)
                }
                None => launcher.describe(&breach),
            };
            self.tally
                .breach(launcher.case(), how, &what, input, cx.out)?;
        }
        Ok(())
    }
}
