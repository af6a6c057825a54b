//! Inputs whose values are the same in every set of every run: the key `fixed_seed` of a tensor.
//! They are drawn once in a process, and each worker has one buffer for all its cases and sets.

use super::input_values::InputValues;
use super::random::number_of;
use crate::dtype::Dtype;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The values of a fixed input, which all cases with the same shape share.
#[derive(Clone, Debug)]
pub struct FixedTensor(Arc<FixedValues>);

#[derive(Debug)]
struct FixedValues {
    values: InputValues,
    dtype: Dtype,
    shape: Vec<usize>,
    seed: u64,
    drawn: OnceLock<Vec<u8>>,
}

/// The fixed inputs of a problem, by what they hold.
#[derive(Default)]
pub struct FixedTensors(RefCell<HashMap<u64, FixedTensor>>);

impl FixedTensors {
    /// The input `name`, whose values follow from `fixed_seed`.
    pub fn tensor(
        &self,
        name: &str,
        fixed_seed: u64,
        values: &InputValues,
        dtype: Dtype,
        shape: &[usize],
    ) -> FixedTensor {
        let seed = number_of(&format!("{name} {fixed_seed} {values:?} {dtype} {shape:?}"));
        let new = || {
            FixedTensor(Arc::new(FixedValues {
                values: values.clone(),
                dtype,
                shape: shape.to_vec(),
                seed,
                drawn: OnceLock::new(),
            }))
        };
        self.0.borrow_mut().entry(seed).or_insert_with(new).clone()
    }
}

impl FixedTensor {
    /// A number that no other input has.
    pub fn key(&self) -> u64 {
        self.0.seed
    }

    /// The bytes of all cells, drawn at the first call.
    pub fn bytes(&self) -> &[u8] {
        let FixedValues {
            values,
            dtype,
            shape,
            seed,
            drawn,
        } = &*self.0;
        drawn.get_or_init(|| values.fill(*dtype, shape, *seed))
    }
}
