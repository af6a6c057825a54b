//! The user's colour schemes: `themes/*.yaml` in the settings folder, and a scheme named by its
//! path.

use crate::screen::settings_files;
use lab_system::listing;
use lab_tui::theme::{
    Catalogue, MAX_SCHEME_BYTES, Scheme, ThemeEntry, is_path, parse_scheme_file, scheme_file_error,
};
use std::path::{Path, PathBuf};

/// The built-in themes, and those in the user's settings folder.
pub fn catalogue() -> Catalogue {
    match settings_files::folder() {
        Some(folder) => read_catalogue(&folder.join("themes")),
        None => Catalogue::built_in(),
    }
}

/// A theme by its name, or by the path of a scheme's file. The error says what to do.
pub fn find(wanted: &str) -> Result<ThemeEntry, String> {
    if !is_path(wanted) {
        return catalogue().find(wanted).cloned();
    }
    let file = PathBuf::from(wanted);
    let scheme = read_scheme(&file)?;
    Ok(ThemeEntry {
        name: wanted.to_owned(),
        file: Some(file),
        scheme: Some(scheme),
    })
}

/// The built-in themes, and every `*.yaml` and `*.yml` of `folder`, which need not exist. Files
/// that cannot be used are among the catalogue's problems.
fn read_catalogue(folder: &Path) -> Catalogue {
    let mut files: Vec<PathBuf> = listing::entries(folder).map(|entry| entry.path()).collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml")
    });
    files.sort();
    let schemes = files.into_iter().map(|file| {
        let scheme = read_scheme(&file);
        (file, scheme)
    });
    Catalogue::with_user_files(folder, schemes)
}

/// Reads a scheme's file. The error names the file, and the line where the text is wrong.
fn read_scheme(file: &Path) -> Result<Scheme, String> {
    // Reading a pipe or a device could wait forever.
    let metadata = std::fs::metadata(file).map_err(|error| scheme_file_error(file, &error))?;
    if !metadata.is_file() {
        return Err(scheme_file_error(file, &"this is not a regular file"));
    }
    if metadata.len() > MAX_SCHEME_BYTES as u64 {
        return Err(scheme_file_error(
            file,
            &format!("a scheme has at most {} KiB", MAX_SCHEME_BYTES / 1024),
        ));
    }
    let bytes = std::fs::read(file).map_err(|error| scheme_file_error(file, &error))?;
    let text =
        String::from_utf8(bytes).map_err(|_| scheme_file_error(file, &"it is not UTF-8 text"))?;
    parse_scheme_file(file, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_tui::theme::{ColorDepth, Theme};

    const LAB_LIGHT: &str = include_str!("../../themes/lab-light.yaml");

    #[test]
    fn the_yaml_files_of_a_folder_are_themes_and_other_files_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [
            ("mine.yaml", LAB_LIGHT),
            ("nord.yml", LAB_LIGHT),
            ("bad.yaml", "base00: red\n"),
            ("notes.txt", ""),
        ] {
            std::fs::write(folder.path().join(name), text).expect("it is written");
        }
        let catalogue = read_catalogue(folder.path());
        let built_in = Catalogue::built_in().entries.len();
        assert_eq!(
            catalogue.entries.len(),
            built_in + 1,
            "mine is new, nord replaces a built-in one"
        );
        let bad = folder.path().join("bad.yaml");
        let reason = format!(
            "the colour scheme {}: line 1: 'red' is not a colour such as d3d8df",
            bad.display()
        );
        assert_eq!(catalogue.problems, [(bad, reason)]);
        assert_eq!(
            read_catalogue(&folder.path().join("none")).entries.len(),
            built_in
        );
    }

    #[test]
    fn a_scheme_is_also_found_by_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.yaml");
        std::fs::write(&file, LAB_LIGHT).expect("it is written");
        let found = find(file.to_str().expect("a name")).expect("it is in order");
        assert_eq!(
            Ok(found.theme(ColorDepth::Rgb, false)),
            Theme::choose(Some("lab-light"), ColorDepth::Rgb)
        );
        let missing = find("/nowhere/x.yaml").expect_err("nothing is there");
        assert!(
            missing.starts_with("the colour scheme /nowhere/x.yaml: "),
            "{missing}"
        );
        let folder = find("./").expect_err("a folder is not a file");
        assert_eq!(folder, "the colour scheme ./: this is not a regular file");
    }

    #[test]
    fn a_file_that_is_too_long_or_not_text_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.yaml");
        std::fs::write(&file, "#".repeat(MAX_SCHEME_BYTES + 1)).expect("it is written");
        assert!(
            read_scheme(&file)
                .expect_err("it is too long")
                .ends_with("a scheme has at most 64 KiB")
        );
        std::fs::write(&file, b"\xff\xfe").expect("it is written");
        assert!(
            read_scheme(&file)
                .expect_err("it is not text")
                .ends_with("it is not UTF-8 text")
        );
    }
}
