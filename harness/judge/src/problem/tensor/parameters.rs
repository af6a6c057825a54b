//! The parameters of a problem's kernels, for a kernel that has others.

use super::spec::{Case, ProblemSpec, TensorRole};
use crate::outcome::Stop;
use lab_device::OTHER_PARAMETERS;

/// Adds the problem's parameters to a failure that says that the kernel has others.
pub fn with_parameters(stop: Stop, spec: &ProblemSpec, case: &Case) -> Stop {
    match stop {
        Stop::Crash(text) if text.contains(OTHER_PARAMETERS) => {
            let text = text.trim_end_matches('.');
            Stop::Crash(format!("{text}. The problem's parameters are ({})", listed(spec, case)))
        }
        stop => stop,
    }
}

/// The parameters as C++ declares them: the tensors, the scalars, the dimensions.
fn listed(spec: &ProblemSpec, case: &Case) -> String {
    let tensors = spec.tensors.iter().zip(&case.tensors).map(|(tensor, shaped)| {
        let constant = if tensor.role == TensorRole::In { "const " } else { "" };
        format!("{constant}{}* {}", shaped.dtype.in_source(), tensor.name)
    });
    let scalars = spec.scalars.iter().map(|(name, dtype)| format!("{} {name}", dtype.in_source()));
    let dims = spec.dims.iter().map(|name| format!("int {name}"));
    tensors.chain(scalars).chain(dims).collect::<Vec<_>>().join(", ")
}
