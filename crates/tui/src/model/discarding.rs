//! What a discard would do now, in words: for the dialog of its message, and for the question where
//! it needs a yes.

use super::Model;
use crate::keymap::Action;
use crate::text::printable;
use lab_decide::policy::{Discard, Newer};
use lab_run::RunId;
use lab_run::experiment::Status;

impl Model {
    /// What is asked before a discard that removes more than the bytes of an open run.
    pub fn discard_question(&self) -> Option<String> {
        let discard = self.allowed().discard.ok()?;
        let says = self.discard_says(&discard)?;
        discard.asks().then(|| format!("{says} Discard?"))
    }

    /// What the dialog of a discard asks for.
    pub fn discard_prompt(&self, run: RunId) -> String {
        let default = self.default_description();
        let asks = format!("What did you try? Left empty: \"{default}\".");
        let discard = self.discard_of(run);
        let says = discard.as_ref().and_then(|it| self.discard_says(it));
        match (says, &discard) {
            (Some(says), Some(Discard::Decided(..))) => format!("{says} No text is needed."),
            (Some(says), _) => format!("{says} {asks}"),
            (None, _) => asks,
        }
    }

    /// Whether the dialog of this run's discard is about bytes that have no verdict.
    pub fn discards_unjudged(&self, run: RunId) -> bool {
        matches!(self.discard_of(run), Some(Discard::Unjudged { .. }))
    }

    /// The description of a discard for which nothing was typed: the run's reason.
    pub fn default_description(&self) -> String {
        if matches!(self.allowed().discard, Ok(Discard::Unjudged { .. })) {
            return "discarded without a verdict".to_owned();
        }
        match &self.runs.last {
            Some(last) if !last.verdict.why.is_empty() => printable(&last.verdict.why),
            _ => "no reason given".to_owned(),
        }
    }

    /// What a discard would do now; `None` for a run that it would wait for.
    fn discard_of(&self, run: RunId) -> Option<Discard> {
        let waits = self.awaited_run(Action::Discard) == Some(run);
        self.allowed().discard.ok().filter(|_| !waits)
    }

    /// What a discard does that the verdict of an open run does not say.
    fn discard_says(&self, discard: &Discard) -> Option<String> {
        let kernel = printable(&self.setup.kernel);
        Some(match discard {
            Discard::Run(_) => return None,
            Discard::Decided(run, status) => {
                let decided = match status {
                    Status::Keep => "kept",
                    _ => "discarded",
                };
                format!(
                    "The present bytes of {kernel} are those of run {run}, which was {decided} already: the \
                     incumbent comes back, and no further row is written."
                )
            }
            Discard::Unjudged {
                unreadable: true, ..
            } => {
                format!("{kernel} cannot be read: the incumbent comes back, and no row is written.")
            }
            Discard::Unjudged { .. } => format!(
                "No verdict belongs to the present bytes of {kernel}: they are kept in git, but no row is written."
            ),
            Discard::AlsoNewer(run, Newer::Unreadable(_)) => format!(
                "{kernel} cannot be read: what run {run} judged is discarded and kept in git, and the incumbent \
                 comes back."
            ),
            Discard::AlsoNewer(run, Newer::Changed(_)) => format!(
                "{kernel} has changed since run {run} judged it: the newer bytes are discarded too. Both are kept \
                 in git."
            ),
        })
    }
}
