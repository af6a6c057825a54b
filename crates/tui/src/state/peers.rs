//! The kernel's figures beside the problem's peers: those of its own run, of an earlier run of the
//! same bytes, or of the incumbent.

use super::Now;
use super::repository::Repository;
use super::runs::FinishedRun;
use jiff::Timestamp;
use lab_run::peers::{self, PeerFigure};
use lab_text::age;
use std::borrow::Cow;

/// The figures beside the peers that belong to a run, or that its user compares it with.
#[derive(Debug, PartialEq)]
pub struct KnownPeers<'a> {
    pub figures: Cow<'a, [PeerFigure]>,
    /// They are the incumbent's: nobody timed the peers beside the run's own bytes.
    pub of_incumbent: bool,
}

/// Returns the figures that are known for this run.
pub fn of<'a>(run: &'a FinishedRun, repository: &'a Repository) -> Option<KnownPeers<'a>> {
    let own = peers::figures(&run.record.peers);
    if peers::fastest(&own).is_some() {
        return Some(KnownPeers {
            figures: Cow::Owned(own),
            of_incumbent: false,
        });
    }
    let status = repository.status.as_ref()?;
    let last = status
        .peers
        .as_ref()
        .filter(|last| last.device == run.device)?;
    let of_incumbent = last.fingerprint != run.start.fingerprint;
    // The figures of the bytes on disk say nothing about a run of others.
    let is_of_others = of_incumbent
        && status
            .present()
            .is_ok_and(|present| *present == last.fingerprint);
    (!is_of_others).then_some(KnownPeers {
        figures: Cow::Borrowed(&last.peers),
        of_incumbent,
    })
}

impl KnownPeers<'_> {
    /// `1.65× F.rms_norm (1.63 … 1.67), 2 h ago`, of the fastest peer. `now` is the time of day, if
    /// it is known.
    pub fn in_words(&self, now: Option<Timestamp>) -> Option<String> {
        let fastest = peers::fastest(&self.figures)?;
        let age = fastest
            .measured
            .zip(now)
            .map(|(then, now)| format!(", {}", age::since(then, now)));
        let whose = if self.of_incumbent { "incumbent " } else { "" };
        Some(format!("{whose}{fastest}{}", age.unwrap_or_default()))
    }
}

impl Repository {
    /// The time of day, from the last look at the repository.
    pub fn time_of_day(&self, now: Now) -> Option<Timestamp> {
        let (at, looked) = self.looked?;
        at.checked_add(now.saturating_sub(looked)).ok()
    }
}
