//! config.toml of the user: where it is, and reading it. [`Settings`] parses its text.

use etcetera::AppStrategy;
use lab_project::trust::user_folders;
use lab_tui::settings::Settings;
use lab_tui::theme::is_path;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the file in the user's settings folder.
pub const FILE: &str = "config.toml";

/// The variable that overrides the settings folder.
pub const CONFIG_DIR: &str = "LAB_CONFIG_DIR";

/// The folder of the user's settings: `$LAB_CONFIG_DIR`, else `lab` in `$XDG_CONFIG_HOME`, else
/// `~/.config/lab`. `None` where no home folder is known.
pub fn folder() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os(CONFIG_DIR).filter(|folder| !folder.is_empty()) {
        return Some(PathBuf::from(given));
    }
    Some(user_folders()?.config_dir())
}

/// The path of config.toml, which need not exist. `None` where no home folder is known.
pub fn file() -> Option<PathBuf> {
    Some(folder()?.join(FILE))
}

/// Reads the settings of a config.toml; without a file they are the defaults. The error names the
/// file, and the line where the text is wrong. A relative path of a theme is resolved against the
/// file's folder, `~/` against the home folder.
pub fn read(file: Option<&Path>) -> Result<Settings, String> {
    let Some(file) = file else {
        return Ok(Settings::default());
    };
    let shown_as = file.display().to_string();
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(error) => return Err(format!("cannot read {shown_as}: {error}")),
    };
    let mut settings = Settings::parse_bytes(&bytes, &shown_as)?;
    settings.theme = settings.theme.map(|theme| resolve_theme(theme, file));
    Ok(settings)
}

/// The absolute path of a scheme's file that config.toml names. A theme's name is returned as it
/// is.
fn resolve_theme(theme: String, config: &Path) -> String {
    if !is_path(&theme) {
        return theme;
    }
    let home = || etcetera::home_dir().ok();
    let path = match theme
        .strip_prefix("~/")
        .and_then(|rest| Some(home()?.join(rest)))
    {
        Some(path) => path,
        None => config
            .parent()
            .map_or_else(|| theme.clone().into(), |folder| folder.join(&theme)),
    };
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_gives_the_defaults_and_an_unreadable_one_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(
            read(Some(&folder.path().join(FILE))),
            Ok(Settings::default())
        );
        let error = read(Some(folder.path())).expect_err("a folder is not a file");
        assert!(error.starts_with("cannot read "), "{error}");
        let file = folder.path().join(FILE);
        std::fs::write(&file, b"mouse = true\neditor = \"\xe9d\"\n").expect("a file");
        let error = read(Some(&file)).expect_err("it is Latin-1");
        assert!(
            error
                .ends_with("config.toml:2:11: this byte is not UTF-8 text: save the file as UTF-8"),
            "{error}"
        );
    }

    #[test]
    fn a_schemes_path_is_relative_to_the_file_or_to_the_home_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE);
        let theme = |written: &str| {
            std::fs::write(&file, format!("theme = \"{written}\"\n")).expect("a file");
            read(Some(&file))
                .expect("it is in order")
                .theme
                .expect("a theme")
        };
        assert_eq!(theme("nord"), "nord");
        assert_eq!(theme("/themes/x.yaml"), "/themes/x.yaml");
        assert_eq!(
            theme("mine.yaml"),
            folder.path().join("mine.yaml").display().to_string()
        );
        assert!(theme("~/x.yaml").starts_with('/') && theme("~/x.yaml").ends_with("/x.yaml"));
    }
}
