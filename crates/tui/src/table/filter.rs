//! What is typed to see fewer rows: words that all must hold. `status:keep`, `device:h200` and the like ask a
//! field, `>150k` and `<2M` the figure, any other word is looked for in commit and description; `!` before a word
//! means that it must not hold.

use lab_core::run::experiment::Experiment;

/// The fields that can be asked. A field holds where it has the word in it, in capitals or not.
pub const FIELDS: [&str; 8] =
    ["status", "device", "kernel", "speed", "correctness", "caveat", "commit", "run"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    /// It must not hold.
    not: bool,
    asks: Asks,
}

#[derive(Clone, Debug, PartialEq)]
enum Asks {
    /// In commit or description, in small letters.
    Text(String),
    Field(&'static str, String),
    Above(f64),
    Below(f64),
}

impl Filter {
    /// The error says which word is wrong, and what could stand there.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let terms = text.split_whitespace().map(term).collect::<Result<_, _>>()?;
        Ok(Filter { text: text.trim().to_owned(), terms })
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// `text` is the experiment's, in small letters.
    pub fn accepts(&self, experiment: &Experiment, text: &str) -> bool {
        self.terms.iter().all(|term| term.asks.holds(experiment, text) != term.not)
    }
}

fn term(word: &str) -> Result<Term, String> {
    let (not, word) = match word.strip_prefix('!').filter(|rest| !rest.is_empty()) {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let asks = if let Some(limit) = word.strip_prefix('>') {
        Asks::Above(figure(limit, word)?)
    } else if let Some(limit) = word.strip_prefix('<') {
        Asks::Below(figure(limit, word)?)
    } else if let Some((name, wanted)) = word.split_once(':') {
        let field = FIELDS.into_iter().find(|field| *field == name);
        let unknown = || format!("no field '{name}': it is one of {}", FIELDS.join(", "));
        Asks::Field(field.ok_or_else(unknown)?, wanted.to_lowercase())
    } else {
        Asks::Text(word.to_lowercase())
    };
    Ok(Term { not, asks })
}

/// `150k`, `2.5M`, `0.3`, `90,000`.
fn figure(text: &str, word: &str) -> Result<f64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'm' | 'M')) => (&text[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let number: Option<f64> = digits.replace(',', "").parse().ok();
    number
        .map(|n| n * unit)
        .filter(|n| n.is_finite())
        .ok_or_else(|| format!("'{word}' is no limit of the figure: {}150k, {}2.5M", &word[..1], &word[..1]))
}

impl Asks {
    fn holds(&self, experiment: &Experiment, text: &str) -> bool {
        match self {
            Asks::Text(wanted) => text.contains(wanted),
            Asks::Above(limit) => experiment.figure().is_some_and(|figure| figure > *limit),
            Asks::Below(limit) => experiment.figure().is_some_and(|figure| figure < *limit),
            Asks::Field(field, wanted) => {
                let has = |value: &str| value.to_lowercase().contains(wanted);
                let row = &experiment.row;
                match *field {
                    "status" => has(row.status.word()),
                    "device" => experiment.device.as_deref().is_some_and(has),
                    "kernel" => experiment.kernel.as_deref().is_some_and(has),
                    "speed" => {
                        experiment.measured.change.and_then(|c| c.speed).is_some_and(|s| has(s.word()))
                    }
                    "correctness" => has(row.correctness.word()),
                    "caveat" => has(if experiment.measured.caveated { "yes" } else { "no" }),
                    "commit" => has(&row.commit),
                    "run" => experiment.run.is_some_and(|run| *wanted == run.to_string()),
                    _ => false,
                }
            }
        }
    }
}
