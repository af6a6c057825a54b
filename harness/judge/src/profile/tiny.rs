//! The tiny kernel whose launch under ncu proves that counters can be read.

use crate::worker::{Launch, ModuleId};

/// The kernel's source.
pub const SOURCE: &str = include_str!("tiny.cu");

/// Its `lab_problem.h`.
pub const HEADER: &str = "#pragma once\n\nstruct LabDims {\n    unsigned unused;\n};\n";

/// Its function.
pub const ENTRY: &str = "tiny";

/// Its launch.
pub fn launch(module: ModuleId) -> Launch {
    Launch::of(module, ENTRY, Vec::new(), vec![0; 4])
}
