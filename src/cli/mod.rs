//! The command line: one module per subcommand.

pub mod screen;

pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
