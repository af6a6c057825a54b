//! The lines of source at which warps were seen waiting.

use super::facts;
use lab_protocol::profile::{Profile, ProfiledLine};

/// A line that is worth a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotLine<'a> {
    pub line: &'a ProfiledLine,
    /// Percent of all samples.
    pub percent: f64,
}

/// A line with fewer samples than this, in percent, is not hot.
pub const HOT: f64 = 2.0;

/// Every profiled line with its share, in the order of the profile.
pub fn shares(profile: &Profile) -> impl Iterator<Item = HotLine<'_>> {
    let all: u64 = profile.lines.iter().map(|line| line.samples).sum();
    profile.lines.iter().map(move |line| HotLine {
        line,
        percent: 100.0 * line.samples as f64 / all.max(1) as f64,
    })
}

/// The lines with the most samples, the hottest first.
pub fn hottest(profile: &Profile) -> Vec<HotLine<'_>> {
    let mut hot: Vec<HotLine> = shares(profile).filter(|line| line.percent >= HOT).collect();
    hot.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    hot
}

/// The most frequent reason to wait; `selected` is no wait.
pub fn main_stall(line: &ProfiledLine) -> Option<&str> {
    let waits = line
        .stalls
        .iter()
        .filter(|(reason, _)| reason != "selected");
    waits
        .max_by_key(|(_, samples)| *samples)
        .map(|(reason, _)| reason.as_str())
}

/// What a line says of itself: its share, its main stall and the sectors beyond need.
pub fn words(hot: &HotLine) -> String {
    let mut words = vec![format!("{:.0} % of samples", hot.percent)];
    words.extend(main_stall(hot.line).map(|reason| facts::reason(reason).to_owned()));
    if let Some(sectors) = hot.line.excess_sectors.filter(|sectors| *sectors > 0) {
        words.push(format!(
            "{} excess sectors",
            lab_text::figures::count(sectors as f64)
        ));
    }
    words.join(", ")
}
