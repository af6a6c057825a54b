//! Finds device code that uses a function or a variable without `__device__`, which NVRTC refuses
//! and the host's compiler takes.
//!
//! The preprocessed text is given to the compiler once more, for its errors only, with the
//! attribute `unavailable` on each function and variable that lacks `__device__`, and without the
//! bodies of these functions. So overloads, member functions, operators, constructors and templates
//! are resolved by the compiler, and each remaining use is in device code. g++ 11 does not know the
//! attribute and finds nothing.

use super::{CONSTANT, DEVICE, Declaration, GLOBAL, HOST, Preprocessed, SHARED};
use crate::cpu::rewrite::{Edit, apply};
use lab_source::line_start;
use std::collections::HashSet;

/// What the attribute says, before the index of the declaration.
const MARK: &str = "lab_cpu_host_code ";

/// The text for the compiler, and what is needed to read its errors.
pub struct HostCheck<'t> {
    text: &'t Preprocessed,
    declarations: &'t [Declaration],
    /// Indices of the declarations that device code must not use.
    host: Vec<usize>,
    edits: Vec<Edit>,
    /// The text for the compiler. It has as many lines as the preprocessed text.
    pub checked: String,
}

impl<'t> HostCheck<'t> {
    /// `None` where every function and variable may be used in device code.
    pub fn new(text: &'t Preprocessed, declarations: &'t [Declaration]) -> Option<HostCheck<'t>> {
        let of_device = declarations.iter().filter(|d| d.device || d.global);
        let of_device: HashSet<_> = of_device.map(|found| found.key(text)).collect();
        let is_host = |found: &Declaration| {
            let may_be_constant = (found.is_const || found.is_constexpr) && !found.is_array;
            let of_host = found.is_function || !may_be_constant;
            of_host && !found.exempt && !of_device.contains(&found.key(text))
        };
        let host: Vec<usize> = (0..declarations.len())
            .filter(|i| is_host(&declarations[*i]))
            .collect();
        if host.is_empty() {
            return None;
        }
        let mut edits = Vec::new();
        for index in &host {
            let found = &declarations[*index];
            let start = text.tokens[found.first].start;
            let mark = format!("__attribute__((unavailable(\"{MARK}{index}\"))) ");
            edits.push(Edit::new(start, start, mark));
            // A constant expression needs its function's body.
            if let Some((open, close)) = found.body.filter(|_| !found.is_constexpr) {
                let (from, to) = (text.tokens[open].start, text.tokens[close].end);
                let lines = text.text[from..to].matches('\n').count();
                edits.push(Edit::new(from, to, format!(";{}", "\n".repeat(lines))));
            }
        }
        for (at, token) in text.tokens.iter().enumerate() {
            if [DEVICE, CONSTANT, HOST, GLOBAL, SHARED].contains(&text.at(at)) {
                edits.push(Edit::new(token.start, token.end, ""));
            }
        }
        // Without the markers an error names its place in this text, so the use can be looked at.
        let mut start = 0;
        for line in text.text.split_inclusive('\n') {
            if super::marker(line).is_some() {
                edits.push(Edit::new(start, start + line.len(), "\n"));
            }
            start += line.len();
        }
        edits.sort();
        Some(HostCheck {
            checked: apply(&text.text, edits.clone()),
            text,
            declarations,
            host,
            edits,
        })
    }

    /// Reads the compiler's messages about [`HostCheck::checked`]. Returns an error for each use in
    /// device code, in the form of a compiler message.
    pub fn errors(&self, messages: &str) -> String {
        let mut seen = HashSet::new();
        let errors = messages.lines().filter_map(|line| self.error(line));
        errors.filter(|error| seen.insert(error.clone())).collect()
    }

    /// Returns the error of a compiler message, if it is about a use in device code.
    fn error(&self, message: &str) -> Option<String> {
        let (place, rest) = message.split_once(": error: ")?;
        let (what, number) = rest.rsplit_once(MARK)?;
        let number = number.trim_end_matches(|c: char| !c.is_ascii_digit());
        let found = self.declarations.get(number.parse::<usize>().ok()?)?;
        let offset = self.offset(place)?;
        let tokens = &self.text.tokens;
        let at = tokens.partition_point(|token| token.end <= offset);
        if !self.is_use_in_device_code(found, at) {
            return None;
        }
        let (file, line) = self.text.place(offset);
        let (of_file, of_line) = self.text.place(tokens[found.first].start);
        let what = what.split(" is unavailable").next().unwrap_or(what).trim();
        let place = if of_file == file {
            format!("line {of_line}")
        } else {
            format!("{of_file}:{of_line}")
        };
        let message = if found.is_function {
            format!(
                "device code calls {what}, which has no __device__ and is host code: write __device__ before it ({place})"
            )
        } else {
            format!(
                "device code uses {what}, a variable of the host: write __device__ or __constant__ before it ({place})"
            )
        };
        Some(format!("{file}:{line}: error: {message}\n"))
    }

    /// The byte of the preprocessed text at a place `FILE:LINE:COLUMN` of the checked text.
    fn offset(&self, place: &str) -> Option<usize> {
        let (rest, column) = place.rsplit_once(':')?;
        let (_, line) = rest.rsplit_once(':')?;
        let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
        let wanted = line_start(&self.checked, line) + column.checked_sub(1)?;
        // How far both texts have come with the edits before the place.
        let (mut from, mut to) = (0, 0);
        for Edit { start, end, text } in &self.edits {
            if *start < from {
                continue;
            }
            if to + (start - from) > wanted {
                break;
            }
            to += start - from + text.len();
            from = *end;
            if to > wanted {
                return Some(*start);
            }
        }
        Some(from + (wanted - to)).filter(|offset| *offset < self.text.text.len())
    }

    /// Whether the use at a token is one that NVRTC refuses. It takes uses in host code, and
    /// constants that it computes itself.
    fn is_use_in_device_code(&self, used: &Declaration, at: usize) -> bool {
        let holds = |d: &Declaration| d.first <= at && at <= d.last;
        let in_host = self.host.iter().any(|i| holds(&self.declarations[*i]));
        let around = self.declarations.iter().find(|d| holds(d));
        // The initialiser of a variable runs on the host.
        if in_host || around.is_some_and(|d| !d.is_function) {
            return false;
        }
        match (used.is_function, used.is_constexpr) {
            (true, true) => self.is_call_at_run_time(at, around),
            (true, false) => true,
            (false, _) if used.is_const || used.is_constexpr => self.has_index_of_run_time(at),
            (false, _) => true,
        }
    }

    /// Whether a call of a constexpr function is one that the compiler need not compute.
    fn is_call_at_run_time(&self, at: usize, around: Option<&Declaration>) -> bool {
        let text = self.text;
        // The compiler names the function's arguments, or the function.
        let open = if text.at(at) == "(" { at } else { at + 1 };
        if text.at(open) != "(" {
            return false;
        }
        let (name, close) = (open - 1, text.partner(open));
        let mut is_const = false;
        let mut back = name;
        while let Some(before) = back.checked_sub(1) {
            match text.at(before) {
                "{" => return !self.opens_enum(before) && !is_const,
                ";" | "}" => break,
                // An argument of a template.
                "<" | "," if back == name && text.at(close + 1) == ">" => return false,
                ")" | "]" => {
                    back = text.partner(before).min(before);
                    continue;
                }
                // `[`: an array's extent.
                "[" | "constexpr" | "static_assert" | "case" | "alignas" | "constinit"
                | "using" | "typedef" | "enum" => return false,
                "const" => is_const = true,
                _ => {}
            }
            back = before;
        }
        !is_const || (open..close).any(|i| self.is_value_of_run_time(i, around))
    }

    /// Whether a brace encloses the values of an enumeration.
    fn opens_enum(&self, brace: usize) -> bool {
        let before = (0..brace).rev().map(|at| self.text.at(at));
        let mut around = before.take_while(|token| !matches!(*token, ";" | "{" | "}" | ")"));
        around.any(|token| token == "enum")
    }

    /// Whether a word is a parameter of the function around it, or an index of the thread.
    fn is_value_of_run_time(&self, at: usize, around: Option<&Declaration>) -> bool {
        let text = self.text;
        let word = text.word(at);
        let Some((open, close)) = around.and_then(|d| d.parameters) else {
            return false;
        };
        let is_parameter =
            |i: usize| text.at(i) == word && matches!(text.at(i + 1), "," | ")" | "[" | "=");
        word == "lab_cpu_self" || !word.is_empty() && (open..close).any(is_parameter)
    }

    /// Whether the array at a token is indexed by a name: the compiler cannot compute the element.
    fn has_index_of_run_time(&self, at: usize) -> bool {
        let text = self.text;
        if text.at(at + 1) != "[" {
            return false;
        }
        let close = text.partner(at + 1);
        let is_constant = |word: &str| !word.bytes().any(|c| c.is_ascii_lowercase());
        (at + 2..close).any(|i| !is_constant(text.word(i)))
    }
}
