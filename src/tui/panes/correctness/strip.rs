//! A series as a strip of blocks under its gate: where along the steps the difference lies.

use super::super::super::format;
use super::super::super::theme::Theme;
use ratatui::text::{Line, Span};

const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The points as blocks: the largest of each stretch, so that no peak is lost. The scale is from
/// nothing to the limit, or to the largest where that is far below it; a point beyond the limit
/// stands out.
pub fn line(points: &[f64], limit: f64, columns: usize, theme: &Theme) -> Line<'static> {
    let room = columns.saturating_sub(22).clamp(8, 96);
    let stretch = points.len().div_ceil(room).max(1);
    let peaks: Vec<f64> = points.chunks(stretch).map(peak).collect();
    let largest = peaks.iter().copied().filter(|p| p.is_finite()).fold(0.0, f64::max);
    let scale = if limit.is_finite() && largest > limit / 8.0 { limit.max(largest) } else { largest };
    let mut spans = vec![Span::raw("  ")];
    for value in peaks {
        let is_bad = value.is_nan() || limit.is_nan() || value > limit;
        let style = if is_bad { theme.bad() } else { theme.accent() };
        spans.push(Span::styled(block(value, scale), style));
    }
    spans
        .push(Span::styled(format!("  0…{} max {}", points.len() - 1, format::gate(largest)), theme.quiet()));
    Line::from(spans)
}

/// NaN and infinity are the worst there can be.
fn peak(part: &[f64]) -> f64 {
    part.iter()
        .copied()
        .fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

fn block(value: f64, scale: f64) -> &'static str {
    if !value.is_finite() {
        return "✗";
    }
    if scale <= 0.0 {
        return BLOCKS[0];
    }
    let step = (value.max(0.0) / scale * 7.0).round() as usize;
    BLOCKS[step.min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(points: &[f64], limit: f64) -> String {
        line(points, limit, 40, &Theme::plain()).spans.iter().map(|s| s.content.as_ref()).collect()
    }

    #[test]
    fn peaks_survive_and_bad_points_show() {
        assert_eq!(text(&[0.0, 0.5, 1.0], 1.0), "  ▁▅█  0…2 max 1");
        let mut long = vec![0.0; 512];
        long[300] = 1.0;
        assert!(text(&long, 1.0).contains('█'));
        assert_eq!(text(&[0.0, f64::NAN], 1.0), "  ▁✗  0…1 max 0");
        assert_eq!(text(&[0.0, 0.0], 1.0), "  ▁▁  0…1 max 0");
    }
}
