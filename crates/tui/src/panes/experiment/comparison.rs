//! Two experiments side by side: results, gates and measurements, and the diff between their kernels.

use super::details::{changes, diff_title};
use super::document::{Document, Section};
use super::{ExperimentPair, Shown};
use crate::diff::DiffView;
use crate::format;
use crate::state::ScreenSettings;
use crate::text::{fit, pad, printable, wrap};
use crate::theme::Theme;
use crate::widgets::evidence::value_text;
use crate::widgets::{figure, mark};
use lab_core::history::details::Compared;
use lab_core::objective::Objective;
use lab_core::run::experiment::Experiment;
use lab_core::run::record::Record;
use lab_protocol::report::{Gate, Report};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

pub fn sections<'a>(
    comparison: ExperimentPair<'a>,
    between: &'a DiffView,
    shown: Shown,
    columns: usize,
    appearance: &ScreenSettings,
) -> Document<'a> {
    let theme = &appearance.theme;
    let both = comparison.both;
    let reports = both.records.each_ref().map(|r| r.as_ref().map(Record::report).unwrap_or_default());
    let table = Columns { columns, theme };
    let title = diff_title("from the first kernel to the second", shown.around);
    Document::new(vec![
        Section::new("", head(comparison, &table, shown.objective, appearance)),
        Section::new("ratio, the second over the first", ratio(both, theme, columns)),
        Section::new("gates", gates(&reports, &table)),
        Section::new("measured", measures(&reports, &table)),
        changes(&both.diff, between, &title, columns, theme),
    ])
}

/// Rows of a label and two cells.
struct Columns<'t> {
    columns: usize,
    theme: &'t Theme,
}

impl Columns<'_> {
    fn label_columns(&self) -> usize {
        (self.columns / 4).clamp(8, 24)
    }

    fn cell_columns(&self) -> usize {
        self.columns.saturating_sub(self.label_columns() + 4) / 2
    }

    fn row(&self, label: &str, cells: [(String, Style); 2]) -> Line<'static> {
        let columns = self.cell_columns();
        let [(a, of_a), (b, of_b)] = cells;
        Line::from(vec![
            Span::styled(pad(label, self.label_columns()), self.theme.quiet()),
            Span::styled(format!("  {}", pad(&a, columns)), of_a),
            Span::styled(format!("  {}", fit(&b, columns)), of_b),
        ])
    }

    /// A row of two cells in plain style; `None` where both are empty.
    fn plain(&self, label: &str, cells: [String; 2]) -> Option<Line<'static>> {
        let style = self.theme.text();
        let said = cells.iter().any(|cell| !cell.is_empty());
        said.then(|| self.row(label, cells.map(|cell| (cell, style))))
    }
}

fn head(
    ExperimentPair { experiments, both }: ExperimentPair,
    table: &Columns,
    objective: &Objective,
    appearance: &ScreenSettings,
) -> Vec<Line<'static>> {
    let theme = table.theme;
    let cells_of = |of: fn(&Experiment) -> String| experiments.map(|e| e.map(of).unwrap_or_default());
    let styles = experiments.map(|e| e.map_or(theme.text(), |e| theme.experiment(e.row.status)));
    let names = both.keys.each_ref().map(|key| (printable(&key.commit).into_owned(), theme.accent()));
    let mut out = vec![table.row("", names)];
    let status = cells_of(|e| format!("{} {}", mark(e.row.status), e.row.status.word()));
    let [a, b] = status;
    out.push(table.row("status", [(a, styles[0]), (b, styles[1])]));
    let described = cells_of(|e| printable(&e.row.description).into_owned());
    let rows = described.map(|text| wrap(&text, table.cell_columns().max(8)));
    for at in 0..rows[0].len().max(rows[1].len()) {
        let label = if at == 0 { "description" } else { "" };
        out.extend(table.plain(label, rows.each_ref().map(|r| r.get(at).cloned().unwrap_or_default())));
    }
    let when = experiments
        .map(|e| e.and_then(|e| e.decided).map(|at| format::date(at, &appearance.zone)).unwrap_or_default());
    out.extend(table.plain("when", when));
    out.extend(table.plain("run", cells_of(|e| e.run.map(|run| run.to_string()).unwrap_or_default())));
    out.extend(
        table.plain("device", cells_of(|e| printable(e.device.as_deref().unwrap_or_default()).into_owned())),
    );
    let unit = printable(format::unit(objective)).into_owned();
    let [a, b] = cells_of(measure);
    out.push(table.row(&unit, [(a, theme.strong()), (b, theme.strong())]));
    out.extend(table.plain(
        "kernel µs",
        cells_of(|e| match e.row.kernel_us {
            us if us > 0.0 => format::count(us),
            _ => String::new(),
        }),
    ));
    out.extend(table.plain(
        "vs incumbent",
        cells_of(|e| e.measured.change.map(|change| change.to_string()).unwrap_or_default()),
    ));
    out
}

/// `165,210 (164,880 … 165,540)`.
fn measure(experiment: &Experiment) -> String {
    let Some(value) = experiment.figure() else { return figure(experiment) };
    let about = if experiment.emulated { "~" } else { "" };
    let ends = experiment.measured.objective.and_then(|m| m.low.zip(m.high));
    let ends = ends.map(|(low, high)| format!(" ({} … {})", format::count(low), format::count(high)));
    format!("{about}{}{}", format::count(value), ends.unwrap_or_default())
}

/// The ratio of the two figures. They come from different runs, and the text says so.
fn ratio(both: &Compared, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let (text, style) = match both.ratio() {
        Ok(change) => {
            let mut out = vec![Line::styled(change.to_string(), theme.strong())];
            let text = "Each was measured in its own run, not in turns with the other: clocks and heat may be in it.";
            out.extend(wrap(text, columns).into_iter().map(|l| Line::styled(l, theme.quiet())));
            return out;
        }
        Err(why) => (format!("none: {why}"), theme.quiet()),
    };
    wrap(&text, columns).into_iter().map(|l| Line::styled(l, style)).collect()
}

/// The gates of both, each with its own value and limit.
fn gates(reports: &[Report; 2], table: &Columns) -> Vec<Line<'static>> {
    let theme = table.theme;
    let of: [Vec<Gate>; 2] = reports.each_ref().map(Report::gates);
    let mut names: Vec<&str> = of[0].iter().map(|g| g.name.as_str()).collect();
    names.extend(of[1].iter().map(|g| g.name.as_str()).filter(|n| of[0].iter().all(|g| g.name != *n)));
    let cell = |gates: &Vec<Gate>, name: &str| match gates.iter().find(|g| g.name == name) {
        None => ("·".to_owned(), theme.quiet()),
        Some(gate) => {
            let (sign, relation, style) = match gate.passes() {
                true => ("✓", "≤", theme.text()),
                false => ("✗", ">", theme.bad()),
            };
            (format!("{sign} {} {relation} {}", format::gate(gate.value), format::gate(gate.limit)), style)
        }
    };
    names.iter().map(|name| table.row(name, of.each_ref().map(|gates| cell(gates, name)))).collect()
}

/// The numbers of both that are no gates.
fn measures(reports: &[Report; 2], table: &Columns) -> Vec<Line<'static>> {
    let is_measure = |report: &Report, key: &str| {
        let is_gate = report.value(key).is_some_and(|v| v.contains("limit="));
        // The comparison with the incumbent is in the head.
        let is_shown = matches!(key, "stage" | "progress" | "correctness" | "speed_ratio" | "speed");
        !is_gate && !is_shown && report.number(key).is_some()
    };
    let keys = |report: &Report| -> Vec<String> {
        report.entries().map(|(key, _)| key.to_owned()).filter(|key| is_measure(report, key)).collect()
    };
    let mut names = keys(&reports[0]);
    for key in keys(&reports[1]) {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    let cell = |report: &Report, key: &str| report.value(key).map(value_text).unwrap_or_default();
    let rows = names.iter().filter(|key| !key.ends_with("_series"));
    rows.filter_map(|key| table.plain(key, reports.each_ref().map(|r| cell(r, key)))).collect()
}
