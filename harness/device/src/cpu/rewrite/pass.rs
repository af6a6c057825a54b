//! The walk over the tokens of a source: it follows scopes and conditions, and finds the constructs
//! to rewrite.

use super::unsupported::{unsupported, unsupported_header};
use super::{DeviceBranch, Edit, Include, Refusal};
use crate::cpu::lex::{Token, TokenKind};

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
    pub(super) source: &'s str,
    pub(super) shown_as: &'s str,
    pub(super) unit: usize,
    pub(super) tokens: &'s [Token],
    /// The open braces.
    pub(super) scopes: Vec<BraceScope>,
    /// `scopes` at each open `#if`: each of its branches begins with these.
    pub(super) conditions: Vec<Vec<BraceScope>>,
    /// The word for `__shared__`, if the source was preprocessed.
    pub(super) preprocessed: Option<&'static str>,
    pub(super) edits: Vec<Edit>,
    pub(super) includes: Vec<Include>,
    pub(super) refusals: Vec<Refusal>,
    /// The first place where the source asks which device it is built for.
    pub(super) branches: Option<DeviceBranch>,
    /// Number of `__shared__` declarations so far.
    pub(super) shared_declarations: usize,
}

impl<'s> Pass<'s> {
    pub(super) fn new(
        source: &'s str,
        shown_as: &'s str,
        unit: usize,
        tokens: &'s [Token],
    ) -> Pass<'s> {
        Pass {
            source,
            shown_as,
            unit,
            tokens,
            scopes: Vec::new(),
            conditions: Vec::new(),
            preprocessed: None,
            edits: Vec::new(),
            includes: Vec::new(),
            refusals: Vec::new(),
            branches: None,
            shared_declarations: 0,
        }
    }

    pub(super) fn run(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            at = self.step(at).max(at + 1);
        }
    }

    /// The word at an index of the tokens; empty for any other token.
    pub(super) fn word(&self, at: usize) -> &'s str {
        match self.tokens.get(at) {
            Some(token) if token.kind == TokenKind::Word => token.text(self.source),
            _ => "",
        }
    }

    /// Whether a word is `__shared__`.
    pub(super) fn is_shared(&self, word: &str) -> bool {
        word == self.preprocessed.unwrap_or("__shared__")
    }

    pub(super) fn punct(&self, at: usize, punct: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    pub(super) fn edit(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.edits.push(Edit {
            start,
            end,
            text: text.into(),
        });
    }

    /// Handles the construct that begins at a token. Returns the index of the token to go on with.
    fn step(&mut self, at: usize) -> usize {
        let token = self.tokens[at];
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
        match self.word(at) {
            word if self.is_shared(word) => return self.shared_declaration(at),
            "asm" | "__asm__" | "__asm" => return self.assembly(at),
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

    /// The index of the first token of the declaration that `at` is in.
    pub(super) fn declaration_start(&self, at: usize) -> usize {
        let ends = |token: &Token| {
            token.is(b';') || token.is(b'{') || token.is(b'}') || token.kind == TokenKind::Directive
        };
        (0..at)
            .rev()
            .find(|i| ends(&self.tokens[*i]))
            .map_or(0, |i| i + 1)
    }

    /// The index of the bracket that closes the one at `open`; the last token if none does.
    pub(super) fn closing(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::Punct(b'(' | b'[' | b'{') => depth += 1,
                TokenKind::Punct(b')' | b']' | b'}') => {
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
                && self.word(at - 2) == "extern"
                && self.tokens[at - 1].kind == TokenKind::Text
            {
                return BraceScope::ExternC;
            }
            // `namespace {`, `namespace a {`, `namespace a::b {`, `inline namespace a {`
            let mut back = at;
            while back > 0
                && (self.punct(back - 1, b':')
                    || self.tokens[back - 1].kind == TokenKind::Word
                        && self.word(back - 1) != "namespace")
            {
                back -= 1;
            }
            if back > 0 && self.word(back - 1) == "namespace" {
                return BraceScope::Namespace;
            }
        }
        BraceScope::Inner
    }

    /// Handles a preprocessor line: keeps count of the branches of conditions, and collects
    /// includes.
    fn directive(&mut self, token: Token) {
        let text = token.text(self.source);
        let body = text[1..].trim_start();
        let word: String = body.chars().take_while(char::is_ascii_alphabetic).collect();
        self.branch_in_directive(&word, body, token.start);
        match word.as_str() {
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
                let rest = &body["include".len()..];
                let offset = text.len() - rest.trim_start().len();
                let rest = rest.trim_start();
                let close = match rest.as_bytes().first() {
                    Some(b'"') => '"',
                    Some(b'<') => '>',
                    _ => return,
                };
                let Some(end) = rest[1..].find(close) else {
                    return;
                };
                let name = &rest[1..=end];
                if let Some(reason) = unsupported_header(name) {
                    self.refuse(token.start, reason);
                    self.edit(
                        token.start,
                        token.end,
                        format!("#pragma GCC error \"{reason}\""),
                    );
                    return;
                }
                let start = token.start + offset;
                self.includes.push(Include {
                    start,
                    end: start + end + 2,
                    name: name.to_owned(),
                });
            }
            _ => {}
        }
    }

    /// Records a construct at `start` that this device cannot run. Returns the text that makes the
    /// compiler report it where it compiles it.
    pub(super) fn refuse(&mut self, start: usize, reason: &'static str) -> String {
        let before = &self.source[..start];
        let column = start - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
        self.refusals.push(Refusal {
            line: before.matches('\n').count() + 1,
            column,
            reason,
        });
        format!("_Pragma(\"GCC error \\\"{reason}\\\"\")")
    }
}
