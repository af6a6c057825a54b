//! Casts to integer types. Of a number that the type cannot hold, a GPU gives the nearest one, and of
//! a NaN 0; this processor gives neither. So each cast calls `lab_cpu_cast`.

use super::pass::Pass;
use super::type_names::{OTHER_WORDS, WORDS};
use lab_protocol::text::is_among;
use lab_source::cpp::TokenKind;

/// Words before a cast in brackets. After any other word the brackets hold parameters.
const BEFORE: [&str; 4] = ["return", "case", "else", "do"];

impl Pass<'_> {
    /// Rewrites the cast that begins at a token, if one does. A `.cpp` is host code.
    pub fn cast(&mut self, at: usize) {
        if self.shown_as.ends_with(".cpp") {
            return;
        }
        match self.code.at(at) {
            "(" => self.cast_in_brackets(at),
            "static_cast" if self.code.at(at + 1) == "<" => {
                let behind = self.behind_type(at + 2);
                if behind > at + 2 && self.code.at(behind) == ">" {
                    let token = self.code.tokens[at];
                    self.edit(token.start, token.end, "lab_cpu_cast");
                }
            }
            word if is_among(word, WORDS) => self.cast_as_call(at),
            _ => {}
        }
    }

    /// `(int)x`, which becomes `lab_cpu_cast<int>(x)`.
    fn cast_in_brackets(&mut self, open: usize) {
        let close = self.behind_type(open + 1);
        if close == open + 1 || self.code.at(close) != ")" || !self.may_precede(open) {
            return;
        }
        let Some(behind) = self.behind_operand(close + 1) else {
            return;
        };
        let tokens = &self.code.tokens;
        let (start, end) = (tokens[open].start, tokens[close].end);
        let name = &self.code.text[tokens[open].end..tokens[close].start];
        let text = format!("lab_cpu_cast<{name}>(");
        let Some(operand_end) = tokens.get(behind - 1).map(|token| token.end) else {
            return;
        };
        self.edit(start, end, text);
        self.edit(operand_end, operand_end, ")");
    }

    /// `int(x)`, which becomes `lab_cpu_cast<int>(x)`, where an expression stands.
    fn cast_as_call(&mut self, at: usize) {
        let is_operator = |word| is_among(word, "= ( , + - * / % ? : [ & | ^ return");
        let Some(before) = at.checked_sub(1) else {
            return;
        };
        // `std::uint32_t(x)` begins at another word.
        let is_qualified =
            before > 0 && self.code.at(before) == ":" && self.code.at(before - 1) == ":";
        if is_qualified || self.code.at(at + 1) != "(" || !is_operator(self.code.at(before)) {
            return;
        }
        // `int(int)` is the type of a function, and `int(*)[4]` another type.
        let inner = at + 2;
        let is_type = self.behind_type(inner) > inner || matches!(self.code.at(inner), "*" | "&");
        if is_type || self.code.at(inner) == ")" {
            return;
        }
        let token = self.code.tokens[at];
        let text = format!("lab_cpu_cast<{}>", self.code.at(at));
        self.edit(token.start, token.end, text);
    }

    /// The first token that is no word of an integer type, or the one behind a name of the user's.
    fn behind_type(&self, at: usize) -> usize {
        let mut behind = at;
        while is_among(self.code.at(behind), WORDS) {
            behind += 1;
        }
        behind + usize::from(behind == at && self.types.contains(self.code.at(at)))
    }

    /// Whether a cast in brackets may stand at `open`.
    fn may_precede(&self, open: usize) -> bool {
        let Some(before) = open.checked_sub(1) else {
            return false;
        };
        match self.code.kind(before) {
            Some(TokenKind::Word) => BEFORE.contains(&self.code.at(before)),
            Some(TokenKind::Directive) => false,
            // Behind a bracket or a template's arguments the brackets hold parameters.
            _ => !matches!(self.code.at(before), ")" | "]" | ">" | "}"),
        }
    }

    /// The token behind the operand of a cast: what it is applied to, with what is called, indexed
    /// or selected of it. `None` where no operand begins.
    fn behind_operand(&self, at: usize) -> Option<usize> {
        let code = self.code;
        let is_word = |at: usize| {
            let kind = code.kind(at);
            matches!(
                kind,
                Some(TokenKind::Word | TokenKind::Number | TokenKind::Text)
            )
        };
        match code.at(at) {
            "-" | "+" | "~" | "!" | "*" | "&" => return self.behind_operand(at + 1),
            "(" => {
                let close = code.partner(at);
                let behind = self.behind_type(at + 1);
                let is_other = is_among(code.at(at + 1), OTHER_WORDS) && at + 2 == close;
                if is_other || behind > at + 1 && behind == close {
                    return self.behind_operand(close + 1);
                }
                // Two operands never stand side by side, so brackets before one are casts to some
                // other type.
                let mut last = close;
                while code.at(last + 1) == "(" {
                    last = code.partner(last + 1);
                }
                if is_word(last + 1) || matches!(code.at(last + 1), "~" | "!") {
                    return self.behind_operand(last + 1);
                }
            }
            _ if is_word(at) => {}
            _ => return None,
        }
        let is_open = code.at(at) == "(";
        let mut behind = 1 + if is_open { code.partner(at) } else { at };
        loop {
            behind = match (code.at(behind), code.at(behind + 1)) {
                ("(" | "[", _) => code.partner(behind) + 1,
                (".", _) if code.kind(behind + 1) == Some(TokenKind::Word) => behind + 2,
                ("-", ">") | (":", ":") => behind + 3,
                ("<", _) => match self.behind_call_of_template(behind) {
                    Some(next) => next,
                    None => return Some(behind),
                },
                // One operator, if nothing stands between them.
                ("+", "+") | ("-", "-")
                    if code.tokens[behind].end == code.tokens[behind + 1].start =>
                {
                    behind + 2
                }
                _ => return Some(behind),
            };
        }
    }

    /// The token behind `<…>`, if it is followed by the brackets of a call: a template's arguments.
    fn behind_call_of_template(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in open.. {
            match self.code.at(at) {
                "<" => depth += 1,
                ">" if depth == 1 => return (self.code.at(at + 1) == "(").then_some(at + 1),
                ">" => depth -= 1,
                "" | ";" | "{" | "}" | "&" | "|" | "?" => return None,
                _ => {}
            }
        }
        None
    }
}
