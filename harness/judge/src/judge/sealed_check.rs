//! Further sets of the check on sealed inputs, which no run has launched.

use super::session::Session;
use crate::outcome::{Result, unless_wrong};
use crate::problem::StockUse;
use crate::worker::{ModuleId, Worker};
use lab_protocol::report::Stage;
use lab_system::random;

/// Checks the kernel on so many sealed sets of inputs, and writes
/// `sealed_runs:`. `right` says whether the first set passed, and
/// `is_from_stock` whether that set came out of the stock. Ends with the first set that fails, and
/// returns whether all passed.
pub fn check_again(
    session: &mut Session,
    (worker, module): (&mut Worker, ModuleId),
    wanted: usize,
    (mut right, is_from_stock): (bool, Option<bool>),
) -> Result<bool> {
    let mut done = 1;
    let mut from_stock = is_from_stock.map(usize::from);
    let seed = session.seed;
    while right && done < wanted {
        session.seed = random::number();
        session.out.line("seed", session.seed)?;
        let mut problem = session.open_problem()?;
        problem.use_held_out_inputs(session.seed)?;
        if is_from_stock.is_some() {
            problem.use_stock(StockUse::Takes);
        }
        let mut problem = session.prepare(problem, worker)?;
        session.out.stage(Stage::Verify)?;
        right = unless_wrong(session.verify(&mut problem, worker, module))?.is_some();
        problem.take_down(worker)?;
        from_stock =
            from_stock.map(|sets| sets + usize::from(problem.is_from_stock() == Some(true)));
        done += 1;
    }
    // The timed launches use the inputs of the first part.
    session.seed = seed;
    let of_stock = from_stock.map_or_else(String::new, |sets| format!(" from_stock={sets}"));
    let runs = format_args!("{done}{of_stock}");
    session.out.line("sealed_runs", runs)?;
    Ok(right)
}
