//! The walk over the tokens of a source: it follows scopes and conditions, and finds the constructs
//! to rewrite.

use super::type_names::type_names;
use super::unsupported::{own_name, unsupported, unsupported_header};
use super::{Edit, Refusal, Rewritten};
use crate::standard_headers::LAB_H;
use lab_protocol::text::is_among;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::{Code, Token, TokenKind, words};
use lab_source::line_at;
use std::collections::HashSet;

/// Names of questions, or what they begin with.
const QUESTIONS: [&str; 7] = [
    "__func__",
    "__FUNCTION__",
    "__has_",
    "__BASE_FILE__",
    "__INCLUDE_LEVEL__",
    "__FILE_NAME__",
    "__PRETTY_FUNCTION__",
];

/// Whether a directive is about the host's compiler, or about the place of the lines behind it.
fn is_of_host(name: &str, rest: &str) -> bool {
    let is_number = name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit());
    let compiler = words(rest).into_iter().next();
    match name {
        "pragma" => matches!(compiler, Some("GCC" | "clang" | "STDC")),
        "ident" | "sccs" | "assert" | "unassert" => true,
        _ => name == "line" || is_number && !rest.is_empty(),
    }
}

/// One walk over the tokens of a source.
pub struct Pass<'s> {
    pub code: &'s Code<&'s str>,
    pub shown_as: &'s str,
    pub unit: usize,
    /// For each open brace, whether it encloses a namespace or an `extern "C"` block. Any other
    /// encloses a function, a class, or a block within one.
    pub scopes: Vec<bool>,
    /// `scopes` at each open `#if`: each of its branches begins with these.
    conditions: Vec<Vec<bool>>,
    /// The word for `__shared__`, if the source was preprocessed.
    pub preprocessed: Option<&'static str>,
    pub done: Rewritten,
    /// The shared variables of the open blocks.
    pub shared_names: Vec<SharedName>,
    /// Number of `__shared__` declarations so far.
    pub shared_declarations: usize,
    pub types: HashSet<&'s str>,
}

/// A shared variable that a function has declared.
pub struct SharedName {
    pub name: String,
    /// How many braces were open.
    pub depth: usize,
    /// Its declaration as a reference.
    pub declared: String,
}

impl<'s> Pass<'s> {
    pub fn new(code: &'s Code<&'s str>, shown_as: &'s str, unit: usize) -> Pass<'s> {
        Pass {
            code,
            shown_as,
            unit,
            scopes: Vec::new(),
            conditions: Vec::new(),
            preprocessed: None,
            done: Rewritten::default(),
            shared_names: Vec::new(),
            shared_declarations: 0,
            types: type_names(code),
        }
    }

    pub fn run(mut self) -> Rewritten {
        let mut at = 0;
        while at < self.code.tokens.len() {
            at = self.step(at).max(at + 1);
        }
        self.done
    }

    /// Whether a word is `__shared__`.
    pub fn is_shared(&self, word: &str) -> bool {
        word == self.preprocessed.unwrap_or("__shared__")
    }

    pub fn edit(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.done.edits.push(Edit::new(start, end, text));
    }

    /// Handles the construct that begins at a token. Returns the index of the token to go on with.
    fn step(&mut self, at: usize) -> usize {
        let token = self.code.tokens[at];
        if token.kind == TokenKind::Directive {
            self.directive(token);
            return at + 1;
        }
        self.question(self.code.at(at), token.start);
        self.cast(at);
        match self.code.at(at) {
            "{" => {
                let outside = self.outside() && self.opens_namespace(at);
                self.scopes.push(outside);
            }
            "}" => {
                self.scopes.pop();
                self.close_shared_names();
            }
            "[" => self.lambda(at),
            "asm" | "__asm__" | "__asm" => return self.assembly(at),
            // This word is a macro here. NVRTC takes it within an attribute.
            "__noinline__" if matches!(self.code.at(at.wrapping_sub(1)), "(" | ",") => {
                self.edit(token.start, token.end, "noinline");
            }
            word if self.is_shared(word) => return self.shared_declaration(at),
            word => {
                // The lab's own header uses them, and so does what its macros leave.
                let is_users = self.preprocessed.is_none() && self.code.text != LAB_H;
                let own = own_name(word).filter(|_| is_users);
                let reason = unsupported(word).filter(|_| !self.defines(word));
                if let Some(reason) = reason.or(own) {
                    self.refuse(token.start, token.start, reason, " ");
                }
            }
        }
        at + 1
    }

    /// Whether the source has a function of its own with this name.
    fn defines(&self, name: &str) -> bool {
        let code = self.code;
        (1..code.tokens.len()).any(|at| {
            let is_named = code.word(at) == name && code.at(at + 1) == "(";
            is_named && code.at(code.partner(at + 1) + 1) == "{"
        })
    }

    /// Replaces an assembly statement by an error, on as many lines. Returns the index of the token
    /// to go on with.
    fn assembly(&mut self, at: usize) -> usize {
        let code = self.code;
        let mut open = at + 1;
        while is_among(code.at(open), "volatile __volatile__ inline goto") {
            open += 1;
        }
        if code.at(open) != "(" {
            return at + 1;
        }
        let close = code.partner(open);
        let (start, end) = (code.tokens[at].start, code.tokens[close].end);
        let lines = "\n".repeat(code.text[start..end].matches('\n').count());
        let reason = "inline PTX cannot run on the cpu device (guard it with #ifndef LAB_CPU)";
        self.refuse(start, end, reason, &lines);
        close + 1
    }

    /// Notes where a directive or code asks its compiler a question that another compiler answers
    /// otherwise. `start` is the first byte of the text.
    fn question(&mut self, text: &str, start: usize) {
        let is_question = |word: &&str| QUESTIONS.iter().any(|name| word.starts_with(name));
        if let Some(found) = words(text).into_iter().find(is_question) {
            self.done.branch.get_or_insert_with(|| {
                let line = line_at(self.code.text, start);
                format!("{}:{line} asks for {found}", self.shown_as)
            });
        }
    }

    /// The index of the first token of the declaration that `at` is in.
    pub fn declaration_start(&self, at: usize) -> usize {
        let ends = |i: &usize| {
            self.code.kind(*i) == Some(TokenKind::Directive)
                || matches!(self.code.at(*i), ";" | "{" | "}")
        };
        (0..at).rev().find(ends).map_or(0, |i| i + 1)
    }

    /// Whether no function or class is open.
    pub fn outside(&self) -> bool {
        self.scopes.iter().all(|outside| *outside)
    }

    /// Whether the brace at `at` opens a namespace or an `extern "C"` block.
    fn opens_namespace(&self, at: usize) -> bool {
        let code = self.code;
        if at >= 2 && code.at(at - 2) == "extern" && code.kind(at - 1) == Some(TokenKind::Text) {
            return true;
        }
        // `namespace {`, `namespace a {`, `namespace a::b {`, `inline namespace a {`
        let is_name = |i: &usize| code.at(*i) == ":" || !matches!(code.word(*i), "" | "namespace");
        let before = (0..at).rev().find(|i| !is_name(i));
        before.is_some_and(|i| code.at(i) == "namespace")
    }

    /// Handles a preprocessor line: keeps count of the branches of conditions, and collects
    /// includes.
    fn directive(&mut self, token: Token) {
        let Some(directive) = Directive::parse(token.text(self.code.text)) else {
            return;
        };
        self.question(directive.rest, token.start);
        match directive.name {
            "if" | "ifdef" | "ifndef" => self.conditions.push(self.scopes.clone()),
            "else" | "elif" => {
                if let Some(scopes) = self.conditions.last() {
                    self.scopes.clone_from(scopes);
                }
            }
            "endif" => {
                self.conditions.pop();
            }
            "include" => {
                let Some(header) = directive.spelled_header() else {
                    return;
                };
                let name = &header[1..header.len() - 1];
                if let Some(reason) = unsupported_header(name) {
                    self.note_refusal(token.start, reason);
                    let error = format!("#pragma GCC error \"{reason}\"");
                    self.edit(token.start, token.end, error);
                    return;
                }
                let start = token.end - directive.rest.len();
                self.done.includes.push(start..start + header.len());
            }
            // Where a line comes from, and how the host's compiler is set: NVRTC leaves pragmas of
            // other compilers out.
            name if is_of_host(name, directive.rest) => {
                let text = token.text(self.code.text);
                let lines = "\n".repeat(text.matches('\n').count());
                self.edit(token.start, token.end, lines);
            }
            _ => {}
        }
    }

    /// Records a construct at `start` that this device cannot run, and replaces the text up to `end`
    /// by what makes the compiler report it where it compiles it, and by `after`.
    pub fn refuse(&mut self, start: usize, end: usize, reason: &'static str, after: &str) {
        self.note_refusal(start, reason);
        let error = format!("_Pragma(\"GCC error \\\"{reason}\\\"\"){after}");
        self.edit(start, end, error);
    }

    fn note_refusal(&mut self, start: usize, reason: &'static str) {
        let before = &self.code.text[..start];
        let column = start - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
        self.done.refusals.push(Refusal {
            path: self.shown_as.to_owned(),
            line: line_at(self.code.text, start),
            column,
            reason,
        });
    }
}
