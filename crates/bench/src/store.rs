//! The folder `.lab/bench`: one folder a bench, with `bench.json`, a line in `runs.jsonl` for each
//! run that has ended, and the log of each run. Both files are only added to, and signed as the
//! records of runs are.

use crate::record::{Bench, BenchId, BenchPeers, BenchRun, BenchStart};
use anyhow::{Context, Result, bail, ensure};
use lab_run::Fingerprint;
use lab_run::record::{Origin, is_inside};
use lab_store::signature::{self, Purpose};
use lab_system::file_lock::LockedFile;
use lab_system::leftovers;
use lab_system::root::{Access, Root};
use lab_system::space;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const START: &str = "bench.json";
const RUNS: &str = "runs.jsonl";
const PEERS: &str = "peers.json";

/// Most bytes of either file that are read.
const READ_LIMIT: u64 = 64 << 20;

/// Reads and writes the folders of benches.
#[derive(Clone, Debug)]
pub struct BenchStore {
    /// The folder that holds `.lab`.
    files: Root,
    benches: PathBuf,
}

/// A bench that this process adds runs to. No other process can.
#[derive(Debug)]
pub struct OpenBench {
    store: BenchStore,
    id: BenchId,
    /// `runs.jsonl`, locked.
    runs: LockedFile,
}

impl BenchStore {
    /// The store in this `.lab` folder. Creates nothing.
    pub fn new(lab_dir: &Path) -> Self {
        let files = Root::new(lab_dir.parent().unwrap_or(lab_dir));
        BenchStore {
            files,
            benches: lab_dir.join("bench"),
        }
    }

    pub fn folder(&self, id: BenchId) -> PathBuf {
        self.benches.join(id.to_string())
    }

    /// Path of the log of a run.
    pub fn log(&self, id: BenchId, run: u32) -> PathBuf {
        self.folder(id).join(format!("run-{run}.log"))
    }

    /// All benches, newest first.
    pub fn ids(&self) -> Vec<BenchId> {
        let names = self
            .files
            .entries(&self.benches)
            .unwrap_or_default()
            .into_iter();
        let mut ids: Vec<BenchId> = names
            .filter_map(|name| name.to_str()?.parse().ok().map(BenchId))
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// Makes the folder of a new bench and writes `bench.json`; `start` gets the number. Two
    /// processes at once get two numbers.
    pub fn create(
        &self,
        start: impl FnOnce(BenchId) -> BenchStart,
    ) -> Result<(BenchStart, OpenBench)> {
        let failed = || {
            format!(
                "cannot make a folder for the bench in {}",
                self.benches.display()
            )
        };
        let explained = |error| space::explain(error, "no bench could start");
        let open = self.new_folder().with_context(failed).map_err(explained)?;
        let start = start(open.id);
        match open.write(START, Purpose::Bench, &start) {
            Ok(()) => Ok((start, open)),
            Err(error) => {
                let _ = self.files.remove_dir_all(&self.folder(open.id));
                Err(explained(error))
            }
        }
    }

    /// A folder in which no bench has begun: a new one, or one that a killed process made.
    fn new_folder(&self) -> Result<OpenBench> {
        self.files.create_dir_all(&self.benches)?;
        let ids = self.ids();
        let has_begun = |id| self.files.metadata(&self.folder(id).join(START)).is_ok();
        for id in ids.iter().copied().filter(|id| !has_begun(*id)) {
            if let Ok(Some(open)) = self.open(id)
                && !has_begun(id)
            {
                return Ok(open);
            }
        }
        let newest = ids.first().map_or(0, |id| id.0);
        for id in (newest + 1..).map(BenchId) {
            match self.files.create_dir(&self.folder(id)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            // Another process may have taken the folder for one that nobody uses.
            if let Some(open) = self.open(id)? {
                return Ok(open);
            }
        }
        bail!("no number is left")
    }

    /// Takes the lock of a bench; `None` if another process adds runs to it. Removes what a killed
    /// process left in the folder.
    pub fn open(&self, id: BenchId) -> Result<Option<OpenBench>> {
        let path = self.folder(id).join(RUNS);
        let runs = self.files.take_lock(&path, Access::ReadAppend);
        let runs = runs.with_context(|| format!("cannot open {}", path.display()))?;
        let open = runs.map(|runs| OpenBench {
            store: self.clone(),
            id,
            runs,
        });
        if let Some(open) = &open {
            leftovers::sweep(&self.files, &self.folder(id));
            open.remove_copies();
        }
        Ok(open)
    }

    /// Whether a process adds runs to this bench now.
    pub fn is_in_progress(&self, id: BenchId) -> bool {
        self.files.is_locked(&self.folder(id).join(RUNS))
    }

    /// Reads a bench. Lines that cannot be read, and those of another bench, are left out: the
    /// process that wrote one may have been killed halfway, and the run is then made again.
    pub fn read(&self, id: BenchId) -> Result<Bench> {
        let start = self.read_start(id)?;
        let path = self.folder(id).join(RUNS);
        let text = match self.files.read(&path, READ_LIMIT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let mut runs: Vec<BenchRun> = Vec::new();
        for line in text.split(|byte| *byte == b'\n') {
            if let Ok((run, origin)) = signature::read::<BenchRun>(Purpose::BenchRun, line)
                && run.bench == id
                && run.fingerprint == start.fingerprint
                && runs.iter().all(|known| known.run != run.run)
            {
                runs.push(BenchRun { origin, ..run });
            }
        }
        runs.sort_by_key(|run| run.run);
        let peers = self.read_peers(id);
        let peers = peers.filter(|peers| peers.fingerprint == start.fingerprint);
        Ok(Bench { start, runs, peers })
    }

    /// What was timed beside the peers; `None` if nothing was, or it cannot be read.
    fn read_peers(&self, id: BenchId) -> Option<BenchPeers> {
        let text = self
            .files
            .read(&self.folder(id).join(PEERS), READ_LIMIT)
            .ok()?;
        let (peers, origin) = signature::read::<BenchPeers>(Purpose::BenchPeers, &text).ok()?;
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
        let path = self.folder(id).join(START);
        let text = match self.files.read(&path, READ_LIMIT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("there is no bench {id}: {} is missing", path.display())
            }
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let path = path.display();
        let (start, origin) = signature::read::<BenchStart>(Purpose::Bench, &text)
            .with_context(|| format!("{path} is damaged"))?;
        let (of, kernel) = (start.bench, &start.kernel);
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

impl OpenBench {
    /// Adds a run. Its line is on disk before this returns.
    pub fn append(&mut self, run: &BenchRun) -> Result<()> {
        let line = signed(Purpose::BenchRun, run)?;
        // A line that was only half written must not swallow this one.
        let line = format!("\n{line}\n");
        let written = self.runs.write_all(line.as_bytes());
        let synced = written.and_then(|()| self.runs.sync_data());
        let path = self.store.folder(self.id).join(RUNS);
        let error = synced.with_context(|| format!("cannot write {}", path.display()));
        error.map_err(|error| {
            let lost = format!("run {} of bench {} was not recorded", run.run, self.id);
            space::explain(error, &lost)
        })
    }

    /// Replaces what was timed beside the peers.
    pub fn write_peers(&self, peers: &BenchPeers) -> Result<()> {
        self.write(PEERS, Purpose::BenchPeers, peers)
    }

    fn write<T: serde::Serialize>(&self, name: &str, purpose: Purpose, value: &T) -> Result<()> {
        let path = self.store.folder(self.id).join(name);
        let written = self
            .store
            .files
            .replace(&path, signed(purpose, value)?.as_bytes());
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// The folder in which the files to judge are copied for a run.
    pub fn tree(&self) -> PathBuf {
        self.store.folder(self.id).join("tree")
    }

    /// Removes the copies of the files.
    pub fn remove_copies(&self) {
        // A copy that stays costs disk space and nothing else.
        let _ = self.store.files.remove_dir_all(&self.tree());
    }

    /// Creates the log of a run.
    pub fn create_log(&self, run: u32) -> Result<File> {
        self.create(self.store.log(self.id, run))
    }

    /// Creates the log of the peers.
    pub fn create_peers_log(&self) -> Result<File> {
        self.create(self.peers_log())
    }

    /// Path of the log of the peers.
    pub fn peers_log(&self) -> PathBuf {
        self.store.folder(self.id).join("peers.log")
    }

    fn create(&self, path: PathBuf) -> Result<File> {
        let created = self.store.files.create(&path);
        created
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(|error| space::explain(error, "the run could not start"))
    }
}

/// The JSON text on one line. Without a key it is written unsigned: it can be read, and not
/// resumed.
fn signed<T: serde::Serialize>(purpose: Purpose, value: &T) -> Result<String> {
    signature::signed_line(purpose, value).or_else(|_| Ok(serde_json::to_string(value)?))
}

/// The origin of what this process writes: without a key it is unsigned.
pub fn own_origin() -> Origin {
    if signature::key_problem().is_some() {
        Origin::Foreign
    } else {
        Origin::Own
    }
}
