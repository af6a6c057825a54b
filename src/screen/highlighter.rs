//! The thread that highlights source. If several texts of one key wait, only the latest is
//! highlighted.

use lab_protocol::Language;
use lab_tui::highlight::{HighlightCache, Highlighted, Highlighter};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// How many texts keep their highlighted lines for the next highlighting.
const CACHED_TEXTS: usize = 8;

/// The highlighter's thread. `K` names a text: the present kernel, the base of a comparison.
pub struct HighlightWorker<K> {
    shared: Arc<Shared<K>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared<K> {
    queue: Mutex<Queue<K>>,
    changed: Condvar,
}

struct Queue<K> {
    /// At most one text of each key, the oldest first.
    waiting: Vec<(K, Language, Arc<[u8]>)>,
    /// The worker was dropped.
    is_closed: bool,
}

impl<K> Shared<K> {
    fn queue(&self) -> MutexGuard<'_, Queue<K>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + PartialEq + Send + 'static> HighlightWorker<K> {
    /// Starts the thread. It compiles the syntaxes when the first text arrives. `answer` is called
    /// on the thread with each text that was highlighted to its end. Fails where no thread can be
    /// started.
    pub fn start(answer: impl Fn(K, Arc<[u8]>, Highlighted) + Send + 'static) -> io::Result<Self> {
        let queue = Queue {
            waiting: Vec::new(),
            is_closed: false,
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
        });
        let of_thread = shared.clone();
        let thread = thread::Builder::new()
            .name("highlight".to_owned())
            .spawn(move || work(&of_thread, answer))?;
        Ok(HighlightWorker {
            shared,
            thread: Some(thread),
        })
    }

    /// Asks for a text to be highlighted and returns at once. The text replaces a text of the same
    /// key that waits or is being highlighted.
    pub fn ask(&self, key: K, language: Language, text: Arc<[u8]>) {
        let mut queue = self.shared.queue();
        queue.waiting.retain(|(other, ..)| *other != key);
        queue.waiting.push((key, language, text));
        self.shared.changed.notify_one();
    }
}

impl<K> Drop for HighlightWorker<K> {
    /// Abandons the text that is being highlighted and waits for the thread.
    fn drop(&mut self) {
        self.shared.queue().is_closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work<K: Clone + PartialEq>(shared: &Shared<K>, answer: impl Fn(K, Arc<[u8]>, Highlighted)) {
    let mut highlighter = None;
    let mut caches: Vec<((K, Language), HighlightCache)> = Vec::new();
    while let Some((key, language, text)) = next(shared) {
        // If the built-in syntax is damaged the source stays plain. A test compiles the syntax.
        let Some(highlighter) = highlighter.get_or_insert_with(|| Highlighter::new().ok()) else {
            return;
        };
        let of_text = (key.clone(), language);
        let known = caches.iter().position(|(other, _)| *other == of_text);
        let mut cache =
            known.map_or_else(|| HighlightCache::new(language), |at| caches.remove(at).1);
        let is_wanted = || {
            let queue = shared.queue();
            !queue.is_closed && queue.waiting.iter().all(|(other, ..)| *other != key)
        };
        let highlighted = highlighter.highlight_while(&text, &mut cache, is_wanted);
        caches.push((of_text, cache));
        if caches.len() > CACHED_TEXTS {
            caches.remove(0);
        }
        if let Some(highlighted) = highlighted {
            answer(key, text, highlighted);
        }
    }
}

/// Waits for the next text. `None` once the worker is dropped.
fn next<K>(shared: &Shared<K>) -> Option<(K, Language, Arc<[u8]>)> {
    let mut queue = shared.queue();
    loop {
        if queue.is_closed {
            return None;
        }
        if !queue.waiting.is_empty() {
            return Some(queue.waiting.remove(0));
        }
        queue = shared
            .changed
            .wait(queue)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn the_worker_answers_with_the_latest_text_of_each_key() {
        let (answers, inbox) = mpsc::channel();
        let worker = HighlightWorker::start(move |key, text: Arc<[u8]>, highlighted| {
            let _ = answers.send((key, text, highlighted));
        })
        .expect("a thread");
        let other: Arc<[u8]> = b"float".as_slice().into();
        worker.ask("other", Language::Cuda, other);
        let last =
            (0..100)
                .map(|i| format!("int v{i};\n").repeat(200))
                .fold(String::new(), |_, text| {
                    worker.ask("kernel", Language::Cuda, text.clone().into_bytes().into());
                    text
                });
        let highlighter = Highlighter::new().expect("the syntax compiles");
        let mut seen = Vec::new();
        loop {
            let (key, text, highlighted) = inbox
                .recv_timeout(Duration::from_secs(20))
                .expect("the worker answers");
            let cold = highlighter.highlight(&text, &mut HighlightCache::default());
            assert_eq!(
                highlighted.lines, cold.lines,
                "the answer is about its text"
            );
            seen.push(key);
            if *text == *last.as_bytes() {
                break;
            }
        }
        assert!(seen.contains(&"other") && seen.len() <= 101, "{seen:?}");
    }
}
