//! Verifying one case: launching it and comparing what it wrote.

use super::case_data::CaseData;
use super::launcher::{CaseLauncher, Inputs, Written};
use super::resident::{AcceptedOutputs, Resident};
use super::tally::{ComparedOutputs, GateTally};
use crate::outcome::Stop;
use crate::worker::{Breach, ModuleId, Worker};
use lab_device::ExecutionOrder;
use lab_protocol::report::Writer;
use std::thread::{Scope, ScopedJoinHandle};

/// Launches of a case after each of which all memory is looked at.
const LOOKS: usize = 3;

/// What checks of all cases share.
pub struct CaseCheck<'a> {
    /// The timed cases, which are set up all the time.
    pub resident: &'a Resident,
    pub module: ModuleId,
    pub tally: &'a mut GateTally,
    pub worker: &'a mut Worker,
    pub out: &'a mut Writer,
    /// Of the orders of threads on the emulated device.
    pub seed: u64,
}

/// Sets of a case, and the buffers that it is launched on.
#[derive(Clone, Copy)]
pub struct CheckedSets<'a> {
    pub launcher: &'a CaseLauncher,
    pub drawn: &'a CaseData,
    /// The number of a timed case, and where its right outputs are noted.
    pub accepted: Option<(usize, &'a AcceptedOutputs)>,
}

/// A launch on one of the sets.
#[derive(Clone)]
struct CheckedLaunch<'a> {
    of: CheckedSets<'a>,
    set: usize,
    order: ExecutionOrder,
    /// Names the launch in messages.
    how: String,
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
        (written, digests): (Vec<Written>, Vec<u64>),
    ) -> Self {
        let drawn = launch.of.drawn;
        let (case, want) = (&*drawn.case, &drawn.expected[launch.set]);
        let compared = scope.spawn(move || {
            let others = written
                .iter()
                .rev()
                .map(|other| (written.len() > 1).then_some(other));
            let each = written.iter().zip(others);
            each.map(|(written, other)| ComparedOutputs::of(case, written, other, want))
                .collect()
        });
        Comparing {
            launch,
            digests,
            compared,
        }
    }
}

impl CaseCheck<'_> {
    /// Launches a case on each set of inputs, on the emulated device at least `least` times and in
    /// several orders of blocks and threads, and compares the outputs. Stops after a launch that
    /// got most of an output wrong, and after a store out of bounds.
    pub fn run(&mut self, sets: CheckedSets, least: usize) -> Result<(), Stop> {
        // What a launch wrote is compared while the next set is launched.
        std::thread::scope(|scope| {
            let mut comparing = None;
            // The first launch of a function in Python may compile it.
            let limit = sets.drawn.launch_limit(self.resident.emulated);
            let limit = limit.filter(|_| !self.worker.is_python());
            self.worker.limit_launches(limit);
            let launched = self.launch_all(sets, least, scope, &mut comparing);
            self.worker.limit_launches(None);
            // Also after a crash: what was wrong before it is told.
            self.finish(comparing)?;
            launched
        })
    }

    fn launch_all<'scope, 'a: 'scope>(
        &mut self,
        of: CheckedSets<'a>,
        least: usize,
        scope: &'scope Scope<'scope, '_>,
        comparing: &mut Option<Comparing<'scope, 'a>>,
    ) -> Result<(), Stop> {
        let sets = of.drawn.sets.len();
        // A GPU has an order of its own.
        let is_ordered = self.worker.orders_threads();
        let launches = if self.resident.emulated {
            sets.max(least)
        } else {
            sets
        };
        let shuffled = ExecutionOrder::Shuffled(self.seed);
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
                of,
                set,
                order,
                how: how.clone(),
            };
            // Each set is launched twice where only two launches show an unwritten cell.
            let twice = i < sets && of.drawn.case.needs_two_launches();
            let written = self.launch(&launch, twice)?;
            self.finish(comparing.take())?;
            *comparing = Some(Comparing::start(scope, launch.clone(), written));
            if of.drawn.case.steps > 1 {
                self.finish(comparing.take())?;
                self.compare_steps(&launch)?;
            }
            // To look at all memory takes a while. A stray store of later launches is found after
            // the last one. Shared buffers are looked at before the inputs of the next set lie over
            // a change of these.
            let (breaches, how) = if i < LOOKS {
                (self.worker.breaches()?, how)
            } else if i + 1 == launches {
                let how = format!("launches {} to {launches}", LOOKS + 1);
                (self.worker.breaches()?, how)
            } else if of.launcher.shares_buffers() {
                (self.worker.breaches_of_given()?, how)
            } else {
                continue;
            };
            if !breaches.is_empty() {
                self.finish(comparing.take())?;
                self.report(of.launcher, breaches, &how)?;
            }
            if self.tally.has_seen_enough() {
                break;
            }
        }
        Ok(())
    }

    /// Launches a resident case on renewed inputs, which lie where its sets have lain, and compares
    /// the outputs. Then its sets are there again.
    pub fn run_renewed(&mut self, of: CheckedSets, known: &[Inputs]) -> Result<(), Stop> {
        let launcher = of.launcher;
        std::thread::scope(|scope| {
            let how = "new inputs in the place of others";
            for (set, inputs) in of.drawn.sets.iter().enumerate() {
                launcher.write_inputs(self.worker, set, inputs)?;
                let launch = CheckedLaunch {
                    of,
                    set,
                    order: ExecutionOrder::Forward,
                    how: how.into(),
                };
                let written = self.launch(&launch, of.drawn.case.needs_two_launches())?;
                let comparing = Comparing::start(scope, launch, written);
                let breaches = self.worker.breaches_of_given()?;
                launcher.write_inputs(self.worker, set, &known[set % known.len().max(1)])?;
                self.finish(Some(comparing))?;
                self.report(launcher, breaches, how)?;
            }
            Ok(())
        })
    }

    /// Launches a set once or twice. Returns what each launch wrote, and the digests of the last
    /// one's outputs if right ones are noted.
    fn launch(
        &mut self,
        launch: &CheckedLaunch,
        twice: bool,
    ) -> Result<(Vec<Written>, Vec<u64>), Stop> {
        let (launcher, set) = (launch.of.launcher, launch.set);
        let mut written = Vec::new();
        if twice {
            self.launch_once(launch)?;
            written.push(launcher.written(self.worker, set)?);
        }
        self.launch_once(launch)?;
        let digests = match launch.of.accepted {
            Some((at, _)) => self
                .resident
                .output_digests(self.worker, at, &[set])?
                .concat(),
            None => Vec::new(),
        };
        written.push(launcher.written(self.worker, set)?);
        Ok((written, digests))
    }

    fn launch_once(&mut self, launch: &CheckedLaunch) -> Result<f64, Stop> {
        let CheckedSets {
            launcher, drawn, ..
        } = launch.of;
        let (module, sets) = (self.module, &drawn.sets);
        launcher.launch(self.worker, module, launch.set, sets, launch.order)
    }

    /// Waits for a comparison, and adds it to the gates.
    fn finish(&mut self, comparing: Option<Comparing>) -> Result<(), Stop> {
        let Some(Comparing {
            launch,
            digests,
            compared,
        }) = comparing
        else {
            return Ok(());
        };
        let again = format!("{}, again", launch.how);
        let compared = compared.join().expect("comparing numbers does not panic");
        let mut right = true;
        for (compared, how) in compared.into_iter().zip([&launch.how, &again]) {
            let drawn = launch.of.drawn;
            right &= self.tally.add(drawn, launch.set, how, compared, self.out)?;
        }
        if let Some((at, accepted)) = launch.of.accepted.filter(|_| right) {
            accepted.insert(at, launch.set, digests);
        }
        Ok(())
    }

    /// Makes the further launches in a row on what the last one left, and compares what is there
    /// after them.
    fn compare_steps(&mut self, launch: &CheckedLaunch) -> Result<(), Stop> {
        let CheckedSets {
            launcher, drawn, ..
        } = launch.of;
        let (set, steps) = (launch.set, drawn.case.steps);
        for _ in 1..steps {
            launcher.launch_again(self.worker, self.module, set, launch.order)?;
        }
        let written = launcher.written(self.worker, set)?;
        let how = format!("{}, after {steps} launches in a row", launch.how);
        let want = &drawn.after_steps[set];
        let compared = ComparedOutputs::of(&drawn.case, &written, None, want);
        self.tally.add(drawn, set, &how, compared, self.out)?;
        Ok(())
    }

    fn report(
        &mut self,
        launcher: &CaseLauncher,
        breaches: Vec<Breach>,
        how: &str,
    ) -> Result<(), Stop> {
        for breach in breaches {
            let other = match launcher.owns(&breach) {
                true => None,
                false => self.resident.describe(&breach),
            };
            let what = match other {
                Some((case, what)) => {
                    format!("{what}, which belongs to the workload {}", case.label)
                }
                None => launcher.describe(&breach),
            };
            self.tally
                .breach(launcher.case(), how, &what, &breach, self.out)?;
        }
        Ok(())
    }
}
