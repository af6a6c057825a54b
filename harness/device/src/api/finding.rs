//! What `lab doctor` shows of this machine.

use serde::Serialize;

/// One thing that `lab doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub what: String,
    pub ok: bool,
    pub says: String,
    /// What to do; `None` where nothing is to be done, or where `says` ends with it.
    pub remedy: Option<String>,
}
