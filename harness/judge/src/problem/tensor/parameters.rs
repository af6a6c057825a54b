//! The parameters of a problem's kernels: for a launch, and for a kernel that has others.

use super::spec::{Case, CaseScalar, CaseTensor, ProblemSpec, TensorRole};
use crate::dtype::Dtype;
use crate::outcome::Stop;
use crate::worker::compile_ahead::{Call, CallParameter};
use crate::worker::{LaunchParameter, ModuleId, Worker};
use lab_device::OTHER_PARAMETERS;

/// The parameters of a kernel: the tensors, the scalars, the dims.
pub fn parameters(case: &Case) -> Vec<LaunchParameter> {
    let of = |name: &String, dtype, shape| LaunchParameter {
        name: name.clone(),
        dtype,
        shape,
        is_input: false,
    };
    let tensor = |t: &CaseTensor| LaunchParameter {
        is_input: !t.is_output() && t.role != TensorRole::Scratch,
        ..of(&t.name, t.dtype, Some(t.extents()))
    };
    let tensors = case.tensors.iter().map(tensor);
    let scalar = |s: &CaseScalar| of(&s.name, s.dtype, None);
    let dims = case.dims.iter().map(|(name, _)| of(name, Dtype::I32, None));
    let numbers = case.scalars.iter().map(scalar).chain(dims);
    // Python, which asks for them, judges no problem with a struct.
    tensors
        .chain(numbers.filter(|_| !case.has_struct))
        .collect()
}

/// The call of a kernel in Python that judges this case.
pub fn call(case: &Case) -> Call {
    let values = case.tensors.iter().map(|_| None);
    let scalars: Vec<Vec<u8>> = case.scalars.iter().map(|s| s.bytes.clone()).collect();
    let values = values.chain(case.numbers(&scalars).into_iter().map(Some));
    let of = |(parameter, value)| CallParameter { parameter, value };
    Call {
        entry: case.entry.clone(),
        parameters: parameters(case).into_iter().zip(values).map(of).collect(),
    }
}

/// Returns [`Stop::Build`] if a module lacks an entry of the problem, or a function takes other
/// parameters.
pub fn require_entries(
    spec: &ProblemSpec,
    worker: &mut Worker,
    module: ModuleId,
) -> Result<(), Stop> {
    for case in spec.case_of_each_entry() {
        worker.require_entry(module, &case.entry, parameters(case))?;
    }
    Ok(())
}

/// Adds the problem's parameters to a failure that says that the kernel has others.
pub fn with_parameters(stop: Stop, case: &Case) -> Stop {
    match stop {
        Stop::Crash(text) if text.contains(OTHER_PARAMETERS) => {
            let text = text.trim_end_matches('.');
            let listed = listed(case);
            Stop::Crash(format!("{text}. The problem's parameters are ({listed})"))
        }
        stop => stop,
    }
}

/// The parameters as C++ declares them.
fn listed(case: &Case) -> String {
    let declared = |(at, parameter): (usize, LaunchParameter)| {
        let (of, name) = (parameter.dtype.in_source(), parameter.name);
        match case.tensors.get(at).map(|tensor| tensor.role) {
            Some(TensorRole::In) => format!("const {of}* {name}"),
            Some(TensorRole::Out | TensorRole::Inout | TensorRole::Scratch) => {
                format!("{of}* {name}")
            }
            None => format!("{of} {name}"),
        }
    };
    let all = parameters(case).into_iter().enumerate();
    let of_struct = case
        .has_struct
        .then(|| "the struct of the scalars".to_owned());
    let all = all.map(declared).chain(of_struct);
    all.collect::<Vec<_>>().join(", ")
}
