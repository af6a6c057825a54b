//! The problem for kernels that are launched one after the other: what several of them take is one
//! tensor, one scalar or one dimension.

use super::kernel::{Kernel, Unfit};
use super::plan::{Plan, Tensor};
use super::roles::Role;
use super::unit::Unit;
use crate::names::Names;

/// A launch of the list: its kernel, and what the problem for it alone is.
pub struct Stage {
    pub kernel: Kernel,
    pub plan: Plan,
}

/// Reads the kernels with these names, in the order of their launches.
pub fn stages(unit: &Unit, kernels: &[String]) -> Result<Vec<Stage>, Unfit> {
    let mut names = Names::default();
    let each = kernels.iter().map(|name| {
        let kernel = Kernel::read(unit, name, kernels.len() > 1)?;
        let plan = Plan::of(unit, &kernel, &mut names);
        Ok(Stage { kernel, plan })
    });
    each.collect()
}

/// The problem for all of them. Their launch statements stay with them.
pub fn merged(stages: &[Stage]) -> Plan {
    let mut plans = stages.iter().map(|stage| &stage.plan);
    let mut whole = plans.next().cloned().unwrap_or_default();
    // The tensors that the last launch that takes them only reads.
    let mut is_read_last: Vec<bool> = whole.tensors.iter().map(|t| t.role == Role::In).collect();
    for plan in plans {
        for tensor in &plan.tensors {
            let is_read = tensor.role == Role::In;
            match whole.tensors.iter().position(|t| t.name == tensor.name) {
                Some(at) => {
                    then(&mut whole.tensors[at], tensor);
                    is_read_last[at] = is_read;
                }
                None => {
                    whole.tensors.push(tensor.clone());
                    is_read_last.push(is_read);
                }
            }
        }
        for dim in &plan.dims {
            match whole.dims.iter_mut().find(|known| known.name == dim.name) {
                Some(known) => known.fixed = known.fixed.or(dim.fixed),
                None => whole.dims.push(dim.clone()),
            }
        }
        for scalar in &plan.scalars {
            if !whole.scalars.iter().any(|known| known.name == scalar.name) {
                whole.scalars.push(scalar.clone());
            }
        }
    }
    let dims = &whole.dims;
    let is_dim = |name: &str| dims.iter().any(|dim| dim.name == name);
    whole.scalars.retain(|scalar| !is_dim(&scalar.name));
    let between = whole.tensors.iter_mut().zip(is_read_last);
    between.for_each(|(tensor, is_read)| {
        tensor.is_between = tensor.role == Role::Out && is_read;
    });
    if !whole.tensors.iter().any(Tensor::is_result)
        && let Some(last) = whole.tensors.iter_mut().rev().find(|t| t.is_between)
    {
        last.is_between = false;
    }
    whole
}

/// What a tensor is after a later kernel has had it too.
fn then(known: &mut Tensor, later: &Tensor) {
    if known.role == Role::In && later.role != Role::In {
        known.role = Role::InOut;
    }
    known.is_const &= later.is_const;
    if known.is_guess && !later.is_guess {
        known.shape.clone_from(&later.shape);
        known.is_guess = false;
    }
}
