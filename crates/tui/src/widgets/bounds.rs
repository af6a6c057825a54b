//! The lower bounds of a kernel's time: the floor, which no kernel can beat, and the estimate of
//! the stated algorithm.

use crate::format;
use lab_history::bounds::has_several;
use lab_protocol::report::{Report, attribute};

/// The result lines about bounds.
pub const KEYS: [&str; 3] = ["floor_us", "estimate_us", "of_estimate"];

/// `63 % of the estimate (4 exchanges, 6.10 µs) · floor 0.70 µs`. `None` where the harness gives no
/// estimate, and of several workloads.
pub fn describe(report: &Report) -> Option<String> {
    if has_several(report) {
        return None;
    }
    let estimate = format::count(report.number("estimate_us")?);
    let of_estimate = report.number("of_estimate")?.round();
    let is_beaten = of_estimate > 100.0;
    let of_estimate = format::count(of_estimate);
    let of_estimate = of_estimate.strip_suffix(".00").unwrap_or(&of_estimate);
    let exchanges = report
        .value("estimate_us")
        .and_then(|value| attribute(value, "exchanges"));
    let exchanges = exchanges.and_then(|count| count.parse::<u32>().ok());
    let counted = match exchanges {
        None | Some(0) => String::new(),
        Some(1) => "1 exchange, ".to_owned(),
        Some(count) => format!("{count} exchanges, "),
    };
    let floor = report
        .number("floor_us")
        .map(|floor| format!(" · floor {} µs", format::count(floor)));
    let of_estimate = if is_beaten {
        "faster than the estimate".to_owned()
    } else {
        format!("{of_estimate} % of the estimate")
    };
    Some(format!(
        "{of_estimate} ({counted}{estimate} µs){}",
        floor.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_of_one_workload_and_not_beaten() {
        let shown = |log: &str| {
            let report = Report::read(log);
            let names = lab_history::bounds::reference_lines(
                &report,
                &lab_project::objective::Objective::KernelTime,
            );
            let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
            (describe(&report).unwrap_or_default(), names.join(", "))
        };
        let slow = "kernel_us: 10\nfloor_us: 2\nestimate_us: 6.1\nof_estimate: 61\n";
        assert_eq!(
            shown(slow),
            (
                "61 % of the estimate (6.10 µs) · floor 2.00 µs".to_owned(),
                "floor 2, estimate 6.1".to_owned()
            )
        );
        let fast = "kernel_us: 5\nfloor_us: 2\nestimate_us: 6.1\nof_estimate: 122\n";
        assert_eq!(
            shown(fast),
            (
                "faster than the estimate (6.10 µs) · floor 2.00 µs".to_owned(),
                "floor 2".to_owned()
            )
        );
        let several = format!("workload: n=1 kernel_us=1\nworkload: n=2 kernel_us=9\n{slow}");
        assert_eq!(shown(&several), Default::default());
    }
}
