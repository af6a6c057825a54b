//! The errors of a device.

use serde::{Deserialize, Serialize};

/// Why a device or its compiler failed. The text says what failed, why, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum DeviceError {
    /// The device, its driver or its compiler cannot be used on this machine. The text ends with the remedy.
    #[error("{0}")]
    Unavailable(String),
    /// The kernel failed, for example by an illegal address or a barrier that some threads never reach, or its
    /// launch is not possible. The device may be in an undefined state: open it again in a new process.
    #[error("{0}")]
    Kernel(String),
    /// The device is out of memory, or a call failed that should not fail.
    #[error("{0}")]
    Driver(String),
}
