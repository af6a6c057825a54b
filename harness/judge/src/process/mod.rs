//! The processes of the built-in harness. One cannot be warm, safe and honest at once:
//! the [`judge`] holds problem, reference and comparison and alone writes result lines; the
//! [`compiler`] builds and can be killed when a build never ends; the [`worker`] holds the device
//! and runs the kernel, and is replaced whenever it is not provably clean.

pub mod check;
pub mod child;
pub mod compiler;
pub mod judge;
mod leash;
mod link;
pub mod lock;
mod output;
mod sink;
pub mod wire;
pub mod worker;

/// How `lab run` and `lab harness` exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Passed and measured.
    Passed = 0,
    /// Ran; correctness failed.
    Wrong = 1,
    /// Could not build.
    NotBuilt = 2,
    /// Crashed, hung or killed.
    Crashed = 3,
    /// Wrong usage.
    Usage = 64,
}

/// How a child ends whose judge is gone, or that a person started.
fn child_exit(name: &str, served: Result<(), wire::WireError>) -> std::process::ExitCode {
    match served {
        Ok(()) | Err(wire::WireError::Closed) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name} is started by `lab harness`, not by hand: {error}");
            std::process::ExitCode::from(Exit::Usage as u8)
        }
    }
}
