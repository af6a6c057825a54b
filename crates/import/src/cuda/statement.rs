//! A launch statement, and what a translation of one has to know.

use std::collections::BTreeMap;

/// A launch statement.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// Where the launch is in the published files, and its text; `None` if none was found.
    pub found: Option<(String, String)>,
    /// Expressions of device code for each extent.
    pub grid: Vec<String>,
    pub block: Vec<String>,
    pub shared: Option<String>,
    /// Names that the host code does not explain, each with a guess.
    pub guesses: Vec<(String, i128)>,
    /// Names that the host code sets in several ways, of which one was taken.
    pub several: Vec<String>,
    /// Names that only the grid has: they become dimensions.
    pub dims: Vec<String>,
    /// The numbers of the kernel's parameters that the statement names.
    pub used: Vec<usize>,
    /// Constants of the published file that the statement names.
    pub constants: Vec<String>,
    /// Variables of the host that another kernel of the list gets: they become dimensions.
    pub shared_names: Vec<String>,
}

/// What the other launches of a list say.
#[derive(Debug, Default)]
pub struct Shared {
    /// The variables of the host that a kernel gets as a whole number, with the parameter's name.
    pub numbers: BTreeMap<String, String>,
    /// The values that were guessed for names.
    pub guesses: BTreeMap<String, i128>,
}

/// A parameter of the kernel as a launch statement can name it.
pub struct Named {
    /// The name in the published kernel.
    pub name: String,
    /// The dimension's name in problem.toml; `None` if it is no whole number.
    pub dim: Option<String>,
}
