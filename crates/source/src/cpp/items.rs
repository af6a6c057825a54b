//! What a source declares outside of function bodies, from its tokens: functions, types, macros,
//! and the namespaces and conditions around them.
//!
//! This is no parser of C++. What it cannot read is an item without a name.

use super::directive::Directive;
use super::{Code, TokenKind};

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// An `#include` line.
    Include,
    /// A `#define` line.
    Define,
    /// `#if`, `#ifdef` or `#ifndef`.
    If,
    /// `#elif` or `#else`.
    Else,
    /// `#endif`.
    EndIf,
    /// Any other preprocessor line.
    Directive,
    /// `namespace a {` or `extern "C" {`.
    Opening,
    /// The brace that ends an [`ItemKind::Opening`].
    Closing,
    /// A function, with or without its body.
    Function,
    /// A variable or a constant.
    Variable,
    /// A class, a struct, a union or an enumeration.
    Type,
    /// `typedef`, `using a = b` or `namespace a = b`.
    Alias,
    /// `using namespace a` or `using a::b`.
    Using,
    /// A macro that is called where a declaration may stand, with the braces behind it.
    Call,
    /// Anything else, such as an explicit instantiation.
    Other,
}

/// A part of a source outside of function bodies. All positions but `start` and `end` are indices
/// of tokens.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// The names that it declares: also the enumerators of an enumeration.
    pub names: Vec<String>,
    /// The namespaces around it; one without a name is empty.
    pub path: Vec<String>,
    /// The first token.
    pub first: usize,
    /// The last token.
    pub last: usize,
    /// The first byte, with the comment before it.
    pub start: usize,
    /// The byte after the last one, with the comment behind it on its line.
    pub end: usize,
    /// The angle brackets of a template's parameters.
    pub template: Option<(usize, usize)>,
    /// The name of a function.
    pub name: Option<usize>,
    /// The brackets of a function's parameters.
    pub parameters: Option<(usize, usize)>,
    /// The braces of a function's body.
    pub body: Option<(usize, usize)>,
}

impl Item {
    /// The name of a function, or the first name that the item declares; empty if it has none.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// Whether a function is declared with this word before its parameters, such as `__global__`.
    pub fn says<T: AsRef<str>>(&self, code: &Code<T>, word: &str) -> bool {
        let end = self.parameters.map_or(self.last, |(open, _)| open);
        (self.first..end).any(|at| code.word(at) == word)
    }
}

/// The items of a source, in their order. `code` has the preprocessor lines among its tokens.
pub fn items<T: AsRef<str>>(code: &Code<T>) -> Vec<Item> {
    let mut scan = Scan {
        code,
        found: Vec::new(),
        path: Vec::new(),
        depth: 0,
    };
    scan.scope(0, code.tokens.len());
    scan.found
}

/// Most tokens of a declaration before its body, bracketed ones counted as one: a source without
/// semicolons is not read to its end at each word that may begin one.
const LONGEST: usize = 1024;

/// Most namespaces and `extern "C"` blocks within each other whose items are read.
const DEEPEST: usize = 64;

/// The index of the last name before a bracket in the declaration at `at`, attributes aside.
pub(crate) fn declared<T: AsRef<str>>(code: &Code<T>, mut at: usize) -> Option<usize> {
    let mut found = None;
    let end = code.tokens.len().min(at + LONGEST);
    while at < end {
        match code.at(at) {
            "{" | "}" | ";" | "=" => break,
            _ if code.kind(at) == Some(TokenKind::Directive) => break,
            "(" => {
                let before = at.checked_sub(1);
                // `f<float>(` of an explicit specialisation.
                let before = before.and_then(|before| match code.at(before) {
                    ">" => code.before_angles(before),
                    _ => Some(before),
                });
                let name = before.map_or("", |before| code.word(before));
                if !name.is_empty() && !NO_NAME.contains(&name) {
                    found = before;
                }
                at = code.partner(at);
            }
            "[" => at = code.partner(at),
            _ => {}
        }
        at += 1;
    }
    found
}

/// Words before a bracket that name no function.
const NO_NAME: [&str; 16] = [
    "alignas",
    "noexcept",
    "decltype",
    "requires",
    "__global__",
    "__device__",
    "__host__",
    "__launch_bounds__",
    "__cluster_dims__",
    "__maxnreg__",
    "__block_size__",
    "__align__",
    "__attribute__",
    "__attribute",
    "__declspec",
    "__typeof__",
];

struct Scan<'c, T> {
    code: &'c Code<T>,
    found: Vec<Item>,
    path: Vec<String>,
    /// Of the braces whose items are read.
    depth: usize,
}

impl<T: AsRef<str>> Scan<'_, T> {
    fn scope(&mut self, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            at = self.item(at, end).max(at + 1);
        }
    }

    /// Reads the item at a token. Returns the index of the token to go on with.
    fn item(&mut self, first: usize, end: usize) -> usize {
        let code = self.code;
        if code.kind(first) == Some(TokenKind::Directive) {
            self.directive(first);
            return first + 1;
        }
        let mut item = self.begin(ItemKind::Other, first, first);
        let mut at = first;
        while code.at(at) == "template" && code.at(at + 1) == "<" {
            let after = code.after_angles(at + 1, end);
            item.template = Some((at + 1, after - 1));
            at = after;
        }
        match code.at(at) {
            ";" => {
                let end = self.line_end(at);
                self.found
                    .iter_mut()
                    .next_back()
                    .into_iter()
                    .for_each(|item| item.end = end);
                at + 1
            }
            "namespace" | "inline" if self.opens_namespace(at, end).is_some() => {
                self.namespace(at, end)
            }
            "extern" if code.at(at + 1) == "\"C\"" && code.at(at + 2) == "{" => {
                self.braces(at, at + 2, end, &[])
            }
            "using" | "typedef" | "namespace" => self.alias(item, at, end),
            "template" | "static_assert" => {
                self.push(item, code.after_semicolon(at, end).saturating_sub(1))
            }
            "struct" | "class" | "union" | "enum" if self.is_type(at, end) => {
                self.type_item(item, at, end)
            }
            word if code.at(at + 1) == "("
                && !code.word(at).is_empty()
                && !NO_NAME.contains(&word) =>
            {
                self.call(item, at)
            }
            _ => self.declaration(item, at, end),
        }
    }

    fn begin(&self, kind: ItemKind, first: usize, last: usize) -> Item {
        Item {
            kind,
            names: Vec::new(),
            path: self.path.clone(),
            first,
            last,
            // A brace that another branch of `#if` closes makes an item reach too far.
            start: (self.found.last().map_or(0, |before| before.end))
                .min(self.code.tokens[first].start),
            end: 0,
            template: None,
            name: None,
            parameters: None,
            body: None,
        }
    }

    /// Adds an item whose last token is at `last`. Returns the index of the token after it.
    fn push(&mut self, mut item: Item, last: usize) -> usize {
        let last = last.clamp(item.first, self.code.tokens.len() - 1);
        item.last = last;
        item.end = self.line_end(last);
        self.found.push(item);
        last + 1
    }

    /// The end of a token, with the comment behind it if that ends with the line.
    fn line_end(&self, token: usize) -> usize {
        let end = self.code.tokens[token].end;
        let text = &self.code.text.as_ref()[end..];
        let rest = text.lines().next().unwrap_or_default();
        let comment = rest.trim();
        let is_whole = comment.starts_with("//")
            || (comment.starts_with("/*") && comment.find("*/") == Some(comment.len() - 2));
        if is_whole { end + rest.len() } else { end }
    }

    fn directive(&mut self, at: usize) {
        let code = self.code;
        let text = code.at(at);
        let directive = Directive::parse(text);
        let kind = match directive.map_or("", |directive| directive.name) {
            "include" => ItemKind::Include,
            "define" => ItemKind::Define,
            "if" | "ifdef" | "ifndef" => ItemKind::If,
            "elif" | "else" | "elifdef" | "elifndef" => ItemKind::Else,
            "endif" => ItemKind::EndIf,
            _ => ItemKind::Directive,
        };
        let mut item = self.begin(kind, at, at);
        if kind == ItemKind::Define {
            let rest = directive.map_or("", |directive| directive.rest);
            let name = rest
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next();
            item.names.extend(name.map(str::to_owned));
        }
        self.push(item, at);
    }

    /// The index of the brace that opens the namespace at `at`.
    fn opens_namespace(&self, at: usize, end: usize) -> Option<usize> {
        let keyword = at + usize::from(self.code.at(at) == "inline");
        let is_namespace = self.code.at(keyword) == "namespace";
        let end = end.min(keyword + LONGEST);
        let stop = (keyword..end).find(|i| matches!(self.code.at(*i), "{" | ";" | "="));
        stop.filter(|i| is_namespace && self.code.at(*i) == "{")
    }

    fn namespace(&mut self, at: usize, end: usize) -> usize {
        let Some(open) = self.opens_namespace(at, end) else {
            return at + 1;
        };
        let names = (at..open).map(|i| self.code.word(i));
        let names = names.filter(|word| !["", "namespace", "inline"].contains(word));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        if names.is_empty() {
            names.push(String::new());
        }
        self.braces(at, open, end, &names)
    }

    /// Reads what stands between braces as items of their own.
    fn braces(&mut self, first: usize, open: usize, end: usize, path: &[String]) -> usize {
        let close = self.code.partner(open).min(end);
        let opening = self.begin(ItemKind::Opening, first, open);
        self.push(opening, open);
        self.path.extend_from_slice(path);
        if self.depth < DEEPEST {
            self.depth += 1;
            self.scope(open + 1, close);
            self.depth -= 1;
        }
        self.path.truncate(self.path.len() - path.len());
        if close < self.code.tokens.len() {
            let closing = self.begin(ItemKind::Closing, close, close);
            self.push(closing, close);
        }
        close + 1
    }

    fn alias(&mut self, mut item: Item, at: usize, end: usize) -> usize {
        let code = self.code;
        let stop = code.statement_end(at, end);
        let equals = (at..stop).find(|i| code.at(*i) == "=");
        item.kind = ItemKind::Alias;
        match (code.at(at), equals) {
            ("typedef", _) => {
                // The name in `typedef float (*F)(float)`.
                let pointer = (at..stop).find(|i| code.at(*i) == "(" && code.at(i + 1) == "*");
                let name = pointer.map_or_else(|| code.word(stop - 1), |open| code.word(open + 2));
                item.names.push(name.to_owned());
                if code.at(at + 1) == "enum" {
                    item.names.extend(self.enumerators(at, stop));
                }
            }
            (_, Some(equals)) => item.names.push(code.word(equals - 1).to_owned()),
            _ => item.kind = ItemKind::Using,
        }
        self.push(item, stop)
    }

    /// Whether `struct` and its like begin a type, and not a function that returns one.
    fn is_type(&self, at: usize, end: usize) -> bool {
        let mut i = at + 1;
        while i < end {
            match self.code.at(i) {
                "{" | ";" => return true,
                "(" if !NO_NAME.contains(&self.code.word(i - 1)) => return false,
                "(" => i = self.code.partner(i),
                _ => {}
            }
            i += 1;
        }
        false
    }

    fn type_item(&mut self, mut item: Item, at: usize, end: usize) -> usize {
        let code = self.code;
        let open = (at..end).find(|i| matches!(code.at(*i), "{" | ";" | ":"));
        let open = open.unwrap_or(end);
        // A specialisation has the name of its template.
        let name = (at..open).rev().filter(|i| !code.word(*i).is_empty());
        let angle = (at..open).find(|i| code.at(*i) == "<").unwrap_or(open);
        let name = name.filter(|i| *i < angle && code.word(*i) != "final");
        item.names
            .extend(name.take(1).map(|i| code.word(i).to_owned()));
        let brace = (open..end).find(|i| matches!(code.at(*i), "{" | ";"));
        if brace.is_some() && code.at(at) == "enum" {
            item.names.extend(self.enumerators(at, end));
        }
        item.kind = ItemKind::Type;
        self.push(item, code.after_semicolon(at, end).saturating_sub(1))
    }

    /// The names in the braces of the enumeration at `at`.
    fn enumerators(&self, at: usize, end: usize) -> Vec<String> {
        let code = self.code;
        let brace = (at..end).find(|i| matches!(code.at(*i), "{" | ";"));
        let Some(brace) = brace.filter(|i| code.at(*i) == "{") else {
            return Vec::new();
        };
        let words = (brace + 1..code.partner(brace))
            .filter(|i| matches!(code.at(i - 1), "{" | ",") && !code.word(*i).is_empty());
        words.map(|i| code.word(i).to_owned()).collect()
    }

    /// A macro with arguments where a declaration may stand, as `PYBIND11_MODULE(a, b) {…}`.
    fn call(&mut self, mut item: Item, at: usize) -> usize {
        let code = self.code;
        item.kind = ItemKind::Call;
        item.names.push(code.word(at).to_owned());
        let close = code.partner(at + 1);
        let last = match code.at(close + 1) {
            "{" => code.partner(close + 1),
            ";" => close + 1,
            _ => close,
        };
        self.push(item, last)
    }

    fn declaration(&mut self, mut item: Item, at: usize, end: usize) -> usize {
        let code = self.code;
        let is_operator = |from: usize, to: usize| (from..to).any(|i| code.word(i) == "operator");
        if let Some(name) = declared(code, at).filter(|name| *name < end) {
            let open = match code.at(name + 1) {
                "<" => code.after_angles(name + 1, end),
                _ => name + 1,
            };
            let close = code.partner(open);
            let after =
                (close + 1..end).find(|i| matches!(code.at(*i), "{" | ";" | "=") || *i == end);
            let after = after.unwrap_or(end);
            item.kind = ItemKind::Function;
            item.names.push(code.word(name).to_owned());
            item.name = Some(name);
            item.parameters = Some((open, close));
            if code.at(after) != "{" {
                return self.push(item, code.after_semicolon(after, end).saturating_sub(1));
            }
            let last = code.partner(after);
            item.body = Some((after, last));
            return self.push(item, last);
        }
        let stop = (at..end).find(|i| matches!(code.at(*i), ";" | "{" | "="));
        let stop = stop.unwrap_or(end);
        if is_operator(at, stop) {
            item.kind = ItemKind::Function;
            item.names.push("operator".to_owned());
            let brace = (at..end).find(|i| matches!(code.at(*i), "{" | ";"));
            let last = brace.map_or(end.saturating_sub(1), |brace| {
                code.partner(brace).max(brace)
            });
            return self.push(item, if code.at(last) == "}" { last } else { stop });
        }
        item.kind = ItemKind::Variable;
        let last = code.after_semicolon(at, end).saturating_sub(1);
        item.names = self.variables(at, last);
        self.push(item, last)
    }

    /// The names in `const int a = 1, b[2];`.
    fn variables(&self, first: usize, last: usize) -> Vec<String> {
        let code = self.code;
        let mut names = Vec::new();
        let (mut at, mut in_value) = (first, false);
        while at <= last {
            match code.at(at) {
                "=" | "[" | "{" | ";" | "," if at > first => {
                    let name = code.word(at - 1);
                    if !in_value && !name.is_empty() {
                        names.push(name.to_owned());
                    }
                    in_value = code.at(at) != ",";
                }
                _ => {}
            }
            at = match code.at(at) {
                "(" | "[" | "{" => code.partner(at).max(at) + 1,
                "<" if !code.word(at.saturating_sub(1)).is_empty() && !in_value => {
                    code.after_angles(at, last)
                }
                _ => at + 1,
            };
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(ItemKind, String)> {
        let code = Code::new(source, true);
        let found = items(&code).into_iter();
        found
            .map(|item| (item.kind, item.names.join(" ")))
            .collect()
    }

    #[test]
    fn each_declaration_is_an_item_with_its_names() {
        use ItemKind::*;
        let source = "#include <a.h>\n#define N(x) 1\nnamespace a::b {\ntemplate <typename T, int K = 3>\n\
            __global__ void __launch_bounds__(64) k(const T* x, T* y) { if (x) { y[0] = x[0]; } }\n}  // namespace\n\
            template <class T>\n__launch_bounds__(64, 2) __global__ void first(T* x) {}\n\
            __device__ int __own(int x) { return x; }\ntypedef enum K { L, M } K;\n\
            __constant__ float c[N(1)], d = 2;\nstruct alignas(16) P { float v[4]; };\nenum E { A, B = 2 };\n\
            typedef float (*F)(float);\nusing T = float;\nusing namespace a;\nBINDING(f, g)\nBINDING(h, i);\n\
            PYBIND11_MODULE(NAME, m) { m.def(1); }\n__device__ P operator+(P a, P b) { return a; }\n\
            template void k<float>(const float*);\nint main() { return 0; }\n";
        let wanted = [
            (Include, ""),
            (Define, "N"),
            (Opening, ""),
            (Function, "k"),
            (Closing, ""),
            (Function, "first"),
            (Function, "__own"),
            (Alias, "K L M"),
            (Variable, "c d"),
            (Type, "P"),
            (Type, "E A B"),
            (Alias, "F"),
            (Alias, "T"),
            (Using, ""),
            (Call, "BINDING"),
            (Call, "BINDING"),
            (Call, "PYBIND11_MODULE"),
            (Function, "operator"),
            (Other, ""),
            (Function, "main"),
        ];
        assert_eq!(kinds(source), wanted.map(|(k, n)| (k, n.to_owned())));
    }

    #[test]
    fn an_item_has_the_comments_before_it_and_behind_it() {
        let source = "int a; // one\n// two\nint b; /* three\n */ int c;\n";
        let code = Code::new(source, true);
        let texts = items(&code).into_iter();
        let texts: Vec<&str> = texts
            .map(|item| source[item.start..item.end].trim())
            .collect();
        assert_eq!(
            texts,
            ["int a; // one", "// two\nint b;", "/* three\n */ int c;"]
        );
    }

    #[test]
    fn a_source_that_ends_early_is_read_as_far_as_it_goes() {
        for source in [
            "template <",
            "namespace {",
            "void f(",
            "struct",
            "using",
            "typedef",
            "k<<<",
        ] {
            kinds(source);
        }
    }
}
