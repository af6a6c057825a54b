//! What a workload gives to the tensors and scalars of its cases: values, tolerances and
//! parameters.

use super::super::input_values::InputValues;
use super::super::number::Variables;
use super::super::spec::{CaseScalar, TensorRole};
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
            let checked = match tensor.map(|t| t.role) {
                None => {
                    let hint = suggest(name, &names);
                    Err(format!("values: '{name}' is not a tensor{hint}").into())
                }
                Some(TensorRole::Out) => Err(format!(
                    "values: '{name}' is an output: the kernel writes its values"
                )
                .into()),
                Some(TensorRole::In | TensorRole::Inout) => values
                    .check(&self.names())
                    .map_err(|e| e.of(format_args!("values of '{name}'"))),
            };
            checked.map_err(|e: KeyError| e.within(name.as_str()).within("values"))?;
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
            (Some(own), _) => own
                .resolve(variables)
                .map_err(|e| self.of_tensor(i, e.of("tolerance").within("tolerance"))),
            (None, Some(of_type)) => of_type.resolve(variables).map_err(|e| {
                let error = e.of(format_args!("tolerance.{dtype}"));
                error.within(dtype.word()).within("tolerance")
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
        let name = tensor.name.as_str();
        // An error of a key of the workload that is about the tensor.
        let of_key = |key: &str, error: KeyError| {
            let (table, number) = workload.table;
            let error = error.of(format_args!("tensor '{name}'"));
            error.within(name).within(key).item(table, number)
        };
        let stated = workload.text.values.get(name);
        let values = match (stated, &tensor.values) {
            _ if tensor.role == TensorRole::Out => return Ok(None),
            (Some(text), _) => text
                .resolve(filled)
                .map_err(|e| of_key("values", e.of("values")))?,
            (None, Some(text)) => text
                .resolve(filled)
                .map_err(|e| self.of_tensor(i, e.of("values").within("values")))?,
            (None, None) => {
                let what = "an input needs values, as in values = { normal = { std = 1.0 } }";
                return Err(self.of_tensor(i, what.into()));
            }
        };
        let is_planted = !workload.planted[i].kinds.is_empty();
        let Some(why) = values.forbids_planting().filter(|_| is_planted) else {
            return Ok(Some(values));
        };
        let error = KeyError::new(format!("planted: {why}"));
        Err(match (workload.text.planted.contains_key(name), stated) {
            (true, _) => of_key("planted", error),
            (false, Some(_)) => of_key("values", error),
            (false, None) => self.of_tensor(i, error.within("planted")),
        })
    }

    /// Checks the scalars, whatever the workload.
    pub(super) fn check_scalars(&self, names: &[&str]) -> Result<(), KeyError> {
        for (i, s) in self.scalar.iter().enumerate() {
            s.value.check(names).map_err(|e| of_scalar(i, s, e))?;
        }
        Ok(())
    }

    /// The scalar parameters in a workload.
    pub(super) fn scalars_of(&self, variables: &Variables) -> Result<Vec<CaseScalar>, KeyError> {
        let scalar = |(i, s): (usize, &ScalarText)| {
            Ok(CaseScalar {
                name: s.name.clone(),
                dtype: s.dtype,
                bytes: scalar_bytes(s, variables).map_err(|e| of_scalar(i, s, e))?,
            })
        };
        self.scalar.iter().enumerate().map(scalar).collect()
    }
}

/// An error of the value of scalar `i`.
fn of_scalar(i: usize, s: &ScalarText, what: String) -> KeyError {
    let error = KeyError::at("value", what).item("scalar", i);
    error.of(format_args!("scalar '{}'", s.name))
}

/// The bytes of a scalar parameter.
fn scalar_bytes(s: &ScalarText, variables: &Variables) -> Result<Vec<u8>, String> {
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
            Ok(s.dtype.integer_cell(value))
        }
        None => {
            let value = s.value.value(variables)?;
            if value.abs() > s.dtype.largest() {
                return Err(format!("{} does not fit {}", s.value.shown(value), s.dtype));
            }
            let mut bytes = Vec::new();
            s.dtype.encode(value, &mut bytes);
            Ok(bytes)
        }
    }
}
