//! Tune lines: the values that a sweep tries for constants of a kernel.
//!
//! `// lab: tune BLOCK = 64, 128` names a constant that the source gives a value in one place, as in
//! `constexpr int BLOCK = 128;`. A point is a choice of one value for each of these constants. It is
//! the same source with the chosen values in those places, so a point has bytes of its own like any
//! other kernel. `// lab: require BLOCK * ROWS <= 1024` leaves out the points for which it is false.

mod line;
mod place;
#[cfg(test)]
mod tests;

use crate::expression::Expression;
use crate::line_at;
use line::{Line, Require, Tune, grouped, number, quoted_as};
use place::Place;
use std::collections::{BTreeSet, HashSet};

/// Most combinations of the values, before `lab: require` leaves points out.
pub const MOST_COMBINATIONS: usize = 1_000_000;

/// Most pairs that [`Space::excluded_pairs`] names.
const MOST_EXCLUDED: usize = 20_000;

/// How a source writes comments and constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// C++ and CUDA C++.
    Cpp,
    /// Python.
    Python,
}

/// What is wrong with a tune line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// What it is, and what to do.
    pub why: String,
}

/// A constant with the values to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the source.
    pub name: String,
    /// The values of the tune line, each once, as the source would write them.
    pub values: Vec<String>,
    /// The value that the source has.
    pub written: String,
    /// Where that value is.
    place: Place,
}

/// The points of a source: the combinations of the values that `lab: require` allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// In the order of the tune lines.
    pub parameters: Vec<Parameter>,
    /// The texts of the `lab: require` lines.
    pub requires: Vec<String>,
    /// The numbers of the allowed points, ascending. See [`Space::choices`].
    pub points: Vec<usize>,
}

impl Space {
    /// Reads the tune lines of a source. A source without any has no parameters and no points.
    ///
    /// ```
    /// use lab_source::tune::{Space, Syntax};
    ///
    /// let source = "// lab: tune N = 1..8 *2\n// lab: require N > 1\nconstexpr int N = 4;\nint x = N;\n";
    /// let space = Space::read(source, Syntax::Cpp).unwrap();
    /// assert_eq!(space.points.len(), 3);
    /// assert_eq!(space.values(space.points[2]), ["8"]);
    /// assert!(space.source(source, 3).ends_with("constexpr int N = 8;\nint x = N;\n"));
    /// ```
    pub fn read(source: &str, syntax: Syntax) -> Result<Space, Mistake> {
        let (mut tunes, mut requires) = (Vec::<Tune>::new(), Vec::new());
        for line in line::read(source, syntax)? {
            match line {
                Line::Require(require) => requires.push(require),
                Line::Tune(tune) => {
                    if let Some(first) = tunes.iter().find(|known| known.name == tune.name) {
                        let why = format!(
                            "{} has a tune line already, line {}: put all its values there",
                            tune.name, first.line
                        );
                        return Err(Mistake {
                            line: tune.line,
                            why,
                        });
                    }
                    tunes.push(tune);
                }
            }
        }
        let combinations = count(&tunes)?;
        let parameters: Result<Vec<Parameter>, Mistake> = tunes
            .iter()
            .map(|tune| parameter(source, syntax, tune))
            .collect();
        let mut space = Space {
            parameters: parameters?,
            requires: requires
                .iter()
                .map(|require| require.text.clone())
                .collect(),
            points: (0..combinations).collect(),
        };
        for (at, require) in requires.iter().enumerate() {
            space.leave_out(require, at == 0)?;
        }
        Ok(space)
    }

    /// The place of each parameter's value in its list, for the point of this number. Numbers count
    /// through all combinations from 0, and the last parameter changes fastest.
    pub fn choices(&self, point: usize) -> Vec<usize> {
        let mut rest = point;
        let mut choices: Vec<usize> = self
            .parameters
            .iter()
            .rev()
            .map(|parameter| {
                let count = parameter.values.len();
                let choice = rest % count;
                rest /= count;
                choice
            })
            .collect();
        choices.reverse();
        choices
    }

    /// The pairs of values, in both orders, that no point has: of each value the places of its
    /// parameter and of the value. None if there are so many that a record cannot hold them.
    pub fn excluded_pairs(&self) -> BTreeSet<((usize, usize), (usize, usize))> {
        let pairs = |point: usize| {
            let all: Vec<_> = self.choices(point).into_iter().enumerate().collect();
            let behind = |first| all.iter().map(move |second| (first, *second));
            all.iter().copied().flat_map(behind).collect::<Vec<_>>()
        };
        // Each pair once: a million points have many.
        let counts = self.parameters.iter().map(|it| it.values.len());
        let mut all: HashSet<_> = (0..counts.product()).flat_map(pairs).collect();
        for pair in self.points.iter().flat_map(|point| pairs(*point)) {
            all.remove(&pair);
        }
        let is_little = all.len() <= MOST_EXCLUDED;
        all.into_iter().filter(|_| is_little).collect()
    }

    /// The number of the point with these choices.
    pub fn point(&self, choices: &[usize]) -> usize {
        let counts = self
            .parameters
            .iter()
            .map(|parameter| parameter.values.len());
        counts
            .zip(choices)
            .fold(0, |point, (count, choice)| point * count + choice)
    }

    /// The value of each parameter at a point.
    pub fn values(&self, point: usize) -> Vec<&str> {
        let choices = self.choices(point).into_iter();
        let chosen = self.parameters.iter().zip(choices);
        chosen
            .map(|(parameter, choice)| parameter.values[choice].as_str())
            .collect()
    }

    /// The point that the source is; `None` if it has other values, or values that are not allowed
    /// together.
    pub fn written(&self) -> Option<usize> {
        let choice = |parameter: &Parameter| {
            let mut values = parameter.values.iter();
            values.position(|value| *value == parameter.written)
        };
        let choices: Option<Vec<usize>> = self.parameters.iter().map(choice).collect();
        let point = self.point(&choices?);
        self.points.binary_search(&point).is_ok().then_some(point)
    }

    /// The source of a point: `source`, from which the space was read, with the point's values.
    pub fn source(&self, source: &str, point: usize) -> String {
        let values = self.values(point);
        let mut places: Vec<(&Place, &str)> = self
            .parameters
            .iter()
            .map(|parameter| &parameter.place)
            .zip(values)
            .collect();
        places.sort_by_key(|(place, _)| place.start);
        let (mut text, mut copied) = (String::with_capacity(source.len()), 0);
        for (place, value) in places {
            text += &source[copied..place.start];
            text += value;
            copied = place.end;
        }
        text + &source[copied..]
    }

    /// Leaves out the points for which an expression is false. `is_first` says whether all
    /// combinations are there.
    fn leave_out(&mut self, require: &Require, is_first: bool) -> Result<(), Mistake> {
        let mistake = |why: String| Mistake {
            line: require.line,
            why,
        };
        let names: Vec<&str> = self.parameters.iter().map(|it| it.name.as_str()).collect();
        let expression = Expression::parse_of(&require.text, &names, "has no tune line");
        let expression = expression.map_err(mistake)?;
        let mut numbers: Vec<Vec<f64>> = Vec::new();
        for parameter in &self.parameters {
            let is_named = expression.names().contains(&parameter.name);
            let of = |value: &String| match number(value) {
                Some(number) => Ok(number),
                None if !is_named => Ok(f64::NAN),
                None => Err(mistake(format!(
                    "'{}' compares {}, and its value {value} is not a number",
                    require.text, parameter.name
                ))),
            };
            numbers.push(parameter.values.iter().map(of).collect::<Result<_, _>>()?);
        }
        let (mut left, before) = (Vec::new(), self.points.len());
        for point in &self.points {
            let choices = self.choices(*point);
            let value_of = |name: &str| {
                let at = names.iter().position(|known| *known == name);
                at.map_or(f64::NAN, |at| numbers[at][choices[at]])
            };
            match expression.value(value_of) {
                Ok(0.0) => {}
                Ok(_) => left.push(*point),
                Err(why) => {
                    return Err(mistake(format!("{why}, for {}", self.in_words(*point))));
                }
            }
        }
        self.points = left;
        if self.points.is_empty() {
            let of = if is_first {
                ""
            } else {
                " that the lines before it leave"
            };
            return Err(mistake(format!(
                "'{}' is false for all {} combinations{of}: no point is left to try",
                require.text,
                grouped(before)
            )));
        }
        Ok(())
    }

    /// `BLOCK=128 STAGES=3`
    pub fn in_words(&self, point: usize) -> String {
        let values = self.values(point).into_iter();
        let words = self.parameters.iter().zip(values);
        let words = words.map(|(parameter, value)| format!("{}={value}", parameter.name));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// How many combinations the values make; an error if a sweep cannot number them.
fn count(tunes: &[Tune]) -> Result<usize, Mistake> {
    let Some(last) = tunes.last() else {
        return Ok(0);
    };
    let all = tunes
        .iter()
        .try_fold(1usize, |all, tune| all.checked_mul(tune.values.len()));
    match all.filter(|all| *all <= MOST_COMBINATIONS) {
        Some(all) => Ok(all),
        None => Err(Mistake {
            line: last.line,
            why: format!(
                "the tune lines make {} combinations, and a sweep has at most {}: leave values out",
                all.map_or_else(|| "too many".to_owned(), grouped),
                grouped(MOST_COMBINATIONS)
            ),
        }),
    }
}

fn parameter(source: &str, syntax: Syntax, tune: &Tune) -> Result<Parameter, Mistake> {
    let place = place::find(source, syntax, tune)?;
    let written = &source[place.start..place.end];
    let values = tune.values.iter().map(|value| quoted_as(value, written));
    Ok(Parameter {
        name: tune.name.clone(),
        values: values.collect(),
        written: written.to_owned(),
        place,
    })
}
