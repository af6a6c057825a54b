//! The parameters of a problem's kernels: for a launch, and for a kernel that has others.

use super::spec::{Case, CaseScalar, CaseTensor, ProblemSpec, TensorRole};
use super::view::View;
use crate::dtype::Dtype;
use crate::outcome::{Result, Stop};
use crate::worker::compile_ahead::{Call, CallParameter};
use crate::worker::{LaunchParameter, ModuleId, Passed, Worker};
use itertools::Itertools as _;
use lab_device::OTHER_PARAMETERS;

/// A pointer among the kernel's parameters: to a tensor, or to a view of it.
pub struct Pointer<'a> {
    pub name: &'a str,
    /// The tensor, and its number.
    pub of: &'a CaseTensor,
    pub tensor: usize,
    pub view: Option<&'a View>,
}

impl Pointer<'_> {
    /// The extents, the outermost first.
    pub fn extents(&self) -> Vec<u64> {
        let shape = self.view.map_or(&self.of.shape, |view| &view.shape);
        shape.iter().map(|n| *n as u64).collect()
    }

    /// Cells from each cell of an extent to the next one; `None` if they lie as the extents say.
    pub fn strides(&self) -> Option<Vec<u64>> {
        let strides = self.view?.strides.iter();
        Some(strides.map(|n| *n as u64).collect())
    }
}

impl Case {
    /// The pointers that the kernel gets, in the order of its parameters.
    pub fn pointers(&self) -> impl Iterator<Item = Pointer<'_>> {
        self.tensors.iter().enumerate().flat_map(|(tensor, of)| {
            let pointer = move |name, view| Pointer {
                name,
                of,
                tensor,
                view,
            };
            let whole = of.views.is_empty().then(|| pointer(&of.name, None));
            let views = of.views.iter();
            whole
                .into_iter()
                .chain(views.map(move |view| pointer(&view.name, Some(view))))
        })
    }
}

/// The parameters of a kernel: the tensors, the scalars, the dims.
pub fn parameters(case: &Case) -> Vec<LaunchParameter> {
    let of = |name: &str, dtype, shape| LaunchParameter {
        name: name.to_owned(),
        dtype,
        shape,
        strides: None,
        is_input: false,
    };
    let tensor = |pointer: Pointer| LaunchParameter {
        is_input: pointer.of.role == TensorRole::In,
        strides: pointer.strides(),
        ..of(pointer.name, pointer.of.dtype, Some(pointer.extents()))
    };
    let tensors = case.pointers().map(tensor);
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
    let values = case.pointers().map(|_| None);
    let scalars = case.scalars.iter().map(|s| s.bytes.clone()).collect_vec();
    let values = values.chain(case.numbers(&scalars).into_iter().map(Some));
    let of = |(parameter, value)| CallParameter { parameter, value };
    Call {
        entry: case.entry.clone(),
        parameters: parameters(case).into_iter().zip(values).map(of).collect(),
    }
}

/// Returns [`Stop::Build`] if a module lacks an entry of the problem, or a function takes other
/// parameters.
pub fn require_entries(spec: &ProblemSpec, worker: &mut Worker, module: ModuleId) -> Result {
    for case in spec.case_of_each_entry() {
        require_entry(case, worker, module)?;
    }
    Ok(())
}

/// [`require_entries`] for the entry of one case.
pub fn require_entry(case: &Case, worker: &mut Worker, module: ModuleId) -> Result {
    let scalars = case.scalars.iter().map(|s| s.bytes.clone()).collect_vec();
    let numbers = case
        .numbers(&scalars)
        .into_iter()
        .map(|number| number.len());
    let sizes = case.pointers().map(|_| 8).chain(numbers).collect();
    let passed = Passed {
        sizes,
        dims: case.bytes_of_dims(),
    };
    worker
        .require_entry(module, &case.entry, parameters(case), Some(passed))
        .map_err(|stop| with_parameters(stop, case))
}

/// Adds the problem's parameters to a failure that says that the kernel has others.
pub fn with_parameters(stop: Stop, case: &Case) -> Stop {
    match stop {
        stop if stop.to_string().contains(OTHER_PARAMETERS) => stop.map_text(|text| {
            let (text, listed) = (text.trim_end_matches('.'), listed(case));
            format!("{text}. The problem's parameters are ({listed})")
        }),
        stop => stop,
    }
}

/// The parameters as C++ declares them.
fn listed(case: &Case) -> String {
    let declared = |parameter: LaunchParameter| {
        let (of, name) = (parameter.dtype.in_source(), parameter.name);
        match (parameter.shape, parameter.is_input) {
            (Some(_), true) => format!("const {of}* {name}"),
            (Some(_), false) => format!("{of}* {name}"),
            (None, _) => format!("{of} {name}"),
        }
    };
    let all = parameters(case).into_iter();
    let of_struct = case
        .has_struct
        .then(|| "the struct of the scalars".to_owned());
    all.map(declared).chain(of_struct).join(", ")
}
