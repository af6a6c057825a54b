//! The folder `.lab/bench`: one folder a bench, with `bench.json`, a line in `runs.jsonl` for each
//! run that has ended, and the log of each run.

use crate::record::{Bench, BenchId, BenchPeers, BenchRun, BenchStart};
use anyhow::{Result, ensure};
use lab_run::Fingerprint;
use lab_run::record::{Origin, is_inside};
use lab_store::series::{OpenFolder, Series, SeriesKind};
use lab_store::signature::Purpose;
use std::fs::File;
use std::path::{Path, PathBuf};

pub use lab_store::series::own_origin;

const BENCHES: SeriesKind = SeriesKind {
    name: "bench",
    start: "bench.json",
    lines: "runs.jsonl",
    purposes: (Purpose::Bench, Purpose::BenchRun),
};
const PEERS: &str = "peers.json";

/// Reads and writes the folders of benches.
#[derive(Clone, Debug)]
pub struct BenchStore(Series);

/// A bench that this process adds runs to. No other process can.
#[derive(Debug)]
pub struct OpenBench(OpenFolder);

impl BenchStore {
    /// The store in this `.lab` folder. Creates nothing.
    pub fn new(lab_dir: &Path) -> Self {
        BenchStore(Series::new(lab_dir, BENCHES))
    }

    pub fn folder(&self, id: BenchId) -> PathBuf {
        self.0.folder(id.0)
    }

    /// Path of the log of a run.
    pub fn log(&self, id: BenchId, run: u32) -> PathBuf {
        self.folder(id).join(log_name(run))
    }

    /// All benches, newest first.
    pub fn ids(&self) -> Vec<BenchId> {
        self.0.ids().into_iter().map(BenchId).collect()
    }

    /// Makes the folder of a new bench and writes `bench.json`; `start` gets the number. Two
    /// processes at once get two numbers.
    pub fn create(
        &self,
        start: impl FnOnce(BenchId) -> BenchStart,
    ) -> Result<(BenchStart, OpenBench)> {
        let (start, open) = self.0.create(|id| start(BenchId(id)))?;
        Ok((start, OpenBench(open)))
    }

    /// Takes the lock of a bench; `None` if another process adds runs to it. Removes what a killed
    /// process left in the folder.
    pub fn open(&self, id: BenchId) -> Result<Option<OpenBench>> {
        Ok(self.0.open(id.0)?.map(OpenBench))
    }

    /// Whether a process adds runs to this bench now.
    pub fn is_in_progress(&self, id: BenchId) -> bool {
        self.0.is_in_progress(id.0)
    }

    /// Reads a bench. Lines of another bench are left out, and those that cannot be read: the run is
    /// then made again.
    pub fn read(&self, id: BenchId) -> Result<Bench> {
        let start = self.read_start(id)?;
        let mut runs: Vec<BenchRun> = Vec::new();
        self.0.lines(id.0, &mut 0, |run: BenchRun, origin| {
            if run.bench == id
                && run.fingerprint == start.fingerprint
                && runs.iter().all(|known| known.run != run.run)
            {
                runs.push(BenchRun { origin, ..run });
            }
        })?;
        runs.sort_by_key(|run| run.run);
        let peers = self.read_peers(id);
        let peers = peers.filter(|peers| peers.fingerprint == start.fingerprint);
        Ok(Bench { start, runs, peers })
    }

    /// What was timed beside the peers; `None` if nothing was, or it cannot be read.
    fn read_peers(&self, id: BenchId) -> Option<BenchPeers> {
        let (peers, origin) = self
            .0
            .read::<BenchPeers>(id.0, PEERS, Purpose::BenchPeers)?;
        (peers.bench == id).then_some(BenchPeers { origin, ..peers })
    }

    /// The newest bench of these bytes and rules on this device that timed the peers, and that this
    /// user's lab wrote.
    pub fn newest_peers(
        &self,
        fingerprint: &Fingerprint,
        device: Option<&str>,
    ) -> Option<BenchPeers> {
        self.ids()
            .into_iter()
            .filter_map(|id| self.read_peers(id))
            .find(|peers| {
                peers.fingerprint == *fingerprint
                    && peers.device.as_deref() == device
                    && peers.origin == Origin::Own
                    && !peers.peers.is_empty()
            })
    }

    fn read_start(&self, id: BenchId) -> Result<BenchStart> {
        let (start, origin) = self.0.start::<BenchStart>(id.0)?;
        let path = self.folder(id).join(BENCHES.start);
        let (path, of, kernel) = (path.display(), start.bench, &start.kernel);
        ensure!(of == id, "{path} is of bench {of}, not of bench {id}");
        ensure!(
            is_inside(kernel),
            "{path} names a kernel outside of the repository: {}",
            lab_text::sanitise::text(kernel)
        );
        Ok(BenchStart { origin, ..start })
    }

    /// The newest bench for which `wanted` holds, among those that can be read.
    pub fn newest(&self, wanted: impl Fn(&BenchStart) -> bool) -> Option<Bench> {
        self.all(wanted).next()
    }

    /// The benches for which `wanted` holds, among those that can be read, newest first.
    pub fn all(&self, wanted: impl Fn(&BenchStart) -> bool) -> impl Iterator<Item = Bench> {
        let ids = self
            .ids()
            .into_iter()
            .filter(move |id| self.read_start(*id).is_ok_and(|start| wanted(&start)));
        ids.filter_map(|id| self.read(id).ok())
    }
}

fn log_name(run: u32) -> String {
    format!("run-{run}.log")
}

const PEERS_LOG: &str = "peers.log";

impl OpenBench {
    /// Adds a run. Its line is on disk before this returns.
    pub fn append(&mut self, run: &BenchRun) -> Result<()> {
        let lost = format!("run {} of bench {}", run.run, self.0.id());
        self.0.append(run, &lost)
    }

    /// Replaces what was timed beside the peers.
    pub fn write_peers(&self, peers: &BenchPeers) -> Result<()> {
        self.0.write(PEERS, Purpose::BenchPeers, peers)
    }

    /// The folder in which the files to judge are copied for a run.
    pub fn tree(&self) -> PathBuf {
        self.0.tree()
    }

    /// Removes the copies of the files.
    pub fn remove_copies(&self) {
        self.0.remove_copies();
    }

    /// Creates the log of a run.
    pub fn create_log(&self, run: u32) -> Result<File> {
        self.0.create_log(&log_name(run))
    }

    /// Creates the log of the peers.
    pub fn create_peers_log(&self) -> Result<File> {
        self.0.create_log(PEERS_LOG)
    }

    /// Path of the log of the peers.
    pub fn peers_log(&self) -> PathBuf {
        self.0.path(PEERS_LOG)
    }
}
