//! The highlighter on a thread of its own. Of several texts under one key only the latest counts.

use super::Highlighted;
use super::engine::{Cache, Highlighter};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Texts whose lines are remembered, the latest asked for.
const REMEMBERED: usize = 8;

/// `K` says which text it is: the present kernel, another experiment's.
pub struct Worker<K> {
    shared: Arc<Shared<K>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared<K> {
    asked: Mutex<Asked<K>>,
    changed: Condvar,
}

struct Asked<K> {
    waiting: Vec<(K, Arc<[u8]>)>,
    over: bool,
}

impl<K> Shared<K> {
    fn asked(&self) -> MutexGuard<'_, Asked<K>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + PartialEq + Send + 'static> Worker<K> {
    /// Costs nothing until the first text is asked for: only then the syntax is compiled. `answer` hears on the worker's
    /// thread of each text that was highlighted to its end, with the very text.
    pub fn start(answer: impl Fn(K, Arc<[u8]>, Highlighted) + Send + 'static) -> std::io::Result<Self> {
        let asked = Asked { waiting: Vec::new(), over: false };
        let shared = Arc::new(Shared { asked: Mutex::new(asked), changed: Condvar::new() });
        let ours = shared.clone();
        let thread =
            thread::Builder::new().name("highlight".to_owned()).spawn(move || work(&ours, answer))?;
        Ok(Worker { shared, thread: Some(thread) })
    }

    /// Never waits. A text that is asked for under the same key before this one is answered takes its place.
    pub fn ask(&self, key: K, text: Arc<[u8]>) {
        let mut asked = self.shared.asked();
        asked.waiting.retain(|(other, _)| *other != key);
        asked.waiting.push((key, text));
        self.shared.changed.notify_one();
    }
}

impl<K> Drop for Worker<K> {
    /// What is being highlighted is given up.
    fn drop(&mut self) {
        self.shared.asked().over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work<K: Clone + PartialEq>(shared: &Shared<K>, answer: impl Fn(K, Arc<[u8]>, Highlighted)) {
    let mut highlighter = None;
    let mut caches: Vec<(K, Cache)> = Vec::new();
    while let Some((key, text)) = next(shared) {
        // Where the built-in syntax is damaged the source stays plain; a test reads it.
        let Some(highlighter) = highlighter.get_or_insert_with(|| Highlighter::new().ok()) else { return };
        let known = caches.iter().position(|(other, _)| *other == key);
        let (_, mut cache) = known.map_or_else(|| (key.clone(), Cache::default()), |at| caches.remove(at));
        let wanted = || {
            let asked = shared.asked();
            !asked.over && asked.waiting.iter().all(|(other, _)| *other != key)
        };
        let found = highlighter.highlight_while(&text, &mut cache, wanted);
        caches.push((key.clone(), cache));
        if caches.len() > REMEMBERED {
            caches.remove(0);
        }
        if let Some(found) = found {
            answer(key, text, found);
        }
    }
}

/// The next text, as soon as there is one; `None` once the worker is dropped.
fn next<K>(shared: &Shared<K>) -> Option<(K, Arc<[u8]>)> {
    let mut asked = shared.asked();
    loop {
        if asked.over {
            return None;
        }
        if !asked.waiting.is_empty() {
            return Some(asked.waiting.remove(0));
        }
        asked = shared.changed.wait(asked).unwrap_or_else(PoisonError::into_inner);
    }
}
