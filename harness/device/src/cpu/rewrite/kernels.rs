//! Kernels, whose names are registered, and assembly, which becomes an error.

use super::pass::{BraceScope, Pass};
use crate::cpu::lex::TokenKind;

impl Pass<'_> {
    /// Finds the name of the kernel in `[extern "C"] __global__ [void] [__launch_bounds__(…)] name(…) {`. Ignores a
    /// kernel that is a template or has no `extern "C"`: the lab cannot find it by name.
    pub(super) fn kernel(&mut self, at: usize) {
        let start = self.declaration_start(at);
        let linkage = |i: usize| self.word(i) == "extern" && self.tokens[i + 1].kind == TokenKind::Text;
        let named =
            (start..at).any(linkage) || self.scopes.iter().any(|scope| matches!(scope, BraceScope::ExternC));
        let template = self.word(start) == "template";
        if !named || template {
            return;
        }
        let mut next = at + 1;
        while next < self.tokens.len() && !self.punct(next, b';') && !self.punct(next, b'{') {
            if self.tokens[next].kind == TokenKind::Word && self.punct(next + 1, b'(') {
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

    /// Replaces an assembly statement by an error, on as many lines. Returns the index of the token to go on with.
    pub(super) fn assembly(&mut self, at: usize) -> usize {
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
