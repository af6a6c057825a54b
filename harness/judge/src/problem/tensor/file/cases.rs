//! The cases of a problem.toml: each workload in each of its types, with every expression evaluated.

use super::super::drawn_shapes::{self, Extents};
use super::super::expression::Expression;
use super::super::spec::{Case, CaseTensor, TensorRole};
use super::super::suggest::suggest;
use super::text::{ProblemFile, WorkloadText};
use super::{ParsedCounts, ParsedTensor};
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::problem::key_error::KeyError;

/// Most cells of a tensor: 4 GiB in f32. A larger one takes unreasonably long to pass through the lab.
const MAX_CELLS: usize = 1 << 30;

/// A workload of the file, a held-out one, or a shape that `[[keep]]` draws.
struct Workload {
    /// The array of tables that states it, and its number there, from 0.
    key: &'static str,
    number: usize,
    dims: Vec<i32>,
    held_out: bool,
}

impl Workload {
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
        let workload = Workload { key, number, dims, held_out: key != "workload" && text.drawn_by.is_none() };
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
                let text = WorkloadText { dims, types: drawn.types.clone(), drawn_by: Some(number) };
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
            shaped.push(CaseTensor { dtype, shape, tolerance: self.tolerance_of(dtype) });
        }
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
            table: (workload.key, workload.number),
            entry: self.entry.replace("{T}", dtype.map_or("", Dtype::word)),
            dims: dims.clone(),
            tensors: shaped,
            held_out: workload.held_out,
            samples,
            bytes,
            flops,
        })
    }

    fn tolerance_of(&self, dtype: Dtype) -> Tolerance {
        self.tolerance.get(&dtype).map_or(Tolerance::EXACT, |t| Tolerance {
            atol: t.atol,
            rtol: t.rtol,
            matched: t.matched,
        })
    }
}
