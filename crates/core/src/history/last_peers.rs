//! The last figures beside the problem's peers: of the present bytes, or of the incumbent.
//!
//! A save does not time the peers. A figure that an earlier run or bench measured still holds while
//! bytes, rules and device are the same.

use crate::bench::BenchStore;
use crate::inputs;
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::run::Fingerprint;
use crate::run::peers::{self, PeerFigure};
use crate::run::record::InputFile;
use crate::store::{RunIndex, RunSummary};
use jiff::Timestamp;

/// What was measured last beside the peers of these bytes and rules on this device.
#[derive(Clone, Debug, PartialEq)]
pub struct LastPeers {
    /// The bytes and rules that were measured.
    pub fingerprint: Fingerprint,
    pub device: Option<String>,
    /// At least one has a ratio, unless it was only [`tried`].
    pub peers: Vec<PeerFigure>,
}

impl LastPeers {
    fn new(
        fingerprint: &Fingerprint,
        device: Option<&str>,
        peers: Vec<PeerFigure>,
    ) -> Option<LastPeers> {
        peers::fastest(&peers)?;
        Some(LastPeers {
            fingerprint: fingerprint.clone(),
            device: device.map(str::to_owned),
            peers,
        })
    }

    /// When it was measured.
    pub fn measured(&self) -> Option<Timestamp> {
        self.peers.iter().filter_map(|peer| peer.measured).max()
    }
}

/// The newest figures of these bytes and rules on this device, by a run or a bench of this user's
/// lab.
pub fn of(
    project: &Project,
    index: &RunIndex,
    fingerprint: &Fingerprint,
    device: Option<&str>,
) -> Option<LastPeers> {
    let runs = index.newest_of(fingerprint).filter(|run| {
        run.fingerprint == *fingerprint && run.device.as_deref() == device && !run.is_foreign()
    });
    let of_run = runs
        .map(|run| run.peers.clone())
        .find_map(|peers| LastPeers::new(fingerprint, device, peers));
    let benched = BenchStore::new(&project.lab_dir).newest_peers(fingerprint, device);
    let of_bench =
        benched.and_then(|bench| LastPeers::new(fingerprint, device, peers::figures(&bench.peers)));
    of_run
        .into_iter()
        .chain(of_bench)
        .max_by_key(LastPeers::measured)
}

/// The newest attempt to time the peers beside these bytes on this device, by the same rules, also
/// one in which no peer has a figure.
pub fn tried(
    project: &Project,
    index: &RunIndex,
    fingerprint: &Fingerprint,
    device: Option<&str>,
) -> Option<LastPeers> {
    let is_own = |run: &&RunSummary| run.fingerprint == *fingerprint && !run.is_foreign();
    let mut runs = index.newest_of(fingerprint).filter(is_own);
    let of_run = runs.find(|run| run.device.as_deref() == device && !run.peers.is_empty());
    let of_bench = BenchStore::new(&project.lab_dir).newest_peers(fingerprint, device);
    let attempts = of_run.map(|run| run.peers.clone()).into_iter();
    let attempts = attempts.chain(of_bench.map(|bench| peers::figures(&bench.peers)));
    let attempts = attempts.map(|peers| LastPeers {
        fingerprint: fingerprint.clone(),
        device: device.map(str::to_owned),
        peers,
    });
    attempts.max_by_key(LastPeers::measured)
}

/// The newest figures of the incumbent, judged by the present rules. `present` are the inputs on
/// disk, the kernel first. `None` where HEAD does not hold the kernel or cannot be read.
pub fn of_incumbent(
    repo: &Repo,
    project: &Project,
    index: &RunIndex,
    present: &[InputFile],
    device: Option<&str>,
) -> Option<LastPeers> {
    let path = repo::behind_links(repo, &project.kernel_name).ok()?;
    let kernel = repo::bytes_in_head(repo, &path).ok()??;
    of(
        project,
        index,
        &inputs::fingerprint_with(&kernel, present),
        device,
    )
}
