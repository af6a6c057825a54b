//! Verifying one case: launching it and comparing what it wrote.

use super::case_data::PreparedCase;
use super::launcher::CaseLauncher;
use super::spec::ProblemSpec;
use super::tally::GateTally;
use crate::outcome::Stop;
use crate::problem::api::ProblemContext;
use crate::worker::{Breach, ModuleId, Worker};
use lab_device::ExecutionOrder;
use lab_protocol::report::Writer;
use std::rc::Rc;

/// Launches a case on each set of inputs, and on the emulated device in several orders of blocks and threads, and
/// compares the outputs. Stops after a store out of bounds.
pub fn verify_case(
    spec: &Rc<ProblemSpec>,
    prepared: &PreparedCase,
    tally: &mut GateTally,
    cx: &mut ProblemContext,
    worker: &mut Worker,
    module: ModuleId,
) -> Result<(), Stop> {
    let launcher = CaseLauncher::set_up(spec, prepared.index, worker, module, &prepared.sets)?;
    let orders = [ExecutionOrder::Forward, ExecutionOrder::Reverse, ExecutionOrder::Shuffled(cx.seed)];
    let orders = if cx.device.emulated { &orders[..] } else { &orders[..prepared.sets.len()] };
    for (i, order) in orders.iter().enumerate() {
        let set = i % prepared.sets.len();
        let how = match (cx.device.emulated, order) {
            (false, _) => format!("launch {}", i + 1),
            (true, ExecutionOrder::Forward) => "threads in order".into(),
            (true, ExecutionOrder::Reverse) => "threads in reverse order".into(),
            (true, ExecutionOrder::Shuffled(seed)) => format!("threads in shuffled order {seed}"),
        };
        launcher.launch(worker, set, &prepared.sets[set], *order)?;
        let got = launcher.outputs(worker)?;
        tally.compare(spec, prepared.case, &how, &got, &prepared.expected[set], cx.out)?;
        check_breaches(&launcher, &how, tally, worker, cx.out)?;
        if tally.breached() {
            break;
        }
    }
    launcher.take_down(worker)
}

fn check_breaches(
    launcher: &CaseLauncher,
    how: &str,
    tally: &mut GateTally,
    worker: &mut Worker,
    out: &mut Writer,
) -> Result<(), Stop> {
    for breach in worker.breaches()? {
        let input = matches!(breach, Breach::InputChanged { .. });
        tally.breach(launcher.case(), how, &launcher.describe(&breach), input, out)?;
    }
    Ok(())
}
