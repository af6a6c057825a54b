//! The pane Experiments: every experiment as a table, with as many columns as fit and the rows that
//! pass the filter. [`crate::table`] holds the rows and their order.

mod cells;
mod columns;

use crate::prelude::*;
use crate::table::{Column, FIELDS, Table};
use crate::widgets::canvas::{GUTTER, TableColumn, arrow, table_row};
use crate::widgets::in_short;
use lab_run::experiment::Experiment;
use lab_text::figures::thousands;
use tui_input::Input;

#[derive(Debug)]
pub struct ExperimentsState {
    /// The history as a table: sorted, filtered, marked.
    pub table: Table,
    /// The user chose to see the experiments of all problems. The layout remembers it.
    pub all_problems: bool,
    pub list: ListState,
}

impl Default for ExperimentsState {
    fn default() -> Self {
        ExperimentsState {
            table: Table::of_one_problem(),
            all_problems: false,
            list: ListState::default(),
        }
    }
}

/// The typed filter, and what is wrong with it.
pub type TypedFilter<'a> = Option<(&'a Input, Option<&'a str>)>;

/// Returns where the table was drawn; `None` where there is no row.
pub fn draw(
    canvas: &mut Canvas,
    state: &ExperimentsState,
    selected: Option<usize>,
    filter: TypedFilter,
) -> ListState {
    let data = canvas.data;
    let table = &state.table;
    let history = &data.repository.experiments;
    let mut inner = canvas.draw_title(&note(table, data));
    if let Some((input, problem)) = filter {
        inner = draw_filter(canvas.frame, inner, input, problem);
    }
    if table.is_empty() {
        let lines = wrap_to(&nothing(table, data), usize::from(inner.width), 4).into_iter();
        let lines = lines.map(|line| Line::styled(line, QUIET));
        draw_rows(canvas.frame, inner, lines);
        return state.list;
    }
    let room = usize::from(inner.width).saturating_sub(GUTTER);
    let columns = columns::choose(room, data, table);
    inner = canvas.draw_head(inner, &columns);
    let list = ListState {
        selected: selected.unwrap_or(0),
        ..state.list
    };
    let row = |at: usize| {
        let place = table.order[at];
        let cursor = at == list.selected;
        row(&columns, &history[place], place, cursor, (table, data))
    };
    canvas.draw_list(inner, list, table.len(), selected.is_some(), row)
}

/// Why the table is empty.
fn nothing(table: &Table, data: ScreenData) -> String {
    let decide = how_to_decide(data);
    let is_filtered = !table.filter.is_empty();
    match (
        data.repository.loaded,
        data.repository.experiments.is_empty(),
    ) {
        (false, _) => "reading …".to_owned(),
        (true, true) => format!("no experiment yet: {decide}"),
        (true, false) if !is_filtered && table.is_of_one_problem() => format!(
            "no experiment of this problem yet: {decide}. {} shows those of all problems ({})",
            data.way(Action::AllProblems),
            thousands(table.of_others as f64)
        ),
        (true, false) => format!(
            "no experiment matches the filter: {} clears it",
            data.way(Action::Close)
        ),
    }
}

/// How many experiments there are, of which problems, and their order. `all_key` shows those of all
/// problems.
fn note(table: &Table, data: ScreenData) -> String {
    let all_key = data.appearance.keymap.key(Action::AllProblems);
    let all = table.experiments;
    let (others, is_of_one) = (table.of_others, table.is_of_one_problem());
    let sort = table.sort;
    let order = format!(
        "by {} {}",
        columns::name(sort.column, data),
        arrow(sort.descending)
    );
    let scope = match (others, is_of_one) {
        (0, _) => String::new(),
        (_, true) if all_key.is_empty() => " of this problem".to_owned(),
        (_, true) => format!(
            " of this problem ({all_key}: all {})",
            thousands(all as f64)
        ),
        (_, false) => " of all problems".to_owned(),
    };
    let device = table.device.as_ref().and_then(|(name, _)| name.as_deref());
    let on = device.map(|name| format!(" on {}", in_short(name)));
    let filter = &table.filter;
    let mut count = thousands(table.shown as f64);
    if !filter.is_empty() {
        let of = if is_of_one { all - others } else { all };
        count += &format!(" of {}", thousands(of as f64));
    }
    let scope = scope + &printable(&on.unwrap_or_default());
    joined([count + &scope, printable(filter.text()), order])
}

/// Draws the line that is typed into at the foot; below it what is wrong with it, or what can be
/// typed. Returns the area above.
fn draw_filter(frame: &mut Frame, area: Rect, input: &Input, problem: Option<&str>) -> Rect {
    let (text, style) = match problem {
        Some(problem) => (format!("✗ {}", printable(problem)), BAD),
        None => {
            let fields = FIELDS.join(":, ");
            (
                format!("words, {fields}:, >150k, <2M; ! before one: not"),
                QUIET,
            )
        }
    };
    let lines = wrap_to(&text, usize::from(area.width), 2);
    let taken = (lines.len() as u16 + 1).min(area.height);
    let parts = [Constraint::Fill(1), Constraint::Length(taken)];
    let [above, below] = Layout::vertical(parts).areas(area);
    draw_input(frame, row_of(below, below.y), "filter› ", input);
    let lines = lines.into_iter().map(|line| Line::styled(line, style));
    draw_rows(frame, below, std::iter::once(Line::default()).chain(lines));
    above
}

fn row(
    columns: &[TableColumn<Column>],
    experiment: &Experiment,
    place: usize,
    is_selected: bool,
    (table, data): (&Table, ScreenData),
) -> Line<'static> {
    let facts = table.facts(place).cloned().unwrap_or_default();
    let is_marked = table.is_marked(&experiment.key());
    let gutter = vec![
        Span::styled(if is_selected { "▸" } else { " " }, KEY),
        Span::styled(if is_marked { "◆" } else { " " }, KEY),
    ];
    let shows = |column| columns.iter().any(|shown| shown.column == column);
    let cells = columns.iter().map(|&TableColumn { column, width, .. }| {
        let cell = match column {
            Column::Description => cells::description(
                experiment,
                &facts,
                width,
                [Column::Problem, Column::Device].map(shows),
            ),
            _ => cells::text(column, width, experiment, (&facts, data)),
        };
        let style = cells::style(column, experiment, &facts);
        (cell, style)
    });
    table_row(gutter, columns, cells)
}
