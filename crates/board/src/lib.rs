//! The board of decisions: what follows from the experiments of a repository.
//!
//! `decisions.toml` holds the claims, `evidence/ID.json` the figures behind them, and
//! `evidence/allowed_signers` the public keys that the repository trusts. All three are in git, so a
//! clone without a GPU, without records and without a secret proves the board. Figures in a claim are
//! placeholders; the status of a decision follows a rule, and a person may only lower it.
//!
//! | file | what it does |
//! |---|---|
//! | `file` | decisions.toml: its keys, its positions, conflicts of a merge |
//! | `evidence` | evidence/ID.json, and the figures by workload and metric |
//! | `proof`, `unique` | signature, commit and kernel hash of evidence; JSON without a key twice |
//! | `claim`, `filled` | fills placeholders |
//! | `next` | evidence that is still to be made |
//! | `typed` | numbers, cards, workloads and peers that a text says in words |
//! | `universal` | words that claim more than the evidence holds |
//! | `status` | the rule of the status, with its reasons |
//! | `board` | the whole: decisions with their status, counts, domains |
//! | `words` | the board as text |
//! | `collect`, `parts` | makes evidence from the records of this lab |
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod board;
mod claim;
mod collect;
mod evidence;
mod file;
mod filled;
mod next;
mod parts;
mod proof;
mod status;
mod typed;
mod unique;
mod universal;
pub mod words;

pub use board::{Board, Counts, Decision, Problem};
pub use collect::{add, cite};
pub use evidence::{
    Evidence, EvidenceKind, EvidencePeer, EvidenceWorkload, RATIO, Source, in_words,
    key_of_workload,
};
pub use file::{check_id, list};
pub use filled::{Cited, Filled, Piece};
pub use lab_store::signature::signers::SIGNERS;
pub use next::Next;
pub use proof::{Held, public_line};
pub use status::{Expected, Reason, Status};

/// The file of the decisions, in the root of the repository.
pub const DECISIONS: &str = "decisions.toml";
/// What an id of a decision and of evidence must look like.
const ID_FORM: &str = "write small letters, digits, - and _, at most 64";
/// The folder of the evidence.
pub const EVIDENCE: &str = "evidence";
