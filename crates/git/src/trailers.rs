//! Reads the message of a commit: its subject and its trailers, as git finds them.

use lab_run::message::{Message, Trailer, TrailerKey, clean};

/// The trailers of a commit's message, clean, in their order.
pub(super) fn trailers(message: &str) -> Vec<Trailer> {
    // git takes a NUL for the end of the text.
    let Ok(found) = git2::message_trailers_strs(&message.replace('\0', "")) else {
        return Vec::new();
    };
    let owned = found
        .iter()
        .map(|(key, value)| (TrailerKey::from(key.to_owned()), clean(value)));
    owned.filter(|(_, value)| !value.is_empty()).collect()
}

/// Subject and trailers of any commit's message. The body is left out.
///
/// ```
/// use lab_run::message::{Message, TrailerKey};
/// use lab_git::parse_message;
///
/// let message = Message::new("fast", [(TrailerKey::Constraint, "48 kB\nof shared memory".into())]);
/// assert_eq!(parse_message(&message.render()), message);
/// ```
pub fn parse_message(text: &str) -> Message {
    let subject = text.trim_start().split("\n\n").next().unwrap_or_default();
    Message::new(subject, trailers(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_body_of_somebody_elses_message_is_no_trailer() {
        // Of their own making they may say what they like.
        let own = parse_message("fast\n\nConfidence: quite\n");
        assert_eq!(own.trailers(), [(TrailerKey::Confidence, "quite".into())]);
        let text = "fast\n\nNote: this is prose, and\nso is this\n\nConfidence: low\n";
        assert_eq!(
            parse_message(text),
            Message::new("fast", [(TrailerKey::Confidence, "low".into())])
        );
        assert!(trailers("Constraint: a subject").is_empty());
    }

    fn keys() -> impl Strategy<Value = TrailerKey> {
        prop_oneof![
            prop::sample::select(TrailerKey::KNOWN.to_vec()),
            "[A-Za-z][A-Za-z0-9-]{0,12}".prop_map(TrailerKey::from)
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

        /// git2 finds exactly these trailers in what was rendered, and nothing is lost by reading
        /// and writing.
        #[test]
        fn what_is_rendered_is_read_back(subject in texts(), given in prop::collection::vec((keys(), texts()), 0..5)) {
            let message = Message::new(&subject, given);
            prop_assume!(!message.subject().is_empty());
            let text = message.render();
            let found: Vec<String> =
                git2::message_trailers_strs(&text).unwrap().iter().map(|(key, _)| key.to_owned()).collect();
            let wanted: Vec<String> = message.trailers().iter().map(|(key, _)| key.to_string()).collect();
            prop_assert_eq!(found, wanted, "{}", text);
            prop_assert_eq!(parse_message(&text), message.clone(), "{}", text);
            prop_assert_eq!(parse_message(&text).render(), text);
        }
    }
}
