//! The last figures beside the problem's peers: of the present bytes, or of the incumbent.
//!
//! A save does not time the peers. A figure that an earlier run or bench measured still holds while
//! bytes, rules and device are the same.

use jiff::Timestamp;
use lab_bench::{BenchPeers, BenchStore};
use lab_git::Repo;
use lab_project::Project;
use lab_run::Fingerprint;
use lab_run::inputs;
use lab_run::peers::{self, PeerFigure};
use lab_run::record::InputFile;
use lab_store::{RunIndex, RunSummary};

/// What was measured last beside the peers of these bytes and rules on this device.
#[derive(Clone, Debug, PartialEq)]
pub struct LastPeers {
    /// The bytes and rules that were measured.
    pub fingerprint: Fingerprint,
    pub device: Option<String>,
    /// At least one was timed, unless it was only [`tried`].
    pub peers: Vec<PeerFigure>,
}

impl LastPeers {
    /// When it was measured.
    pub fn measured(&self) -> Option<Timestamp> {
        self.peers.iter().filter_map(|peer| peer.measured).max()
    }
}

/// The newest figures of these bytes and rules on this device, by a run or a bench of this user's
/// lab. Emulated ones have no ratio.
pub fn of(
    project: &Project,
    index: &RunIndex,
    fingerprint: &Fingerprint,
    device: Option<&str>,
) -> Option<LastPeers> {
    let has_figure = |peers: &[PeerFigure]| peers.iter().any(PeerFigure::was_timed);
    newest(project, index, fingerprint, device, has_figure)
}

/// The newest attempt to time the peers beside these bytes on this device, by the same rules, also
/// one in which no peer has a figure.
pub fn tried(
    project: &Project,
    index: &RunIndex,
    fingerprint: &Fingerprint,
    device: Option<&str>,
) -> Option<LastPeers> {
    let was_tried = |peers: &[PeerFigure]| !peers.is_empty();
    newest(project, index, fingerprint, device, was_tried)
}

/// The newest figures that `count`, of a run or of a bench.
fn newest(
    project: &Project,
    index: &RunIndex,
    fingerprint: &Fingerprint,
    device: Option<&str>,
    count: impl Fn(&[PeerFigure]) -> bool,
) -> Option<LastPeers> {
    let is_ours = |run: &&RunSummary| {
        run.fingerprint == *fingerprint && run.device.as_deref() == device && !run.is_foreign()
    };
    let runs = index.newest_of(fingerprint).filter(is_ours);
    let of_run = runs.map(|run| run.peers.clone()).find(|peers| count(peers));
    let bench = BenchPeers::newest(&BenchStore::of(project), fingerprint, device);
    let of_bench = bench.map(|bench| peers::figures(&bench.peers));
    let found = of_run
        .into_iter()
        .chain(of_bench.filter(|peers| count(peers)));
    let last = |peers| LastPeers {
        fingerprint: fingerprint.clone(),
        device: device.map(str::to_owned),
        peers,
    };
    found.map(last).max_by_key(LastPeers::measured)
}

/// The newest figures of the incumbent, judged by the present rules. `present` are the inputs on
/// disk, the kernel first. `None` where HEAD does not hold the kernel or cannot be read.
pub fn of_incumbent(
    repo: &Repo,
    index: &RunIndex,
    present: &[InputFile],
    device: Option<&str>,
) -> Option<LastPeers> {
    let project = &repo.project;
    let path = lab_git::behind_links(repo, &project.kernel_name).ok()?;
    let kernel = lab_git::bytes_in_head(repo, &path).ok()??;
    of(
        project,
        index,
        &inputs::fingerprint_with(&kernel, present),
        device,
    )
}
