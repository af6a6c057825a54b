//! The line of the source that a failure of a launch belongs to, where its text begins with the name of what failed.

use crate::outcome::Stop;
use crate::worker::STATEMENT_OF;
use lab_device::OTHER_PARAMETERS;
use lab_device::source_places::{line_of_kernel, line_of_launch_statement};

/// Puts the line before the text of a failure that names a launch statement, or a kernel with other parameters than the problem's,
/// of this source. What a macro makes has no line, and neither has what is in another file.
pub fn with_line(stop: Stop, source: &str) -> Stop {
    match stop {
        Stop::Crash(text) => Stop::Crash(match line_of(&text, source) {
            Some(line) => format!("line {line}: {text}"),
            None => text,
        }),
        stop => stop,
    }
}

fn line_of(text: &str, source: &str) -> Option<u32> {
    if let Some(rest) = text.strip_prefix(STATEMENT_OF) {
        return line_of_launch_statement(source, rest.split_whitespace().next()?);
    }
    let (kernel, what) = text.strip_prefix("kernel '")?.split_once('\'')?;
    what.trim_start().starts_with(OTHER_PARAMETERS).then(|| line_of_kernel(source, kernel)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_names_what_failed_gets_its_line() {
        let source = "\n__global__ void k(int n) {}\nLAB_LAUNCH(k) {}\n";
        let placed = |text: &str| with_line(Stop::Crash(text.into()), source).to_string();
        for (text, line) in [
            (format!("{STATEMENT_OF} k crashed"), "line 3: "),
            (format!("kernel 'k' {OTHER_PARAMETERS}: it has 1"), "line 2: "),
            (format!("kernel 'other' {OTHER_PARAMETERS}: it has 1"), ""),
            ("kernel 'k': deadlock".into(), ""),
            ("the kernel crashed".into(), ""),
        ] {
            assert_eq!(placed(&text), format!("{line}{text}"));
        }
        let stop = with_line(Stop::Problem(format!("{STATEMENT_OF} k crashed")), source);
        assert!(!stop.to_string().starts_with("line"), "the reference's lines are not the kernel's");
    }
}
