//! Files beside problem.toml that it names.

use lab_system::root::Root;
use std::io::ErrorKind;
use std::path::{Component, Path};

/// Most bytes of a file, as of every other input of a run.
pub const SIZE_LIMIT: u64 = 8 << 20;

/// Whether the path leads to no other folder than this one and those below it.
pub fn is_below(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Reads `name` below the problem's folder. Links that lead out of the folder are not followed. `how` says
/// how to write a file that is missing.
pub fn read(folder: &Path, name: &str, how: &str) -> Result<Vec<u8>, String> {
    let path = Path::new(name);
    if !is_below(path) {
        return Err(format!(
            "{name} is not below the problem's folder: put the file there"
        ));
    }
    let read = Root::new(folder).read(path, SIZE_LIMIT);
    read.map_err(|error| match error.kind() {
        _ if name.is_empty() => "the name of the file is empty".to_owned(),
        ErrorKind::NotFound => format!("there is no {name} beside problem.toml: {how}"),
        _ => format!("{name} cannot be read: {error}"),
    })
}
