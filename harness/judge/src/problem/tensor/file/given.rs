//! What a workload gives to the tensors and scalars of its cases: values, tolerances and
//! parameters.

use super::super::input_values::InputValues;
use super::super::number::Variables;
use super::super::spec::TensorRole;
use super::super::suggest::suggest;
use super::super::values_text::Filled;
use super::cases::Workload;
use super::text::{ProblemFile, ScalarText, WorkloadText};
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::problem::key_error::KeyError;

/// What a scalar may be.
const SCALAR_TYPES: &str =
    "a scalar must be an f32, or an i32 with a whole value, or an i64 with one";

impl ProblemFile {
    /// Checks that a workload gives values to inputs only.
    pub(super) fn check_values(&self, workload: &WorkloadText) -> Result<(), KeyError> {
        let names: Vec<&str> = self.tensor.iter().map(|t| t.name.as_str()).collect();
        for (name, values) in &workload.values {
            let tensor = self.tensor.iter().find(|t| t.name == *name);
            let wrong = |what: String| KeyError::new(what).within(name.as_str()).within("values");
            match tensor.map(|t| t.role) {
                None => {
                    return Err(wrong(format!(
                        "values: '{name}' is not a tensor{}",
                        suggest(name, &names)
                    )));
                }
                Some(TensorRole::Out) => {
                    return Err(wrong(format!(
                        "values: '{name}' is an output: the kernel writes its values"
                    )));
                }
                Some(TensorRole::In | TensorRole::Inout) => {
                    values.check(&self.names()).map_err(|e| {
                        e.of(format_args!("values of '{name}'"))
                            .within(name.as_str())
                            .within("values")
                    })?;
                }
            }
        }
        Ok(())
    }

    /// The tolerance of tensor `i`, which is compared as this type: its own, or else its type's.
    pub(super) fn tolerance_of(
        &self,
        i: usize,
        dtype: Dtype,
        variables: &Variables,
    ) -> Result<Tolerance, KeyError> {
        let tensor = &self.tensor[i];
        match (&tensor.tolerance, self.tolerance.get(&dtype)) {
            _ if tensor.role == TensorRole::In => Ok(Tolerance::EXACT),
            (Some(own), _) => own.resolve(variables).map_err(|e| {
                let of = format!("tensor '{}': tolerance", tensor.name);
                e.of(of).within("tolerance").within(i).within("tensor")
            }),
            (None, Some(of_type)) => of_type.resolve(variables).map_err(|e| {
                e.of(format_args!("tolerance.{dtype}"))
                    .within(dtype.word())
                    .within("tolerance")
            }),
            (None, None) => Ok(Tolerance::EXACT),
        }
    }

    /// The values of tensor `i` in a workload: those that the workload states, or else the tensor's
    /// own.
    pub(super) fn values_of(
        &self,
        i: usize,
        workload: &Workload,
        filled: &Filled,
    ) -> Result<Option<InputValues>, KeyError> {
        let tensor = &self.tensor[i];
        let of = format!("tensor '{}'", tensor.name);
        let own = |e: KeyError| e.within(i).within("tensor");
        let (values, stated) = match (workload.text.values.get(&tensor.name), &tensor.values) {
            _ if tensor.role == TensorRole::Out => return Ok(None),
            (Some(text), _) => {
                let place = |e: KeyError| e.within(tensor.name.as_str()).within("values");
                let place = |e: KeyError| place(e).within(workload.number).within(workload.key);
                (
                    text.resolve(filled)
                        .map_err(|e| place(e.of("values").of(&of)))?,
                    true,
                )
            }
            (None, Some(text)) => {
                let place = |e: KeyError| own(e.of("values").of(&of).within("values"));
                (text.resolve(filled).map_err(place)?, false)
            }
            (None, None) => {
                let what = "an input needs values, as in values = { normal = { std = 1.0 } }";
                return Err(own(KeyError::new(what).of(&of)));
            }
        };
        let Some(why) = values
            .forbids_planting()
            .filter(|_| !workload.planted[i].kinds.is_empty())
        else {
            return Ok(Some(values));
        };
        let error = KeyError::new(format!("planted: {why}")).of(&of);
        let stated_planted = workload.text.planted.contains_key(&tensor.name);
        Err(match (stated_planted, stated) {
            (true, _) => error.within(tensor.name.as_str()).within("planted"),
            (false, true) => error.within(tensor.name.as_str()).within("values"),
            (false, false) => return Err(own(error.within("planted"))),
        }
        .within(workload.number)
        .within(workload.key))
    }

    /// Checks the scalars, whatever the workload.
    pub(super) fn check_scalars(&self, names: &[&str]) -> Result<(), KeyError> {
        for (i, s) in self.scalar.iter().enumerate() {
            let of = |e: KeyError| {
                e.of(format_args!("scalar '{}'", s.name))
                    .within(i)
                    .within("scalar")
            };
            s.value
                .check(names)
                .map_err(|e| of(KeyError::new(e).within("value")))?;
        }
        Ok(())
    }

    /// The bytes of the scalar parameters in a workload.
    pub(super) fn scalars_of(&self, variables: &Variables) -> Result<Vec<Vec<u8>>, KeyError> {
        let scalar = |(i, s): (usize, &ScalarText)| {
            let error = |e| KeyError::new(format!("scalar '{}': {e}", s.name));
            scalar_bytes(s, variables)
                .map_err(|e| error(e).within("value").within(i).within("scalar"))
        };
        self.scalar.iter().enumerate().map(scalar).collect()
    }
}

/// The bytes of a scalar parameter.
fn scalar_bytes(s: &ScalarText, variables: &Variables) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match s.dtype.integers() {
        Some((least, largest)) => {
            let value = s
                .value
                .whole(variables)
                .map_err(|e| format!("{SCALAR_TYPES}: {e}"))?;
            if !(least..=largest).contains(&value) {
                return Err(format!(
                    "{value} does not fit {}, which goes from {least} to {largest}",
                    s.dtype
                ));
            }
            s.dtype.encode_integer(value, &mut bytes);
        }
        None => {
            let value = s.value.value(variables)?;
            if value.abs() > s.dtype.largest() {
                return Err(format!("{} does not fit {}", s.value.shown(value), s.dtype));
            }
            s.dtype.encode(value, &mut bytes);
        }
    }
    Ok(bytes)
}
