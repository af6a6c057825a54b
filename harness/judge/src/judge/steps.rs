//! The steps of a run between building and the verdict, each with what it needs of the session: the
//! device's lock, the telemetry, the plan of the request.

use super::discipline;
use super::incumbent::Incumbent;
use super::measuring::{self, Candidate};
use super::processes::start_shown;
use super::session::Session;
use super::start_signal::StartSignal;
use crate::device_lock::{DeviceUse, PATIENCE_OF_BENCH};
use crate::outcome::{OrLab, Result, Stop, unless_wrong};
use crate::problem::{Prepared, Problem, ProblemContext};
use crate::worker::{ModuleId, StartingWorker, Worker};
use lab_protocol::JudgeKind;
use lab_protocol::plan::Plan;
use lab_protocol::report::{Stage, Writer};
use std::sync::Arc;

impl Session {
    /// Draws the inputs, and has the reference say what is expected of them.
    pub fn prepare(&mut self, problem: Problem, worker: &mut Worker) -> Result<Prepared> {
        self.out.stage(Stage::Reference)?;
        self.with(|cx| problem.prepare(cx, worker))
    }

    /// Starts a worker for each trial but the first. An emulated device is open at once.
    pub fn start_further(&self) -> Result<Vec<StartingWorker>> {
        let discipline = match self.request.kind {
            JudgeKind::Bench(discipline) => Some(discipline),
            _ => self.request.plan.trials,
        };
        let trials = discipline.filter(|_| !self.device.emulated);
        let each = 1..trials.map_or(1, |discipline| discipline.trials);
        let language = self.request.language();
        let start = |_| start_shown(&self.request, language, self.target, &self.sink);
        each.map(start).collect()
    }

    /// Works before the start signal, as long as `act` hears that nobody waits. If the work
    /// `launches`, each launch has the device's lock, which is given back after it, so that no
    /// launch runs beside another lab's measurement.
    pub fn while_idle<T>(
        &mut self,
        start: &mut StartSignal,
        launches: bool,
        act: impl FnOnce(&mut ProblemContext, &mut dyn FnMut() -> bool) -> T,
    ) -> T {
        let (access, mut held) = (self.access.clone(), None);
        let mut is_idle = || {
            drop(held.take());
            if launches {
                held = access.take_while_idle(|| start.received());
            }
            !start.received()
        };
        self.with(|cx| act(cx, &mut is_idle))
    }

    /// Verifies the candidate, and writes every tensor where the request asks for a dump.
    pub fn verify(
        &mut self,
        problem: &mut Prepared,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result {
        let _access = self.wait(DeviceUse::Launching)?;
        let request = Arc::clone(&self.request);
        self.with(|cx| {
            let verdict = unless_wrong(problem.verify(cx, worker, module))?;
            if let Some(folder) = &request.dump {
                std::fs::create_dir_all(folder)
                    .or_lab(|| format!("the dump folder {} cannot be made", folder.display()))?;
                problem.dump(cx, worker, module, folder)?;
            }
            verdict.ok_or(Stop::Wrong)
        })
    }

    /// Measures the candidate: alone and by the discipline of a bench, or by the plan, beside the
    /// incumbent.
    pub fn measure(&mut self, candidate: Candidate, incumbent: &mut Option<Incumbent>) -> Result {
        let request = Arc::clone(&self.request);
        let telemetry = self.telemetry.clone();
        if let JudgeKind::Bench(asked) = request.kind {
            let patience = PATIENCE_OF_BENCH;
            let _access = self.wait_for(patience, DeviceUse::Measuring)?;
            telemetry.start();
            let verdict = self.with(|cx| discipline::measure(cx, asked, candidate));
            let verdict = unless_wrong(verdict)?;
            telemetry.write(&mut self.out)?;
            return verdict.ok_or(Stop::Wrong);
        }
        let _access = self.wait(DeviceUse::Measuring)?;
        telemetry.start();
        let ended = &mut |out: &mut Writer| telemetry.write(out);
        let plan = Plan {
            // Windows on sealed inputs are short: more of them do not decide about a workload.
            each_workload: request.sealed_runs().is_none(),
            ..request.plan.clone()
        };
        self.with(|cx| measuring::measure(cx, &plan, candidate, incumbent, ended))
    }
}
