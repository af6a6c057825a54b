//! Extents that no workload has. If all workloads have a multiple of some number as an extent, a kernel
//! may rely on it and forget the rest behind the last whole tile. So each such dimension is also checked
//! at an extent next to a multiple, in a small case that is never timed.

use super::super::planted::Planting;
use super::super::spec::Case;
use super::cases::of_workload;
use super::text::{ExtentText, ProblemFile, WorkloadText};
use crate::problem::key_error::{InKey, Result, wrong};
use lab_protocol::When;
use lab_source::suggest::suggest;

/// The name of these cases' table, which no problem.toml has.
const RAGGED: &str = "ragged";

/// Most cells of such a case.
const MOST_CELLS: usize = 1 << 17;

/// A dimension that is tried, and the number that all workloads have multiples of.
struct Divisible<'a> {
    dim: &'a str,
    by: i32,
}

impl ProblemFile {
    /// Checks the key `multiple_of`.
    pub(super) fn check_multiples(&self, cases: &[Case]) -> Result {
        for (dim, by) in &self.multiple_of {
            if !self.dims.contains(dim) || *by < 1 {
                let hint = if self.dims.contains(dim) {
                    ": it must be at least 1".to_owned()
                } else {
                    suggest(dim, &self.dims)
                };
                let what = format!("multiple_of: {dim} = {by} is a dimension and a number{hint}");
                return wrong(dim.as_str(), what).within("multiple_of");
            }
            for case in cases {
                let extent = case.extent(dim);
                if extent % by != 0 {
                    let what = format!(
                        "{dim} = {extent} is not a multiple of {by}, which multiple_of states"
                    );
                    return of_workload(case.table, wrong("dims", what));
                }
            }
        }
        Ok(())
    }

    /// The cases with an extent that no workload has, and the dimensions for which there is no small one.
    pub(super) fn ragged(&self, cases: &[Case]) -> (Vec<Case>, Vec<String>) {
        let tried = self.divisible(cases);
        let (mut ragged, mut left_out) = (Vec::new(), Vec::new());
        let base = self.small_workload();
        for divisible in tried {
            let found = base.iter().flat_map(|base| self.beside(base, &divisible));
            let found: Vec<Case> = found.collect();
            if found.is_empty() {
                left_out.push(divisible.dim.to_owned());
            }
            ragged.extend(found);
        }
        (ragged, left_out)
    }

    /// What an extent of a dimension may be a multiple of, by its name.
    fn step_of(&self, dim: &str) -> i32 {
        self.multiple_of.get(dim).copied().unwrap_or(1)
    }

    /// The dimensions whose extents on a save are even multiples of what problem.toml states: kernels
    /// have tiles and vectors of even lengths. A build knows the extent of one with a macro.
    fn divisible(&self, cases: &[Case]) -> Vec<Divisible<'_>> {
        if self.ragged == Some(false) {
            return Vec::new();
        }
        let saved = cases
            .iter()
            .filter(|case| case.when == When::Save && case.table.0 != "keep");
        let by = |dim: &str| saved.clone().map(|case| case.extent(dim)).fold(0, divisor);
        let dims = self.dims.iter().filter(|dim| self.is_free(dim));
        let all = dims.map(|dim| Divisible { dim, by: by(dim) });
        let is_even = |found: &Divisible| found.by / self.step_of(found.dim) % 2 == 0;
        all.filter(is_even).collect()
    }

    /// Whether a dimension is an extent of a tensor that may differ between workloads.
    fn is_free(&self, dim: &str) -> bool {
        self.is_in_a_shape(dim) && !self.macros.values().any(|of| of == dim)
    }

    /// Whether the shape of a tensor names this dimension.
    pub(super) fn is_in_a_shape(&self, dim: &str) -> bool {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let names = |text: &str| text.split(|c| !is_word(c)).any(|word| word == dim);
        let shapes = self.tensor.iter().flat_map(|tensor| &tensor.shape);
        shapes.map(ExtentText::text).any(|text| names(&text))
    }

    /// A small workload that the reference computes: the smallest one of a save, with halved extents if
    /// it is large.
    fn small_workload(&self) -> Option<WorkloadText> {
        let saved = self.workload.iter().chain(&self.held_out);
        let saved = saved.filter(|workload| workload.when == When::Save);
        let on_cpu = saved.map(|workload| {
            let mut own = workload.clone();
            own.dims.append(&mut own.cpu);
            own
        });
        let mut base =
            on_cpu.min_by_key(|workload| self.cells_of(workload).unwrap_or(usize::MAX))?;
        while self.cells_of(&base)? > MOST_CELLS {
            let extents = base.dims.iter_mut().filter(|(dim, _)| self.is_free(dim));
            let (dim, extent) = extents.max_by_key(|(_, extent)| **extent)?;
            let step = i64::from(self.step_of(dim));
            let half = (*extent / 2 / step * step).max(step);
            if half == *extent {
                return None;
            }
            *extent = half;
        }
        Some(base)
    }

    /// The cells of the largest case of a workload; `None` if the problem has no such workload.
    fn cells_of(&self, workload: &WorkloadText) -> Option<usize> {
        let cases = self.cases_of((RAGGED, 0), workload).ok()?;
        cases.iter().map(Case::cells).max()
    }

    /// The cases with one step more and one step less in a dimension, as far as the problem has such.
    fn beside(&self, base: &WorkloadText, divisible: &Divisible) -> Vec<Case> {
        let Divisible { dim, by } = divisible;
        let step = self.step_of(dim);
        let mut all = Vec::new();
        for change in [-step, step] {
            let mut workload = base.clone();
            workload.sets = Some(1);
            if let Some(extent) = workload.dims.get_mut(*dim) {
                *extent += i64::from(change);
            }
            all.extend(self.cases_of((RAGGED, 0), &workload).unwrap_or_default());
        }
        for case in &mut all {
            for tensor in &mut case.tensors {
                tensor.planted = Planting::default();
            }
            case.hint = Some(format!(
                "{dim} is a multiple of {by} in all workloads, and this checks another {dim}: if the kernel may rely on that, \
                 say multiple_of = {{ {dim} = {by} }} in problem.toml"
            ));
        }
        all
    }
}

/// The greatest common divisor.
fn divisor(a: i32, b: i32) -> i32 {
    match b {
        0 => a,
        b => divisor(b, a % b),
    }
}
