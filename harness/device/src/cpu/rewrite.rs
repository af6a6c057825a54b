//! Turns CUDA C++ into C++: the few constructs that no header can give a meaning to.
//!
//! Text is replaced in place and never gains or loses a line, so the compiler's diagnostics and the reports of the
//! scheduler carry the user's line numbers, and the preprocessor still decides what is compiled at all:
//! - a `__shared__` declaration becomes a local struct and references into the block's storage;
//! - after the body of each `extern "C" __global__` function, and of each `LAB_LAUNCH`, stands its registration;
//! - what this device cannot run becomes a `#pragma GCC error` in its own place.

mod shared;
mod unsupported;

use super::lex::{Kind, Token, lex};
use unsupported::{unsupported, unsupported_header};

/// An `#include` of a source, for the builder to resolve.
#[derive(Debug, PartialEq, Eq)]
pub struct Include {
    /// Byte range of the name with its quotes or brackets, in the rewritten text's source.
    pub start: usize,
    pub end: usize,
    pub name: String,
}

/// A replacement of `start..end`.
#[derive(Debug)]
pub struct Edit {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

pub struct Rewritten {
    pub edits: Vec<Edit>,
    pub includes: Vec<Include>,
    pub refusals: Vec<Refusal>,
}

/// Something that this device cannot run. The compiler says so if it gets there, but not in which column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub line: usize,
    pub column: usize,
    pub reason: &'static str,
}

/// Applies edits to the text they were made for.
pub fn apply(source: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.start, edit.end));
    let mut out = String::with_capacity(source.len() + 1024);
    let mut done = 0;
    for edit in edits.iter().filter(|edit| edit.end <= source.len()) {
        if edit.start < done {
            continue;
        }
        out.push_str(&source[done..edit.start]);
        out.push_str(&edit.text);
        done = edit.end;
    }
    out.push_str(&source[done..]);
    out
}

/// `shown_as` is the path for `#line`; `unit` makes generated names unique over the files of one build.
pub fn rewrite(source: &str, shown_as: &str, unit: usize) -> Rewritten {
    let tokens = lex(source);
    let mut pass = Pass {
        source,
        shown_as,
        unit,
        tokens: &tokens,
        scopes: Vec::new(),
        conditions: Vec::new(),
        pending: None,
        edits: Vec::new(),
        includes: Vec::new(),
        refusals: Vec::new(),
        shared: 0,
    };
    pass.run();
    Rewritten { edits: pass.edits, includes: pass.includes, refusals: pass.refusals }
}

/// What an open brace encloses.
#[derive(Clone)]
enum Scope {
    /// A namespace or an `extern "C"` block; true for the latter.
    Outer(bool),
    Inner,
    /// The body of a kernel: its name is registered after the closing brace.
    Kernel(String),
}

struct Pass<'s> {
    source: &'s str,
    shown_as: &'s str,
    unit: usize,
    tokens: &'s [Token],
    scopes: Vec<Scope>,
    /// Scopes, and the kernel to come, at each open `#if`: each of its branches starts from there.
    conditions: Vec<(Vec<Scope>, Option<String>)>,
    /// A kernel whose body is still to come.
    pending: Option<String>,
    edits: Vec<Edit>,
    includes: Vec<Include>,
    refusals: Vec<Refusal>,
    shared: usize,
}

impl<'s> Pass<'s> {
    fn run(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            at = self.step(at).max(at + 1);
        }
    }

    fn word(&self, at: usize) -> &'s str {
        match self.tokens.get(at) {
            Some(token) if token.kind == Kind::Word => token.text(self.source),
            _ => "",
        }
    }

    fn punct(&self, at: usize, punct: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    fn edit(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.edits.push(Edit { start, end, text: text.into() });
    }

    /// What makes the compiler refuse the code at `start`, if it gets there.
    fn refuse(&mut self, start: usize, reason: &'static str) -> String {
        let before = &self.source[..start];
        let column = start - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
        self.refusals.push(Refusal { line: before.matches('\n').count() + 1, column, reason });
        format!("_Pragma(\"GCC error \\\"{reason}\\\"\")")
    }

    /// Handles the construct that begins here; answers where to go on.
    fn step(&mut self, at: usize) -> usize {
        let token = self.tokens[at];
        match token.kind {
            Kind::Directive => self.directive(token),
            Kind::Punct(b'{') => {
                let scope = self.opened_by(at);
                self.scopes.push(scope);
            }
            Kind::Punct(b'}') => {
                if let Some(Scope::Kernel(name)) = self.scopes.pop() {
                    self.edit(token.end, token.end, format!(" LAB_CPU_ENTRY({name})"));
                }
            }
            // A declaration only.
            Kind::Punct(b';') if self.outside() => self.pending = None,
            Kind::Word => return self.at_word(at),
            _ => {}
        }
        at + 1
    }

    fn at_word(&mut self, at: usize) -> usize {
        match self.word(at) {
            "__shared__" => return self.shared_declaration(at),
            "asm" | "__asm__" | "__asm" => return self.assembly(at),
            "__global__" if self.outside() => self.kernel(at),
            "LAB_LAUNCH" if self.outside() && self.punct(at + 1, b'(') => {
                self.pending = Some(format!("lab_launch_{}", self.word(at + 2)));
            }
            word => {
                if let Some(reason) = unsupported(word) {
                    let start = self.tokens[at].start;
                    let refusal = self.refuse(start, reason);
                    self.edit(start, start, refusal + " ");
                }
            }
        }
        at + 1
    }

    /// Whether this is outside every function and class.
    fn outside(&self) -> bool {
        self.scopes.iter().all(|scope| matches!(scope, Scope::Outer(_)))
    }

    fn opened_by(&mut self, at: usize) -> Scope {
        if self.outside() {
            if let Some(name) = self.pending.take() {
                return Scope::Kernel(name);
            }
            if at >= 2 && self.word(at - 2) == "extern" && self.tokens[at - 1].kind == Kind::Text {
                return Scope::Outer(true);
            }
            // `namespace {`, `namespace a {`, `namespace a::b {`, `inline namespace a {`
            let mut back = at;
            while back > 0
                && (self.punct(back - 1, b':')
                    || self.tokens[back - 1].kind == Kind::Word && self.word(back - 1) != "namespace")
            {
                back -= 1;
            }
            if back > 0 && self.word(back - 1) == "namespace" {
                return Scope::Outer(false);
            }
        }
        Scope::Inner
    }

    fn directive(&mut self, token: Token) {
        let text = token.text(self.source);
        let body = text[1..].trim_start();
        let word: String = body.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        match word.as_str() {
            "if" | "ifdef" | "ifndef" => self.conditions.push((self.scopes.clone(), self.pending.clone())),
            "else" | "elif" => {
                if let Some((scopes, pending)) = self.conditions.last() {
                    self.scopes.clone_from(scopes);
                    self.pending.clone_from(pending);
                }
            }
            "endif" => {
                self.conditions.pop();
            }
            "include" => {
                let rest = &body["include".len()..];
                let offset = text.len() - rest.trim_start().len();
                let rest = rest.trim_start();
                let close = match rest.as_bytes().first() {
                    Some(b'"') => '"',
                    Some(b'<') => '>',
                    _ => return,
                };
                let Some(end) = rest[1..].find(close) else { return };
                let name = &rest[1..=end];
                if let Some(reason) = unsupported_header(name) {
                    self.refuse(token.start, reason);
                    self.edit(token.start, token.end, format!("#pragma GCC error \"{reason}\""));
                    return;
                }
                let start = token.start + offset;
                self.includes.push(Include { start, end: start + end + 2, name: name.to_owned() });
            }
            _ => {}
        }
    }

    /// `[extern "C"] __global__ [void] [__launch_bounds__(…)] name(…) {`
    fn kernel(&mut self, at: usize) {
        let start = self.declaration_start(at);
        let linkage = |i: usize| self.word(i) == "extern" && self.tokens[i + 1].kind == Kind::Text;
        let named =
            (start..at).any(linkage) || self.scopes.iter().any(|scope| matches!(scope, Scope::Outer(true)));
        let template = self.word(start) == "template";
        if !named || template {
            return;
        }
        let mut next = at + 1;
        while next < self.tokens.len() && !self.punct(next, b';') && !self.punct(next, b'{') {
            if self.tokens[next].kind == Kind::Word && self.punct(next + 1, b'(') {
                let word = self.word(next);
                if word.starts_with("__") || word == "alignas" {
                    next = self.closing(next + 1) + 1;
                    continue;
                }
                self.pending = Some(word.to_owned());
                return;
            }
            next += 1;
        }
    }

    /// The first token of the declaration that `at` is in.
    fn declaration_start(&self, at: usize) -> usize {
        let ends = |token: &Token| {
            token.is(b';') || token.is(b'{') || token.is(b'}') || token.kind == Kind::Directive
        };
        (0..at).rev().find(|i| ends(&self.tokens[*i])).map_or(0, |i| i + 1)
    }

    /// The bracket that closes the one at `open`.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.tokens[at].kind {
                Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
                Kind::Punct(b')' | b']' | b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len() - 1
    }

    /// An assembly statement becomes an error, whole, on as many lines.
    fn assembly(&mut self, at: usize) -> usize {
        let mut open = at + 1;
        while matches!(self.word(open), "volatile" | "__volatile__" | "inline" | "goto") {
            open += 1;
        }
        if !self.punct(open, b'(') {
            return at + 1;
        }
        let close = self.closing(open);
        let (start, end) = (self.tokens[at].start, self.tokens[close].end);
        let lines = "\n".repeat(self.source[start..end].matches('\n').count());
        let reason = "inline PTX cannot run on the cpu device (guard it with #ifndef LAB_CPU)";
        let refusal = self.refuse(start, reason);
        self.edit(start, end, refusal + &lines);
        close + 1
    }
}

/// A C string literal.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
