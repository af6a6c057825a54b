//! The trusted kernel, reference.cu or reference.py, in a worker of its own. Expected values never
//! enter the candidate's process.

use super::case_data::{CaseData, CaseSet};
use super::launcher::{CaseLauncher, Launched, ReadCells};
use super::parameters::require_entry;
use super::reference_source::{is_on_host, source_for};
use super::spec::{Case, CaseTensor, ProblemSpec, TensorRole};
use super::tally::ComparedOutputs;
use super::together::{self, LaunchedCases, Twice};
use crate::cells::{self, Pair};
use crate::dtype::Dtype;
use crate::outcome::{Result, Stop};
use crate::problem::api::{ProblemContext, WorkerFor};
use crate::source_place::with_line;
use crate::worker::{JudgeMemory, ModuleId, Worker};
use itertools::Itertools as _;
use lab_device::ExecutionOrder;
use lab_protocol::{Language, is_from_outside};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct ReferenceKernel {
    /// The reference, which is loaded in its worker.
    source: PathBuf,
    worker: Worker,
    module: ModuleId,
    /// Whether it gave the same results twice on the same inputs.
    is_deterministic: bool,
    /// Where its results are held, if it computes on the host and the candidate on the device.
    results: Option<Arc<JudgeMemory>>,
}

/// Sets of a case for which the reference is asked.
pub struct WantedSets<'a> {
    pub data: &'a mut CaseData,
    pub sets: Vec<usize>,
}

/// How often a set is drawn before the run ends with an error.
const MOST_ATTEMPTS: u32 = 1000;

/// Most cells of the case in which the reference runs twice on the same inputs.
const RUN_TWICE: usize = 4 << 20;

impl ReferenceKernel {
    /// Builds reference.cu, or loads reference.py, in a worker of its own. Returns
    /// [`Stop::Problem`] if the file is missing, does not build or lacks an entry.
    pub fn start(spec: &ProblemSpec, folder: &Path, cx: &mut ProblemContext) -> Result<Self> {
        let (source, language) = source_for(folder, cx.device)?;
        let image = Self::image(spec, folder, cx)?;
        let on_host = !cx.device.emulated && is_on_host(folder);
        let mut worker = (cx.spawn_worker)(WorkerFor::Reference { language, on_host })?;
        let module = worker
            .load(&image)
            .map_err(|stop| as_problem(&source, stop))?;
        for case in spec.case_of_each_entry() {
            require_entry(&case.for_reference(), &mut worker, module)
                .map_err(|stop| as_problem(&source, stop))?;
        }
        Ok(ReferenceKernel {
            source,
            worker,
            module,
            is_deterministic: false,
            results: cx.memory.filter(|_| on_host).cloned(),
        })
    }

    /// Builds reference.cu, unless it was built before. Returns the image, or reference.py itself.
    /// The errors are those of [`ReferenceKernel::start`].
    pub fn image(spec: &ProblemSpec, folder: &Path, cx: &mut ProblemContext) -> Result<PathBuf> {
        let (source, language) = source_for(folder, cx.device)?;
        match language {
            // The name of the file stands in the compiler's messages already.
            Language::Cuda => {
                (cx.build)(&source, &spec.header(spec.any_case(cx.device))).map_err(|stop| {
                    match stop {
                        stop @ (Stop::Wrong | Stop::Problem(_) | Stop::Lab(_)) => stop,
                        stop @ (Stop::Crash(_) | Stop::Build(_)) => as_problem(&source, stop),
                    }
                })
            }
            Language::Python => Ok(source),
        }
    }

    /// Computes what launches on these sets must write. Leaves the sets that the reference does not
    /// accept: they must be drawn again. Returns [`Stop::Problem`] if the reference crashes, breaks a
    /// rule or leaves a cell unwritten.
    pub fn expect(&mut self, wanted: &mut [WantedSets]) -> Result {
        self.launch_all(wanted)
            .map_err(|stop| as_problem(&self.source, stop))?;
        for WantedSets { data, sets } in wanted {
            let mut refused = Vec::new();
            for set in &*sets {
                if let Some(memory) = &self.results {
                    data.sets[*set].hold_results(memory)?;
                }
                if !accept(&data.case, &mut data.sets[*set])? {
                    refused.push(*set);
                }
            }
            *sets = refused;
        }
        Ok(())
    }

    fn launch_all(&mut self, wanted: &mut [WantedSets]) -> Result {
        let shares = self.worker.holds_cells();
        let is_together = |wanted: &&mut WantedSets| shares && wanted.data.case.steps == 1;
        let there = wanted.iter_mut().filter(|wanted| !wanted.sets.is_empty());
        let (mut together, alone): (Vec<_>, Vec<_>) = there.partition(is_together);
        self.launch_together(&mut together)?;
        for WantedSets { data, sets } in alone {
            let case = Arc::new(data.case.for_reference());
            let launcher = CaseLauncher::set_up_shared(&case, &mut self.worker)?;
            for (number, set) in sets.iter().enumerate() {
                self.launch(&launcher, data, *set, number == 0)?;
                self.require_same_again(&launcher, data, *set)?;
            }
            launcher.take_down(&mut self.worker)?;
        }
        Ok(())
    }

    /// Launches on sets that have buffers of their own, where the judge's own worker has these.
    fn launch_together(&mut self, wanted: &mut [&mut WantedSets]) -> Result {
        let chosen = wanted.iter().map(|WantedSets { data, sets }| {
            let chosen = sets.iter().map(|set| data.sets[*set].clone());
            CaseData::new(&Arc::new(data.case.for_reference()), chosen.collect())
        });
        let mut chosen = chosen.collect_vec();
        if chosen.is_empty() {
            return Ok(());
        }
        let worker = &mut self.worker;
        let launchers = CaseLauncher::set_up_all(&chosen.iter().collect_vec(), worker)?;
        let cases = launchers.iter().zip(&chosen).collect_vec();
        let how = (
            ExecutionOrder::Forward,
            Twice::First,
            Worker::take as ReadCells,
        );
        let LaunchedCases { each, failed } = together::launch(worker, self.module, &cases, how)?;
        if let Some((_, stop)) = failed {
            return Err(stop);
        }
        if let Some(breach) = worker.breaches()?.first() {
            let owner = launchers.iter().find(|launcher| launcher.owns(breach));
            let what = owner.or(launchers.first());
            return Err(Stop::Crash(
                what.map(|launcher| launcher.describe(breach))
                    .unwrap_or_default(),
            ));
        }
        let cases = chosen.iter().map(|data| &*data.case);
        require_written(cases.zip(each.iter().map(Vec::as_slice)))?;
        for ((wanted, chosen), launched) in wanted.iter_mut().zip(&mut chosen).zip(each) {
            let sets = wanted.sets.iter().zip(&mut chosen.sets);
            for ((set, chosen), launched) in sets.zip(launched) {
                let data = &mut *wanted.data;
                let longest = data.reference_seconds.unwrap_or(launched.seconds);
                data.reference_seconds = Some(longest.max(launched.seconds));
                chosen.expected.clone_from(&launched.last.outputs);
                data.sets[*set].expected = launched.last.outputs;
            }
        }
        for (launcher, data) in launchers.iter().zip(&chosen) {
            self.require_same_again(launcher, data, 0)?;
        }
        CaseLauncher::take_down_all(launchers, &mut self.worker)
    }

    fn launch(
        &mut self,
        launcher: &CaseLauncher,
        data: &mut CaseData,
        set: usize,
        is_first: bool,
    ) -> Result {
        let (worker, module, case) = (&mut self.worker, self.module, launcher.case());
        let order = ExecutionOrder::Forward;
        let twice = is_first && case.needs_two_launches();
        let orders = (twice.then_some(order), order);
        let how = (orders, Worker::take as ReadCells);
        let launched = launcher.launch_and_read(worker, module, data, set, how)?;
        let seconds = launched.seconds;
        let after_steps = launcher.go_on(worker, module, data, set, (order, Worker::take))?;
        // Before the inputs of the next set lie over a change of these.
        if let Some(breach) = worker.breaches()?.first() {
            return Err(Stop::Crash(launcher.describe(breach)));
        }
        let mut all = vec![launched];
        all.extend(after_steps.map(|last| Launched {
            earlier: None,
            last,
            seconds,
        }));
        require_written([(&**case, all.as_slice())].into_iter())?;
        let longest = data.reference_seconds.unwrap_or(seconds);
        data.reference_seconds = Some(longest.max(seconds));
        let mut all = all.into_iter().map(|launched| launched.last.outputs);
        data.sets[set].expected = all.next().unwrap_or_default();
        data.sets[set].after_steps = all.next().unwrap_or_default();
        Ok(())
    }

    /// Launches once more on a set, unless a case was launched twice or this one is large, and
    /// returns an error if that gives other results: no kernel could be right.
    fn require_same_again(
        &mut self,
        launcher: &CaseLauncher,
        data: &CaseData,
        set: usize,
    ) -> Result {
        let (worker, case) = (&mut self.worker, launcher.case());
        if self.is_deterministic || case.cells() > RUN_TWICE {
            return Ok(());
        }
        self.is_deterministic = true;
        launcher.launch(worker, self.module, data, set, ExecutionOrder::Forward)?;
        let again = launcher.written(worker, set, Worker::look_at)?;
        let compared = ComparedOutputs::of(case, &again, None, &data.sets[set].expected)?;
        for (tensor, compared) in case.tensors.iter().zip(&compared.0) {
            let wrong = compared
                .as_ref()
                .filter(|compared| !compared.cells.passes(&tensor.tolerance));
            if let Some(cell) = wrong.and_then(|compared| compared.cells.first_wrong()) {
                let (cell, label) = (tensor.cell(cell.index), &case.label);
                return Err(Stop::Crash(format!(
                    "the reference is not deterministic: a second launch on the same inputs gives another {cell} ({label}). Give each random \
                     number generator a fixed seed, and use no result of an earlier launch"
                )));
            }
        }
        Ok(())
    }
}

/// Takes what the reference wrote about a set out of what it expects, gives inputs the results that
/// they hold, and returns whether the set is accepted.
fn accept(case: &Case, set: &mut CaseSet) -> Result<bool> {
    let numbers = set.expected.split_off(case.tensors.len());
    set.after_steps.truncate(case.tensors.len());
    set.accepts.clear();
    let (mut is_accepted, attempts) = (set.is_defined(case)?, set.attempt + 1);
    for (accept, cells) in case.accepts.iter().zip(numbers) {
        let value = match cells {
            Some(cells) => Dtype::F32.decode(&cells.to_host()?),
            None => f64::NAN,
        };
        set.accepts.push(value);
        let is_within = accept.least.is_none_or(|least| least <= value)
            && accept.most.is_none_or(|most| value <= most);
        if is_within || accept.attempts.is_some_and(|most| attempts > most) {
            continue;
        }
        is_accepted = false;
        if attempts >= MOST_ATTEMPTS {
            return Err(Stop::Problem(format!(
                "{attempts} sets of inputs were drawn for {}, and none was accepted: {} was {value} in the last one. Widen the \
                 limits of [[accept]] '{}' in problem.toml, or correct the reference, which writes that number",
                case.label, accept.name, accept.name
            )));
        }
    }
    for (i, tensor) in case.tensors.iter().enumerate() {
        if let Some(of) = tensor.expected_of().filter(|_| !tensor.is_null) {
            set.inputs[i].clone_from(&set.expected[of]);
        }
        if tensor.is_uncompared {
            set.expected[i] = None;
        }
    }
    Ok(is_accepted)
}

/// Returns an error that names the first cell of a pure output which one of these launches of cases
/// never wrote.
fn require_written<'a>(cases: impl Iterator<Item = (&'a Case, &'a [Launched])>) -> Result {
    let each = cases.flat_map(|(case, launched)| launched.iter().map(move |one| (case, one)));
    let each = each.flat_map(|(case, Launched { earlier, last, .. })| {
        let outputs = case.tensors.iter().zip(&last.outputs).enumerate();
        let outputs = outputs.filter(|(_, (tensor, _))| tensor.role == TensorRole::Out);
        outputs.filter_map(move |(i, (tensor, content))| {
            let (got, dtype) = (content.as_ref()?, tensor.dtype);
            let pair = Pair {
                dtype,
                got,
                want: got,
                tolerance: None,
                unwritten: last.unwritten(i, dtype, earlier.as_ref()),
            };
            Some(((case, tensor), pair))
        })
    });
    let (tensors, pairs): (Vec<(&Case, &CaseTensor)>, Vec<Pair>) = each.unzip();
    for ((case, tensor), found) in tensors
        .into_iter()
        .zip(cells::compare(&pairs.iter().collect_vec())?)
    {
        if let Some(cell) = found.first_unwritten {
            let (cell, label) = (tensor.cell(cell.index), &case.label);
            return Err(Stop::Crash(format!("never wrote {cell} ({label})")));
        }
    }
    Ok(())
}

/// Any failure of the reference is a mistake in the problem, not in the candidate. What the lab or
/// the machine failed at stays that.
fn as_problem(source: &Path, stop: Stop) -> Stop {
    let name = source.file_name().unwrap_or_default().display();
    match stop.map_text(about_the_reference) {
        Stop::Lab(why) => Stop::Lab(why),
        stop if is_from_outside(&stop.first_line()) => {
            Stop::Lab(format!("{name}: {stop}; judge again"))
        }
        stop => {
            let text = std::fs::read_to_string(source).unwrap_or_default();
            let stop = with_line(stop, &text).to_string();
            Stop::Problem(match stop.strip_prefix(&format!("{name}:")) {
                // Python's messages begin with the name of the file and the line.
                Some(place) => format!("{}:{place}", source.display()),
                None => format!("{}: {stop}", source.display()),
            })
        }
    }
}

/// A failure of a worker, which calls what it runs a kernel. The text of an exception is the
/// source's own.
fn about_the_reference(text: &str) -> String {
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let own = first
        .split_once(": error: ")
        .map_or(first, |(_, what)| what);
    if !["the kernel ", "the kernel's ", "the worker "]
        .iter()
        .any(|begin| own.starts_with(begin))
    {
        return text.to_owned();
    }
    let first = first
        .replace("the kernel's process", "the process of the reference")
        .replace("the kernel", "the reference");
    first + rest
}
