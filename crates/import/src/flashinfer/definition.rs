//! A definition: its axes, its tensors, and their names and types in problem.toml.

use crate::names::Names;
use indexmap::IndexMap;
use serde::Deserialize;

/// A definition.
#[derive(Debug, Deserialize)]
pub struct Definition {
    pub name: String,
    pub description: Option<String>,
    pub axes: IndexMap<String, Axis>,
    pub inputs: IndexMap<String, Tensor>,
    pub outputs: IndexMap<String, Tensor>,
    pub reference: String,
}

#[derive(Debug, Deserialize)]
pub struct Axis {
    /// The extent of a constant axis.
    pub value: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Tensor {
    /// The names of axes; `None` for a number.
    pub shape: Option<Vec<String>>,
    pub dtype: String,
}

/// The types of problem.toml for those of a definition.
fn kind(dtype: &str) -> Option<&'static str> {
    Some(match dtype {
        "float32" => "f32",
        "float16" => "f16",
        "bfloat16" => "bf16",
        "float8_e4m3fn" => "f8e4m3",
        "float8_e5m2" => "f8e5m2",
        "int64" => "i64",
        "int32" => "i32",
        "int16" => "i16",
        "int8" => "i8",
        "bool" => "bool",
        _ => return None,
    })
}

/// What the tensor of a number says.
pub static NUMBER: Tensor = Tensor {
    shape: None,
    dtype: String::new(),
};

/// A parameter of the function that `lab` calls.
#[derive(Clone)]
pub struct Named<'d> {
    /// The name in problem.toml.
    pub name: String,
    /// The name in the definition.
    pub published: &'d str,
    pub tensor: &'d Tensor,
    pub kind: &'static str,
}

impl Definition {
    /// Reads a definition. The error says what is wrong in it.
    pub fn read(text: &str) -> Result<Definition, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("it is no definition of flashinfer-bench: {error}"))
    }

    /// The axis of this name.
    pub fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.get(name)
    }

    /// The extents of a tensor as problem.toml writes them.
    pub fn extents(&self, named: &Named, axes: &[(String, &str)]) -> Result<Vec<String>, String> {
        let shape = named.tensor.shape.as_deref().unwrap_or_default();
        if shape.is_empty() {
            return Ok(vec!["1".to_owned()]);
        }
        let each = shape.iter().map(|axis| {
            let known = axes.iter().find(|(_, published)| published == axis);
            let known = known.map(|(name, _)| name.clone());
            // An axis that is no dimension has one extent, which stands in its place.
            let number = || Some(self.axis(axis)?.value?.to_string());
            known.or_else(number).ok_or_else(|| {
                format!(
                    "the shape of {} names {axis}, which is no axis",
                    named.published
                )
            })
        });
        each.collect()
    }
}

/// The parameters for some tensors of a definition.
pub fn named<'d>(
    tensors: &'d IndexMap<String, Tensor>,
    is_output: bool,
    names: &mut Names,
) -> Result<Vec<Named<'d>>, String> {
    let each = tensors.iter().map(|(published, tensor)| {
        let kind = kind(&tensor.dtype).ok_or_else(|| {
            format!(
                "{published} has the type {}, which problem.toml does not have",
                tensor.dtype
            )
        })?;
        Ok(Named {
            name: names.free(published, is_output),
            published,
            tensor,
            kind,
        })
    });
    each.collect()
}
