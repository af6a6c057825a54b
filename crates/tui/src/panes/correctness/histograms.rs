//! Histograms of the differences, one for each gate, with the limit.

use crate::chart::{Axis, AxisId, Chart, ReferenceLine, Scale, Series, SeriesShape, SymbolSet};
use crate::format;
use crate::text::printable;
use crate::theme::Theme;
use crate::widgets::evidence::{series_name, strip};
use lab_protocol::report::{Gate, Histogram, Report};
use ratatui::prelude::*;

/// Least and most rows of a histogram, its title included.
const ROWS: (u16, u16) = (7, 14);

/// The gates that have a histogram, in their order.
fn with_histogram(report: &Report) -> Vec<(Gate, Histogram)> {
    let counts = |gate: &Gate| {
        report
            .histogram(&gate.name)
            .filter(|counts| counts.count() > 0)
    };
    report
        .gates()
        .into_iter()
        .filter_map(|gate| counts(&gate).map(|counts| (gate, counts)))
        .collect()
}

/// At least one gate has a histogram.
pub fn has_any(report: &Report) -> bool {
    !with_histogram(report).is_empty()
}

/// Draws as many histograms as fit, one below the other. The title of the last one tells how many
/// are left out.
pub fn draw(frame: &mut Frame, area: Rect, report: &Report, theme: &Theme, symbols: SymbolSet) {
    let gates = with_histogram(report);
    let fit = usize::from(area.height / ROWS.0).max(1).min(gates.len());
    if fit == 0 {
        let text = "no histogram yet: the harness prints one when it has verified";
        frame.render_widget(Line::styled(text, theme.quiet()), area);
        return;
    }
    let each = (area.height / fit as u16).min(ROWS.1);
    for (at, (gate, counts)) in (0..).zip(gates.iter().take(fit)) {
        let y = area.y + at * each;
        let more = gates.len() - fit;
        let more = if usize::from(at) + 1 == fit && more > 0 {
            format!("  ({more} more)")
        } else {
            String::new()
        };
        frame.render_widget(
            title(report, gate, &more, theme),
            Rect {
                y,
                height: 1,
                ..area
            },
        );
        // A blank row separates it from the next.
        let height = each.saturating_sub(if fit > 1 && each > ROWS.0 { 2 } else { 1 });
        chart(
            frame,
            Rect {
                y: y + 1,
                height,
                ..area
            },
            gate,
            counts,
            theme,
            symbols,
        );
    }
}

/// `✓ h0_max_diff  worst: unit 17, 2.1e-6 of 3.0e-5 limit`.
fn title(report: &Report, gate: &Gate, more: &str, theme: &Theme) -> Line<'static> {
    let (sign, style) = if gate.passes() {
        ("✓ ", theme.good())
    } else {
        ("✗ ", theme.bad())
    };
    let series = series_name(report, &gate.name);
    let points = series
        .and_then(|name| report.series(name))
        .unwrap_or_default();
    let cells = series
        .and_then(|name| report.series_cells(name))
        .unwrap_or(0);
    let [_, worst] = strip::worst(report, gate, &points, cells);
    Line::from(vec![
        Span::styled(sign, style),
        Span::styled(printable(&gate.name), theme.strong()),
        Span::styled(
            format!("  {worst}"),
            if gate.passes() { theme.text() } else { style },
        ),
        Span::styled(more.to_owned(), theme.quiet()),
    ])
}

/// Bars by size. Those beyond the limit are a series of their own; the limit is a line.
fn chart(
    frame: &mut Frame,
    area: Rect,
    gate: &Gate,
    counts: &Histogram,
    theme: &Theme,
    symbols: SymbolSet,
) {
    let bins = counts.bins().map(|(from, to, n)| (from, to, n as f64));
    // The octave that contains the limit counts as within: the gate's sign tells whether the gate
    // passed.
    let (within, beyond): (Vec<_>, Vec<_>) = bins.partition(|(from, ..)| *from <= gate.limit);
    let all = || within.iter().chain(&beyond);
    let ends = all()
        .flat_map(|(from, to, _)| [*from, *to])
        .chain([gate.limit]);
    let tallest = all().map(|(.., n)| *n).fold(1.0, f64::max);
    let over: f64 = beyond.iter().map(|(.., n)| *n).sum();
    let over = if over > 0.0 {
        format!("{} beyond the limit", format::gate(over))
    } else {
        String::new()
    };
    let series = |name, style, bars| Series {
        name,
        style,
        shape: SeriesShape::Bars(bars),
    };
    let chart = Chart {
        x: Axis::over(ends, Scale::Log).named("difference"),
        y: Axis::between(0.0, tallest, Scale::Linear),
        series: vec![
            series(over, theme.bad(), &beyond),
            series(facts(counts), theme.accent(), &within),
        ],
        reference_lines: vec![ReferenceLine {
            axis: AxisId::X,
            at: gate.limit,
            name: format!("limit {}", format::gate(gate.limit)),
            style: theme.warn(),
        }],
        cursor: None,
    };
    chart.render(area, frame.buffer_mut(), theme, symbols);
}

/// `8,192 values, 48 equal, 2 no number`.
fn facts(counts: &Histogram) -> String {
    let some = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(", {} {what}", format::gate(count as f64)),
    };
    let (equal, odd) = (
        some(counts.exact, "equal"),
        some(counts.not_finite, "no number"),
    );
    format!("{} values{equal}{odd}", format::gate(counts.count() as f64))
}
