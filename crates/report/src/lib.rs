//! What a repository's experiments brought, for people who were not there: one HTML file without
//! script or network ([`html`]), a chart as SVG or PNG ([`plot`]), and a comment for a pull request
//! ([`comment`]).
//!
//! The text is in `templates/`; `escape` escapes every value that a template prints.
#![forbid(unsafe_code)]

mod bars;
mod chart;
mod comment;
mod decisions;
mod diffs;
mod escape;
mod history_chart;
mod labels;
mod letters;
mod peaks;
mod png;
mod roofline;
mod rows;
mod section;
mod workloads;

pub use comment::comment;

use anyhow::{Context, Result, anyhow};
use askama::Template;
use decisions::BoardSection;
use lab_board::Board;
use lab_git::Repo;
use lab_history::kernels::{self, COLUMNS, MARKS, Standing};
use lab_history::{History, Session};
use lab_project::Project;
use lab_project::kernels::shown;
use lab_run::experiment::{Experiment, Status};
use lab_store::RunIndex;
use section::{KernelSection, Read, Room};
use std::collections::HashMap;

/// Begins each file, so that a later report may replace the file.
pub const MARK: &str = "<!-- made by lab -->";

/// Bytes of the file that rows and marks of experiments may take, and those of diffs, where there is
/// no board; a board takes of both what it needs. The file stays below 2 MB.
const ROWS: usize = 1_050_000;
const DIFFS: usize = 500_000;

/// Kernels whose charts and tables have room beside them, and the bytes that each further one takes
/// of both.
const KERNELS: usize = 20;
const KERNEL: usize = 25_000;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: String,
    head: String,
    made: String,
    /// The board as HTML; the error says why it cannot be read.
    board: Result<String, String>,
    kernels: Vec<KernelSection>,
    /// Experiments whose rows are in the file, and all.
    listed: usize,
    experiments: usize,
    /// Rows whose kernel is not known here.
    unknown: usize,
    has_emulated: bool,
    problems: &'a [String],
}

/// Rows of a table that are shown at once.
const SHOWN: usize = 20;

/// A report with what it shows.
pub struct Html {
    pub text: String,
    pub kernels: usize,
    pub experiments: usize,
    /// Those with a row of their own; the others are summarised.
    pub listed: usize,
}

/// The report of these kernels, as [`kernels::names`] lists them; of all if none is named. Reads disk
/// and git.
pub fn html(project: &Project, wanted: &[String]) -> Result<Html> {
    let Session {
        repo,
        index,
        history,
    } = Session::open(project)?;
    let board = Board::read(&repo).map_err(|error| format!("{error:#}"));
    let all = kernels::names(project);
    let wanted = if wanted.is_empty() { &all } else { wanted };
    let (mut read, mut ids) = (Vec::new(), HashMap::new());
    for (nth, name) in wanted.iter().enumerate() {
        let id = format!("k{}", nth + 1);
        ids.insert(name.as_str(), id.clone());
        read.push(read_kernel(
            project,
            name,
            shown(name, &all),
            id,
            &index,
            &history,
            board.as_ref().ok(),
        )?);
    }
    // A change of the rules is a row, and no experiment.
    let counted = |read: &Read| {
        let all = read.experiments.iter();
        all.filter(|e| e.row.status != Status::Rules).count()
    };
    let experiments = read.iter().map(counted).sum();
    let board = match board {
        Ok(board) => Ok(board_section(&board, &ids)?),
        Err(why) => Err(why),
    };
    let sections = sections(read, board.as_ref().map_or(0, String::len))?;
    let devices = || sections.iter().flat_map(|section| &section.devices);
    let listed = devices().map(|device| device.rows.len());
    let listed = listed.sum::<usize>().min(experiments);
    let unknown = history.experiments.iter();
    let is_unknown = |e: &&Experiment| e.kernel.is_none() && e.row.status != Status::Rules;
    let name = project.root.file_name().unwrap_or_default();
    let page = Page {
        title: name.to_string_lossy().into_owned(),
        board,
        head: lab_git::head(&repo)?.label(),
        made: lab_run::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        listed,
        experiments,
        unknown: unknown.filter(is_unknown).count(),
        has_emulated: devices().any(|device| device.is_emulated),
        kernels: sections,
        problems: &history.problems,
    };
    Ok(Html {
        text: page.render()?,
        kernels: wanted.len(),
        experiments,
        listed,
    })
}

/// The board as HTML; empty without decisions. `ids` has the id of each kernel's section.
fn board_section(board: &Board, ids: &HashMap<&str, String>) -> Result<String> {
    if board.decisions.is_empty() && board.problems.is_empty() {
        return Ok(String::new());
    }
    Ok(BoardSection::of(board, ids)?.render()?)
}

/// The sections in the order of the kernels. A kernel with few experiments leaves its room in the
/// file to the others. `board` bytes of the room are taken.
fn sections(read: Vec<Read>, board: usize) -> Result<Vec<KernelSection>> {
    let taken = board + read.len().saturating_sub(KERNELS) * KERNEL;
    let of_diffs = taken / 3;
    let mut room = Room {
        rows: ROWS.saturating_sub(taken - of_diffs),
        diffs: DIFFS.saturating_sub(of_diffs),
    };
    let size = |read: &Read| read.experiments.len();
    section::shared(read, size, |read, count| {
        let section = read.section(&room.share(count))?;
        room.take(&section);
        Ok(section)
    })
}

fn read_kernel<'e>(
    project: &Project,
    name: &str,
    shown: &str,
    id: String,
    index: &RunIndex,
    history: &'e History,
    board: Option<&Board>,
) -> Result<Read<'e>> {
    let repo = kernels::open(project, name)?;
    let about = history.experiments.iter().filter(|e| e.is_about(name));
    let experiments: Vec<&Experiment> = about.collect();
    let mut standing = match experiments.is_empty() {
        true => Standing::default(),
        false => Standing::of(&repo, index, &history.experiments),
    };
    if let Some(board) = board {
        board.fill_peers(name, &mut standing);
    }
    Ok(Read {
        cells: standing.cells(shown, &repo.project.config.objective),
        repo,
        experiments,
        id,
    })
}

/// A chart as a file of its own.
#[derive(Clone, Copy)]
pub enum Plotted<'a> {
    /// The experiments of the kernel over time.
    Experiments,
    /// The roofline of the kept kernel.
    Roofline,
    /// What the decision of this id was timed beside.
    Decision(&'a str),
}

/// A chart as SVG, or as PNG.
pub fn plot(project: &Project, of: Plotted, is_png: bool) -> Result<Vec<u8>> {
    let chart = match of {
        Plotted::Decision(id) => {
            let board = Board::read(&Repo::open(project)?)?;
            let chart = bars::of(board.named(id)?, &board);
            chart.with_context(|| {
                format!("no evidence of decision {id} is of a GPU and can be read")
            })?
        }
        Plotted::Experiments | Plotted::Roofline => {
            let Session { index, history, .. } = Session::open(project)?;
            let name = &project.kernel_name;
            let read = read_kernel(project, name, name, "plot".into(), &index, &history, None)?;
            let incumbent = kernels::incumbent(&history.experiments, name);
            let is_roofline = matches!(of, Plotted::Roofline);
            let this = &project.argument;
            let chart = read.plot(incumbent, is_roofline);
            chart.map_err(|why| match is_roofline {
                true => anyhow!("{name} has no roofline yet: {why}"),
                false => anyhow!(
                    "{name} has no experiment to plot yet: `lab run{this}`, then \
                     `lab keep{this} -m TEXT`"
                ),
            })?
        }
    };
    let chart = chart.alone();
    match is_png {
        true => png::draw(&chart),
        false => Ok(format!("{MARK}\n{}\n", chart.render()?).into_bytes()),
    }
}
