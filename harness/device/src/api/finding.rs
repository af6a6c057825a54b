//! A line of `lab doctor`.

use serde::Serialize;

/// One part of the machine that `lab doctor` checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The part, such as `NVIDIA driver`.
    pub what: String,
    /// Whether it works.
    pub ok: bool,
    /// Its state, or why it does not work.
    pub says: String,
    /// What to do. `None` where there is nothing to do, or where `says` ends with it.
    pub remedy: Option<String>,
    /// What strangers may read of `says`: words of the lab's own, numbers, names of known products. Empty
    /// where nobody said so.
    pub public: String,
}

impl Finding {
    /// A part that works.
    pub fn good(what: &str, says: impl Into<String>) -> Finding {
        Finding {
            what: what.into(),
            ok: true,
            says: says.into(),
            remedy: None,
            public: String::new(),
        }
    }

    /// The finding with what strangers may read of it. Text from outside passes through [`version_number`]
    /// or [`known_name`] first.
    #[must_use]
    pub fn public(self, text: impl Into<String>) -> Finding {
        Finding {
            public: text.into(),
            ..self
        }
    }

    /// A part that does not work.
    pub fn bad(what: &str, says: impl Into<String>, remedy: Option<&str>) -> Finding {
        Finding {
            ok: false,
            remedy: remedy.map(str::to_owned),
            ..Finding::good(what, says)
        }
    }
}

/// The digits and dots that a version begins with; `?` without one.
///
/// ```
/// use lab_device::version_number;
///
/// assert_eq!(version_number("2.6.0+cu124"), "2.6.0");
/// assert_eq!(version_number("of an unknown version"), "?");
/// ```
pub fn version_number(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    match text[..end.unwrap_or(text.len())].trim_end_matches('.') {
        number if number.starts_with(|c: char| c.is_ascii_digit()) => number,
        _ => "?",
    }
}

/// The name if it is in a list of known ones, which blanks separate, else `other`.
pub fn known_name<'n>(name: &'n str, known: &str, other: &'n str) -> &'n str {
    if lab_protocol::text::is_among(name, known) {
        name
    } else {
        other
    }
}
