//! Declarative tensor problems: a `problem.toml` and a `reference.cu` or `reference.py`, without
//! Rust code. Every key of problem.toml is explained in kernels/README.md.

mod beside;
mod case_data;
mod cell_numbers;
mod checked_cases;
mod device_memory;
mod drawing;
mod drawn_scalars;
mod drawn_shapes;
mod dump;
pub mod export;
mod file;
mod fixed;
mod gate_keys;
mod group_check;
mod input_sets;
pub mod input_values;
mod joint_set;
mod launcher;
mod named_gates;
mod npy;
mod number;
mod objective;
mod parameters;
mod phases;
mod pictured;
mod plant;
mod planted;
mod problem;
mod random;
mod reference;
mod reference_source;
mod renewed;
mod resident;
mod same_time;
mod sealed_stock;
mod sealing;
mod spec;
mod tally;
mod timing;
mod together;
mod turn;
mod values_text;
mod verify;
mod view;

use crate::outcome::Result;
use crate::problem::api::StockUse;
use drawing::Ahead;
use lab_protocol::When;
use lab_protocol::report::JudgedWorkloads;
pub use phases::{Prepared, Watched};
pub use plant::{PlantedSets, plant};
pub use planted::{Axis, Extreme, Planting};
use reference::ReferenceKernel;
use resident::{AcceptedOutputs, Resident, TimedCases};
pub use spec::CaseTensor;
use spec::{Case, ProblemSpec};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Opens the problem whose problem.toml at `path` has this text.
pub fn open(path: &Path, text: &str) -> Result<Problem> {
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let spec = file::parse(path, text, None)?;
    Ok(Problem {
        name: spec.name_at(path).unwrap_or_else(|| "tensor".into()),
        folder,
        text: text.to_owned(),
        spec: Rc::new(spec),
        when: When::default(),
        timed_when: When::default(),
        judged: None,
        reference: None,
        chosen: Vec::new(),
        ahead: Ahead::default(),
        keeps_ahead: false,
        timed: None,
        resident: None,
        accepted: [AcceptedOutputs::default(), AcceptedOutputs::default()],
        stock_use: None,
        sealed_seed: None,
        renewed: BTreeSet::new(),
        is_peer: false,
    })
}

/// A problem, as its problem.toml says it. [`Problem::prepare`] makes it ready for a run,
/// [`Problem::watched`] for a tool.
pub struct Problem {
    name: String,
    folder: PathBuf,
    /// The text of problem.toml.
    text: String,
    spec: Rc<ProblemSpec>,
    /// The occasion whose workloads are judged.
    when: When,
    /// In the check before a keep, the occasion whose workloads are timed.
    timed_when: When,
    /// The number of judged workloads, once all were judged.
    judged: Option<JudgedWorkloads>,
    reference: Option<ReferenceKernel>,
    /// The cases that this device runs.
    chosen: Vec<Arc<Case>>,
    ahead: Ahead,
    /// Further candidates are checked on the same data.
    keeps_ahead: bool,
    /// The data of the timed cases, once drawn. Every timed kernel shares it.
    timed: Option<TimedCases>,
    /// The timed cases on the candidate's worker, once set up.
    resident: Option<Rc<Resident>>,
    /// The outputs of the candidate that are known to be right, and those of the incumbent.
    accepted: [AcceptedOutputs; 2],
    /// How the run uses the stock of sealed inputs. `None` if it does not: the kernel could read
    /// the stock, or the user repeats a run.
    stock_use: Option<StockUse>,
    /// The seed of the inputs that were taken out of the stock.
    sealed_seed: Option<u64>,
    /// The indices of the timed cases that get new inputs where others have lain; empty for a
    /// kernel in CUDA and for a peer.
    renewed: BTreeSet<usize>,
    is_peer: bool,
}
