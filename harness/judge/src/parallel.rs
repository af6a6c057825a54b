//! Work on all cores.

use lab_system::threads::{Beside, beside, cores, lock};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `make` for each item, on as many threads as the processor runs at once; for a single item
/// on this thread. The results are in the items' order.
pub fn each_on_a_thread<I: Sync, R: Send>(items: &[I], make: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let threads = cores().min(items.len());
    if threads <= 1 {
        return items.iter().map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return made;
            };
            made.push((at, make(item)));
        }
    };
    let mut made: Vec<(usize, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| beside(scope, work)).collect();
        running.into_iter().flat_map(Beside::join).collect()
    });
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

/// [`each_on_a_thread`] for the parts of so many bytes, each with its number.
pub fn each_part<R: Send>(
    bytes: &mut [u8],
    part: usize,
    act: impl Fn(usize, &mut [u8]) -> R + Sync,
) -> Vec<R> {
    let parts: Vec<_> = bytes.chunks_mut(part).enumerate().map(Mutex::new).collect();
    each_on_a_thread(&parts, |part| {
        let (number, bytes) = &mut *lock(part);
        act(*number, bytes)
    })
}
