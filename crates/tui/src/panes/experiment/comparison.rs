//! Two experiments side by side: results, gates, workloads and measurements, and the diff between
//! their kernels.

use super::details::changes;
use super::pair_table::{Columns, side_by_side};
use super::{Page, peers, workloads};
use crate::diff::DiffView;
use crate::format;
use crate::text::{printable, wrap};
use crate::widgets::document::{Document, Section};
use crate::widgets::evidence::value_text;
use crate::widgets::{Lines, figure, mark, paragraph};
use lab_history::details::{Compared, ComparedProfiles};
use lab_protocol::report::{Gate, Report};
use lab_run::chosen::ChosenMeasure;
use lab_run::experiment::Experiment;
use lab_run::record::Record;

pub fn sections<'a>(both: &'a Compared, between: &'a DiffView, page: Page) -> Document<'a> {
    let repository = page.data.repository;
    let experiments = both.keys.each_ref().map(|key| repository.experiment(key));
    let records = both.records.each_ref();
    let reports = records.map(|r| r.as_ref().map(Record::report).unwrap_or_default());
    let table = Columns::new(page.columns, page.data.theme());
    let sections = [
        ("", head(experiments, both, &table, page)),
        ("ratio, the second over the first", ratio(both, page)),
        ("gates", gates(&reports, &table)),
        (
            "workloads",
            workloads::lines(&reports, both.ratio().is_ok(), &table),
        ),
        ("beside the peers", peers::side_by_side(experiments, &table)),
        ("measured", measures(&reports, &table)),
        ("profile, what moved", profiles(both, &table, page.columns)),
    ];
    let sections = sections.map(|(title, lines)| Section::new(title, lines));
    let title = "from the first kernel to the second";
    let changes = changes(&both.diff, between, title, page);
    Document::new(sections.into_iter().chain([changes]).collect())
}

fn head(
    experiments: [Option<&Experiment>; 2],
    both: &Compared,
    table: &Columns,
    page: Page,
) -> Lines {
    let (theme, objective) = (table.theme, &page.data.setup.objective);
    let cells_of =
        |of: fn(&Experiment) -> String| experiments.map(|e| e.map(of).unwrap_or_default());
    let styles = experiments.map(|e| e.map_or(theme.text(), |e| theme.experiment(e.row.status)));
    let names = both
        .keys
        .each_ref()
        .map(|key| (printable(&key.commit), theme.accent()));
    let mut out = vec![table.row("", names)];
    let status = cells_of(|e| format!("{} {}", mark(e.row.status), e.row.status.word()));
    let [a, b] = status;
    out.push(table.row("status", [(a, styles[0]), (b, styles[1])]));
    let described = cells_of(|e| printable(&e.row.description));
    let rows = described.map(|text| wrap(&text, table.cell_columns().max(8)));
    for at in 0..rows[0].len().max(rows[1].len()) {
        let label = if at == 0 { "description" } else { "" };
        out.extend(
            table.plain(
                label,
                rows.each_ref()
                    .map(|r| r.get(at).cloned().unwrap_or_default()),
            ),
        );
    }
    let when = experiments.map(|e| {
        e.and_then(|e| e.decided)
            .map(|at| format::date(at, &page.data.appearance.zone))
            .unwrap_or_default()
    });
    out.extend(table.plain("when", when));
    out.extend(table.plain(
        "run",
        cells_of(|e| e.run.map(|run| run.to_string()).unwrap_or_default()),
    ));
    out.extend(table.plain(
        "device",
        cells_of(|e| printable(e.device.as_deref().unwrap_or_default())),
    ));
    let measure = common_measure(experiments);
    let objective = measure.map_or_else(|| objective.clone(), ChosenMeasure::objective);
    let unit = printable(objective.unit());
    let [a, b] = measures_of(experiments, measure);
    out.push(table.row(&unit, [(a, theme.strong()), (b, theme.strong())]));
    let times = experiments.map(|e| e.map(|e| e.row.kernel_us).filter(|us| *us > 0.0));
    out.extend(table.plain("kernel µs", side_by_side(times, format::count)));
    out.extend(table.plain(
        "vs incumbent",
        cells_of(|e| {
            e.measured
                .change
                .map(|change| change.to_string())
                .unwrap_or_default()
        }),
    ));
    out
}

/// The measure that the problem chose, if it is the same for both; `None` is the objective, which
/// every row has.
fn common_measure(experiments: [Option<&Experiment>; 2]) -> Option<ChosenMeasure> {
    let [a, b] = experiments.map(|e| e.and_then(Experiment::measure));
    a.filter(|a| Some(*a) == b)
}

/// Both figures, as in `165,210 (164,880 … 165,540)`.
fn measures_of(
    experiments: [Option<&Experiment>; 2],
    measure: Option<ChosenMeasure>,
) -> [String; 2] {
    let value = |e: Option<&Experiment>| e.and_then(|e| e.figure_of(measure));
    let values = side_by_side(experiments.map(value), format::count);
    let ends = experiments.map(|e| {
        let measured = e?.measured;
        let shown = if measure.is_some() {
            measured.shown()
        } else {
            measured.objective
        };
        format::measure(value(e)?, shown?.low.zip(shown?.high)).1
    });
    let [a, b] = values;
    let [ends_a, ends_b] = ends;
    let text =
        |experiment: Option<&Experiment>, value: String, ends: Option<String>| match experiment {
            Some(experiment) if experiment.figure().is_none() => figure(experiment, usize::MAX),
            Some(experiment) => {
                let about = if experiment.emulated { "~" } else { "" };
                format!(
                    "{about}{value}{}",
                    ends.map_or_else(String::new, |ends| format!(" {ends}"))
                )
            }
            None => String::new(),
        };
    let [one, other] = experiments;
    [text(one, a, ends_a), text(other, b, ends_b)]
}

/// What moved from one profile to the other, the largest move first.
fn profiles(both: &Compared, table: &Columns, columns: usize) -> Lines {
    let quiet = |text: &str| paragraph(text, columns, table.theme.quiet());
    match &both.profiles {
        ComparedProfiles::Neither => Vec::new(),
        ComparedProfiles::Not(why) => quiet(why),
        ComparedProfiles::Moved { moved, caution } => {
            let mut out = caution.as_deref().map(quiet).unwrap_or_default();
            if moved.is_empty() {
                out.extend(quiet("every figure is the same"));
            }
            out.extend(moved.iter().filter_map(|of| {
                let by = of
                    .by
                    .map(|by| format!(" ({})", by.words()))
                    .unwrap_or_default();
                table.plain(&of.what, [of.before.clone(), format!("{}{by}", of.after)])
            }));
            out
        }
    }
}

/// The ratio of the two figures. They come from different runs, and the text says so.
fn ratio(both: &Compared, page: Page) -> Lines {
    let theme = page.data.theme();
    let quiet = |text: &str| paragraph(text, page.columns, theme.quiet());
    let change = match both.ratio() {
        Ok(change) => change,
        Err(why) => return quiet(&format!("none: {why}")),
    };
    let mut out = paragraph(&change.to_string(), page.columns, theme.strong());
    if let Some(workloads) = both.common_workloads() {
        let figure = match workloads {
            1 => "Of the workload".to_owned(),
            several => format!("Geometric mean of the {several} workloads"),
        };
        out.extend(quiet(&format!(
            "{figure} that both timed: the two did not judge the same ones."
        )));
    }
    out.extend(quiet(
        "Each was measured in its own run, not in turns with the other: clocks and heat may be in it.",
    ));
    out
}

/// The gates of both, each with its own value and limit.
fn gates(reports: &[Report; 2], table: &Columns) -> Lines {
    let theme = table.theme;
    let of: [Vec<Gate>; 2] = reports.each_ref().map(Report::gates);
    let mut names: Vec<&str> = of[0].iter().map(|g| g.name.as_str()).collect();
    names.extend(
        of[1]
            .iter()
            .map(|g| g.name.as_str())
            .filter(|n| of[0].iter().all(|g| g.name != *n)),
    );
    let value = |gate: Option<&Gate>| gate.map_or(f64::NAN, |gate| gate.value);
    let limit = |gate: Option<&Gate>| gate.map_or(f64::NAN, |gate| gate.limit);
    let cells = |name: &str| {
        let [a, b] = of
            .each_ref()
            .map(|gates| gates.iter().find(|g| g.name == name));
        // The values are told apart from each other and from their limits.
        let [one, of_one, other, of_other] =
            format::distinct([value(a), limit(a), value(b), limit(b)], format::gate);
        let cell = |gate: Option<&Gate>, value: String, limit: String| match gate {
            None => ("·".to_owned(), theme.quiet()),
            Some(gate) if gate.passes() => (format!("✓ {value} ≤ {limit}"), theme.text()),
            Some(_) => (format!("✗ {value} > {limit}"), theme.bad()),
        };
        [cell(a, one, of_one), cell(b, other, of_other)]
    };
    names
        .iter()
        .map(|name| table.row(name, cells(name)))
        .collect()
}

/// The numbers of both that are no gates.
fn measures(reports: &[Report; 2], table: &Columns) -> Lines {
    let is_measure = |report: &Report, key: &str| {
        let is_gate = report.value(key).is_some_and(|v| v.contains("limit="));
        // The comparison with the incumbent is in the head.
        let is_shown = matches!(
            key,
            "stage" | "progress" | "correctness" | "speed_ratio" | "speed"
        );
        !is_gate && !is_shown && report.number(key).is_some()
    };
    let keys = |report: &Report| -> Vec<String> {
        report
            .entries()
            .map(|(key, _)| key.to_owned())
            .filter(|key| is_measure(report, key))
            .collect()
    };
    let mut names = keys(&reports[0]);
    for key in keys(&reports[1]) {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    let cells = |key: &str| {
        let texts = reports
            .each_ref()
            .map(|r| r.value(key).map(value_text).unwrap_or_default());
        let values = reports.each_ref().map(|r| r.number(key));
        match values {
            [Some(a), Some(b)] if a != b && texts[0] == texts[1] => {
                format::distinct([a, b], format::count)
            }
            _ => texts,
        }
    };
    let rows = names.iter().filter(|key| !key.ends_with("_series"));
    rows.filter_map(|key| table.plain(key, cells(key)))
        .collect()
}
