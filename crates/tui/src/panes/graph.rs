//! The pane Commits: the commits of all branches as a graph, with their names and the experiments
//! that they hold.
//!
//! ```text
//! ●    a1b2c3d  [exp/x]  ● 165.2k  overlap the gather
//! ├─╮  b2c3d4e                     merge the notes
//! │ •  c3d4e5f  {v1}               notes
//! ●─╯  d4e5f6a           ● 142.0k  flagged all-gather
//! ```

mod state;

pub use state::{GraphRow, GraphState, ReadTarget};

use crate::chart::SymbolSet;
use crate::prelude::*;
use lab_git::{Label, LabelKind, Place, short};
use lab_run::experiment::Status;
use lab_text::figures::thousands;

/// Most lanes that are drawn. Lanes further right are left out.
const LANES: usize = 12;

/// Least columns for author and time at the right.
const WIDE: usize = 110;

/// Returns the first visible row, and the rows of the list.
pub fn draw(canvas: &mut Canvas, state: &GraphState) -> ListState {
    let data = canvas.data;
    let inner = canvas.draw_title(&note(state));
    if state.rows.is_empty() {
        canvas.draw_no_commit(inner, !state.asked);
        return state.list;
    }
    let (rows, columns) = (usize::from(inner.height), usize::from(inner.width));
    let first = state.list.fit(rows, state.rows.len()).first;
    let shown = state.rows.iter().skip(first).take(rows);
    let lanes = shown.map(|row| lanes(&row.place)).max().unwrap_or(1);
    canvas.draw_list(inner, state.list, state.rows.len(), true, |at| {
        describe(&state.rows[at], lanes.min(LANES), data, columns)
    })
}

/// How many commits were read, and whether there are more.
fn note(state: &GraphState) -> String {
    let count = thousands(state.rows.len() as f64);
    let more = match state.target {
        Some(_) => " · reading on: any key stops",
        None if state.at_end || state.rows.is_empty() => "",
        None if state.is_full() => " · no more are held: `git log` shows older ones",
        None => " and older ones",
    };
    format!("{count}{more}")
}

fn describe(row: &GraphRow, lanes: usize, data: ScreenData, columns: usize) -> Line<'static> {
    let symbols = data.appearance.symbols;
    let commit = &row.entry.commit;
    let experiment = commit.experiment.as_deref();
    let experiment = experiment.filter(|e| data.setup.is_about(e));
    let status = experiment.map(|e| e.row.status);
    let node = match status {
        None => symbols.pick("•", "*"),
        Some(Status::Keep) => symbols.pick("●", "@"),
        Some(status) => symbols.pick(mark(status), "o"),
    };
    let mut line = Line::default();
    for (at, sign) in graph(&row.place, lanes, symbols).into_iter().enumerate() {
        line.push_span(if at == 2 * row.place.column {
            Span::styled(node.to_owned(), status.map_or(TEXT, style::experiment))
        } else {
            sign.quiet()
        });
    }
    line.push_span(format!(" {} ", short(&commit.id)).accent());
    for label in &row.entry.labels {
        line.push_span(format!("{} ", named(label)).strong());
    }
    if let Some(experiment) = experiment {
        line.extend(beside_commit(experiment));
        line.push_span(" ");
        if !experiment.is_kept() {
            // No branch holds the commit: it hangs at the commit that it was tried on.
            let status = experiment.row.status;
            let word = format!(" {}:", status.word());
            line.push_span(Span::styled(word, style::experiment(status)));
        }
    }
    let right = if columns >= WIDE {
        format!(
            "  {} · {}",
            printable(&commit.author),
            data.date(commit.time)
        )
    } else {
        String::new()
    };
    let room = columns.saturating_sub(line.width() + 1 + width(&right));
    line.push_span(format!(" {}", pad(&commit.subject, room)));
    line.push_span(right.quiet());
    line
}

/// `[main]` a branch, `[▸main]` HEAD's branch, `(origin/main)` a remote one, `{v1}` a tag: signs,
/// not colours alone.
fn named(label: &Label) -> String {
    let name = printable(&label.name);
    match label.kind {
        LabelKind::Head => "[▸HEAD]".to_owned(),
        LabelKind::Current => format!("[▸{name}]"),
        LabelKind::Branch => format!("[{name}]"),
        LabelKind::Remote => format!("({name})"),
        LabelKind::Tag => format!("{{{name}}}"),
    }
}

/// Lanes that a row takes.
fn lanes(place: &Place) -> usize {
    let all = place
        .joins
        .iter()
        .chain(&place.parents)
        .chain(&place.passing);
    all.copied().max().unwrap_or(0).max(place.column) + 1
}

/// The directions in which lines leave a cell. A cell with several has their sum.
const UP: usize = 1;
const DOWN: usize = 2;
const LEFT: usize = 4;
const RIGHT: usize = 8;

/// The sign of a cell by its directions, and the same in ASCII. In each row: neither up nor down,
/// up, down, both.
const SIGNS: [[&str; 2]; 16] = [
    [" ", " "],
    ["│", "|"],
    ["│", "|"],
    ["│", "|"],
    // To the left.
    ["─", "-"],
    ["╯", "/"],
    ["╮", "\\"],
    ["┤", "|"],
    // To the right.
    ["─", "-"],
    ["╰", "\\"],
    ["╭", "/"],
    ["├", "|"],
    // To both sides.
    ["─", "-"],
    ["┴", "+"],
    ["┬", "+"],
    ["┼", "+"],
];

/// The cells of a row: a lane, a gap, a lane, a gap, … The caller puts the commit's mark into the
/// commit's lane.
fn graph(place: &Place, lanes: usize, symbols: SymbolSet) -> Vec<&'static str> {
    let mut cells = vec![0; 2 * lanes];
    let mut set = |at: usize, ways: usize| {
        if let Some(cell) = cells.get_mut(at) {
            *cell |= ways;
        }
    };
    place
        .passing
        .iter()
        .for_each(|lane| set(2 * lane, UP | DOWN));
    place.joins.iter().for_each(|lane| set(2 * lane, UP));
    place.parents.iter().for_each(|lane| set(2 * lane, DOWN));
    for &lane in place.joins.iter().chain(&place.parents) {
        for at in 2 * lane.min(place.column)..2 * lane.max(place.column) {
            set(at, RIGHT);
            set(at + 1, LEFT);
        }
    }
    let sign = |ways: usize| symbols.pick(SIGNS[ways][0], SIGNS[ways][1]);
    cells.into_iter().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_git::Lanes;

    /// `id: parents` a line, drawn.
    fn drawn(commits: &str, symbols: SymbolSet) -> Vec<String> {
        let mut lanes = Lanes::default();
        let row = |line: &str| {
            let (id, parents) = line.split_once(':').expect("id: parents");
            let parents: Vec<String> = parents.split_whitespace().map(str::to_owned).collect();
            let place = lanes.place(id, &parents);
            let mut cells = graph(&place, super::lanes(&place), symbols);
            cells[2 * place.column] = "o";
            cells.concat().trim_end().to_owned()
        };
        commits.split("; ").map(row).collect()
    }

    #[test]
    fn branches_and_merges_are_drawn() {
        let merge = "m: b s; s: a; b: a; a:";
        assert_eq!(
            drawn(merge, SymbolSet::Braille),
            ["o─╮", "│ o", "o │", "o─╯"]
        );
        assert_eq!(
            drawn(merge, SymbolSet::Ascii),
            ["o-\\", "| o", "o |", "o-/"]
        );
        // A passing line is crossed.
        let three = "x: a; y: b; z: a; b: a; a:";
        assert_eq!(
            drawn(three, SymbolSet::Braille),
            ["o", "│ o", "│ │ o", "│ o │", "o─┴─╯"]
        );
    }
}
