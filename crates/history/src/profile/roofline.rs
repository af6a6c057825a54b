//! The roofline of a launch: how many operations each byte of DRAM serves, and which limit of the
//! card comes first.
//!
//! S. Williams, A. Waterman and D. Patterson: Roofline: an insightful visual performance model for
//! multicore architectures. Communications of the ACM 52 (4), 2009.

use lab_protocol::profile::Profile;

/// A launch under its roofs.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    /// Operations for each byte of DRAM.
    pub intensity: f64,
    /// Operations in a second: what the launch did.
    pub achieved: f64,
    /// Operations in a second that the card's arithmetic allows, in the pipe that did most of them.
    pub peak: f64,
    /// Which pipe that is, as in `f32` or `tensor bf16`.
    pub pipe: String,
    /// Bytes in a second that DRAM allows.
    pub bandwidth: f64,
    /// Bytes in a second that moved.
    pub moved: f64,
}

impl Roofline {
    /// Operations in a second that the launch could reach with its bytes.
    pub fn roof(&self) -> f64 {
        self.peak.min(self.intensity * self.bandwidth)
    }

    /// Whether DRAM is the lower roof.
    pub fn is_memory_bound(&self) -> bool {
        self.intensity * self.bandwidth < self.peak
    }
}

/// A pipe with its operations in a second, and the most that it can do.
struct Pipe {
    name: String,
    rate: f64,
    peak: f64,
}

/// The roofline by the report's own peaks and clocks. `None` if the report lacks one of the
/// figures, or if nothing was counted.
pub fn of(profile: &Profile) -> Option<Roofline> {
    let moved = profile
        .value("dram__bytes.sum.per_second")
        .filter(|rate| *rate > 0.0)?;
    let bandwidth = profile.value("dram__bytes.sum.peak_sustained")?
        * profile.value("dram__cycles_elapsed.avg.per_second")?;
    let clock = profile.value("sm__cycles_elapsed.avg.per_second")?;
    let pipes: Vec<Pipe> = [single(profile, clock)]
        .into_iter()
        .flatten()
        .chain(tensor(profile, clock))
        .collect();
    let achieved: f64 = pipes.iter().map(|pipe| pipe.rate).sum();
    let most = pipes
        .into_iter()
        .max_by(|a, b| a.rate.total_cmp(&b.rate))
        .filter(|pipe| pipe.rate > 0.0)?;
    Some(Roofline {
        intensity: achieved / moved,
        achieved,
        peak: most.peak,
        pipe: most.name,
        bandwidth,
        moved,
    })
}

/// f32 outside of the Tensor Cores. A fused multiply-add counts as two operations.
fn single(profile: &Profile, clock: f64) -> Option<Pipe> {
    let each = |op: &str| {
        profile.value(&format!(
            "smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed"
        ))
    };
    let rate = 2.0 * each("ffma")? + each("fadd").unwrap_or(0.0) + each("fmul").unwrap_or(0.0);
    let peak = profile.value("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained")?;
    Some(Pipe {
        name: "f32".into(),
        rate: rate * clock,
        peak: 2.0 * peak * clock,
    })
}

const TENSOR: &str = "sm__ops_path_tensor_src_";
const RATE: &str = ".sum.per_second";

/// The Tensor Cores by the type of their operands. The report gives the peak with sparsity, which
/// is twice the dense one: on an H200 8,192 operations of bf16 a cycle on each multiprocessor,
/// where NVIDIA's data sheet has 989 TFLOP/s dense (4,096).
fn tensor(profile: &Profile, clock: f64) -> impl Iterator<Item = Pipe> + '_ {
    profile.metrics.iter().filter_map(move |(name, metric)| {
        let path = name.strip_prefix(TENSOR)?.strip_suffix(RATE)?;
        let is_whole = metric.value > 0.0 && !path.contains("sparsity");
        let peak = is_whole
            .then(|| profile.value(&format!("{TENSOR}{path}.sum.peak_sustained")))
            .flatten()?;
        let operands = path.split('_').next().unwrap_or(path);
        Some(Pipe {
            name: format!("tensor {operands}"),
            rate: metric.value,
            peak: peak / 2.0 * clock,
        })
    })
}
