//! Finds the user's editor and builds the command that opens a file at a line.

use lab_text::signal;
use lab_tui::request::Spot;
use lab_tui::settings::editor::PLACEHOLDERS;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// The arguments that open a line, for editors that are configured without placeholders.
const KNOWN: [(&str, &[&str]); 4] = [
    (
        "+{line} {file}",
        &[
            "vi",
            "vim",
            "nvim",
            "view",
            "nano",
            "emacs",
            "emacsclient",
            "kak",
            "micro",
            "ne",
        ],
    ),
    ("{file}:{line}:{column}", &["hx", "helix", "subl", "zed"]),
    (
        "--goto {file}:{line}:{column}",
        &["code", "code-insiders", "codium", "cursor"],
    ),
    ("--line {line} {file}", &["kate", "gedit"]),
];

/// The user's editor: `$VISUAL`, else `$EDITOR`, else `vi`.
pub fn chosen(env: impl Fn(&str) -> Option<String>) -> String {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    set("VISUAL")
        .or_else(|| set("EDITOR"))
        .unwrap_or_else(|| "vi".to_owned())
}

/// Builds the command that opens `file`. The setting may hold arguments, so the shell splits it, as
/// git does. A placeholder becomes one word, whatever the file is called.
pub fn command(editor: &str, file: &Path, spot: Option<Spot>) -> Command {
    let own = PLACEHOLDERS.iter().any(|word| editor.contains(word));
    let how = match spot {
        _ if own => editor.to_owned(),
        Some(_) => format!("{editor} {}", known(editor).unwrap_or("{file}")),
        None => format!("{editor} {{file}}"),
    };
    let Spot { line, column } = spot.unwrap_or(Spot {
        line: 1,
        column: None,
    });
    // A signal that ends the screen ends its child. So that is the editor, if the shell runs nothing
    // else.
    let first = how.split_whitespace().next().unwrap_or_default();
    let is_alone = !how.contains([';', '|', '&', '<', '>', '(', ')', '`', '\n']);
    let exec = if is_alone && !first.contains('=') {
        "exec "
    } else {
        ""
    };
    let script = format!("{exec}{}", script(&how));
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(editor).arg(file);
    command
        .arg(line.to_string())
        .arg(column.unwrap_or(1).to_string());
    command
}

/// Replaces the placeholders by the shell's `$1`, `$2`, `$3`, quoted as their position requires.
fn script(how: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut rest = how;
    while let Some(letter) = rest.chars().next() {
        if let Some(number) = PLACEHOLDERS.iter().position(|word| rest.starts_with(word)) {
            let parameter = format!("${{{}}}", number + 1);
            out.push_str(&match quote {
                None => format!("\"{parameter}\""),
                Some('"') => parameter,
                Some(_) => format!("'\"{parameter}\"'"),
            });
            rest = &rest[PLACEHOLDERS[number].len()..];
            continue;
        }
        out.push(letter);
        rest = &rest[letter.len_utf8()..];
        match (letter, quote) {
            ('\\', None | Some('"')) => {
                out.extend(rest.chars().next());
                rest = rest
                    .get(rest.chars().next().map_or(0, char::len_utf8)..)
                    .unwrap_or_default();
            }
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            _ => {}
        }
    }
    out
}

/// Returns an error message if the editor did not start or ended with an error.
pub fn complaint(editor: &str, ended: io::Result<ExitStatus>) -> Result<(), String> {
    match ended.map(|status| (status.code(), status.signal())) {
        Ok((Some(0), _)) => Ok(()),
        // The shell's exit codes for a program that cannot be run (126) or is not found (127).
        Ok((Some(126 | 127), _)) => Err(format!(
            "the editor '{editor}' was not found or cannot be run: set VISUAL or EDITOR, or editor in lab's config.toml"
        )),
        Ok((Some(code), _)) => Err(format!("the editor '{editor}' ended with exit code {code}")),
        Ok((None, signal)) => Err(format!(
            "the editor '{editor}' was ended by {}",
            signal::name(signal.unwrap_or_default())
        )),
        Err(why) => Err(format!("the editor '{editor}' did not start: {why}")),
    }
}

fn known(editor: &str) -> Option<&'static str> {
    let program = editor.split_whitespace().next().unwrap_or("");
    let name = program.rsplit('/').next().unwrap_or(program);
    KNOWN
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(how, _)| *how)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVEN: Option<Spot> = Some(Spot {
        line: 7,
        column: Some(3),
    });

    /// What the editor is given, a word a line: the shell starts `printf` in its place.
    fn given(editor: &str, spot: Option<Spot>) -> String {
        let mut command = command(editor, Path::new("a 'b\"$x.cu"), spot);
        let said = command
            .env("PATH", "/usr/bin:/bin")
            .output()
            .expect("a shell");
        String::from_utf8_lossy(&said.stdout)
            .trim_end()
            .replace('\n', "|")
    }

    #[test]
    fn the_users_editor_is_the_one_they_set() {
        let chosen = |vars: &[(&str, &str)]| {
            chosen(|name| {
                vars.iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, v)| (*v).to_owned())
            })
        };
        assert_eq!(chosen(&[]), "vi");
        assert_eq!(chosen(&[("EDITOR", "nano")]), "nano");
        assert_eq!(
            chosen(&[("VISUAL", "code --wait"), ("EDITOR", "nano")]),
            "code --wait"
        );
        assert_eq!(chosen(&[("VISUAL", " "), ("EDITOR", "nano")]), "nano");
    }

    #[test]
    fn one_that_is_known_is_told_the_line_in_its_own_way() {
        let how = |editor: &str| script(&format!("{editor} {}", known(editor).unwrap_or("{file}")));
        assert_eq!(
            how("/usr/bin/vim -u x"),
            "/usr/bin/vim -u x +\"${2}\" \"${1}\""
        );
        assert_eq!(how("code -w"), "code -w --goto \"${1}\":\"${2}\":\"${3}\"");
        assert_eq!(how("hx"), "hx \"${1}\":\"${2}\":\"${3}\"");
        assert_eq!(how("my-editor.sh"), "my-editor.sh \"${1}\"");
    }

    #[test]
    fn a_placeholder_is_a_word_whatever_the_file_is_called() {
        let file = "a 'b\"$x.cu";
        assert_eq!(given("printf '%s\\n' -x", SEVEN), format!("-x|{file}"));
        assert_eq!(
            given("printf '%s\\n' --goto {file}:{line}", SEVEN),
            format!("--goto|{file}:7")
        );
        assert_eq!(
            given("printf '%s\\n' \"at {line} {file}\"", SEVEN),
            format!("at 7 {file}")
        );
        assert_eq!(
            given("printf '%s\\n' 'at {file}' {column} \\'", SEVEN),
            format!("at {file}|3|'")
        );
        assert_eq!(
            given("printf '%s\\n' {file} +{line},{column}", None),
            format!("{file}|+1,1")
        );
    }
}
