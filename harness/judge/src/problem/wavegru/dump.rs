//! `--dump`: every tensor of one run as .npy, so that anybody can check the reference with NumPy.

use super::judged_runs::ReferenceRun;
use super::launcher::{SampledOutput, TaughtOutput};
use super::weights::Weights;
use crate::outcome::Stop;
use crate::problem::npy_file;
use npyz::AutoSerialize;
use std::io;
use std::path::Path;

/// The content of `run.json`: what the tensors do not hold.
#[derive(serde::Serialize)]
struct DumpFacts {
    seed: u64,
    first_token: usize,
    temperature: f32,
    min_p: f32,
    steps: usize,
}

/// Writes the tensors and `run.json`. bf16 is widened to f32. The final states are those of the
/// teacher-forced launch.
pub fn dump(
    folder: &Path,
    weights: &Weights,
    run: &ReferenceRun,
    sampled: &SampledOutput,
    taught: &TaughtOutput,
) -> Result<(), Stop> {
    let write = || -> io::Result<()> {
        for tensor in &weights.tensors {
            npy(folder, tensor.name, &tensor.shape, &tensor.values.widened())?;
        }
        let ReferenceRun { inputs, expected } = run;
        let (h, n) = ([weights.hidden], [inputs.sampling.steps]);
        npy(folder, "h0_start", &h, &inputs.h0)?;
        npy(folder, "h1_start", &h, &inputs.h1)?;
        npy(folder, "tokens_reference", &n, &expected.tokens)?;
        npy(folder, "tokens_kernel", &n, &sampled.tokens)?;
        npy(folder, "teacher_prob_reference", &n, &expected.teacher_prob)?;
        npy(folder, "teacher_prob_kernel", &n, &taught.teacher_prob)?;
        npy(folder, "h0_final_reference", &h, &expected.h0)?;
        npy(folder, "h0_final_kernel", &h, &taught.h0)?;
        npy(folder, "h1_final_reference", &h, &expected.h1)?;
        npy(folder, "h1_final_kernel", &h, &taught.h1)?;
        let facts = DumpFacts {
            seed: inputs.seed,
            first_token: inputs.sampling.first_token,
            temperature: inputs.sampling.temperature,
            min_p: inputs.sampling.min_p,
            steps: inputs.sampling.steps,
        };
        std::fs::write(
            folder.join("run.json"),
            serde_json::to_string_pretty(&facts)? + "\n",
        )
    };
    write().map_err(|e| {
        Stop::Lab(format!(
            "{}: the tensors cannot be written: {e}",
            folder.display()
        ))
    })
}

fn npy<T: AutoSerialize + Copy>(
    folder: &Path,
    name: &str,
    shape: &[usize],
    values: &[T],
) -> io::Result<()> {
    npy_file::write(&folder.join(format!("{name}.npy")), shape, values)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::problem::wavegru::launcher::BrokenRules;
    use crate::problem::wavegru::reference::ReferenceOutput;
    use crate::problem::wavegru::run_inputs::{RunInputs, SamplingParams};

    #[test]
    fn a_dump_has_every_name_and_its_values_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let weights = Weights::draw(256, 1);
        let expected = ReferenceOutput {
            tokens: vec![3, 1],
            teacher_prob: vec![0.5, 0.1],
            ..ReferenceOutput::default()
        };
        let h = vec![0.5f32; 256];
        let expected = ReferenceOutput {
            h0: h.clone(),
            h1: h.clone(),
            ..expected
        };
        let sampling = SamplingParams {
            steps: 2,
            first_token: 128,
            temperature: 0.75,
            min_p: 0.05,
        };
        let inputs = RunInputs {
            seed: 7,
            sampling,
            h0: h.clone(),
            h1: h.clone(),
        };
        let run = ReferenceRun { inputs, expected };
        let sampled = SampledOutput {
            tokens: vec![3, 2],
            h0: Vec::new(),
            h1: Vec::new(),
            broken: BrokenRules::default(),
        };
        let taught = TaughtOutput {
            teacher_prob: vec![0.5, 0.2],
            h0: h.clone(),
            h1: h,
            broken: BrokenRules::default(),
        };
        dump(folder.path(), &weights, &run, &sampled, &taught).unwrap();

        let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        let embed = bytes("embed.npy");
        let embed = npyz::NpyFile::new(&embed[..]).unwrap();
        assert_eq!(embed.shape(), [256, 256]);
        assert_eq!(
            embed.into_vec::<f32>().unwrap(),
            weights.get("embed").widened()
        );
        let tokens = bytes("tokens_kernel.npy");
        assert_eq!(
            npyz::NpyFile::new(&tokens[..])
                .unwrap()
                .into_vec::<i32>()
                .unwrap(),
            [3, 2]
        );
        let facts: serde_json::Value = serde_json::from_slice(&bytes("run.json")).unwrap();
        assert_eq!(facts["seed"], 7);
        assert_eq!(facts["min_p"], 0.05);
        assert_eq!(facts["temperature"], 0.75);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            15 + 2 + 8 + 1
        );
    }
}
