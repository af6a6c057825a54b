//! The view loader: the thread that reads what a view shows and the model does not hold (whole
//! experiments, commits, the graph, the kernel). It runs beside the repository worker, so a view
//! does not wait for a keep. Of several waiting requests of one kind only the latest is answered.

use crate::screen::worker::{Worker, in_words};
use crate::screen::{profile_files, source_files};
use jiff::Timestamp;
use lab_auto::LoopView;
use lab_bench::BenchStore;
use lab_board::{Board, Source};
use lab_git::{Graph, Marks, OwnCommits, Repo};
use lab_history::details;
use lab_history::kernels::{self, ListedKernel};
use lab_project::Project;
use lab_store::{RunIndex, RunStore};
use lab_sweep::SweepView;
use lab_tui::event::Event;
use lab_tui::reply::{GraphPage, OwnCommitsPage, ViewReply};
use lab_tui::request::ViewRequest;
use std::io;
use std::mem::discriminant;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The number of commits in one page of the graph.
pub const PAGE: usize = 300;

/// A request, and the project as it is when it is asked.
pub type ViewAsked = (Arc<Project>, ViewRequest);

/// Returns a bench or a sweep as text, if this clone has the one that was begun at this time.
pub type RecordText = fn(&Project, Source, Timestamp) -> Option<Vec<String>>;

pub fn start(events: Sender<Event>, record: RecordText) -> io::Result<Worker<ViewAsked>> {
    let replaces = |(_, known): &ViewAsked, (_, new): &ViewAsked| replaces(known, new);
    Worker::start("view loader", replaces, move |requests| {
        let mut known = Known::default();
        requests.answer(&events, |(project, request), _| {
            Some(Event::View(answer(&project, request, &mut known, record)))
        });
    })
}

/// Of several waiting requests of one kind only the latest is answered.
pub fn replaces(known: &ViewRequest, new: &ViewRequest) -> bool {
    discriminant(known) == discriminant(new)
}

/// What is kept from one request to the next.
#[derive(Default)]
struct Known {
    /// The walk through the graph, as far as it has been read.
    walk: Option<Graph>,
    /// The walk through the commits of the kernel, as far as it has been read.
    own_commits: Option<OwnCommits>,
    /// The index of the runs of this project, for the loop and the list of kernels.
    index: Option<(Arc<Project>, RunIndex)>,
}

impl Known {
    fn index(&mut self, project: &Arc<Project>) -> &mut RunIndex {
        let is_of_it = |(of, _): &(Arc<Project>, RunIndex)| Arc::ptr_eq(of, project);
        self.index = self.index.take().filter(is_of_it);
        let new = || (Arc::clone(project), RunIndex::new(project));
        &mut self.index.get_or_insert_with(new).1
    }
}

/// The kernels to choose from. Each that cannot be read is listed without figures: opening it reports
/// why.
fn kernels(project: &Project, index: &mut RunIndex) -> Vec<ListedKernel> {
    index.refresh();
    let mut listed = kernels::list(project, index);
    let Ok(repo) = Repo::open(project) else {
        return listed;
    };
    let history = lab_history::look(&repo, index);
    let board = Board::read(&repo).unwrap_or_default();
    for kernel in &mut listed {
        let of = (project, &*kernel.name);
        if let Ok(Some((_, standing))) = board.standing(of, index, &history.experiments) {
            kernel.of_floor = standing.bounds.map(|bounds| bounds.of_floor);
            kernel.peers = standing.peers;
        }
    }
    listed
}

fn answer(
    project: &Arc<Project>,
    request: ViewRequest,
    known: &mut Known,
    record: RecordText,
) -> ViewReply {
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
        ViewRequest::OwnCommits => {
            known.own_commits = None;
            ViewReply::OwnCommits(own_commits(project, &mut known.own_commits).map_err(in_words))
        }
        ViewRequest::MoreOwnCommits => {
            ViewReply::OwnCommits(own_commits(project, &mut known.own_commits).map_err(in_words))
        }
        ViewRequest::Loop(around) => {
            let read = LoopView::read(project, known.index(project), around.lines());
            ViewReply::Loop(Box::new(read.map_err(in_words)))
        }
        ViewRequest::Profile(asked) => {
            ViewReply::Profile(Box::new(profile_files::load(project, asked)))
        }
        ViewRequest::ChangedLines(commits) => {
            ViewReply::ChangedLines(details::changed_lines(project, &commits))
        }
        ViewRequest::Cells(asked) => {
            let store = RunStore::of(project);
            let all = store.all_cells(asked.run, &asked.tensor, asked.shape);
            let read = all.and_then(|all| Ok(all.read(asked.cell, asked.seek)?));
            ViewReply::Cells(asked, read.map_err(in_words))
        }
        ViewRequest::Workload(name, runs) => {
            let times = details::workload_times(project, &runs, &name);
            ViewReply::Workload(name, times)
        }
        ViewRequest::Commit(id, around) => {
            let details = Repo::open(project);
            let details =
                details.and_then(|repo| lab_git::commit_details(&repo, &id, around.lines()));
            ViewReply::Commit(id, Box::new(details.map_err(in_words)))
        }
        ViewRequest::Sweep(known) => {
            let known = known.map(|(start, read)| (*start, read));
            let newest = SweepView::newest(&project.lab_dir, &project.kernel_name, known);
            ViewReply::Sweep(newest.map(Box::new))
        }
        ViewRequest::Record(source, begun) => {
            ViewReply::Record(source, begun, record(project, source, begun))
        }
        ViewRequest::Kernels => ViewReply::Kernels(kernels(project, known.index(project))),
        ViewRequest::Board => {
            let board = Repo::open(project).and_then(|repo| Board::read(&repo));
            let benches = BenchStore::of(project);
            let mut of_kernel = benches.starts(|start| start.kernel == project.kernel_name);
            let has_bench = of_kernel.next().is_some();
            ViewReply::Board(Box::new(board.map_err(in_words)), has_bench)
        }
    }
}

fn begin(project: &Project, walk: &mut Option<Graph>) -> anyhow::Result<GraphPage> {
    *walk = Some(Graph::open(&Repo::open(project)?)?);
    page(walk, true)
}

/// The next page of the walk, or the first of a new one.
fn own_commits(project: &Project, walk: &mut Option<OwnCommits>) -> anyhow::Result<OwnCommitsPage> {
    let repo = Repo::open(project)?;
    let is_first = walk.is_none();
    let walk = match walk {
        Some(walk) => walk,
        None => walk.insert(OwnCommits::open(&repo)?),
    };
    let entries = walk.page(&repo, &Marks::of(&[]))?;
    Ok(OwnCommitsPage {
        is_first,
        is_last: walk.is_at_end(),
        entries,
    })
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
