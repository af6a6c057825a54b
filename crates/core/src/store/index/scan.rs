//! Reads the briefs of many records at once.

use crate::disk::stamp::{Stamp, stamp};
use crate::run::RunId;
use crate::store::Records;
use crate::store::index::file::Shelved;

pub enum Found {
    Brief(Box<Shelved>),
    Damaged(Option<Stamp>, String),
    /// A run that is being born, or never was.
    Nothing,
}

/// Reads many records at once, as many threads as there are processors.
pub fn read(records: &Records, ids: &[RunId]) -> Vec<(RunId, Found)> {
    const WORTH_A_THREAD: usize = 256;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let share = ids.len().div_ceil(threads).max(WORTH_A_THREAD);
    let one = |id: &RunId| (*id, find(records, *id));
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
            // Where no thread could be had, or it broke, this one reads.
            let read = reading.ok().and_then(|thread| thread.join().ok());
            found.extend(read.unwrap_or_else(|| share.iter().map(one).collect()));
        }
        found
    })
}

fn find(records: &Records, id: RunId) -> Found {
    // Before it is read: a record that is replaced in between is read again the next time.
    let stamp = stamp(&records.record(id));
    match (records.read_brief(id), stamp) {
        (Ok(brief), Some(stamp)) => Found::Brief(Box::new(Shelved { stamp, brief })),
        // It came into being between the two looks.
        (Ok(_), None) => Found::Nothing,
        (Err(_), _) if records.goes_on(id) || records.unborn(id) => Found::Nothing,
        (Err(error), _) => Found::Damaged(stamp, format!("run {id} is left out: {error:#}")),
    }
}
