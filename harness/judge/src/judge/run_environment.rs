//! What stays the same for a whole run.

use super::device_access::DeviceAccess;
use super::kernel_builder::KernelBuilder;
use super::processes::start_worker;
use crate::options::JudgeOptions;
use crate::probe::DeviceFigures;
use crate::problem::{ProblemContext, WorkerFor};
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use lab_device::DeviceInfo;
use lab_protocol::Target;
use lab_protocol::report::Writer;
use std::path::Path;

/// What stays the same for a whole run.
pub struct RunEnvironment<'a> {
    pub options: &'a JudgeOptions,
    pub sink: &'a SharedSink,
    pub target: Target,
    pub device: &'a DeviceInfo,
    pub cache_dir: &'a Path,
    /// What inputs, start states and launch orders are drawn from.
    pub seed: u64,
    pub telemetry: TelemetryMonitor,
    pub access: DeviceAccess,
    /// What the device can do; `None` if it was not probed.
    pub figures: Option<DeviceFigures>,
}

impl RunEnvironment<'_> {
    /// Calls `act` with what a problem may use.
    pub fn with_context<T>(
        &self,
        builder: &mut KernelBuilder,
        out: &mut Writer,
        act: impl FnOnce(&mut ProblemContext) -> T,
    ) -> T {
        act(&mut ProblemContext {
            device: self.device,
            figures: self.figures,
            cache_dir: self.cache_dir,
            seed: self.seed,
            seed_is_fixed: self.options.seed.is_some(),
            out,
            spawn_worker: &mut |wanted| {
                let language = match wanted {
                    WorkerFor::Candidate => self.options.language(),
                    WorkerFor::Reference(language) => language,
                };
                start_worker(self.options, language, self.target, self.sink)?.ready()
            },
            build: &mut |source, header| builder.reference(source, header),
        })
    }
}
