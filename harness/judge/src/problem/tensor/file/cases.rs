//! The cases of a problem.toml: each workload in each of its types, with every expression evaluated.

use super::super::drawn_shapes::{self, Extents};
use super::super::expression::Expression;
use super::super::input_values::InputValues;
use super::super::number::Variables;
use super::super::spec::{Case, CaseTensor, TensorRole};
use super::super::suggest::suggest;
use super::super::values_text::Filled;
use super::text::{ProblemFile, ScalarText, WorkloadText};
use super::{ParsedCounts, ParsedTensor, SCALAR_TYPES};
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::problem::key_error::KeyError;

/// Most cells of a tensor: 4 GiB in f32. A larger one takes unreasonably long to pass through the lab.
const MAX_CELLS: usize = 1 << 30;

/// A workload of the file, a held-out one, or a shape that `[[keep]]` draws.
struct Workload<'a> {
    /// The array of tables that states it, and its number there, from 0.
    key: &'static str,
    number: usize,
    dims: Vec<i32>,
    held_out: bool,
    text: &'a WorkloadText,
}

impl Workload<'_> {
    /// As in `workload 2 (rows=3 cols=5)`.
    fn name(&self, dims: &[String]) -> String {
        format!("{} {} ({})", self.key, self.number + 1, words(dims, &self.dims).join(" "))
    }

    /// An error of this workload's own keys.
    fn error(&self, error: KeyError) -> KeyError {
        of_workload(self.key, self.number, error)
    }
}

fn of_workload(key: &'static str, number: usize, error: KeyError) -> KeyError {
    error.of(format_args!("{key} {}", number + 1)).within(number).within(key)
}

/// As in `rows=3`, `cols=5`.
fn words(names: &[String], dims: &[i32]) -> Vec<String> {
    names.iter().zip(dims).map(|(name, n)| format!("{name}={n}")).collect()
}

impl ProblemFile {
    pub(super) fn cases(
        &self,
        tensors: &[ParsedTensor],
        counts: &ParsedCounts,
    ) -> Result<Vec<Case>, KeyError> {
        if self.workload.is_empty() {
            return Err(KeyError::new("workload: add at least one").within("workload"));
        }
        let timed = self.workload.iter().enumerate().map(|(i, w)| ("workload", i, w));
        let held_out = self.held_out.iter().enumerate().map(|(i, w)| ("held_out", i, w));
        let mut cases = Vec::new();
        for (key, i, text) in timed.chain(held_out) {
            cases.extend(self.cases_of(key, i, text, tensors, counts)?);
        }
        Ok(cases)
    }

    /// The cases of a workload, one for each of its types.
    fn cases_of(
        &self,
        key: &'static str,
        number: usize,
        text: &WorkloadText,
        tensors: &[ParsedTensor],
        counts: &ParsedCounts,
    ) -> Result<Vec<Case>, KeyError> {
        // Drawn shapes replace the workloads, and their place is the table that describes them.
        let (key, number) = text.drawn_by.map_or((key, number), |number| ("keep", number));
        let place = |e: KeyError| of_workload(key, number, e);
        let dims = self.extents(text).map_err(place)?;
        let held_out = key != "workload" && text.drawn_by.is_none();
        self.check_values(text).map_err(place)?;
        let workload = Workload { key, number, dims, held_out, text };
        let types = self.case_types(text).map_err(place)?;
        types.into_iter().map(|dtype| self.case(&workload, dtype, tensors, counts)).collect()
    }

    /// Checks that every shape which `[[keep]]` can draw makes sense as a workload.
    pub(super) fn check_drawn(
        &self,
        tensors: &[ParsedTensor],
        counts: &ParsedCounts,
    ) -> Result<(), KeyError> {
        for (number, drawn) in self.keep.iter().enumerate() {
            if let Some(error) = drawn.error() {
                return Err(of_workload("keep", number, error));
            }
            for dims in drawn.ends() {
                let text = WorkloadText {
                    dims,
                    types: drawn.types.clone(),
                    values: drawn.values.clone(),
                    drawn_by: Some(number),
                };
                self.cases_of("keep", number, &text, tensors, counts)?;
            }
        }
        Ok(())
    }

    /// Replaces the workloads by drawn shapes, if `[[keep]]` says how to draw them.
    pub(super) fn held_out(mut self, seed: u64) -> Self {
        if self.keep.is_empty() {
            return self;
        }
        let mut rng = drawn_shapes::rng(seed);
        let shown = self.workload.iter().chain(&self.held_out);
        let mut shown: Vec<Extents> = shown.map(|workload| workload.dims.clone()).collect();
        let mut workloads = Vec::new();
        for (number, drawn) in self.keep.iter().enumerate() {
            let before = shown.len();
            drawn.draw(&mut shown, &mut rng);
            let of = |dims: &Extents| WorkloadText {
                dims: dims.clone(),
                types: drawn.types.clone(),
                values: drawn.values.clone(),
                drawn_by: Some(number),
            };
            workloads.extend(shown[before..].iter().map(of));
        }
        (self.workload, self.held_out) = (workloads, Vec::new());
        self
    }

    /// The workload's extents, in the order of `dims`.
    fn extents(&self, workload: &WorkloadText) -> Result<Vec<i32>, KeyError> {
        let names: Vec<&str> = self.dims.iter().map(String::as_str).collect();
        if let Some(unknown) = workload.dims.keys().find(|k| !names.contains(&k.as_str())) {
            let what = format!("'{unknown}' is not a dimension{}", suggest(unknown, &names));
            return Err(KeyError::new(what).within(unknown.as_str()).within("dims"));
        }
        let extent = |name: &String| match workload.dims.get(name) {
            None => Err(KeyError::new(format!("dimension '{name}' is missing")).within("dims")),
            Some(n) => i32::try_from(*n).ok().filter(|n| *n >= 1).ok_or_else(|| {
                KeyError::new(format!("{name} = {n}: an extent must be from 1 to 2147483647"))
                    .within(name.as_str())
                    .within("dims")
            }),
        };
        self.dims.iter().map(extent).collect()
    }

    /// Checks that a workload gives values to inputs only.
    fn check_values(&self, workload: &WorkloadText) -> Result<(), KeyError> {
        let names: Vec<&str> = self.tensor.iter().map(|t| t.name.as_str()).collect();
        for (name, values) in &workload.values {
            let tensor = self.tensor.iter().find(|t| t.name == *name);
            let wrong = |what: String| KeyError::new(what).within(name.as_str()).within("values");
            match tensor.map(|t| t.role) {
                None => {
                    return Err(wrong(format!("values: '{name}' is not a tensor{}", suggest(name, &names))));
                }
                Some(TensorRole::Out) => {
                    return Err(wrong(format!(
                        "values: '{name}' is an output: the kernel writes its values"
                    )));
                }
                Some(TensorRole::In | TensorRole::Inout) => values.check(&self.names()).map_err(|e| {
                    e.of(format_args!("values of '{name}'")).within(name.as_str()).within("values")
                })?,
            }
        }
        Ok(())
    }

    /// The types that a workload runs in; `None` stands for a problem without a type parameter.
    fn case_types(&self, workload: &WorkloadText) -> Result<Vec<Option<Dtype>>, KeyError> {
        let Some(chosen) = &workload.types else {
            let all = self.types.iter().copied().map(Some);
            return Ok(if self.types.is_empty() { vec![None] } else { all.collect() });
        };
        match chosen.iter().position(|d| !self.types.contains(d)) {
            Some(i) => {
                let what = format!("types: {} is not one of the problem's types", chosen[i]);
                Err(KeyError::new(what).within(i).within("types"))
            }
            None if chosen.is_empty() => Err(KeyError::new("types: name at least one").within("types")),
            None => Ok(chosen.iter().copied().map(Some).collect()),
        }
    }

    fn case(
        &self,
        workload: &Workload,
        dtype: Option<Dtype>,
        tensors: &[ParsedTensor],
        counts: &ParsedCounts,
    ) -> Result<Case, KeyError> {
        let dims = &workload.dims;
        let name = workload.name(&self.dims);
        let look_up = |name: &str| match self.dims.iter().position(|d| d == name) {
            Some(i) => f64::from(dims[i]),
            None => dtype.map_or(f64::NAN, |d| d.size() as f64),
        };
        let names = self.names();
        let variables = Variables { names: &names, look_up: &look_up };
        let mut shaped = Vec::new();
        for (i, tensor) in tensors.iter().enumerate() {
            let of = &tensor.tensor.name;
            let extent = |(at, e): (usize, &Expression)| {
                let wrong = |e| {
                    let what = format!("{name}: shape of '{of}': {e}");
                    KeyError::new(what).within(at).within("shape").within(i).within("tensor")
                };
                e.extent(look_up).map_err(wrong)
            };
            let shape: Vec<usize> = tensor.shape.iter().enumerate().map(extent).collect::<Result<_, _>>()?;
            let cells = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
            if cells.is_none_or(|n| n > MAX_CELLS) {
                let what = format!("'{of}' has more than {MAX_CELLS} cells");
                return Err(workload.error(KeyError::new(what).within("dims")));
            }
            let fixed = tensor.dtype.fixed().or(dtype);
            let dtype = fixed.ok_or_else(|| format!("'{of}' has type T, which is unknown here"))?;
            let tolerance = self.tolerance_of(i, dtype, &variables).map_err(|e| e.of(&name))?;
            let filled = Filled { dtype, shape: &shape, variables, files: &self.files };
            let values = self.values_of(i, workload, &filled).map_err(|e| e.of(&name))?;
            shaped.push(CaseTensor { dtype, tolerance, values, shape });
        }
        let scalar = |(i, s): (usize, &ScalarText)| {
            let error = |e| KeyError::new(format!("scalar '{}': {e}", s.name)).of(&name);
            scalar_bytes(s, &variables).map_err(|e| error(e).within("value").within(i).within("scalar"))
        };
        let scalars = self.scalar.iter().enumerate().map(scalar).collect::<Result<_, _>>()?;
        let moved = |(tensor, shaped): (&ParsedTensor, &CaseTensor)| {
            shaped.bytes() as f64 * if tensor.tensor.role == TensorRole::Inout { 2.0 } else { 1.0 }
        };
        let value = |key: &str, expression: &Expression| {
            expression.value(look_up).map_err(|e| KeyError::new(format!("{name}: {key}: {e}")))
        };
        let count = |key: &str, expression: &Option<Expression>| {
            let Some(expression) = expression else { return Ok(None) };
            match value(key, expression) {
                Ok(count) if count < 0.0 => {
                    Err(KeyError::new(format!("{name}: {key} is {count}: it must not be negative")))
                }
                counted => counted.map(Some),
            }
            .map_err(|e| e.within(key))
        };
        let bytes = count("bytes", &counts.bytes)?;
        let bytes = bytes.unwrap_or_else(|| tensors.iter().zip(&shaped).map(moved).sum());
        let flops = count("flops", &counts.flops)?;
        let samples = match value("objective.samples", &counts.samples) {
            Ok(samples) if samples <= 0.0 => {
                Err(KeyError::new(format!("{name}: objective.samples is {samples}: it must be above 0")))
            }
            counted => counted,
        };
        let samples = samples.map_err(|e| e.within("samples").within("objective"))?;
        let label: Vec<String> =
            words(&self.dims, dims).into_iter().chain(dtype.map(|d| format!("T={d}"))).collect();
        Ok(Case {
            label: label.join(" "),
            entry: self.entry.replace("{T}", dtype.map_or("", Dtype::word)),
            dims: dims.clone(),
            tensors: shaped,
            scalars,
            held_out: workload.held_out,
            samples,
            bytes,
            flops,
        })
    }

    /// The tolerance of tensor `i`, which is compared as this type: its own, or else its type's.
    fn tolerance_of(&self, i: usize, dtype: Dtype, variables: &Variables) -> Result<Tolerance, KeyError> {
        let tensor = &self.tensor[i];
        match (&tensor.tolerance, self.tolerance.get(&dtype)) {
            _ if tensor.role == TensorRole::In => Ok(Tolerance::EXACT),
            (Some(own), _) => own.resolve(variables).map_err(|e| {
                let of = format!("tensor '{}': tolerance", tensor.name);
                e.of(of).within("tolerance").within(i).within("tensor")
            }),
            (None, Some(of_type)) => of_type.resolve(variables).map_err(|e| {
                e.of(format_args!("tolerance.{dtype}")).within(dtype.word()).within("tolerance")
            }),
            (None, None) => Ok(Tolerance::EXACT),
        }
    }

    /// The values of tensor `i` in a workload: those that the workload states, or else the tensor's own.
    fn values_of(
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
                (text.resolve(filled).map_err(|e| place(e.of("values").of(&of)))?, true)
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
        match values
            .forbids_planting()
            .filter(|_| tensor.planted.as_ref().is_some_and(|p| !p.kinds().is_empty()))
        {
            Some(why) if stated => Err(workload.error(
                KeyError::new(format!("planted: {why}"))
                    .of(&of)
                    .within(tensor.name.as_str())
                    .within("values"),
            )),
            Some(why) => Err(own(KeyError::new(format!("planted: {why}")).of(&of).within("planted"))),
            None => Ok(Some(values)),
        }
    }
}

/// The bytes of a scalar parameter.
fn scalar_bytes(s: &ScalarText, variables: &Variables) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match s.dtype.integers() {
        Some((least, largest)) => {
            let value = s.value.whole(variables).map_err(|e| format!("{SCALAR_TYPES}: {e}"))?;
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
