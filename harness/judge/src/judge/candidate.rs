//! Building or loading the candidate, while the incumbent runs for a short while.

use super::incumbent::{self, Incumbent};
use super::kernel_snapshot::KernelSnapshot;
use super::session::Session;
use crate::device_lock::{DeviceLock, DeviceUse};
use crate::outcome::Result;
use crate::problem::{self, BuildNeeds, Problem};
use crate::worker::{ModuleId, Worker};
use lab_device::Built;
use lab_protocol::report::Writer;
use lab_system::threads;
use std::time::{Duration, Instant};

/// How long the incumbent runs, at most, while the candidate builds. The clocks are up after some
/// milliseconds and stay up for seconds. A launch that lasts longer than the build delays the
/// verdict.
const RAISE_CLOCKS_FOR: Duration = Duration::from_millis(150);

/// Has the compiler build the copy. The incumbent runs meanwhile: that raises the GPU's clocks and
/// gives a fresh `incumbent_sps:`. An incumbent that fails here is dropped with a caveat.
pub fn build(
    session: &mut Session,
    incumbent: &mut Option<Incumbent>,
    snapshot: &KernelSnapshot,
    needs: &BuildNeeds,
) -> Result<Built> {
    let Session {
        access,
        builder,
        out,
        ..
    } = session;
    beside_incumbent(access, incumbent, out, || {
        builder.candidate(snapshot, needs)
    })
}

/// Loads the copy of a source in Python into the candidate's worker, checks that it has the
/// problem's functions, and writes `build_s:`. The incumbent runs meanwhile, as in [`build`].
pub fn load(
    session: &mut Session,
    incumbent: &mut Option<Incumbent>,
    snapshot: &KernelSnapshot,
    problem: &Problem,
    worker: &mut Worker,
) -> Result<ModuleId> {
    let (began, out) = (Instant::now(), &mut session.out);
    let loaded = beside_incumbent(&session.access, incumbent, out, || {
        worker.load(&snapshot.source())
    });
    let loaded = loaded.and_then(|module| problem.require_entries(worker, module).map(|()| module));
    let seconds = began.elapsed().as_secs_f64();
    out.line("build_s", format_args!("{seconds:.2}"))?;
    loaded
}

/// Calls `build` while the incumbent runs.
fn beside_incumbent<T: Send>(
    access: &DeviceLock,
    incumbent: &mut Option<Incumbent>,
    out: &mut Writer,
    build: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    // A build never waits for the device, so the incumbent runs only if the device is free now.
    let free = access.try_take(DeviceUse::Launching)?;
    let Some(running) = incumbent.as_mut().filter(|_| free.is_some()) else {
        return build();
    };
    let (built, turns) = std::thread::scope(|scope| {
        let building = threads::beside(scope, build);
        let began = Instant::now();
        let turns =
            running.run_while(|| !building.has_ended() && began.elapsed() < RAISE_CLOCKS_FOR);
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
    built
}
