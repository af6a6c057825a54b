//! The parameters of a problem's kernels: for a launch, and for a kernel that has others.

use super::spec::{Case, ProblemSpec, TensorRole};
use crate::dtype::Dtype;
use crate::outcome::Stop;
use crate::worker::compile_ahead::{Call, CallParameter};
use crate::worker::{LaunchParameter, ModuleId, Worker};
use lab_device::OTHER_PARAMETERS;

/// What the arguments of a launch are: the tensors, the scalars, the dims.
pub fn parameters(spec: &ProblemSpec, case: &Case) -> Vec<LaunchParameter> {
    let tensors = spec
        .tensors
        .iter()
        .zip(&case.tensors)
        .map(|(tensor, shaped)| {
            let shape = shaped.shape.iter().map(|n| *n as u64).collect();
            LaunchParameter {
                name: tensor.name.clone(),
                dtype: shaped.dtype,
                shape: Some(shape),
            }
        });
    let number = |name: &String, dtype| LaunchParameter {
        name: name.clone(),
        dtype,
        shape: None,
    };
    let scalars = spec
        .scalars
        .iter()
        .map(|(name, dtype)| number(name, *dtype));
    let dims = spec.dims.iter().map(|name| number(name, Dtype::I32));
    tensors.chain(scalars).chain(dims).collect()
}

/// The call of a kernel in Python that judges this case.
pub fn call(spec: &ProblemSpec, case: &Case) -> Call {
    let numbers = case
        .scalars
        .iter()
        .cloned()
        .chain(case.dims.iter().map(|n| n.to_le_bytes().to_vec()));
    let values = spec.tensors.iter().map(|_| None).chain(numbers.map(Some));
    let of = |(parameter, value)| CallParameter { parameter, value };
    Call {
        entry: case.entry.clone(),
        parameters: parameters(spec, case)
            .into_iter()
            .zip(values)
            .map(of)
            .collect(),
    }
}

/// Returns [`Stop::Build`] if a module lacks an entry of the problem, or a function takes other
/// parameters.
pub fn require_entries(
    spec: &ProblemSpec,
    worker: &mut Worker,
    module: ModuleId,
) -> Result<(), Stop> {
    for entry in spec.entries() {
        let case = spec.cases.iter().find(|case| case.entry == entry);
        let parameters = case.map(|case| parameters(spec, case)).unwrap_or_default();
        worker.require_entry(module, entry, parameters)?;
    }
    Ok(())
}

/// Adds the problem's parameters to a failure that says that the kernel has others.
pub fn with_parameters(stop: Stop, spec: &ProblemSpec, case: &Case) -> Stop {
    match stop {
        Stop::Crash(text) if text.contains(OTHER_PARAMETERS) => {
            let text = text.trim_end_matches('.');
            Stop::Crash(format!(
                "{text}. The problem's parameters are ({})",
                listed(spec, case)
            ))
        }
        stop => stop,
    }
}

/// The parameters as C++ declares them: the tensors, the scalars, the dimensions.
fn listed(spec: &ProblemSpec, case: &Case) -> String {
    let tensors = spec
        .tensors
        .iter()
        .zip(&case.tensors)
        .map(|(tensor, shaped)| {
            let constant = if tensor.role == TensorRole::In {
                "const "
            } else {
                ""
            };
            format!("{constant}{}* {}", shaped.dtype.in_source(), tensor.name)
        });
    let scalars = spec
        .scalars
        .iter()
        .map(|(name, dtype)| format!("{} {name}", dtype.in_source()));
    let dims = spec.dims.iter().map(|name| format!("int {name}"));
    tensors
        .chain(scalars)
        .chain(dims)
        .collect::<Vec<_>>()
        .join(", ")
}
