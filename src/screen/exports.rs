//! Writes what the action `export` asks for into a new file. The repository worker calls it.

use anyhow::{Context, Result, bail};
use lab_project::Project;
use lab_report::Plotted;
use lab_tui::request::Export;
use std::io::ErrorKind;

/// The folder in `.lab`.
const FOLDER: &str = "exports";

/// Most files of one kind.
const FILES: usize = 10_000;

/// Writes the file, and returns its path below the root of the work tree.
pub fn write(project: &Project, export: Export) -> Result<String> {
    let (what, ending, content) = match export {
        Export::Chart => {
            let chart = lab_report::plot(project, Plotted::Experiments, false)?;
            ("chart", "svg", chart)
        }
        Export::Text { what, ending, text } => (what, ending, format!("{text}\n").into_bytes()),
    };
    let folder = project.lab_dir.join(FOLDER);
    let files = project.files();
    let cannot = || format!("cannot write into {}", folder.display());
    files.create_dir_all(&folder).with_context(cannot)?;
    for number in 1..=FILES {
        let path = folder.join(format!("{what}-{number}.{ending}"));
        match files.create_whole(&path, &content) {
            Ok(()) => {
                let shown = path.strip_prefix(&project.root).unwrap_or(&path);
                return Ok(shown.display().to_string());
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    bail!("{} holds {FILES} files of this kind", folder.display())
}
