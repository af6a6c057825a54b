//! The tiny kernel whose launch under ncu proves that counters can be read.

use crate::worker::{Launch, ModuleId, SCRATCH_NAME};
use lab_device::ExecutionOrder;

/// The kernel's source.
pub const SOURCE: &str = include_str!("tiny.cu");

/// Its `lab_problem.h`.
pub const HEADER: &str = "#pragma once\n\nstruct LabDims {\n    unsigned unused;\n};\n";

/// Its function.
pub const ENTRY: &str = "tiny";

/// Its launch.
pub fn launch(module: ModuleId) -> Launch {
    Launch {
        module,
        entry: ENTRY.to_owned(),
        args: Vec::new(),
        dims: vec![0; 4],
        order: ExecutionOrder::Forward,
        tensors: Vec::new(),
        parameters: Vec::new(),
        scratch: SCRATCH_NAME.to_owned(),
    }
}
