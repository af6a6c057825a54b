//! The compiler options that a lab.toml may give: a list of what passes. Everything else is an
//! error.
//!
//! lab.toml comes with a folder, maybe a stranger's. Some options of a compiler start programs
//! (`-wrapper`), read files (`@file`, `-include`) or write files (`-MF`, `-o`). A value of
//! [`CompileOptions`] holds none of them, so whoever gets one can hand it to a compiler. It says
//! for each device what the device's compiler gets.

mod known;
mod refusal;

use crate::text::is_identifier;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Options for the compilers of both devices, checked.
///
/// ```
/// use lab_protocol::CompileOptions;
///
/// let given = ["-O3", "-DTILE=32", "-Iinclude", "--use_fast_math"].map(str::to_owned);
/// let options = CompileOptions::parse(&given).unwrap();
/// assert_eq!(options.for_host(), ["-O3", "-DTILE=32", "-Iinclude"]);
/// assert_eq!(options.for_nvrtc(), ["-DTILE=32", "-Iinclude", "--use_fast_math"]);
/// assert_eq!(options.given(), given);
///
/// let refused = CompileOptions::parse(&["-wrapper".to_owned(), "sh,-c,true".to_owned()]).unwrap_err();
/// assert_eq!((refused.index, refused.option.as_str()), (0, "-wrapper"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct CompileOptions {
    given: Vec<String>,
    host: Vec<String>,
    nvrtc: Vec<String>,
    include_folders: Vec<String>,
    architectures: Vec<String>,
    /// Whether an option names the version of the language for NVRTC. The cpu device has its own.
    has_standard: bool,
}

/// An option that does not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedOption {
    /// Its position in the list, counted from 0.
    pub index: usize,
    /// As it was given.
    pub option: String,
    /// What it is, and what to do. A sentence without its first word's capital and without its end.
    pub why: String,
}

impl fmt::Display for RefusedOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.option.chars().take(200).collect();
        write!(
            f,
            "the compiler option {shown:?} is not allowed: {}",
            self.why
        )
    }
}

impl std::error::Error for RefusedOption {}

impl CompileOptions {
    /// Checks a list of options, each a string of its own. The value of an option may be the next
    /// string, as in `"-D", "TILE=32"`.
    pub fn parse(given: &[String]) -> Result<CompileOptions, RefusedOption> {
        let mut options = CompileOptions {
            given: given.to_vec(),
            ..CompileOptions::default()
        };
        let refused = |index: usize, why: String| RefusedOption {
            index,
            option: given[index].clone(),
            why,
        };
        let mut at = 0;
        while at < given.len() {
            let next = given.get(at + 1).map(String::as_str);
            let read = options.read(&given[at], next);
            at += read.map_err(|why| refused(at, why))?;
        }
        match options.architectures.len() {
            0 | 1 => Ok(options),
            _ => Err(refused(
                0,
                "the list names two architectures: name one".into(),
            )),
        }
    }

    /// The options as they were given.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// What g++ or clang++ gets, one word for each option. A word never begins with `@`.
    pub fn for_host(&self) -> &[String] {
        &self.host
    }

    /// What NVRTC gets, one word for each option.
    pub fn for_nvrtc(&self) -> &[String] {
        &self.nvrtc
    }

    /// The folders in which includes are looked up, in the order of the options, as they were
    /// written.
    pub fn include_folders(&self) -> impl Iterator<Item = &str> {
        self.include_folders.iter().map(String::as_str)
    }

    /// The architecture that an option names, as in `sm_90`.
    pub fn architecture(&self) -> Option<&str> {
        self.architectures.first().map(String::as_str)
    }

    /// Whether an option names the version of the language for NVRTC.
    pub fn has_standard(&self) -> bool {
        self.has_standard
    }
}

impl TryFrom<Vec<String>> for CompileOptions {
    type Error = RefusedOption;
    fn try_from(given: Vec<String>) -> Result<Self, RefusedOption> {
        CompileOptions::parse(&given)
    }
}

impl From<CompileOptions> for Vec<String> {
    fn from(options: CompileOptions) -> Self {
        options.given
    }
}

/// Reads the value of an option. The error says what to do.
type ReadValue = fn(&mut CompileOptions, &str) -> Result<(), String>;

/// The options whose value is a text of its own. The longer of two names that begin alike comes
/// first.
const VALUED: &[(&str, ReadValue)] = &[
    ("--define-macro", CompileOptions::define),
    ("--undefine-macro", CompileOptions::undefine),
    ("--include-path", |all, path| all.folder("-I", path)),
    ("--include-directory", |all, path| all.folder("-I", path)),
    ("-isystem", |all, path| all.folder("-isystem", path)),
    ("-iquote", |all, path| all.folder("-iquote", path)),
    ("-idirafter", |all, path| all.folder("-idirafter", path)),
    ("--gpu-architecture", CompileOptions::architecture_named),
    ("--std", CompileOptions::standard),
    ("-std", CompileOptions::standard),
    ("-arch", CompileOptions::architecture_named),
    ("-D", CompileOptions::define),
    ("-U", CompileOptions::undefine),
    ("-I", |all, path| all.folder("-I", path)),
];

impl CompileOptions {
    /// Reads the option that begins here. Returns how many strings it takes.
    fn read(&mut self, option: &str, next: Option<&str>) -> Result<usize, String> {
        if option.chars().any(char::is_control) {
            return Err("it holds a control character, such as a line break: remove it".into());
        }
        for (name, read) in VALUED {
            let Some(rest) = option.strip_prefix(name) else {
                continue;
            };
            // As in `-DX` and `-isystem/opt`.
            let glued = name.len() == 2 || name.starts_with("-i");
            let (value, words) = match (rest.strip_prefix('=').filter(|_| name.len() > 2), next) {
                (Some(value), _) => (value, 1),
                (None, Some(value)) if rest.is_empty() => (value, 2),
                (None, None) if rest.is_empty() => return Err("its value is missing".into()),
                (None, _) if glued => (rest, 1),
                (None, _) => continue,
            };
            return read(self, value).map(|()| words);
        }
        self.read_flag(option, next)?
            .ok_or_else(|| refusal::reason(option))
    }

    fn define(&mut self, text: &str) -> Result<(), String> {
        let (macro_name, value) = text.split_once('=').unwrap_or((text, ""));
        let (name, parameters) =
            macro_name.split_at(macro_name.find('(').unwrap_or(macro_name.len()));
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ' ' | '.');
        let parameters_are_names = parameters.is_empty()
            || parameters
                .strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(')'))
                .is_some_and(|list| list.chars().all(is_part));
        if !is_identifier(name) || !parameters_are_names || value.chars().any(char::is_control) {
            return Err("a macro is written -DNAME or -DNAME=VALUE: write it so".into());
        }
        self.for_both(format!("-D{text}"));
        Ok(())
    }

    fn undefine(&mut self, name: &str) -> Result<(), String> {
        if !is_identifier(name) {
            return Err("a macro's name has letters, digits and _: write -UNAME".into());
        }
        self.for_both(format!("-U{name}"));
        Ok(())
    }

    /// Adds an option that both compilers get as it is.
    fn for_both(&mut self, word: String) {
        self.host.push(word.clone());
        self.nvrtc.push(word);
    }

    /// `option` is the one of g++ that says when the folder is looked into.
    fn folder(&mut self, option: &str, path: &str) -> Result<(), String> {
        // These mean something else to g++ than a folder of that name.
        let is_special =
            path == "-" || path.starts_with(['=', '@']) || path.starts_with("$SYSROOT");
        if path.trim().is_empty() || is_special || path.chars().any(char::is_control) {
            return Err("it names no folder: write -Iinclude for the folder include".into());
        }
        self.host.push(format!("{option}{path}"));
        self.nvrtc.push(format!("-I{path}"));
        self.include_folders.push(path.to_owned());
        Ok(())
    }

    fn standard(&mut self, name: &str) -> Result<(), String> {
        let version = name
            .strip_prefix("c++")
            .or_else(|| name.strip_prefix("gnu++"));
        let is_version = |v: &str| {
            v.len() == 2
                && v.chars()
                    .all(|c| c.is_ascii_digit() || c.is_ascii_lowercase())
        };
        if !version.is_some_and(is_version) {
            return Err("a version of the language is written -std=c++20: write it so".into());
        }
        self.nvrtc.push(format!("--std={name}"));
        self.has_standard = true;
        Ok(())
    }

    fn architecture_named(&mut self, name: &str) -> Result<(), String> {
        let number = name
            .strip_prefix("sm_")
            .map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_lowercase()));
        let is_number =
            |n: &str| (2..=3).contains(&n.len()) && n.chars().all(|c| c.is_ascii_digit());
        if name.len() > 8 || !number.is_some_and(is_number) {
            return Err(
                "an architecture is written sm_90: write arch = \"sm_90\" under [compile]".into(),
            );
        }
        self.architectures.push(name.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
