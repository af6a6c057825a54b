//! What a function's declaration says of its parameters and of its template's parameters.

use super::items::Item;
use super::{Code, TokenKind};

/// A parameter of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type without `const`, `*`, `&` and `__restrict__`, as in `unsigned int` or `a::b<4>`.
    pub base: String,
    /// How many `*` it has; the brackets of an array count as one.
    pub pointers: usize,
    /// Whether what it points to, or the value, is `const`.
    pub is_const: bool,
    /// Whether it is a reference.
    pub is_reference: bool,
}

/// A parameter of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateParameter {
    /// Its name; empty if it has none.
    pub name: String,
    /// Whether a type stands for it.
    pub is_type: bool,
    /// What declares it before its name, as `const int` or `typename`.
    pub declared: String,
    /// What it is if the use does not say so.
    pub default: Option<String>,
}

/// Words of a parameter's type that do not change it.
const QUALIFIERS: [&str; 10] = [
    "const",
    "volatile",
    "__restrict__",
    "__restrict",
    "restrict",
    "__grid_constant__",
    "struct",
    "enum",
    "typename",
    "register",
];

/// Words that are types or parts of them, and no names.
const TYPE_WORDS: [&str; 10] = [
    "int", "float", "double", "char", "long", "short", "unsigned", "signed", "bool", "void",
];

impl<T: AsRef<str>> Code<T> {
    /// The ranges of tokens between the commas of `start..end`, outside of brackets. `with_angles`
    /// counts angle brackets too.
    pub fn split(&self, start: usize, end: usize, with_angles: bool) -> Vec<(usize, usize)> {
        let (mut parts, mut begin, mut at, mut angles) = (Vec::new(), start, start, 0usize);
        while at < end {
            match self.at(at) {
                "," if angles == 0 => {
                    parts.push((begin, at));
                    begin = at + 1;
                }
                "(" | "[" | "{" => at = self.partner(at).max(at),
                "<" if with_angles => angles += 1,
                ">" if with_angles => angles = angles.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        if begin < end {
            parts.push((begin, end));
        }
        parts
    }

    /// The text of a range of tokens, with one blank for any white space and comment.
    pub fn spelled(&self, start: usize, end: usize) -> String {
        let mut spelled = String::new();
        for at in start..end.min(self.tokens.len()) {
            let has_gap = at > start && self.tokens[at - 1].end < self.tokens[at].start;
            if has_gap {
                spelled.push(' ');
            }
            spelled += self.at(at);
        }
        spelled
    }

    /// The parameters of a function.
    pub fn parameters(&self, item: &Item) -> Vec<Parameter> {
        let Some((open, close)) = item.parameters else {
            return Vec::new();
        };
        let parts = self.split(open + 1, close, true).into_iter();
        let all: Vec<Parameter> = parts.map(|(from, to)| self.parameter(from, to)).collect();
        // `(void)`
        match all.as_slice() {
            [only] if only.base == "void" && only.pointers == 0 => Vec::new(),
            _ => all,
        }
    }

    /// The fields of a struct or a class, each with its first token. An array has its brackets in its
    /// base, as `float[4]`.
    pub fn fields(&self, item: &Item) -> Vec<(Parameter, usize)> {
        let open = (item.first..item.last).find(|at| self.at(*at) == "{");
        open.map_or_else(Vec::new, |open| self.fields_in(open))
    }

    /// The fields between the bracket at this token and its partner. Those of a struct or union without
    /// a name and without a variable are fields as well.
    pub fn fields_in(&self, open: usize) -> Vec<(Parameter, usize)> {
        let (mut found, mut from, mut at) = (Vec::new(), open + 1, open + 1);
        while at < self.partner(open) {
            let ends = match self.at(at) {
                ";" => {
                    let is_nameless = matches!(self.at(from), "struct" | "union")
                        && self.at(from + 1) == "{"
                        && self.partner(from + 1) + 1 == at;
                    found.extend(match is_nameless {
                        true => self.fields_in(from + 1),
                        false => self.declared_fields(from, at),
                    });
                    true
                }
                // `public:`, and a preprocessor line.
                ":" if at == from + 1 => self.at(at + 1) != ":",
                // The body of a function.
                "{" if (from..at).any(|at| self.at(at) == "(") => {
                    at = self.partner(at);
                    true
                }
                "(" | "[" | "{" => {
                    at = self.partner(at);
                    false
                }
                _ => self.kind(at) == Some(TokenKind::Directive),
            };
            at += 1;
            if ends {
                from = at;
            }
        }
        found
    }

    /// The fields of the declaration `from..to`, as `const float *a, *b`.
    fn declared_fields(&self, from: usize, to: usize) -> Vec<(Parameter, usize)> {
        const NO_FIELD: [&str; 6] = [
            "static",
            "using",
            "typedef",
            "friend",
            "template",
            "constexpr",
        ];
        let value = (from..to).find(|at| self.at(*at) == "=").unwrap_or(to);
        let call = (from..value).find(|at| self.at(*at) == "(");
        // A pointer to a function is a field, of a type that nobody else knows.
        let is_function = call.is_some_and(|open| self.at(open + 1) != "*");
        let is_type = match self.at(from) {
            "enum" => true,
            "struct" | "class" | "union" => !self.word(from + 1).is_empty(),
            _ => false,
        };
        let only_type = is_type && to > from && self.at(to - 1) == "}";
        if is_function || only_type || NO_FIELD.contains(&self.at(from)) {
            return Vec::new();
        }
        let mut found: Vec<(Parameter, usize)> = Vec::new();
        for (first, end) in self.split(from, to, true) {
            let set = (first + 2..end).find(|at| matches!(self.at(*at), "=" | "{"));
            let end = set.unwrap_or(end);
            let array = (first..end).find(|at| self.at(*at) == "[");
            let mut words = (first..end).map(|at| self.word(at));
            let mut field = match found.first() {
                None => self.parameter(first, array.unwrap_or(end)),
                Some((before, _)) => Parameter {
                    pointers: (first..end).filter(|at| self.at(*at) == "*").count(),
                    name: words.find(|word| !word.is_empty()).unwrap_or("").to_owned(),
                    base: before.base.split('[').next().unwrap_or("").to_owned(),
                    ..before.clone()
                },
            };
            if let Some(open) = call {
                field = Parameter {
                    name: self.word(open + 2).to_owned(),
                    base: self.spelled(from, to),
                    ..Parameter::default()
                };
            } else if let Some(array) = array {
                field.base += &self.spelled(array, end);
            }
            found.push((field, first));
        }
        found
    }

    /// The parameter, or the type alone, that the tokens `from..to` declare.
    pub fn parameter(&self, mut from: usize, to: usize) -> Parameter {
        // `[[maybe_unused]] int n`
        while self.at(from) == "[" && self.at(from + 1) == "[" {
            from = self.partner(from).max(from) + 1;
        }
        let to = (from..to).find(|at| self.at(*at) == "=").unwrap_or(to);
        let array = (from..to).find(|at| self.at(*at) == "[" && *at > from);
        let end = array.unwrap_or(to);
        let words = |at: &usize| !self.word(*at).is_empty();
        let is_base = |at: &usize| words(at) && !QUALIFIERS.contains(&self.word(*at));
        let last = (from..end).rev().find(is_base);
        let is_name = |at: &usize| {
            let qualified = *at > from && self.at(at - 1) == ":";
            let has_type = (from..*at).any(|before| is_base(&before));
            has_type && !qualified && !TYPE_WORDS.contains(&self.word(*at))
        };
        let name = last.filter(is_name);
        let (mut found, mut at) = (Parameter::default(), from);
        found.pointers = usize::from(array.is_some());
        while at < end {
            match self.at(at) {
                "const" if found.pointers == usize::from(array.is_some()) => found.is_const = true,
                "*" => found.pointers += 1,
                "&" => found.is_reference = true,
                word if QUALIFIERS.contains(&word) || Some(at) == name => {}
                "<" => {
                    let after = self.after_angles(at, end);
                    found.base += &self.spelled(at, after);
                    at = after;
                    continue;
                }
                text => {
                    let joins = found.base.is_empty() || text == ":" || found.base.ends_with(':');
                    found.base += if joins { "" } else { " " };
                    found.base += text;
                }
            }
            at += 1;
        }
        found.name = name.map_or_else(String::new, |at| self.word(at).to_owned());
        found
    }

    /// The parameters of a template.
    pub fn template_parameters(&self, item: &Item) -> Vec<TemplateParameter> {
        let Some((open, close)) = item.template else {
            return Vec::new();
        };
        let parts = self.split(open + 1, close, true).into_iter();
        let read = |(from, to): (usize, usize)| {
            let equals = (from..to).find(|at| self.at(*at) == "=");
            let end = equals.unwrap_or(to);
            // The name in `T (*ACT)(T)`.
            let pointer = (from..end).find(|at| self.at(*at) == "(" && self.at(at + 1) == "*");
            let last = pointer.map_or_else(|| end.saturating_sub(1), |open| open + 2);
            let name = self.word(last).to_owned();
            let is_type = matches!(self.at(from), "typename" | "class");
            let is_name = last > from && !TYPE_WORDS.contains(&name.as_str());
            TemplateParameter {
                declared: self.spelled(from, if is_name { last } else { end }),
                name: if is_name { name } else { String::new() },
                is_type,
                default: equals.map(|equals| self.spelled(equals + 1, to)),
            }
        };
        parts.map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::cpp::Code;
    use crate::cpp::items::items;

    #[test]
    fn fields_have_names_types_and_extents() {
        let source = "struct P : Q {\npublic:\n const float *a, *b = nullptr;\n int n{0}, m[2][3];\n#ifdef X\n enum Mode mode;\n#endif\n\
            enum { A, B };\n static int s;\n int size() const { return n; }\n void (*f)(int);\n P();\n struct { int x; } inner;\n union { float u; struct { short v; }; };\n std::array<int, 2> r; };";
        let code = Code::new(source, true);
        let fields = code.fields(&items(&code)[0]).into_iter();
        let fields: Vec<String> = fields
            .map(|(p, _)| format!("{}{} {}", p.base, "*".repeat(p.pointers), p.name))
            .collect();
        assert_eq!(
            fields,
            [
                "float* a",
                "float* b",
                "int n",
                "int[2][3] m",
                "Mode mode",
                "void (*f)(int) f",
                "{ int x ; } inner",
                "float u",
                "short v",
                "std::array<int, 2> r"
            ]
        );
    }

    #[test]
    fn parameters_have_names_types_and_pointers() {
        let source = "template <typename T, const int K = 256, bool B, T (*F)(T)>\n\
            __global__ void k(T* __restrict__ out, const float *const in, int64_t n, unsigned int m,\n\
                              std::array<int, 2> a, const int (&r)[3], float x[], int d = 4) {}";
        let code = Code::new(source, true);
        let item = &items(&code)[0];
        let parameters = code.parameters(item).into_iter().map(|p| {
            let marks = (
                if p.is_const { "const " } else { "" },
                "*".repeat(p.pointers),
            );
            format!("{}{}{} {}", marks.0, p.base, marks.1, p.name)
        });
        let parameters: Vec<String> = parameters.collect();
        assert_eq!(
            (&parameters[..5], &parameters[6..]),
            (
                &[
                    "T* out",
                    "const float* in",
                    "int64_t n",
                    "unsigned int m",
                    "std::array<int, 2> a"
                ]
                .map(str::to_owned)[..],
                &["float* x", "int d"].map(str::to_owned)[..]
            )
        );
        let template = code.template_parameters(item);
        let names: Vec<&str> = template.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["T", "K", "B", "F"]);
        assert_eq!(template[1].default.as_deref(), Some("256"));
        assert_eq!((template[0].is_type, template[2].is_type), (true, false));
    }
}
