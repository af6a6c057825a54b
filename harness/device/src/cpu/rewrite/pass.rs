//! The walk over the tokens of a source: it follows scopes and conditions, and finds the constructs
//! to rewrite.

use super::unsupported::{unsupported, unsupported_header};
use super::{Edit, Include, Refusal, Rewritten};
use lab_source::cpp::directive::Directive;
use lab_source::cpp::{Code, Token, TokenKind};
use lab_source::line_at;

/// What an open brace encloses.
#[derive(Clone)]
pub(super) enum BraceScope {
    Namespace,
    /// An `extern "C"` block.
    ExternC,
    /// A function, a class, or a block within one.
    Inner,
}

/// One walk over the tokens of a source.
pub(super) struct Pass<'s> {
    pub(super) code: &'s Code<&'s str>,
    pub(super) shown_as: &'s str,
    pub(super) unit: usize,
    /// The open braces.
    scopes: Vec<BraceScope>,
    /// `scopes` at each open `#if`: each of its branches begins with these.
    conditions: Vec<Vec<BraceScope>>,
    /// The word for `__shared__`, if the source was preprocessed.
    pub(super) preprocessed: Option<&'static str>,
    pub(super) done: Rewritten,
    /// Number of `__shared__` declarations so far.
    pub(super) shared_declarations: usize,
}

impl<'s> Pass<'s> {
    pub(super) fn new(code: &'s Code<&'s str>, shown_as: &'s str, unit: usize) -> Pass<'s> {
        Pass {
            code,
            shown_as,
            unit,
            scopes: Vec::new(),
            conditions: Vec::new(),
            preprocessed: None,
            done: Rewritten::default(),
            shared_declarations: 0,
        }
    }

    pub(super) fn run(mut self) -> Rewritten {
        let mut at = 0;
        while at < self.code.tokens.len() {
            at = self.step(at).max(at + 1);
        }
        self.done
    }

    /// Whether a word is `__shared__`.
    pub(super) fn is_shared(&self, word: &str) -> bool {
        word == self.preprocessed.unwrap_or("__shared__")
    }

    pub(super) fn edit(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.done.edits.push(Edit::new(start, end, text));
    }

    /// Handles the construct that begins at a token. Returns the index of the token to go on with.
    fn step(&mut self, at: usize) -> usize {
        let token = self.code.tokens[at];
        match token.kind {
            TokenKind::Directive => self.directive(token),
            TokenKind::Punct(b'{') => {
                let scope = self.opened_by(at);
                self.scopes.push(scope);
            }
            TokenKind::Punct(b'}') => {
                self.scopes.pop();
            }
            TokenKind::Word => return self.at_word(at),
            _ => {}
        }
        at + 1
    }

    fn at_word(&mut self, at: usize) -> usize {
        self.branch_at_word(at);
        match self.code.word(at) {
            word if self.is_shared(word) => return self.shared_declaration(at),
            "asm" | "__asm__" | "__asm" => return self.assembly(at),
            word => {
                if let Some(reason) = unsupported(word) {
                    let start = self.code.tokens[at].start;
                    let refusal = self.refuse(start, reason);
                    self.edit(start, start, refusal + " ");
                }
            }
        }
        at + 1
    }

    /// The index of the first token of the declaration that `at` is in.
    pub(super) fn declaration_start(&self, at: usize) -> usize {
        let ends = |token: &Token| {
            token.is(b';') || token.is(b'{') || token.is(b'}') || token.kind == TokenKind::Directive
        };
        (0..at)
            .rev()
            .find(|i| ends(&self.code.tokens[*i]))
            .map_or(0, |i| i + 1)
    }

    /// Whether no function or class is open.
    pub(super) fn outside(&self) -> bool {
        self.scopes
            .iter()
            .all(|scope| matches!(scope, BraceScope::Namespace | BraceScope::ExternC))
    }

    /// What the brace at `at` opens.
    fn opened_by(&mut self, at: usize) -> BraceScope {
        if self.outside() {
            if at >= 2
                && self.code.word(at - 2) == "extern"
                && self.code.tokens[at - 1].kind == TokenKind::Text
            {
                return BraceScope::ExternC;
            }
            // `namespace {`, `namespace a {`, `namespace a::b {`, `inline namespace a {`
            let mut back = at;
            while back > 0
                && (self.code.punct(back - 1, b':')
                    || self.code.tokens[back - 1].kind == TokenKind::Word
                        && self.code.word(back - 1) != "namespace")
            {
                back -= 1;
            }
            if back > 0 && self.code.word(back - 1) == "namespace" {
                return BraceScope::Namespace;
            }
        }
        BraceScope::Inner
    }

    /// Handles a preprocessor line: keeps count of the branches of conditions, and collects
    /// includes.
    fn directive(&mut self, token: Token) {
        let Some(directive) = Directive::parse(token.text(self.code.text)) else {
            return;
        };
        self.branch_in_directive(directive, token.start);
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
                    self.refuse(token.start, reason);
                    let error = format!("#pragma GCC error \"{reason}\"");
                    self.edit(token.start, token.end, error);
                    return;
                }
                let start = token.end - directive.rest.len();
                self.done.includes.push(Include {
                    start,
                    end: start + header.len(),
                    name: name.to_owned(),
                });
            }
            _ => {}
        }
    }

    /// Records a construct at `start` that this device cannot run. Returns the text that makes the
    /// compiler report it where it compiles it.
    pub(super) fn refuse(&mut self, start: usize, reason: &'static str) -> String {
        let before = &self.code.text[..start];
        let column = start - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
        self.done.refusals.push(Refusal {
            line: line_at(self.code.text, start),
            column,
            reason,
        });
        format!("_Pragma(\"GCC error \\\"{reason}\\\"\")")
    }
}
