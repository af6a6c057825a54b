//! Two experiments side by side: results, gates, workloads and measurements, and the diff between
//! their kernels.

use super::details::changes;
use super::pair_table::{PairTable, of_either, side_by_side};
use super::{peers, workloads};
use crate::diff::DiffView;
use crate::prelude::*;
use crate::state::Setup;
use crate::widgets::evidence::{gate_texts, value_text};
use jiff::tz::TimeZone;
use lab_history::details::{Compared, ComparedProfiles};
use lab_protocol::report::wrong_cells::is_drawn;
use lab_protocol::report::{Gate, Report};
use lab_run::chosen::ChosenMeasure;
use lab_run::experiment::Experiment;
use lab_run::record::Record;

/// Two experiments that are compared, and how their figures are said.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// As the history lists them; `None` of one that it does not list, as a run that nobody decided.
    pub experiments: [Option<&'a Experiment>; 2],
    pub setup: &'a Setup,
    pub zone: &'a TimeZone,
    pub columns: usize,
}

/// What was measured of the two, and the diffs between their kernels and their machine code.
pub fn sections<'a>(
    both: &'a Compared,
    [kernel, code]: [&'a DiffView; 2],
    around: &str,
    sides: Sides,
) -> Vec<Section<'a>> {
    let records = both.records.each_ref();
    let reports = records.map(|r| r.as_ref().map(Record::report).unwrap_or_default());
    let table = sides.table();
    let marked = PairTable {
        marks: true,
        ..table
    };
    let is_comparable = both.ratio().is_ok();
    let workloads = workloads::lines(&reports, is_comparable, table);
    let beside = peers::side_by_side(sides.experiments, table);
    let title = joined(["from the first kernel to the second", around]);
    let mut all = vec![
        Section::new("", head(both, sides)),
        Section::new("ratio, the second over the first", ratio(both, sides)),
        // What changed comes before what came of it.
        changes(&both.diff, kernel, title, sides.columns),
        Section::new("gates", gates(&reports, marked)),
        Section::new("workloads", workloads),
        Section::new("beside the peers", beside),
        Section::new("measured", measures(&reports, marked)),
    ];
    all.extend(profile(both, code, sides));
    all
}

/// What moved from one profile to the other, and what changed in the machine code.
pub fn profile<'a>(both: &'a Compared, code: &'a DiffView, sides: Sides) -> [Section<'a>; 2] {
    let title = "from the first machine code to the second".to_owned();
    let code = match &both.profiles {
        ComparedProfiles::Moved { code: changed, .. } => {
            changes(changed, code, title, sides.columns)
        }
        _ => Section::new("", Vec::new()),
    };
    [
        Section::new("profile, what moved", moved(both, sides)),
        code,
    ]
}

impl Sides<'_> {
    fn table(self) -> PairTable {
        PairTable {
            columns: self.columns,
            marks: false,
        }
    }
}

fn head(both: &Compared, sides: Sides) -> Lines {
    let Sides {
        experiments,
        setup,
        zone,
        ..
    } = sides;
    let table = sides.table();
    let names = both.keys.each_ref();
    let names = names.map(|key| (printable(&key.to_string()), ACCENT));
    let status = std::array::from_fn(|at| {
        let record = both.records[at].as_ref();
        match (experiments[at], record.and_then(|it| it.verdict.as_ref())) {
            (Some(e), _) => (decided(e.row.status), style::experiment(e.row.status)),
            // Nobody decided the run.
            (None, Some(verdict)) => (
                format!("{} {}", verdict.sign(), verdict.word()),
                style::verdict(verdict.outcome),
            ),
            (None, None) => (String::new(), TEXT),
        }
    });
    let cells = |of: &dyn Fn(&Experiment) -> Option<String>| {
        experiments.map(|e| e.and_then(of).unwrap_or_default())
    };
    let described = cells(&|e| Some(printable(&e.row.description)));
    let described = described.map(|text| wrap(&text, table.cell_columns().max(8)));
    let described_row = |at: usize| {
        let label = if at == 0 { "description" } else { "" };
        let texts = described.each_ref().map(|rows| rows.get(at).cloned());
        table.plain(label, texts.map(Option::unwrap_or_default))
    };
    let plain = |label, of: &dyn Fn(&Experiment) -> Option<String>| table.plain(label, cells(of));
    let measure = common_measure(experiments);
    let objective = &setup.objective;
    let objective = measure.map_or_else(|| objective.clone(), ChosenMeasure::objective);
    let figures = figures_of(experiments, measure).map(|figure| (figure, STRONG));
    let times = experiments.map(|e| e.and_then(|e| time_beside(e, setup)));
    let mut out = vec![table.row("", names), table.row("status", status)];
    out.extend((0..).map_while(described_row));
    out.extend(plain("when", &|e| {
        e.decided.map(|at| format::date(at, zone))
    }));
    out.extend(plain("run", &|e| e.run.map(|run| run.to_string())));
    let foreign = std::array::from_fn(|at| is_foreign(both, sides, at).then_some(FOREIGN));
    out.extend(table.plain("whose", foreign.map(|it| it.unwrap_or_default().to_owned())));
    out.extend(plain("device", &|e| e.device.as_deref().map(printable)));
    out.push(table.row(&printable(objective.heading()), figures));
    out.extend(table.plain("kernel µs", side_by_side(times, format::count)));
    out.extend(plain("vs incumbent", &|e| {
        e.measured.change.map(|change| setup.in_words(&change))
    }));
    out
}

/// What is said of figures that nobody here vouches for.
const FOREIGN: &str = "foreign";

/// Whether the figures of one of the two are foreign. The history knows also rows that say more than their records.
fn is_foreign(both: &Compared, sides: Sides, at: usize) -> bool {
    let of_record = || both.records[at].as_ref().is_some_and(Record::is_foreign);
    sides.experiments[at].map_or_else(of_record, |experiment| experiment.foreign)
}

/// The measure that the problem chose, if it is the same for both; `None` is the objective, which
/// every row has.
fn common_measure(experiments: [Option<&Experiment>; 2]) -> Option<ChosenMeasure> {
    let [a, b] = experiments.map(|e| e.and_then(Experiment::measure));
    a.filter(|a| Some(*a) == b)
}

/// Both figures, as in `165,210 (164,880 … 165,540)`.
fn figures_of(
    experiments: [Option<&Experiment>; 2],
    measure: Option<ChosenMeasure>,
) -> [String; 2] {
    let value = |e: Option<&Experiment>| e.and_then(|e| e.figure_of(measure));
    let values = side_by_side(experiments.map(value), format::count);
    let text = |e: Option<&Experiment>, number: &str| {
        let experiment = e?;
        if experiment.figure().is_none() {
            return Some(figure(experiment, usize::MAX));
        }
        let shown = match measure {
            Some(_) => experiment.measured.shown(),
            None => experiment.measured.objective,
        };
        let ends = shown.and_then(|shown| shown.low.zip(shown.high));
        let ends = value(e).and_then(|value| format::measure(value, ends).1);
        let ends = ends.map_or_else(String::new, |ends| format!(" {ends}"));
        let about = if experiment.emulated { "~" } else { "" };
        Some(format!("{about}{number}{ends}"))
    };
    std::array::from_fn(|at| text(experiments[at], &values[at]).unwrap_or_default())
}

/// What moved from one profile to the other, the largest move first.
fn moved(both: &Compared, sides: Sides) -> Lines {
    let table = sides.table();
    let quiet = |text: &str| paragraph(text, table.columns, QUIET);
    match &both.profiles {
        ComparedProfiles::Neither => Vec::new(),
        ComparedProfiles::Not(why) => quiet(why),
        ComparedProfiles::Moved { moved, caution, .. } => {
            let mut out = caution.as_deref().map(quiet).unwrap_or_default();
            if moved.is_empty() {
                out.extend(quiet("every figure is the same"));
            }
            out.extend(moved.iter().filter_map(|of| {
                let by = of.by.map(|by| format!(" ({})", by.words()));
                let after = format!("{}{}", of.after, by.unwrap_or_default());
                table.plain(&of.what, [of.before.clone(), after])
            }));
            out
        }
    }
}

/// The ratio of the two figures. They come from different runs, and the text says so.
fn ratio(both: &Compared, sides: Sides) -> Lines {
    let quiet = |text: &str| paragraph(text, sides.columns, QUIET);
    let change = match both.ratio() {
        Ok(change) => change,
        Err(why) => {
            let mut out = quiet(&format!("none: {why}"));
            if !both.rules.is_empty() {
                let text = format!(
                    "The two were judged by different rules ({}): their figures do not compare.",
                    both.rules.join(", ")
                );
                out.extend(prefixed("! ", &text, sides.columns, WARN));
            }
            return out;
        }
    };
    let mut words = sides.setup.in_words(&change);
    if let Some(caution) = both.caution() {
        words += &format!(", {caution}");
    }
    let mut out = paragraph(&words, sides.columns, STRONG);
    if let Some(workloads) = both.common_workloads() {
        let figure = match workloads {
            1 => "Of the workload".to_owned(),
            several => format!("Geometric mean of the {several} workloads"),
        };
        out.extend(quiet(&format!(
            "{figure} that both timed: the two did not judge the same ones."
        )));
    }
    out.extend(quiet(&match both.unnamed() {
        _ if both.is_in_turns() => "One run timed the two in turns.".to_owned(),
        Some(key) => format!(
            "{key} was timed in turns with an incumbent that its record does not name. The ratio is that of two runs: \
             clocks and heat may be in it."
        ),
        None => "Each was measured in its own run, not in turns with the other: clocks and heat may be in it."
            .to_owned(),
    }));
    out
}

/// The gates of both, each with its own value and limit.
fn gates(reports: &[Report; 2], table: PairTable) -> Lines {
    let of: [Vec<Gate>; 2] = reports.each_ref().map(Report::gates);
    let row = |name: &str| {
        let pair = of
            .each_ref()
            .map(|gates| gates.iter().find(|g| g.name == name));
        let ends = |gate: Option<&Gate>| gate.map_or([f64::NAN; 2], |g| [g.value, g.limit]);
        let ([a, a_limit], [b, b_limit]) = (ends(pair[0]), ends(pair[1]));
        // The values are told apart from each other and from their limits.
        let texts = gate_texts(name, [a, a_limit, b, b_limit]);
        let cell = |at: usize| match (pair[at], &texts[2 * at], &texts[2 * at + 1]) {
            (None, ..) => ("·".to_owned(), QUIET),
            (Some(gate), value, limit) if gate.passes() => (format!("✓ {value} ≤ {limit}"), TEXT),
            (Some(_), value, limit) => (format!("✗ {value} > {limit}"), BAD),
        };
        table.row(name, [cell(0), cell(1)])
    };
    let names = of_either(of.iter().flatten().map(|gate| &*gate.name));
    names.into_iter().map(row).collect()
}

/// The numbers of both that are no gates.
fn measures(reports: &[Report; 2], table: PairTable) -> Lines {
    let is_measure = |report: &Report, key: &str| {
        let is_gate = report.value(key).is_some_and(|v| v.contains("limit="));
        // The comparison with the incumbent is in the head.
        let is_shown = matches!(
            key,
            "stage" | "progress" | "correctness" | "speed_ratio" | "speed"
        );
        !is_gate && !is_shown && !is_drawn(key) && report.number(key).is_some()
    };
    let keys = reports.iter().flat_map(|report| {
        let keys = report.entries().map(|(key, _)| key);
        keys.filter(|key| is_measure(report, key))
    });
    let row = |key: &str| {
        let values = reports.each_ref().map(|r| r.number(key));
        let texts = reports.each_ref().map(|r| r.value(key).map(value_text));
        let texts = match values {
            [Some(a), Some(b)] if a != b && texts[0] == texts[1] => {
                format::distinct([a, b], format::count)
            }
            _ => texts.map(Option::unwrap_or_default),
        };
        table.plain(key, texts)
    };
    of_either(keys).into_iter().filter_map(row).collect()
}
