//! The kernel that a loop of `lab auto` judges now: a screen beside the loop leaves its judging to
//! the loop.

use super::Project;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Most bytes of the loop's state.
pub const STATE_LIMIT: u64 = 4 << 20;

/// The folder of the loop's files.
pub fn folder(project: &Project) -> PathBuf {
    project.lab_dir.join("auto").join(project.kernel_key())
}

/// The folder of the loop's files of a lane of the project.
pub fn folder_of_lane(project: &Project, lane: &str) -> PathBuf {
    project
        .lab_dir
        .join("auto")
        .join(project.kernel_key_in(Some(lane)))
}

/// Whether a loop works on the kernel now.
pub fn is_running(project: &Project) -> bool {
    is_running_in(project, &folder(project))
}

/// Whether the loop with this folder works.
pub fn is_running_in(project: &Project, folder: &Path) -> bool {
    project.files().is_locked(&folder.join("lock"))
}

/// Whether a running loop has put these bytes into the kernel's file, to judge them.
pub fn judges(project: &Project, kernel: &[u8]) -> bool {
    let Ok(state) = project
        .files()
        .read(&folder(project).join("state.json"), STATE_LIMIT)
    else {
        return false;
    };
    // `auto::State` is the whole.
    let state: Value = serde_json::from_slice(&state).unwrap_or_default();
    let hash = blake3::hash(kernel).to_hex();
    state["candidate"]["hash"] == hash.as_str() && is_running(project)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_system::root::Access;
    use std::fs;

    #[test]
    fn a_kernel_is_the_loops_while_the_loop_runs_and_names_it() {
        let folder_of_test = tempfile::tempdir().expect("a folder");
        let root = folder_of_test.path();
        git2::Repository::init(root).expect("a repository");
        fs::write(root.join("kernel.cu"), "mine").expect("a file");
        fs::write(root.join("lab.toml"), "harness = \"true\"\n").expect("a file");
        let project = Project::open(root, None).expect("a project");
        assert!(!judges(&project, b"mine"), "there is no loop");
        let files = project.files();
        let auto = folder(&project);
        files.create_dir_all(&auto).expect("a folder");
        let hash = blake3::hash(b"mine").to_hex().to_string();
        let state = format!(r#"{{"phase": "judging", "candidate": {{"hash": "{hash}"}}}}"#);
        files
            .replace(&auto.join("state.json"), state.as_bytes())
            .expect("a state");
        assert!(!judges(&project, b"mine"), "the loop was killed");
        let lock = files
            .take_lock(&auto.join("lock"), Access::ReadWrite)
            .expect("a lock");
        assert!(judges(&project, b"mine") && !judges(&project, b"yours"));
        files
            .replace(&auto.join("state.json"), br#"{"candidate": null}"#)
            .expect("a state");
        assert!(!judges(&project, b"mine"), "the loop has decided it");
        drop(lock);
    }
}
