//! Whether this machine can confine kernels: runs ask before they start.

use lab_device::sandbox;
use lab_protocol::Target;
use lab_run::Reason;
use lab_runner::spec::RunSpec;

/// A run whose kernel is confined where this machine can.
pub fn spec(reason: Reason, device: Option<Target>) -> RunSpec {
    RunSpec {
        device,
        confinement: missing,
        ..RunSpec::new(reason)
    }
}

/// Why kernels cannot be confined on a device. `None` where they can, and for a GPU, where a kernel
/// makes no system calls.
pub fn missing(target: Target) -> Option<String> {
    let support = sandbox::support();
    // Resolving a device may load its driver.
    support
        .missing()
        .filter(|_| lab_device::resolve(target) == Target::Cpu)
        .map(str::to_owned)
}
