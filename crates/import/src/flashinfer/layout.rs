//! In which order a problem has the axes, inputs and outputs of a definition, and which axes are
//! numbers: a kernel in CUDA C++ says so by its parameters.

use super::definition::{Definition, NUMBER, Named};
use crate::cuda::{EntryParameter, What};

/// The order of the parameters of the function that `lab` calls.
pub struct Layout<'d> {
    /// The dimensions: the name in problem.toml, and that in the definition.
    pub axes: Vec<(String, &'d str)>,
    pub tensors: Vec<(Named<'d>, &'static str)>,
    pub scalars: Vec<(Named<'d>, Option<String>)>,
}

impl<'d> Layout<'d> {
    /// The order of the definition, for Python, which knows parameters by their names.
    pub fn of(
        axes: Vec<(String, &'d str)>,
        inputs: Vec<Named<'d>>,
        outputs: Vec<Named<'d>>,
    ) -> Layout<'d> {
        let (scalars, inputs): (Vec<Named>, Vec<Named>) = inputs
            .into_iter()
            .partition(|named| named.tensor.shape.is_none());
        let inputs = inputs.into_iter().map(|named| (named, "in"));
        let outputs = outputs.into_iter().map(|named| (named, "out"));
        Layout {
            axes,
            tensors: inputs.chain(outputs).collect(),
            scalars: scalars.into_iter().map(|named| (named, None)).collect(),
        }
    }

    /// Puts everything into the order of a kernel's parameters. The error says what of the
    /// kernel, or of the definition, has no counterpart. Returns the names of the dimensions in the
    /// kernel's launch statement, each with that in the definition.
    pub fn fit(
        &mut self,
        definition: &'d Definition,
        parameters: &[EntryParameter],
    ) -> Result<Vec<(String, String)>, String> {
        let mut renamed = Vec::new();
        let (mut axes, mut tensors, mut scalars) = (Vec::new(), Vec::new(), Vec::new());
        for EntryParameter { name, what } in parameters {
            match *what {
                What::Tensor(kind, is_input) => {
                    tensors.push(self.take_tensor(name, kind, is_input, parameters)?);
                }
                What::Scalar(kind) => scalars.push(self.take_scalar(definition, name, kind)?),
                What::Dim => {
                    let at = self.axes.iter().position(|(_, axis)| is_like(axis, name));
                    let at =
                        at.ok_or_else(|| format!("its parameter {name} has the name of no axis"))?;
                    let axis = self.axes.remove(at);
                    renamed.push((name.clone(), axis.0.clone()));
                    axes.push(axis);
                }
            }
        }
        let left = self.tensors.first().map(|(named, _)| named.published);
        if let Some(left) = left.or(self.scalars.first().map(|(named, _)| named.published)) {
            return Err(format!("it has no parameter for {left}"));
        }
        let size = |axis: &str| definition.axis(axis).and_then(|axis| axis.value);
        if let Some((_, free)) = self.axes.iter().find(|(_, axis)| size(axis).is_none()) {
            return Err(format!("it has no parameter for the axis {free}"));
        }
        self.axes = axes;
        self.tensors = tensors;
        self.scalars = scalars;
        Ok(renamed)
    }

    /// The tensor of this name; or the next one that goes the same way and has the same type, if
    /// the kernel has as many tensors as the definition.
    fn take_tensor(
        &mut self,
        name: &str,
        kind: &str,
        is_input: bool,
        parameters: &[EntryParameter],
    ) -> Result<(Named<'d>, &'static str), String> {
        let count = parameters
            .iter()
            .filter(|parameter| matches!(parameter.what, What::Tensor(..)))
            .count();
        let taken = parameters
            .iter()
            .take_while(|parameter| parameter.name != name)
            .count();
        let by_name = self
            .tensors
            .iter()
            .position(|(named, _)| is_like(named.published, name));
        let in_order = || {
            let role = if is_input { "in" } else { "out" };
            let is_next = |(named, of): &(Named, &str)| *of == role && named.kind == kind;
            let is_complete = self.tensors.len() + taken == count;
            self.tensors
                .iter()
                .position(is_next)
                .filter(|_| is_complete)
        };
        let at = by_name.or_else(in_order);
        let at = at.ok_or_else(|| format!("its parameter {name} has the name of no tensor"))?;
        let (named, role) = self.tensors.remove(at);
        if named.kind != kind {
            return Err(format!(
                "its parameter {name} is {kind}, and {} is {}",
                named.published, named.kind
            ));
        }
        Ok((named, role))
    }

    /// The scalar of this name; or an axis with one extent, whose value the kernel gets as a number.
    fn take_scalar(
        &mut self,
        definition: &'d Definition,
        name: &str,
        kind: &'static str,
    ) -> Result<(Named<'d>, Option<String>), String> {
        let found = self
            .scalars
            .iter()
            .position(|(named, _)| is_like(named.published, name));
        if let Some(at) = found {
            let (mut named, value) = self.scalars.remove(at);
            named.kind = kind;
            return Ok((named, value));
        }
        let axis = self.axes.iter().position(|(_, axis)| is_like(axis, name));
        let value = axis.and_then(|at| definition.axis(self.axes[at].1)?.value);
        let (Some(at), Some(value)) = (axis, value) else {
            return Err(format!(
                "its parameter {name} has the name of no input and of no axis with one extent"
            ));
        };
        let (name, published) = self.axes[at].clone();
        let named = Named {
            name: format!("{name}_"),
            published,
            tensor: &NUMBER,
            kind,
        };
        Ok((named, Some(value.to_string())))
    }
}

/// Whether a parameter of a kernel is called as a tensor or an axis is, but for capitals, `_` and
/// endings as `_ptr`.
fn is_like(published: &str, parameter: &str) -> bool {
    let plain = |name: &str| {
        let name = name.to_lowercase();
        let name = name.trim_start_matches("d_");
        let name = name.strip_suffix("_ptr").unwrap_or(name);
        name.replace('_', "")
    };
    plain(published) == plain(parameter)
}
