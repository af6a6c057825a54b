//! The roofline as a chart: both axes logarithmic, this kernel and the incumbent below the limits.

use crate::text::wrap;
use crate::theme::Theme;
use lab_core::profile::facts::{bytes, flops, percent};
use lab_core::profile::roofline::{self, Roofline};
use lab_core::text::figures::figure;
use lab_protocol::profile::Profile;
use ratatui::text::{Line, Span};

/// Most columns and rows of the chart; below the least number of columns there is none.
const COLUMNS: usize = 64;
const LEAST: usize = 30;
const ROWS: usize = 8;

/// The chart and its sentences; empty where the report lacks a figure.
pub fn rows(
    profile: &Profile,
    incumbent: Option<&Profile>,
    columns: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let Some(own) = roofline::of(profile) else { return Vec::new() };
    let other = incumbent.and_then(roofline::of);
    let mut out =
        if columns >= LEAST { chart(&own, other.as_ref(), columns.min(COLUMNS), theme) } else { Vec::new() };
    let mut texts = vec![format!("● this kernel: {}", words(&own))];
    texts.extend(other.as_ref().map(|other| format!("○ incumbent: {}", words(other))));
    texts.push(format!("limits: {} {}, DRAM {}/s", own.pipe, flops(own.peak), bytes(own.bandwidth)));
    out.extend(texts.iter().flat_map(|text| wrap(text, columns)).map(Line::from));
    out
}

fn words(roof: &Roofline) -> String {
    let limit = if roof.is_memory_bound() { "DRAM" } else { &roof.pipe };
    format!(
        "{} at {} FLOP a byte, {} of what {limit} allows there",
        flops(roof.achieved),
        figure(roof.intensity),
        percent(100.0 * roof.achieved / roof.roof())
    )
}

/// The limit as a line of dots. Two decades around the points and the ridge are shown.
fn chart(own: &Roofline, other: Option<&Roofline>, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let points = || [Some((own, '●')), other.map(|other| (other, '○'))].into_iter().flatten();
    let ridge = own.peak / own.bandwidth;
    let intensities = points().map(|(roof, _)| roof.intensity).chain([ridge]);
    let (least, most) = bounds(intensities.map(f64::log10));
    let (left, right) = (least - 0.5, most + 0.5);
    let lowest = points().map(|(roof, _)| roof.achieved.log10()).fold(f64::INFINITY, f64::min);
    let (bottom, top) = (lowest - 0.3, own.peak.log10() + 0.1);
    let column = |intensity: f64| place((intensity.log10() - left) / (right - left), columns);
    let row = |rate: f64| ROWS - 1 - place((rate.log10() - bottom) / (top - bottom), ROWS);
    let mut cells = vec![vec![' '; columns]; ROWS];
    let limit_at = |at: usize| {
        let intensity = 10_f64.powf(left + (right - left) * (at as f64 + 0.5) / columns as f64);
        own.peak.min(intensity * own.bandwidth)
    };
    for (at, limit) in (0..columns).map(limit_at).enumerate() {
        if limit.log10() >= bottom {
            cells[row(limit)][at] = '·';
        }
    }
    // This kernel last: where both are in one cell it is the one to see.
    for (roof, sign) in points().collect::<Vec<_>>().into_iter().rev() {
        cells[row(roof.achieved)][column(roof.intensity)] = sign;
    }
    let styled = |cells: Vec<char>| {
        let spans = cells.into_iter().map(|cell| match cell {
            '●' => Span::styled("●", theme.accent()),
            '○' => Span::styled("○", theme.strong()),
            other => Span::styled(other.to_string(), theme.quiet()),
        });
        Line::from(spans.collect::<Vec<_>>())
    };
    cells.into_iter().map(styled).collect()
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

/// The cell of a fraction; what lies outside is in the first or the last one.
fn place(fraction: f64, cells: usize) -> usize {
    ((fraction.clamp(0.0, 1.0) * cells as f64) as usize).min(cells - 1)
}
