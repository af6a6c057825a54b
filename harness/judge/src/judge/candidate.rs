//! Building or loading the candidate, while the incumbent runs for a short while.

use super::incumbent::{self, Incumbent};
use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::session::Session;
use crate::device_lock::DeviceUse;
use crate::outcome::Stop;
use crate::problem::{self, BuildNeeds, Problem};
use crate::worker::{ModuleId, Worker};
use lab_device::Built;
use lab_protocol::report::Writer;
use std::time::{Duration, Instant};

/// How long the incumbent runs, at most, while the candidate builds. The clocks are up after some
/// milliseconds and stay up for seconds. A launch that lasts longer than the build delays the
/// verdict.
const RAISE_CLOCKS_FOR: Duration = Duration::from_millis(150);

/// What the candidate is built with. The incumbent runs meanwhile: that raises the GPU's clocks and
/// gives a fresh `incumbent_sps:`. An incumbent that fails here is dropped with a caveat.
pub struct CandidateBuild<'a> {
    pub env: &'a Session,
    pub builder: &'a mut KernelBuilder,
    pub incumbent: &'a mut Option<Incumbent>,
}

impl CandidateBuild<'_> {
    /// Has the compiler build the copy.
    pub fn build(
        self,
        snapshot: &KernelSnapshot,
        needs: &BuildNeeds,
        out: &mut Writer,
    ) -> Result<Built, Stop> {
        let CandidateBuild {
            env,
            builder,
            incumbent,
        } = self;
        beside_incumbent(env, incumbent, out, || builder.candidate(snapshot, needs))
    }

    /// Loads the copy of a source in Python into the candidate's worker, checks that it has the
    /// problem's functions, and writes `build_s:`.
    pub fn load(
        self,
        snapshot: &KernelSnapshot,
        problem: &dyn Problem,
        worker: &mut Worker,
        out: &mut Writer,
    ) -> Result<ModuleId, Stop> {
        let began = Instant::now();
        let loaded = beside_incumbent(self.env, self.incumbent, out, || {
            worker.load(&snapshot.source())
        });
        let loaded =
            loaded.and_then(|module| problem.require_entries(worker, module).map(|()| module));
        out.line(
            "build_s",
            format_args!("{:.2}", began.elapsed().as_secs_f64()),
        )?;
        loaded
    }
}

/// Calls `build` while the incumbent runs.
fn beside_incumbent<T: Send>(
    env: &Session,
    incumbent: &mut Option<Incumbent>,
    out: &mut Writer,
    build: impl FnOnce() -> Result<T, Stop> + Send,
) -> Result<T, Stop> {
    // A build never waits for the device, so the incumbent runs only if the device is free now.
    let access = env.access.try_get(DeviceUse::Launching)?;
    let Some(running) = incumbent.as_mut().filter(|_| access.is_some()) else {
        return build();
    };
    let (built, turns) = std::thread::scope(|scope| {
        let building = scope.spawn(build);
        let began = Instant::now();
        let turns =
            running.run_while(|| !building.is_finished() && began.elapsed() < RAISE_CLOCKS_FOR);
        (building.join(), turns)
    });
    match turns {
        Ok(turns) => {
            if let Some(rate) = running.throughput(&turns) {
                out.line("incumbent_sps", problem::in_digits(&rate, 1))?;
            }
        }
        Err(reason) => {
            *incumbent = None;
            out.caveat(incumbent::no_comparison(&reason))?;
        }
    }
    built.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
