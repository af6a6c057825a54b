//! The compiler process and its client.
