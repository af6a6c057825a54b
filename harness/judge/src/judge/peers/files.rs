//! The files of the peers, all read before anything of the run is executed: neither the candidate
//! nor a peer can change what a later peer is.

use crate::judge::kernel_snapshot;
use crate::problem::PeerSpec;
use std::path::{Path, PathBuf};

/// What judges a peer, beside the names of problem.toml.
const JUDGING: [&str; 3] = ["problem.toml", "reference.cu", "reference.py"];

/// The files of a run's peers.
pub struct PeerFiles {
    /// The bytes of each file, or why it cannot be read.
    peers: Vec<(PathBuf, Result<Vec<u8>, String>)>,
    folder: PathBuf,
    /// The hashes of what judges them, as it was then; `None` of a file that was not there.
    judging: [Option<blake3::Hash>; JUDGING.len()],
}

impl PeerFiles {
    /// Reads each file of these peers once. `folder` is the problem's.
    pub fn read(folder: &Path, peers: &[PeerSpec]) -> PeerFiles {
        let mut files: Vec<(PathBuf, Result<Vec<u8>, String>)> = Vec::new();
        for PeerSpec { source, .. } in peers {
            if files.iter().all(|(known, _)| known != source) {
                let shown = source.display().to_string();
                let bytes = kernel_snapshot::read(&folder.join(source), &shown);
                files.push((source.clone(), bytes.map_err(|stop| stop.to_string())));
            }
        }
        PeerFiles {
            peers: files,
            folder: folder.to_owned(),
            judging: hashes(folder),
        }
    }

    /// The bytes of a peer's file, or why it could not be read.
    pub fn of(&self, peer: &PeerSpec) -> Result<&[u8], String> {
        match self.peers.iter().find(|(source, _)| *source == peer.source) {
            Some((_, Ok(bytes))) => Ok(bytes),
            Some((_, Err(why))) => Err(why.clone()),
            None => Err(format!("{} was not read", peer.source.display())),
        }
    }

    /// The first file that a peer has changed although the peers are judged by it.
    pub fn changed(&self) -> Option<&'static str> {
        let pairs = self.judging.iter().zip(hashes(&self.folder));
        JUDGING
            .into_iter()
            .zip(pairs)
            .find_map(|(name, (then, now))| (*then != now).then_some(name))
    }
}

fn hashes(folder: &Path) -> [Option<blake3::Hash>; JUDGING.len()] {
    JUDGING.map(|name| {
        kernel_snapshot::read(&folder.join(name), name)
            .ok()
            .map(|bytes| blake3::hash(&bytes))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_a_file_was_when_it_was_read_is_what_runs() {
        let folder = tempfile::tempdir().unwrap();
        let peer = |source: &str| PeerSpec {
            name: "a".into(),
            source: source.into(),
            functions: Vec::new(),
            graph: true,
        };
        let (here, missing) = (peer("a.cu"), peer("b.cu"));
        std::fs::write(folder.path().join("a.cu"), "before").unwrap();
        let files = PeerFiles::read(folder.path(), &[here.clone(), missing.clone()]);
        std::fs::write(folder.path().join("a.cu"), "after").unwrap();
        assert_eq!(files.of(&here).unwrap(), b"before");
        let why = files.of(&missing).err().unwrap();
        assert!(why.starts_with("b.cu cannot be read: "), "{why}");
    }
}
