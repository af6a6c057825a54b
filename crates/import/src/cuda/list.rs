//! The problem for kernels that are launched one after the other: what several of them take is one
//! tensor, one scalar or one dimension.

use super::kernel::{Kernel, Kind, Unfit};
use super::plan::{Plan, Tensor};
use super::roles::Role;
use super::statement::Shared;
use super::unit::Unit;
use crate::names::Names;
use std::collections::BTreeSet;

/// A launch of the list: its kernel, and what the problem for it alone is.
pub struct Stage {
    pub kernel: Kernel,
    pub plan: Plan,
}

/// Reads the kernels with these names, in the order of their launches.
pub fn stages(unit: &Unit, kernels: &[String]) -> Result<Vec<Stage>, Unfit> {
    let is_in_list = kernels.len() > 1;
    let each = kernels.iter();
    let each = each.map(|name| Kernel::read(unit, name, is_in_list));
    let kernels = each.collect::<Result<Vec<Kernel>, Unfit>>()?;
    let shared = match is_in_list {
        true => shared(unit, &kernels),
        false => Shared::default(),
    };
    let mut names = Names::default();
    let each = kernels.into_iter().map(|kernel| Stage {
        plan: Plan::of(unit, &kernel, &mut names, &shared),
        kernel,
    });
    let mut stages: Vec<Stage> = each.collect();
    if is_in_list {
        fix_constants(unit, &mut stages);
    }
    Ok(stages)
}

/// What the launches of a list must have in common: a variable of the host is one value or one
/// dimension in all of them.
fn shared(unit: &Unit, kernels: &[Kernel]) -> Shared {
    let mut shared = Shared::default();
    for kernel in kernels {
        for (number, argument) in kernel.arguments.iter().enumerate() {
            if matches!(argument.kind, Kind::Whole(_)) && kernel.host.is_some() {
                let name = argument.parameter.name.clone();
                let numbers = &mut shared.numbers;
                numbers.entry(kernel.identity(number)).or_insert(name);
            }
        }
    }
    for kernel in kernels {
        let alone = Plan::of(unit, kernel, &mut Names::default(), &shared);
        shared.guesses.extend(alone.launch.guesses);
    }
    shared
}

/// A constant of the file that a launch of the list names is one value for the kernels that get it.
fn fix_constants(unit: &Unit, stages: &mut [Stage]) {
    let constants = stages.iter().flat_map(|stage| &stage.plan.launch.constants);
    let constants: BTreeSet<String> = constants.cloned().collect();
    for Stage { kernel, plan } in stages {
        for dim in &mut plan.dims {
            let Some(number) = dim.number else { continue };
            let identity = kernel.identity(number);
            let value = unit.constant(&identity).filter(|value| *value > 0);
            dim.fixed = dim
                .fixed
                .or(value.filter(|_| constants.contains(&identity)));
        }
    }
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
                Some(known) => {
                    known.fixed = known.fixed.or(dim.fixed);
                    known.is_threads |= dim.is_threads;
                }
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
    known.is_role_guess |= later.is_role_guess;
    if known.is_guess && !later.is_guess {
        known.shape.clone_from(&later.shape);
        known.is_guess = false;
    }
}
