//! The line of the source that a failure of a launch belongs to, where its text begins with the
//! name of what failed.

use crate::outcome::Stop;
use crate::worker::{NO_KERNEL, NO_STATEMENT, STATEMENT_OF, TWO_STATEMENTS};
use lab_device::OTHER_PARAMETERS;
use lab_source::functions::{functions, launch_statements};

/// Puts the line before the text of a failure that names a launch statement, or a kernel with other
/// parameters than the problem's, of this source, and before that of a source that lacks one of
/// both. What a macro makes has no line, and neither has what is in another file.
pub fn with_line(stop: Stop, source: &str) -> Stop {
    match stop {
        Stop::Crash(text) => Stop::Crash(match line_of(&text, source) {
            Some(line) => format!("line {line}: {text}"),
            None => text,
        }),
        Stop::Build(text) => Stop::Build(
            match line_of_missing(&text, source)
                .or_else(|| Some((line_of(&text, source)?, String::new())))
            {
                Some((line, hint)) => format!("line {line}: {text}{hint}"),
                None => text,
            },
        ),
        stop => stop,
    }
}

fn line_of(text: &str, source: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix(STATEMENT_OF) {
        let entry = rest.split_whitespace().next()?;
        let mut statements = launch_statements(source).into_iter();
        return statements.find_map(|(of, line)| (of == entry).then_some(line));
    }
    let (kernel, what) = text.strip_prefix("kernel '")?.split_once('\'')?;
    what.trim_start()
        .starts_with(OTHER_PARAMETERS)
        .then(|| line_of_kernel(source, kernel))
        .flatten()
}

/// The line on which the parameters of a `__global__` function begin.
fn line_of_kernel(source: &str, kernel: &str) -> Option<usize> {
    let mut functions = functions(source).into_iter();
    functions.find_map(|f| (f.is_kernel && f.name == kernel).then_some(f.line))
}

/// The line that a missing kernel or launch statement belongs to, and what to change there beside
/// what the text says.
fn line_of_missing(text: &str, source: &str) -> Option<(usize, String)> {
    let entry_after = |beginning: &str| Some(text.strip_prefix(beginning)?.split_once(':')?.0);
    if let Some(entry) = entry_after(TWO_STATEMENTS) {
        let mut lines = launch_statements(source)
            .into_iter()
            .filter(|(of, _)| *of == entry);
        return Some((lines.next_back()?.1, String::new()));
    }
    if let Some(entry) = entry_after(NO_STATEMENT) {
        return Some((line_of_kernel(source, entry)?, String::new()));
    }
    let entry = entry_after(NO_KERNEL)?;
    if let Some(line) = line_of_kernel(source, entry) {
        return Some((
            line,
            ". This one is not built, or lacks the extern \"C\"".to_owned(),
        ));
    }
    let (of, line) = launch_statements(source).into_iter().next()?;
    let hint =
        format!(". This launch statement is of {of}: rename both, or mend entry in problem.toml");
    (of != entry).then_some((line, hint))
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
            (
                format!("kernel 'k' {OTHER_PARAMETERS}: it has 1"),
                "line 2: ",
            ),
            (format!("kernel 'other' {OTHER_PARAMETERS}: it has 1"), ""),
            ("kernel 'k': deadlock".into(), ""),
            ("the kernel crashed".into(), ""),
        ] {
            assert_eq!(placed(&text), format!("{line}{text}"));
        }
        let stop = with_line(Stop::Problem(format!("{STATEMENT_OF} k crashed")), source);
        assert!(
            !stop.to_string().starts_with("line"),
            "the reference's lines are not the kernel's"
        );
    }

    #[test]
    fn a_source_that_lacks_a_kernel_or_its_statement_is_named_at_what_it_has() {
        let source = "\n__global__ void k(int n) {}\nLAB_LAUNCH(k) {}\nLAB_LAUNCHES(k) {}\n";
        let placed =
            |text: &str, source: &str| with_line(Stop::Build(text.into()), source).to_string();
        for (text, line, hint) in [
            (format!("{TWO_STATEMENTS}k: keep one"), "line 4: ", ""),
            (format!("{NO_STATEMENT}k: the source must"), "line 2: ", ""),
            (format!("{NO_STATEMENT}made: the source must"), "", ""),
            (
                format!("{NO_KERNEL}k: write"),
                "line 2: ",
                ". This one is not built, or lacks the extern \"C\"",
            ),
            (
                format!("{NO_KERNEL}kk: write"),
                "line 3: ",
                ". This launch statement is of k: rename both, or mend entry in problem.toml",
            ),
            ("kernel.cu:1: error: x".into(), "", ""),
        ] {
            assert_eq!(placed(&text, source), format!("{line}{text}{hint}"));
        }
        let text = format!("{NO_KERNEL}k: write");
        assert_eq!(placed(&text, "// nothing\n"), text);
    }
}
