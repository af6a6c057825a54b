//! Lambdas that use shared variables. These have static storage in CUDA C++, so a lambda captures none.
//! Here their names are references, which a lambda would have to capture: each lambda that uses one
//! begins with a reference of its own.

use super::pass::{Pass, SharedName};
use lab_protocol::text::is_among;
use lab_source::cpp::TokenKind;
use std::ops::Range;

/// Most tokens between the parameters of a lambda and its body.
const LONGEST_RETURN_TYPE: usize = 64;

impl Pass<'_> {
    /// Notes a shared variable of the open block.
    pub fn note_shared_name(&mut self, name: &str, declared: String) {
        let (name, depth) = (name.to_owned(), self.scopes.len());
        self.shared_names.push(SharedName {
            name,
            depth,
            declared,
        });
    }

    /// Forgets the shared variables of blocks that are closed.
    pub fn close_shared_names(&mut self) {
        let depth = self.scopes.len();
        self.shared_names.retain(|shared| shared.depth <= depth);
    }

    /// Declares the shared variables anew that the lambda at `at` uses, if one begins there.
    pub fn lambda(&mut self, at: usize) {
        if self.shared_names.is_empty() {
            return;
        }
        let Some((head, body)) = self.parts_of_lambda(at) else {
            return;
        };
        let code = self.code;
        let is_used = |shared: &&SharedName| {
            let is_name = |i: &usize| code.at(*i) == shared.name;
            // Branches of a condition may declare the same name.
            let named = self.shared_names.iter().filter(|s| s.name == shared.name);
            named.count() == 1
                && !head.clone().any(|i| is_name(&i))
                && body.clone().find(is_name).is_some_and(|i| self.is_use(i))
        };
        let used = self.shared_names.iter().filter(is_used);
        let declared: String = used.map(|shared| shared.declared.as_str()).collect();
        let open = code.tokens[body.start].end;
        if !declared.is_empty() {
            self.edit(open, open, declared);
        }
    }

    /// The tokens of a lambda up to its body, and its body from its brace.
    fn parts_of_lambda(&self, at: usize) -> Option<(Range<usize>, Range<usize>)> {
        let code = self.code;
        let before = at.checked_sub(1)?;
        // An element of an array, or an attribute.
        let is_operand = match code.kind(before)? {
            TokenKind::Word => !is_among(code.at(before), "return case else do"),
            TokenKind::Number | TokenKind::Text => true,
            _ => is_among(code.at(before), ") ] ["),
        };
        if is_operand || code.at(at + 1) == "[" {
            return None;
        }
        let mut next = code.partner(at) + 1;
        if code.at(next) == "(" {
            next = code.partner(next) + 1;
        }
        let last = next + LONGEST_RETURN_TYPE;
        while code.at(next) != "{" {
            if next == last || is_among(code.at(next), "; ) , } = [") || code.at(next).is_empty() {
                return None;
            }
            next += 1;
        }
        Some((at..next, next..code.partner(next)))
    }

    /// Whether the name at `at` is used there, and is not that of a member or of another variable,
    /// which is declared there.
    fn is_use(&self, at: usize) -> bool {
        let code = self.code;
        let before = at.saturating_sub(1);
        match code.at(before) {
            "." => false,
            ">" => code.at(before.saturating_sub(1)) != "-",
            "*" | "&" => {
                let is_begin = |i: usize| is_among(code.at(i), "; { }");
                before < 2
                    || code.kind(before - 1) != Some(TokenKind::Word)
                    || !is_begin(before - 2)
            }
            word if code.kind(before) == Some(TokenKind::Word) => {
                is_among(word, "return case else do sizeof")
            }
            _ => true,
        }
    }
}
