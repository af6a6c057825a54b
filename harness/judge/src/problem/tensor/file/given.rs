//! The values that a workload gives to the tensors and scalars of its cases: values, tolerances and
//! parameters.

use super::super::gate_keys;
use super::super::input_values::InputValues;
use super::super::number::{NumberText, Variables};
use super::super::spec::{CaseScalar, TensorRole};
use super::super::values_text::Filled;
use super::super::view::{Slice, View};
use super::cases::Workload;
use super::of_type;
use super::text::{ProblemFile, ScalarText, ViewText, WorkloadText};
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::problem::key_error::{InKey, KeyError, Result, wrong};
use itertools::Itertools as _;
use lab_source::suggest::suggest;

impl ProblemFile {
    /// Checks that a workload gives values to inputs only.
    pub(super) fn check_values(&self, workload: &WorkloadText) -> Result {
        self.check_tensor_names("values", workload.values.keys())?;
        for (name, values) in &workload.values {
            let mut outputs = self
                .tensor
                .iter()
                .filter(|t| matches!(t.role, TensorRole::Out | TensorRole::Scratch));
            let checked = if outputs.any(|t| t.name == *name) {
                let what = "is an output: the kernel writes its values";
                Err(format!("values: '{name}' {what}").into())
            } else {
                let checked = values.check(&self.names());
                checked.of(format_args!("values of '{name}'"))
            };
            checked.within(name.as_str()).within("values")?;
        }
        Ok(())
    }

    /// Checks that a key of a workload names tensors only.
    pub(super) fn check_tensor_names<'a>(
        &self,
        key: &str,
        mut named: impl Iterator<Item = &'a String>,
    ) -> Result {
        let names = self.tensor_names();
        match named.find(|name| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some(unknown) => {
                let hint = suggest(unknown, &names);
                let what = format!("{key}: '{unknown}' is not a tensor{hint}");
                wrong(unknown.as_str(), what).within(key)
            }
        }
    }

    /// The tolerance of tensor `i`, which is compared as this type: its own, or else its type's.
    pub(super) fn tolerance_of(
        &self,
        i: usize,
        dtype: Dtype,
        variables: &Variables,
    ) -> Result<Tolerance> {
        let tensor = &self.tensor[i];
        match (&tensor.tolerance, self.tolerance.get(&dtype)) {
            _ if matches!(tensor.role, TensorRole::In | TensorRole::Scratch) => {
                Ok(Tolerance::EXACT)
            }
            (Some(own), _) => self.of_tensor(i, own.resolve(variables).key("tolerance")),
            (None, _) if !tensor.gates.is_empty() && dtype.integers().is_none() => {
                let own = gate_keys::tolerance(&tensor.gates);
                let of_type = self
                    .tolerance
                    .get(&dtype)
                    .map(|t| of_type(dtype, t.resolve(variables)));
                own.map(Ok).or(of_type).unwrap_or(Ok(Tolerance::EXACT))
            }
            (None, Some(tolerance)) => of_type(dtype, tolerance.resolve(variables)),
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
    ) -> Result<Option<InputValues>> {
        let tensor = &self.tensor[i];
        let name = tensor.name.as_str();
        // A result whose error is of a key of the workload that is about the tensor.
        let of_key = |key: &str, resolved: Result<InputValues>| {
            let (table, number) = workload.table;
            let resolved = resolved.of(format_args!("tensor '{name}'"));
            resolved.within(name).within(key).item(table, number)
        };
        let stated = workload.text.values.get(name);
        let values = match (stated, &tensor.values) {
            _ if matches!(tensor.role, TensorRole::Out | TensorRole::Scratch) => return Ok(None),
            (Some(text), _) => of_key("values", text.resolve(filled).of("values")),
            (None, Some(text)) => self.of_tensor(i, text.resolve(filled).key("values")),
            (None, None) => {
                let what = "an input needs values, as in values = { normal = { std = 1.0 } }";
                self.of_tensor(i, Err(what.into()))
            }
        }?;
        let planting = &workload.planted[i];
        let is_planted = !planting.kinds.is_empty() && !planting.by_default;
        let planted = match values.forbids_planting() {
            Some(why) if is_planted => Err(KeyError::new(format!("planted: {why}"))),
            _ => Ok(values),
        };
        match (workload.text.planted.contains_key(name), stated) {
            (true, _) => of_key("planted", planted),
            (false, Some(_)) => of_key("values", planted),
            (false, None) => self.of_tensor(i, planted.within("planted")),
        }
        .map(Some)
    }

    /// The views of tensor `i`, which has this shape in a workload.
    pub(super) fn views_of(
        &self,
        i: usize,
        shape: &[usize],
        variables: &Variables,
    ) -> Result<Vec<View>> {
        let tensor = &self.tensor[i];
        let view = |(number, text): (usize, &ViewText)| {
            let slice = Slice::parse(&text.slice, shape.len(), variables.names);
            let view = slice.and_then(|s| s.view(&text.name, shape, variables.look_up));
            view.key("slice").item("views", number)
        };
        let views: Result<Vec<View>, _> = tensor.views.iter().enumerate().map(view).collect();
        let views = self.of_tensor(i, views)?;
        let seen: usize = views.iter().map(View::cells).sum();
        if tensor.role == TensorRole::Out && !views.is_empty() && seen < shape.iter().product() {
            let what =
                "views: no launch writes the other cells of the output: give it the role \"inout\"";
            return self.of_tensor(i, wrong("views", what));
        }
        Ok(views)
    }

    /// Checks the scalars, whatever the workload.
    pub(super) fn check_scalars(&self) -> Result {
        let mut scalars = self.scalar.iter().enumerate();
        let names = self.names();
        scalars.try_for_each(|(i, s)| match (&s.value, &s.draw) {
            (Some(value), None) => of_scalar(i, s, "value", value.check(&names)),
            (None, Some(draw)) => of_scalar(i, s, "draw", draw.check(&names)),
            _ => {
                let what = "a scalar has either a value, as in value = 0.5, or a range, as in draw = { low = 0.0, high = 1.0 }";
                of_scalar(i, s, "value", Err(what.to_owned()))
            }
        })
    }

    /// Checks that a workload gives values to scalars only.
    pub(super) fn check_stated_scalars(&self, workload: &WorkloadText) -> Result {
        let names = self.scalar.iter().map(|s| s.name.as_str()).collect_vec();
        let checked = workload.scalars.iter().try_for_each(|(name, value)| {
            let known = names.contains(&name.as_str());
            let hint = suggest(name, &names);
            let known = known
                .then_some(())
                .ok_or_else(|| format!("it is not a scalar{hint}"));
            let checked = known.and_then(|()| value.check(&self.names()));
            checked.of(format_args!("'{name}'")).within(name.as_str())
        });
        checked.of("scalars").within("scalars")
    }

    /// The scalar parameters in a workload.
    pub(super) fn scalars_of(
        &self,
        workload: &Workload,
        variables: &Variables,
    ) -> Result<Vec<CaseScalar>> {
        let (table, number) = workload.table;
        let scalar = |(i, s): (usize, &ScalarText)| {
            let (name, dtype) = (s.name.clone(), s.dtype);
            let stated = workload.text.scalars.get(&name);
            let (bytes, draw) = match (stated, &s.value, &s.draw) {
                (Some(value), ..) => {
                    let bytes = scalar_bytes(dtype, value, variables);
                    let bytes = bytes.of(format_args!("scalar '{name}'"));
                    let bytes = bytes.within(name.as_str()).within("scalars");
                    (bytes.item(table, number)?, None)
                }
                (None, _, Some(draw)) => {
                    let draw = of_scalar(i, s, "draw", draw.resolve(dtype, variables))?;
                    (draw.at(dtype, 0.5), Some(draw))
                }
                (None, Some(value), None) => {
                    let bytes = scalar_bytes(dtype, value, variables);
                    (of_scalar(i, s, "value", bytes)?, None)
                }
                (None, None, None) => (Vec::new(), None),
            };
            let is_one_float = draw.is_none() && s.dtype.integers().is_none();
            let varies = is_one_float
                && dtype.decode(&bytes).is_finite()
                && !s.fixed
                && self.planted != Some(false);
            Ok(CaseScalar {
                name,
                dtype,
                bytes,
                draw,
                varies,
            })
        };
        self.scalar.iter().enumerate().map(scalar).collect()
    }
}

/// A result whose error is of the value of scalar `i`.
fn of_scalar<T>(
    i: usize,
    s: &ScalarText,
    key: &'static str,
    checked: Result<T, impl Into<KeyError>>,
) -> Result<T> {
    let checked = checked.of(format_args!("scalar '{}'", s.name));
    checked.within(key).item("scalar", i)
}

/// The bytes of a scalar parameter.
fn scalar_bytes(dtype: Dtype, text: &NumberText, variables: &Variables) -> Result<Vec<u8>, String> {
    if let Some((least, largest)) = dtype.integers() {
        let value = text.whole(variables);
        let value = value.map_err(|e| format!("{e}, as the type is {dtype}"))?;
        return if (least..=largest).contains(&value) {
            Ok(dtype.integer_cell(value))
        } else {
            Err(format!(
                "{value} does not fit {dtype}, which goes from {least} to {largest}"
            ))
        };
    }
    let value = text.constant(variables)?;
    if value.is_finite() && value.abs() > dtype.largest() {
        return Err(format!("{} does not fit {dtype}", text.shown(value)));
    }
    Ok(dtype.cell(value))
}
