//! Comparing what a kernel wrote with what was expected.
