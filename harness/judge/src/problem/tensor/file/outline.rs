//! A problem.toml as a program elsewhere needs it: with its expressions, from which shapes and
//! scalars follow for any dimensions.

use super::super::number::NumberText;
use super::super::spec::TensorRole;
use super::text::{ExtentText, ProblemFile};
use crate::dtype::Dtype;
use crate::outcome::Stop;
use crate::problem::key_error::toml_error;
use std::path::Path;

/// The parameters of a problem, whatever the workload.
#[derive(Debug)]
pub struct Outline {
    /// With `{T}` in place of the type.
    pub entry: String,
    /// What `T` stands for; empty without a type parameter.
    pub types: Vec<Dtype>,
    pub dims: Vec<String>,
    pub tensors: Vec<OutlinedTensor>,
    pub scalars: Vec<OutlinedScalar>,
}

/// A tensor.
#[derive(Debug)]
pub struct OutlinedTensor {
    pub name: String,
    pub role: TensorRole,
    /// `None` stands for the type parameter.
    pub dtype: Option<Dtype>,
    /// An expression for each extent.
    pub shape: Vec<String>,
}

/// A scalar.
#[derive(Debug)]
pub struct OutlinedScalar {
    pub name: String,
    pub dtype: Dtype,
    pub value: NumberText,
}

/// Reads the outline of a problem.toml that [`super::parse`] accepts.
pub fn outline(path: &Path, text: &str) -> Result<Outline, Stop> {
    let file: ProblemFile = toml::from_str(text).map_err(|e| toml_error(path, text, &e))?;
    let tensors = file.tensor.into_iter().map(|tensor| OutlinedTensor {
        name: tensor.name,
        role: tensor.role,
        dtype: tensor.dtype.fixed(),
        shape: tensor.shape.into_iter().map(extent).collect(),
    });
    let tensors = tensors.collect();
    let scalars = file.scalar.into_iter().map(|scalar| OutlinedScalar {
        name: scalar.name,
        dtype: scalar.dtype,
        value: scalar.value,
    });
    let scalars = scalars.collect();
    Ok(Outline {
        entry: file.entry,
        types: file.types,
        dims: file.dims,
        tensors,
        scalars,
    })
}

fn extent(text: ExtentText) -> String {
    match text {
        ExtentText::Number(number) => number.to_string(),
        ExtentText::Expression(text) => text,
    }
}
