//! The files that an export is made of: as HEAD holds them, or as they are on disk.

use anyhow::{Context, Result, bail};
use lab_git::Repo;
use lab_project::{Project, SIZE_LIMIT};
use lab_system::root::Root;
use std::io::ErrorKind;
use std::path::Path;

/// Where the files are read.
pub enum Files<'a> {
    Head(&'a Repo),
    Disk(Root),
}

impl Files<'_> {
    /// `in HEAD` or `on disk`.
    pub fn place(&self) -> &'static str {
        match self {
            Files::Head(_) => "in HEAD",
            Files::Disk(_) => "on disk",
        }
    }

    /// Why there is no kernel, and what to do.
    pub fn missing_kernel(&self, project: &Project) -> String {
        let kernel = &project.kernel_name;
        match self {
            Files::Head(_) => format!(
                "HEAD holds no {kernel}, so no kernel has been kept yet: `lab run{0}` and `lab keep{0} -m TEXT` keep one. To export the \
                 bytes on disk, name the file: `lab export {kernel} …`",
                project.argument
            ),
            Files::Disk(_) => format!("there is no {kernel}"),
        }
    }

    /// The repository-relative path of a file beside the kernel. A path that leads out of the
    /// repository stays as it is.
    pub fn beside(project: &Project, name: &str) -> String {
        let folder = Path::new(&project.kernel_name)
            .parent()
            .and_then(Path::to_str)
            .unwrap_or_default();
        let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in name.split('/') {
            match part {
                "" | "." => {}
                ".." => match parts.pop() {
                    Some(_) => {}
                    None => return name.to_owned(),
                },
                part => parts.push(part),
            }
        }
        parts.join("/")
    }

    /// The text of a file; `None` if there is none.
    pub fn text(&self, path: &str) -> Result<Option<String>> {
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Ok(None);
        }
        let bytes = match self {
            Files::Head(repo) => lab_git::bytes_in_head(repo, &lab_git::behind_links(repo, path)?)?,
            Files::Disk(root) => match root.read_resolved(Path::new(path), SIZE_LIMIT) {
                Ok(bytes) => Some(bytes),
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
                {
                    None
                }
                Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
            },
        };
        let Some(bytes) = bytes else { return Ok(None) };
        match String::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => {
                bail!("{path} {} holds a NUL byte: remove it", self.place())
            }
            Ok(text) => Ok(Some(text)),
            Err(_) => bail!(
                "{path} {} is not UTF-8 text, and an export is: save it as UTF-8",
                self.place()
            ),
        }
    }
}
