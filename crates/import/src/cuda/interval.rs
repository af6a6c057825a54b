//! The smallest and the largest value that an expression of C++ can have, where the ranges of its
//! names are known. Only what indices and launch shapes are made of is read.

use lab_source::cpp::{Code, TokenKind};

/// The values from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub low: i128,
    pub high: i128,
}

impl Interval {
    /// One value.
    pub fn exactly(value: i128) -> Interval {
        Interval {
            low: value,
            high: value,
        }
    }

    /// From 0 to one less than `extent`.
    pub fn below(extent: i128) -> Interval {
        Interval {
            low: 0,
            high: (extent - 1).max(0),
        }
    }

    fn over(values: [Option<i128>; 4]) -> Option<Interval> {
        let [a, b, c, d] = values;
        let all = [a?, b?, c?, d?];
        Some(Interval {
            low: *all.iter().min()?,
            high: *all.iter().max()?,
        })
    }

    fn combine(self, other: Interval, f: impl Fn(i128, i128) -> Option<i128>) -> Option<Interval> {
        let (a, b) = ([self.low, self.high], [other.low, other.high]);
        Interval::over([f(a[0], b[0]), f(a[0], b[1]), f(a[1], b[0]), f(a[1], b[1])])
    }
}

/// Gives the range of a name at a token; the name may have a member, as in `threadIdx.x`.
pub type Look<'a> = &'a dyn Fn(&str, usize) -> Option<Interval>;

/// The range of the expression that is the tokens `start..end`. `None` if it is not understood.
pub fn value<T: AsRef<str>>(
    code: &Code<T>,
    (start, end): (usize, usize),
    look: Look,
) -> Option<Interval> {
    let mut parser = Parser {
        code,
        at: start,
        end,
        look,
    };
    let value = parser.ternary()?;
    (parser.at == end).then_some(value)
}

/// The value of a text that names nothing unknown.
pub fn constant(text: &str, look: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
    let code = Code::new(text, false);
    let look = |name: &str, _: usize| look(name).map(Interval::exactly);
    let value = value(&code, (0, code.tokens.len()), &look)?;
    (value.low == value.high).then_some(value.low)
}

struct Parser<'a, T> {
    code: &'a Code<T>,
    at: usize,
    end: usize,
    look: Look<'a>,
}

/// Operators of two operands by their strength, each as it is spelled in tokens.
const LEVELS: [&[&str]; 5] = [
    &["<=", ">=", "<", ">"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Types in a cast.
pub const TYPES: [&str; 14] = [
    "int", "unsigned", "long", "short", "char", "float", "double", "size_t", "int64_t", "uint64_t",
    "int32_t", "uint32_t", "const", "uint",
];

impl<T: AsRef<str>> Parser<'_, T> {
    fn sign(&self) -> &str {
        if self.at < self.end {
            self.code.at(self.at)
        } else {
            ""
        }
    }

    fn ternary(&mut self) -> Option<Interval> {
        let condition = self.binary(0)?;
        if self.sign() != "?" {
            return Some(condition);
        }
        self.at += 1;
        let yes = self.ternary()?;
        if self.sign() != ":" {
            return None;
        }
        self.at += 1;
        let no = self.ternary()?;
        Some(Interval {
            low: yes.low.min(no.low),
            high: yes.high.max(no.high),
        })
    }

    /// The operator of a level that stands here.
    fn operator(&self, level: usize) -> Option<&'static str> {
        let joined: String = (self.at..self.end.min(self.at + 2))
            .map(|at| self.code.at(at))
            .collect();
        let found = LEVELS[level]
            .iter()
            .find(|sign| joined.starts_with(**sign) && !(sign.len() == 1 && is_longer(&joined)));
        found.copied()
    }

    fn binary(&mut self, level: usize) -> Option<Interval> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.operator(level) {
            self.at += sign.len();
            let right = self.binary(level + 1)?;
            left = apply(sign, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Interval> {
        match self.sign() {
            "-" => {
                self.at += 1;
                let value = self.unary()?;
                Some(Interval {
                    low: -value.high,
                    high: -value.low,
                })
            }
            "+" => {
                self.at += 1;
                self.unary()
            }
            "(" => {
                let close = self.code.partner(self.at);
                let is_cast = close > self.at + 1
                    && (self.at + 1..close).all(|at| TYPES.contains(&self.code.at(at)));
                let inner = (self.at + 1, close);
                self.at = close + 1;
                if is_cast {
                    return self.unary();
                }
                value(self.code, inner, self.look)
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Option<Interval> {
        let at = self.at;
        if self.code.kind(at) == Some(TokenKind::Number) {
            self.at += 1;
            return number(self.code.at(at)).map(Interval::exactly);
        }
        let mut name = Some(self.code.word(at))
            .filter(|word| !word.is_empty())?
            .to_owned();
        self.at += 1;
        // `std::min`
        while self.sign() == ":" && self.code.at(self.at + 1) == ":" {
            name = self.code.word(self.at + 2).to_owned();
            self.at += 3;
        }
        if self.sign() == "." {
            name = format!("{name}.{}", self.code.word(self.at + 1));
            self.at += 2;
        }
        if self.sign() == "<" && name.ends_with("_cast") {
            self.at = self.code.after_angles(self.at, self.end);
        }
        if self.sign() == "(" {
            let close = self.code.partner(self.at);
            let parts = self.code.split(self.at + 1, close, false);
            self.at = close + 1;
            return self.call(&name, &parts);
        }
        (self.look)(&name, at)
    }

    fn call(&self, name: &str, parts: &[(usize, usize)]) -> Option<Interval> {
        if name == "sizeof" {
            let (from, to) = *parts.first()?;
            return size_of(&self.code.spelled(from, to)).map(Interval::exactly);
        }
        let values: Option<Vec<Interval>> = parts
            .iter()
            .map(|part| value(self.code, *part, self.look))
            .collect();
        match (name, values?.as_slice()) {
            ("min" | "MIN", [a, b]) => a.combine(*b, |a, b| Some(a.min(b))),
            ("max" | "MAX", [a, b]) => a.combine(*b, |a, b| Some(a.max(b))),
            ("__ldg" | "int" | "unsigned" | "size_t" | "static_cast", [a]) => Some(*a),
            _ => None,
        }
    }
}

/// Whether two signs are one operator that no level has.
fn is_longer(joined: &str) -> bool {
    [
        "&&", "||", "==", "<<", ">>", "<=", ">=", "->", "+=", "-=", "*=", "/=", "++", "--",
    ]
    .contains(&joined)
}

fn apply(sign: &str, a: Interval, b: Interval) -> Option<Interval> {
    match sign {
        "+" => a.combine(b, i128::checked_add),
        "-" => a.combine(b, i128::checked_sub),
        "*" => a.combine(b, i128::checked_mul),
        "/" => a.combine(b, i128::checked_div),
        "%" if a.low >= 0 && b.low > 0 => Some(Interval {
            low: if a.high < b.low { a.low } else { 0 },
            high: a.high.min(b.high - 1),
        }),
        "&" if a.low >= 0 && b.low >= 0 => Some(Interval {
            low: 0,
            high: a.high.min(b.high),
        }),
        "<<" => a.combine(b, |a, b| {
            a.checked_mul(1_i128.checked_shl(u32::try_from(b).ok()?)?)
        }),
        ">>" => a.combine(b, |a, b| a.checked_shr(u32::try_from(b).ok()?)),
        "<" | ">" | "<=" | ">=" => Some(Interval { low: 0, high: 1 }),
        _ => None,
    }
}

/// The value of a whole number with its suffix.
pub fn number(text: &str) -> Option<i128> {
    let text = text.replace('\'', "").to_lowercase();
    let digits = text.trim_end_matches(['u', 'l']);
    match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// The bytes of a type by its name.
pub fn size_of(name: &str) -> Option<i128> {
    Some(match name {
        "bool" | "char" | "int8_t" | "uint8_t" => 1,
        "half" | "__half" | "__nv_bfloat16" | "nv_bfloat16" | "short" => 2,
        "float" | "int" | "unsigned" | "unsigned int" | "int32_t" | "uint32_t" => 4,
        "double" | "long" | "long long" | "int64_t" | "size_t" | "float2" | "int2" => 8,
        "float4" | "int4" | "uint4" => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Option<(i128, i128)> {
        let code = Code::new(text, false);
        let look = |name: &str, _: usize| match name {
            "N" => Some(Interval::exactly(100)),
            "threadIdx.x" => Some(Interval::below(32)),
            _ => None,
        };
        value(&code, (0, code.tokens.len()), &look).map(|found| (found.low, found.high))
    }

    #[test]
    fn an_index_has_a_range() {
        assert_eq!(range("threadIdx.x * N + 3"), Some((3, 3103)));
        assert_eq!(range("(N + 32 - 1) / 32"), Some((4, 4)));
        assert_eq!(range("(int64_t)(N - threadIdx.x - 1)"), Some((68, 99)));
        assert_eq!(range("(threadIdx.x & 7) << 2"), Some((0, 28)));
        assert_eq!(range("threadIdx.x % 32 / 8"), Some((0, 3)));
        assert_eq!(range("std::min(N, 64) * sizeof(float)"), Some((256, 256)));
        assert_eq!(range("N > 4 ? N : 2 * N"), Some((100, 200)));
    }

    #[test]
    fn what_is_not_understood_has_none() {
        for text in ["", "M", "N +", "f(N)", "N && 1", "x[3]", "N 1", "1 << 200"] {
            assert_eq!(range(text), None, "{text}");
        }
    }
}
