//! The cases of a problem.toml: each workload in each of its types, with every expression
//! evaluated.

use super::super::drawn_shapes::{self, DrawnShapes, Extents};
use super::super::expression::Expression;
use super::super::number::Variables;
use super::super::objective::{Amounts, Figure};
use super::super::planted::Planting;
use super::super::spec::{Case, CaseTensor, Origin, TensorRole};
use super::super::suggest::suggest;
use super::super::values_text::Filled;
use super::text::{ProblemFile, TensorText, WorkloadText};
use super::{KeepCheck, ParsedCounts, ParsedTensor};
use crate::dtype::Dtype;
use crate::problem::key_error::KeyError;
use lab_protocol::When;

/// Most cells of a tensor: 4 GiB in f32. A larger one takes unreasonably long to pass through the
/// lab.
const MAX_CELLS: usize = 1 << 30;

/// A workload of the file, a held-out one, or a shape that `[[keep]]` draws.
pub(super) struct Workload<'a> {
    /// The array of tables that states it, and its number there, from 0.
    pub key: &'static str,
    pub number: usize,
    dims: Vec<i32>,
    origin: Origin,
    when: When,
    held_out: bool,
    pub text: &'a WorkloadText,
    /// What is planted into each tensor.
    pub planted: Vec<Planting>,
}

impl Workload<'_> {
    /// As in `workload 2 (rows=3 cols=5)`.
    fn name(&self, dims: &[String]) -> String {
        format!(
            "{} {} ({})",
            self.key,
            self.number + 1,
            words(dims, &self.dims).join(" ")
        )
    }

    /// An error of this workload's own keys.
    fn error(&self, error: KeyError) -> KeyError {
        of_workload(self.key, self.number, error)
    }
}

fn of_workload(key: &'static str, number: usize, error: KeyError) -> KeyError {
    error
        .of(format_args!("{key} {}", number + 1))
        .within(number)
        .within(key)
}

/// As in `rows=3`, `cols=5`.
fn words(names: &[String], dims: &[i32]) -> Vec<String> {
    names
        .iter()
        .zip(dims)
        .map(|(name, n)| format!("{name}={n}"))
        .collect()
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
        if self
            .workload
            .iter()
            .all(|workload| workload.when != When::Save)
        {
            let what = "workload: none is judged on a save: give at least one of them when = \"save\", or no `when`";
            return Err(KeyError::new(what)
                .within("when")
                .within(0)
                .within("workload"));
        }
        let mut cases = Vec::new();
        for (key, workloads) in [
            ("keep", self.drawn.as_deref().unwrap_or_default()),
            ("workload", &self.workload),
            ("held_out", &self.held_out),
        ] {
            for (number, text) in workloads.iter().enumerate() {
                cases.extend(self.cases_of(key, number, text, tensors, counts)?);
            }
        }
        // Workloads of the same dimensions may differ in what they hold. Each has a name of its
        // own.
        let labels: Vec<String> = cases.iter().map(|case: &Case| case.label.clone()).collect();
        for (at, case) in cases.iter_mut().enumerate() {
            let earlier = labels[..at]
                .iter()
                .filter(|label| **label == case.label)
                .count();
            if earlier > 0 {
                case.label += &format!(" nr={}", earlier + 1);
            }
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
        let (number, origin) = match (text.drawn_by, key) {
            // The place of a drawn shape is the table that describes it.
            (Some(number), _) => (number, Origin::Drawn),
            (None, "held_out") => (number, Origin::HeldOut),
            (None, _) => (number, Origin::Workload),
        };
        let place = |e: KeyError| of_workload(key, number, e);
        let dims = self.extents(text).map_err(place)?;
        let held_out = self.is_untimed(origin, text.when);
        self.check_values(text).map_err(place)?;
        let planted = self.plantings(text, tensors).map_err(place)?;
        let workload = Workload {
            key,
            number,
            dims,
            origin,
            when: text.when,
            held_out,
            text,
            planted,
        };
        let types = self.case_types(text).map_err(place)?;
        types
            .into_iter()
            .map(|dtype| self.case(&workload, dtype, tensors, counts))
            .collect()
    }

    /// What a workload plants into each tensor.
    fn plantings(
        &self,
        text: &WorkloadText,
        tensors: &[ParsedTensor],
    ) -> Result<Vec<Planting>, KeyError> {
        let names: Vec<&str> = self.tensor.iter().map(|t| t.name.as_str()).collect();
        if let Some(unknown) = text
            .planted
            .keys()
            .find(|name| !names.contains(&name.as_str()))
        {
            let what = format!(
                "planted: '{unknown}' is not a tensor{}",
                suggest(unknown, &names)
            );
            return Err(KeyError::new(what)
                .within(unknown.as_str())
                .within("planted"));
        }
        let of = |(parsed, t): (&ParsedTensor, &TensorText)| match text.planted.get(&t.name) {
            Some(own) => self.planting(t, Some(own)).map_err(|e| {
                e.of(format_args!("'{}'", t.name))
                    .within(t.name.as_str())
                    .within("planted")
            }),
            None => Ok(parsed.planted.clone()),
        };
        tensors.iter().zip(&self.tensor).map(of).collect()
    }

    /// Whether a workload is only checked. What is timed lies in the device's memory all the time.
    /// Before a keep, drawn shapes and the workloads that the run did not judge are checked one
    /// after the other: there may be too many for that.
    fn is_untimed(&self, origin: Origin, when: When) -> bool {
        match origin {
            Origin::HeldOut | Origin::Drawn => true,
            Origin::Workload => self.drawn.is_some() && when > self.timed,
        }
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
                let text = drawn_workload(drawn, dims, number);
                self.cases_of("keep", number, &text, tensors, counts)?;
            }
        }
        Ok(())
    }

    /// Adds drawn shapes, if `[[keep]]` says how to draw them.
    pub(super) fn held_out(mut self, check: KeepCheck) -> Self {
        let mut rng = drawn_shapes::rng(check.seed);
        let shown = self.workload.iter().chain(&self.held_out);
        let mut shown: Vec<Extents> = shown.map(|workload| workload.dims.clone()).collect();
        let mut workloads = Vec::new();
        for (number, drawn) in self.keep.iter().enumerate() {
            let before = shown.len();
            drawn.draw(&mut shown, &mut rng);
            workloads.extend(
                shown[before..]
                    .iter()
                    .map(|dims| drawn_workload(drawn, dims.clone(), number)),
            );
        }
        self.drawn = Some(workloads);
        self.timed = check.timed;
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
                KeyError::new(format!(
                    "{name} = {n}: an extent must be from 1 to 2147483647"
                ))
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
            return Ok(if self.types.is_empty() {
                vec![None]
            } else {
                all.collect()
            });
        };
        match chosen.iter().position(|d| !self.types.contains(d)) {
            Some(i) => {
                let what = format!("types: {} is not one of the problem's types", chosen[i]);
                Err(KeyError::new(what).within(i).within("types"))
            }
            None if chosen.is_empty() => {
                Err(KeyError::new("types: name at least one").within("types"))
            }
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
        let variables = Variables {
            names: &names,
            look_up: &look_up,
        };
        let mut shaped = Vec::new();
        for (i, tensor) in tensors.iter().enumerate() {
            let of = &tensor.tensor.name;
            let extent = |(at, e): (usize, &Expression)| {
                let wrong = |e| {
                    let what = format!("{name}: shape of '{of}': {e}");
                    KeyError::new(what)
                        .within(at)
                        .within("shape")
                        .within(i)
                        .within("tensor")
                };
                e.extent(look_up).map_err(wrong)
            };
            let shape: Vec<usize> = tensor
                .shape
                .iter()
                .enumerate()
                .map(extent)
                .collect::<Result<_, _>>()?;
            let cells = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
            if cells.is_none_or(|n| n > MAX_CELLS) {
                let what = format!("'{of}' has more than {MAX_CELLS} cells");
                return Err(workload.error(KeyError::new(what).within("dims")));
            }
            let fixed = tensor.dtype.fixed().or(dtype);
            let dtype = fixed.ok_or_else(|| format!("'{of}' has type T, which is unknown here"))?;
            let tolerance = self
                .tolerance_of(i, dtype, &variables)
                .map_err(|e| e.of(&name))?;
            let filled = Filled {
                dtype,
                shape: &shape,
                variables,
                files: &self.files,
            };
            let values = self
                .values_of(i, workload, &filled)
                .map_err(|e| e.of(&name))?;
            let planted = workload.planted[i].clone();
            shaped.push(CaseTensor {
                dtype,
                shape,
                tolerance,
                values,
                planted,
            });
        }
        let scalars = self.scalars_of(&variables).map_err(|e| e.of(&name))?;
        let moved = |(tensor, shaped): (&ParsedTensor, &CaseTensor)| {
            shaped.bytes() as f64
                * if tensor.tensor.role == TensorRole::Inout {
                    2.0
                } else {
                    1.0
                }
        };
        let value = |key: &str, expression: &Expression| {
            expression
                .value(look_up)
                .map_err(|e| KeyError::new(format!("{name}: {key}: {e}")))
        };
        let count = |key: &str, expression: &Option<Expression>| {
            let Some(expression) = expression else {
                return Ok(None);
            };
            match value(key, expression) {
                Ok(count) if count < 0.0 => Err(KeyError::new(format!(
                    "{name}: {key} is {count}: it must not be negative"
                ))),
                counted => counted.map(Some),
            }
            .map_err(|e| e.within(key))
        };
        let bytes = count("bytes", &counts.bytes)?;
        let bytes = bytes.unwrap_or_else(|| tensors.iter().zip(&shaped).map(moved).sum());
        let flops = count("flops", &counts.flops)?;
        let samples = match value("objective.samples", &counts.samples) {
            Ok(samples) if samples <= 0.0 => Err(KeyError::new(format!(
                "{name}: objective.samples is {samples}: it must be above 0"
            ))),
            counted => counted,
        };
        let samples = samples.map_err(|e| e.within("samples").within("objective"))?;
        let needed = match self.objective.measure {
            Figure::Tflops => Some(("flops", flops.unwrap_or(0.0))),
            Figure::Gbps => Some(("bytes", bytes)),
            Figure::Samples | Figure::Time => None,
        };
        if let Some((key, _)) = needed.filter(|(_, amount)| *amount <= 0.0) {
            let what = format!(
                "{name}: {key} is 0, so that it has no rate: objective.measure needs more than 0"
            );
            return Err(KeyError::new(what).within(key));
        }
        let label: Vec<String> = words(&self.dims, dims)
            .into_iter()
            .chain(dtype.map(|d| format!("T={d}")))
            .collect();
        Ok(Case {
            label: label.join(" "),
            table: (workload.key, workload.number),
            entry: self.entry.replace("{T}", dtype.map_or("", Dtype::word)),
            dims: dims.clone(),
            tensors: shaped,
            scalars,
            held_out: workload.held_out,
            when: workload.when,
            origin: workload.origin,
            amounts: Amounts {
                samples,
                bytes,
                flops,
            },
        })
    }
}

/// A shape that `[[keep]]` gave, as a workload.
fn drawn_workload(drawn: &DrawnShapes, dims: Extents, number: usize) -> WorkloadText {
    WorkloadText {
        dims,
        types: drawn.types.clone(),
        when: When::Keep,
        values: drawn.values.clone(),
        planted: drawn.planted.clone(),
        drawn_by: Some(number),
    }
}
