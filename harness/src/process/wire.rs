//! Length-prefixed frames between the processes: a JSON header and raw bytes.
