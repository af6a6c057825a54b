//! Text that people read: untrusted lines made harmless, numbers in digits.

pub mod figures;
pub mod sanitise;
pub mod suggest;
