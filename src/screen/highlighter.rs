//! The thread that highlights source. If several texts of one key wait, only the latest is
//! highlighted.

use crate::screen::worker::{Requests, Worker};
use lab_protocol::Language;
use lab_tui::highlight::{HighlightCache, Highlighted, Highlighter};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;

/// How many texts keep their highlighted lines for the next highlighting.
const CACHED_TEXTS: usize = 8;

/// A text to highlight. `K` names it: the present kernel, the base of a comparison.
pub type Text<K> = (K, Language, Arc<[u8]>);

/// Starts the thread. It compiles the syntaxes when the first text arrives. `answer` is called on
/// the thread with each text that was highlighted to its end. A text replaces one of the same key
/// that waits or is being highlighted.
pub fn start<K: Clone + PartialEq + Send + 'static>(
    answer: impl Fn(K, Arc<[u8]>, Highlighted) + Send + 'static,
) -> io::Result<Worker<Text<K>>> {
    let replaces = |(known, ..): &Text<K>, (new, ..): &Text<K>| known == new;
    Worker::start("highlight", replaces, move |requests| {
        work(requests, answer);
    })
}

fn work<K: Clone + PartialEq>(
    requests: &mut Requests<Text<K>>,
    answer: impl Fn(K, Arc<[u8]>, Highlighted),
) {
    let mut highlighter = None;
    let mut caches: Vec<((K, Language), HighlightCache)> = Vec::new();
    while let Some(request) = requests.wait() {
        // If the built-in syntax is damaged the source stays plain. A test compiles the syntax.
        let Some(highlighter) = highlighter.get_or_insert_with(|| Highlighter::new().ok()) else {
            return;
        };
        let of_text = (request.0.clone(), request.1);
        let known = caches.iter().position(|(other, _)| *other == of_text);
        let mut cache =
            known.map_or_else(|| HighlightCache::new(request.1), |at| caches.remove(at).1);
        let waiting = RefCell::new(&mut *requests);
        let is_wanted = || !waiting.borrow_mut().is_replaced(&request);
        let highlighted = highlighter.highlight_while(&request.2, &mut cache, is_wanted);
        caches.push((of_text, cache));
        if caches.len() > CACHED_TEXTS {
            caches.remove(0);
        }
        if let Some(highlighted) = highlighted {
            answer(request.0, request.2, highlighted);
        }
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
        let worker = start(move |key, text: Arc<[u8]>, highlighted| {
            let _ = answers.send((key, text, highlighted));
        })
        .expect("a thread");
        let other: Arc<[u8]> = b"float".as_slice().into();
        worker.ask(("other", Language::Cuda, other));
        let last =
            (0..100)
                .map(|i| format!("int v{i};\n").repeat(200))
                .fold(String::new(), |_, text| {
                    worker.ask(("kernel", Language::Cuda, text.clone().into_bytes().into()));
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
