//! The view loader: the thread that reads what a view shows and the model does not hold (whole
//! experiments, commits, the graph, the kernel). It runs beside the repository worker, so a view
//! does not wait for a keep. Of several waiting requests of one kind only the latest is answered.

use crate::screen::{profile_files, source_files};
use lab_core::auto::LoopView;
use lab_core::history::details;
use lab_core::project::Project;
use lab_core::repo::{self, Graph, Marks, Repo};
use lab_core::store::RunIndex;
use lab_tui::event::Event;
use lab_tui::reply::{GraphPage, ViewReply};
use lab_tui::request::ViewRequest;
use std::io;
use std::mem::discriminant;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The number of commits in one page of the graph.
pub const PAGE: usize = 300;

pub struct ViewLoader {
    requests: Option<Sender<ViewRequest>>,
    project: Arc<Mutex<Arc<Project>>>,
    thread: Option<JoinHandle<()>>,
}

impl ViewLoader {
    pub fn start(project: Arc<Project>, events: Sender<Event>) -> io::Result<Self> {
        let (requests, inbox) = mpsc::channel();
        let project = Arc::new(Mutex::new(project));
        let of = Arc::clone(&project);
        let thread = thread::Builder::new()
            .name("view loader".to_owned())
            .spawn(move || {
                let mut waiting = Vec::new();
                let mut known = Known::default();
                while let Some(request) = next(&inbox, &mut waiting) {
                    let project = Arc::clone(&of.lock().unwrap_or_else(PoisonError::into_inner));
                    if events
                        .send(Event::View(answer(&project, request, &mut known)))
                        .is_err()
                    {
                        return;
                    }
                }
            })?;
        Ok(ViewLoader {
            requests: Some(requests),
            project,
            thread: Some(thread),
        })
    }

    /// Reads from this project from now on, because lab.toml changed.
    pub fn adopt(&self, project: &Arc<Project>) {
        *self.project.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(project);
    }

    pub fn ask(&self, request: ViewRequest) {
        if let Some(requests) = &self.requests {
            // The channel is closed only after the loader has panicked, and the panic hook has
            // reported that.
            let _ = requests.send(request);
        }
    }
}

impl Drop for ViewLoader {
    /// Waits for the request in progress, which takes milliseconds.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the next request, the kind that has waited longest first. `None` once the screen has
/// closed.
fn next(inbox: &Receiver<ViewRequest>, waiting: &mut Vec<ViewRequest>) -> Option<ViewRequest> {
    if waiting.is_empty() {
        waiting.push(inbox.recv().ok()?);
    }
    for request in inbox.try_iter() {
        waiting.retain(|known| discriminant(known) != discriminant(&request));
        waiting.push(request);
    }
    (!waiting.is_empty()).then(|| waiting.remove(0))
}

/// What is kept from one request to the next.
#[derive(Default)]
struct Known {
    /// The walk through the graph, as far as it has been read.
    walk: Option<Graph>,
    /// The index of the runs of this project, for the loop.
    index: Option<(Arc<Project>, RunIndex)>,
}

impl Known {
    fn index(&mut self, project: &Arc<Project>) -> &mut RunIndex {
        if self
            .index
            .as_ref()
            .is_some_and(|(of, _)| !Arc::ptr_eq(of, project))
        {
            self.index = None;
        }
        &mut self
            .index
            .get_or_insert_with(|| (Arc::clone(project), RunIndex::new(project)))
            .1
    }
}

fn answer(project: &Arc<Project>, request: ViewRequest, known: &mut Known) -> ViewReply {
    let walk = &mut known.walk;
    match request {
        ViewRequest::Source(asked) => {
            ViewReply::Source(Box::new(source_files::read(project, asked)))
        }
        ViewRequest::Details(key, around) => ViewReply::Details(Box::new(
            details::experiment_details(project, &key, around.lines()),
        )),
        ViewRequest::Compare(keys, around) => {
            ViewReply::Comparison(Box::new(details::compare(project, keys, around.lines())))
        }
        ViewRequest::Graph => ViewReply::Graph(begin(project, walk).map_err(in_words)),
        ViewRequest::MoreGraph => ViewReply::Graph(page(walk, false).map_err(in_words)),
        ViewRequest::Loop(around) => {
            let read = LoopView::read(project, known.index(project), around.lines());
            ViewReply::Loop(Box::new(read.map_err(in_words)))
        }
        ViewRequest::Profile(asked) => {
            ViewReply::Profile(Box::new(profile_files::load(project, asked)))
        }
        ViewRequest::Commit(id, around) => {
            let details = Repo::open(project);
            let details = details.and_then(|repo| repo::commit_details(&repo, &id, around.lines()));
            ViewReply::Commit(id, Box::new(details.map_err(in_words)))
        }
    }
}

fn begin(project: &Project, walk: &mut Option<Graph>) -> anyhow::Result<GraphPage> {
    *walk = Some(Graph::open(&Repo::open(project)?)?);
    page(walk, true)
}

/// Which experiments the commits hold is not asked here: the screen knows.
fn page(walk: &mut Option<Graph>, is_first: bool) -> anyhow::Result<GraphPage> {
    let entries = match walk {
        Some(walk) => walk.page(&Marks::of(&[]), PAGE)?,
        None => Vec::new(),
    };
    Ok(GraphPage {
        is_first,
        is_last: entries.len() < PAGE,
        entries,
    })
}

fn in_words(error: anyhow::Error) -> String {
    format!("{error:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_core::run::experiment::ExperimentKey;
    use lab_tui::diff::ContextLines;

    #[test]
    fn only_the_latest_wish_of_a_kind_is_answered() {
        let key = |commit: &str| ExperimentKey {
            commit: commit.to_owned(),
            run: None,
            decided: None,
        };
        let (send, inbox) = mpsc::channel();
        for commit in ["a", "b", "c"] {
            send.send(ViewRequest::Details(key(commit), ContextLines::Near))
                .expect("the inbox is here");
        }
        drop(send);
        let mut waiting = Vec::new();
        let order: Vec<ViewRequest> = std::iter::from_fn(|| next(&inbox, &mut waiting)).collect();
        assert_eq!(order, [ViewRequest::Details(key("c"), ContextLines::Near)]);
    }
}
