//! `__shared__` declarations. All blocks of a cooperative launch are resident at once, so each
//! block has its own memory for them, and the declared names become references into it.

use super::pass::Pass;
use super::quoted;
use lab_source::cpp::TokenKind;
use lab_source::line_at;

impl Pass<'_> {
    /// Rewrites the declaration with `__shared__` at `at`. Returns the index of the token to go on
    /// with.
    pub(super) fn shared_declaration(&mut self, at: usize) -> usize {
        let start = self.declaration_start(at);
        let Some(end) = self.end_of_declaration(at) else {
            return at + 1;
        };
        let declared: Vec<usize> = (start..end).collect();
        let is_extern = declared.iter().any(|i| self.code.word(*i) == "extern");
        let names = self.declared_names(start, end);
        if names.is_empty() {
            return at + 1;
        }
        match is_extern {
            true if self.preprocessed.is_some() && self.outside() => {
                let token = self.code.tokens[at];
                let reason = "extern __shared__ memory that a macro declares outside a function is not supported on the cpu device: declare it in the kernel";
                let refusal = self.refuse(token.start, reason);
                self.edit(token.start, token.end, refusal);
            }
            true => self.extern_shared(start, end, &names[0]),
            false if self.outside() => {
                let token = self.code.tokens[at];
                let reason = "static __shared__ memory outside a function is not supported on the cpu device: declare it in the kernel";
                let refusal = self.refuse(token.start, reason);
                self.edit(token.start, token.end, refusal);
            }
            false => {
                self.shared_declarations += 1;
                let name = format!("lab_cpu_shared_{}_{}", self.unit, self.shared_declarations);
                let mut after = String::from(" };");
                for member in &names {
                    after += &format!(" auto& {member} = lab_cpu_shared<{name}>().{member};");
                }
                self.edit(
                    self.code.tokens[start].start,
                    self.code.tokens[start].start,
                    format!("struct {name} {{ "),
                );
                for i in declared {
                    if self.code.word(i) == "static" || self.is_shared(self.code.word(i)) {
                        self.edit(self.code.tokens[i].start, self.code.tokens[i].end, "");
                    }
                }
                self.edit(self.code.tokens[end].end, self.code.tokens[end].end, after);
            }
        }
        end + 1
    }

    /// The index of the declaration's semicolon. `None` where it has none.
    fn end_of_declaration(&self, at: usize) -> Option<usize> {
        let mut next = at;
        while next < self.code.tokens.len() {
            match self.code.tokens[next].kind {
                TokenKind::Punct(b';') => return Some(next),
                TokenKind::Punct(b'(' | b'[' | b'{') => next = self.code.partner(next),
                TokenKind::Punct(b')' | b'}') | TokenKind::Directive => return None,
                _ => {}
            }
            next += 1;
        }
        None
    }

    /// The names that `T a[2], b;` declares: between two commas, the last word before a bracket.
    fn declared_names(&self, start: usize, end: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut last = None;
        let mut in_extents = false;
        let mut angles = 0usize;
        let mut at = start;
        while at <= end {
            match self.code.tokens[at].kind {
                TokenKind::Punct(b'<') => angles += 1,
                TokenKind::Punct(b'>') => angles = angles.saturating_sub(1),
                TokenKind::Punct(b'[') => {
                    in_extents |= angles == 0;
                    at = self.code.partner(at);
                }
                TokenKind::Punct(b'(' | b'{') => at = self.code.partner(at),
                TokenKind::Punct(b',' | b';') if angles == 0 => {
                    names.extend(last.take());
                    in_extents = false;
                }
                TokenKind::Word if angles == 0 && !in_extents => {
                    let word = self.code.word(at);
                    if !matches!(word, "__align__" | "alignas" | "__attribute__") {
                        last = Some(word.to_owned());
                    }
                }
                _ => {}
            }
            at += 1;
        }
        names
    }

    /// Rewrites `extern __shared__ T name[];` to a reference to the block's dynamic shared memory.
    /// Outside functions, where a reference would be bound once for all blocks, rewrites it to a
    /// macro.
    fn extern_shared(&mut self, start: usize, end: usize, name: &str) {
        let mut kind = String::new();
        let mut extents = String::new();
        let mut at = start;
        while at < end {
            let token = self.code.tokens[at];
            match self.code.word(at) {
                "extern" | "static" => {}
                word if self.is_shared(word) => {}
                "__align__" | "alignas" | "__attribute__" => at = self.code.partner(at + 1),
                word if word == name && self.code.punct(at + 1, b'[') => {
                    extents =
                        self.code.text[token.end..self.code.tokens[end].start].replace('\n', " ");
                    break;
                }
                _ => {
                    kind += token.text(self.code.text);
                    kind.push(' ');
                }
            }
            at += 1;
        }
        let (first, last) = (self.code.tokens[start].start, self.code.tokens[end].end);
        let newlines = self.code.text[first..last].matches('\n').count();
        let address = format!("*reinterpret_cast<{kind}(*){extents}>(lab_cpu_dynamic())");
        let text = if self.outside() {
            let line = line_at(self.code.text, last);
            format!(
                "\n#define {name} ({address})\n#line {line} {}\n",
                quoted(self.shown_as)
            )
        } else {
            format!(
                "{kind}(&{name}){extents} = {address};{}",
                "\n".repeat(newlines)
            )
        };
        self.edit(first, last, text);
    }
}
