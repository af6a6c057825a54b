//! The themes that can be chosen by name: the terminal's own colours, the schemes that come with
//! the lab, and the user's own schemes. Reading the user's files is the caller's work; this module
//! parses what was read.

use super::Theme;
use super::color_depth::ColorDepth;
use super::scheme::{self, Scheme, Variant};
use crate::text::printable;
use lab_text::suggest::did_you_mean;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The name of the terminal's own colours.
pub(super) const TERMINAL: &str = "ansi";

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../themes/", $name, ".yaml")))),*]
    };
}

/// The schemes that come with the lab: each with its name and the text of its file.
const EMBEDDED: [(&str, &str); 13] = embedded![
    "lab-dark",
    "lab-light",
    "lab-contrast",
    "lab-contrast-light",
    "catppuccin-mocha",
    "dracula",
    "everforest-dark",
    "gruvbox-dark",
    "gruvbox-light",
    "nord",
    "one-dark",
    "one-light",
    "solarized-dark",
];

/// One theme that can be chosen by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeEntry {
    /// The name to choose it by: the file's name without its extension.
    pub name: String,
    /// The file of a scheme of the user's.
    pub file: Option<PathBuf>,
    /// `None` for the terminal's own colours.
    pub scheme: Option<Scheme>,
}

impl ThemeEntry {
    /// Whether the scheme is dark or light. `None` for the terminal's own colours.
    pub fn variant(&self) -> Option<Variant> {
        self.scheme.as_ref().map(|scheme| scheme.variant)
    }

    /// The theme at a colour depth. Cheap enough to call on each key press of a chooser.
    pub fn theme(&self, depth: ColorDepth, paint: bool) -> Theme {
        match &self.scheme {
            _ if depth == ColorDepth::None => Theme::plain(),
            None => Theme::ansi(),
            Some(scheme) => Theme::of(scheme, depth, paint),
        }
    }
}

/// All themes by name. A scheme of the user's replaces a built-in one of the same name.
///
/// ```
/// use lab_tui::theme::{Catalogue, ColorDepth};
///
/// let catalogue = Catalogue::built_in();
/// assert!(catalogue.entry("nord").is_some());
/// let error = catalogue.find("nrod").expect_err("no theme has this name");
/// assert!(error.contains("did you mean nord?"));
/// assert!(catalogue.entry("nord").unwrap().theme(ColorDepth::Rgb, false).is_colored());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    pub entries: Vec<ThemeEntry>,
    /// The user's files that are not used, each with the reason.
    pub problems: Vec<(PathBuf, String)>,
    /// Where the user's schemes are.
    folder: Option<PathBuf>,
}

/// Whether `wanted` is the path of a scheme's file rather than a theme's name: it contains a `/` or
/// ends in .yaml or .yml.
pub fn is_path(wanted: &str) -> bool {
    wanted.contains('/') || wanted.ends_with(".yaml") || wanted.ends_with(".yml")
}

/// Parses the text of a scheme's file. `file` is named in the error.
pub fn parse_scheme_file(file: &Path, text: &str) -> Result<Scheme, String> {
    let scheme = scheme::parse(text).map_err(|error| scheme_file_error(file, &error))?;
    Ok(Scheme {
        author: printable(&scheme.author),
        ..scheme
    })
}

/// The error message of a scheme's file, safe to print.
pub fn scheme_file_error(file: &Path, reason: &dyn Display) -> String {
    printable(&format!("the colour scheme {}: {reason}", file.display()))
}

impl Catalogue {
    /// The terminal's own colours and the schemes that come with the lab.
    pub fn built_in() -> Self {
        let terminal = ThemeEntry {
            name: TERMINAL.to_owned(),
            file: None,
            scheme: None,
        };
        // A test parses each of them.
        let embedded = EMBEDDED.into_iter().filter_map(|(name, text)| {
            let scheme = Some(scheme::parse(text).ok()?);
            Some(ThemeEntry {
                name: name.to_owned(),
                file: None,
                scheme,
            })
        });
        Catalogue {
            entries: std::iter::once(terminal).chain(embedded).collect(),
            ..Catalogue::default()
        }
    }

    /// The built-in themes and the user's. `files` are the files of the user's `folder`, each with
    /// its scheme or with the reason why it is not used.
    pub fn with_user_files(
        folder: &Path,
        files: impl IntoIterator<Item = (PathBuf, Result<Scheme, String>)>,
    ) -> Self {
        let mut catalogue = Catalogue {
            folder: Some(folder.to_owned()),
            ..Catalogue::built_in()
        };
        for (file, scheme) in files {
            let name = file.file_stem().and_then(|stem| stem.to_str());
            let Some(name) = name.map(str::to_owned) else {
                continue;
            };
            match scheme {
                Ok(scheme) => catalogue.put(ThemeEntry {
                    name,
                    file: Some(file),
                    scheme: Some(scheme),
                }),
                Err(reason) => catalogue.problems.push((file, reason)),
            }
        }
        catalogue
    }

    fn put(&mut self, entry: ThemeEntry) {
        let mut known = self.entries.iter_mut();
        match known.find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
    }

    /// The theme of this name, if there is one.
    pub fn entry(&self, name: &str) -> Option<&ThemeEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The theme of this name. The error says what is wrong with the user's file of this name; or
    /// it suggests the nearest name and lists all.
    pub fn find(&self, name: &str) -> Result<&ThemeEntry, String> {
        let is_named =
            |(file, _): &&(PathBuf, String)| file.file_stem().is_some_and(|stem| stem == name);
        match (self.problems.iter().find(is_named), self.entry(name)) {
            (Some((_, reason)), _) => Err(reason.clone()),
            (None, Some(entry)) => Ok(entry),
            (None, None) => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, wanted: &str) -> String {
        let names: Vec<&str> = self.entries.iter().map(|entry| &*entry.name).collect();
        let near = did_you_mean(&wanted.to_lowercase(), names.iter().copied());
        let own = match &self.folder {
            Some(folder) => format!("NAME.yaml in {}", folder.display()),
            None => "the path of its file".to_owned(),
        };
        printable(&format!(
            "there is no theme '{wanted}'{near}: choose one of {}, or a base16 scheme of your own, {own}",
            names.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_that_comes_with_the_lab_is_complete() {
        for (name, text) in EMBEDDED {
            let scheme = scheme::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(!scheme.author.is_empty(), "{name} names its author");
        }
        let catalogue = Catalogue::built_in();
        assert_eq!(catalogue.entries.len(), EMBEDDED.len() + 1);
        assert_eq!(
            catalogue.entry("lab-light").and_then(ThemeEntry::variant),
            Some(Variant::Light)
        );
    }

    #[test]
    fn the_error_of_an_unknown_name_suggests_the_nearest_and_lists_all() {
        let error = Catalogue::built_in()
            .find("solarised-dark")
            .expect_err("there is none")
            .clone();
        assert!(
            error.starts_with(
                "there is no theme 'solarised-dark' (did you mean solarized-dark?): choose one of ansi, lab-dark,"
            ),
            "{error}"
        );
        let error = Catalogue::built_in()
            .find("\u{1b}[2J")
            .expect_err("there is none")
            .clone();
        assert!(
            !error.contains('\u{1b}') && !error.contains("did you mean"),
            "{error}"
        );
    }

    #[test]
    fn a_users_scheme_is_named_by_its_file_and_replaces_a_built_in_one() {
        let mine = EMBEDDED[0].1.replace("7fc98a", "00ff00");
        let files = [
            ("mine.yaml", mine.as_str()),
            ("nord.yml", &mine),
            ("bad.yaml", "base00: red\n"),
        ]
        .map(|(name, text)| (PathBuf::from("/themes").join(name), text));
        let files = files.map(|(file, text)| (file.clone(), parse_scheme_file(&file, text)));
        let catalogue = Catalogue::with_user_files(Path::new("/themes"), files);
        for name in ["mine", "nord"] {
            let theme = catalogue
                .entry(name)
                .expect("it is there")
                .theme(ColorDepth::Rgb, false);
            assert_eq!(
                theme.shown(super::super::style::GOOD).fg,
                Some(ratatui::style::Color::Rgb(0, 255, 0)),
                "{name}"
            );
        }
        assert_eq!(
            catalogue.entries.len(),
            EMBEDDED.len() + 2,
            "the terminal's, ours and one more"
        );
        let reason =
            "the colour scheme /themes/bad.yaml: line 1: 'red' is not a colour such as d3d8df";
        assert_eq!(
            catalogue.problems,
            [(PathBuf::from("/themes/bad.yaml"), reason.to_owned())]
        );
        assert_eq!(catalogue.find("bad"), Err(reason.to_owned()));
        let unknown = catalogue.find("worse").expect_err("there is none");
        assert!(
            unknown.ends_with("or a base16 scheme of your own, NAME.yaml in /themes"),
            "{unknown}"
        );
    }
}
