//! The compiler options that a lab.toml may give: a list of what passes. Everything else is an
//! error.
//!
//! lab.toml comes with a folder, maybe a stranger's. Some options of a compiler start programs
//! (`-wrapper`), read files (`@file`, `-include`) or write files (`-MF`, `-o`). A value of
//! [`CompileOptions`] holds none of them, so whoever gets one can hand it to a compiler. It says
//! for each device what the device's compiler gets.

mod known;
mod refusal;

use known::NUMBERS;
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
    read: Vec<CompileOption>,
}

/// What one option is for the compilers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CompileOption {
    /// The word that g++ or clang++ gets, if any.
    host: Option<String>,
    /// The word that NVRTC gets, if any.
    nvrtc: Option<String>,
    names: Names,
}

/// What an option names that the lab needs to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Names {
    #[default]
    Nothing,
    /// A folder in which includes are looked up.
    Folder(String),
    /// The version of the language for NVRTC. The cpu device has its own.
    Standard,
    /// The architecture to build for, as in `sm_90`.
    Architecture(String),
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
        let mut read = Vec::new();
        let mut at = 0;
        while let Some(option) = given.get(at) {
            let refused = |why: String| RefusedOption {
                index: at,
                option: option.clone(),
                why,
            };
            let (found, words) =
                read_option(option, given.get(at + 1).map(String::as_str)).map_err(refused)?;
            read.extend(found);
            at += words;
        }
        let options = CompileOptions {
            given: given.to_vec(),
            read,
        };
        match options.architectures().count() {
            0 | 1 => Ok(options),
            _ => Err(RefusedOption {
                index: 0,
                option: given[0].clone(),
                why: "the list names two architectures: name one".into(),
            }),
        }
    }

    /// The options as they were given.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// What g++ or clang++ gets, one word for each option. A word never begins with `@`.
    pub fn for_host(&self) -> Vec<String> {
        self.read
            .iter()
            .filter_map(|option| option.host.clone())
            .collect()
    }

    /// What NVRTC gets, one word for each option.
    pub fn for_nvrtc(&self) -> Vec<String> {
        self.read
            .iter()
            .filter_map(|option| option.nvrtc.clone())
            .collect()
    }

    /// The folders in which includes are looked up, in the order of the options, as they were
    /// written.
    pub fn include_folders(&self) -> impl Iterator<Item = &str> {
        self.read.iter().filter_map(|option| match &option.names {
            Names::Folder(path) => Some(path.as_str()),
            _ => None,
        })
    }

    /// The architecture that an option names, as in `sm_90`.
    pub fn architecture(&self) -> Option<&str> {
        self.architectures().next()
    }

    fn architectures(&self) -> impl Iterator<Item = &str> {
        self.read.iter().filter_map(|option| match &option.names {
            Names::Architecture(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether an option names the version of the language for NVRTC.
    pub fn has_standard(&self) -> bool {
        self.read
            .iter()
            .any(|option| option.names == Names::Standard)
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

/// Checks the value of an option. The error says what to do.
type ReadValue = fn(&str) -> Result<CompileOption, String>;

/// The options whose value is a text of its own. The longer of two names that begin alike comes
/// first.
const VALUED: &[(&str, ReadValue)] = &[
    ("--define-macro", define),
    ("--undefine-macro", undefine),
    ("--include-path", |path| folder("-I", path)),
    ("--include-directory", |path| folder("-I", path)),
    ("-isystem", |path| folder("-isystem", path)),
    ("-iquote", |path| folder("-iquote", path)),
    ("-idirafter", |path| folder("-idirafter", path)),
    ("--gpu-architecture", architecture),
    ("--std", standard),
    ("-std", standard),
    ("-arch", architecture),
    ("-D", define),
    ("-U", undefine),
    ("-I", |path| folder("-I", path)),
];

/// Reads the option that begins here. Returns it, `None` where no compiler needs it, and how many
/// strings it takes.
fn read_option(option: &str, next: Option<&str>) -> Result<(Option<CompileOption>, usize), String> {
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
        return read(value).map(|found| (Some(found), words));
    }
    if let Some((found, words)) = known::flag(option, next) {
        return Ok((found?, words));
    }
    Err(refusal::reason(option))
}

fn define(text: &str) -> Result<CompileOption, String> {
    let (macro_name, value) = text.split_once('=').unwrap_or((text, ""));
    let (name, parameters) = macro_name.split_at(macro_name.find('(').unwrap_or(macro_name.len()));
    let parameters_are_names = parameters.is_empty()
        || parameters
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .is_some_and(|list| {
                list.chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ' ' | '.'))
            });
    if !is_name(name) || !parameters_are_names || value.chars().any(char::is_control) {
        return Err("a macro is written -DNAME or -DNAME=VALUE: write it so".into());
    }
    Ok(for_both(format!("-D{text}")))
}

fn undefine(name: &str) -> Result<CompileOption, String> {
    if !is_name(name) {
        return Err("a macro's name has letters, digits and _: write -UNAME".into());
    }
    Ok(for_both(format!("-U{name}")))
}

/// An option that both compilers get as it is.
fn for_both(word: String) -> CompileOption {
    CompileOption {
        host: Some(word.clone()),
        nvrtc: Some(word),
        names: Names::Nothing,
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && letters.all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// `option` is the one of g++ that says when the folder is looked into.
fn folder(option: &str, path: &str) -> Result<CompileOption, String> {
    // These mean something else to g++ than a folder of that name.
    let is_special = path == "-" || path.starts_with(['=', '@']) || path.starts_with("$SYSROOT");
    if path.trim().is_empty() || is_special || path.chars().any(char::is_control) {
        return Err("it names no folder: write -Iinclude for the folder include".into());
    }
    Ok(CompileOption {
        host: Some(format!("{option}{path}")),
        nvrtc: Some(format!("-I{path}")),
        names: Names::Folder(path.to_owned()),
    })
}

fn standard(name: &str) -> Result<CompileOption, String> {
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
    Ok(CompileOption {
        nvrtc: Some(format!("--std={name}")),
        names: Names::Standard,
        ..CompileOption::default()
    })
}

fn architecture(name: &str) -> Result<CompileOption, String> {
    let number = name
        .strip_prefix("sm_")
        .map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    let is_number = |n: &str| (2..=3).contains(&n.len()) && n.chars().all(|c| NUMBERS.contains(c));
    if name.len() > 8 || !number.is_some_and(is_number) {
        return Err(
            "an architecture is written sm_90: write arch = \"sm_90\" under [compile]".into(),
        );
    }
    Ok(CompileOption {
        names: Names::Architecture(name.to_owned()),
        ..CompileOption::default()
    })
}

#[cfg(test)]
mod tests;
