//! What a device reports when it fails.

use serde::{Deserialize, Serialize};

/// What went wrong on a device, in words that a person can act on.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum DeviceError {
    /// The device, its driver or its compiler cannot be used here; the text ends with the remedy.
    #[error("{0}")]
    Unavailable(String),
    /// The kernel did something that ends the run: illegal address, a barrier not all reach, a
    /// launch that cannot be made. The device must be taken for dirty.
    #[error("{0}")]
    Kernel(String),
    /// Out of device memory, or a call that should not fail did.
    #[error("{0}")]
    Driver(String),
}
