//! lab.toml, and what is true without one.
