//! The message of an experiment's commit: a subject, and the trailers that experiment logs use.
//!
//! They are git's own trailers (git-interpret-trailers(1)): the last paragraph of the message, `Key: value` a line, a
//! value of several lines folded by blanks at the beginning of each further line.

use crate::ledger;
use crate::text::sanitise;
use crate::text::suggest::did_you_mean;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a trailer tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Key {
    /// What had to hold, and shaped the attempt.
    Constraint,
    /// What was considered, and why not done.
    Rejected,
    /// low, medium, high.
    Confidence,
    /// narrow, moderate, broad.
    ScopeRisk,
    /// clean, messy, irreversible.
    Reversibility,
    /// What whoever comes next should do, or leave.
    Directive,
    /// What was seen to hold.
    Tested,
    /// What was not looked at.
    NotTested,
    /// Any other that git takes for one: letters, digits and dashes.
    Other(String),
}

impl Key {
    /// In the order in which a dialog asks for them.
    pub const KNOWN: [Key; 8] = [
        Key::Constraint,
        Key::Rejected,
        Key::Confidence,
        Key::ScopeRisk,
        Key::Reversibility,
        Key::Directive,
        Key::Tested,
        Key::NotTested,
    ];

    pub fn word(&self) -> &str {
        match self {
            Key::Constraint => "Constraint",
            Key::Rejected => "Rejected",
            Key::Confidence => "Confidence",
            Key::ScopeRisk => "Scope-risk",
            Key::Reversibility => "Reversibility",
            Key::Directive => "Directive",
            Key::Tested => "Tested",
            Key::NotTested => "Not-tested",
            Key::Other(word) => word,
        }
    }

    /// The words that its value is one of, in rising order: whoever counts what experiments say of themselves can
    /// go by them. Empty where any text will do.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Key::Confidence => &["low", "medium", "high"],
            Key::ScopeRisk => &["narrow", "moderate", "broad"],
            Key::Reversibility => &["clean", "messy", "irreversible"],
            _ => &[],
        }
    }

    /// A value as this trailer holds it: one of its words, however it was typed. The error lists them.
    pub fn value(&self, typed: &str) -> Result<String, String> {
        let typed = clean(typed);
        let words = self.words();
        if words.is_empty() {
            return Ok(typed);
        }
        let word = words.iter().find(|word| word.eq_ignore_ascii_case(&typed));
        word.map(|word| (*word).to_owned()).ok_or_else(|| {
            let near = did_you_mean(&typed.to_lowercase(), words.iter().copied());
            format!("{self}: '{typed}' is none of its words{near}: it is {}", words.join(", "))
        })
    }

    /// Whether git takes a line that begins with this word for a trailer.
    fn is_valid(&self) -> bool {
        let word = self.word();
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    }
}

impl From<String> for Key {
    fn from(word: String) -> Key {
        // As git does: a key is the same in capitals.
        let known = Key::KNOWN.into_iter().find(|key| key.word().eq_ignore_ascii_case(&word));
        known.unwrap_or(Key::Other(word))
    }
}

impl From<Key> for String {
    fn from(key: Key) -> String {
        key.word().to_owned()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One trailer; its value may have several lines.
pub type Trailer = (Key, String);

/// Clean from the start: whatever it was made of, what is rendered is read back as the same.
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
    /// The subject becomes one clean line; trailers with an empty value, or a key that git would not read, are left
    /// out ([`trailer`] says which those are).
    pub fn new(subject: &str, trailers: impl IntoIterator<Item = Trailer>) -> Message {
        // To git's tools a line that begins so ends the message: what follows would be a patch.
        let subject = match ledger::description(subject) {
            line if line.starts_with("---") => line.trim_start_matches(['-', ' ']).to_owned(),
            line => line,
        };
        let trailers = trailers.into_iter().filter(|(key, _)| key.is_valid());
        let trailers =
            trailers.map(|(key, value)| (key, clean(&value))).filter(|(_, value)| !value.is_empty());
        Message { subject, trailers: trailers.collect() }
    }

    /// What was tried, in one line; the description in results.tsv.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    pub fn trailers(&self) -> &[Trailer] {
        &self.trailers
    }

    /// The message with another trailer at its end, unless it has one of that key.
    pub fn with_default(self, key: Key, value: &str) -> Message {
        if self.trailers.iter().any(|(known, _)| *known == key) {
            return self;
        }
        let mut trailers = self.trailers;
        trailers.push((key, value.to_owned()));
        Message::new(&self.subject, trailers)
    }

    /// As the commit holds it.
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

    /// Subject and trailers of any commit's message; its body is left out.
    pub fn parse(text: &str) -> Message {
        let subject = text.trim_start().split("\n\n").next().unwrap_or_default();
        Message::new(subject, trailers(text))
    }
}

/// The trailers of a commit's message, clean.
pub fn trailers(message: &str) -> Vec<Trailer> {
    // A NUL would end the text for git.
    let Ok(found) = git2::message_trailers_strs(&message.replace('\0', "")) else { return Vec::new() };
    let owned = found.iter().map(|(key, value)| (Key::from(key.to_owned()), clean(value)));
    owned.filter(|(_, value)| !value.is_empty()).collect()
}

/// `Key: value` as somebody typed it. The error says what is wrong with it.
pub fn trailer(text: &str) -> Result<Trailer, String> {
    let (key, value) =
        text.split_once(':').ok_or_else(|| format!("'{text}' is no trailer: it is written 'Key: value'"))?;
    let key = Key::from(key.trim().to_owned());
    if !key.is_valid() {
        return Err(format!("'{key}' is no key of a trailer: letters, digits and dashes, as in Not-tested"));
    }
    if clean(value).is_empty() {
        return Err(format!("{key}: has no value"));
    }
    let value = key.value(value)?;
    Ok((key, value))
}

/// No blank line, which would end the trailers, and no blanks around a line, which fold it.
fn clean(value: &str) -> String {
    let lines = value.lines().map(|line| sanitise::text(line).trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_reads_as_git_writes_it() {
        let message = Message::new(
            " two  rows\na block ",
            [
                (Key::Constraint, "48 kB of shared memory\nand 64 registers".into()),
                (Key::NotTested, "  ".into()),
                (Key::Other("no key".into()), "x".into()),
                (Key::Confidence, "high".into()),
            ],
        );
        assert_eq!(
            message.render(),
            "two rows a block\n\nConstraint: 48 kB of shared memory\n  and 64 registers\nConfidence: high\n"
        );
        assert_eq!(Message::parse(&message.render()), message);
        assert_eq!(Message::from("alone").render(), "alone");
        let defaulted = message.clone().with_default(Key::Confidence, "low").with_default(Key::Tested, "yes");
        assert_eq!(defaulted.trailers().last(), Some(&(Key::Tested, "yes".into())));
        assert_eq!(defaulted.trailers().len(), 3);
    }

    #[test]
    fn what_somebody_types() {
        assert_eq!(trailer("not-tested: odd sizes"), Ok((Key::NotTested, "odd sizes".into())));
        assert_eq!(trailer("Reviewed-by: x"), Ok((Key::Other("Reviewed-by".into()), "x".into())));
        assert!(trailer("no colon").unwrap_err().contains("it is written 'Key: value'"));
        assert!(trailer("two words: x").unwrap_err().contains("letters, digits and dashes"));
        assert!(trailer("Tested: ").unwrap_err().contains("has no value"));
        assert_eq!(trailer("confidence:  High "), Ok((Key::Confidence, "high".into())));
        for (wrong, said) in [
            ("Confidence: certain", "Confidence: 'certain' is none of its words: it is low, medium, high"),
            ("Scope-risk: borad", "(did you mean broad?): it is narrow, moderate, broad"),
            ("Reversibility: clean, messy", "it is clean, messy, irreversible"),
            ("Confidence: ", "has no value"),
        ] {
            let error = trailer(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_body_of_somebody_elses_message_is_no_trailer() {
        // Of their own making they may say what they like.
        let own = Message::parse("fast\n\nConfidence: quite\n");
        assert_eq!(own.trailers(), [(Key::Confidence, "quite".into())]);
        let text = "fast\n\nNote: this is prose, and\nso is this\n\nConfidence: low\n";
        assert_eq!(Message::parse(text), Message::new("fast", [(Key::Confidence, "low".into())]));
        assert!(trailers("Constraint: a subject").is_empty());
    }

    fn keys() -> impl Strategy<Value = Key> {
        prop_oneof![
            prop::sample::select(Key::KNOWN.to_vec()),
            "[A-Za-z][A-Za-z0-9-]{0,12}".prop_map(Key::from)
        ]
    }

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[-#: a-z\n\t.]{0,40}",
            "(---|#|cherry|Conflicts:|\n){0,3}[a-z: \n]{0,20}"
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// git2 finds exactly these trailers in what was rendered, and nothing is lost by reading and writing.
        #[test]
        fn what_is_rendered_is_read_back(subject in texts(), given in prop::collection::vec((keys(), texts()), 0..5)) {
            let message = Message::new(&subject, given);
            prop_assume!(!message.subject().is_empty());
            let text = message.render();
            let found: Vec<String> =
                git2::message_trailers_strs(&text).unwrap().iter().map(|(key, _)| key.to_owned()).collect();
            let wanted: Vec<String> = message.trailers().iter().map(|(key, _)| key.to_string()).collect();
            prop_assert_eq!(found, wanted, "{}", text);
            prop_assert_eq!(Message::parse(&text), message.clone(), "{}", text);
            prop_assert_eq!(Message::parse(&text).render(), text);
        }
    }
}
