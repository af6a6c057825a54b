//! Further sets of the check on sealed inputs, which no run has launched.

use super::kernel_builder::KernelBuilder;
use super::session::{Session, random_seed};
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, HeldOutUse, Problem, StockUse};
use crate::worker::{ModuleId, Worker};
use lab_protocol::report::{Stage, Writer};

/// A check on sealed inputs, after its first part.
pub struct SealedCheck<'a> {
    pub env: &'a mut Session,
    pub builder: &'a mut KernelBuilder,
    pub worker: &'a mut Worker,
    pub module: ModuleId,
}

impl SealedCheck<'_> {
    /// Checks the kernel on as many sealed sets of inputs as the options ask for, and writes
    /// `sealed_runs:` if the problem does not count them itself. Ends with the first set that
    /// fails.
    pub fn check_again(
        &mut self,
        held_out: &HeldOutUse,
        is_from_stock: Option<bool>,
        mut verdict: Correctness,
        out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        let mut done = held_out.sets_in_a_check;
        let mut from_stock = is_from_stock.map(usize::from);
        let seed = self.env.seed;
        let wanted = self.env.request.sealed_runs().unwrap_or(1);
        while verdict == Correctness::Pass && done < wanted {
            self.env.seed = random_seed();
            out.line("seed", self.env.seed)?;
            let mut problem = problem::open(&self.env.request.folder)?;
            problem.use_workloads(self.env.request.when);
            problem.use_held_out_inputs(self.env.seed, 1)?;
            if is_from_stock.is_some() {
                problem.use_stock(StockUse::Takes);
            }
            verdict = self.check(&mut *problem, out)?;
            problem.take_down(self.worker)?;
            from_stock =
                from_stock.map(|sets| sets + usize::from(problem.is_from_stock() == Some(true)));
            done += 1;
        }
        // The timed launches use the inputs of the first part.
        self.env.seed = seed;
        if !held_out.counts_them {
            match from_stock {
                Some(from_stock) => {
                    out.line(
                        "sealed_runs",
                        format_args!("{done} from_stock={from_stock}"),
                    )?;
                }
                None => out.line("sealed_runs", done)?,
            }
        }
        Ok(verdict)
    }

    fn check(&mut self, problem: &mut dyn Problem, out: &mut Writer) -> Result<Correctness, Stop> {
        self.env.prepare(problem, self.builder, out, self.worker)?;
        out.stage(Stage::Verify)?;
        self.env
            .verify(problem, self.builder, out, self.worker, self.module)
    }
}
