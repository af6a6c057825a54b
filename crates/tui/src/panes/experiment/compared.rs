//! Two experiments beside each other: what they came to, their gates and measures, and the diff between their kernels.

use super::super::super::app::App;
use super::super::super::format;
use super::super::super::text::{fit, pad, printable, wrap};
use super::super::super::theme::Theme;
use super::super::commits::{figure, mark};
use super::super::correctness::in_words;
use super::document::{Document, Section};
use super::whole::{changes, titled};
use lab_core::history::details::Compared;
use lab_core::run::experiment::{Experiment, Key};
use lab_core::run::record::Record;
use lab_protocol::report::{Gate, Report};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

pub fn sections<'a>(both: &'a Compared, app: &'a App, columns: usize) -> Document<'a> {
    let theme = &app.theme;
    let of = |key: &Key| app.experiment(key);
    let experiments = both.keys.each_ref().map(of);
    let reports = both.records.each_ref().map(|r| r.as_ref().map(Record::report).unwrap_or_default());
    let table = Beside { columns, theme };
    Document::new(vec![
        Section::new("", head(experiments, both, &table, app)),
        Section::new("ratio, the second over the first", ratio(both, app, columns)),
        Section::new("gates", gates(&reports, &table)),
        Section::new("measured", measures(&reports, &table)),
        changes(
            &both.diff,
            &app.panes.experiment.between,
            &titled("from the first kernel to the second", app),
            columns,
            theme,
        ),
    ])
}

/// Rows of a label and two cells.
struct Beside<'t> {
    columns: usize,
    theme: &'t Theme,
}

impl Beside<'_> {
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

    /// The same where both look alike; nothing where neither has anything to say.
    fn plain(&self, label: &str, cells: [String; 2]) -> Option<Line<'static>> {
        let style = self.theme.text();
        let said = cells.iter().any(|cell| !cell.is_empty());
        said.then(|| self.row(label, cells.map(|cell| (cell, style))))
    }
}

fn head(
    experiments: [Option<&Experiment>; 2],
    both: &Compared,
    table: &Beside,
    app: &App,
) -> Vec<Line<'static>> {
    let theme = table.theme;
    let told = |tell: fn(&Experiment) -> String| experiments.map(|e| e.map(tell).unwrap_or_default());
    let styles = experiments.map(|e| e.map_or(theme.text(), |e| theme.experiment(e.row.status)));
    let names = both.keys.each_ref().map(|key| (printable(&key.commit).into_owned(), theme.accent()));
    let mut out = vec![table.row("", names)];
    let status = told(|e| format!("{} {}", mark(e.row.status), e.row.status.word()));
    let [a, b] = status;
    out.push(table.row("status", [(a, styles[0]), (b, styles[1])]));
    // Descriptions are as long as they are.
    let described = told(|e| printable(&e.row.description).into_owned());
    let rows = described.map(|text| wrap(&text, table.cell_columns().max(8)));
    for at in 0..rows[0].len().max(rows[1].len()) {
        let label = if at == 0 { "description" } else { "" };
        out.extend(table.plain(label, rows.each_ref().map(|r| r.get(at).cloned().unwrap_or_default())));
    }
    let when = experiments
        .map(|e| e.and_then(|e| e.decided).map(|at| format::date(at, &app.zone)).unwrap_or_default());
    out.extend(table.plain("when", when));
    out.extend(table.plain("run", told(|e| e.run.map(|run| run.to_string()).unwrap_or_default())));
    out.extend(
        table.plain("device", told(|e| printable(e.device.as_deref().unwrap_or_default()).into_owned())),
    );
    let unit = printable(format::unit(&app.setup.objective)).into_owned();
    let [a, b] = told(measure);
    out.push(table.row(&unit, [(a, theme.strong()), (b, theme.strong())]));
    out.extend(table.plain(
        "kernel µs",
        told(|e| match e.row.kernel_us {
            us if us > 0.0 => format::count(us),
            _ => String::new(),
        }),
    ));
    out.extend(
        table.plain(
            "vs incumbent",
            told(|e| e.measured.change.map(|change| change.words()).unwrap_or_default()),
        ),
    );
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

/// Never more than was measured: the two were not timed in turns.
fn ratio(both: &Compared, app: &App, columns: usize) -> Vec<Line<'static>> {
    let theme = &app.theme;
    let (text, style) = match both.ratio() {
        Ok(change) => {
            let mut out = vec![Line::styled(change.words(), theme.strong())];
            let text = "Each was measured in its own run, not in turns with the other: clocks and heat may be in it.";
            out.extend(wrap(text, columns).into_iter().map(|l| Line::styled(l, theme.quiet())));
            return out;
        }
        Err(why) => (format!("none: {why}"), theme.quiet()),
    };
    wrap(&text, columns).into_iter().map(|l| Line::styled(l, style)).collect()
}

/// Every gate of either; where the limits differ each is said beside its value.
fn gates(reports: &[Report; 2], table: &Beside) -> Vec<Line<'static>> {
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

/// Every result line with an interval, or a number that is no gate, of either.
fn measures(reports: &[Report; 2], table: &Beside) -> Vec<Line<'static>> {
    let is_measure = |report: &Report, key: &str| {
        let is_gate = report.value(key).is_some_and(|v| v.contains("limit="));
        // Against the incumbent of its time each stands above.
        let is_told = matches!(key, "stage" | "progress" | "correctness" | "speed_ratio" | "speed");
        !is_gate && !is_told && report.number(key).is_some()
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
    let cell = |report: &Report, key: &str| report.value(key).map(in_words).unwrap_or_default();
    let rows = names.iter().filter(|key| !key.ends_with("_series"));
    rows.filter_map(|key| table.plain(key, reports.each_ref().map(|r| cell(r, key)))).collect()
}
