//! What the command of a turn says about its edit.

use lab_run::message::{Message, TrailerKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bytes of the file.
pub const LIMIT: u64 = 64 << 10;

/// The object that a command may write into the file `LAB_ANSWER`. No figure of a kernel is among
/// its keys.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LoopAnswer")]
pub struct Answer {
    /// What was tried, in one line: the subject of the commit.
    pub description: Option<String>,
    /// Why it should be faster.
    pub hypothesis: Option<String>,
    /// What is to be remembered of it.
    pub lesson: Option<String>,
    /// What the turn cost, in a unit of the command's own. It counts towards `--cost`.
    pub cost: Option<f64>,
}

impl Answer {
    /// Reads an answer. The error says what is wrong with it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Answer, String> {
        let answer: Answer = serde_json::from_slice(bytes)
            .map_err(|error| format!("LAB_ANSWER is not read: {error}"))?;
        match answer.cost {
            Some(cost) if !cost.is_finite() || cost < 0.0 => Err(format!(
                "LAB_ANSWER is not read: cost is {cost}, and it must be 0 or more"
            )),
            _ => Ok(answer),
        }
    }

    /// The message of the experiment. Without a description the hypothesis is the subject.
    pub(super) fn message(&self, turn: u64) -> Message {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let trailers = [
            (TrailerKey::Hypothesis, &self.hypothesis),
            (TrailerKey::Lesson, &self.lesson),
        ];
        let trailers = trailers
            .into_iter()
            .filter_map(|(key, text)| Some((key, said(text)?)));
        let with_subject = |subject: &str| Message::new(subject, trailers.clone());
        let subject = said(&self.description).or_else(|| said(&self.hypothesis));
        let message = with_subject(&subject.unwrap_or_default());
        // There may be no subject, and cleaning may leave nothing of one.
        if message.subject().is_empty() {
            return with_subject(&format!("lab auto, turn {turn}"));
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gives_the_message_and_a_bad_one_says_why() {
        let answer =
            Answer::parse(br#"{"hypothesis": "fewer loads", "lesson": "rows help", "cost": 0.5}"#);
        let message = answer.expect("a good answer").message(3);
        assert_eq!(
            message.render(),
            "fewer loads\n\nHypothesis: fewer loads\nLesson: rows help\n"
        );
        assert_eq!(Answer::default().message(7).subject(), "lab auto, turn 7");
        let only_dashes = Answer {
            description: Some("---".into()),
            ..Answer::default()
        };
        assert_eq!(only_dashes.message(2).subject(), "lab auto, turn 2");
        for (text, said) in [
            ("{", "LAB_ANSWER is not read: EOF"),
            (r#"{"speedup": 2}"#, "unknown field `speedup`"),
            (r#"{"cost": -1}"#, "cost is -1"),
        ] {
            let why = Answer::parse(text.as_bytes()).expect_err("a bad answer");
            assert!(why.contains(said), "{why}");
        }
    }
}
