//! Reads the summaries of many records at once.

use crate::disk::stamp::{Stamp, stamp};
use crate::run::RunId;
use crate::store::index::known::Entry;
use crate::store::run_store::RunStore;

/// What is in a run's folder.
pub enum Found {
    Summary(Box<Entry>),
    /// A record that cannot be read: its file's stamp, and a message for the user.
    Damaged(Option<Stamp>, String),
    /// A run without a record: it is about to have one, or failed before.
    Nothing,
}

/// Reads the records of these runs, on as many threads as there are processors.
pub fn read(store: &RunStore, ids: &[RunId]) -> Vec<(RunId, Found)> {
    const WORTH_A_THREAD: usize = 256;
    let one = |id: &RunId| (*id, find(store, *id));
    // Asking how many processors there are reads several files.
    if ids.len() <= WORTH_A_THREAD {
        return ids.iter().map(one).collect();
    }
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let share = ids.len().div_ceil(threads).max(WORTH_A_THREAD);
    std::thread::scope(|scope| {
        let mut shares = ids.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|share| {
                let reading = std::thread::Builder::new()
                    .name("records".into())
                    .spawn_scoped(scope, move || share.iter().map(one).collect::<Vec<_>>());
                (share, reading)
            })
            .collect();
        let mut found: Vec<(RunId, Found)> = first.iter().map(one).collect();
        for (share, reading) in others {
            // Where a thread could not be started, or panicked, this thread reads its share.
            let read = reading.ok().and_then(|thread| thread.join().ok());
            found.extend(read.unwrap_or_else(|| share.iter().map(one).collect()));
        }
        found
    })
}

fn find(store: &RunStore, id: RunId) -> Found {
    // Taken before the record is read: a record that is replaced in between is read again the next
    // time.
    let stamp = stamp(store.files(), &store.record(id));
    match (store.read_summary(id), stamp) {
        (Ok(summary), Some(stamp)) => Found::Summary(Box::new(Entry { stamp, summary })),
        // The record was written between the two looks; the next scan finds it.
        (Ok(_), None) => Found::Nothing,
        (Err(_), _) if store.is_in_progress(id) || store.has_no_record(id) => Found::Nothing,
        (Err(error), _) => Found::Damaged(stamp, format!("run {id} is left out: {error:#}")),
    }
}
