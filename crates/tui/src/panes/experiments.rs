//! The pane Experiments: every experiment as a table, with as many columns as fit and the rows that
//! pass the filter. [`crate::table`] holds the rows and their order.

mod cells;
mod columns;

use crate::keymap::Action;
use crate::search_highlight;
use crate::state::repository::DeviceName;
use crate::state::{ScreenSettings, Setup};
use crate::table::{Column, FIELDS, Table};
use crate::text::{fit, pad, pad_left, printable, wrap_to};
use crate::theme::Theme;
use crate::views::Pane;
use crate::widgets::input::draw_input;
use crate::widgets::table_head::{GAP, GUTTER, Heading, arrow};
use crate::widgets::{ListArea, PaneSlot, table_head};
use columns::ShownColumn;
use lab_core::objective::Objective;
use lab_core::run::chosen::ChosenMeasure;
use lab_core::run::experiment::Experiment;
use lab_core::text::figures::thousands;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tui_input::Input;

#[derive(Debug)]
pub struct ExperimentsState {
    /// The history as a table: sorted, filtered, marked.
    pub table: Table,
    /// The user chose to see the experiments of all problems. The layout remembers it.
    pub all_problems: bool,
    /// The topmost visible row.
    first: usize,
}

impl Default for ExperimentsState {
    fn default() -> Self {
        ExperimentsState {
            table: Table::of_one_problem(),
            all_problems: false,
            first: 0,
        }
    }
}

impl ExperimentsState {
    /// The topmost row: scrolls as little as keeps `row` visible.
    fn first_of(&self, row: usize, rows: usize) -> usize {
        let lowest = (row + 1).saturating_sub(rows);
        self.first
            .clamp(lowest, row.max(lowest))
            .min(self.table.len().saturating_sub(1))
    }
}

/// What the pane shows.
#[derive(Clone, Copy, Debug)]
pub struct Experiments<'a> {
    /// The history that the table's rows point into.
    pub history: &'a [Experiment],
    pub loaded: bool,
    pub setup: &'a Setup,
    /// The measure that this problem chose in place of the objective.
    pub measure: Option<ChosenMeasure>,
    /// The device that was measured on last.
    pub device: Option<DeviceName<'a>>,
    /// The row of the selected experiment.
    pub selected: Option<usize>,
    /// The filter while it is typed, and what is wrong with it.
    pub filter: Option<(&'a Input, Option<&'a str>)>,
}

impl Experiments<'_> {
    /// What the column of figures holds.
    fn objective(&self) -> Objective {
        self.measure
            .map_or_else(|| self.setup.objective.clone(), ChosenMeasure::objective)
    }
}

/// Where the table was drawn.
#[derive(Clone, Debug)]
pub struct ExperimentsFit {
    first: usize,
    pub list: ListArea,
    /// The column headings, for clicks.
    pub heads: Vec<(Rect, Column)>,
}

impl ExperimentsState {
    /// Takes the fit of the frame that was drawn.
    pub fn take_fit(&mut self, fit: &ExperimentsFit) {
        self.first = fit.first;
    }
}

/// Returns where the table was drawn; `None` where there is no row.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Experiments,
    state: &ExperimentsState,
    appearance: &ScreenSettings,
) -> Option<ExperimentsFit> {
    let theme = &appearance.theme;
    let table = &state.table;
    let all_key = appearance.keymap.key(Action::AllProblems);
    let mut inner = slot.draw_title(frame, &note(table, data, &all_key), theme);
    if let Some((input, problem)) = data.filter {
        inner = draw_filter(frame, inner, input, problem, theme);
    }
    if table.is_empty() {
        let way = |action| appearance.keymap.way(action);
        let others = table.of_others();
        let is_filtered = !table.filter().is_empty();
        let text = match (data.loaded, data.history.is_empty()) {
            (false, _) => "reading …".to_owned(),
            (true, false) if !is_filtered && table.is_of_one_problem() => {
                format!(
                    "no experiment of this problem yet: {} keeps one, {} discards one. {} shows those of all problems \
                     ({})",
                    way(Action::Keep),
                    way(Action::Discard),
                    way(Action::AllProblems),
                    thousands(others as f64)
                )
            }
            (true, true) => {
                format!(
                    "no experiment yet: {} keeps one, {} discards one",
                    way(Action::Keep),
                    way(Action::Discard)
                )
            }
            (true, false) => {
                format!(
                    "no experiment matches the filter: {} clears it",
                    way(Action::Close)
                )
            }
        };
        let lines = wrap_to(&text, usize::from(inner.width), 4).into_iter();
        let lines: Vec<Line> = lines
            .map(|line| Line::styled(line, theme.quiet()))
            .collect();
        frame.render_widget(Paragraph::new(lines), inner);
        return None;
    }
    let device = data.device.and_then(|(device, _)| device);
    let shown = columns::choose(
        usize::from(inner.width).saturating_sub(GUTTER),
        device,
        table,
    );
    let mut heads = Vec::new();
    if inner.height > 2 {
        let head = Rect { height: 1, ..inner };
        heads = table_head::draw(
            frame,
            head,
            &headings(&shown, table, &data.objective()),
            theme,
        );
        inner = Rect {
            y: inner.y + 1,
            height: inner.height - 1,
            ..inner
        };
    }
    let rows = usize::from(inner.height);
    // Where no experiment is selected the topmost one counts as selected, and its details are
    // shown.
    let selected = data.selected.unwrap_or(0);
    let first = state.first_of(selected, rows);
    let count = table.len().saturating_sub(first);
    for (at, place) in table.order().iter().enumerate().skip(first).take(rows) {
        let Some(experiment) = data.history.get(*place) else {
            continue;
        };
        let line = row(
            &shown,
            experiment,
            *place,
            selected == at,
            (table, data, appearance),
        );
        let mut line = search_highlight::mark(line, slot.needle, theme);
        if selected == at && data.selected.is_some() {
            line = theme.select(line);
        }
        frame.render_widget(
            line,
            Rect {
                y: inner.y + (at - first) as u16,
                height: 1,
                ..inner
            },
        );
    }
    let list = ListArea::new(
        Pane::Experiments,
        inner,
        count,
        selected.saturating_sub(first),
    );
    Some(ExperimentsFit { first, list, heads })
}

/// How many experiments there are, of which problems, and their order. `all_key` shows those of all
/// problems.
fn note(table: &Table, data: Experiments, all_key: &str) -> String {
    let shown = thousands(table.len() as f64);
    let sort = table.sort();
    let arrow = arrow(sort.descending);
    let order = format!(
        "by {} {arrow}",
        columns::name(sort.column, &data.objective())
    );
    let others = table.of_others();
    let scope = match (others, table.is_of_one_problem()) {
        (0, _) => String::new(),
        (_, true) if all_key.is_empty() => " of this problem".to_owned(),
        (_, true) => format!(
            " of this problem ({all_key}: all {})",
            thousands(data.history.len() as f64)
        ),
        (_, false) => " of all problems".to_owned(),
    };
    match table.filter() {
        filter if filter.is_empty() => format!("{shown}{scope} · {order}"),
        filter => {
            let of = if table.is_of_one_problem() {
                data.history.len() - others
            } else {
                data.history.len()
            };
            let of = thousands(of as f64);
            format!(
                "{shown} of {of}{scope} · {} · {order}",
                printable(filter.text())
            )
        }
    }
}

/// Draws the line that is typed into at the foot; below it what is wrong with it, or what can be
/// typed. Returns the area above.
fn draw_filter(
    frame: &mut Frame,
    area: Rect,
    input: &Input,
    problem: Option<&str>,
    theme: &Theme,
) -> Rect {
    let hint = format!(
        "words, {}:, >150k, <2M; ! before one: not",
        FIELDS.join(":, ")
    );
    let (text, style) = match problem {
        Some(problem) => (format!("✗ {}", printable(problem)), theme.bad()),
        None => (hint, theme.quiet()),
    };
    let lines = wrap_to(&text, usize::from(area.width), 2);
    let taken = (lines.len() as u16 + 1).min(area.height);
    let above = Rect {
        height: area.height - taken,
        ..area
    };
    let mut at = Rect {
        y: above.bottom(),
        height: 1,
        ..area
    };
    draw_input(frame, at, "filter› ", input, theme);
    for line in lines.into_iter().take(usize::from(taken.saturating_sub(1))) {
        at.y += 1;
        frame.render_widget(Line::styled(line, style), at);
    }
    above
}

/// The headings of the columns.
fn headings(shown: &[ShownColumn], table: &Table, objective: &Objective) -> Vec<Heading<Column>> {
    let sort = table.sort();
    let heading = |&ShownColumn { column, width }: &ShownColumn| Heading {
        column,
        name: columns::name(column, objective),
        width,
        is_figure: columns::is_figure(column),
        descending: (sort.column == column).then_some(sort.descending),
    };
    shown.iter().map(heading).collect()
}

fn row(
    shown: &[ShownColumn],
    experiment: &Experiment,
    place: usize,
    is_selected: bool,
    (table, data, appearance): (&Table, Experiments, &ScreenSettings),
) -> Line<'static> {
    let theme = &appearance.theme;
    let facts = table.facts(place).cloned().unwrap_or_default();
    let is_foreign = facts.of_another_kernel || facts.on_another_device;
    let mut spans = vec![
        Span::styled(if is_selected { "▸" } else { " " }, theme.key()),
        Span::styled(
            if table.is_marked(&experiment.key()) {
                "◆"
            } else {
                " "
            },
            theme.key(),
        ),
    ];
    let shows = |column| shown.iter().any(|s| s.column == column);
    for (at, &ShownColumn { column, width }) in shown.iter().enumerate() {
        let cell = match column {
            Column::Description => cells::description(
                experiment,
                &facts,
                shows(Column::Problem),
                shows(Column::Device),
            ),
            _ => cells::text(column, width, experiment, (&facts, data), &appearance.zone),
        };
        let style = cells::style(column, experiment, is_foreign, data.setup.goal, theme);
        let cell = match column {
            Column::Description => fit(&cell, width).into_owned(),
            _ if columns::is_figure(column) => pad_left(&cell, width),
            _ => pad(&cell, width),
        };
        spans.push(Span::raw(if at > 0 { GAP } else { "" }));
        spans.push(Span::styled(cell, style));
    }
    Line::from(spans)
}
