//! Where a source gives a constant its value.

use super::line::Tune;
use super::{Mistake, Syntax, line_at};
use crate::cpp::directive::Directive;
use crate::cpp::{self, TokenKind};
use crate::python;

/// The bytes `start..end` of the source: a number, a word or a string with its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub start: usize,
    pub end: usize,
}

/// What a source does with a name.
#[derive(Default)]
struct Uses {
    /// The places in which it gets a value.
    values: Vec<Place>,
    /// How often it is used, without the tests whether it is defined.
    elsewhere: usize,
}

/// The one place in which the source gives the tuned constant its value.
pub fn find(source: &str, syntax: Syntax, tune: &Tune) -> Result<Place, Mistake> {
    let name = tune.name.as_str();
    let uses = match syntax {
        Syntax::Cpp => in_cpp(source, name),
        Syntax::Python => in_python(source, name),
    };
    let (first, written) = (&tune.values[0], syntax.definition(name, &tune.values[0]));
    let why = match uses.values.as_slice() {
        [place] if uses.elsewhere > 0 => return Ok(*place),
        [place] => format!(
            "line {} gives {name} a value, and the source never uses it: use {name} in the kernel, or remove the tune line",
            line_at(source, place.start)
        ),
        [] if uses.elsewhere > 0 => format!(
            "the source uses {name} and gives it no plain value: write `{written}`, where a sweep puts each of the values \
             in place of {first}"
        ),
        [] => format!(
            "the source never uses {name}: write `{written}` and use {name} in the kernel, or remove the tune line"
        ),
        several => {
            let lines: Vec<String> = several
                .iter()
                .map(|place| line_at(source, place.start).to_string())
                .collect();
            format!(
                "lines {} give {name} a value: a sweep changes one place, so leave one{}",
                lines.join(" and "),
                match syntax {
                    Syntax::Cpp => "",
                    Syntax::Python => ", or give them a constant that has the tune line",
                }
            )
        }
    };
    Err(Mistake {
        line: tune.line,
        why,
    })
}

impl Syntax {
    /// A line that gives a constant a value.
    fn definition(self, name: &str, value: &str) -> String {
        let is_number = value.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        match self {
            Syntax::Cpp if is_number => format!("constexpr int {name} = {value};"),
            Syntax::Cpp => format!("#define {name} {value}"),
            Syntax::Python => format!("{name} = {value}"),
        }
    }
}

/// `#define NAME VALUE`, and `NAME = VALUE` before `;`, `,`, `>`, `)` or `}`.
fn in_cpp(source: &str, name: &str) -> Uses {
    let mut uses = Uses::default();
    let code = cpp::Code::new(source, true);
    let mut at = 0;
    while at < code.tokens.len() {
        let token = code.tokens[at];
        if token.kind == TokenKind::Directive {
            in_directive(source, token, name, &mut uses);
        } else if code.word(at) == name {
            let value = at + 2;
            let is_assigned = code.at(at + 1) == "=" && code.at(value) != "=";
            match plain_value(&code, value).filter(|_| is_assigned) {
                Some(end) if is_end(code.at(end)) && code.at(value) != name => {
                    uses.values.push(Place {
                        start: code.tokens[value].start,
                        end: code.tokens[end - 1].end,
                    });
                    at = end;
                }
                _ => uses.elsewhere += 1,
            }
        }
        at += 1;
    }
    uses
}

/// What may follow a value.
fn is_end(text: &str) -> bool {
    [";", ",", ">", ")", "}"].contains(&text)
}

/// The index behind a number with its sign, a word or a string, at `at`.
fn plain_value<T: AsRef<str>>(code: &cpp::Code<T>, at: usize) -> Option<usize> {
    let first = at + usize::from(code.at(at) == "-");
    match code.kind(first)? {
        TokenKind::Number => Some(first + 1),
        TokenKind::Word | TokenKind::Text if first == at => Some(first + 1),
        _ => None,
    }
}

fn in_directive(source: &str, token: cpp::Token, name: &str, uses: &mut Uses) {
    let text = token.text(source);
    let Some(directive) = Directive::parse(text) else {
        return;
    };
    match directive.name {
        "ifdef" | "ifndef" | "undef" => return,
        "define" => {}
        _ => {
            uses.elsewhere += cpp::words(directive.rest)
                .iter()
                .filter(|word| **word == name)
                .count();
            return;
        }
    }
    let start = token.end - directive.rest.len();
    let code = cpp::Code::new(directive.rest, true);
    let [own, rest @ ..] = code.tokens.as_slice() else {
        return;
    };
    if own.text(directive.rest) != name {
        uses.elsewhere += rest
            .iter()
            .filter(|token| token.text(directive.rest) == name)
            .count();
        return;
    }
    let end = plain_value(&code, 1);
    let has_blank = rest.first().is_some_and(|value| value.start > own.end);
    if end == Some(code.tokens.len()) && has_blank {
        uses.values.push(Place {
            start: start + rest[0].start,
            end: start + rest[rest.len() - 1].end,
        });
    }
}

/// `NAME = VALUE`, also with an annotation, among parameters and among the arguments of a call, whose
/// function uses the value.
fn in_python(source: &str, name: &str) -> Uses {
    use python::Token::{Sign, Text, Word};
    let mut uses = Uses::default();
    let tokens = python::tokens(source);
    // For each bracket that is open, whether it holds the arguments of a call.
    let mut calls = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            Sign('(' | '[' | '{') => calls.push(is_call(&tokens[..=at])),
            Sign(')' | ']' | '}') => drop(calls.pop()),
            _ => {}
        }
        let is_own = tokens[at] == Word(name);
        at += 1;
        if !is_own {
            continue;
        }
        let mut next = at;
        if tokens.get(next) == Some(&Sign(':')) {
            // An annotation: names, dots and brackets, or a string with these.
            let is_annotation = |token: &python::Token| {
                matches!(token, Word(_) | Text { .. } | Sign('.' | '[' | ']' | ':'))
            };
            next += tokens[next..]
                .iter()
                .take_while(|token| is_annotation(token))
                .count();
        }
        let is_assigned = tokens.get(next) == Some(&Sign('='));
        let value = tokens.get(next + 1).filter(|_| is_assigned);
        let follows = tokens.get(next + 2);
        let is_whole = matches!(
            follows,
            None | Some(python::Token::Line(_) | Sign(',' | ')' | ';'))
        );
        match value.and_then(|value| literal(source, value)) {
            Some(place) if is_whole => {
                uses.values.push(place);
                uses.elsewhere += usize::from(calls.last() == Some(&true));
                at = next + 2;
            }
            _ => uses.elsewhere += 1,
        }
    }
    uses
}

/// Whether the bracket that these tokens end with begins the arguments of a call, as in `kernel[grid](`,
/// and not the parameters of a function.
fn is_call(tokens: &[python::Token]) -> bool {
    use python::Token::{Sign, Word};
    match tokens {
        [.., Word("def" | "class"), Word(_), Sign('(')] => false,
        [.., Word(_) | Sign(']' | ')'), Sign('(')] => true,
        _ => false,
    }
}

/// Where a number, `True`, `False` or a string is; `None` of another token.
fn literal(source: &str, token: &python::Token) -> Option<Place> {
    let at = |text: &str| text.as_ptr() as usize - source.as_ptr() as usize;
    let (start, end) = match *token {
        python::Token::Word(word) if is_literal(word) => (at(word), at(word) + word.len()),
        python::Token::Text {
            quote: quote @ ("\"" | "'"),
            text,
            is_closed: true,
        } => (at(quote), at(text) + text.len() + quote.len()),
        _ => return None,
    };
    Some(Place { start, end })
}

fn is_literal(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || ["True", "False"].contains(&word)
}
