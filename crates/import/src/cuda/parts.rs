//! The tensors, the dimensions and the scalars of a problem.

use super::roles::Role;
use super::types::Element;

/// A tensor of the problem.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The number of the kernel's parameter.
    pub number: usize,
    pub name: String,
    pub element: Element,
    pub role: Role,
    pub shape: Vec<String>,
    /// The shape does not follow from the kernel's indices.
    pub is_guess: bool,
    /// The kernel gives it to something that may read and write it.
    pub is_role_guess: bool,
    /// The published kernel takes a pointer to `const`.
    pub is_const: bool,
    /// Only a later launch of a list reads it.
    pub is_between: bool,
}

impl Tensor {
    /// Whether its cells are compared with the reference's.
    pub fn is_result(&self) -> bool {
        self.role != Role::In && !self.is_between
    }
}

/// A dimension of the problem.
#[derive(Clone, Debug)]
pub struct Dim {
    /// The number of the kernel's parameter; `None` if only the launch has it.
    pub number: Option<usize>,
    pub name: String,
    /// The only extent with which the launch uses this kernel.
    pub fixed: Option<i128>,
    /// A block of a launch has so many threads.
    pub is_threads: bool,
}

impl Dim {
    /// A dimension that only the launch has.
    pub fn of_launch(name: String) -> Dim {
        Dim {
            number: None,
            name,
            fixed: None,
            is_threads: false,
        }
    }
}

/// What is known of the value of a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Guess,
    /// Of an enumeration: its first enumerator, and the value of that.
    Enumerator(String, i128),
    /// A number that the host code gives it.
    Given(String),
    /// The distance of two rows with so many columns.
    Stride(String),
}

/// A scalar of the problem.
#[derive(Clone, Debug)]
pub struct Scalar {
    pub number: usize,
    pub name: String,
    /// The type in problem.toml.
    pub kind: &'static str,
    pub value: Value,
}
