//! Keys of a problem.toml that name other parts of it: outputs, inputs, dimensions.

use super::super::spec::{Case, TensorRole};
use super::super::values_text::ValuesText;
use super::names::KEYWORDS;
use super::text::{ProblemFile, TensorText, WorkloadText};
use crate::problem::key_error::{InKey, KeyError, Result, wrong};
use lab_protocol::text::{is_among, is_identifier};
use lab_source::suggest::suggest;

/// Most sets of inputs of a workload.
const MOST_SETS: usize = 64;

impl ProblemFile {
    /// A key that the program of an export does not know; `None` if the problem has none.
    pub fn beyond_export(&self) -> Option<&'static str> {
        let tensors = &self.tensor;
        let mut texts = self.workload.iter().chain(&self.held_out);
        let keys = [
            ("struct", self.scalar_struct.is_some()),
            ("macros", !self.macros.is_empty()),
            ("accept", !self.accept.is_empty()),
            ("draw", self.scalar.iter().any(|s| s.draw.is_some())),
            ("fixed_seed", tensors.iter().any(|t| t.fixed_seed.is_some())),
            ("gates", tensors.iter().any(|t| !t.gates.is_empty())),
            ("after", tensors.iter().any(|t| !t.after.is_empty())),
            (
                "role = \"scratch\"",
                tensors.iter().any(|t| t.role == TensorRole::Scratch),
            ),
            (
                "expected",
                tensors
                    .iter()
                    .any(|t| matches!(t.values, Some(ValuesText::Expected(_)))),
            ),
            ("null", texts.clone().any(|w| !w.null.is_empty())),
            (
                "uncompared",
                texts.clone().any(|w| !w.uncompared.is_empty()),
            ),
            ("cpu", texts.any(|w| !w.cpu.is_empty())),
        ];
        keys.into_iter()
            .find_map(|(key, is_there)| is_there.then_some(key))
    }

    pub(super) fn tensor_names(&self) -> Vec<&str> {
        self.tensor.iter().map(|t| t.name.as_str()).collect()
    }

    /// The numbers of these tensors.
    pub(super) fn numbers_of(&self, names: &[String]) -> Vec<usize> {
        let number = |name: &String| self.tensor.iter().position(|t| t.name == *name);
        names.iter().filter_map(number).collect()
    }

    /// Checks the keys of a tensor that name outputs, and those that go with some roles only.
    pub(super) fn check_relations(&self, t: &TensorText) -> Result {
        let dtypes = self.concrete(t.dtype);
        let keys = [
            ("compare", t.compare.is_some(), t.is_output()),
            ("gates", !t.gates.is_empty(), t.is_compared()),
            ("after", !t.after.is_empty(), t.is_compared()),
        ];
        if let Some((key, ..)) = keys.iter().find(|(_, is_there, may)| *is_there && !may) {
            let what = format!("{key} is for outputs: nothing else is compared");
            return wrong(*key, what);
        }
        for (i, gate) in t.gates.iter().enumerate() {
            gate.check(&dtypes).item("gates", i)?;
            let mut others = self.tensor.iter().flat_map(|other| &other.gates);
            if others
                .by_ref()
                .filter(|other| other.name == gate.name)
                .count()
                > 1
            {
                return wrong("name", format!("'{}' is the name of two gates", gate.name))
                    .item("gates", i);
            }
        }
        for (i, name) in t.after.iter().enumerate() {
            self.output(name).item("after", i)?;
        }
        match (&t.values, t.fixed_seed) {
            (Some(ValuesText::Expected(_)), fixed)
                if t.role != TensorRole::In || fixed.is_some() =>
            {
                wrong(
                    "values",
                    "expected values are for an input without a fixed_seed",
                )
            }
            (Some(ValuesText::Expected(expected)), _) => {
                let found = self.output(&expected.of);
                let found = found.within("of").within("expected").within("values")?;
                match (found.dtype == t.dtype, found.shape.len() == t.shape.len()) {
                    (true, true) => Ok(()),
                    _ => wrong(
                        "values",
                        format!("'{}' has another type or shape", found.name),
                    ),
                }
            }
            (_, Some(_)) if t.role != TensorRole::In => wrong(
                "fixed_seed",
                "fixed_seed is for an input, which no launch changes",
            ),
            (Some(ValuesText::Npy(_)), Some(_)) => wrong(
                "fixed_seed",
                "the values of a file are fixed without a seed",
            ),
            _ => Ok(()),
        }
    }

    /// The output with this name.
    fn output(&self, name: &str) -> Result<&TensorText> {
        let mut outputs = self.tensor.iter().filter(|t| t.is_compared());
        match outputs.clone().find(|t| t.name == name) {
            Some(output) => Ok(output),
            None => {
                let names: Vec<&str> = outputs.by_ref().map(|t| t.name.as_str()).collect();
                let hint = suggest(name, &names);
                let what = format!("'{name}' is not an output that is compared{hint}");
                Err(KeyError::new(what))
            }
        }
    }

    /// Checks the tensors that a workload names in `null` and `uncompared`, and its number of sets.
    pub(super) fn check_uses(&self, text: &WorkloadText) -> Result {
        for (i, name) in text.null.iter().enumerate() {
            let named = self.tensor.iter().find(|t| t.name == *name);
            if named.is_none_or(|t| t.role != TensorRole::In) {
                let what = format!("null: '{name}' is not an input of the role \"in\"");
                return Err(KeyError::new(what).item("null", i));
            }
        }
        for (i, name) in text.uncompared.iter().enumerate() {
            self.output(name).of("uncompared").item("uncompared", i)?;
        }
        match text.sets {
            Some(sets) if !(1..=MOST_SETS).contains(&sets) => wrong(
                "sets",
                format!("sets = {sets}: it must be from 1 to {MOST_SETS}"),
            ),
            _ => Ok(()),
        }
    }

    /// Checks the names of `accept`, `macros` and `struct`.
    pub(super) fn check_further_names(&self) -> Result {
        let is_name = |name: &str| is_identifier(name) && !is_among(name, KEYWORDS);
        let taken = |name: &str| {
            let scalars = self.scalar.iter().map(|s| s.name.as_str());
            let views = self.tensor.iter().flat_map(|t| &t.views);
            let named = scalars.chain(views.map(|view| view.name.as_str()));
            let mut all = self.tensor_names().into_iter().chain(named);
            all.any(|known| known == name) || self.dims.iter().any(|dim| dim == name)
        };
        for (i, accept) in self.accept.iter().enumerate() {
            let name = &accept.name;
            let twice = self.accept[..i].iter().any(|other| other.name == *name);
            if !is_name(name)
                || name.bytes().any(|b| b.is_ascii_uppercase())
                || taken(name)
                || twice
            {
                let what =
                    format!("accept: '{name}' must be a lower-case name that nothing else has");
                return wrong("name", what).item("accept", i);
            }
            let (least, most) = (accept.least, accept.most);
            if least.zip(most).is_some_and(|(least, most)| least > most) || least.or(most).is_none()
            {
                let what = format!(
                    "accept '{name}': give least, most or both, and least at most as large as most"
                );
                return Err(KeyError::new(what).item("accept", i));
            }
        }
        for (name, dim) in &self.macros {
            if !is_name(name) || !self.dims.contains(dim) {
                let hint = suggest(dim, &self.dims);
                let what =
                    format!("macros: {name} = \"{dim}\": it is a name, and a dimension{hint}");
                return wrong(name.as_str(), what).within("macros");
            }
        }
        match &self.scalar_struct {
            Some(name) if !is_name(name) || self.scalar.is_empty() => wrong(
                "struct",
                format!("struct: '{name}' must be a name, and there must be scalars to hold"),
            ),
            _ => Ok(()),
        }
    }

    /// Checks that each dimension with a macro has one extent in all of these cases of a device.
    pub(super) fn check_macros(&self, all: &[&Case]) -> Result {
        for (name, dim) in &self.macros {
            for case in all {
                let other = all.iter().find(|other| {
                    let together = other.only_emulated.is_none()
                        || case.only_emulated.is_none()
                        || other.only_emulated == case.only_emulated;
                    together && other.extent(dim) != case.extent(dim)
                });
                if let Some(other) = other {
                    let what = format!(
                        "macros: {name}: '{dim}' must have one extent, because one build is for all workloads: {} and {}",
                        case.label, other.label
                    );
                    return wrong(name.as_str(), what).within("macros");
                }
            }
        }
        Ok(())
    }
}
