//! What a kernel does with its tensors.

use super::body::Body;
use super::kernel::{Kernel, Kind};
use super::types::Element;
use super::unit::{Place, Unit};
use super::uses::{Access, Use, uses};
use lab_source::cpp::items::ItemKind;

/// What a kernel does with a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    In,
    Out,
    InOut,
}

/// The uses of the tensors in the kernel's body.
pub fn uses_of(unit: &Unit, kernel: &Kernel, body: &Body) -> Vec<Use> {
    let tensors: Vec<(String, usize)> = tensors(kernel)
        .map(|(number, element)| (kernel.arguments[number].origin.word(), element.width))
        .collect();
    // Whether a function of the file writes through its parameter.
    let writes = |name: &str, number: usize| {
        let is_it = |place: &Place| {
            let (_, item) = unit.item(*place);
            item.kind == ItemKind::Function && item.name() == name
        };
        let (source, item) = unit.item(unit.places().find(is_it)?);
        let parameter = source.code.parameters(item).into_iter().nth(number)?;
        let is_pointer = parameter.pointers > 0 || parameter.is_reference;
        Some(is_pointer && !parameter.is_const)
    };
    uses(body, &tensors, &writes)
}

/// The tensors of a kernel with the numbers of their parameters.
pub fn tensors(kernel: &Kernel) -> impl Iterator<Item = (usize, &Element)> {
    let arguments = kernel.arguments.iter().enumerate();
    arguments.filter_map(|(number, argument)| match &argument.kind {
        Kind::Tensor(element) => Some((number, element)),
        _ => None,
    })
}

/// The role of a tensor that the kernel may write: what it does first.
pub fn role<'u>(body: &Body, found: impl Iterator<Item = &'u Use>) -> Role {
    let all: Vec<&Use> = found.collect();
    let is_write = |access: Access| matches!(access, Access::Write | Access::Update);
    let Some(write) = all.iter().find(|of| is_write(of.access)) else {
        let is_passed = all.iter().any(|of| of.access == Access::Passed);
        return if is_passed { Role::Out } else { Role::In };
    };
    // `y[i] = y[i] + x[i]` reads first.
    let end = body.code.statement_end(write.at, body.range.1);
    let reads = |of: &&&Use| of.access == Access::Read && of.at < end && of.at != write.at;
    match write.access == Access::Update || all.iter().any(|of| reads(&of)) {
        true => Role::InOut,
        false => Role::Out,
    }
}
