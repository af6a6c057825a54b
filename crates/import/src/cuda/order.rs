//! The order of a tensor's extents, from how far each name in its indices moves them.

use super::body::Body;
use super::interval::Interval;
use super::kernel::Kernel;
use super::roles::uses_of;
use super::shapes::{factors, shape};
use super::unit::Unit;
use super::uses::Use;
use std::collections::BTreeSet;

/// Most variables of a kernel that are looked at.
const MOST: usize = 40;

/// Largest number of rows that a block or a thread takes at a time.
const AT_ONCE: i128 = 16;

/// How far a use of a tensor moves if a variable is one larger.
pub struct Step {
    /// The index of the use.
    pub at: usize,
    distance: i128,
    /// The use's reach where the variable is 0.
    first: i128,
}

/// The steps of all uses. `found` are the uses as they are.
pub fn steps(unit: &Unit, kernel: &Kernel, body: &mut Body, found: &[Use]) -> Vec<Step> {
    let mut names: BTreeSet<String> = ["blockIdx", "threadIdx"]
        .iter()
        .flat_map(|of| ["x", "y", "z"].map(|axis| format!("{of}.{axis}")))
        .collect();
    let numbers = body.assignments.iter().filter(|it| it.pointer.is_none());
    names.extend(numbers.take(MOST).map(|it| it.name.clone()));
    let mut steps = Vec::new();
    for name in names {
        let mut given = |value: i128| {
            let before = body.give(&name, Some(Interval::exactly(value)));
            let uses = uses_of(unit, kernel, body);
            body.give(&name, before);
            uses
        };
        let (first, second) = (given(0), given(1));
        let pairs = first.iter().zip(&second).take(found.len()).enumerate();
        steps.extend(pairs.filter_map(|(at, (first, second))| {
            let first = first.reach?;
            let distance = second.reach? - first;
            (distance > 0).then_some(Step {
                at,
                distance,
                first,
            })
        }));
    }
    steps
}

/// The dimensions with those first over which the steps of a tensor go farthest: a step over a
/// dimension is as long as the dimensions behind it. Without steps they keep their order.
pub fn outermost_first<'s>(
    dims: &[(String, i128)],
    steps: impl Iterator<Item = &'s Step>,
) -> Vec<(String, i128)> {
    let behind = steps.filter_map(|step| factors(AT_ONCE, step.distance, dims));
    let behind: BTreeSet<Vec<u32>> = behind.map(|(_, powers)| powers).collect();
    let depth = |at: usize| behind.iter().filter(|powers| powers[at] > 0).count();
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|at| depth(*at));
    order.into_iter().map(|at| dims[at].clone()).collect()
}

/// Rows whose distance is a number of its own.
pub struct Rows {
    pub shape: Vec<String>,
    /// The dimension that is the distance.
    pub stride: String,
    /// The dimension that is the number of columns.
    pub columns: String,
}

/// The rows that a reach is made of: `x[row * stride + c]` with `row < rows` and `c < columns`
/// reaches `(rows - 1) * stride + columns` numbers.
pub fn rows<'s>(
    reach: i128,
    dims: &[(String, i128)],
    steps: impl Iterator<Item = &'s Step>,
) -> Option<Rows> {
    if shape(reach, dims).is_some() {
        return None;
    }
    let mut steps = steps.filter_map(|step| {
        let (stride, _) = dims.iter().find(|(_, value)| *value == step.distance)?;
        let [columns] = &shape(step.first, dims)?[..] else {
            return None;
        };
        let is_dim = columns != stride && dims.iter().any(|(name, _)| name == columns);
        let before = reach - step.first;
        let rows = (before % step.distance == 0).then_some(before / step.distance + 1)?;
        let mut shape = shape(rows, dims)?;
        shape.push(columns.clone());
        is_dim.then(|| Rows {
            shape,
            stride: stride.clone(),
            columns: columns.clone(),
        })
    });
    steps.next()
}
