//! Histograms of the differences, one for each gate, with the limit.

use crate::chart::{Axis, AxisId, Chart, ReferenceLine, Scale, Series, SeriesShape, SymbolSet};
use crate::prelude::*;
use crate::widgets::evidence::{self, series_name, strip};
use lab_protocol::report::{Gate, Histogram, Report};

/// Least and most rows of a histogram, its title included.
const ROWS: (u16, u16) = (7, 14);

/// The gates that have a histogram, in their order.
pub fn with_histogram(report: &Report) -> Vec<(Gate, Histogram)> {
    let with_counts = |gate: Gate| {
        let counts = report.histogram(&gate.name)?;
        (counts.count() > 0).then_some((gate, counts))
    };
    report.gates().into_iter().filter_map(with_counts).collect()
}

/// Draws as many histograms as fit, one below the other. The title of the last one tells how many
/// are left out.
pub fn draw(frame: &mut Frame, area: Rect, report: &Report, symbols: SymbolSet) {
    let gates = with_histogram(report);
    let fit = usize::from(area.height / ROWS.0).max(1).min(gates.len());
    if fit == 0 {
        let text = "no histogram yet: the harness prints one when it has verified";
        draw_rows(frame, area, [Line::styled(text, QUIET)]);
        return;
    }
    let each = (area.height / fit as u16).min(ROWS.1);
    for (at, (gate, counts)) in (0..).zip(gates.iter().take(fit)) {
        let mut place = Rect {
            y: area.y + at * each,
            height: each,
            ..area
        };
        let more = match gates.len() - fit {
            more if more > 0 && usize::from(at) + 1 == fit => format!("  ({more} more)"),
            _ => String::new(),
        };
        draw_rows(frame, row_of(place, place.y), [title(report, gate, more)]);
        // A blank row separates it from the next.
        place.y += 1;
        place.height = each.saturating_sub(if fit > 1 && each > ROWS.0 { 2 } else { 1 });
        draw_chart(frame, place, gate, counts, symbols);
    }
}

/// `✓ h0_max_diff  worst: unit 17, 2.1e-6 of 3.0e-5 limit`.
fn title(report: &Report, gate: &Gate, more: String) -> Line<'static> {
    let (sign, style) = evidence::sign(gate.passes());
    let series = series_name(report, &gate.name);
    let points = series.and_then(|name| report.series(name));
    let cells = series.and_then(|name| report.series_cells(name));
    let points = points.unwrap_or_default();
    let [_, worst] = strip::worst(report, gate, &points, cells.unwrap_or(0));
    let worst_style = if gate.passes() { TEXT } else { style };
    Line::from(vec![
        Span::styled(sign, style),
        printable(&gate.name).strong(),
        Span::styled(format!("  {worst}"), worst_style),
        more.quiet(),
    ])
}

/// Bars by size. Those beyond the limit are a series of their own; the limit is a line.
fn draw_chart(frame: &mut Frame, area: Rect, gate: &Gate, counts: &Histogram, symbols: SymbolSet) {
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
            series(over, BAD, &beyond),
            series(facts(counts), ACCENT, &within),
        ],
        reference_lines: vec![ReferenceLine {
            axis: AxisId::X,
            at: gate.limit,
            name: format!("limit {}", format::gate(gate.limit)),
            style: WARN,
        }],
        cursor: None,
    };
    chart.render(area, frame.buffer_mut(), symbols);
}

/// `8,192 values, 48 equal, 2 no number`.
fn facts(counts: &Histogram) -> String {
    let some = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(", {} {what}", format::gate(count as f64)),
    };
    let equal = some(counts.exact, "equal");
    let odd = some(counts.not_finite, "no number");
    format!("{} values{equal}{odd}", format::gate(counts.count() as f64))
}
