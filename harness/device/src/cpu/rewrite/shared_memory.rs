//! `__shared__` declarations. All blocks of a cooperative launch are resident at once, so each
//! block has its own memory for them, and the declared names become references into it.

use super::pass::Pass;
use super::quoted;
use lab_source::cpp::TokenKind;
use lab_source::line_at;

/// What the compiler says at a declaration that is too large.
const TOO_LARGE: &str =
    "more than 48 KiB of static shared memory: use extern __shared__ and launch.shared_bytes";

impl Pass<'_> {
    /// Rewrites the declaration with `__shared__` at `at`. Returns the index of the token to go on
    /// with.
    pub fn shared_declaration(&mut self, at: usize) -> usize {
        let start = self.declaration_start(at);
        let end = self.code.statement_end(at, self.code.tokens.len());
        let names = match self.code.at(end) {
            ";" => self.declared_names(start, end),
            _ => return at + 1,
        };
        if names.is_empty() {
            return at + 1;
        }
        let is_extern = (start..end).any(|i| self.code.at(i) == "extern");
        let misplaced = if is_extern {
            self.preprocessed.map(|_| {
                "extern __shared__ memory that a macro declares outside a function is not supported on the cpu device: declare it in the kernel"
            })
        } else {
            Some(
                "static __shared__ memory outside a function is not supported on the cpu device: declare it in the kernel",
            )
        };
        let token = self.code.tokens[at];
        let mut outermost = self.code.outermost(start, end);
        match misplaced.filter(|_| self.outside()) {
            Some(reason) => self.refuse(token.start, token.end, reason, ""),
            None if is_extern => self.extern_shared(start, end, &names[0]),
            None if outermost.any(|i| self.code.at(i) == "=") => {
                let reason = "a __shared__ variable cannot have an initial value: write it in a thread, then __syncthreads()";
                self.refuse(token.start, token.end, reason, " static");
            }
            None => self.static_shared(start, end, &names),
        }
        end + 1
    }

    /// Rewrites `__shared__ T name;` to a struct in the block's shared memory, and references to
    /// its members.
    fn static_shared(&mut self, start: usize, end: usize, names: &[String]) {
        self.shared_declarations += 1;
        let name = format!("lab_cpu_shared_{}_{}", self.unit, self.shared_declarations);
        let mut after =
            format!(" }}; static_assert(sizeof({name}) <= 48 * 1024, \"{TOO_LARGE}\");");
        for member in names {
            let declared = format!(" auto& {member} = lab_cpu_shared<{name}>().{member};");
            after += &declared;
            self.note_shared_name(member, declared);
        }
        let code = self.code;
        let (first, last) = (code.tokens[start].start, code.tokens[end].end);
        self.edit(first, first, format!("struct {name} {{ "));
        for i in start..end {
            if code.at(i) == "static" || self.is_shared(code.at(i)) {
                self.edit(code.tokens[i].start, code.tokens[i].end, "");
            }
        }
        self.edit(last, last, after);
    }

    /// The names that `T a[2], b;` declares: between two commas, the last word before a bracket.
    fn declared_names(&self, start: usize, end: usize) -> Vec<String> {
        let mut names = Vec::new();
        let (mut last, mut in_extents) = (None, false);
        for at in self.code.outermost(start, end + 1) {
            match self.code.at(at) {
                "[" => in_extents = true,
                "," | ";" => {
                    names.extend(last.take());
                    in_extents = false;
                }
                "__align__" | "alignas" | "__attribute__" => {}
                word if !in_extents && self.code.kind(at) == Some(TokenKind::Word) => {
                    last = Some(word.to_owned());
                }
                _ => {}
            }
        }
        names
    }

    /// Rewrites `extern __shared__ T name[];` to a reference to the block's dynamic shared memory.
    /// Outside functions, where a reference would be bound once for all blocks, rewrites it to a
    /// macro. An external name besides lets the compiler refuse a second type for the same name.
    fn extern_shared(&mut self, start: usize, end: usize, name: &str) {
        let mut kind = String::new();
        let mut extents = String::new();
        let mut at = start;
        while at < end {
            match self.code.at(at) {
                "extern" | "static" => {}
                "alignas" if (start..at).any(|i| self.code.at(i) == "extern") => {
                    let token = self.code.tokens[start];
                    let reason = "NVRTC refuses alignas behind extern: write __align__(16)";
                    return self.refuse(token.start, token.start, reason, " ");
                }
                word if self.is_shared(word) => {}
                "__align__" | "alignas" | "__attribute__" => at = self.code.partner(at + 1),
                word if word == name && self.code.at(at + 1) == "[" => {
                    let extent = self.code.tokens[at].end..self.code.tokens[end].start;
                    extents = self.code.text[extent].replace('\n', " ");
                    break;
                }
                word => {
                    kind += word;
                    kind.push(' ');
                }
            }
            at += 1;
        }
        let (first, last) = (self.code.tokens[start].start, self.code.tokens[end].end);
        let newlines = self.code.text[first..last].matches('\n').count();
        let address = format!("*reinterpret_cast<{kind}(*){extents}>(lab_cpu_dynamic())");
        let once = format!("extern {kind}lab_cpu_dynamic_{name}{extents};");
        let text = if self.outside() {
            let line = line_at(self.code.text, last);
            format!(
                "{once}\n#define {name} ({address})\n#line {line} {}\n",
                quoted(self.shown_as)
            )
        } else {
            let declared = format!(" {kind}(&{name}){extents} = {address};");
            let text = format!("{once}{declared}{}", "\n".repeat(newlines));
            self.note_shared_name(name, declared);
            text
        };
        self.edit(first, last, text);
    }
}
