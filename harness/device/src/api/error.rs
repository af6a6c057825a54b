//! The errors of a device.

use serde::{Deserialize, Serialize};

/// What a call of a device returns: a value or nothing, or why the device failed.
pub type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

/// Why a device or its compiler failed. The text says what failed, why, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum DeviceError {
    /// The device, its driver or its compiler cannot be used on this machine. The text ends with
    /// the remedy.
    #[error("{0}")]
    Unavailable(String),
    /// The kernel failed, for example by an illegal address or a barrier that some threads never
    /// reach, or its launch is not possible. The device may be in an undefined state: open it again
    /// in a new process.
    #[error("{0}")]
    Kernel(String),
    /// The device is out of memory, or a call failed that should not fail.
    #[error("{0}")]
    Driver(String),
}

/// Formats an error with its causes, as `dlopen failed: x.so: undefined symbol: y`. The text of an
/// error of `libloading` alone does not say what the system reported.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
