//! The thread that highlights source. If several texts of one version wait, only the latest is
//! highlighted.

use crate::screen::worker::Worker;
use lab_protocol::Language;
use lab_tui::event::Event;
use lab_tui::highlight::{HighlightCache, Highlighter};
use lab_tui::reply::HighlightReply;
use lab_tui::request::HighlightRequest;
use lab_tui::source::SourceVersion;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::Sender;

/// Starts the thread. It compiles the syntaxes when the first text arrives, and answers with each
/// text that was highlighted to its end. A text replaces one of the same version that waits or is
/// being highlighted.
pub fn start(events: Sender<Event>) -> io::Result<Worker<HighlightRequest>> {
    let replaces = |known: &HighlightRequest, new: &HighlightRequest| known.which == new.which;
    Worker::start("highlight", replaces, move |requests| {
        let mut highlighter = None;
        let mut caches: HashMap<(SourceVersion, Language), HighlightCache> = HashMap::new();
        requests.answer(&events, |request, requests| {
            // If the built-in syntax is damaged the source stays plain. A test compiles the syntax.
            let highlighter = highlighter.get_or_insert_with(|| Highlighter::new().ok());
            let cache = caches
                .entry((request.which, request.language))
                .or_insert_with(|| HighlightCache::new(request.language));
            let waiting = RefCell::new(requests);
            let is_wanted = || !waiting.borrow_mut().is_replaced(&request);
            let text = request.text.as_bytes();
            let colours = highlighter
                .as_ref()?
                .highlight_while(text, cache, is_wanted)?;
            Some(Event::Highlighted(HighlightReply {
                which: request.which,
                text: request.text,
                colours,
            }))
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn the_worker_answers_with_the_latest_text_of_each_version() {
        let (answers, inbox) = mpsc::channel();
        let worker = start(answers).expect("a thread");
        let ask = |which, text: &str| {
            worker.ask(HighlightRequest {
                which,
                language: Language::Cuda,
                text: text.into(),
            });
        };
        ask(SourceVersion::Base, "float");
        let last =
            (0..100)
                .map(|i| format!("int v{i};\n").repeat(200))
                .fold(String::new(), |_, text| {
                    ask(SourceVersion::Present, &text);
                    text
                });
        let highlighter = Highlighter::new().expect("the syntax compiles");
        let mut seen = Vec::new();
        loop {
            let event = inbox
                .recv_timeout(Duration::from_secs(20))
                .expect("the worker answers");
            let Event::Highlighted(reply) = event else {
                panic!("{event:?}");
            };
            let cold = highlighter.highlight(reply.text.as_bytes(), &mut HighlightCache::default());
            assert_eq!(
                reply.colours.lines, cold.lines,
                "the answer is about its text"
            );
            seen.push(reply.which);
            if *reply.text == *last {
                break;
            }
        }
        assert!(
            seen.contains(&SourceVersion::Base) && seen.len() <= 101,
            "{seen:?}"
        );
    }
}
