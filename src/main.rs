fn main() -> std::process::ExitCode {
    crate::cli::main()
}
