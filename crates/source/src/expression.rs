//! Arithmetic with names, as in `2 * rows * cols` in problem.toml, and in `BLOCK * 4 <= 1024` of a
//! tune line.

use crate::suggest::suggest;
use exmex::{BinOp, Express, FlatEx, FloatOpsFactory, MakeOperators, Operator};
use std::cell::Cell;

/// Most bytes of an expression. The parser calls itself for each bracket.
const LONGEST: usize = 1000;

/// A parsed expression. All its variables are known names.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    parsed: FlatEx<f64, Arithmetic>,
}

/// The operators of an expression: those of the parser, and `%`, comparisons, `&&` and `||`. What is
/// true is 1, what is not is 0. `%` binds weaker than `*` and `/`, so that `m * k % 32` is the rest of
/// the product. What divides by zero or compares an infinite number has no value, and neither has
/// what depends on it: `&&` and `||` do not depend on their right side where the left one decides.
#[derive(Clone, Debug)]
struct Arithmetic;

impl MakeOperators<f64> for Arithmetic {
    fn make<'a>() -> Vec<Operator<'a, f64>> {
        let of = |sign: &'static str, prio, apply: fn(f64, f64) -> f64| {
            let is_commutative = false;
            Operator::make_bin(
                sign,
                BinOp {
                    apply,
                    prio,
                    is_commutative,
                },
            )
        };
        let own = [
            of("||", 0, |a, b| if is_true(a) { 1.0 } else { a + truth(b) }),
            of("&&", 1, |a, b| if is_true(a) { truth(b) } else { a }),
            of("<=", 2, |a, b| of_both(a, b, f64::from(a <= b))),
            of(">=", 2, |a, b| of_both(a, b, f64::from(a >= b))),
            of("<", 2, |a, b| of_both(a, b, f64::from(a < b))),
            of(">", 2, |a, b| of_both(a, b, f64::from(a > b))),
            of("==", 2, |a, b| of_both(a, b, f64::from(a == b))),
            of("!=", 2, |a, b| of_both(a, b, f64::from(a != b))),
            of("%", 6, |a, b| divided(a, b, a % b)),
        ];
        let usual = FloatOpsFactory::<f64>::make().into_iter();
        usual.map(careful).map(raised).chain(own).collect()
    }
}

/// Why a part of an expression is no number.
#[derive(Clone, Copy)]
enum NoNumber {
    /// This number was divided by zero.
    ByZero(f64),
    TooLarge,
}

thread_local! {
    /// The first of them in the expression that is computed.
    static CAUSE: Cell<Option<NoNumber>> = const { Cell::new(None) };
}

fn no_number(cause: NoNumber) -> f64 {
    CAUSE.set(CAUSE.get().or(Some(cause)));
    f64::NAN
}

/// A result that both sides have a part in; no number where one side is none or infinite.
fn of_both(a: f64, b: f64, result: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a.is_infinite() || b.is_infinite() {
        no_number(NoNumber::TooLarge)
    } else {
        result
    }
}

/// A quotient, or the rest of one.
fn divided(a: f64, b: f64, result: f64) -> f64 {
    if b == 0.0 && !a.is_nan() {
        return no_number(NoNumber::ByZero(a));
    }
    of_both(a, b, result)
}

fn is_true(value: f64) -> bool {
    value != 0.0 && value.is_finite()
}

fn truth(value: f64) -> f64 {
    of_both(value, value, f64::from(value != 0.0))
}

/// The operators of the parser that would make a number of what divides by zero.
fn careful(operator: Operator<'_, f64>) -> Operator<'_, f64> {
    let apply: fn(f64, f64) -> f64 = match operator.repr() {
        "/" => |a, b| divided(a, b, a / b),
        "^" => |a, b| of_both(a, b, a.powf(b)),
        "max" => |a, b| of_both(a, b, a.max(b)),
        "min" => |a, b| of_both(a, b, a.min(b)),
        _ => return operator,
    };
    match operator.bin() {
        Ok(usual) => Operator::make_bin(operator.repr(), BinOp { apply, ..usual }),
        Err(_) => operator,
    }
}

/// The operator with a priority that leaves places below and between those of the parser: `+` has 3,
/// `-` 5, `*` 7, `/` 9.
fn raised(operator: Operator<'_, f64>) -> Operator<'_, f64> {
    let Ok(usual) = operator.bin() else {
        return operator;
    };
    let raised = BinOp {
        prio: 3 + 2 * usual.prio,
        ..usual
    };
    match operator.unary() {
        Ok(unary) => Operator::make_bin_unary(operator.repr(), raised, unary),
        Err(_) => Operator::make_bin(operator.repr(), raised),
    }
}

impl Expression {
    /// Parses `text`, whose variables must be among these names of dimensions.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, String> {
        Self::parse_of(text, names, "is not a dimension")
    }

    /// [`Expression::parse`] with other names. `is_not` says what any other name is not: `is not a
    /// dimension`.
    pub fn parse_of(text: &str, names: &[&str], is_not: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!(
                "an expression has at most {LONGEST} bytes, and this one has {}",
                text.len()
            ));
        }
        let parsed = FlatEx::<f64, Arithmetic>::parse(&written_out(text, names)?).map_err(|e| {
            // The parser also shows its own structures.
            let why = e.msg().split(", Operator {").next().unwrap_or_default();
            format!("'{text}' is not an expression: {why}")
        })?;
        if let Some(unknown) = parsed
            .var_names()
            .iter()
            .find(|v| !names.contains(&v.as_str()))
        {
            let hint = suggest(unknown, names);
            return Err(format!("'{text}' names '{unknown}', which {is_not}{hint}"));
        }
        Ok(Expression {
            text: text.to_owned(),
            parsed,
        })
    }

    /// The names in it, each once.
    pub fn names(&self) -> &[String] {
        self.parsed.var_names()
    }

    /// The value; an error if it is not finite. `look_up` gives the value of a name.
    pub fn value(&self, look_up: impl Fn(&str) -> f64) -> Result<f64, String> {
        let values: Vec<f64> = self
            .parsed
            .var_names()
            .iter()
            .map(|name| look_up(name))
            .collect();
        CAUSE.set(None);
        let value = self
            .parsed
            .eval(&values)
            .map_err(|e| format!("'{}': {}", self.text, e.msg()))?;
        if value.is_finite() {
            return Ok(value);
        }
        let text = &self.text;
        Err(match CAUSE.get() {
            Some(NoNumber::ByZero(divided)) => format!("'{text}' divides {divided} by zero"),
            None if value.is_nan() => {
                format!("'{text}' is no number: it divides by zero, or has no real value")
            }
            _ => format!("'{text}' is infinite: it is too large"),
        })
    }

    /// The value as an extent; an error if it is not a whole number from 1 to 2147483647.
    pub fn extent(&self, look_up: impl Fn(&str) -> f64) -> Result<usize, String> {
        let value = self.value(look_up)?;
        if value.fract() != 0.0 || !(1.0..=f64::from(i32::MAX)).contains(&value) {
            return Err(format!(
                "'{}' is {value}; an extent must be a whole number from 1 to 2147483647",
                self.text
            ));
        }
        Ok(value as usize)
    }
}

/// Replaces numbers with an exponent, as `1e-3`, by their digits, because the parser reads `e` as a
/// name; and puts the names into braces, because the parser takes the beginning of `max_n` and of
/// `e` for its own.
fn written_out(text: &str, names: &[&str]) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((token, after)) = first_token(rest) {
        let is_number = token.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        match token.parse::<f64>() {
            Ok(number) if is_number && token.contains(['e', 'E']) => {
                if !number.is_finite() {
                    return Err(format!("'{text}': {token} is too large"));
                }
                out += &number.to_string();
            }
            _ if names.contains(&token) && !after.trim_start().starts_with('(') => {
                out += &format!("{{{token}}}");
            }
            _ => out += token,
        }
        rest = after;
    }
    Ok(out)
}

/// Splits a text behind its first token: a name, a number, or any other character. `None` if the
/// text is empty.
pub fn first_token(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?;
    let end = if first.is_ascii_alphabetic() || first == '_' {
        text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(text.len())
    } else if first.is_ascii_digit() || first == '.' {
        number_end(text)
    } else {
        first.len_utf8()
    };
    Some(text.split_at(end))
}

/// Where the number at the beginning of `text` ends, with its exponent if it has one.
fn number_end(text: &str) -> usize {
    let digits = |from: usize| {
        let behind = &text[from..];
        from + behind
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(behind.len())
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let last = digits(end + 1 + sign);
        if last > end + 1 + sign {
            return last;
        }
    }
    end
}

#[cfg(test)]
mod tests;
