//! The cases of a problem.toml: each workload in each of its types, with every expression evaluated.

use super::super::drawn_shapes::{self, DrawnShapes, Extents};
use super::super::spec::{Case, CaseTensor, Origin, TensorRole};
use super::super::suggest::suggest;
use super::text::{ProblemFile, WorkloadText};
use super::{ParsedCounts, ParsedTensor};
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use lab_protocol::When;

/// Most cells of a tensor: 4 GiB in f32. A larger one takes unreasonably long to pass through the lab.
const MAX_CELLS: usize = 1 << 30;

impl ProblemFile {
    pub(super) fn cases(&self, tensors: &[ParsedTensor], counts: &ParsedCounts) -> Result<Vec<Case>, String> {
        if self.workload.is_empty() {
            return Err("workload: add at least one".into());
        }
        if self.workload.iter().all(|workload| workload.when != When::Save) {
            return Err(
                "workload: none is judged on a save: give at least one of them when = \"save\", or no `when`"
                    .into(),
            );
        }
        let mut cases = Vec::new();
        for (key, origin, workloads) in [
            ("keep", Origin::Drawn, self.drawn.as_deref().unwrap_or_default()),
            ("workload", Origin::Workload, &self.workload),
            ("held_out", Origin::HeldOut, &self.held_out),
        ] {
            for (number, workload) in (1..).zip(workloads) {
                let place = |e: String| format!("{key} {number}: {e}");
                let dims = self.extents(workload).map_err(place)?;
                for dtype in self.case_types(workload).map_err(place)? {
                    let case = self.case(&dims, dtype, workload, tensors, counts).map_err(place)?;
                    cases.push(Case { origin, held_out: self.is_untimed(origin, workload), ..case });
                }
            }
        }
        Ok(cases)
    }

    /// Whether a workload is only checked. Before a keep, drawn shapes stand in for the workloads, which are then checked one
    /// after the other, as those are that no save judges: there may be too many for the device's memory.
    fn is_untimed(&self, origin: Origin, workload: &WorkloadText) -> bool {
        match origin {
            Origin::HeldOut => true,
            Origin::Drawn => false,
            Origin::Workload => {
                self.drawn.as_ref().is_some_and(|drawn| !drawn.is_empty() || workload.when != When::Save)
            }
        }
    }

    /// Checks that every shape which `[[keep]]` can draw makes sense as a workload.
    pub(super) fn check_drawn(&self, tensors: &[ParsedTensor], counts: &ParsedCounts) -> Result<(), String> {
        for (number, drawn) in (1..).zip(&self.keep) {
            let place = |e: String| format!("keep {number}: {e}");
            drawn.error().map_or(Ok(()), Err).map_err(place)?;
            for dims in drawn.ends() {
                let workload = drawn_workload(drawn, dims);
                let dims = self.extents(&workload).map_err(place)?;
                for dtype in self.case_types(&workload).map_err(place)? {
                    self.case(&dims, dtype, &workload, tensors, counts).map_err(place)?;
                }
            }
        }
        Ok(())
    }

    /// Adds drawn shapes, if `[[keep]]` says how to draw them.
    pub(super) fn held_out(mut self, seed: u64) -> Self {
        let mut rng = drawn_shapes::rng(seed);
        let shown = self.workload.iter().chain(&self.held_out);
        let mut shown: Vec<Extents> = shown.map(|workload| workload.dims.clone()).collect();
        let mut workloads = Vec::new();
        for drawn in &self.keep {
            let before = shown.len();
            drawn.draw(&mut shown, &mut rng);
            workloads.extend(shown[before..].iter().map(|dims| drawn_workload(drawn, dims.clone())));
        }
        self.drawn = Some(workloads);
        self
    }

    /// The workload's extents, in the order of `dims`.
    fn extents(&self, workload: &WorkloadText) -> Result<Vec<i32>, String> {
        let names: Vec<&str> = self.dims.iter().map(String::as_str).collect();
        if let Some(unknown) = workload.dims.keys().find(|k| !names.contains(&k.as_str())) {
            return Err(format!("'{unknown}' is not a dimension{}", suggest(unknown, &names)));
        }
        let extent = |name: &String| match workload.dims.get(name) {
            None => Err(format!("dimension '{name}' is missing")),
            Some(n) => i32::try_from(*n)
                .ok()
                .filter(|n| *n >= 1)
                .ok_or_else(|| format!("{name} = {n}: an extent must be from 1 to 2147483647")),
        };
        self.dims.iter().map(extent).collect()
    }

    /// The types that a workload runs in; `None` stands for a problem without a type parameter.
    fn case_types(&self, workload: &WorkloadText) -> Result<Vec<Option<Dtype>>, String> {
        let Some(chosen) = &workload.types else {
            let all = self.types.iter().copied().map(Some);
            return Ok(if self.types.is_empty() { vec![None] } else { all.collect() });
        };
        match chosen.iter().find(|d| !self.types.contains(d)) {
            Some(unknown) => Err(format!("types: {unknown} is not one of the problem's types")),
            None => Ok(chosen.iter().copied().map(Some).collect()),
        }
    }

    fn case(
        &self,
        dims: &[i32],
        dtype: Option<Dtype>,
        workload: &WorkloadText,
        tensors: &[ParsedTensor],
        counts: &ParsedCounts,
    ) -> Result<Case, String> {
        let look_up = |name: &str| match self.dims.iter().position(|d| d == name) {
            Some(i) => f64::from(dims[i]),
            None => dtype.map_or(f64::NAN, |d| d.size() as f64),
        };
        let mut shaped = Vec::new();
        for tensor in tensors {
            let shape: Result<Vec<usize>, String> = tensor.shape.iter().map(|e| e.extent(look_up)).collect();
            let shape = shape.map_err(|e| format!("shape of '{}': {e}", tensor.tensor.name))?;
            let cells = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
            if cells.is_none_or(|n| n > MAX_CELLS) {
                return Err(format!("'{}' has more than {MAX_CELLS} cells", tensor.tensor.name));
            }
            let fixed = tensor.dtype.fixed().or(dtype);
            let dtype =
                fixed.ok_or_else(|| format!("'{}' has type T, which is unknown here", tensor.tensor.name))?;
            shaped.push(CaseTensor { dtype, shape, tolerance: self.tolerance_of(dtype) });
        }
        let moved = |(tensor, shaped): (&ParsedTensor, &CaseTensor)| {
            shaped.bytes() as f64 * if tensor.tensor.role == TensorRole::Inout { 2.0 } else { 1.0 }
        };
        let bytes = match &counts.bytes {
            Some(expression) => expression.value(look_up).map_err(|e| format!("bytes: {e}"))?,
            None => tensors.iter().zip(&shaped).map(moved).sum(),
        };
        let flops = counts.flops.as_ref().map(|e| e.value(look_up)).transpose();
        let samples = counts.samples.value(look_up).map_err(|e| format!("objective.samples: {e}"))?;
        if samples <= 0.0 {
            return Err(format!("objective.samples is {samples}: it must be above 0"));
        }
        let words = self.dims.iter().zip(dims).map(|(name, n)| format!("{name}={n}"));
        let words: Vec<String> = words.chain(dtype.map(|d| format!("T={d}"))).collect();
        Ok(Case {
            label: words.join(" "),
            entry: self.entry.replace("{T}", dtype.map_or("", Dtype::word)),
            dims: dims.to_vec(),
            tensors: shaped,
            held_out: false,
            when: workload.when,
            origin: Origin::Workload,
            samples,
            bytes,
            flops: flops.map_err(|e| format!("flops: {e}"))?,
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

/// A shape that `[[keep]]` gave, as a workload.
fn drawn_workload(drawn: &DrawnShapes, dims: Extents) -> WorkloadText {
    WorkloadText { dims, types: drawn.types.clone(), when: When::Keep }
}
