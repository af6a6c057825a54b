//! Where a compiler looks for includes that are not beside the including file.

use lab_protocol::CompileOptions;
use std::path::{Path, PathBuf};

/// The include folders of the compiler's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IncludeDirs {
    /// Absolute paths of `-I`, `-isystem` and their like, in the order of the options.
    pub dirs: Vec<PathBuf>,
}

impl IncludeDirs {
    /// Reads the compiler's options. Relative paths are relative to `root`, where the compiler
    /// runs.
    pub fn of(options: &CompileOptions, root: &Path) -> IncludeDirs {
        let dirs = options
            .include_folders()
            .map(|folder| super::plain(&root.join(folder.trim())));
        IncludeDirs {
            dirs: dirs.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_folders_are_read_from_the_compilers_options() {
        let options =
            "-O3 -Icommon -I /opt/a --include-path=b -isystem c -DX=1 -isystem/d -iquote=e";
        let options: Vec<String> = options.split(' ').map(str::to_owned).collect();
        let found = IncludeDirs::of(
            &CompileOptions::parse(&options).expect("options"),
            Path::new("/r"),
        )
        .dirs;
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            found,
            paths(&["/r/common", "/opt/a", "/r/b", "/r/c", "/d", "/r/e"])
        );
    }
}
