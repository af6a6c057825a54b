//! Which editor, and how it is told the line to open at.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// These take `+LINE` before the file.
const TAKE_A_LINE: [&str; 9] = ["vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "kak", "micro"];

/// The user's editor: `$VISUAL`, else `$EDITOR`, else `vi`.
pub fn chosen(env: impl Fn(&str) -> Option<String>) -> String {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// Its command line. It may hold arguments, so the shell splits it, as git does.
pub fn command(editor: &str, file: &Path, line: Option<u32>) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor);
    if let Some(line) = line.filter(|_| takes_a_line(editor)) {
        command.arg(format!("+{line}"));
    }
    command.arg(file);
    command
}

/// What is to be said of how it ended, if anything.
pub fn complaint(editor: &str, ended: io::Result<ExitStatus>) -> Result<(), String> {
    match ended.map(|status| (status.code(), status.signal())) {
        Ok((Some(0), _)) => Ok(()),
        // The shell's words for a program that is not there, and for one that may not be run.
        Ok((Some(126 | 127), _)) => Err(format!(
            "the editor '{editor}' was not found or cannot be run: set VISUAL or EDITOR, or editor in lab's config.toml"
        )),
        Ok((Some(code), _)) => Err(format!("the editor '{editor}' ended with exit code {code}")),
        Ok((None, signal)) => {
            Err(format!("the editor '{editor}' was ended by signal {}", signal.unwrap_or_default()))
        }
        Err(why) => Err(format!("the editor '{editor}' did not start: {why}")),
    }
}

fn takes_a_line(editor: &str) -> bool {
    let program = editor.split_whitespace().next().unwrap_or("");
    let name = program.rsplit('/').next().unwrap_or(program);
    TAKE_A_LINE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vars: &[(&str, &str)], line: Option<u32>) -> String {
        let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        let command = command(&chosen(env), Path::new("a b.cu"), line);
        command.get_args().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn the_users_editor_is_started_as_they_say() {
        assert_eq!(check(&[], None), "-c|vi \"$@\"|vi|a b.cu");
        assert_eq!(check(&[("EDITOR", "nano")], Some(7)), "-c|nano \"$@\"|nano|+7|a b.cu");
        let both = [("VISUAL", "code --wait"), ("EDITOR", "nano")];
        assert_eq!(check(&both, Some(7)), "-c|code --wait \"$@\"|code --wait|a b.cu");
        assert_eq!(
            check(&[("VISUAL", " "), ("EDITOR", "/usr/bin/vim -u x")], Some(7)),
            "-c|/usr/bin/vim -u x \"$@\"|/usr/bin/vim -u x|+7|a b.cu"
        );
    }
}
