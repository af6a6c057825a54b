//! Which bytes of a kernel a run timed, as a small value.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The first 64 bits of the git blob id of a kernel.
///
/// ```
/// use lab_run::KernelBlob;
/// let blob = KernelBlob::of("176d504000000001aaaaaaaaaaaaaaaaaaaaaaaa");
/// assert_eq!(blob.map(|blob| blob.to_string()).as_deref(), Some("176d504000000001"));
/// assert_eq!(KernelBlob::of("no id"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KernelBlob(u64);

/// Hexadecimal digits of a [`KernelBlob`].
const DIGITS: usize = 16;

impl KernelBlob {
    /// Reads a blob id in hex; `None` if it is none.
    pub fn of(id: &str) -> Option<KernelBlob> {
        let digits = id.get(..DIGITS)?;
        u64::from_str_radix(digits, 16).ok().map(KernelBlob)
    }
}

impl fmt::Display for KernelBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

impl From<KernelBlob> for String {
    fn from(blob: KernelBlob) -> String {
        blob.to_string()
    }
}

impl TryFrom<String> for KernelBlob {
    type Error = String;

    fn try_from(id: String) -> Result<Self, String> {
        KernelBlob::of(&id).ok_or_else(|| format!("{id} is no blob id"))
    }
}
