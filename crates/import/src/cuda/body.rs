//! What a kernel's body says of the values of its variables.

use super::interval::{Interval, value};
use lab_source::cpp::Code;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A range of tokens.
pub type Range = (usize, usize);

/// `name = value`.
pub struct Assignment {
    pub name: String,
    /// The index of the name.
    pub at: usize,
    pub value: Range,
    /// A pointer is declared, whose elements are so many numbers wide.
    pub pointer: Option<usize>,
    /// The brackets of the `for` that begins with it.
    header: Option<Range>,
}

/// `name < value`.
struct Bound {
    name: String,
    at: usize,
    value: Range,
    is_inclusive: bool,
    /// It depends on an extent.
    is_of_size: bool,
}

/// A function's body, and what is known of the names in it.
pub struct Body<'a> {
    pub code: &'a Code<String>,
    pub range: Range,
    pub assignments: Vec<Assignment>,
    bounds: Vec<Bound>,
    /// Values of parameters, of the template's parameters, of `threadIdx.x` and its like.
    known: BTreeMap<String, Interval>,
    /// The names of the parameters that are extents.
    sizes: BTreeSet<String>,
    /// Constants of the file.
    constant: &'a dyn Fn(&str) -> Option<i128>,
    /// How many numbers a type of an element holds.
    pub width: &'a dyn Fn(&str) -> Option<usize>,
    /// The ranges of names, by their token and by how many names may still be followed.
    found: RefCell<BTreeMap<(usize, usize), Option<Interval>>>,
}

/// Most names that are followed from one value.
const DEEPEST: usize = 12;

impl<'a> Body<'a> {
    pub fn new(
        code: &'a Code<String>,
        known: BTreeMap<String, Interval>,
        sizes: BTreeSet<String>,
        constant: &'a dyn Fn(&str) -> Option<i128>,
        width: &'a dyn Fn(&str) -> Option<usize>,
    ) -> Body<'a> {
        let range = (0, code.tokens.len());
        let mut body = Body {
            code,
            range,
            assignments: Vec::new(),
            bounds: Vec::new(),
            known,
            sizes,
            constant,
            width,
            found: RefCell::default(),
        };
        for at in range.0..range.1 {
            body.read(at);
        }
        let of_size = body.bounds.iter();
        let of_size: Vec<bool> = of_size.map(|it| body.names_size(it.value, 4)).collect();
        for (bound, is_of_size) in body.bounds.iter_mut().zip(of_size) {
            bound.is_of_size = is_of_size;
        }
        body
    }

    /// Gives a name these values everywhere, or again those that follow from the code. Returns what
    /// the name was given before.
    pub fn give(&mut self, name: &str, values: Option<Interval>) -> Option<Interval> {
        self.found.get_mut().clear();
        match values {
            Some(values) => self.known.insert(name.to_owned(), values),
            None => self.known.remove(name),
        }
    }

    fn read(&mut self, at: usize) {
        let code = self.code;
        let name = code.word(at);
        let is_member = at > 0 && code.at(at - 1) == ".";
        if name.is_empty() || is_member {
            return;
        }
        let name = name.to_owned();
        match (code.at(at + 1), code.at(at + 2)) {
            ("=", second) if second != "=" => {
                let value = (at + 2, self.end_of(at + 2));
                let pointer = self.declared_pointer(at);
                let header = self.header(at);
                self.assignments.push(Assignment {
                    name,
                    at,
                    value,
                    pointer,
                    header,
                });
            }
            ("<", second) if second != "<" => {
                let start = at + 2 + usize::from(second == "=");
                self.bound(name, at, start, second == "=");
            }
            // `if (i >= n) return;`
            (">", "=") => self.bound(name, at, at + 3, false),
            _ => {}
        }
    }

    fn bound(&mut self, name: String, at: usize, start: usize, is_inclusive: bool) {
        let value = (start, self.end_of(start));
        self.bounds.push(Bound {
            name,
            at,
            value,
            is_inclusive,
            is_of_size: false,
        });
    }

    /// The index of the token that ends the expression at `start`.
    pub fn end_of(&self, start: usize) -> usize {
        let code = self.code;
        let mut at = start;
        while at < self.range.1 {
            match (code.at(at), code.at(at + 1)) {
                ("(" | "[" | "{", _) => at = code.partner(at).max(at),
                (";" | "," | ")" | "]" | "}" | ":", _) => return at,
                ("&", "&") | ("|", "|") => return at,
                ("?", _) if at == start => return at,
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// For `T* name =`, how many numbers an element of `T` holds; 1 for `auto`.
    fn declared_pointer(&self, at: usize) -> Option<usize> {
        let code = self.code;
        let mut before = at.checked_sub(1)?;
        while ["const", "__restrict__", "__restrict"].contains(&code.word(before)) {
            before = before.checked_sub(1)?;
        }
        match code.at(before) {
            "*" => {
                // `*p = v` declares nothing.
                let base = code.word(before.checked_sub(1)?);
                let width = (self.width)(base).unwrap_or(1);
                (!base.is_empty()).then_some(width)
            }
            "auto" => Some(1),
            _ => None,
        }
    }

    /// The brackets of the `for` whose first statement declares the name at `at`.
    fn header(&self, at: usize) -> Option<Range> {
        let code = self.code;
        let open = (at.saturating_sub(5)..at)
            .rev()
            .find(|i| code.at(*i) == "(")?;
        (code.word(open.checked_sub(1)?) == "for").then(|| (open, code.partner(open)))
    }

    /// The range of an expression.
    pub fn value(&self, range: Range) -> Option<Interval> {
        self.value_at(range, DEEPEST)
    }

    fn value_at(&self, range: Range, depth: usize) -> Option<Interval> {
        let depth = depth.checked_sub(1)?;
        value(self.code, range, &|name: &str, at: usize| {
            self.name(name, at, depth)
        })
    }

    /// The range of a name at a token. Names that depend on one another would be followed again and
    /// again.
    fn name(&self, name: &str, at: usize, depth: usize) -> Option<Interval> {
        if let Some(found) = self.found.borrow().get(&(at, depth)) {
            return *found;
        }
        let values = self.followed(name, at, depth);
        self.found.borrow_mut().insert((at, depth), values);
        values
    }

    fn followed(&self, name: &str, at: usize, depth: usize) -> Option<Interval> {
        if let Some(known) = self.known.get(name) {
            return Some(*known);
        }
        let assigned = self.assignments.iter().rev();
        let assigned = assigned
            .filter(|found| found.name == name)
            .find(|found| found.at < at);
        let Some(assigned) = assigned else {
            return (self.constant)(name).map(Interval::exactly);
        };
        let first = self.value_at(assigned.value, depth);
        if let Some((open, close)) = assigned.header {
            let ends = |bound: &&Bound| bound.name == name && (open..close).contains(&bound.at);
            let high = self
                .bounds
                .iter()
                .find(ends)
                .and_then(|b| self.limit(b, depth));
            return high.map(|high| Interval {
                low: first.map_or(0, |first| first.low).min(high),
                high,
            });
        }
        let guards = |bound: &&Bound| bound.name == name && bound.is_of_size;
        let guards = self.bounds.iter().filter(guards);
        let high = guards.filter_map(|bound| self.limit(bound, depth)).max();
        match (first, high) {
            (Some(first), Some(high)) => Some(Interval {
                low: first.low.min(high),
                high: first.high.min(high),
            }),
            (None, Some(high)) => Some(Interval { low: 0, high }),
            (first, None) => first,
        }
    }

    /// The largest value that a bound allows.
    fn limit(&self, bound: &Bound, depth: usize) -> Option<i128> {
        let value = self.value_at(bound.value, depth)?;
        Some(value.high - i128::from(!bound.is_inclusive))
    }

    /// The names that bound what is made of `builtin.axis`, as `n` in `i = blockIdx.x; if (i < n)`.
    pub fn bounds_of(&self, builtin: &str, axis: &str) -> Vec<&str> {
        let code = self.code;
        let is_made = |(from, to): Range| {
            (from..to).any(|at| code.word(at) == builtin && code.at(at + 2) == axis)
        };
        let made = self.assignments.iter().filter(|it| is_made(it.value));
        let made: BTreeSet<&str> = made.map(|it| it.name.as_str()).collect();
        let bounds = self.bounds.iter();
        let bounds = bounds.filter(|bound| made.contains(bound.name.as_str()));
        let names = bounds.filter(|bound| bound.value.1 == bound.value.0 + 1);
        names.map(|bound| code.word(bound.value.0)).collect()
    }

    /// Whether an expression depends on an extent.
    fn names_size(&self, range: Range, depth: usize) -> bool {
        (range.0..range.1).any(|at| {
            let word = self.code.word(at);
            let assigned = || self.assignments.iter().find(|found| found.name == word);
            !word.is_empty()
                && (self.sizes.contains(word)
                    || (depth > 0
                        && assigned().is_some_and(|found| self.names_size(found.value, depth - 1))))
        })
    }
}
