//! Reads the summaries of many records at once.

use crate::run_store::RunStore;
use crate::summary::RunSummary;
use lab_run::RunId;
use lab_system::stamp::{Stamp, stamp};
use lab_system::threads::{Beside, beside, cores};

/// What is in a run's folder.
pub enum Found {
    /// A record, with the stamp of its file.
    Summary(Stamp, Box<RunSummary>),
    /// A record that cannot be read: its file's stamp, and a message for the user.
    Damaged(Option<Stamp>, String),
    /// A run without a record: it is about to have one, or failed before.
    Nothing,
}

/// Reads the records of these runs, on as many threads as there are processors.
pub fn read(store: &RunStore, ids: &[RunId]) -> Vec<(RunId, Found)> {
    const WORTH_A_THREAD: usize = 256;
    let all = |share: &[RunId]| -> Vec<(RunId, Found)> {
        share.iter().map(|id| (*id, find(store, *id))).collect()
    };
    if ids.len() <= WORTH_A_THREAD {
        return all(ids);
    }
    let threads = cores();
    let share = ids.len().div_ceil(threads.min(8)).max(WORTH_A_THREAD);
    std::thread::scope(|scope| {
        let reading = ids
            .chunks(share)
            .map(|share| beside(scope, move || all(share)));
        let reading: Vec<_> = reading.collect();
        reading.into_iter().flat_map(Beside::join).collect()
    })
}

fn find(store: &RunStore, id: RunId) -> Found {
    // Taken before the record is read: a record that is replaced in between is read again the next
    // time.
    let stamp = stamp(store.files(), &store.record(id));
    match (store.read_summary(id), stamp) {
        (Ok(summary), Some(stamp)) => Found::Summary(stamp, Box::new(summary)),
        // The record was written between the two looks; the next scan finds it.
        (Ok(_), None) => Found::Nothing,
        (Err(_), _) if store.is_in_progress(id) || store.has_no_record(id) => Found::Nothing,
        (Err(error), _) => Found::Damaged(stamp, format!("run {id} is left out: {error:#}")),
    }
}
