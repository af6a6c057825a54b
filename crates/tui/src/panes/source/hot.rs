//! What a profile says about the kernel's lines: the part of the gutter with samples, main stall
//! and excess sectors.

use crate::prelude::*;
use lab_history::profile::facts;
use lab_history::profile::lines::{HOT, main_stall, shares};
use lab_protocol::profile::{Profile, ProfiledLine};
use lab_text::figures::count;
use std::collections::BTreeMap;
use std::path::Path;

/// Least percent of all samples for a line that has a cell.
const SHOWN: f64 = 0.5;

/// Columns of the samples, the stall and the excess sectors, each with a blank.
const SAMPLES: usize = 5;
const STALL: usize = 20;
const EXCESS: usize = 9;

/// Least columns of the pane for the stall, and for the excess sectors too.
const WITH_STALL: u16 = 100;
const WITH_EXCESS: u16 = 140;

#[derive(Clone, Debug)]
struct Mark {
    /// Of all samples.
    percent: f64,
    profiled: ProfiledLine,
}

impl Mark {
    fn excess(&self) -> u64 {
        self.profiled.excess_sectors.unwrap_or(0)
    }
}

/// The profiled lines of the kernel, from 0.
#[derive(Clone, Debug, Default)]
pub struct HotLines {
    lines: BTreeMap<usize, Mark>,
}

impl HotLines {
    /// The lines of `kernel` in a profile of these very bytes.
    pub fn of(profile: &Profile, kernel: &str) -> Self {
        let of_kernel = shares(profile).filter(|hot| Path::new(kernel).ends_with(&hot.line.file));
        let lines = of_kernel.filter_map(|hot| {
            let mark = Mark {
                percent: hot.percent,
                profiled: hot.line.clone(),
            };
            let is_shown = mark.percent >= SHOWN || mark.excess() > 0;
            is_shown.then_some(((hot.line.line as usize).checked_sub(1)?, mark))
        });
        HotLines {
            lines: lines.collect(),
        }
    }

    /// The lines at which the keys for the next and the previous mark stop, in their order.
    pub fn stops(&self) -> impl Iterator<Item = usize> + '_ {
        let hot = self
            .lines
            .iter()
            .filter(|(_, mark)| mark.percent >= HOT || mark.excess() > 0);
        hot.map(|(line, _)| *line)
    }

    /// Columns of the cells in a pane of this width; 0 without a profile.
    pub(super) fn columns(&self, pane: u16) -> usize {
        match pane {
            _ if self.lines.is_empty() => 0,
            WITH_EXCESS.. => SAMPLES + STALL + EXCESS,
            WITH_STALL.. => SAMPLES + STALL,
            _ => SAMPLES,
        }
    }

    /// The cell of a line, exactly so many columns wide, and whether the line is hot.
    pub(super) fn cell(&self, line: usize, columns: usize) -> (String, bool) {
        let Some(mark) = self.lines.get(&line) else {
            return (" ".repeat(columns), false);
        };
        let mut cell = format!("{:>3.0}% ", mark.percent);
        if columns >= SAMPLES + STALL {
            let stall = main_stall(&mark.profiled).map(|reason| printable(facts::reason(reason)));
            cell += &pad(&stall.unwrap_or_default(), STALL - 1);
            cell.push(' ');
        }
        if columns >= SAMPLES + STALL + EXCESS {
            let excess = match mark.excess() {
                0 => String::new(),
                sectors => format!("+{}", lab_text::figures::short(sectors as f64)),
            };
            cell += &pad_left(&excess, EXCESS - 1);
            cell.push(' ');
        }
        (
            pad(&cell, columns),
            mark.percent >= HOT || mark.excess() > 0,
        )
    }

    /// What the title says of them; nothing without a profile.
    pub(super) fn note(&self, columns: usize) -> String {
        match (self.stops().count(), columns) {
            (0, _) => String::new(),
            (hot, SAMPLES) => format!("{hot} hot lines: samples"),
            (hot, columns) if columns < SAMPLES + STALL + EXCESS => {
                format!("{hot} hot lines: samples, main stall")
            }
            (hot, _) => format!("{hot} hot lines: samples, main stall, excess sectors"),
        }
    }

    /// The instructions of a line as text: its samples by reason, then its instructions in their
    /// order. `None` for a line that was not profiled.
    pub fn listing(&self, line: usize) -> Option<Vec<String>> {
        let mark = self.lines.get(&line)?;
        let profiled = &mark.profiled;
        let mut rows = vec![format!("{:.1} % of all samples", mark.percent)];
        let share = |samples: u64| 100.0 * samples as f64 / profiled.samples.max(1) as f64;
        rows.extend(profiled.stalls.iter().take(3).map(|(reason, samples)| {
            let reason = facts::reason(reason);
            let meaning = facts::meaning(reason)
                .map(|words| format!(": {words}"))
                .unwrap_or_default();
            printable(&format!("{:>3.0} % {reason}{meaning}", share(*samples)))
        }));
        if mark.excess() > 0 {
            rows.push(format!(
                "{} sectors beyond what the addresses need",
                count(mark.excess() as f64)
            ));
        }
        rows.push(String::new());
        let mut shown: Vec<_> = profiled.sass.iter().collect();
        shown.sort_by_key(|instruction| instruction.address);
        rows.extend(shown.iter().map(|of| {
            let stall = of
                .stall
                .as_deref()
                .map(|reason| format!(" · {}", facts::reason(reason)));
            let stall = stall.unwrap_or_default();
            printable(&format!(
                "{:>3.0} % {:#06x} {}{stall}",
                share(of.samples),
                of.address,
                of.text
            ))
        }));
        if profiled.sass.is_empty() {
            rows.push("the profile has no instructions of this line".to_owned());
        }
        Some(rows)
    }
}
