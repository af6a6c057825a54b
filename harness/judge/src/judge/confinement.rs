//! The sandbox of a run's children: what the compiler may read, what the run says about it, and
//! when a run needs it.

use crate::outcome::{Result, Stop};
use lab_device::DeviceInfo;
use lab_device::sandbox::{SandboxState, include_entries};
use lab_protocol::JudgeRequest;
use lab_protocol::Language;
use lab_protocol::report::Writer;
use std::path::{Path, PathBuf};

/// Folders of the compiler's inputs: the problem's, the kernel's and the incumbent's, those that
/// stand for the repository, and those that the user trusts. Without the third kind, the git work
/// tree that holds the problem.
pub fn readable(request: &JudgeRequest) -> Vec<PathBuf> {
    let folder = absolute(&request.folder);
    let kernel = absolute(&request.kernel());
    let incumbent = request.incumbent_source().map(|file| absolute(&file));
    let mut roots: Vec<PathBuf> = vec![folder.clone()];
    roots.extend(
        [Some(kernel), incumbent]
            .into_iter()
            .flatten()
            .filter_map(|f| f.parent().map(Path::to_owned)),
    );
    roots.extend(request.repository(absolute));
    roots.sort();
    roots.dedup();
    let named = request.readable.iter().map(|path| absolute(path));
    roots
        .iter()
        .flat_map(|root| include_entries(root))
        .chain(named)
        .collect()
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
}

/// Returns [`Stop::Lab`] with what to do if Python would run in a folder that is not trusted:
/// nothing holds Python back, on no device, and the interpreter may be a program of the folder.
/// `reference` is the language of the problem's reference.
pub fn require_trust_for_python(request: &JudgeRequest, reference: Language) -> Result {
    let what = match (request.language(), reference) {
        _ if request.trusted => return Ok(()),
        (Language::Python, _) => request.shown_as(),
        (Language::Cuda, Language::Python) => Language::Python.reference_name().to_owned(),
        (Language::Cuda, Language::Cuda) => return Ok(()),
    };
    Err(Stop::Lab(format!(
        "{what} is Python, which runs with your rights, and this folder is not trusted: look at its files, then `lab trust` lets \
         them run without a sandbox"
    )))
}

/// Writes `sandbox:` and `sandbox_readable:`, and the reason where there is no sandbox. Returns
/// [`Stop::Lab`] with what to do if the run needs a sandbox: on the cpu device, where a kernel runs
/// with the user's rights, in a folder that is not trusted.
pub fn declare(
    request: &JudgeRequest,
    device: &DeviceInfo,
    state: &SandboxState,
    out: &mut Writer,
) -> Result {
    out.line("sandbox", state)?;
    if !request.readable.is_empty() {
        let paths: Vec<String> = request
            .readable
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let list = serde_json::to_string(&paths).map_err(|e| Stop::Lab(e.to_string()))?;
        out.line("sandbox_readable", list)?;
    }
    let Some(why) = state.missing() else {
        return Ok(());
    };
    if device.emulated && !request.trusted {
        return Err(Stop::Lab(format!(
            "kernels cannot be kept from your files here ({why}), and this folder is not trusted: look at its kernels, then \
             `lab trust` lets them run without a sandbox"
        )));
    }
    out.text(&format!("this run has no sandbox: {why}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_records_and_git_are_not_among_the_readable_folders() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["kernels/a", "shared", ".git", ".lab/runs/1"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let request = JudgeRequest::new(root.path().join("kernels/a"));
        let root = root.path().canonicalize().unwrap();
        let paths = readable(&request);
        assert!(
            paths.contains(&root.join("kernels/a")) && paths.contains(&root.join("shared")),
            "{paths:?}"
        );
        assert!(
            !paths
                .iter()
                .any(|p| *p == root || p.starts_with(root.join(".lab"))),
            "{paths:?}"
        );
        // Where the caller says what stands for the repository, the work tree around it is not
        // readable.
        let tree = root.join(".lab/runs/1");
        let request = JudgeRequest {
            roots: vec![tree.clone()],
            ..JudgeRequest::new(tree.clone())
        };
        assert_eq!(readable(&request), [tree]);
    }
}
