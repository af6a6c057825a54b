//! A series as a strip of blocks under its gate: where along the steps the difference lies, how
//! near the value is to the limit, and which step is the worst.

use crate::chart::SymbolSet;
use crate::format;
use crate::text::width;
use crate::theme::style::{ACCENT, BAD, Meaning, WARN};
use lab_protocol::report::{Gate, Report, peak};
use ratatui::text::{Line, Span};

/// Least cells of a strip: the text beside it is shortened before the strip is.
const STRIP: usize = 16;

/// A difference of at least this share of the limit is highlighted.
const NEAR: f64 = 0.5;

/// The points as blocks. Where there are more points than cells a cell shows its largest, so that
/// no peak is lost. A full block is half the limit or more, and each lower block half as much; a
/// blank is no difference, `✗` a difference beyond the limit or NaN. The worst step follows by
/// name: `worst: step 731, 2.1e-6 of 3.0e-5 limit`.
pub fn line(
    report: &Report,
    gate: &Gate,
    series: &str,
    columns: usize,
    symbols: SymbolSet,
) -> Option<Line<'static>> {
    let points = report.series(series).filter(|points| points.len() > 1)?;
    let cells = report.series_cells(series).unwrap_or(points.len());
    let [short, whole] = worst(report, gate, &points, cells);
    let words = [
        format!("  0…{}  {whole}", cells - 1),
        format!("  {short}"),
        String::new(),
    ];
    let room = columns.saturating_sub(2);
    let words = words
        .into_iter()
        .find(|words| room >= STRIP.min(points.len()) + width(words))
        .unwrap_or_default();
    let room = room.saturating_sub(width(&words)).clamp(1, 96);
    let stretch = points.len().div_ceil(room).max(1);
    let mut spans = vec![Span::raw("  ")];
    for value in points.chunks(stretch).map(peak) {
        let is_bad = value.is_nan() || gate.limit.is_nan() || value > gate.limit;
        let style = match value / gate.limit {
            _ if is_bad => BAD,
            share if share >= NEAR => WARN,
            _ => ACCENT,
        };
        let sign = if is_bad {
            symbols.pick("✗", "x")
        } else {
            symbols.filled(height(value, gate.limit))
        };
        spans.push(Span::styled(sign.to_owned(), style));
    }
    spans.push(words.quiet());
    Some(Line::from(spans))
}

/// `worst: step 731`, and `worst: step 731, 2.1e-6 of 3.0e-5 limit`. Where the harness names no
/// place, it is the number of the series' highest point. Without any difference no place is the
/// worst: `no difference (limit 3.0e-5)`.
pub fn worst(report: &Report, gate: &Gate, points: &[f64], cells: usize) -> [String; 2] {
    if gate.value == 0.0 {
        let short = "no difference".to_owned();
        let whole = format!("{short} (limit {})", format::gate(gate.limit));
        return [short, whole];
    }
    let value = format!(
        "{} of {} limit",
        format::gate(gate.value),
        format::gate(gate.limit)
    );
    if points.is_empty() && report.place(&gate.name).is_none() {
        return ["worst".to_owned(), format!("worst: {value}")];
    }
    let place = report.place(&gate.name).unwrap_or_else(|| {
        let worst = |a: &(usize, &f64), b: &(usize, &f64)| rank(*a.1).total_cmp(&rank(*b.1));
        let at = points
            .iter()
            .enumerate()
            .rev()
            .max_by(worst)
            .map_or(0, |(at, _)| at);
        let stretch = cells.div_ceil(points.len().max(1)).max(1);
        match stretch {
            1 => at.to_string(),
            _ => {
                format!(
                    "{}…{}",
                    at.saturating_mul(stretch),
                    (at + 1).saturating_mul(stretch).min(cells) - 1
                )
            }
        }
    });
    let short = format!("worst: {}", crate::text::printable(&place));
    let whole = format!("{short}, {value}");
    [short, whole]
}

/// Orders differences; NaN counts as infinity.
fn rank(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

/// Height of a block in eighths: 8 from half the limit on, one less for each halving, at least 1.
fn height(value: f64, limit: f64) -> usize {
    if value <= 0.0 {
        return 0;
    }
    let halvings = (limit / value).log2().ceil().clamp(1.0, 8.0);
    9 - halvings as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &str, columns: usize) -> String {
        let report = Report::read(lines);
        let gate = &report.gates()[0];
        let line = line(&report, gate, "y", columns, SymbolSet::Braille);
        line.map_or(String::new(), |line| {
            line.spans.iter().map(|s| s.content.as_ref()).collect()
        })
    }

    #[test]
    fn a_block_says_how_near_the_limit_is_and_the_worst_is_named() {
        let lines = "y_diff: 0.6 limit=1 at=step~2\ny_series: 0,1e-9,0.6,0.25,0.2\n";
        assert_eq!(
            text(lines, 80),
            "   ▁█▇▆  0…4  worst: step 2, 0.6 of 1 limit"
        );
        assert_eq!(text(lines, 28), "   ▁█▇▆  worst: step 2");
        assert_eq!(text(lines, 12), "   ▁█▇▆");
    }

    #[test]
    fn peaks_survive_and_what_is_beyond_the_limit_is_marked() {
        let many: Vec<String> = (0..512)
            .map(|at| if at == 300 { "2" } else { "0.001" }.to_owned())
            .collect();
        let lines = format!(
            "y_diff: 2 limit=1\ny_series: {} cells=1024\n",
            many.join(",")
        );
        let text_of = text(&lines, 70);
        assert!(
            text_of.contains('✗') && text_of.ends_with("0…1023  worst: 600…601, 2 of 1 limit"),
            "{text_of}"
        );
        assert_eq!(
            text("y_diff: nan limit=1\ny_series: 0.1,nan\n", 40),
            "  ▅✗  0…1  worst: 1, NaN of 1 limit"
        );
        let odd = |cells| {
            text(
                &format!("y_diff: 2 limit=1\ny_series: 0,2 cells={cells}\n"),
                60,
            )
        };
        assert_eq!(
            odd("0"),
            "   ✗  0…1  worst: 1, 2 of 1 limit",
            "as many cells as points"
        );
        assert!(
            odd(&usize::MAX.to_string()).contains("worst: "),
            "no harness's number is too large"
        );
        assert_eq!(
            text("y_diff: 0 limit=0\ny_series: 0,0\n", 40),
            "      0…1  no difference (limit 0)"
        );
    }
}
