//! The message of an experiment's commit: a subject and trailers.
//!
//! Trailers are git's own (git-interpret-trailers(1)). They are the last paragraph of the message,
//! one `Key: value` in each line; the further lines of a longer value begin with blanks.
//! `repo::parse_message` reads a message back.

use itertools::Itertools;
use lab_text::sanitise;
use lab_text::suggest::did_you_mean;
use serde::{Deserialize, Serialize};

/// The keys of the two trailers that an experiment gets after its decision.
pub const NOTE: &str = "Note";
pub const TAGS: &str = "Tags";

/// What a trailer tells. Read and written as git does: capitals in a key make no difference.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::AsRefStr,
    strum::Display,
    strum::EnumString,
)]
#[serde(into = "String", from = "String")]
#[strum(ascii_case_insensitive)]
pub enum TrailerKey {
    /// What the change was expected to do, and why.
    Hypothesis,
    /// What the result teaches for later attempts.
    Lesson,
    /// A requirement that shaped the attempt.
    Constraint,
    /// An alternative that was considered, and why it was not taken.
    Rejected,
    /// How sure the author is: low, medium, high.
    Confidence,
    /// How much else the change may affect: narrow, moderate, broad.
    #[strum(serialize = "Scope-risk")]
    ScopeRisk,
    /// How the change can be taken back: clean, messy, irreversible.
    Reversibility,
    /// What the next author should do, or not do.
    Directive,
    /// What was tested, and with which result.
    Tested,
    /// What was not tested.
    #[strum(serialize = "Not-tested")]
    NotTested,
    /// Any other key that git accepts: letters, digits and dashes.
    #[strum(default, transparent)]
    Other(String),
}

impl TrailerKey {
    /// Every key but [`TrailerKey::Other`], in the order in which a dialog asks for them.
    pub const KNOWN: [TrailerKey; 10] = [
        TrailerKey::Hypothesis,
        TrailerKey::Lesson,
        TrailerKey::Constraint,
        TrailerKey::Rejected,
        TrailerKey::Confidence,
        TrailerKey::ScopeRisk,
        TrailerKey::Reversibility,
        TrailerKey::Directive,
        TrailerKey::Tested,
        TrailerKey::NotTested,
    ];

    /// The key as git writes it.
    pub fn word(&self) -> &str {
        self.as_ref()
    }

    /// `is`, or `are` of the tags.
    pub fn verb(&self) -> &'static str {
        match self.word() {
            TAGS => "are",
            _ => "is",
        }
    }

    /// The words that the value may be, in rising order; empty if any text will do.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            TrailerKey::Confidence => &["low", "medium", "high"],
            TrailerKey::ScopeRisk => &["narrow", "moderate", "broad"],
            TrailerKey::Reversibility => &["clean", "messy", "irreversible"],
            _ => &[],
        }
    }

    /// Returns the value as the trailer holds it, clean, and one of [`TrailerKey::words`] if there
    /// are any. The error lists these words.
    pub fn value(&self, typed: &str) -> Result<String, String> {
        let typed = clean(typed);
        let words = self.words();
        if words.is_empty() {
            return Ok(typed);
        }
        let word = words.iter().find(|word| word.eq_ignore_ascii_case(&typed));
        word.map(|word| (*word).to_owned()).ok_or_else(|| {
            let near = did_you_mean(&typed.to_lowercase(), words.iter().copied());
            format!(
                "{self}: '{typed}' is none of its words{near}: it is {}",
                words.join(", ")
            )
        })
    }

    /// Whether git takes a line that begins with this word for a trailer.
    fn is_valid(&self) -> bool {
        let word = self.word();
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    }
}

impl From<String> for TrailerKey {
    fn from(word: String) -> TrailerKey {
        word.parse().unwrap_or(TrailerKey::Other(word))
    }
}

impl From<TrailerKey> for String {
    fn from(key: TrailerKey) -> String {
        key.word().to_owned()
    }
}

/// A key and its value, which may have several lines.
pub type Trailer = (TrailerKey, String);

/// A subject and trailers, made clean on construction: a message that was rendered is read back as
/// the same.
///
/// ```
/// use lab_run::message::{Message, TrailerKey};
///
/// let message = Message::new("two rows a warp", [(TrailerKey::Confidence, "high".into())]);
/// assert_eq!(message.render(), "two rows a warp\n\nConfidence: high\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    subject: String,
    trailers: Vec<Trailer>,
}

impl From<&str> for Message {
    /// A subject alone.
    fn from(subject: &str) -> Message {
        Message::new(subject, [])
    }
}

impl Message {
    /// Makes the subject one clean line. Leaves out trailers with an empty value or with a key that
    /// git does not accept; [`trailer`] says which keys those are.
    pub fn new(subject: &str, trailers: impl IntoIterator<Item = Trailer>) -> Message {
        // git's tools take a line that begins with `---` for the end of the message and the
        // beginning of a patch.
        let subject = match sanitise::words(subject) {
            line if line.starts_with("---") => line.trim_start_matches(['-', ' ']).to_owned(),
            line => line,
        };
        let trailers = trailers.into_iter().filter(|(key, _)| key.is_valid());
        let trailers = trailers
            .map(|(key, value)| (key, clean(&value)))
            .filter(|(_, value)| !value.is_empty());
        Message {
            subject,
            trailers: trailers.collect(),
        }
    }

    /// What was tried, in one line; the description in results.tsv.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The trailers, in their order.
    pub fn trailers(&self) -> &[Trailer] {
        &self.trailers
    }

    /// Adds a trailer at the end, unless there is one with this key.
    #[must_use]
    pub fn with_default(self, key: TrailerKey, value: &str) -> Message {
        if self.trailers.iter().any(|(known, _)| *known == key) {
            return self;
        }
        let mut trailers = self.trailers;
        trailers.push((key, value.to_owned()));
        Message::new(&self.subject, trailers)
    }

    /// Changes the value of a trailer, if it is there.
    #[must_use]
    pub fn with_changed(self, key: &TrailerKey, change: impl Fn(&str) -> String) -> Message {
        let changed = |(known, value): Trailer| {
            let value = if known == *key { change(&value) } else { value };
            (known, value)
        };
        Message::new(&self.subject, self.trailers.into_iter().map(changed))
    }

    /// The text that the commit holds.
    pub fn render(&self) -> String {
        let mut text = self.subject.clone();
        if !self.trailers.is_empty() {
            text.push_str("\n\n");
        }
        for (key, value) in &self.trailers {
            text.push_str(&format!("{key}: {}\n", value.replace('\n', "\n  ")));
        }
        text
    }
}

/// Returns the last value of a key; `None` if there is none.
pub fn last_value<'t>(trailers: &'t [Trailer], key: &TrailerKey) -> Option<&'t str> {
    trailers
        .iter()
        .rev()
        .find(|(known, _)| known == key)
        .map(|(_, value)| value.as_str())
}

/// Returns a typed text if a trailer can hold it. The error says that there is no text.
pub fn value(typed: &str) -> Result<String, String> {
    let value = clean(typed);
    if value.is_empty() {
        Err("it has no text".to_owned())
    } else {
        Ok(value)
    }
}

/// Reads a trailer that was typed as `Key: value`. The error says what is wrong with it.
pub fn trailer(text: &str) -> Result<Trailer, String> {
    match changed_trailer(text)? {
        (key, value) if value.is_empty() => Err(format!("{key}: has no value")),
        trailer => Ok(trailer),
    }
}

/// Reads what a describe gives a trailer: as [`trailer`], or `Key:` alone, which removes it and has
/// an empty value.
pub fn changed_trailer(text: &str) -> Result<Trailer, String> {
    let (key, value) = text
        .split_once(':')
        .ok_or_else(|| format!("'{text}' is no trailer: it is written 'Key: value'"))?;
    let key = TrailerKey::from(key.trim().to_owned());
    if !key.is_valid() {
        return Err(format!(
            "'{key}' is no key of a trailer: letters, digits and dashes, as in Not-tested"
        ));
    }
    let value = match clean(value) {
        none if none.is_empty() => none,
        _ => key.value(value)?,
    };
    Ok((key, value))
}

/// Cleans a value: without blank lines, which would end the trailers, and without blanks around a
/// line, which fold it.
pub fn clean(value: &str) -> String {
    let lines = value
        .lines()
        .map(|line| sanitise::text(line).trim().to_owned());
    lines.filter(|line| !line.is_empty()).join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_trailers_are_the_last_paragraph_and_a_long_value_is_folded() {
        let message = Message::new(
            " two  rows\na block ",
            [
                (
                    TrailerKey::Constraint,
                    "48 kB of shared memory\nand 64 registers".into(),
                ),
                (TrailerKey::NotTested, "  ".into()),
                (TrailerKey::Other("no key".into()), "x".into()),
                (TrailerKey::Confidence, "high".into()),
            ],
        );
        assert_eq!(
            message.render(),
            "two rows a block\n\nConstraint: 48 kB of shared memory\n  and 64 registers\nConfidence: high\n"
        );
        assert_eq!(Message::from("alone").render(), "alone");
        let defaulted = message
            .clone()
            .with_default(TrailerKey::Confidence, "low")
            .with_default(TrailerKey::Tested, "yes");
        assert_eq!(
            defaulted.trailers().last(),
            Some(&(TrailerKey::Tested, "yes".into()))
        );
        assert_eq!(defaulted.trailers().len(), 3);
    }

    #[test]
    fn a_typed_trailer_is_read_or_refused_with_the_words_it_may_have() {
        assert_eq!(
            trailer("not-tested: odd sizes"),
            Ok((TrailerKey::NotTested, "odd sizes".into()))
        );
        assert_eq!(
            trailer("Reviewed-by: x"),
            Ok((TrailerKey::Other("Reviewed-by".into()), "x".into()))
        );
        assert!(
            trailer("no colon")
                .unwrap_err()
                .contains("it is written 'Key: value'")
        );
        assert!(
            trailer("two words: x")
                .unwrap_err()
                .contains("letters, digits and dashes")
        );
        assert!(trailer("Tested: ").unwrap_err().contains("has no value"));
        assert_eq!(
            trailer("confidence:  High "),
            Ok((TrailerKey::Confidence, "high".into()))
        );
        for (wrong, said) in [
            (
                "Confidence: certain",
                "Confidence: 'certain' is none of its words: it is low, medium, high",
            ),
            (
                "Scope-risk: borad",
                "(did you mean broad?): it is narrow, moderate, broad",
            ),
            (
                "Reversibility: clean, messy",
                "it is clean, messy, irreversible",
            ),
            ("Confidence: ", "has no value"),
        ] {
            let error = trailer(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
