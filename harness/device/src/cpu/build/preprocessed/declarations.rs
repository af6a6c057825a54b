//! The functions and variables that a unit declares outside of function bodies, found from its
//! tokens.
//!
//! This is no parser of C++. If it misreads a declaration, the only effect is a mark that the
//! compiler never reports, because the compiler decides which declaration a use refers to
//! (`host_code`).

use super::{CONSTANT, DEVICE, GLOBAL, HOST, Preprocessed, SHARED};
use lab_protocol::text::is_among;
use lab_source::cpp::TokenKind;

/// A function or a variable that is declared at namespace scope, or a function that is declared in
/// a class. All positions are indices of tokens.
#[derive(Clone, Debug, Default)]
pub struct Declaration {
    pub name: String,
    /// The named namespaces around it.
    pub path: Vec<String>,
    /// The class that it is a member of, by the braces around it or by its qualified name.
    pub class: Option<String>,
    /// Whether its class's braces are around it.
    pub in_class: bool,
    pub is_function: bool,
    pub template: bool,
    pub extern_c: bool,
    /// `__device__`, or for a variable also `__constant__`, `__managed__` and `__shared__`.
    pub device: bool,
    /// `__constant__`.
    pub constant_memory: bool,
    pub global: bool,
    pub is_constexpr: bool,
    pub is_const: bool,
    pub is_array: bool,
    /// Says nothing about where it may be used: a friend, `= default`, `= delete`, `consteval`,
    /// `extern`.
    pub exempt: bool,
    /// Where an attribute of the declaration may stand.
    pub first: usize,
    /// The brackets of the parameters.
    pub parameters: Option<(usize, usize)>,
    /// What a function's body begins with, which is a constructor's `:` or the brace, and the
    /// closing brace.
    pub body: Option<(usize, usize)>,
    /// The last token.
    pub last: usize,
}

impl Declaration {
    /// The full name, as in `::mine::scale`.
    pub fn full_name(&self) -> String {
        let path = self.path.iter().chain([&self.name]);
        path.map(|name| format!("::{name}")).collect()
    }

    /// What all declarations of one function or variable have in common: the name of the scope
    /// around it, its name, and the types of its parameters.
    pub fn key(&self, text: &Preprocessed) -> (String, String, String) {
        let scope = self.class.as_ref().or_else(|| self.path.last()).cloned();
        let types = self
            .parameters
            .map_or_else(String::new, |(open, close)| types(text, open, close));
        (scope.unwrap_or_default(), self.name.clone(), types)
    }
}

/// The types of the parameters between two brackets, without the parameters' names and defaults.
fn types(text: &Preprocessed, open: usize, close: usize) -> String {
    const NO_NAMES: &str = "\
        int float double char long short unsigned signed bool void auto const volatile \
        __restrict__";
    let mut all = String::new();
    let mut at = open + 1;
    let commas = text.outermost(at, close).filter(|i| text.at(*i) == ",");
    for end in commas.chain([close]) {
        let default = text.outermost(at, end).find(|i| text.at(*i) == "=");
        let last = default.unwrap_or(end);
        let is_type_word = |i| !matches!(text.word(i), "" | "const" | "volatile" | "__restrict__");
        let is_name = |i: &usize| {
            let qualified = *i > at && text.at(i - 1) == ":";
            (at..*i).any(is_type_word) && !qualified && !is_among(text.at(*i), NO_NAMES)
        };
        // The name is the last word, before the extents of an array, if it may be one.
        let last_word = (at..last).rev().find(|i| !text.word(*i).is_empty());
        let name = last_word.filter(is_name);
        for i in (at..last).filter(|i| Some(*i) != name && text.at(*i) != "__restrict__") {
            all += text.at(i);
            all.push(' ');
        }
        all.push(',');
        at = end + 1;
    }
    all
}

/// Finds the declarations in the user's files.
pub fn declarations(text: &Preprocessed) -> Vec<Declaration> {
    let mut walk = Walk {
        text,
        found: Vec::new(),
    };
    walk.scope(0, text.tokens.len(), &Scope::default());
    walk.found
}

#[derive(Clone, Default)]
struct Scope {
    path: Vec<String>,
    class: Option<String>,
    extern_c: bool,
}

struct Walk<'t> {
    text: &'t Preprocessed,
    found: Vec<Declaration>,
}

/// Words before a bracket that are no function's name.
const NO_NAME: &str = "\
    __attribute__ alignas decltype typeof __typeof__ noexcept explicit requires throw __declspec";

impl Walk<'_> {
    fn scope(&mut self, start: usize, end: usize, scope: &Scope) {
        let mut at = start;
        while at < end {
            at = self.declaration(at, end, scope).max(at + 1);
        }
    }

    /// Reads the declaration that begins at a token. Returns the index of the token to go on with.
    fn declaration(&mut self, start: usize, end: usize, scope: &Scope) -> usize {
        let text = self.text;
        let mut found = Declaration {
            path: scope.path.clone(),
            class: scope.class.clone(),
            in_class: scope.class.is_some(),
            extern_c: scope.extern_c,
            ..Declaration::default()
        };
        let mut at = start;
        loop {
            match text.at(at) {
                "template" if text.at(at + 1) == "<" => {
                    found.template = true;
                    at = text.after_angles(at + 1, end);
                }
                "template" | "using" | "typedef" | "static_assert" | "concept" => {
                    return text.after_semicolon(at, end);
                }
                "public" | "private" | "protected" if text.at(at + 1) == ":" => return at + 2,
                "inline" if text.at(at + 1) == "namespace" => at += 1,
                "namespace" => return self.namespace(at, end, scope),
                "extern" if text.kind(at + 1) == Some(TokenKind::Text) => {
                    let extern_c = text.at(at + 1) == "\"C\"";
                    if text.at(at + 2) == "{" {
                        let close = text.partner(at + 2);
                        let inner = Scope {
                            extern_c,
                            ..scope.clone()
                        };
                        self.scope(at + 3, close.min(end), &inner);
                        return close + 1;
                    }
                    found.extern_c = extern_c;
                    at += 2;
                }
                "friend" => {
                    found.exempt = true;
                    at += 1;
                }
                "__extension__" => at += 1,
                "[" if text.at(at + 1) == "[" => at = text.partner(at) + 1,
                _ => break,
            }
            if at >= end {
                return end;
            }
        }
        found.first = at;
        self.declarator(found, at, end, scope)
    }

    /// Reads a declaration from its first specifier to its end.
    fn declarator(
        &mut self,
        mut found: Declaration,
        start: usize,
        end: usize,
        scope: &Scope,
    ) -> usize {
        let text = self.text;
        let mut class_key = None;
        let mut at = start;
        while at < end {
            match text.at(at) {
                ";" => return self.record(found, at),
                "}" => return at + 1,
                "=" => {
                    found.exempt |= found.is_function;
                    let next = text.after_semicolon(at, end);
                    return self.record(found, next - 1);
                }
                "{" => {
                    let close = text.partner(at);
                    if found.is_function {
                        found.body = found.body.or(Some((at, close)));
                        return self.record(found, close);
                    }
                    if let Some(key) = class_key.take() {
                        if text.at(key) != "enum" {
                            let inner = Scope {
                                class: Some(self.class_name(key)),
                                ..scope.clone()
                            };
                            self.scope(at + 1, close.min(end), &inner);
                        }
                        return text.after_semicolon(close + 1, end);
                    }
                    at = close;
                }
                ":" if text.at(at + 1) == ":" => at += 1,
                ":" if found.is_function => {
                    let open = self.after_initialisers(at + 1, end);
                    if open >= end {
                        return end;
                    }
                    let close = text.partner(open);
                    found.body = Some((at, close));
                    return self.record(found, close);
                }
                "(" => {
                    let close = text.partner(at);
                    let pointer = matches!(text.at(at + 1), "*" | "&");
                    if !found.is_function
                        && !pointer
                        && class_key.is_none_or(|key| key + 1 < at - 1)
                    {
                        self.name(&mut found, at);
                        if !found.name.is_empty() {
                            found.is_function = true;
                            found.parameters = Some((at, close));
                        }
                    }
                    at = close;
                }
                "[" => {
                    found.is_array |= text.at(at + 1) != "[" && !found.is_function;
                    at = text.partner(at);
                }
                "<" if !text.word(at.saturating_sub(1)).is_empty() => {
                    at = text.after_angles(at, end) - 1;
                }
                "operator" if !found.is_function => {
                    let mut open = at + 1;
                    if text.at(open) == "(" && text.at(open + 1) == ")" {
                        open += 2;
                    }
                    while open < end && !matches!(text.at(open), "(" | ";") {
                        open += 1;
                    }
                    if open >= end {
                        return end;
                    }
                    let spelled = &text.text[text.tokens[at].start..text.tokens[open].start];
                    found.name = spelled.split_whitespace().collect();
                    found.class = self.qualifier(at).or(found.class);
                    found.is_function = true;
                    let close = text.partner(open);
                    found.parameters = Some((open, close));
                    at = close;
                }
                DEVICE | SHARED => found.device = true,
                CONSTANT => (found.device, found.constant_memory) = (true, true),
                GLOBAL => found.global = true,
                "class" | "struct" | "union" | "enum" if !found.is_function => {
                    class_key.get_or_insert(at);
                }
                "constexpr" => found.is_constexpr = true,
                "const" => found.is_const = true,
                // `extern`: declared here and defined elsewhere, perhaps with more words.
                "consteval" | "extern" => found.exempt = true,
                _ => {}
            }
            at += 1;
        }
        end
    }

    /// Adds a declaration whose last token is at `last`. Returns the index of the token after it.
    fn record(&mut self, mut found: Declaration, last: usize) -> usize {
        found.last = last;
        let start = self.text.tokens[found.first].start;
        // A variable of a class belongs to its object.
        let wanted = found.is_function || !found.in_class;
        if wanted && !self.text.is_foreign(start) && found.first < last {
            if !found.is_function {
                found.exempt |= matches!(
                    self.text.at(found.first),
                    "class" | "struct" | "union" | "enum"
                );
                found.name = self.variable_name(found.first, last);
            }
            self.found.push(found);
        }
        last + 1
    }

    /// Sets the name of the function whose parameters begin at `open`, and the class that it names.
    fn name(&self, found: &mut Declaration, open: usize) {
        let text = self.text;
        let Some(mut at) = open.checked_sub(1) else {
            return;
        };
        if text.at(at) == ">" {
            match text.before_angles(at) {
                Some(before) => at = before,
                None => return,
            }
        }
        let word = text.word(at);
        if word.is_empty()
            || is_among(word, NO_NAME)
            || [DEVICE, CONSTANT, HOST].contains(&word)
            || at < found.first
        {
            return;
        }
        word.clone_into(&mut found.name);
        let is_destructor = at > 0 && text.at(at - 1) == "~";
        let qualified = self.qualifier(at - usize::from(is_destructor));
        found.class = qualified.or(found.class.take());
    }

    /// `P` of `P::get` and `V` of `V<T>::get`, where `at` is the name's index.
    fn qualifier(&self, at: usize) -> Option<String> {
        let text = self.text;
        let before = at.checked_sub(3)?;
        if !(text.at(at - 1) == ":" && text.at(at - 2) == ":") {
            return None;
        }
        let at = if text.at(before) == ">" {
            text.before_angles(before)?
        } else {
            before
        };
        Some(text.word(at).to_owned()).filter(|word| !word.is_empty())
    }

    /// The name of the variable that a declaration declares first.
    fn variable_name(&self, first: usize, last: usize) -> String {
        let mut name = "";
        for at in first..=last {
            match self.text.at(at) {
                "=" | "[" | "{" | ";" | "(" | "," if !name.is_empty() => break,
                word if self.text.kind(at) == Some(TokenKind::Word) => name = word,
                _ => {}
            }
        }
        name.to_owned()
    }

    /// The name of the class whose key is at `key`.
    fn class_name(&self, key: usize) -> String {
        let text = self.text;
        let mut at = key + 1;
        while at < text.tokens.len() {
            if text.at(at) == "[" {
                at = text.partner(at) + 1;
            } else if is_among(text.at(at), NO_NAME) && text.at(at + 1) == "(" {
                at = text.partner(at + 1) + 1;
            } else {
                break;
            }
        }
        text.word(at).to_owned()
    }

    /// The index of the brace that follows a constructor's initialisers.
    fn after_initialisers(&self, start: usize, end: usize) -> usize {
        let text = self.text;
        let mut at = start;
        while at < end {
            while at < end && !matches!(text.at(at), "(" | "{") {
                at += 1;
            }
            at = text.partner(at) + 1;
            while text.at(at) == "." {
                at += 1;
            }
            if text.at(at) != "," {
                break;
            }
            at += 1;
        }
        if text.at(at) == "{" { at } else { end }
    }

    fn namespace(&mut self, start: usize, end: usize, scope: &Scope) -> usize {
        let text = self.text;
        let mut inner = scope.clone();
        let mut at = start + 1;
        while at < end && text.at(at) != "{" {
            match text.at(at) {
                ";" | "=" => return text.after_semicolon(at, end),
                "[" | "(" => at = text.partner(at),
                "inline" | "__attribute__" => {}
                word if text.kind(at) == Some(TokenKind::Word) => inner.path.push(word.to_owned()),
                _ => {}
            }
            at += 1;
        }
        let close = text.partner(at);
        self.scope(at + 1, close.min(end), &inner);
        close + 1
    }
}
