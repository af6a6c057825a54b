//! The buffers of WaveGRU on one worker, and the two kinds of launch: sampling, and teacher-forced.

use super::judged_runs::ReferenceRun;
use super::run_inputs::RunInputs;
use super::weights::{WeightTensor, Weights};
use crate::outcome::Stop;
use crate::worker::{Breach, BufferId, Launch, LaunchArg, ModuleId, SCRATCH_NAME, Worker};
use lab_device::is_poison;
use lab_device::{Arg, ExecutionOrder};

/// The kernel's name.
pub const ENTRY: &str = "wavegru";

/// Bytes of the kernel's scratch memory, which is zero before every launch. The products of layer 0
/// with all 256 tokens take 3 MiB of it at H = 1024.
pub const WORK_BYTES: usize = 8 << 20;

/// The text of `lab_problem.h`. [`ModelLauncher::launch`] fills both structs.
pub const HEADER: &str = "\
#pragma once

// The argument of the launch statement.
struct LabDims {
    int hidden;
    int steps;
    int teacher;  // 1 for a teacher-forced launch
};

// The last argument of the kernel.
struct LabRun {
    int steps;
    int first_token;  // the input of step 0
    unsigned seed_low, seed_high;
    float temperature;
    float min_p;
};
";

/// The buffers on a worker. Every method must be given that worker.
pub struct ModelLauncher {
    module: ModuleId,
    hidden: usize,
    steps: usize,
    weights: Vec<BufferId>,
    h0: BufferId,
    h1: BufferId,
    forced: BufferId,
    tokens: BufferId,
    teacher_prob: BufferId,
    work: BufferId,
}

/// The outputs of a launch that samples.
pub struct SampledOutput {
    pub tokens: Vec<i32>,
    pub h0: Vec<f32>,
    pub h1: Vec<f32>,
    pub broken: BrokenRules,
}

/// The outputs of a teacher-forced launch.
pub struct TaughtOutput {
    pub teacher_prob: Vec<f32>,
    pub h0: Vec<f32>,
    pub h1: Vec<f32>,
    pub broken: BrokenRules,
}

/// The rules that a launch broke, whatever it computed.
#[derive(Default)]
pub struct BrokenRules {
    pub out_of_bounds: u64,
    pub inputs_changed: u64,
    /// A description of each breach, and of cells that are unwritten or not finite.
    pub descriptions: Vec<String>,
}

impl BrokenRules {
    fn add(&mut self, breach: &Breach) {
        self.descriptions.push(match breach {
            Breach::OutOfBounds { buffer, offset } => {
                self.out_of_bounds += 1;
                format!("the kernel wrote outside {buffer}: at byte {offset} from its beginning")
            }
            Breach::StrayStore { buffer, offset } => {
                self.out_of_bounds += 1;
                let place = offset
                    .map(|offset| format!(": first at byte {offset}"))
                    .unwrap_or_default();
                format!("the kernel changed {buffer}, which it was not given{place}")
            }
            Breach::LateStore { buffer, offset } => {
                self.out_of_bounds += 1;
                let place = offset
                    .map(|offset| format!(": first at byte {offset}"))
                    .unwrap_or_default();
                format!("the kernel changed {buffer} after its launch had ended{place}")
            }
            Breach::InputChanged { buffer, offset } => {
                self.inputs_changed += 1;
                format!("the kernel changed its input {buffer}: first at byte {offset}")
            }
        });
    }

    /// Adds those of another launch. A description that is known is not repeated.
    pub fn join(&mut self, other: BrokenRules) {
        self.out_of_bounds += other.out_of_bounds;
        self.inputs_changed += other.inputs_changed;
        let new = other
            .descriptions
            .into_iter()
            .filter(|words| !self.descriptions.contains(words));
        let new: Vec<String> = new.collect();
        self.descriptions.extend(new);
    }
}

/// Uploads the weights to a worker, as inputs in the order of the kernel's parameters.
pub fn upload(weights: &Weights, worker: &mut Worker) -> Result<Vec<BufferId>, Stop> {
    let upload = |tensor: &WeightTensor| {
        let bytes = tensor.values.bytes();
        let buffer = worker.buffer(tensor.name, bytes.len())?;
        worker.write_input(buffer, bytes)?;
        Ok(buffer)
    };
    weights.tensors.iter().map(upload).collect()
}

impl ModelLauncher {
    pub fn new(
        worker: &mut Worker,
        module: ModuleId,
        weights: &[BufferId],
        hidden: usize,
        steps: usize,
    ) -> Result<Self, Stop> {
        worker.require_entry(module, ENTRY, Vec::new())?;
        Ok(ModelLauncher {
            module,
            hidden,
            steps,
            weights: weights.to_vec(),
            h0: worker.buffer("h0", 4 * hidden)?,
            h1: worker.buffer("h1", 4 * hidden)?,
            forced: worker.buffer("forced", 4 * steps)?,
            tokens: worker.buffer("tokens", 4 * steps)?,
            teacher_prob: worker.buffer("teacher_prob", 4 * steps)?,
            work: worker.buffer("work", WORK_BYTES)?,
        })
    }

    /// The same buffers for another module.
    pub fn of(&self, module: ModuleId) -> ModelLauncher {
        ModelLauncher {
            module,
            weights: self.weights.clone(),
            ..*self
        }
    }

    /// Loads the module anew, so that its globals hold nothing from earlier launches.
    pub fn reload(&self, worker: &mut Worker) -> Result<(), Stop> {
        worker.reload(self.module)
    }

    /// Frees its own buffers; the weights stay.
    pub fn close(self, worker: &mut Worker) -> Result<(), Stop> {
        let own = [
            self.h0,
            self.h1,
            self.forced,
            self.tokens,
            self.teacher_prob,
            self.work,
        ];
        own.iter().try_for_each(|buffer| worker.free(*buffer))
    }

    /// Launches with sampling and checks what the kernel wrote, except against the reference.
    pub fn sample(
        &self,
        worker: &mut Worker,
        run: &ReferenceRun,
        order: ExecutionOrder,
    ) -> Result<SampledOutput, Stop> {
        let (_, mut sampled) = self.time(worker, run, order)?;
        sampled.broken = Self::breaches(worker)?;
        let SampledOutput {
            tokens,
            h0,
            h1,
            broken,
        } = &mut sampled;
        broken
            .descriptions
            .extend(unwritten("tokens", tokens, |token| is_poison(token as u32)));
        broken.descriptions.extend(
            [("h0", h0), ("h1", h1)]
                .into_iter()
                .filter_map(|(n, v)| not_finite(n, v)),
        );
        Ok(sampled)
    }

    /// Launches with sampling and returns the seconds and the outputs. [`ModelLauncher::breaches`]
    /// tells afterwards whether a launch broke a rule.
    pub fn time(
        &self,
        worker: &mut Worker,
        run: &ReferenceRun,
        order: ExecutionOrder,
    ) -> Result<(f64, SampledOutput), Stop> {
        let seconds = self.launch(worker, run, false, order)?;
        let tokens = read(worker, self.tokens)?;
        let (h0, h1) = (read(worker, self.h0)?, read(worker, self.h1)?);
        Ok((
            seconds,
            SampledOutput {
                tokens,
                h0,
                h1,
                broken: BrokenRules::default(),
            },
        ))
    }

    /// Launches teacher-forced with the expected tokens, which were not on the device before.
    pub fn teach(
        &self,
        worker: &mut Worker,
        run: &ReferenceRun,
        order: ExecutionOrder,
    ) -> Result<TaughtOutput, Stop> {
        self.launch(worker, run, true, order)?;
        let taught = TaughtOutput {
            teacher_prob: read(worker, self.teacher_prob)?,
            h0: read(worker, self.h0)?,
            h1: read(worker, self.h1)?,
            broken: Self::breaches(worker)?,
        };
        let mut broken = taught.broken;
        broken
            .descriptions
            .extend(unwritten("teacher_prob", &taught.teacher_prob, |p| {
                is_poison(p.to_bits())
            }));
        for (name, values) in [
            ("teacher_prob", &taught.teacher_prob),
            ("h0", &taught.h0),
            ("h1", &taught.h1),
        ] {
            broken.descriptions.extend(not_finite(name, values));
        }
        Ok(TaughtOutput { broken, ..taught })
    }

    /// Launches without looking at the results.
    pub fn launch_for_check(
        &self,
        worker: &mut Worker,
        run: &ReferenceRun,
        teacher: bool,
        order: ExecutionOrder,
    ) -> Result<(), Stop> {
        self.launch(worker, run, teacher, order).map(drop)
    }

    /// Fills every buffer but the weights and launches. What a buffer holds depends on the kind of
    /// this launch and not on the launches before, so that a kernel does not find out which
    /// launches are only timed.
    fn launch(
        &self,
        worker: &mut Worker,
        run: &ReferenceRun,
        teacher: bool,
        order: ExecutionOrder,
    ) -> Result<f64, Stop> {
        worker.write(self.h0, bytemuck::cast_slice(&run.inputs.h0))?;
        worker.write(self.h1, bytemuck::cast_slice(&run.inputs.h1))?;
        if teacher {
            worker.write_input(self.forced, bytemuck::cast_slice(&run.expected.tokens))?;
        } else {
            worker.poison(self.forced)?;
        }
        worker.poison(self.tokens)?;
        worker.poison(self.teacher_prob)?;
        worker.clear(self.work)?;

        let forced = if teacher {
            LaunchArg::Buffer(self.forced)
        } else {
            LaunchArg::Value(0u64.to_le_bytes().to_vec())
        };
        let buffers = |ids: &[BufferId]| {
            ids.iter()
                .copied()
                .map(LaunchArg::Buffer)
                .collect::<Vec<_>>()
        };
        let mut args = buffers(&self.weights);
        args.extend(buffers(&[self.h0, self.h1]));
        args.push(forced);
        args.extend(buffers(&[self.tokens, self.teacher_prob, self.work]));
        args.push(LaunchArg::Value(lab_run(&run.inputs)));
        let dims = [self.hidden as u32, self.steps as u32, u32::from(teacher)];
        worker.launch(&Launch {
            module: self.module,
            entry: ENTRY.into(),
            args,
            dims: bytemuck::cast_slice(&dims).to_vec(),
            order,
            tensors: Vec::new(),
            parameters: Vec::new(),
            scratch: SCRATCH_NAME.into(),
        })
    }

    /// The rules that the launches so far broke.
    pub fn breaches(worker: &mut Worker) -> Result<BrokenRules, Stop> {
        let mut broken = BrokenRules::default();
        worker
            .breaches()?
            .iter()
            .for_each(|breach| broken.add(breach));
        Ok(broken)
    }
}

/// The bytes of `LabRun`.
fn lab_run(inputs: &RunInputs) -> Arg {
    let RunInputs { seed, sampling, .. } = inputs;
    let words = [
        sampling.steps as u32,
        sampling.first_token as u32,
        *seed as u32,
        (*seed >> 32) as u32,
        sampling.temperature.to_bits(),
        sampling.min_p.to_bits(),
    ];
    bytemuck::cast_slice(&words).to_vec()
}

fn read<T: bytemuck::Pod>(worker: &mut Worker, buffer: BufferId) -> Result<Vec<T>, Stop> {
    Ok(bytemuck::pod_collect_to_vec(&worker.read(buffer)?))
}

fn unwritten<T: Copy>(
    name: &str,
    values: &[T],
    is_unwritten: impl Fn(T) -> bool,
) -> Option<String> {
    let first = values.iter().position(|v| is_unwritten(*v))?;
    let all = values.iter().filter(|v| is_unwritten(**v)).count();
    Some(format!(
        "{name}[{first}] was never written ({all} of {} cells were not)",
        values.len()
    ))
}

fn not_finite(name: &str, values: &[f32]) -> Option<String> {
    // An unwritten cell is poison, which is a NaN. It is reported as unwritten.
    let bad = |v: &f32| !v.is_finite() && !is_poison(v.to_bits());
    let first = values.iter().position(bad)?;
    Some(format!("{name}[{first}] is {}", values[first]))
}
