//! Compiler messages in the two forms that compilers print: `file(line): error: …` of nvcc and
//! NVRTC, and `file:line:column: error: …` of gcc and clang.

/// How serious a compiler message is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The build fails.
    Error,
    /// The build goes on.
    Warning,
    /// More about the message before it.
    Note,
}

/// A compiler message. `line` and `column` count from 1.
///
/// ```
/// use lab_protocol::report::{Report, Severity};
///
/// let report = Report::read("kernel.cu:12:7: error: 'x' was not declared\n");
/// let message = &report.diagnostics()[0];
/// assert_eq!((message.line, message.column, message.severity), (12, Some(7), Severity::Error));
/// ```
#[derive(
    Clone, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
pub struct Diagnostic {
    /// The path as the compiler prints it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1, if the compiler gives one.
    pub column: Option<u32>,
    /// How serious it is.
    pub severity: Severity,
    /// The text.
    pub message: String,
}

/// Reads a line; `None` if it is no compiler message.
pub(super) fn parse(line: &str) -> Option<Diagnostic> {
    if line.len() > super::LINE_LIMIT {
        return None;
    }
    const WORDS: [(&str, Severity); 5] = [
        ("catastrophic error", Severity::Error),
        ("fatal error", Severity::Error),
        ("error", Severity::Error),
        ("warning", Severity::Warning),
        ("note", Severity::Note),
    ];
    let (at, word, severity) = WORDS
        .iter()
        .filter_map(|(word, severity)| Some((line.find(&format!(": {word}"))?, *word, *severity)))
        .min_by_key(|(at, ..)| *at)?;
    // nvcc may put a number before the colon: `error #20: …`.
    let rest = &line[at + 2 + word.len()..];
    let (number, message) = rest.split_once(':')?;
    if !(number.is_empty() || number.starts_with(" #") || number.starts_with('#')) {
        return None;
    }
    let (file, row, column) = place(&line[..at])?;
    Some(Diagnostic {
        file: file.to_owned(),
        line: row,
        column,
        severity,
        message: message.trim().to_owned(),
    })
}

/// Splits `file(12)`, `file:12:3` or `file:12` into file, line and column.
fn place(text: &str) -> Option<(&str, u32, Option<u32>)> {
    if let Some(open) = text.strip_suffix(')').and_then(|t| t.rfind('(')) {
        let row = text[open + 1..text.len() - 1].parse().ok()?;
        return Some((&text[..open], row, None));
    }
    let (rest, last) = text.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    match rest
        .rsplit_once(':')
        .and_then(|(file, row)| Some((file, row.parse().ok()?)))
    {
        Some((file, row)) => Some((file, row, Some(last))),
        None => Some((rest, last, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let gcc =
            parse("kernels/a/kernel.cu:12:7: error: 'x' was not declared").expect("gcc's form");
        assert_eq!(
            (gcc.file.as_str(), gcc.line, gcc.column),
            ("kernels/a/kernel.cu", 12, Some(7))
        );
        let nvcc =
            parse("kernel.cu(3): error: identifier \"x\" is undefined").expect("nvcc's form");
        assert_eq!((nvcc.line, nvcc.severity), (3, Severity::Error));
        let numbered = parse("kernel.cu(9): warning #177-D: variable \"y\" was declared")
            .expect("nvcc's numbered form");
        assert_eq!((numbered.line, numbered.severity), (9, Severity::Warning));
        assert_eq!(parse("just text with error: in it"), None);
    }
}
