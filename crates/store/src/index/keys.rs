//! What searches need of a summary, in a few bytes: of 10,000 runs only those that a search finds
//! are parsed.

use crate::checked::sum;
use crate::summary::RunSummary;
use lab_run::experiment::{Row, Status};
use lab_run::record::Origin;
use lab_run::verdict::Outcome;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Hashes and facts of a summary. Two summaries with the same hash have the same text.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Keys {
    pub kernel: u64,
    pub blob: u64,
    pub fingerprint: u64,
    /// Hash of the fingerprint by tokens; 0 without one.
    pub tokens: u64,
    /// Hash of the row in the decision; 0 without one.
    pub row: u64,
    /// Microseconds since 1970 at which the decision was made; 0 without one.
    pub decided: i64,
    /// The decision's own order; 0 without one.
    pub order: u64,
    facts: u64,
}

/// One fact of a summary: a bit.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Fact {
    HasVerdict = 1,
    Passed = 2,
    IsCheck = 4,
    IsEmulated = 8,
    /// A decision that a commit holds.
    IsDecided = 16,
    /// The decision's row is not in the ledger yet.
    OwesRow = 32,
    HasHeldOut = 64,
    /// This user's lab wrote the record. As the summary's origin, it is believed for lists only.
    IsOwn = 128,
    /// A decision that keeps.
    IsKept = 256,
}

impl Keys {
    pub fn of(summary: &RunSummary) -> Keys {
        let decision = summary.decision.as_ref();
        let row = decision.and_then(|decision| decision.row.as_ref());
        let facts = [
            (Fact::HasVerdict, summary.verdict.is_some()),
            (Fact::Passed, summary.outcome() == Some(Outcome::Pass)),
            (Fact::IsCheck, summary.is_check()),
            (Fact::IsEmulated, summary.emulated()),
            (
                Fact::IsDecided,
                decision.is_some_and(|decision| decision.commit.is_some()),
            ),
            (
                Fact::OwesRow,
                decision.is_some_and(|decision| decision.row.is_some() && !decision.row_written),
            ),
            (Fact::HasHeldOut, summary.held_out.is_some()),
            (Fact::IsOwn, summary.origin == Origin::Own),
            (
                Fact::IsKept,
                decision.is_some_and(|decision| decision.status == Status::Keep),
            ),
        ];
        Keys {
            kernel: sum(&summary.kernel),
            blob: sum(&summary.blob),
            fingerprint: sum(&summary.fingerprint.0),
            tokens: summary
                .token_fingerprint
                .as_ref()
                .map_or(0, |tokens| sum(&tokens.0)),
            row: row.map_or(0, of_row),
            decided: decision.map_or(0, |decision| decision.decided.as_microsecond()),
            order: decision.map_or(0, |decision| decision.order),
            facts: facts
                .iter()
                .filter(|(_, holds)| *holds)
                .map(|(fact, _)| *fact as u64)
                .sum(),
        }
    }

    pub fn is(&self, fact: Fact) -> bool {
        self.facts & fact as u64 != 0
    }
}

/// What the row in the ledger and the row in its record have in common.
pub fn of_row(row: &Row) -> u64 {
    let status: Status = row.status;
    sum([&row.commit, status.word(), &row.description].join("\0"))
}
