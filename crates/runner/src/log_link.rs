//! The link `run.log` beside lab.toml, which leads to the log of the newest run, for `grep`.

use lab_project::Project;
use lab_store::LOG;
use std::fs;
use std::path::Path;

/// Makes the link lead to the log in this folder of `.lab`. A file or link of the user's by that
/// name stays. The link is relative, so that the repository can be moved.
pub fn point_to(project: &Project, folder: &Path) {
    // A lane's folders are the lab's, and nobody looks there for a log.
    if project.lane.is_some() {
        return;
    }
    let Ok(inside) = folder.strip_prefix(&project.lab_dir) else {
        return;
    };
    let up = project
        .home
        .strip_prefix(&project.root)
        .map_or(0, |inside| inside.components().count());
    let target = Path::new(&"../".repeat(up))
        .join(".lab")
        .join(inside)
        .join(LOG);
    let link = project.home.join(LOG);
    match fs::read_link(&link) {
        Ok(old) if old.to_string_lossy().contains(".lab/") => {
            let _ = project.files().remove_file(&link);
        }
        Ok(_) => return,
        Err(_) if link.exists() => return,
        Err(_) => {}
    }
    let _ = std::os::unix::fs::symlink(target, &link);
}
