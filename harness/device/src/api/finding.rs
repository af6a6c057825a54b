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
}

impl Finding {
    /// A part that works.
    pub fn good(what: &str, says: impl Into<String>) -> Finding {
        Finding {
            what: what.into(),
            ok: true,
            says: says.into(),
            remedy: None,
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
