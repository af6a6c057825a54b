//! References on disk, so that no save waits for the same reference twice.
//!
//! A file's name is the digest of everything that determines its content, and the file ends in a
//! digest of all that it holds. A file that is damaged or of another version counts as missing.

use super::reference::{ReferenceOutput, VERSION};
use super::run_inputs::RunInputs;
use bytemuck::{NoUninit, Pod};
use lab_system::atomic_file;
use std::path::{Path, PathBuf};

/// A digest of everything that determines a reference.
pub struct ReferenceKey {
    digest: [u8; 32],
    steps: usize,
    hidden: usize,
}

impl ReferenceKey {
    pub fn new(weights: &[u8; 32], inputs: &RunInputs) -> Self {
        let RunInputs {
            seed,
            sampling,
            h0,
            h1,
        } = inputs;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes()).update(weights);
        hasher
            .update(&seed.to_le_bytes())
            .update(&(h0.len() as u64).to_le_bytes());
        hasher
            .update(bytemuck::cast_slice(h0))
            .update(bytemuck::cast_slice(h1));
        hasher.update(&(sampling.steps as u64).to_le_bytes());
        hasher.update(&(sampling.first_token as u64).to_le_bytes());
        hasher
            .update(&sampling.temperature.to_le_bytes())
            .update(&sampling.min_p.to_le_bytes());
        ReferenceKey {
            digest: *hasher.finalize().as_bytes(),
            steps: sampling.steps,
            hidden: h0.len(),
        }
    }

    /// The first 32 hexadecimal digits of the digest, for a file name.
    pub fn hex(&self) -> String {
        blake3::Hash::from(self.digest).to_hex()[..32].to_owned()
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("wavegru-{}.reference", self.hex()))
    }
}

/// Reads a reference; `None` if it is missing, damaged or of another version.
pub fn load(folder: &Path, key: &ReferenceKey) -> Option<ReferenceOutput> {
    read(&key.file(folder), key)
}

/// [`load`] from a file with another name.
pub fn read(path: &Path, key: &ReferenceKey) -> Option<ReferenceOutput> {
    let bytes = std::fs::read(path).ok()?;
    let (content, digest) = bytes.split_last_chunk::<32>()?;
    if blake3::hash(content).as_bytes() != digest {
        return None;
    }
    let mut rest = content.strip_prefix(&key.digest)?;
    let reference = ReferenceOutput {
        tokens: take(&mut rest, key.steps)?,
        teacher_prob: take(&mut rest, key.steps)?,
        h0: take(&mut rest, key.hidden)?,
        h1: take(&mut rest, key.hidden)?,
        margin: *take(&mut rest, 1)?.first()?,
        margin_step: *take(&mut rest, 1)?.first()?,
        entropy: *take(&mut rest, 1)?.first()?,
        min_p_changed: *take(&mut rest, 1)?.first()?,
        same_min_p: [*take(&mut rest, 1)?.first()?, *take(&mut rest, 1)?.first()?],
        temperature_changed: *take(&mut rest, 1)?.first()?,
    };
    rest.is_empty().then_some(reference)
}

/// Stores a reference. No reader sees half a file.
pub fn store(
    folder: &Path,
    key: &ReferenceKey,
    reference: &ReferenceOutput,
) -> std::io::Result<()> {
    write(&key.file(folder), key, reference)
}

/// [`store`] into a file with another name.
pub fn write(path: &Path, key: &ReferenceKey, reference: &ReferenceOutput) -> std::io::Result<()> {
    let mut bytes = key.digest.to_vec();
    put(&mut bytes, &reference.tokens);
    put(&mut bytes, &reference.teacher_prob);
    put(&mut bytes, &reference.h0);
    put(&mut bytes, &reference.h1);
    put(&mut bytes, &[reference.margin]);
    put(&mut bytes, &[reference.margin_step]);
    put(&mut bytes, &[reference.entropy]);
    put(&mut bytes, &[reference.min_p_changed]);
    put(&mut bytes, &reference.same_min_p);
    put(&mut bytes, &[reference.temperature_changed]);
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    atomic_file::replace_in_cache(path, &bytes)
}

fn put<T: NoUninit>(bytes: &mut Vec<u8>, values: &[T]) {
    bytes.extend_from_slice(bytemuck::cast_slice(values));
}

fn take<T: Pod>(bytes: &mut &[u8], count: usize) -> Option<Vec<T>> {
    let (front, rest) = bytes.split_at_checked(count * size_of::<T>())?;
    *bytes = rest;
    Some(bytemuck::pod_collect_to_vec(front))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::run_inputs::SamplingParams;
    use super::*;

    const SAMPLING: SamplingParams = SamplingParams {
        steps: 3,
        first_token: 128,
        temperature: 1.0,
        min_p: 0.05,
    };

    fn inputs() -> RunInputs {
        RunInputs {
            seed: 9,
            sampling: SAMPLING,
            h0: vec![0.25, -0.5],
            h1: vec![0.125, 0.0],
        }
    }

    fn example() -> (ReferenceKey, ReferenceOutput) {
        let reference = ReferenceOutput {
            tokens: vec![1, 2, 3],
            teacher_prob: vec![0.1, 0.2, 1.0 / 3.0],
            h0: vec![0.5, 0.1],
            h1: vec![-0.5, 0.3],
            margin: 1e-4,
            margin_step: 2,
            entropy: 4.2,
            min_p_changed: 12,
            same_min_p: [0.02, 0.07],
            temperature_changed: 3,
        };
        (ReferenceKey::new(&[7; 32], &inputs()), reference)
    }

    #[test]
    fn what_was_stored_is_loaded_bit_by_bit() {
        let folder = tempfile::tempdir().unwrap();
        let (key, reference) = example();
        assert_eq!(load(folder.path(), &key), None);
        store(folder.path(), &key, &reference).unwrap();
        assert_eq!(load(folder.path(), &key), Some(reference));
    }

    #[test]
    fn a_damaged_file_counts_as_missing_whichever_byte_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (key, reference) = example();
        store(folder.path(), &key, &reference).unwrap();
        let path = key.file(folder.path());
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, bad).unwrap();
            assert_eq!(load(folder.path(), &key), None, "byte {at}");
        }
        std::fs::write(&path, &good[..good.len() / 2]).unwrap();
        assert_eq!(load(folder.path(), &key), None);
        std::fs::write(&path, "").unwrap();
        assert_eq!(load(folder.path(), &key), None);
    }

    #[test]
    fn every_thing_that_determines_a_reference_is_in_its_key() {
        let inputs = inputs();
        let mut keys = vec![
            ReferenceKey::new(&[7; 32], &inputs),
            ReferenceKey::new(&[8; 32], &inputs),
        ];
        for changed in [
            RunInputs {
                seed: 10,
                ..inputs.clone()
            },
            RunInputs {
                h0: vec![0.25, 0.5],
                ..inputs.clone()
            },
            RunInputs {
                h1: vec![0.125, 1.0],
                ..inputs.clone()
            },
        ] {
            keys.push(ReferenceKey::new(&[7; 32], &changed));
        }
        for sampling in [
            SamplingParams {
                steps: 4,
                ..SAMPLING
            },
            SamplingParams {
                first_token: 0,
                ..SAMPLING
            },
            SamplingParams {
                temperature: 0.9,
                ..SAMPLING
            },
            SamplingParams {
                min_p: 0.1,
                ..SAMPLING
            },
        ] {
            keys.push(ReferenceKey::new(
                &[7; 32],
                &RunInputs {
                    sampling,
                    ..inputs.clone()
                },
            ));
        }
        let mut digests: Vec<_> = keys.iter().map(|k| k.digest).collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), keys.len());
    }
}
