fn main() -> std::process::ExitCode {
    // A stack that is too small would end the process without a sentence.
    match lab_system::memory::small_stack() {
        Some(why) => lab::cli::without_stack(&why),
        None => lab::cli::main(),
    }
}
