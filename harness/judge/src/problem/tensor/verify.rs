//! Verifying one case: launching it and comparing what it wrote.

use super::case_data::{CaseData, CaseSet};
use super::launcher::{CaseLauncher, Launched, ReadCells};
use super::resident::{AcceptedOutputs, Resident};
use super::tally::{ComparedOutputs, GateTally};
use super::together::{self, LaunchedCases, Twice};
use crate::outcome::{Result, Stop};
use crate::worker::{Breach, Cells, ModuleId, Worker};
use itertools::Itertools as _;
use lab_device::ExecutionOrder;
use lab_protocol::report::Writer;
use lab_system::threads::{Beside, beside};
use std::ops::ControlFlow;
use std::thread::Scope;
use std::time::Duration;

/// Launches of a case after each of which all memory is looked at.
const LOOKS: usize = 3;

/// Bytes of expected results that are compared where the next launch would begin.
const SMALL: usize = 64 << 10;

/// The state that the checks of all cases share.
pub struct CaseCheck<'a> {
    /// The timed cases, which are set up all the time.
    pub resident: &'a Resident,
    pub module: ModuleId,
    pub tally: &'a mut GateTally,
    pub worker: &'a mut Worker,
    pub out: &'a mut Writer,
    /// The seed of the orders of threads on the emulated device.
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
    /// Of an earlier launch on the set, which together with this one shows unwritten cells.
    earlier: Option<ExecutionOrder>,
    order: ExecutionOrder,
    /// Names the launch in messages, if not its order does.
    how: Option<String>,
}

impl CheckedLaunch<'_> {
    /// The names of its launches.
    fn names(&self) -> impl Iterator<Item = String> {
        let orders = self.earlier.into_iter().chain([self.order]).enumerate();
        orders.map(|(i, order)| match (&self.how, i) {
            (Some(how), 0) => how.clone(),
            (Some(how), _) => format!("{how}, again"),
            (None, _) => in_words(order),
        })
    }

    /// The name of its last launch.
    fn name(&self) -> String {
        self.names().last().unwrap_or_default()
    }
}

/// The result of a comparison, or the thread that it is under way on.
type Compared<'scope> = Beside<'scope, Result<Vec<ComparedOutputs>>>;

/// What the launches on several cases wrote, compared.
pub struct ComparedTogether<'a> {
    /// For each [`CheckedSets`] its launches, up to the one that failed.
    pub each: Vec<Vec<Comparing<'static, 'a>>>,
    /// The position of the sets on which a launch failed, and why.
    pub failed: Option<(usize, Stop)>,
}

impl Comparing<'_, '_> {
    /// Whether it has ended, and something is wrong.
    pub fn is_wrong(&self) -> bool {
        let case = &self.launch.of.drawn.case;
        match &self.compared {
            Beside::Done(Ok(compared)) => compared.iter().any(|outputs| !outputs.pass(case)),
            Beside::Done(Err(_)) | Beside::Running(_) => false,
        }
    }
}

/// The comparison of a launch.
pub struct Comparing<'scope, 'a> {
    launch: CheckedLaunch<'a>,
    /// The digests of the outputs, if right ones are noted.
    digests: Vec<u64>,
    compared: Compared<'scope>,
}

impl CaseCheck<'_> {
    /// Launches a case on each set of inputs, on the emulated device at least `least` times and in
    /// several orders of blocks and threads, and compares the outputs. Stops after a launch that
    /// got most of an output wrong, and after a store out of bounds.
    pub fn run(&mut self, sets: CheckedSets, least: usize) -> Result {
        self.tally.note_accepts(sets.drawn);
        // What a launch wrote is compared while the next set is launched.
        std::thread::scope(|scope| {
            let mut comparing = None;
            // The first launch of a function in Python may compile it.
            let limit = sets.drawn.launch_limit(self.resident.emulated);
            let limit = limit.filter(|_| !self.worker.is_python());
            self.worker.limit_launches(limit);
            let launched = self.launch_all(sets, least, scope, &mut comparing);
            self.worker.limit_launches(None);
            // Also after a crash, so that failures before it are reported.
            self.finish(comparing)?;
            launched
        })
    }

    /// Launches on the sets of several cases, and then compares all that was written, where both are
    /// done on the device: to change between its processes takes longer than most launches.
    pub fn run_together<'a>(&mut self, all: &[CheckedSets<'a>]) -> Result<ComparedTogether<'a>> {
        let (worker, module) = (&mut *self.worker, self.module);
        let limits = all.iter().map(|of| of.drawn.launch_limit(false));
        let limits: Option<Vec<Duration>> = limits.collect();
        // The first launch of a function in Python may compile it.
        let limit = limits.and_then(|limits| limits.into_iter().max());
        worker.limit_launches(limit.filter(|_| !worker.is_python()));
        let cases = all.iter().map(|of| (of.launcher, of.drawn)).collect_vec();
        let how = (
            ExecutionOrder::Forward,
            Twice::Each,
            Worker::look_at as ReadCells,
        );
        let launched = together::launch(worker, module, &cases, how);
        worker.limit_launches(None);
        let LaunchedCases { each, failed } = launched?;
        let mut digests = self.digests_of(all, &each)?.into_iter();
        let sets = all.iter().zip(&each);
        let launches = sets.clone().flat_map(|(of, launched)| {
            let case = &*of.drawn.case;
            launched
                .iter()
                .zip(&of.drawn.sets)
                .flat_map(move |(launched, set)| {
                    let Launched { earlier, last, .. } = launched;
                    let first = earlier.as_ref().map(|earlier| (earlier, Some(last)));
                    let both = first.into_iter().chain([(last, earlier.as_ref())]);
                    both.map(move |(written, other)| (case, written, other, &set.expected))
                })
        });
        let launches = launches.collect_vec();
        let mut compared = ComparedOutputs::of_each(&launches)?.into_iter();
        let mut found = Vec::with_capacity(all.len());
        for (of, launched) in sets {
            let each = launched
                .iter()
                .enumerate()
                .map(|(set, launched)| Comparing {
                    launch: CheckedLaunch {
                        of: *of,
                        set,
                        earlier: launched.earlier.as_ref().map(|_| ExecutionOrder::Forward),
                        order: ExecutionOrder::Forward,
                        how: Some(format!("launch {}", set + 1)),
                    },
                    digests: match of.accepted {
                        Some(_) => digests.next().unwrap_or_default(),
                        None => Vec::new(),
                    },
                    compared: {
                        let launches = usize::from(launched.earlier.is_some()) + 1;
                        Beside::Done(Ok(compared.by_ref().take(launches).collect()))
                    },
                });
            found.push(each.collect());
        }
        Ok(ComparedTogether {
            each: found,
            failed,
        })
    }

    /// Writes the gates after a case, so that those of a long problem show while it runs. Says whether
    /// the check goes on: not after a store out of bounds.
    pub fn end_case(&mut self, is_last: bool) -> Result<ControlFlow<()>> {
        let breached = self.tally.breached();
        self.tally.write(breached || is_last, self.out)?;
        Ok(if breached {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    /// Checks the sets anew, one after the other, with a module that was loaded anew. Only that tells a
    /// store into the output of another launch from that launch's own, and an output that a later
    /// launch completed.
    pub fn run_apart(&mut self, of: CheckedSets) -> Result {
        self.worker.reload(self.module)?;
        self.run(of, 0)
    }

    /// The digests of the outputs of each launch on a timed case.
    fn digests_of(
        &mut self,
        all: &[CheckedSets],
        launched: &[Vec<Launched>],
    ) -> Result<Vec<Vec<u64>>> {
        let timed = all.iter().zip(launched).filter_map(|(of, launched)| {
            let (at, _) = of.accepted?;
            Some((0..launched.len()).map(move |set| (at, set)))
        });
        let timed = timed.flatten().collect_vec();
        self.resident.output_digests(self.worker, &timed)
    }

    fn launch_all<'scope, 'a: 'scope>(
        &mut self,
        of: CheckedSets<'a>,
        least: usize,
        scope: &'scope Scope<'scope, '_>,
        comparing: &mut Option<Comparing<'scope, 'a>>,
    ) -> Result {
        let sets = of.drawn.sets.len();
        // A GPU has an order of its own.
        let is_ordered = self.worker.orders_threads();
        // Each set is launched twice where only two launches show an unwritten cell.
        let each = 1 + usize::from(of.drawn.case.needs_two_launches());
        let launches = if self.resident.emulated {
            sets + least.saturating_sub(sets * each)
        } else {
            sets
        };
        let shuffled = ExecutionOrder::Shuffled(self.seed);
        let orders = if is_ordered {
            vec![ExecutionOrder::Forward, ExecutionOrder::Reverse, shuffled]
        } else {
            vec![ExecutionOrder::Forward]
        };
        let mut orders = orders.into_iter().cycle();
        let mut order = || orders.next().unwrap_or(ExecutionOrder::Forward);
        for i in 0..launches {
            let launch = CheckedLaunch {
                of,
                set: i % sets,
                earlier: (i < sets && each > 1).then(&mut order),
                order: order(),
                how: (!is_ordered).then(|| format!("launch {}", i + 1)),
            };
            let present = self.launch(&launch, scope)?;
            self.finish(comparing.take())?;
            *comparing = Some(present);
            if of.drawn.case.steps > 1 {
                self.finish(comparing.take())?;
                self.compare_steps(&launch)?;
            }
            let Some(breaches) = self.breaches_after(i, launches, of.launcher)? else {
                continue;
            };
            if !breaches.is_empty() {
                let how = if i < LOOKS || i + 1 < launches {
                    launch.name()
                } else {
                    format!("launches {} to {launches}", LOOKS + 1)
                };
                // Before the wrong values, which a breach explains.
                self.report(of.launcher, breaches, &how)?;
                self.finish(comparing.take())?;
            }
            if self.tally.has_seen_enough() {
                break;
            }
        }
        Ok(())
    }

    /// The breaches after launch `i` of so many; `None` if they are not looked for.
    ///
    /// To look at all memory takes a while. A stray store of later launches is found after the last
    /// one. Shared buffers are looked at before the inputs of the next set lie over a change of
    /// these.
    fn breaches_after(
        &mut self,
        i: usize,
        launches: usize,
        launcher: &CaseLauncher,
    ) -> Result<Option<Vec<Breach>>> {
        if i < LOOKS || i + 1 == launches {
            self.worker.breaches().map(Some)
        } else if launcher.shares_buffers() {
            self.worker.breaches_of_given().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Launches a resident case on renewed inputs, which lie where its sets have lain, and compares
    /// the outputs. Then its sets are there again.
    pub fn run_renewed(&mut self, of: CheckedSets, known: &[CaseSet]) -> Result {
        let launcher = of.launcher;
        std::thread::scope(|scope| {
            let how = "new inputs in the place of others";
            for (set, renewed) in of.drawn.sets.iter().enumerate() {
                launcher.write_inputs(self.worker, set, &renewed.inputs)?;
                let twice = of.drawn.case.needs_two_launches();
                let launch = CheckedLaunch {
                    of,
                    set,
                    earlier: twice.then_some(ExecutionOrder::Forward),
                    order: ExecutionOrder::Forward,
                    how: Some(how.into()),
                };
                let comparing = self.launch(&launch, scope)?;
                let breaches = self.worker.breaches_of_given()?;
                let known = &known[set % known.len().max(1)];
                launcher.write_inputs(self.worker, set, &known.inputs)?;
                self.report(launcher, breaches, how)?;
                self.finish(Some(comparing))?;
            }
            Ok(())
        })
    }

    /// Launches a set once or twice, and begins to compare what each launch wrote.
    fn launch<'scope, 'a: 'scope>(
        &mut self,
        launch: &CheckedLaunch<'a>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Comparing<'scope, 'a>> {
        let (
            CheckedSets {
                launcher, drawn, ..
            },
            set,
        ) = (launch.of, launch.set);
        let (worker, module) = (&mut *self.worker, self.module);
        let orders = (launch.earlier, launch.order);
        let how = (orders, Worker::look_at as ReadCells);
        let Launched { earlier, last, .. } =
            launcher.launch_and_read(worker, module, drawn, set, how)?;
        let digests = match launch.of.accepted {
            Some((at, _)) => self.resident.output_digests(worker, &[(at, set)])?.concat(),
            None => Vec::new(),
        };
        let (case, want) = (&*drawn.case, &drawn.sets[set].expected);
        let compare = move || {
            let of = |written, other| ComparedOutputs::of(case, written, other, want);
            let first = earlier.as_ref().map(|earlier| of(earlier, Some(&last)));
            first
                .into_iter()
                .chain([of(&last, earlier.as_ref())])
                .collect()
        };
        // Where the outputs are compared, the next launch writes to them. To start a thread takes
        // longer than to compare a few cells.
        let is_small = want.iter().flatten().map(Cells::bytes).sum::<usize>() < SMALL;
        let compared = if self.worker.holds_cells() || is_small {
            Beside::Done(compare())
        } else {
            beside(scope, compare)
        };
        Ok(Comparing {
            launch: launch.clone(),
            digests,
            compared,
        })
    }

    /// Waits for a comparison, and adds it to the gates.
    pub fn finish(&mut self, comparing: Option<Comparing>) -> Result {
        let Some(Comparing {
            launch,
            digests,
            compared,
        }) = comparing
        else {
            return Ok(());
        };
        let compared = compared.join()?;
        let mut right = true;
        for (compared, how) in compared.into_iter().zip(launch.names()) {
            let drawn = launch.of.drawn;
            right &= self
                .tally
                .add(drawn, launch.set, &how, compared, self.out)?;
        }
        if let Some((at, accepted)) = launch.of.accepted.filter(|_| right) {
            accepted.borrow_mut().insert((at, launch.set, digests));
        }
        Ok(())
    }

    /// Makes the further launches in a row on what the last one left, and compares what is there
    /// after them.
    fn compare_steps(&mut self, launch: &CheckedLaunch) -> Result {
        let (
            CheckedSets {
                launcher, drawn, ..
            },
            set,
        ) = (launch.of, launch.set);
        let how = (launch.order, Worker::look_at as ReadCells);
        let written = launcher.go_on(self.worker, self.module, drawn, set, how)?;
        let Some(written) = written else {
            return Ok(());
        };
        let steps = drawn.case.steps;
        let how = format!("{}, after {steps} launches in a row", launch.name());
        let want = &drawn.sets[set].after_steps;
        let compared = ComparedOutputs::of(&drawn.case, &written, None, want)?;
        self.tally.add(drawn, set, &how, compared, self.out)?;
        Ok(())
    }

    /// Adds breaches to the gates, which launches of the launcher's case made.
    pub fn report(&mut self, launcher: &CaseLauncher, breaches: Vec<Breach>, how: &str) -> Result {
        for breach in breaches {
            let other = self.resident.owner(&breach);
            let other = other.filter(|_| !launcher.owns(&breach));
            let mut what = other.unwrap_or(launcher).describe(&breach);
            if let Some(other) = other {
                let label = &other.case().label;
                what += &format!(", which belongs to the workload {label}");
            }
            self.tally
                .breach(launcher.case(), how, &what, &breach, self.out)?;
        }
        Ok(())
    }
}

/// As in `threads in reverse order`.
fn in_words(order: ExecutionOrder) -> String {
    match order {
        ExecutionOrder::Forward => "threads in order".into(),
        ExecutionOrder::Reverse => "threads in reverse order".into(),
        ExecutionOrder::Shuffled(seed) => format!("threads in shuffled order {seed}"),
    }
}
