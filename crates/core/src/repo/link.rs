//! A kernel that is a symbolic link in git.

use crate::project::Project;
use anyhow::{Result, bail};

/// Refuses a kernel that git holds as a link: a commit would have to change another file.
pub(super) fn refuse_link(project: &Project, mode: i32) -> Result<()> {
    if mode == i32::from(git2::FileMode::Link) {
        let name = &project.kernel_name;
        bail!(
            "git holds {name} as a link: name the file that it points to (`kernel` in lab.toml, or `lab run PATH`)"
        );
    }
    Ok(())
}
