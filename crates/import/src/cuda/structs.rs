//! Structs and enumerations of a published source: as parameters of a kernel, and as the elements of
//! a pointer.

use super::host::number;
use super::kernel::{Kernel, TemplateArgument};
use super::origin::Origin;
use super::slice::Slice;
use super::types::{self, Element};
use super::unit::{Place, Source, Unit, replaced, with_word};
use lab_source::cpp::items::{Item, ItemKind};
use lab_source::cpp::signature::Parameter;
use lab_source::cpp::{Code, words};

/// An argument whose kind is not known yet.
pub type Leaf = (Parameter, Origin);

/// Most structs that lie in one another.
const DEEPEST: usize = 3;

/// The names of the numbers in a vector such as `float4`.
const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// Most cells of an array in a struct.
const MOST_CELLS: usize = 1 << 16;

impl Kernel {
    /// The parameters, with the fields that the kernel uses in the place of structs.
    pub fn leaves(&mut self, unit: &Unit) -> Vec<Leaf> {
        let (source, item) = unit.item(self.place);
        let line = unit.line(self.place);
        let mut leaves = Vec::new();
        for (position, parameter) in source.code.parameters(item).into_iter().enumerate() {
            let origin = Origin {
                position,
                path: vec![parameter.name.clone()],
                index: 0,
                line,
            };
            self.add_leaves(unit, (parameter, origin), &mut leaves);
        }
        let slice = Slice::of(unit, &[self.place], &[]);
        let kept = unit.places().filter(|place| slice.keeps(*place));
        let kept = kept.map(|place| unit.item(place));
        let all: Vec<&str> = kept
            .flat_map(|(source, item)| words(&source.code.text[item.start..item.end]))
            .collect();
        // A field that only its struct names stays as it is made. A vector may be used as a whole.
        leaves.retain(|(parameter, origin)| {
            let uses = all.iter().filter(|word| **word == parameter.name);
            let is_part = origin.path.last() != Some(&parameter.name);
            !origin.is_field() || is_part || uses.count() > 1
        });
        leaves
    }

    fn add_leaves(&mut self, unit: &Unit, (parameter, origin): Leaf, found: &mut Vec<Leaf>) {
        let base = self.resolved(unit, &parameter.base);
        let is_value = parameter.pointers == 0 && origin.path.len() <= DEEPEST;
        let parts = is_value.then(|| self.parts(unit, &base, origin.line));
        let Some(parts) = parts.flatten() else {
            return found.push((parameter, origin));
        };
        let is_vector = types::element(&base).is_some();
        for (index, (mut field, line)) in parts.into_iter().enumerate() {
            let mut path = origin.path.clone();
            path.push(field.name.clone());
            if is_vector {
                field.name = format!("{}_{}", parameter.name, field.name);
            }
            let origin = Origin {
                position: origin.position,
                path,
                index,
                line,
            };
            self.add_leaves(unit, (field, origin), found);
        }
    }

    /// The numbers of a vector, or the fields of a struct, also of one without a name. `None` if a value
    /// has neither.
    fn parts(&mut self, unit: &Unit, base: &str, line: usize) -> Option<Vec<(Parameter, usize)>> {
        if let Some(vector) = types::element(base).filter(|of| of.width > 1) {
            let part = |name: &&str| Parameter {
                name: (*name).to_owned(),
                base: vector.cpp.to_owned(),
                ..Parameter::default()
            };
            let parts = PARTS.iter().take(vector.width).map(part);
            return Some(parts.map(|part| (part, line)).collect());
        }
        let base = base.strip_prefix("union ").unwrap_or(base);
        if base.starts_with('{') {
            let fields = Code::new(base, false).fields_in(0).into_iter();
            return Some(fields.map(|(field, _)| (field, line)).collect());
        }
        let place = unit.type_of(base).filter(|of| !is_enumeration(unit, *of))?;
        self.bind(unit, place, base);
        Some(unit.fields(place))
    }

    /// Notes what the parameters of a struct's template are in `Params<float, 4>`.
    fn bind(&mut self, unit: &Unit, place: Place, base: &str) {
        let (source, item) = unit.item(place);
        let code = Code::new(base, false);
        let open = (0..code.tokens.len()).find(|at| code.at(*at) == "<");
        let Some(open) = open else { return };
        let parts = code.split(open + 1, code.tokens.len() - 1, true);
        let names = source.code.template_parameters(item).into_iter();
        for (parameter, (from, to)) in names.zip(parts) {
            let text = self.with_arguments(&code.spelled(from, to));
            self.bound.push(TemplateArgument {
                name: parameter.name,
                text,
                is_guess: false,
            });
        }
    }

    /// The kernel's body, and those of functions that get a struct of its parameters, in which a
    /// field is one word.
    pub fn flat_body(&self, unit: &Unit, leaves: &[Leaf]) -> Code<String> {
        let (source, item) = unit.item(self.place);
        let own = source.code.parameters(item);
        let is_struct = |name: &str| {
            let mut fields = leaves.iter().filter(|(_, origin)| origin.is_field());
            fields.any(|(_, origin)| origin.path[0] == name)
        };
        let mut text = body(source, item);
        let used: Vec<&str> = words(&source.code.text[item.start..item.end]);
        for place in unit.places().filter(|place| *place != self.place) {
            let (source, item) = unit.item(place);
            if item.kind != ItemKind::Function || !used.contains(&item.name()) {
                continue;
            }
            let given = source.code.parameters(item).into_iter().find_map(|given| {
                let is_same = |of: &&Parameter| of.base == given.base || of.name == given.name;
                let own = own.iter().filter(|of| is_struct(&of.name)).find(is_same)?;
                Some((given.name, &own.name))
            });
            if let Some((name, own)) = given {
                text += &with_word(&body(source, item), &name, own);
            }
        }
        let is_path = |code: &Code<&str>, at: usize| {
            leaves.iter().any(|(_, origin)| {
                (1..origin.path.len()).any(|depth| {
                    let mut names = origin.path[..=depth].iter().enumerate();
                    let start = (at + 1).checked_sub(2 * depth);
                    start.is_some_and(|start| names.all(|(i, name)| code.at(start + 2 * i) == name))
                })
            })
        };
        let is_field = |code: &Code<&str>, at: usize| code.at(at) == "." && is_path(code, at);
        let flat = replaced(&text, |code, at| is_field(code, at).then(|| "_".to_owned()));
        Code::new(flat, true)
    }

    /// The first enumerator of a parameter's type, and its value.
    pub fn first_of(&self, unit: &Unit, parameter: &Parameter) -> Option<(String, i128)> {
        let place = unit.type_of(&self.resolved(unit, &parameter.base))?;
        let (source, item) = unit.item(place);
        let code = &source.code;
        let open = (item.first..item.last).find(|at| code.at(*at) == "{")?;
        let (first, end) = *code.split(open + 1, code.partner(open), false).first()?;
        let value = match code.at(first + 1) {
            "=" => number(unit, &code.spelled(first + 2, end))?,
            _ => 0,
        };
        let is_value = parameter.pointers == 0 && is_enumeration(unit, place);
        is_value.then(|| (format!("{} of {}", code.at(first), item.name()), value))
    }

    /// The element of a pointer to a type.
    pub fn element(&self, unit: &Unit, base: &str) -> Option<Element> {
        let base = self.resolved(unit, base);
        types::element(&base).or_else(|| self.packed(unit, &base))
    }

    /// The element of a pointer to a struct: the type of its fields if all have one, else bytes.
    fn packed(&self, unit: &Unit, base: &str) -> Option<Element> {
        let place = unit.type_of(base).filter(|of| !is_enumeration(unit, *of))?;
        let mut parts: Vec<Element> = Vec::new();
        let (source, item) = unit.item(place);
        let is_aligned = |at: &usize| ["alignas", "__align__"].contains(&source.code.word(*at));
        let aligned = (item.first..item.last).find(is_aligned);
        let aligned = aligned.and_then(|at| source.code.at(at + 2).parse().ok());
        let (mut size, mut most) = (0, aligned.unwrap_or(1).max(1));
        for (field, _) in unit.fields(place) {
            let (base, extents) = field.base.split_once('[').unwrap_or((&field.base, ""));
            let mut counts = extents.split(['[', ']']).filter(|text| !text.is_empty());
            let count = counts.try_fold(1, |count: usize, text| {
                count.checked_mul(usize::try_from(number(unit, text)?).ok()?)
            });
            let count = count.filter(|count| *count <= MOST_CELLS)?;
            let part =
                types::element(&self.resolved(unit, base)).filter(|_| field.pointers == 0)?;
            let bytes = part.bytes() * part.width;
            let align = if part.width == 3 { part.bytes() } else { bytes };
            size = usize::next_multiple_of(size, align) + bytes * count;
            most = most.max(align);
            parts.push(part);
        }
        let size = size.next_multiple_of(most);
        let part = parts.first()?.clone();
        let is_one = parts.iter().all(|other| other.name == part.name);
        let bytes = types::element("unsigned char").filter(|_| !is_one);
        let of = bytes.unwrap_or(part);
        Some(Element {
            width: size / of.bytes(),
            is_cast: true,
            packed: (!is_one).then(|| base.to_owned()),
            ..of
        })
    }

    /// The element of the first type to which the body casts a pointer of this name.
    pub fn first_cast(&self, unit: &Unit, name: &str) -> Option<Element> {
        let code = &self.body;
        let mut uses = (2..code.tokens.len()).filter(|at| code.word(*at) == name);
        uses.find_map(|at| {
            let (from, to) = match code.at(at - 1) {
                ")" => (code.partner(at - 1) + 1, at - 1),
                "(" if code.at(at - 2) == ">" => (code.before_angles(at - 2)? + 2, at - 2),
                _ => return None,
            };
            let cast = code.parameter(from, to);
            let element = self
                .element(unit, &cast.base)
                .filter(|_| cast.pointers == 1)?;
            Some(Element {
                is_cast: true,
                ..element
            })
        })
    }
}

/// The text of a function's body.
fn body(source: &Source, item: &Item) -> String {
    let tokens = &source.code.tokens;
    let text =
        |(open, close): (usize, usize)| &source.code.text[tokens[open].start..tokens[close].end];
    item.body.map(text).unwrap_or_default().to_owned()
}

fn is_enumeration(unit: &Unit, place: Place) -> bool {
    let (source, item) = unit.item(place);
    (item.first..item.first + 2).any(|at| source.code.at(at) == "enum")
}
