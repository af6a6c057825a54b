//! Launches on all sets of several cases at once, where the judge's own worker has the buffers: one
//! request for each step of all of them. The device changes from one process to another only then,
//! which takes longer than most launches.

use super::case_data::CaseData;
use super::launcher::{CaseLauncher, Launched, ReadCells, Written};
use super::parameters::with_parameters;
use crate::outcome::{Result, Stop};
use crate::worker::{Launch, ModuleId, Worker};
use itertools::Itertools as _;
use lab_device::ExecutionOrder;

/// A case whose sets have buffers of their own.
pub type SetUpCase<'a> = (&'a CaseLauncher, &'a CaseData);

/// What the launches on several cases wrote.
pub struct LaunchedCases {
    /// For each case its sets, up to the launch that failed.
    pub each: Vec<Vec<Launched>>,
    /// The position of the case whose launch failed, and why.
    pub failed: Option<(usize, Stop)>,
}

/// How many sets of each case are launched twice, where only two launches show a cell that the kernel
/// never wrote.
#[derive(Clone, Copy)]
pub enum Twice {
    /// All of them.
    Each,
    /// The first one, of a kernel that is trusted.
    First,
}

/// Launches on each set.
pub fn launch(
    worker: &mut Worker,
    module: ModuleId,
    cases: &[SetUpCase],
    (order, twice, read): (ExecutionOrder, Twice, ReadCells),
) -> Result<LaunchedCases> {
    let all = cases.iter().map(|(_, data)| data.sets.len()).collect_vec();
    let each = cases.iter().zip(&all);
    let twice = each.map(|((_, data), all)| match twice {
        _ if !data.case.needs_two_launches() => 0,
        Twice::Each => *all,
        Twice::First => 1.min(*all),
    });
    let (mut seconds, mut failed) =
        launch_once(worker, module, (cases, &twice.collect_vec()), order)?;
    let mut earlier = written(worker, cases, &seconds, Worker::take)?;
    let mut last = cases.iter().map(|_| Vec::new()).collect_vec();
    if failed.is_none() {
        (seconds, failed) = launch_once(worker, module, (cases, &all), order)?;
        last = written(worker, cases, &seconds, read)?;
    } else {
        // What was launched once is compared.
        std::mem::swap(&mut last, &mut earlier);
    }
    let each = earlier.into_iter().zip(last).zip(seconds);
    Ok(LaunchedCases {
        each: each
            .map(|((earlier, last), seconds)| launched(earlier, last, seconds))
            .collect(),
        failed,
    })
}

fn launched(earlier: Vec<Written>, last: Vec<Written>, seconds: Vec<f64>) -> Vec<Launched> {
    let mut earlier = earlier.into_iter();
    let each = last.into_iter().zip(seconds);
    each.map(|(last, seconds)| Launched {
        earlier: earlier.next(),
        last,
        seconds,
    })
    .collect()
}

/// The seconds of the launches of each case that ended well, and the first that failed.
type Launches = (Vec<Vec<f64>>, Option<(usize, Stop)>);

/// Launches once on so many sets of each case.
fn launch_once(
    worker: &mut Worker,
    module: ModuleId,
    (cases, sets): (&[SetUpCase], &[usize]),
    order: ExecutionOrder,
) -> Result<Launches> {
    let (mut before, mut cleared, mut poisoned) = (Vec::new(), Vec::new(), Vec::new());
    let mut groups: Vec<Vec<Launch>> = Vec::with_capacity(cases.len());
    for ((launcher, data), sets) in cases.iter().zip(sets) {
        let mut launches = Vec::with_capacity(*sets);
        for (set, content) in data.sets.iter().take(*sets).enumerate() {
            before.extend(launcher.written_before(set, &content.inputs));
            cleared.extend(launcher.cleared(set));
            poisoned.extend(launcher.poisoned(set));
            launches.push(launcher.launch_of(module, data, set, order));
        }
        groups.push(launches);
    }
    worker.write_cells(&before, false)?;
    worker.clear_all(cleared)?;
    // The launches of each case are a request, so that it is known in which case a kernel hangs.
    let (each, mut failure) = worker.poison_and_launch_each(poisoned, groups)?;
    let at = each
        .iter()
        .zip(sets)
        .position(|(seconds, sets)| seconds.len() < *sets);
    let failed = at.and_then(|at| {
        let stop = failure.take()?;
        Some((at, with_parameters(stop, cases[at].0.case())))
    });
    Ok((each, failed))
}

/// What the launches that ended well wrote, from their seconds.
fn written(
    worker: &mut Worker,
    cases: &[SetUpCase],
    seconds: &[Vec<f64>],
    read: ReadCells,
) -> Result<Vec<Vec<Written>>> {
    let each = cases.iter().zip(seconds);
    let sets = each
        .clone()
        .flat_map(|((launcher, _), seconds)| (0..seconds.len()).map(move |set| (launcher, set)));
    let ids = sets
        .flat_map(|(launcher, set)| launcher.read_after(set))
        .collect_vec();
    let mut cells = match ids.is_empty() {
        true => Vec::new(),
        false => read(worker, &ids)?,
    }
    .into_iter();
    Ok(each
        .map(|((launcher, _), seconds)| {
            let sets = 0..seconds.len();
            sets.map(|set| launcher.written_to(worker, set, &mut cells))
                .collect()
        })
        .collect())
}
