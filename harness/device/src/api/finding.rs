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
