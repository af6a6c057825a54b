//! What a user is asked to trust, and whether it is trusted: the harness command of a lab.toml,
//! kernels, references and peers in Python, and kernels where Linux cannot confine them. The user
//! trusts by `lab trust` or on the screen.
//!
//! With the built-in harness trust is not needed for CUDA C++, as long as Linux can confine the
//! kernel's process. In a trusted folder kernels may run without a sandbox too, peers in Python run
//! (elsewhere a measurement leaves them out), and the compiler may read paths outside the
//! repository that lab.toml names.

pub use super::python_request::PythonRequest;
pub use super::trust_mark::{STATE_DIR, TrustMark, state_folder, user_folders};

use crate::config::{Config, Harness};
use crate::python;
use crate::{Project, compile_paths};
use anyhow::{Result, bail};
use itertools::Itertools;
use lab_system::{lifetime, special_files};
use std::path::{Path, PathBuf};

/// Whether a run may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nothing that needs trust, or the user trusts it.
    Given,
    /// The user has not agreed yet.
    Needed(Box<TrustRequest>),
}

/// What a user is asked to trust. Trust belongs to exactly this: [`grant`] looks at no file for
/// what it grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRequest {
    /// The lab.toml in its real folder, or the repository where there is none.
    pub place: PathBuf,
    /// The harness command, which `sh -c` runs in the folder of lab.toml; for a script in Python
    /// its program and its path.
    pub command: Option<String>,
    /// Paths outside the repository's sources that the compiler may read, because lab.toml names
    /// them.
    pub outside: Vec<PathBuf>,
    /// Options of lab.toml for Slurm.
    pub slurm: Vec<String>,
    /// Why Linux cannot confine a kernel here. `None` where it can, or where no kernel runs on the
    /// cpu device.
    pub unconfined: Option<String>,
    /// The Python that would run. `None` where none would.
    pub python: Option<PythonRequest>,
    /// The peers in Python that a measurement would run. `None` where there are none.
    pub peers: Option<PythonRequest>,
    /// A link that leads out of git's folder, and that git would write through.
    pub link_out: Option<PathBuf>,
    mark: TrustMark,
    /// lab.toml and the work tree that it is in. `None` where there is no lab.toml.
    config: Option<(PathBuf, PathBuf)>,
}

/// Most sources that a request lists.
const LISTED: usize = 20;

/// A line of what the user is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustLine {
    /// A sentence. It may be wrapped at its blanks.
    Sentence(String),
    /// A line of a command, or a path: each character counts. Characters that a terminal does not
    /// show stand in it by their number.
    Literal(String),
}

impl TrustRequest {
    /// A request that asks for nothing yet. `place` is a lab.toml in its real folder, or a
    /// repository without one.
    pub fn new(place: PathBuf, mark: TrustMark) -> TrustRequest {
        TrustRequest {
            place,
            command: None,
            outside: Vec::new(),
            slurm: Vec::new(),
            unconfined: None,
            python: None,
            peers: None,
            link_out: None,
            mark,
            config: None,
        }
    }

    /// What a project needs trust for, or would get with it.
    pub fn of(project: &Project, unconfined: Option<String>) -> TrustRequest {
        let place = project
            .config_file
            .clone()
            .unwrap_or_else(|| project.root.clone());
        TrustRequest {
            command: command(project),
            outside: compile_paths::of(project).outside,
            slurm: project.config.slurm.options.clone(),
            unconfined,
            python: PythonRequest::of_kernels(project, false),
            peers: PythonRequest::of_peers(project, false),
            link_out: special_files::link_out(&project.root),
            config: project
                .config_file
                .clone()
                .map(|file| (file, project.root.clone())),
            ..TrustRequest::new(place, project.trust_mark.clone())
        }
    }

    /// [`TrustRequest::of`] for a user who names no kernel: it lists the Python of every kernel
    /// that the trust is about.
    pub fn of_folder(project: &Project) -> TrustRequest {
        TrustRequest {
            python: PythonRequest::of_kernels(project, true),
            peers: PythonRequest::of_peers(project, true),
            ..TrustRequest::of(project, None)
        }
    }

    /// What is not trusted yet, as the subject of a sentence.
    pub fn subject(&self) -> &'static str {
        if self.command.is_some() {
            "the harness command"
        } else {
            "this folder"
        }
    }

    /// The whole of what is asked, without the question.
    pub fn lines(&self) -> Vec<TrustLine> {
        let sentence = |text: &str| TrustLine::Sentence(text.to_owned());
        let mut lines = vec![path(&self.place)];
        if let Some(command) = &self.command {
            lines.push(sentence(
                "wants to run a command that you have not trusted yet:",
            ));
            lines.extend(numbered(command).into_iter().map(TrustLine::Literal));
            lines.push(sentence("It runs with your rights at every save."));
        } else if let Some(python) = &self.python {
            lines.push(sentence(
                "wants to run Python that you have not trusted yet:",
            ));
            // The first source is not counted.
            lines.extend(listed(python, LISTED + 1, ""));
            lines.push(sentence(match python.others.is_empty() {
                true => "It runs with your rights at every save: nothing keeps it from your files.",
                false => {
                    "They run with your rights at every save: nothing keeps them from your files."
                }
            }));
        }
        let mut interpreter = self.python.as_ref();
        let mut peers = Vec::new();
        if let Some(request) = &self.peers {
            peers.push(sentence(
                "A measurement also runs the peers in these Python files, with your rights:",
            ));
            peers.extend(listed(request, LISTED, " files of peers"));
        }
        if interpreter.is_none() {
            interpreter = self.peers.as_ref();
            lines.append(&mut peers);
        }
        if let Some(python) = interpreter {
            lines.push(sentence(python.interpreter_in_words()));
            lines.push(path(&python.interpreter.program));
        }
        lines.append(&mut peers);
        if let Some(why) = &self.unconfined {
            lines.push(TrustLine::Sentence(format!(
                "Kernels of this folder would run on this machine's processor with your rights: they cannot be kept from your \
                 files here ({}).",
                visible(why)
            )));
        } else if self.command.is_none() {
            lines.push(sentence(
                "Kernels of this folder may run without a sandbox, where Linux cannot confine them.",
            ));
        }
        if !self.outside.is_empty() {
            lines.push(sentence(
                "The compiler may read, outside the repository's sources:",
            ));
            lines.extend(self.outside.iter().map(|outside| path(outside)));
        }
        if !self.slurm.is_empty() {
            lines.push(sentence("Jobs are sent to Slurm with these options:"));
            lines.extend(self.slurm.iter().map(|option| path(Path::new(option))));
        }
        if let Some(link) = &self.link_out {
            lines.push(sentence(
                "Git would write through this link, which leads out of its folder:",
            ));
            lines.push(path(link));
        }
        lines.push(sentence(
            "In a trusted folder git's hooks and programs of this repository and its kernels and peers in Python run too, an NVRTC of its \
             .venv is loaded, and links of inputs may lead out of it.",
        ));
        lines
    }

    /// [`TrustRequest::lines`] as text for a command's output.
    pub fn text(&self) -> String {
        let mut lines = self.lines().into_iter().map(|line| match line {
            TrustLine::Sentence(text) | TrustLine::Literal(text) => text,
        });
        lines.join("\n")
    }
}

/// Why no run starts, and what to do.
impl std::fmt::Display for TrustRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = visible(&self.place.to_string_lossy());
        if let (None, Some(python)) = (&self.command, &self.python) {
            let program = visible(&python.interpreter.program.to_string_lossy());
            let whose = if python.interpreter.is_inside {
                ", a program of this folder,"
            } else {
                ""
            };
            return write!(
                f,
                "{} is Python, which {program}{whose} would run with your rights, and {place} is not trusted: look at it, then \
                 `lab trust`",
                visible(&python.source)
            );
        }
        match (&self.command, &self.unconfined) {
            (Some(command), _) if !command.trim_end().contains(['\n', '\r']) => write!(
                f,
                "{place} wants to run `{}`, and you have not trusted it yet. Read it, then `lab trust`",
                visible(command.trim_end())
            ),
            (Some(command), _) => {
                let lines = numbered(command);
                write!(
                    f,
                    "{place} wants to run a command of {} lines, and you have not trusted it yet. Read it, then `lab trust`:\n{}",
                    lines.len(),
                    lines.join("\n")
                )
            }
            (None, why) => write!(
                f,
                "kernels cannot be kept from your files here ({}), and this folder is not trusted: look at its kernels, then \
                 `lab trust` lets them run without a sandbox",
                visible(why.as_deref().unwrap_or("no sandbox"))
            ),
        }
    }
}

fn path(path: &Path) -> TrustLine {
    TrustLine::Literal(format!("    {}", visible(&path.to_string_lossy())))
}

/// So many sources as lines, and how many more there are.
fn listed<'p>(
    request: &'p PythonRequest,
    most: usize,
    what: &'p str,
) -> impl Iterator<Item = TrustLine> + 'p {
    let sources = request.sources().take(most);
    let more = (request.others.len() + 1).saturating_sub(most);
    let more = (more > 0).then(|| TrustLine::Sentence(format!("and {more} more{what}.")));
    sources.map(|source| path(Path::new(source))).chain(more)
}

/// The command of the user's own harness, without the words that are only for the shell.
fn command(project: &Project) -> Option<String> {
    let line = project.harness_line()?;
    Some(match project.config.harness.as_ref()? {
        Harness::Command(_) => line,
        Harness::Python { .. } => line.trim_start_matches("exec ").to_owned(),
    })
}

/// The lines of a command, each behind its number.
fn numbered(command: &str) -> Vec<String> {
    let lines = command
        .strip_suffix('\n')
        .unwrap_or(command)
        .split('\n')
        .enumerate();
    lines
        .map(|(index, line)| format!("{:>5} │ {}", index + 1, visible(line)))
        .collect()
}

/// Text in which nothing is hidden: letters, digits and plain ASCII stay, and every other character
/// stands by its number.
fn visible(text: &str) -> String {
    // Letters without ink.
    let blank = |c: char| {
        matches!(
            c,
            '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}'
        )
    };
    let stays = |c: char| matches!(c, ' '..='~') || (c.is_alphanumeric() && !blank(c));
    text.chars().fold(String::new(), |mut out, c| {
        if stays(c) {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
        out
    })
}

/// Returns whether a run of the project may start. `unconfined` says why Linux cannot confine the
/// kernel, where it cannot; it is asked only where that matters. Returns an error if no home
/// folder is known.
pub fn check(project: &Project, unconfined: impl FnOnce() -> Option<String>) -> Result<Trust> {
    if project.trust_mark.is_granted()? {
        return Ok(Trust::Given);
    }
    let unconfined = if project.external() {
        None
    } else {
        unconfined()
    };
    // Linux was not asked, so trust would be the wrong answer.
    if unconfined.is_some()
        && let Some(why) = lifetime::few_descriptors()
    {
        bail!(why);
    }
    if !project.external() && unconfined.is_none() && python::sources(project).is_empty() {
        return Ok(Trust::Given);
    }
    Ok(Trust::Needed(Box::new(TrustRequest::of(
        project, unconfined,
    ))))
}

/// Whether the user trusts the folder of a project: its lab.toml as it was read, or the repository
/// where there is none. Where trust cannot be read, nobody has given it.
pub fn is_granted(project: &Project) -> bool {
    project.trust_mark.is_granted().unwrap_or(false)
}

/// Trusts what the user was shown. The error says so where lab.toml holds something else by now.
pub fn grant(request: &TrustRequest) -> Result<()> {
    if let Some((file, root)) = &request.config {
        let (_, content) = Config::read_with_content(file, root)?;
        if TrustMark::of_config(file.parent().unwrap_or(root), content.as_bytes()) != request.mark {
            let what = if request.command.is_some() {
                "its harness command"
            } else {
                "it"
            };
            bail!("{} changed just now: look at {what} again", file.display());
        }
    }
    request.mark.grant(&request.place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::{Interpreter, NamedBy};

    fn request(command: &str) -> TrustRequest {
        let mark = TrustMark::of_folder(Path::new("/clone"));
        TrustRequest {
            command: Some(command.to_owned()),
            ..TrustRequest::new("/clone/lab.toml".into(), mark)
        }
    }

    #[test]
    fn each_line_of_a_command_is_shown_and_nothing_in_it_is_hidden() {
        let hidden = "echo ok\n\u{202e}\u{200b}x\t\u{1b}[2J\u{a0}\u{3164}é漢;\r rm -rf ~";
        let text = request(hidden).text();
        assert!(text.contains("    1 │ echo ok\n"), "{text}");
        let second = r"    2 │ \u{202e}\u{200b}x\t\u{1b}[2J\u{a0}\u{3164}é漢;\r rm -rf ~";
        assert!(text.contains(second), "{text}");
        let refusal = request(hidden).to_string();
        assert!(
            refusal.contains("a command of 2 lines") && refusal.contains(second),
            "{refusal}"
        );
        let one = request("uv run harness.py").to_string();
        assert_eq!(
            one,
            "/clone/lab.toml wants to run `uv run harness.py`, and you have not trusted it yet. Read it, then `lab trust`"
        );
    }

    #[test]
    fn python_is_asked_about_with_its_kernel_and_its_interpreter() {
        let interpreter = Interpreter {
            program: "/clone/.venv/bin/python".into(),
            named_by: NamedBy::Config,
            is_inside: true,
        };
        let python = PythonRequest {
            source: "k/kernel.py".into(),
            others: Vec::new(),
            interpreter,
        };
        let mut asked =
            TrustRequest::new("/clone".into(), TrustMark::of_folder(Path::new("/clone")));
        asked.python = Some(python);
        let text = asked.text();
        let wanted =
            "    /clone\nwants to run Python that you have not trusted yet:\n    k/kernel.py\n";
        assert!(text.starts_with(wanted), "{text}");
        assert!(
            text.contains(
                "The interpreter is a program of this folder:\n    /clone/.venv/bin/python\n"
            ),
            "{text}"
        );
        assert_eq!(
            asked.to_string(),
            "k/kernel.py is Python, which /clone/.venv/bin/python, a program of this folder, would run with your rights, and \
             /clone is not trusted: look at it, then `lab trust`"
        );
        asked.python.as_mut().expect("Python").interpreter.is_inside = false;
        assert!(
            asked
                .text()
                .contains("The interpreter is the one that lab.toml names:"),
            "{}",
            asked.text()
        );
    }

    #[test]
    fn peers_in_python_are_named_with_their_interpreter() {
        let interpreter = Interpreter {
            program: "/usr/bin/python3".into(),
            named_by: NamedBy::Path,
            is_inside: false,
        };
        let mut asked =
            TrustRequest::new("/clone".into(), TrustMark::of_folder(Path::new("/clone")));
        asked.peers = Some(PythonRequest {
            source: "k/peer.py".into(),
            others: vec!["k/t\u{202e}.py".into()],
            interpreter,
        });
        let text = asked.text();
        let wanted = "A measurement also runs the peers in these Python files, with your rights:\n    k/peer.py\n    \
                      k/t\\u{202e}.py\nThe interpreter is python3 on your PATH:\n    /usr/bin/python3\n";
        assert!(text.contains(wanted), "{text}");
    }
}
