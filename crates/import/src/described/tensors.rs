//! The tensors and dimensions of a problem, from several observations of it.

use super::fit::{Sizes, named_in};
use super::{Drawn, Leaf, Observation};
use crate::names::Names;
use crate::problem_toml::{Tensor, quoted};
use crate::values;
use itertools::Itertools;
use serde_json::Value;

/// A problem as the observations show it.
#[derive(Default)]
pub struct Tensors {
    pub tensors: Vec<Tensor>,
    /// What the function gets, in Python.
    pub call: String,
    /// The outputs that it returns: the name in problem.toml, and the published one.
    pub returned: Vec<(String, String)>,
    /// For each leaf its name in problem.toml, or its number.
    pub names: Vec<String>,
    /// The dimensions: the name in problem.toml, and the published one.
    pub dims: Vec<(String, String)>,
    /// The dimensions that no published size is, with the extent in each observation.
    invented: Vec<(String, Vec<i64>)>,
    pub notes: Vec<String>,
}

/// The type of problem.toml of this name.
fn kind(name: &str) -> Result<&'static str, String> {
    const KINDS: [&str; 15] = [
        "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "i16", "i32", "i64", "u8", "u16",
        "u32", "u64", "bool",
    ];
    let known = KINDS.into_iter().find(|known| *known == name);
    known.ok_or_else(|| format!("a tensor has the type {name}, which problem.toml does not have"))
}

impl Tensors {
    /// `sizes` are the published sizes that may become dimensions. With `may_invent`, an extent that
    /// follows from no size becomes a dimension of its own. The error says what differs, and how.
    pub fn of(
        observations: &[&Observation],
        sizes: &[String],
        may_invent: bool,
    ) -> Result<Tensors, String> {
        let first = *observations.first().ok_or("nothing was seen of it")?;
        let mut names = Names::default();
        let dims: Vec<(String, String)> = sizes
            .iter()
            .map(|size| (names.free(size, false), size.clone()))
            .collect();
        let mut known = known(observations, sizes, &dims)?;
        let mut made = Tensors {
            dims,
            ..Tensors::default()
        };
        for (at, leaf) in first.leaves.iter().enumerate() {
            let of: Option<Vec<&Leaf>> = observations
                .iter()
                .map(|seen| seen.leaves.get(at))
                .collect();
            let of = of.filter(|of| {
                of.iter()
                    .all(|other| other.kind == leaf.kind && other.shape.len() == leaf.shape.len())
            });
            let of = of.ok_or_else(|| {
                format!(
                    "{} has another type or another number of extents in another case",
                    leaf.name
                )
            })?;
            let name = names.free(
                &identifier(&leaf.name),
                leaf.role != "in" && leaf.number.is_none(),
            );
            made.add(&name, &of, &mut known, may_invent.then_some(&mut names))?;
        }
        let is_same = observations
            .iter()
            .all(|seen| seen.call == first.call && seen.returned == first.returned);
        if !is_same {
            return Err("it gets or returns something else in another case".to_owned());
        }
        made.call = filled(&first.call, &made.names);
        made.returned = first
            .returned
            .iter()
            .map(|at| (made.names[*at].clone(), first.leaves[*at].name.clone()))
            .collect();
        made.forget_unused();
        Ok(made)
    }

    /// Adds what one leaf is in all observations.
    fn add(
        &mut self,
        name: &str,
        of: &[&Leaf],
        sizes: &mut Sizes,
        invent: Option<&mut Names>,
    ) -> Result<(), String> {
        let leaf = of[0];
        if leaf.number.is_some() {
            let numbers: Vec<i64> = of.iter().filter_map(|leaf| leaf.number).collect();
            let text = sizes
                .expression(&numbers)
                .filter(|text| !text.contains("ceil"));
            let text =
                text.ok_or_else(|| format!("the number {} follows from no size", leaf.name))?;
            self.names.push(text.replace(" / ", " // "));
            return Ok(());
        }
        let shape = self.shape(name, of, sizes, invent)?;
        let role = match leaf.role.as_str() {
            "out" => "out",
            "inout" => "inout",
            _ => "in",
        };
        let kind = kind(&leaf.kind)?;
        let values = match role {
            "out" => String::new(),
            _ => self::values(of, kind, sizes),
        };
        if values.starts_with("# A guess") {
            self.notes
                .push(format!("problem.toml: the values of {name} are a guess"));
        }
        self.tensors.push(Tensor {
            about: "",
            name: name.to_owned(),
            role,
            kind,
            shape,
            values,
        });
        self.names.push(name.to_owned());
        Ok(())
    }

    /// The extents of a tensor.
    fn shape(
        &mut self,
        name: &str,
        of: &[&Leaf],
        sizes: &mut Sizes,
        mut invent: Option<&mut Names>,
    ) -> Result<Vec<String>, String> {
        let mut shape = Vec::new();
        for axis in 0..of[0].shape.len() {
            let extents: Vec<i64> = of.iter().map(|leaf| leaf.shape[axis]).collect();
            let found = match (sizes.expression(&extents), invent.as_deref_mut()) {
                (Some(found), _) => found,
                (None, Some(names)) => {
                    let name = names.free(&format!("{name}_{axis}"), false);
                    sizes.names.push(name.clone());
                    let rows = sizes.rows.iter_mut().zip(&extents);
                    rows.for_each(|(row, extent)| row.push(*extent));
                    self.invented.push((name.clone(), extents));
                    name
                }
                (None, None) => {
                    return Err(format!(
                        "extent {axis} of {} follows from no size: {extents:?}",
                        of[0].name
                    ));
                }
            };
            shape.push(found);
        }
        if shape.is_empty() {
            shape.push("1".to_owned());
        }
        Ok(shape)
    }

    /// Leaves out dimensions on which nothing depends.
    fn forget_unused(&mut self) {
        let is_used = |name: &str| {
            let mut texts = self
                .tensors
                .iter()
                .flat_map(|tensor| tensor.shape.iter().chain([&tensor.values]));
            texts.any(|text| named_in(text, name))
                || self.names.iter().any(|text| named_in(text, name))
        };
        let used: Vec<bool> = self.dims.iter().map(|(name, _)| is_used(name)).collect();
        let mut used = used.into_iter();
        self.dims.retain(|_| used.next().unwrap_or(false));
    }

    /// What to say of outputs whose shapes are a guess.
    pub fn guess_of_outputs(&self, seen: &Observation) -> Option<String> {
        let names = self.returned.iter().map(|(name, _)| name).join(", ");
        seen.is_guessed.then(|| {
            format!("problem.toml: the shape of {names} is a guess, that of the first input")
        })
    }

    /// The names of all dimensions in problem.toml. It needs one.
    pub fn dim_names(&self) -> Vec<String> {
        let invented = self.invented.iter().map(|(name, _)| name.clone());
        let named = self.dims.iter().map(|(name, _)| name.clone());
        let mut names: Vec<String> = named.chain(invented).collect();
        if names.is_empty() {
            names.push("n".to_owned());
        }
        names
    }

    /// `dims = { … }` for a case: `size` gives its published sizes, `seen` is the number of its
    /// observation. `None` if an extent of it was not seen.
    pub fn workload<'v>(
        &self,
        size: impl Fn(&str) -> Option<&'v Value>,
        seen: Option<usize>,
    ) -> Option<String> {
        let named = self
            .dims
            .iter()
            .map(|(name, published)| Some(format!("{name} = {}", size(published)?.as_i64()?)));
        let invented = self
            .invented
            .iter()
            .map(|(name, extents)| Some(format!("{name} = {}", extents.get(seen?)?)));
        let all: Option<Vec<String>> = named.chain(invented).collect();
        let mut all = all?;
        if all.is_empty() {
            all.push("n = 1".to_owned());
        }
        Some(format!("dims = {{ {} }}\n", all.join(", ")))
    }
}

/// The values of the sizes in each observation.
fn known(
    observations: &[&Observation],
    sizes: &[String],
    dims: &[(String, String)],
) -> Result<Sizes, String> {
    let row = |seen: &Observation| {
        let each = sizes.iter().map(|name| seen.dims.get(name)?.as_i64());
        each.collect::<Option<Vec<i64>>>()
    };
    let rows: Option<Vec<Vec<i64>>> = observations.iter().map(|seen| row(seen)).collect();
    Ok(Sizes {
        names: dims.iter().map(|(name, _)| name.clone()).collect(),
        rows: rows.ok_or("a size is no whole number in all cases")?,
    })
}

/// A name that Python and C++ take.
fn identifier(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    match ["in", "lambda", "is", "for", "def", "class", "from"].contains(&name.as_str()) {
        true => format!("{name}_"),
        false => name,
    }
}

/// A text with the names in place of `{0}`, `{1}`, …; `{{` is a brace.
pub fn filled(text: &str, names: &[String]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out += &rest[..at];
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if rest.starts_with(brace) {
            out += brace;
            rest = &rest[1..];
        } else if let Some((number, after)) = rest.split_once('}') {
            let name = number.parse::<usize>().ok().and_then(|at| names.get(at));
            out += name.map_or("", String::as_str);
            rest = after;
        }
    }
    out + rest
}

/// The line `values = …` of an input, with a comment where it is a guess.
fn values(of: &[&Leaf], kind: &'static str, sizes: &Sizes) -> String {
    let all: Vec<&Drawn> = of.iter().filter_map(|leaf| leaf.values.as_ref()).collect();
    let is_float = kind.contains('f');
    let is_complete = all.len() == of.len();
    let end = |number: &dyn Fn(&Drawn) -> Option<i64>| {
        let numbers: Option<Vec<i64>> = all.iter().map(|drawn| number(drawn)).collect();
        let text = sizes.expression(&numbers?)?;
        Some(quoted(&text))
    };
    let found = match all.first() {
        Some(Drawn::Uniform(low, high)) if is_float && low < high => {
            Some(format!("uniform = {{ low = {low:?}, high = {high:?} }}"))
        }
        Some(Drawn::Normal(mean, std)) if is_float && *std > 0.0 => {
            Some(format!("normal = {{ mean = {mean:?}, std = {std:?} }}"))
        }
        Some(Drawn::Constant(value)) if is_float => Some(format!("constant = {value:?}")),
        Some(Drawn::Constant(value)) => Some(format!(
            "integers = {{ low = {value:.0}, high = {value:.0} }}"
        )),
        Some(Drawn::Integers(..)) if is_complete => {
            let low = end(&|drawn| match drawn {
                Drawn::Integers(low, _) => Some(*low),
                _ => None,
            });
            let high = end(&|drawn| match drawn {
                Drawn::Integers(_, high) => Some(*high),
                _ => None,
            });
            let ends = low.zip(high);
            ends.map(|(low, high)| format!("integers = {{ low = {low}, high = {high} }}"))
        }
        _ => None,
    };
    let differs = all.iter().any(|other| Some(other) != all.first())
        && !matches!(all[0], Drawn::Integers(..));
    match found {
        Some(values) if is_complete && !differs => format!("values = {{ {values} }}\n"),
        Some(values) => format!(
            "# A guess: the published code draws it in another way in another case.\nvalues = {{ {values} }}\n"
        ),
        None => {
            let usual = values::of(kind);
            let usual = usual.lines().filter(|line| !line.starts_with('#'));
            let usual: String = usual.map(|line| format!("{line}\n")).collect();
            format!("# A guess: the published code computes it.\n{usual}")
        }
    }
}
