//! `lab ls`: the kernels of the repository, each with the figures of its incumbent.

use super::json::experiment::ExperimentReport;
use super::output::{resume, say_each};
use super::table::table;
use super::{JsonArg, any, complain, log, say, told};
use anyhow::Result;
use clap::Args;
use lab_board::Board;
use lab_git::Present;
use lab_history::bounds::Bounds;
use lab_history::kernels::{self, COLUMNS, MARKS, Row, Standing};
use lab_history::{History, Session};
use lab_project::Project;
use lab_project::kernels::shown;
use lab_run::peers::PeerFigure;
use lab_store::RunIndex;
use lab_text::listed;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct LsArgs {
    /// Print the table in Markdown, as kernels/README.md has it
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab ls` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct LsAnswer {
    /// Branch and commit of HEAD.
    head: String,
    /// By their paths.
    kernels: Vec<KernelReport>,
    /// Damaged records, rows that cannot be read, missing rows.
    problems: Vec<String>,
}

/// A kernel of the repository.
#[derive(JsonSchema, Serialize)]
struct KernelReport {
    /// Its path, relative to the repository.
    kernel: String,
    /// Its experiments that were kept.
    kept: usize,
    /// Its experiments that were discarded, those that had crashed among them.
    discarded: usize,
    /// The experiment that was kept last, a GPU's before one of an emulated device; null if none was
    /// kept.
    incumbent: Option<ExperimentReport>,
    /// What the incumbent was timed beside last, in a run or a bench, else by the signed evidence of
    /// the repository; none on an emulated device.
    peers: Vec<PeerFigure>,
    /// The incumbent's time beside the floor; null if its run tells none, or its record is not here.
    bounds: Option<Bounds>,
    #[serde(skip)]
    row: Row,
}

pub fn main(options: &LsArgs) -> Result<ExitCode> {
    let project = any()?;
    resume(&project);
    let listed = look(&project)?;
    let exit = told(&listed, || listed.tell(options.markdown));
    listed.problems.iter().for_each(|problem| complain(problem));
    Ok(exit)
}

/// Reads what is known of each kernel.
fn look(project: &Project) -> Result<LsAnswer> {
    let Session {
        repo,
        index,
        history,
    } = Session::open(project)?;
    let present = history.present(&repo)?;
    let names = kernels::names(project);
    // What is wrong with the board is told by `lab decisions check`.
    let board = Board::read(&repo).unwrap_or_default();
    let report =
        |name: &String| of_kernel(project, name, &names, &index, &history, &present, &board);
    Ok(LsAnswer {
        head: lab_git::head(&repo)?.label(),
        kernels: names.iter().map(report).collect::<Result<_>>()?,
        problems: history.problems,
    })
}

fn of_kernel(
    project: &Project,
    name: &str,
    names: &[String],
    index: &RunIndex,
    history: &History,
    present: &Present,
    board: &Board,
) -> Result<KernelReport> {
    let report = |project: &Project, standing: Standing, incumbent| KernelReport {
        kernel: name.to_owned(),
        row: standing.cells(shown(name, names), &project.config.objective),
        incumbent,
        kept: standing.kept,
        discarded: standing.discarded,
        peers: standing.peers,
        bounds: standing.bounds,
    };
    let standing = board.standing((project, name), index, &history.experiments)?;
    let Some((repo, standing)) = standing else {
        return Ok(report(project, Standing::default(), None));
    };
    let incumbent = standing.incumbent;
    let incumbent = incumbent.map(|e| log::as_json(&repo, &repo.project, present, e));
    Ok(report(&repo.project, standing, incumbent))
}

impl LsAnswer {
    fn tell(&self, as_markdown: bool) {
        if as_markdown {
            say_each(self.in_markdown());
            return;
        }
        if self.kernels.is_empty() {
            return say(
                "no kernel is here: `lab new NAME` writes a problem, `lab init` takes a kernel that you have",
            );
        }
        say_each(self.lines());
        self.marks().iter().for_each(|marks| say(marks));
    }

    fn rows(&self) -> Vec<Row> {
        let rows = self.kernels.iter().map(|kernel| kernel.row.clone());
        [COLUMNS.map(str::to_owned)]
            .into_iter()
            .chain(rows)
            .collect()
    }

    /// The head of the table, and a line for each kernel.
    fn lines(&self) -> Vec<String> {
        table(&self.rows())
    }

    fn in_markdown(&self) -> Vec<String> {
        let line = |cells: Row| {
            format!(
                "| {} |",
                cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
            )
        };
        let mut lines: Vec<String> = self.rows().into_iter().map(line).collect();
        lines.insert(1, format!("|{}", "---|".repeat(COLUMNS.len())));
        lines.extend(
            self.marks()
                .into_iter()
                .flat_map(|marks| [String::new(), marks]),
        );
        lines
    }

    /// What the marks of the table say, each where it occurs.
    fn marks(&self) -> Option<String> {
        let is_there = |mark: &str| {
            self.kernels
                .iter()
                .any(|kernel| kernel.row[1].contains(mark))
        };
        let used = MARKS.iter().filter(|(mark, _)| is_there(mark));
        listed(used.map(|(mark, says)| format!("`{mark}` {says}")))
    }
}

/// The kernels to choose from where neither a command nor lab.toml nor the folder means one: the one
/// that was judged last, then the others by their paths. Empty where there are not several.
pub fn choices(from: &Path) -> Result<Vec<PathBuf>> {
    let from = from.canonicalize()?;
    let Ok(project) = Project::of_any(&from) else {
        return Ok(Vec::new());
    };
    let mut names = kernels::names(&project);
    if names.len() < 2 {
        return Ok(Vec::new());
    }
    let index = RunIndex::open(&project);
    let place = |kernel: &str| names.iter().position(|name| name == kernel);
    let last = index.newest().find_map(|run| place(&run.kernel));
    if let Some(at) = last {
        names[..=at].rotate_right(1);
    }
    let path = |name: &String| {
        let path = project.root.join(name);
        path.strip_prefix(&from).map(Path::to_owned).unwrap_or(path)
    };
    Ok(names.iter().map(path).collect())
}
