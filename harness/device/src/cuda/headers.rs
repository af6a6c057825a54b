//! The headers that every kernel can include without a folder: `lab.h`, and the part of the C and
//! C++ library that kernels use.

use crate::standard_headers::{LAB_H, STANDARD};

/// Whether a header of this name needs no file.
pub fn is_embedded(name: &str) -> bool {
    with_problem("").iter().any(|(known, _)| *known == name)
}

/// Returns these headers and the generated `lab_problem.h`.
pub fn with_problem(problem_header: &str) -> Vec<(&str, &str)> {
    let own = [("lab.h", LAB_H), ("lab_problem.h", problem_header)];
    STANDARD.iter().copied().chain(own).collect()
}
