//! Where an argument of a kernel comes from: a parameter, or a field of one.

/// Where an argument comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The number of the kernel's parameter.
    pub position: usize,
    /// The names of the parameter, and of the fields in it.
    pub path: Vec<String>,
    /// The number of the field in its struct.
    pub index: usize,
    /// The line of the kernel, or of the field.
    pub line: usize,
}

impl Origin {
    pub fn is_field(&self) -> bool {
        self.path.len() > 1
    }

    /// Its name in [`Kernel::body`].
    pub fn word(&self) -> String {
        self.path.join("_")
    }
}
