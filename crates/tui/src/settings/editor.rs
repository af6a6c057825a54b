//! The `editor` setting: a command line that may hold placeholders for file, line and column.

/// What may stand in the place of a place.
pub const PLACEHOLDERS: [&str; 3] = ["{file}", "{line}", "{column}"];

/// What is wrong with a command line of the user's, if anything.
pub fn check(editor: &str) -> Result<(), String> {
    if editor.trim().is_empty() {
        return Err("editor is empty: remove the line to use $VISUAL or $EDITOR".to_owned());
    }
    let all = PLACEHOLDERS.join(", ");
    if let Some(word) = braced(editor).find(|word| !PLACEHOLDERS.contains(word)) {
        let near = PLACEHOLDERS.iter().find(|known| strsim::damerau_levenshtein(known, word) <= 2);
        let near = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
        return Err(format!("editor has the unknown placeholder {word}{near}: they are {all}"));
    }
    match braced(editor).next() {
        Some(one) if !editor.contains("{file}") => {
            Err(format!("editor has {one} but no {{file}}, as in editor = \"code --goto {{file}}:{{line}}\""))
        }
        _ => Ok(()),
    }
}

/// The words in braces that a placeholder could be: not those of the shell's, as `${HOME}`.
fn braced(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(move |(at, _)| {
        let end = at + text[at..].find('}')?;
        let is_word = end > at + 1 && text[at + 1..end].bytes().all(|byte| byte.is_ascii_lowercase());
        (is_word && !text[..at].ends_with('$')).then(|| &text[at..=end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_that_is_none_is_refused() {
        for fine in ["vim", "code --goto {file}:{line}:{column}", "${HOME}/bin/e {file}", "e {a,b} {} {X}"] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
    }
}
