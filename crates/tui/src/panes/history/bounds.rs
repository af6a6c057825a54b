//! How near the last verdict comes to what the device could do, in one row.

use super::super::super::app::{App, Running};
use super::super::super::format;
use lab_core::objective::Objective;
use lab_protocol::report::{Report, attribute};
use ratatui::text::Line;

/// The result lines that the row is made of.
pub const KEYS: [&str; 3] = ["floor_us", "estimate_us", "of_estimate"];

/// `63 % of the estimate (4 exchanges, 6.10 µs) · floor 0.70 µs`. Of the run that goes on where it has come so
/// far, else of the last.
pub fn line(app: &App) -> Option<Line<'static>> {
    let words = match (&app.running, &app.last) {
        (Running::Live(live), _) if live.report.value("of_estimate").is_some() => in_words(&live.report),
        (_, Some(last)) => in_words(&last.report),
        _ => None,
    };
    words.map(|words| Line::styled(format!("  {words}"), app.theme.quiet()))
}

/// Floor and estimate as figures of the objective, with their names: where the objective is a speed or a time.
pub fn levels(app: &App) -> Vec<(f64, String)> {
    let Some(last) = &app.last else { return Vec::new() };
    let report = &last.report;
    let objective = &app.setup.objective;
    let level = |key: &str, name: &str| {
        let bound = report.number(key).filter(|us| *us > 0.0)?;
        let at = match objective {
            Objective::KernelTime => bound,
            // What a launch counts is the same in both: speeds are to each other as the times are.
            Objective::Throughput => report.number(objective.name())? * report.number("kernel_us")? / bound,
            Objective::Other(_) => return None,
        };
        at.is_finite().then(|| (at, format!("{name} {}", format::short(at))))
    };
    [level("floor_us", "floor"), level("estimate_us", "estimate")].into_iter().flatten().collect()
}

pub fn in_words(report: &Report) -> Option<String> {
    let estimate = format::count(report.number("estimate_us")?);
    let of_estimate = format::count(report.number("of_estimate")?.round());
    let of_estimate = of_estimate.strip_suffix(".00").unwrap_or(&of_estimate);
    let exchanges = report.value("estimate_us").and_then(|value| attribute(value, "exchanges"));
    let exchanges = exchanges.and_then(|count| count.parse::<u32>().ok());
    let counted = match exchanges {
        None | Some(0) => String::new(),
        Some(1) => "1 exchange, ".to_owned(),
        Some(count) => format!("{count} exchanges, "),
    };
    let floor = report.number("floor_us").map(|floor| format!(" · floor {} µs", format::count(floor)));
    Some(format!("{of_estimate} % of the estimate ({counted}{estimate} µs){}", floor.unwrap_or_default()))
}
