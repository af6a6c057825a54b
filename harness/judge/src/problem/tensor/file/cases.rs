//! The cases of a problem.toml: each workload in each of its types, with every expression
//! evaluated.

use super::super::drawn_shapes::{self, DrawnShapes, Extents};
use super::super::input_sets::share_window_sets;
use super::super::number::Variables;
use super::super::objective::{Amounts, Figure};
use super::super::pictured::Pictured;
use super::super::planted::Planting;
use super::super::spec::{Case, CaseTensor, TensorRole};
use super::super::turn::Turn;
use super::super::values_text::Filled;
use super::text::{ExtentText, ProblemFile, TensorText, WorkloadText};
use super::{KeepCheck, in_samples};
use crate::dtype::Dtype;
use crate::problem::key_error::{InKey, KeyError, Result, wrong};
use itertools::Itertools as _;
use lab_protocol::When;
use lab_source::expression::Expression;
use lab_source::suggest::suggest;
use std::sync::Arc;

/// Most cells of a tensor: 4 GiB in f32. A larger one takes unreasonably long to pass through the
/// lab.
const MAX_CELLS: usize = 1 << 30;

/// A workload of the file, a held-out one, or a shape that `[[keep]]` draws.
pub(super) struct Workload<'a> {
    /// The array of tables that states it, and its number there, from 0. For a drawn shape, this is
    /// the table that describes it.
    pub table: (&'static str, usize),
    pub text: &'a WorkloadText,
    dims: Vec<(String, i32)>,
    /// What is planted into each tensor.
    pub planted: Vec<Planting>,
}

impl Workload<'_> {
    /// As in `workload 2 (rows=3 cols=5)`.
    fn name(&self) -> String {
        let (key, number) = self.table;
        format!("{key} {} ({})", number + 1, self.words().join(" "))
    }

    /// As in `rows=3`, `cols=5`.
    fn words(&self) -> Vec<String> {
        let word = |(name, n): &(String, i32)| format!("{name}={n}");
        self.dims.iter().map(word).collect()
    }
}

/// A result whose error is one of a workload's own keys.
pub(super) fn of_workload<T>(
    (key, number): (&'static str, usize),
    checked: Result<T>,
) -> Result<T> {
    let checked = checked.of(format_args!("{key} {}", number + 1));
    checked.item(key, number)
}

impl ProblemFile {
    /// Draws the shapes of `[[keep]]`.
    pub(super) fn draw_shapes(&mut self, check: KeepCheck) {
        let mut rng = drawn_shapes::rng(check.seed);
        let shown = self.workload.iter().chain(&self.held_out);
        let mut shown = shown.map(|workload| workload.dims.clone()).collect_vec();
        let mut workloads = Vec::new();
        for (number, drawn) in self.keep.iter().enumerate() {
            let before = shown.len();
            drawn.draw(&mut shown, &mut rng);
            let new = shown[before..].iter();
            workloads.extend(new.map(|dims| (number, drawn_workload(drawn, dims.clone()))));
        }
        self.drawn = Some(workloads);
        self.timed = check.timed;
    }

    /// The workload's extents, in the order of `dims`.
    fn extents(&self, workload: &WorkloadText) -> Result<Vec<(String, i32)>> {
        for (key, extents) in [("dims", &workload.dims), ("cpu", &workload.cpu)] {
            if let Some(unknown) = extents.keys().find(|name| !self.dims.contains(name)) {
                let hint = suggest(unknown, &self.dims);
                let what = format!("'{unknown}' is not a dimension{hint}");
                return wrong(unknown.as_str(), what).within(key);
            }
        }
        // A dimension that no shape names may be 0, as a switch.
        let least = |name: &str| i32::from(self.is_in_a_shape(name));

        let extent = |name: &String| match workload.dims.get(name) {
            None => wrong("dims", format!("dimension '{name}' is missing")),
            Some(n) => match i32::try_from(*n) {
                Ok(extent) if extent >= least(name) => Ok((name.clone(), extent)),
                _ => {
                    let from = least(name);
                    let what = format!("{name} = {n}: an extent must be from {from} to 2147483647");
                    wrong(name.as_str(), what).within("dims")
                }
            },
        };
        self.dims.iter().map(extent).collect()
    }

    /// The types that a workload runs in; `None` stands for a problem without a type parameter.
    fn case_types(&self, workload: &WorkloadText) -> Result<Vec<Option<Dtype>>> {
        let chosen = match &workload.types {
            None if self.types.is_empty() => return Ok(vec![None]),
            None => &self.types,
            Some(chosen) => chosen,
        };
        if let Some(i) = chosen.iter().position(|d| !self.types.contains(d)) {
            let what = format!("types: {} is not one of the problem's types", chosen[i]);
            return Err(KeyError::new(what).item("types", i));
        }
        if chosen.is_empty() {
            return wrong("types", "types: name at least one");
        }
        Ok(chosen.iter().copied().map(Some).collect())
    }

    /// Whether a workload is only checked. Timed cases stay in the device's memory during the run.
    /// Before a keep, drawn shapes and the workloads that the run did not judge are checked one
    /// after the other: there may be too many for that.
    fn is_untimed(&self, workload: &Workload) -> bool {
        match workload.table.0 {
            "workload" => self.drawn.is_some() && workload.text.when > self.timed,
            _ => true,
        }
    }

    /// The cases of all workloads, and those with extents that no workload has; and the dimensions for
    /// which there are none of these.
    pub(super) fn cases(&self) -> Result<(Vec<Arc<Case>>, Vec<String>)> {
        let workloads = &self.workload;
        if workloads.is_empty() {
            return wrong("workload", "workload: add at least one");
        }
        if workloads.iter().all(|workload| workload.when != When::Save) {
            let what = "workload: none is judged on a save: give at least one of them when = \"save\", or no `when`";
            return wrong("when", what).item("workload", 0);
        }
        let drawn = self.drawn.iter().flatten();
        let drawn = drawn.map(|(number, text)| (("keep", *number), text));
        let stated = [("workload", workloads), ("held_out", &self.held_out)];
        let stated = stated
            .into_iter()
            .flat_map(|(key, texts)| texts.iter().map(move |text| ((key, text.number), text)));
        let mut cases: Vec<Case> = Vec::new();
        for (table, text) in drawn.chain(stated) {
            cases.extend(self.cases_of(table, text)?);
        }
        self.check_multiples(&cases)?;
        let (ragged, not_ragged) = self.ragged(&cases);
        cases.extend(ragged);
        // Workloads of the same dimensions may differ in what they hold. Each has a name of its
        // own.
        let labels = cases.iter().map(|case| case.label.clone()).collect_vec();
        share_window_sets(&mut cases, self.results);
        let pictured: Vec<Arc<Pictured>> = self.tensor.iter().map(|_| Arc::default()).collect();
        for (at, case) in cases.iter_mut().enumerate() {
            case.index = at;
            for (tensor, pictured) in case.tensors.iter_mut().zip(&pictured) {
                tensor.pictured = Arc::clone(pictured);
            }
            let same = |label: &&String| **label == labels[at];
            let earlier = labels[..at].iter().filter(same).count();
            if earlier > 0 {
                case.label += &format!(" nr={}", earlier + 1);
            }
        }
        Ok((cases.into_iter().map(Arc::new).collect(), not_ragged))
    }

    /// The cases of a workload that has other extents on the cpu device.
    fn cases_by_device(
        &self,
        table: (&'static str, usize),
        text: &WorkloadText,
    ) -> Result<Vec<Case>> {
        of_workload(table, self.extents(text))?;
        let mut cases = Vec::new();
        for emulated in [false, true] {
            let mut own = text.clone();
            let cpu = std::mem::take(&mut own.cpu);
            if emulated {
                own.dims.extend(cpu);
            }
            for case in self.cases_of(table, &own)? {
                let only_emulated = Some(emulated);
                cases.push(Case {
                    only_emulated,
                    ..case
                });
            }
        }
        Ok(cases)
    }

    /// The cases of the tables `[[check]]`.
    pub(super) fn cases_of_check(&self) -> Result<Vec<Arc<Case>>> {
        let mut cases = Vec::new();
        for text in &self.check {
            let of_table = self.cases_of(("check", text.number), text)?;
            cases.extend(of_table.into_iter().map(Arc::new));
        }
        Ok(cases)
    }

    /// The cases of a workload, one for each of its types.
    pub(super) fn cases_of(
        &self,
        table: (&'static str, usize),
        text: &WorkloadText,
    ) -> Result<Vec<Case>> {
        if !text.cpu.is_empty() {
            return self.cases_by_device(table, text);
        }
        let dims = of_workload(table, self.extents(text))?;
        of_workload(table, self.check_values(text))?;
        of_workload(table, self.check_uses(text))?;
        of_workload(table, self.check_stated_scalars(text))?;
        let workload = Workload {
            table,
            text,
            dims,
            planted: of_workload(table, self.plantings(text))?,
        };
        let types = of_workload(table, self.case_types(text))?.into_iter();
        types.map(|dtype| self.case(&workload, dtype)).collect()
    }

    /// What a workload plants into each tensor.
    fn plantings(&self, text: &WorkloadText) -> Result<Vec<Planting>> {
        self.check_tensor_names("planted", text.planted.keys())?;
        let of = |t: &TensorText| {
            let name = t.name.as_str();
            let own = text.planted.get(name);
            let planting = self.planting(t, own.or(t.planted.as_ref()));
            let planting = planting.of(format_args!("'{name}'"));
            planting.within(name).within("planted")
        };
        self.tensor.iter().map(of).collect()
    }

    /// Checks that every shape which `[[keep]]` can draw makes sense as a workload. Returns the
    /// cases of the smallest and largest shapes.
    pub(super) fn check_drawn(&self) -> Result<Vec<Arc<Case>>> {
        let mut cases = Vec::new();
        for (number, drawn) in self.keep.iter().enumerate() {
            of_workload(("keep", number), drawn.check())?;
            for dims in drawn.ends() {
                let drawn = drawn_workload(drawn, dims);
                let drawn = self.cases_of(("keep", number), &drawn)?;
                self.check_multiples(&drawn)?;
                cases.extend(drawn.into_iter().map(Arc::new));
            }
        }
        Ok(cases)
    }

    fn case(&self, workload: &Workload, dtype: Option<Dtype>) -> Result<Case> {
        let name = workload.name();
        let dims = &workload.dims;
        let look_up = |name: &str| match dims.iter().find(|(dim, _)| dim == name) {
            Some((_, extent)) => f64::from(*extent),
            None => dtype.map_or(f64::NAN, |d| d.size() as f64),
        };
        let variables = Variables {
            names: &self.names(),
            look_up: &look_up,
        };
        let tensor = |i| self.case_tensor(i, workload, dtype, variables);
        let tensors = (0..self.tensor.len()).map(tensor);
        let tensors: Vec<CaseTensor> = tensors.collect::<Result<_, _>>()?;
        let scalars = self.scalars_of(workload, &variables).of(&name)?;
        let amounts = self.amounts(&tensors, &variables).of(&name)?;
        let mut label = workload.words();
        label.extend(dtype.map(|d| format!("T={d}")));
        Ok(Case {
            turn: Turn::default(),
            index: 0,
            label: label.join(" "),
            table: workload.table,
            entry: self.entry.replace("{T}", dtype.map_or("", Dtype::word)),
            dims: dims.clone(),
            tensors,
            scalars,
            held_out: self.is_untimed(workload),
            when: workload.text.when,
            amounts,
            steps: self.steps,
            sets: workload.text.sets,
            window_sets: 0,
            timed: 0,
            only_emulated: None,
            accepts: self.accept.clone(),
            hint: None,
            has_struct: self.scalar_struct.is_some(),
        })
    }

    /// Tensor `i` in a workload.
    fn case_tensor(
        &self,
        i: usize,
        workload: &Workload,
        dtype: Option<Dtype>,
        variables: Variables,
    ) -> Result<CaseTensor> {
        let (tensor, name) = (&self.tensor[i], workload.name());
        let of = &tensor.name;
        let extent = |(at, extent): (usize, &ExtentText)| {
            let parsed = Expression::parse(&extent.text(), variables.names);
            let extent = parsed.and_then(|parsed| parsed.extent(variables.look_up));
            let extent = extent.of(format_args!("{name}: shape of '{of}'"));
            extent.item("shape", at).item("tensor", i)
        };
        let shape = tensor.shape.iter().enumerate().map(extent);
        let shape: Vec<usize> = shape.collect::<Result<_, _>>()?;
        let cells = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        if cells.is_none_or(|n| n > MAX_CELLS) {
            let what = format!("'{of}' has more than {MAX_CELLS} cells");
            return of_workload(workload.table, wrong("dims", what));
        }
        let views = self.views_of(i, &shape, &variables).of(&name)?;
        let dtype = tensor.dtype.or(dtype);
        let dtype = dtype.ok_or_else(|| format!("'{of}' has type T, which is unknown here"))?;
        let tolerance = self.tolerance_of(i, dtype, &variables).of(&name)?;
        let filled = Filled {
            dtype,
            shape: &shape,
            variables,
            files: &self.files,
            tensors: &self.tensor_names(),
        };
        let values = self.values_of(i, workload, &filled).of(&name)?;
        let is_null = workload.text.null.contains(of);
        let can_be_planted = tensor.fixed_seed.is_none()
            && values
                .as_ref()
                .is_some_and(|values| values.forbids_planting().is_none());
        let planted = workload.planted[i].clone();
        let planted = Some(planted).filter(|planted| can_be_planted || !planted.by_default);
        let fixed = tensor.fixed_seed.zip(values.as_ref()).filter(|_| !is_null);
        let fixed = fixed.map(|(seed, values)| self.fixed.tensor(of, seed, values, dtype, &shape));
        Ok(CaseTensor {
            fixed,
            is_null,
            is_workspace: tensor.compare == Some(false),
            is_uncompared: workload.text.uncompared.contains(of),
            gates: tensor.gates.clone(),
            after: self.numbers_of(&tensor.after),
            name: of.clone(),
            role: tensor.role,
            dtype,
            shape,
            tolerance,
            values,
            planted: planted.unwrap_or_default(),
            views,
            pictured: Arc::default(),
        })
    }

    /// The samples, bytes and operations of a launch with these tensors.
    fn amounts(&self, tensors: &[CaseTensor], variables: &Variables) -> Result<Amounts> {
        let value = |text: &str| {
            let parsed = Expression::parse(text, variables.names);
            parsed.and_then(|parsed| parsed.value(variables.look_up))
        };
        let count = |key: &str, text: &Option<String>| {
            let counted = text.as_deref().map(value).transpose().key(key)?;
            match counted {
                Some(count) if count < 0.0 => {
                    let what = format!("{key} is {count}: it must not be negative");
                    wrong(key, what)
                }
                counted => Ok(counted),
            }
        };
        let moved = |tensor: &CaseTensor| {
            let times = if tensor.role == TensorRole::Inout {
                2.0
            } else {
                1.0
            };
            times * tensor.bytes() as f64
        };
        let bytes = count("bytes", &self.bytes)?;
        let bytes = bytes.unwrap_or_else(|| tensors.iter().map(moved).sum());
        let flops = count("flops", &self.flops)?;
        let samples = in_samples(value(self.samples()?))?;
        if samples <= 0.0 {
            let what = format!("objective.samples is {samples}: it must be above 0");
            return wrong("samples", what).within("objective");
        }
        let needed = match self.objective.measure {
            Figure::Tflops => Some(("flops", flops.unwrap_or(0.0))),
            Figure::Gbps => Some(("bytes", bytes)),
            Figure::Samples | Figure::Time => None,
        };
        if let Some((key, _)) = needed.filter(|(_, amount)| *amount <= 0.0) {
            let what =
                format!("{key} is 0, so that it has no rate: objective.measure needs more than 0");
            return wrong(key, what);
        }
        let dependent_steps = count("dependent_steps", &self.dependent_steps)?;
        Ok(Amounts {
            samples,
            bytes,
            flops,
            dependent_steps: dependent_steps.unwrap_or(0.0),
            exchanges: f64::from(self.exchanges.unwrap_or(0)),
        })
    }
}

/// A shape that `[[keep]]` gave, as a workload.
fn drawn_workload(drawn: &DrawnShapes, dims: Extents) -> WorkloadText {
    WorkloadText {
        dims,
        cpu: drawn.cpu.clone(),
        types: drawn.types.clone(),
        when: When::Keep,
        values: drawn.values.clone(),
        planted: drawn.planted.clone(),
        ..WorkloadText::default()
    }
}
