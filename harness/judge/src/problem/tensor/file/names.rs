//! Which names the dimensions, tensors and scalars of a problem.toml may have.

use super::super::spec::TensorRole;
use super::text::{ProblemFile, TensorText};
use crate::problem::key_error::{InKey, KeyError, Result, wrong};
use lab_protocol::text::{is_among, is_identifier};

/// The variable that holds the bytes of the type parameter.
pub const SIZE_OF_T: &str = "sizeof_T";

impl ProblemFile {
    /// Checks the names of dimensions, tensors and scalars.
    pub(super) fn check_names(&self) -> Result {
        if self.dims.is_empty() {
            let what = "dims: name at least one dimension, as in dims = [\"n\"]";
            return wrong("dims", what);
        }
        let dims = self.dims.iter().enumerate().map(|(i, n)| ("dims", i, n));
        let tensors = self.tensor.iter().enumerate().flat_map(|(i, t)| {
            let views = t.views.iter().map(|view| &view.name);
            let names = std::iter::once(&t.name).chain(views);
            names.map(move |name| ("tensor", i, name))
        });
        let scalars = self.scalar.iter().enumerate();
        let scalars = scalars.map(|(i, s)| ("scalar", i, &s.name));
        let mut seen: Vec<&str> = Vec::new();
        for (kind, i, name) in dims.chain(tensors).chain(scalars) {
            // Members of a struct have a scope of their own.
            if kind == "scalar" && i == 0 && self.scalar_struct.is_some() {
                seen.clear();
            }
            let what = if !is_identifier(name) {
                "is not a name: use letters, digits and _, and no digit first"
            } else if name == "T" && !self.types.is_empty() {
                "is the type parameter of types: choose another name"
            } else if matches!(name.as_str(), "E" | "PI" | "TAU" | SIZE_OF_T) {
                "is reserved: choose another name"
            } else if is_among(name, KEYWORDS) {
                "is a word of C++: choose another name"
            } else if seen.contains(&name.as_str()) {
                "is given twice"
            } else {
                seen.push(name);
                continue;
            };
            let error = KeyError::new(format!("{kind}: '{name}' {what}"));
            return Err(match kind {
                "dims" => error.item(kind, i),
                _ => error.within("name").item(kind, i),
            });
        }
        // Result lines are named after outputs, and keys of result lines are lower case.
        let shouting = |t: &TensorText| {
            t.role != TensorRole::In && t.name.bytes().any(|b| b.is_ascii_uppercase())
        };
        let Some(i) = self.tensor.iter().position(shouting) else {
            return Ok(());
        };
        let name = &self.tensor[i].name;
        let what = format!("tensor: the name of an output must be lower case, unlike '{name}'");
        wrong("name", what).item("tensor", i)
    }
}

/// The words of C++20 that name nothing else.
pub const KEYWORDS: &str = "\
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t \
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast \
    consteval constexpr constinit continue decltype default delete do double dynamic_cast else \
    enum explicit export extern false float for friend goto if inline int long mutable \
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public \
    register reinterpret_cast requires return short signed sizeof static static_assert \
    static_cast struct switch template this thread_local throw true try typedef typeid \
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq";
