//! The pane Profile: what the counters of one launch say, or why there are none.

mod image;
mod roofline;

use crate::state::profiles::Profiles;
use crate::text::{pad, pad_left, printable, wrap};
use crate::theme::Theme;
use crate::widgets::text_pane::draw_text;
use crate::widgets::{PaneSlot, ScrolledText};
use jiff::Timestamp;
use lab_core::profile::facts::{self, percent};
use lab_core::profile::least;
use lab_core::text::age;
use lab_core::text::figures::{figure, thousands};
use lab_protocol::profile::{Origin, Profile};
use ratatui::Frame;
use ratatui::text::{Line, Span};

/// Columns of the names before bars and figures.
const NAMES: usize = 20;
/// Columns of a bar, and of the percentage after it.
const BAR: usize = 20;
const PERCENT: usize = 7;

/// What the pane shows.
pub struct ProfileData<'a> {
    pub profiles: &'a Profiles,
    /// The key that has a profile made.
    pub key: String,
    /// The time of day, once it is known.
    pub at: Option<Timestamp>,
    /// The files on disk are others than those of the profile.
    pub is_stale: bool,
}

/// Returns the text as it fits into the pane.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: &ProfileData,
    text: ScrolledText,
    theme: &Theme,
) -> ScrolledText {
    let note = match data.profiles.shown() {
        Some((run, _)) if data.is_stale => format!("run {run} · of other bytes than those on disk"),
        Some((run, _)) => format!("run {run}"),
        None => String::new(),
    };
    let inner = slot.draw_title(frame, &note, theme);
    let lines = rows(data, usize::from(inner.width), theme);
    draw_text(frame, slot, inner, lines, text, theme)
}

/// All rows at this width.
pub fn rows(data: &ProfileData, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let paragraph = |text: &str| -> Vec<Line<'static>> {
        wrap(&printable(text), columns)
            .into_iter()
            .map(Line::from)
            .collect()
    };
    let mut out = Vec::new();
    if data.profiles.running.is_some() {
        out.push(Line::styled("a profile is being made …", theme.accent()));
    }
    if let Some(why) = &data.profiles.failed {
        out.extend(paragraph(&format!("✗ no profile: {why}")));
    }
    match data.profiles.view.as_ref().map(|view| &view.profile) {
        Some(Ok(Some((_, profile)))) => {
            let incumbent = data
                .profiles
                .view
                .as_ref()
                .and_then(|view| view.incumbent.as_ref());
            out.extend(paragraph(&head(profile, data.at)));
            out.extend(of_profile(profile, incumbent, columns, theme));
        }
        Some(Err(why)) => out.extend(paragraph(&format!("✗ {why}"))),
        Some(Ok(None)) | None if data.profiles.running.is_none() => {
            let key = &data.key;
            out.extend(paragraph(&match data.is_stale {
                true => format!("no profile of this experiment. {key} profiles the bytes on disk, which are others: restore it first"),
                false => format!("no profile of these bytes: {key} makes one"),
            }));
        }
        Some(Ok(None)) | None => {}
    }
    out
}

/// The kernel and its workload, what made the profile and when, at which clock.
fn head(profile: &Profile, at: Option<Timestamp>) -> String {
    let mut parts = vec![
        profile.entry.clone(),
        profile.workload.clone(),
        profile.device.clone(),
    ];
    parts.extend(facts::microseconds(profile).map(|us| format!("{} µs", figure(us))));
    parts.extend(facts::clock_mhz(profile).map(|mhz| format!("at {} MHz", thousands(mhz.round()))));
    match &profile.origin {
        Origin::Counters { tool, set, .. } => parts.push(format!("{tool}, set {}", set.name())),
        Origin::Image { why } => parts.push(format!("no counters, only the built image: {why}")),
    }
    let taken = profile
        .taken_unix_s
        .and_then(|s| Timestamp::from_second(i64::try_from(s).ok()?).ok());
    parts.extend(taken.zip(at).map(|(taken, at)| age::since(taken, at)));
    parts.join(" · ")
}

fn of_profile(
    profile: &Profile,
    incumbent: Option<&Profile>,
    columns: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let heading = |text: &'static str| [Line::default(), Line::styled(text, theme.strong())];
    let mut out = Vec::new();
    let loads = facts::loads(profile);
    if !loads.is_empty() {
        out.extend(heading(
            "Speed of light: percent of what each part can sustain",
        ));
        out.extend(
            loads
                .iter()
                .map(|load| bar(load.part, load.percent, "", columns, theme)),
        );
        out.extend(
            facts::tensor_pipe(profile).map(|busy| bar("Tensor Cores", busy, "", columns, theme)),
        );
    }
    let least = least::lines(profile);
    if !least.is_empty() {
        out.extend(heading(
            "Against the floor: what the workload costs at least",
        ));
        out.extend(
            least
                .iter()
                .flat_map(|text| wrap(text, columns))
                .map(Line::from),
        );
    }
    let roofline = roofline::rows(profile, incumbent, columns, theme);
    if !roofline.is_empty() {
        out.extend(heading(
            "Roofline: work for each byte of DRAM, under the dense limits of the card",
        ));
        out.extend(roofline);
    }
    let occupancy = occupancy(profile);
    if !occupancy.is_empty() {
        out.extend(heading("Occupancy"));
        out.extend(wrap(&occupancy, columns).into_iter().map(Line::from));
    }
    let stalls = facts::stalls(profile);
    if !stalls.is_empty() {
        out.extend(heading("Warps: what they did in each cycle, by share"));
        let shown = stalls.iter().filter(|stall| stall.percent >= 1.0);
        out.extend(shown.map(|stall| {
            let meaning = facts::meaning(&stall.reason).unwrap_or_default();
            bar(&stall.reason, stall.percent, meaning, columns, theme)
        }));
    }
    let memory = facts::memory(profile);
    if !memory.is_empty() {
        out.extend(heading("Memory"));
        out.extend(memory.iter().map(|row| {
            Line::from(vec![
                Span::styled(pad(row.what, 30), theme.quiet()),
                Span::raw(row.says.clone()),
            ])
        }));
    }
    out.extend(image::rows(profile, columns, theme));
    if !profile.findings.is_empty() {
        out.extend(heading(
            "Findings of the profiler: its estimates overlap, never add them up",
        ));
        for found in &profile.findings {
            let sign = if found.is_advice { "→" } else { "·" };
            let gain = found
                .estimated_gain
                .map(|gain| format!(" (estimate {})", percent(gain)));
            let text = format!(
                "{sign} {}{}: {}",
                found.rule,
                gain.unwrap_or_default(),
                found.text
            );
            out.extend(wrap(&printable(&text), columns).into_iter().map(Line::from));
        }
    }
    let paragraphs = |texts: &[String]| -> Vec<Line<'static>> {
        let lines = texts
            .iter()
            .flat_map(|text| wrap(&printable(text), columns));
        lines
            .map(|line| Line::styled(line, theme.quiet()))
            .collect()
    };
    if !profile.differences.is_empty() {
        out.extend(heading("Not as in a run"));
        out.extend(paragraphs(&profile.differences));
    }
    if !profile.missing.is_empty() {
        out.extend(heading("Missing in the report"));
        out.extend(paragraphs(&profile.missing));
    }
    out
}

/// A name, a bar of its percentage, the figure, and what it means where there is room.
fn bar(name: &str, share: f64, meaning: &str, columns: usize, theme: &Theme) -> Line<'static> {
    let full = ((share.clamp(0.0, 100.0) / 100.0) * BAR as f64).round() as usize;
    let room = columns.saturating_sub(NAMES + BAR + PERCENT + 2);
    let meaning = if crate::text::width(meaning) <= room {
        meaning
    } else {
        ""
    };
    Line::from(vec![
        Span::styled(pad(&printable(name), NAMES), theme.quiet()),
        Span::styled("█".repeat(full), theme.accent()),
        Span::styled("·".repeat(BAR - full), theme.quiet()),
        Span::raw(pad_left(&percent(share), PERCENT)),
        Span::styled(format!("  {meaning}").trim_end().to_owned(), theme.quiet()),
    ])
}

fn occupancy(profile: &Profile) -> String {
    let found = facts::occupancy(profile);
    let parts = [
        found
            .achieved
            .map(|achieved| format!("{} of the warps were active", percent(achieved))),
        found
            .possible
            .map(|possible| format!("{} fit at once", percent(possible))),
        (!found.limiters.is_empty())
            .then(|| format!("limited by {}", found.limiters.join(" and "))),
        found
            .registers
            .map(|registers| format!("{registers:.0} registers a thread")),
        found.waves.map(|waves| format!("{waves:.2} waves")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
