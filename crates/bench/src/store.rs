//! The folder `.lab/bench`: one folder a bench, with `bench.json`, a line in `runs.jsonl` for each
//! run that has ended, and the log of each run.

use crate::record::{Bench, BenchId, BenchPeers, BenchRun, BenchStart};
use anyhow::Result;
use lab_protocol::report::is_emulated;
use lab_run::Fingerprint;
use lab_run::peers::forget_emulated;
use lab_run::record::Origin;
use lab_store::series::{Series, SeriesId, SeriesKind, SeriesStart};
use lab_store::signature::Purpose;

/// Reads and writes the folders of benches.
pub type BenchStore = Series<BenchStart>;

/// What was timed beside the peers, and the log of it.
pub const PEERS: &str = "peers.json";
pub const PEERS_LOG: &str = "peers.log";

impl SeriesStart for BenchStart {
    const KIND: SeriesKind = SeriesKind {
        name: "bench",
        start: "bench.json",
        lines: "runs.jsonl",
        line: "run",
        purposes: (Purpose::Bench, Purpose::BenchRun),
    };
    type Whole = Bench;

    fn about(&mut self) -> (SeriesId, &str, &mut Origin) {
        (self.bench, &self.kernel, &mut self.origin)
    }

    fn with_lines(self, store: &BenchStore, read: &mut u64) -> Result<Bench> {
        let mut runs: Vec<BenchRun> = Vec::new();
        store.lines(self.bench, read, |run: BenchRun, origin| {
            if run.bench == self.bench
                && run.fingerprint == self.fingerprint
                && runs.iter().all(|known| known.run != run.run)
            {
                runs.push(BenchRun { origin, ..run });
            }
        })?;
        runs.sort_by_key(|run| run.run);
        let peers = BenchPeers::read(store, self.bench);
        Ok(Bench {
            peers: peers.filter(|peers| peers.fingerprint == self.fingerprint),
            start: self,
            runs,
        })
    }
}

impl BenchPeers {
    /// What was timed beside the peers; `None` if nothing was, or it cannot be read.
    fn read(store: &BenchStore, id: BenchId) -> Option<Self> {
        let (mut peers, origin) = store
            .file::<BenchPeers>(id, PEERS, Purpose::BenchPeers)
            .ok()??;
        let emulated = peers.device.as_deref().is_some_and(is_emulated);
        forget_emulated(&mut peers.peers, emulated);
        (peers.bench == id).then_some(BenchPeers { origin, ..peers })
    }

    /// Those of the newest bench of these bytes and rules on this device that timed the peers, and
    /// that this user's lab wrote.
    pub fn newest(
        store: &BenchStore,
        fingerprint: &Fingerprint,
        device: Option<&str>,
    ) -> Option<Self> {
        let ids = store.ids().into_iter();
        ids.filter_map(|id| BenchPeers::read(store, id))
            .find(|peers| {
                peers.fingerprint == *fingerprint
                    && peers.device.as_deref() == device
                    && peers.origin == Origin::Own
                    && !peers.peers.is_empty()
            })
    }
}
