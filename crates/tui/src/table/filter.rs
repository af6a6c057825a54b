//! The filter of the table: words that a row must all match. `status:keep` or `device:h200` matches
//! a field, `diff:__ldg` a line that the experiment changed, `>150k` or `<2M` the figure, any other
//! word the commit, the description or the whole status. `!` before a word excludes the rows that
//! match it.

use crate::settings::keys::near_or;
use itertools::Itertools;
use lab_protocol::report::Speed;
use lab_run::experiment::Experiment;
use lab_text::suggest::nearest;

/// The fields that a word can name. A field matches where it contains the text after the colon, in
/// capitals or not; a run matches by its whole number.
pub const FIELDS: [&str; 12] = [
    "status",
    "device",
    "kernel",
    "speed",
    "correctness",
    "caveat",
    "commit",
    "run",
    "trailer",
    "tags",
    "note",
    "diff",
];

/// A parsed filter.
///
/// ```
/// use lab_tui::table::Filter;
///
/// let filter = Filter::parse("status:keep >150k !unrolled").unwrap();
/// assert!(!filter.is_empty());
/// let error = Filter::parse("staus:keep").unwrap_err();
/// assert_eq!(error, "no field 'staus' (did you mean status?)");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    /// The rows that match are excluded.
    is_excluded: bool,
    condition: Condition,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// The commit or the description contains the text, which is in small letters, or the status is
    /// the text.
    Text(String),
    Field(&'static str, String),
    Above(f64),
    Below(f64),
}

impl Filter {
    /// Parses the words of a filter. The error names the wrong word and says what to write.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let terms = text
            .split_whitespace()
            .map(term)
            .collect::<Result<_, _>>()?;
        Ok(Filter {
            text: text.trim().to_owned(),
            terms,
        })
    }

    /// The words of a filter that are right; the others are left out.
    pub fn of_right_words(text: &str) -> Filter {
        let right: Vec<(&str, Term)> = text
            .split_whitespace()
            .filter_map(|word| Some((word, term(word).ok()?)))
            .collect();
        Filter {
            text: right.iter().map(|(word, _)| word).join(" "),
            terms: right.into_iter().map(|(_, term)| term).collect(),
        }
    }

    /// The filter as the user typed it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the filter accepts every row.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a word names a kernel, so that the rows are of any problem.
    pub fn names_kernel(&self) -> bool {
        self.names_field("kernel")
    }

    /// Whether a word looks for something in diffs.
    pub fn reads_diffs(&self) -> bool {
        self.names_field("diff")
    }

    fn names_field(&self, name: &str) -> bool {
        let is_it =
            |term: &Term| matches!(term.condition, Condition::Field(field, _) if field == name);
        self.terms.iter().any(is_it)
    }

    /// Whether a row matches. `text` is the experiment's commit and description in small letters,
    /// `changed` the lines that it changed, `None` until they are read.
    pub fn accepts(&self, experiment: &Experiment, text: &str, changed: Option<&str>) -> bool {
        self.terms.iter().all(|term| {
            let matches = term.condition.matches(experiment, text, changed);
            matches != term.is_excluded
        })
    }
}

fn term(word: &str) -> Result<Term, String> {
    let (is_excluded, word) = match word.strip_prefix('!').filter(|rest| !rest.is_empty()) {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let condition = if let Some(limit) = word.strip_prefix('>') {
        Condition::Above(number(limit, word)?)
    } else if let Some(limit) = word.strip_prefix('<') {
        Condition::Below(number(limit, word)?)
    } else if let Some((name, wanted)) = word.split_once(':') {
        let field = FIELDS.into_iter().find(|field| *field == name);
        let unknown = || {
            let near = near_or(nearest(name, FIELDS), || {
                format!("choose one of {}", FIELDS.join(", "))
            });
            format!("no field '{name}'{near}")
        };
        Condition::Field(field.ok_or_else(unknown)?, wanted.to_lowercase())
    } else {
        Condition::Text(word.to_lowercase())
    };
    Ok(Term {
        is_excluded,
        condition,
    })
}

/// Parses a number such as `150k`, `2.5M`, `0.3` or `90,000`. `word` is the whole word, for the
/// error.
fn number(text: &str, word: &str) -> Result<f64, String> {
    let units = [("k", 1e3), ("m", 1e6), ("g", 1e9)];
    let small = text.to_ascii_lowercase();
    let with_unit = |(unit, size)| Some((small.strip_suffix(unit)?, size));
    let (digits, unit) = units
        .into_iter()
        .find_map(with_unit)
        .unwrap_or((&small, 1.0));
    let number: Option<f64> = digits.replace(',', "").parse().ok();
    let number = number.map(|n| n * unit).filter(|n| n.is_finite());
    let sign = &word[..1];
    number.ok_or_else(|| {
        format!("'{word}' is not a limit of the figure: write {sign}150k or {sign}2.5M")
    })
}

impl Condition {
    fn matches(&self, experiment: &Experiment, text: &str, changed: Option<&str>) -> bool {
        match self {
            Condition::Text(wanted) => {
                text.contains(wanted) || *wanted == experiment.row.status.word()
            }
            Condition::Above(limit) => experiment.figure().is_some_and(|figure| figure > *limit),
            Condition::Below(limit) => experiment.figure().is_some_and(|figure| figure < *limit),
            Condition::Field(field, wanted) => {
                let row = &experiment.row;
                let change = experiment.measured.change;
                let caveat = if experiment.measured.caveated {
                    "yes"
                } else {
                    "no"
                };
                let holds = |text: &str| text.to_lowercase().contains(wanted);
                let value = match *field {
                    "status" => Some(row.status.word()),
                    "device" => experiment.device.as_deref(),
                    "kernel" => experiment.kernel.as_deref(),
                    "speed" => change.and_then(|c| c.speed).map(Speed::word),
                    "correctness" => Some(row.correctness.word()),
                    "caveat" => Some(caveat),
                    "commit" => Some(&*row.commit),
                    "diff" => changed,
                    // The trailer of this key.
                    "tags" | "note" => {
                        let mut trailers = experiment.trailers.iter();
                        return trailers.any(|(key, text)| {
                            key.word().eq_ignore_ascii_case(field) && holds(text)
                        });
                    }
                    "trailer" => {
                        let mut trailers = experiment.trailers.iter();
                        return trailers
                            .any(|(key, text)| holds(&format!("{}: {text}", key.word())));
                    }
                    _ => return experiment.run.is_some_and(|run| *wanted == run.to_string()),
                };
                value.is_some_and(holds)
            }
        }
    }
}
