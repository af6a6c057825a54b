//! Definitions of flashinfer-bench: a JSON file with axes, inputs, outputs and a reference in
//! Python. <https://github.com/flashinfer-ai/flashinfer-bench> describes the format.

use crate::names::Names;
use crate::values;
use crate::{NewFile, Problem};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// The name of the file with the workloads in the new folder.
pub const WORKLOADS: &str = "workloads.jsonl";

/// A definition.
#[derive(Debug, Deserialize)]
pub struct Definition {
    pub name: String,
    description: Option<String>,
    axes: Ordered<Axis>,
    inputs: Ordered<Tensor>,
    outputs: Ordered<Tensor>,
    reference: String,
}

/// An object of JSON in the order of its keys.
#[derive(Debug)]
struct Ordered<V>(Vec<(String, V)>);

#[derive(Debug, Deserialize)]
struct Axis {
    /// The extent of a constant axis.
    value: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Tensor {
    /// The names of axes; `None` for a number.
    shape: Option<Vec<String>>,
    dtype: String,
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Ordered<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Keys<V> {
            type Value = Ordered<V>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    found.push(entry);
                }
                Ok(Ordered(found))
            }
        }
        deserializer.deserialize_map(Keys(PhantomData))
    }
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

/// A parameter of the function that `lab` calls.
struct Named<'d> {
    /// The name in problem.toml.
    name: String,
    /// The name in the definition.
    published: &'d str,
    tensor: &'d Tensor,
    kind: &'static str,
}

impl Definition {
    /// Reads a definition. The error says what is wrong in it.
    pub fn read(text: &str) -> Result<Definition, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("it is no definition of flashinfer-bench: {error}"))
    }

    /// The problem for it, with a kernel that computes as the reference does. `name` is that of the
    /// new folder. `workloads` is the text of the file with its workloads. The error names what
    /// problem.toml cannot say.
    pub fn problem(&self, name: &str, workloads: Option<&str>) -> Result<Problem, String> {
        let mut names = Names::default();
        let axes: Vec<(String, &str)> = self
            .axes
            .0
            .iter()
            .map(|(axis, _)| (names.free(axis, false), axis.as_str()))
            .collect();
        let inputs = named(&self.inputs, false, &mut names)?;
        let outputs = named(&self.outputs, true, &mut names)?;
        let entry = self.entry();
        let problem = self.problem_toml(
            name,
            &entry,
            &axes,
            (&inputs, &outputs),
            workloads.is_some(),
        )?;
        let python = |title: &str| {
            let code = self.reference.trim();
            format!(
                "\"\"\"{title}\"\"\"\n\n{code}\n\n\n{}",
                wrapper(&entry, &inputs, &outputs)
            )
        };
        let kernel = format!(
            "{}: it computes as the reference does. Replace it by your kernel.",
            self.name
        );
        let reference = format!(
            "The reference of {}, as flashinfer-bench publishes it.",
            self.name
        );
        let mut files = vec![
            NewFile {
                name: "problem.toml",
                text: problem,
            },
            NewFile {
                name: "kernel.py",
                text: python(&kernel),
            },
            NewFile {
                name: "reference.py",
                text: python(&reference),
            },
        ];
        let mut notes = Vec::new();
        match workloads {
            Some(text) => files.push(NewFile {
                name: WORKLOADS,
                text: text.to_owned(),
            }),
            None => notes.push(
                "problem.toml: the workloads are a guess, because no .jsonl with them was found"
                    .to_owned(),
            ),
        }
        if workloads.is_some_and(|text| text.contains("\"safetensors\"")) {
            notes.push("some inputs come from safetensors files, which lab does not read: it draws them as problem.toml says".to_owned());
        }
        Ok(Problem {
            entry,
            files,
            notes,
            lacks_reference: false,
        })
    }

    /// The name of the function that `lab` calls.
    fn entry(&self) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = self.name.chars().map(letter).collect();
        match self.reference.contains(&format!("def {name}("))
            || !name.starts_with(|c: char| c.is_ascii_alphabetic())
        {
            true => format!("entry_{name}"),
            false => name,
        }
    }

    fn problem_toml(
        &self,
        name: &str,
        entry: &str,
        axes: &[(String, &str)],
        (inputs, outputs): (&[Named], &[Named]),
        has_workloads: bool,
    ) -> Result<String, String> {
        let about = self
            .description
            .as_deref()
            .unwrap_or(&self.name)
            .replace('\n', " ");
        let dims: Vec<String> = axes.iter().map(|(axis, _)| format!("\"{axis}\"")).collect();
        let mut out = format!(
            "# {about}\n# From the definition {} of flashinfer-bench. kernels/README.md of lab explains every key.\n\
             kind = \"tensor\"\nname = \"{name}\"\nentry = \"{entry}\"\ndims = [{}]\ncpu_max_cells = 300_000\n",
            self.name,
            dims.join(", ")
        );
        for (named, role) in inputs
            .iter()
            .map(|n| (n, "in"))
            .chain(outputs.iter().map(|n| (n, "out")))
        {
            if named.tensor.shape.is_none() && role == "in" {
                out += &format!(
                    "\n[[scalar]]\nname = \"{}\"\ntype = \"{}\"\nvalue = {}  # the workloads may say another one\n",
                    named.name,
                    named.kind,
                    if named.kind == "bool" { "true" } else { "1" }
                );
                continue;
            }
            let shape = extents(named, axes)?;
            let values = if role == "in" {
                values::of(named.kind)
            } else {
                ""
            };
            out += &format!(
                "\n[[tensor]]\nname = \"{}\"\nrole = \"{role}\"\ntype = \"{}\"\nshape = [{}]\n{values}",
                named.name,
                named.kind,
                shape.join(", ")
            );
        }
        let mut kinds: Vec<&str> = outputs.iter().map(|output| output.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        out += "\n# The tolerances that flashinfer-bench takes by default.\n";
        for kind in kinds.into_iter().filter(|kind| kind.contains('f')) {
            out += &format!("[tolerance.{kind}]\natol = 1e-2\nrtol = 1e-2\n\n");
        }
        let samples = match outputs.first() {
            Some(output) => extents(output, axes)?.join(" * ").replace('"', ""),
            None => return Err("it has no output".to_owned()),
        };
        let fixed = self
            .axes
            .0
            .iter()
            .zip(axes)
            .filter_map(|((_, axis), (name, _))| {
                let value = axis.value.or((!has_workloads).then_some(64))?;
                Some(format!("{name} = {value}"))
            });
        let fixed = fixed.collect::<Vec<String>>().join(", ");
        let lines = if has_workloads {
            format!("jsonl = \"{WORKLOADS}\"\n")
        } else {
            String::new()
        };
        let dims = if fixed.is_empty() {
            String::new()
        } else {
            format!("dims = {{ {fixed} }}\n")
        };
        out += &format!("[objective]\nsamples = \"{samples}\"\n\n[[workload]]\n{lines}{dims}");
        Ok(out)
    }
}

/// The parameters for some tensors of a definition.
fn named<'d>(
    tensors: &'d Ordered<Tensor>,
    is_output: bool,
    names: &mut Names,
) -> Result<Vec<Named<'d>>, String> {
    let each = tensors.0.iter().map(|(published, tensor)| {
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

/// The extents of a tensor as problem.toml writes them.
fn extents(named: &Named, axes: &[(String, &str)]) -> Result<Vec<String>, String> {
    let shape = named.tensor.shape.as_deref().unwrap_or_default();
    if shape.is_empty() {
        return Ok(vec!["1".to_owned()]);
    }
    let each = shape.iter().map(|axis| {
        let known = axes.iter().find(|(_, published)| published == axis);
        let known = known.map(|(name, _)| format!("\"{name}\""));
        known.ok_or_else(|| {
            format!(
                "the shape of {} names {axis}, which is no axis",
                named.published
            )
        })
    });
    each.collect()
}

/// The function that `lab` calls: it copies what `run` returns into the outputs.
fn wrapper(entry: &str, inputs: &[Named], outputs: &[Named]) -> String {
    let join = |all: &[Named], of: &dyn Fn(&Named) -> String| {
        all.iter().map(of).collect::<Vec<String>>().join(", ")
    };
    let name = |named: &Named| named.name.clone();
    format!(
        "def {entry}({}, {}):\n    results = run({})\n    if isinstance(results, dict):\n        \
         results = [results[name] for name in [{}]]\n    if not isinstance(results, (tuple, list)):\n        \
         results = [results]\n    for output, result in zip([{}], results):\n        output[...] = result\n",
        join(inputs, &name),
        join(outputs, &name),
        join(inputs, &|named| format!(
            "{}={}",
            named.published, named.name
        )),
        join(outputs, &|named| format!("\"{}\"", named.published)),
        join(outputs, &name),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const DEFINITION: &str = r#"{"name": "norm_d64", "op_type": "norm", "axes": {"batch": {"type": "var"}, "d": {"type": "const", "value": 64}},
        "inputs": {"X": {"shape": ["batch", "d"], "dtype": "float16"}, "eps": {"shape": null, "dtype": "float32"}},
        "outputs": {"Y": {"shape": ["batch", "d"], "dtype": "float16"}, "A": {"shape": ["batch"], "dtype": "float32"}},
        "reference": "def run(X, eps):\n    return X + eps, X[:, 0]"}"#;

    #[test]
    fn a_definition_becomes_a_problem_in_the_order_of_its_keys() {
        let definition = Definition::read(DEFINITION).unwrap();
        let problem = definition
            .problem("norm", Some("{\"axes\": {\"batch\": 4}}\n"))
            .unwrap();
        let text = |name: &str| {
            let file = problem.files.iter().find(|file| file.name == name);
            file.unwrap().text.clone()
        };
        let toml = text("problem.toml");
        for wanted in [
            "dims = [\"batch\", \"d\"]",
            "name = \"y\"\nrole = \"out\"\ntype = \"f16\"\nshape = [\"batch\", \"d\"]",
            "[[scalar]]\nname = \"eps\"\ntype = \"f32\"",
            "jsonl = \"workloads.jsonl\"\ndims = { d = 64 }",
        ] {
            assert!(toml.contains(wanted), "{wanted} is not in {toml}");
        }
        let python = text("reference.py");
        for wanted in [
            "def norm_d64(X, eps, y, a):",
            "run(X=X, eps=eps)",
            "for output, result in zip([y, a], results):",
        ] {
            assert!(python.contains(wanted), "{wanted} is not in {python}");
        }
        let alone = definition.problem("norm", None).unwrap();
        assert!(
            alone.files[0]
                .text
                .contains("dims = { batch = 64, d = 64 }")
        );
    }

    #[test]
    fn what_cannot_be_said_is_named() {
        let four_bits = DEFINITION.replace("float16", "float4_e2m1");
        let error = Definition::read(&four_bits)
            .unwrap()
            .problem("n", None)
            .unwrap_err();
        assert_eq!(
            error,
            "X has the type float4_e2m1, which problem.toml does not have"
        );
        assert!(
            Definition::read("{}")
                .unwrap_err()
                .contains("missing field")
        );
    }
}
