//! The `editor` setting: a command line that may hold placeholders for file, line and column.

use lab_text::suggest::did_you_mean;

/// The placeholders of an editor's command line.
pub const PLACEHOLDERS: [&str; 3] = ["{file}", "{line}", "{column}"];

/// Checks the user's command line. The error says what is wrong and what to do.
///
/// ```
/// use lab_tui::settings::editor::check;
///
/// assert_eq!(check("hx {file}:{line}"), Ok(()));
/// assert!(check("hx {fil}").unwrap_err().contains("did you mean {file}?"));
/// ```
pub fn check(editor: &str) -> Result<(), String> {
    if editor.trim().is_empty() {
        return Err("editor is empty: remove the line to use $VISUAL or $EDITOR".to_owned());
    }
    let all = PLACEHOLDERS.join(", ");
    if let Some(word) = braced(editor).find(|word| !PLACEHOLDERS.contains(word)) {
        let near = did_you_mean(word, PLACEHOLDERS);
        return Err(format!(
            "editor has the unknown placeholder {word}{near}: the placeholders are {all}"
        ));
    }
    match braced(editor).next() {
        Some(one) if !editor.contains("{file}") => Err(format!(
            "editor has {one} but no {{file}}, as in editor = \"code --goto {{file}}:{{line}}\""
        )),
        _ => Ok(()),
    }
}

/// The words in braces that look like placeholders. A variable of the shell, as in `${HOME}`, does
/// not.
fn braced(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(move |(at, _)| {
        let end = at + text[at..].find('}')?;
        let is_word = end > at + 1
            && text[at + 1..end]
                .bytes()
                .all(|byte| byte.is_ascii_lowercase());
        (is_word && !text[..at].ends_with('$')).then(|| &text[at..=end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_the_shell_are_not_placeholders() {
        for fine in [
            "vim",
            "code --goto {file}:{line}:{column}",
            "${HOME}/bin/e {file}",
            "e {a,b} {} {X}",
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
    }
}
