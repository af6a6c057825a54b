//! The thread that reads for the views what is too much to hold: beside the desk, so that nobody who looks
//! around waits for a keep. Of several wishes of one kind that wait, the latest counts.

use crate::screen::source_files;
use lab_core::history::details as whole;
use lab_core::project::Project;
use lab_core::repo::{self, Graph, Marks};
use lab_tui::event::{Event, GraphPage};
use lab_tui::request::ViewRequest as Wish;
use std::io;
use std::mem::discriminant;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Commits of one page of the graph.
pub const PAGE: usize = 300;

pub struct Reader {
    wishes: Option<Sender<Wish>>,
    project: Arc<Mutex<Arc<Project>>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    pub fn start(project: Arc<Project>, events: Sender<Event>) -> io::Result<Self> {
        let (wishes, inbox) = mpsc::channel();
        let project = Arc::new(Mutex::new(project));
        let of = Arc::clone(&project);
        let thread = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let mut waiting = Vec::new();
            let mut walk = None;
            while let Some(wish) = next(&inbox, &mut waiting) {
                let project = Arc::clone(&of.lock().unwrap_or_else(PoisonError::into_inner));
                if events.send(answer(&project, wish, &mut walk)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Reader { wishes: Some(wishes), project, thread: Some(thread) })
    }

    /// lab.toml changed: further answers are of this project.
    pub fn adopt(&self, project: &Arc<Project>) {
        *self.project.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(project);
    }

    pub fn ask(&self, wish: Wish) {
        if let Some(wishes) = &self.wishes {
            // Where the reader broke, the screen was told by the panic hook.
            let _ = wishes.send(wish);
        }
    }
}

impl Drop for Reader {
    /// What is being read is finished first: that is a matter of milliseconds.
    fn drop(&mut self) {
        drop(self.wishes.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The next wish, oldest kind first. `None` once nobody can wish any more.
fn next(inbox: &Receiver<Wish>, waiting: &mut Vec<Wish>) -> Option<Wish> {
    if waiting.is_empty() {
        waiting.push(inbox.recv().ok()?);
    }
    for wish in inbox.try_iter() {
        waiting.retain(|known| discriminant(known) != discriminant(&wish));
        waiting.push(wish);
    }
    (!waiting.is_empty()).then(|| waiting.remove(0))
}

/// `walk` is the one through the graph, as far as it has come.
fn answer(project: &Project, wish: Wish, walk: &mut Option<Graph>) -> Event {
    match wish {
        Wish::Source(asked) => Event::Source(Box::new(source_files::read(project, asked))),
        Wish::Whole(key, around) => Event::Whole(Box::new(whole::whole(project, &key, around.lines()))),
        Wish::Compare(keys, around) => {
            Event::Compared(Box::new(whole::compare(project, keys, around.lines())))
        }
        Wish::Graph => Event::Graph(begin(project, walk).map_err(in_words)),
        Wish::MoreGraph => Event::Graph(page(walk, false).map_err(in_words)),
        Wish::Commit(id, around) => {
            let details = repo::commit_details(project, &id, around.lines()).map_err(in_words);
            Event::Commit(id, Box::new(details))
        }
    }
}

fn begin(project: &Project, walk: &mut Option<Graph>) -> anyhow::Result<GraphPage> {
    *walk = Some(Graph::open(project)?);
    page(walk, true)
}

/// Which experiments the commits hold is not asked here: the screen knows.
fn page(walk: &mut Option<Graph>, is_first: bool) -> anyhow::Result<GraphPage> {
    let entries = match walk {
        Some(walk) => walk.page(&Marks::of(&[]), PAGE)?,
        None => Vec::new(),
    };
    Ok(GraphPage { is_first, is_last: entries.len() < PAGE, entries })
}

fn in_words(error: anyhow::Error) -> String {
    format!("{error:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_core::run::experiment::Key;
    use lab_tui::diff::Around;

    #[test]
    fn only_the_latest_wish_of_a_kind_is_answered() {
        let key = |commit: &str| Key { commit: commit.to_owned(), run: None, decided: None };
        let (send, inbox) = mpsc::channel();
        for commit in ["a", "b", "c"] {
            send.send(Wish::Whole(key(commit), Around::Near)).expect("the inbox is here");
        }
        drop(send);
        let mut waiting = Vec::new();
        let order: Vec<Wish> = std::iter::from_fn(|| next(&inbox, &mut waiting)).collect();
        assert_eq!(order, [Wish::Whole(key("c"), Around::Near)]);
    }
}
