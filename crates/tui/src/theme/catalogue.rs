//! All themes there are: the terminal's own colours, the schemes that come with the lab, the user's own.

use super::Theme;
use super::depth::ColorDepth;
use super::scheme::{self, Scheme, Variant};
use crate::text::printable;
use std::path::{Path, PathBuf};

/// The name of the terminal's own colours.
pub(super) const TERMINAL: &str = "ansi";

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../themes/", $name, ".yaml")))),*]
    };
}

/// The schemes that come with the lab: the name to ask for and the file.
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
pub struct Entry {
    /// What to ask for: a file's name without its ending.
    pub name: String,
    pub origin: Origin,
    /// `None` for the terminal's own colours.
    pub scheme: Option<Scheme>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Terminal,
    BuiltIn,
    User(PathBuf),
}

impl Entry {
    pub fn variant(&self) -> Option<Variant> {
        self.scheme.as_ref().map(|scheme| scheme.variant)
    }

    /// Costs no more than a few assignments: to be called on each key press of a chooser.
    pub fn theme(&self, depth: ColorDepth, paint: bool) -> Theme {
        match &self.scheme {
            _ if depth == ColorDepth::None => Theme::plain(),
            None => Theme::ansi(),
            Some(scheme) => Theme::of(scheme, depth, paint),
        }
    }
}

/// The themes by name, with the user's own in front of a built-in one of the same name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    pub entries: Vec<Entry>,
    /// The user's files that could not be read, each with what is wrong.
    pub problems: Vec<(PathBuf, String)>,
    folder: Option<PathBuf>,
}

/// Whether a scheme's file is meant, and no theme's name: what has a `/` in it or ends in .yaml or .yml.
pub fn is_path(wanted: &str) -> bool {
    wanted.contains('/') || wanted.ends_with(".yaml") || wanted.ends_with(".yml")
}

impl Catalogue {
    pub fn built_in() -> Self {
        let terminal = Entry { name: TERMINAL.to_owned(), origin: Origin::Terminal, scheme: None };
        // A test reads each of them.
        let embedded = EMBEDDED.into_iter().filter_map(|(name, text)| {
            let scheme = Some(scheme::parse(text).ok()?);
            Some(Entry { name: name.to_owned(), origin: Origin::BuiltIn, scheme })
        });
        Catalogue { entries: std::iter::once(terminal).chain(embedded).collect(), ..Catalogue::default() }
    }

    /// With every `*.yaml` and `*.yml` of the user's folder, which need not be there. Reads the disk.
    pub fn read(folder: &Path) -> Self {
        let mut catalogue = Catalogue { folder: Some(folder.to_owned()), ..Catalogue::built_in() };
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let ours = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
            let name = file.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
            let (true, Some(name)) = (ours, name) else { continue };
            match load(&file) {
                Ok(scheme) => catalogue.put(Entry { name, origin: Origin::User(file), scheme: Some(scheme) }),
                Err(why) => catalogue.problems.push((file, why)),
            }
        }
        catalogue
    }

    fn put(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
    }

    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The theme of this name. Touches no disk.
    pub fn named(&self, name: &str, depth: ColorDepth, paint: bool) -> Option<Theme> {
        Some(self.entry(name)?.theme(depth, paint))
    }

    /// A theme by its name, or a scheme by its path. The error says what to do.
    pub fn choose(&self, wanted: &str, depth: ColorDepth, paint: bool) -> Result<Theme, String> {
        if is_path(wanted) {
            let scheme = load(Path::new(wanted))?;
            return Ok(Entry { name: String::new(), origin: Origin::BuiltIn, scheme: Some(scheme) }
                .theme(depth, paint));
        }
        if let Some((_, why)) =
            self.problems.iter().find(|(file, _)| file.file_stem().is_some_and(|s| s == wanted))
        {
            return Err(why.clone());
        }
        self.named(wanted, depth, paint).ok_or_else(|| self.unknown(wanted))
    }

    fn unknown(&self, wanted: &str) -> String {
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        let near = names
            .iter()
            .map(|name| (strsim::jaro_winkler(name, wanted), name))
            .filter(|(near, _)| *near > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| format!(" (did you mean {name}?)"))
            .unwrap_or_default();
        let own = match &self.folder {
            Some(folder) => format!("NAME.yaml in {}", folder.display()),
            None => "a path to its file".to_owned(),
        };
        printable(&format!(
            "there is no theme '{wanted}'{near}: it is one of {}, or a base16 scheme of your own, {own}",
            names.join(", ")
        ))
        .into_owned()
    }
}

/// Reads a scheme of the user's. The error names the file, the line and what to do.
fn load(file: &Path) -> Result<Scheme, String> {
    let say = |what: &dyn std::fmt::Display| {
        printable(&format!("the colour scheme {}: {what}", file.display())).into_owned()
    };
    // A pipe or a device would be waited for.
    let about = std::fs::metadata(file).map_err(|e| say(&e))?;
    if !about.is_file() {
        return Err(say(&"this is no file"));
    }
    if about.len() > scheme::MAX_BYTES as u64 {
        return Err(say(&"it is too long for one"));
    }
    let bytes = std::fs::read(file).map_err(|e| say(&e))?;
    let text = String::from_utf8(bytes).map_err(|_| say(&"it is not UTF-8 text"))?;
    let mut scheme = scheme::parse(&text).map_err(|e| say(&e))?;
    if scheme.name.is_empty() {
        scheme.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    for said in [&mut scheme.name, &mut scheme.author] {
        *said = printable(said).into_owned();
    }
    Ok(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_that_comes_with_the_lab_is_whole() {
        for (name, text) in EMBEDDED {
            let scheme = scheme::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(!scheme.name.is_empty() && !scheme.author.is_empty(), "{name} says whose it is");
        }
        let catalogue = Catalogue::built_in();
        assert_eq!(catalogue.entries.len(), EMBEDDED.len() + 1);
        assert_eq!(catalogue.entry("lab-light").and_then(Entry::variant), Some(Variant::Light));
    }

    #[test]
    fn an_unknown_name_is_met_with_the_nearest_and_the_list() {
        let said = Catalogue::built_in()
            .choose("solarised-dark", ColorDepth::Rgb, false)
            .expect_err("nobody made it");
        assert!(said.starts_with("there is no theme 'solarised-dark' (did you mean solarized-dark?): it is one of ansi, lab-dark,"), "{said}");
        let said =
            Catalogue::built_in().choose("\u{1b}[2J", ColorDepth::Rgb, false).expect_err("nobody made it");
        assert!(!said.contains('\u{1b}') && !said.contains("did you mean"), "{said}");
    }

    #[test]
    fn a_users_scheme_has_its_files_name_and_goes_before_ours() {
        let folder = tempfile::tempdir().expect("a folder");
        let mine = EMBEDDED[0].1.replace("7fc98a", "00ff00");
        for (name, text) in [
            ("mine.yaml", mine.as_str()),
            ("nord.yml", &mine),
            ("bad.yaml", "base00: red\n"),
            ("notes.txt", ""),
        ] {
            std::fs::write(folder.path().join(name), text).expect("it is written");
        }
        let catalogue = Catalogue::read(folder.path());
        for name in ["mine", "nord"] {
            let theme = catalogue.named(name, ColorDepth::Rgb, false).expect("it is there");
            assert_eq!(theme.good().fg, Some(ratatui::style::Color::Rgb(0, 255, 0)), "{name}");
        }
        assert_eq!(catalogue.entries.len(), EMBEDDED.len() + 2, "the terminal's, ours and one more");
        let bad = folder.path().join("bad.yaml");
        let why = format!("the colour scheme {}: line 1: 'red' is no colour such as d3d8df", bad.display());
        assert_eq!(catalogue.problems, [(bad, why.clone())]);
        assert_eq!(catalogue.choose("bad", ColorDepth::Rgb, false), Err(why));
    }

    #[test]
    fn a_scheme_is_also_found_by_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.yaml");
        std::fs::write(&file, EMBEDDED[1].1).expect("it is written");
        let chosen = Catalogue::built_in().choose(file.to_str().expect("a name"), ColorDepth::Rgb, false);
        assert_eq!(chosen, Theme::choose(Some("lab-light"), ColorDepth::Rgb));
        let gone = Catalogue::built_in()
            .choose("/nowhere/x.yaml", ColorDepth::Rgb, false)
            .expect_err("nothing is there");
        assert!(gone.starts_with("the colour scheme /nowhere/x.yaml: "), "{gone}");
        let folder =
            Catalogue::built_in().choose("./", ColorDepth::Rgb, false).expect_err("a folder is no file");
        assert_eq!(folder, "the colour scheme ./: this is no file");
    }
}
