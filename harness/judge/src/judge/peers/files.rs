//! The files of the peers, all read before anything of the run is executed: neither the candidate
//! nor a peer can change what a later peer is.

use crate::judge::kernel_snapshot;
use crate::problem::PeerSpec;
use std::path::{Path, PathBuf};

/// What judges a peer, beside the names of problem.toml.
const JUDGING: [&str; 3] = ["problem.toml", "reference.cu", "reference.py"];

/// The files of a run's peers.
pub struct PeerFiles {
    peers: Vec<(PathBuf, Result<PeerFile, String>)>,
    folder: PathBuf,
    /// The hashes of what judges them, as it was then; `None` of a file that was not there.
    judging: [Option<blake3::Hash>; JUDGING.len()],
}

/// A peer's file, as it was read.
pub struct PeerFile {
    pub bytes: Vec<u8>,
    /// BLAKE3 of the bytes, hex.
    pub hash: String,
}

impl PeerFiles {
    /// Reads each file of these peers once. `folder` is the problem's.
    pub fn read(folder: &Path, peers: &[PeerSpec]) -> PeerFiles {
        let mut files: Vec<(PathBuf, Result<PeerFile, String>)> = Vec::new();
        for PeerSpec { source, .. } in peers {
            if files.iter().all(|(known, _)| known != source) {
                let bytes =
                    kernel_snapshot::read(&folder.join(source), &source.display().to_string());
                let file = bytes.map(|bytes| PeerFile {
                    hash: blake3::hash(&bytes).to_hex().to_string(),
                    bytes,
                });
                files.push((source.clone(), file.map_err(|stop| stop.to_string())));
            }
        }
        PeerFiles {
            peers: files,
            folder: folder.to_owned(),
            judging: hashes(folder),
        }
    }

    /// The file of a peer, or why it could not be read.
    pub fn of(&self, peer: &PeerSpec) -> Result<&PeerFile, String> {
        let found = self.peers.iter().find(|(source, _)| *source == peer.source);
        let file = found.map(|(_, file)| file.as_ref().map_err(Clone::clone));
        file.unwrap_or_else(|| Err(format!("{} was not read", peer.source.display())))
    }
}

impl PeerFiles {
    /// The file that judges a peer and is another by now, because a peer changed it: each peer is
    /// judged by reading it.
    pub fn changed(&self) -> Option<&'static str> {
        let pairs = JUDGING
            .into_iter()
            .zip(self.judging.iter().zip(hashes(&self.folder)));
        pairs
            .filter(|(_, (then, now))| **then != *now)
            .map(|(name, _)| name)
            .next()
    }
}

fn hashes(folder: &Path) -> [Option<blake3::Hash>; JUDGING.len()] {
    JUDGING.map(|name| {
        kernel_snapshot::read(&folder.join(name), name)
            .ok()
            .map(|bytes| blake3::hash(&bytes))
    })
}

impl PeerFile {
    /// Its text, as far as it is UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
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
        let file = files.of(&here).unwrap();
        assert_eq!((file.text().as_str(), file.hash.len()), ("before", 64));
        assert_eq!(file.hash, blake3::hash(b"before").to_hex().to_string());
        let why = files.of(&missing).err().unwrap();
        assert!(why.starts_with("b.cu cannot be read: "), "{why}");
    }
}
