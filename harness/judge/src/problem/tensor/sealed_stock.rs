//! The stock of sealed inputs: sets that no run has launched, with what the reference says of them,
//! in the user's cache folder. A judge on standby makes them while it has nothing else to do; a
//! keep takes each of them once.
//!
//! A file holds the seed and what the reference says. The inputs follow from the seed, and to draw
//! them takes no longer than to read them would. Their seeds are drawn in secret, and no file of a
//! repository holds them. A file of the stock belongs to one key: a digest of problem.toml, of the
//! built reference, of the values that come from files, of the device and of the program itself. So
//! a change of any of them leaves the file unused.

use super::case_data::{CaseData, Contents};
use super::drawing::{Ahead, Drawing, Part};
use super::input_values::InputValues;
use super::spec::{Case, ProblemSpec};
use crate::outcome::Result;
use crate::worker::Cells;
use itertools::Itertools as _;
use lab_device::DeviceInfo;
use lab_protocol::When;
use lab_system::atomic_file;
use lab_system::listing;
use lab_system::random;
use lab_system::root::{Access, Root};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The folder in the cache folder.
const FOLDER: &str = "tensor-sealed";

/// Most bytes of one file. More would take as long to read as to make.
pub const MOST_OF_A_SET: usize = 1 << 30;

/// Most bytes of all files together, those of other problems included.
const MOST: u64 = 2 << 30;

/// The name of the file that is not complete.
const BEGUN: &str = "begun";

/// Bytes of the digest that ends a file.
const DIGEST: usize = 32;

/// A file that is being made.
pub struct Begun {
    pub seed: u64,
    /// How many parts it has.
    pub parts: usize,
    pub bytes: Vec<u8>,
}

/// The stock of one problem on one device.
pub struct SealedStock {
    key: [u8; 32],
    top: PathBuf,
    folder: PathBuf,
}

/// The parts of these cases in the order of a file.
pub fn in_order(cases: &[Arc<Case>]) -> impl Iterator<Item = (Arc<Case>, Part)> + '_ {
    cases
        .iter()
        .flat_map(|case| [(case.clone(), Part::Drawn), (case.clone(), Part::Planted)])
}

impl SealedStock {
    /// `text` is that of problem.toml, `image` the built reference, `timed` the occasion whose
    /// workloads the keep times.
    pub fn new(
        spec: &ProblemSpec,
        text: &str,
        image: &[u8],
        device: &DeviceInfo,
        timed: When,
        cache_dir: &Path,
    ) -> Self {
        let tensors = spec.cases.iter().flat_map(|case| &case.tensors);
        let arrays = tensors.filter_map(|tensor| match &tensor.values {
            Some(InputValues::Npy(array)) => Some(&array.hash),
            _ => None,
        });
        let problem = (text, blake3::hash(image), timed, arrays.collect_vec());
        let device = (&device.name, &device.uuid, device.emulated);
        let subject = format!("{:?}", (lab_device::own_build(), problem, device));
        let hash = blake3::hash(subject.as_bytes());
        let top = cache_dir.join(FOLDER);
        let folder = top.join(&hash.to_hex()[..32]);
        let key = hash.into();
        SealedStock { key, top, folder }
    }

    /// Whether there is something to take.
    pub fn is_filled(&self) -> bool {
        self.files().iter().any(|path| open(path).is_some())
    }

    /// Takes inputs out of the stock, and their file off the disk: from here on they count as
    /// launched. `read` makes them of the seed and the file's content. A file that is damaged is
    /// removed. A file that another user wrote, or that is not a plain file, is left alone and not
    /// read.
    pub fn take<T>(&self, read: impl Fn(u64, &[u8]) -> Option<T>) -> io::Result<Option<T>> {
        for path in self.files() {
            let Some(mut file) = open(&path) else {
                continue;
            };
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let sets = content(&bytes, &self.key).and_then(|(seed, content)| read(seed, content));
            match (fs::remove_file(&path), sets) {
                (Ok(()), Some(sets)) => return Ok(Some(sets)),
                (Ok(()), None) => {}
                // Another keep took it.
                (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {}
                (Err(error), _) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The beginning of a file with inputs of this seed. [`put`] adds the parts of the cases
    /// [`in_order`].
    pub fn begin(&self, seed: u64) -> Begun {
        Begun {
            seed,
            parts: 0,
            bytes: [self.key.as_slice(), &seed.to_le_bytes()].concat(),
        }
    }

    /// Takes a file that somebody began and did not complete, and takes it off the disk.
    pub fn go_on(&self) -> Option<Begun> {
        let path = self.folder.join(BEGUN);
        let mut bytes = Vec::new();
        open(&path)?.read_to_end(&mut bytes).ok()?;
        fs::remove_file(&path).ok()?;
        content(&bytes, &self.key)?;
        bytes.truncate(bytes.len() - DIGEST);
        let parts = u32::from_le_bytes(*bytes.last_chunk()?);
        bytes.truncate(bytes.len() - size_of::<u32>());
        let (_, rest) = bytes.split_first_chunk::<32>()?;
        let (seed, _) = rest.split_first_chunk()?;
        Some(Begun {
            seed: u64::from_le_bytes(*seed),
            parts: parts as usize,
            bytes,
        })
    }

    /// Keeps a file that is not complete, so that the next judge on standby goes on with it.
    pub fn put_by(&self, begun: Begun) -> io::Result<()> {
        let mut bytes = begun.bytes;
        bytes.extend_from_slice(&(begun.parts as u32).to_le_bytes());
        let digest = blake3::hash(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        if bytes.len() > MOST_OF_A_SET || !self.make_space(bytes.len() as u64) {
            return Ok(());
        }
        atomic_file::replace_in_cache(&self.folder.join(BEGUN), &bytes)
    }

    /// Puts such a file into the stock. No reader sees half a file, and only the user may read it.
    /// Returns false if there is no space left beside the files of other problems.
    pub fn store(&self, mut bytes: Vec<u8>) -> io::Result<bool> {
        let digest = blake3::hash(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        if bytes.len() > MOST_OF_A_SET || !self.make_space(bytes.len() as u64) {
            return Ok(false);
        }
        let name = format!("{:016x}", random::number());
        atomic_file::replace_in_cache(&self.folder.join(name), &bytes)?;
        Ok(true)
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = listing::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten();
        let named = |entry: &listing::Entry| entry.file_name().to_str().is_some_and(is_name);
        let mut files = entries
            .filter(named)
            .map(|entry| entry.path())
            .collect_vec();
        files.sort();
        files
    }

    /// Removes files of other keys, the oldest first, until so many bytes fit.
    fn make_space(&self, bytes: u64) -> bool {
        let entries = |folder: &Path| listing::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries(&self.top);
        let files = folders.flat_map(|folder| entries(&folder.path()).collect_vec());
        let mut all = files
            .filter_map(|file| {
                let about = file.metadata().ok()?;
                let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                Some((modified, about.len(), file.path()))
            })
            .collect_vec();
        all.sort();
        let mut sum = bytes + all.iter().map(|(_, size, _)| size).sum::<u64>();
        all.retain(|(.., path)| !path.starts_with(&self.folder));
        for (_, size, path) in all {
            if sum <= MOST {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                sum -= size;
                // Only an empty folder is removed.
                let _ = path.parent().map(fs::remove_dir);
            }
        }
        sum <= MOST
    }
}

fn is_name(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Opens a plain file of this user that nobody else may write, and follows no link.
fn open(path: &Path) -> Option<File> {
    let (folder, name) = (path.parent()?, path.file_name()?);
    let file = Root::new(folder).open(name.as_ref(), Access::Read).ok()?;
    let about = file.metadata().ok()?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o022 == 0;
    (is_own && about.len() <= MOST_OF_A_SET as u64).then_some(file)
}

/// The seed and the content of a file, if it is whole and of this key.
fn content<'b>(bytes: &'b [u8], key: &[u8; 32]) -> Option<(u64, &'b [u8])> {
    let (content, digest) = bytes.split_last_chunk::<32>()?;
    if blake3::hash(content).as_bytes() != digest {
        return None;
    }
    let (seed, content) = content.strip_prefix(key)?.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*seed), content))
}

/// Adds what is expected of a part to a file.
pub fn put(bytes: &mut Vec<u8>, data: &CaseData) -> Result {
    for set in &data.sets {
        bytes.extend_from_slice(&set.attempt.to_le_bytes());
        for value in &set.accepts {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        let tensors = data.case.tensors.iter().zip(&set.inputs);
        let expected_inputs = tensors.filter(|(tensor, _)| tensor.expected_of().is_some());
        let inputs = expected_inputs.filter_map(|(_, content)| content.as_ref());
        let expected = set.expected.iter().chain(&set.after_steps).flatten();
        for cells in expected.chain(inputs) {
            bytes.extend_from_slice(&cells.to_host()?);
        }
    }
    Ok(())
}

/// Reads what is expected in these cases, and draws their inputs again. `None` if the content is
/// not of them.
pub fn read(cases: &[Arc<Case>], drawing: Drawing, mut content: &[u8]) -> Option<Ahead> {
    let parts = in_order(cases).collect_vec();
    let mut ahead = Ahead::new();
    for ((case, part), mut data) in parts.iter().zip(drawing.sets_of_parts(&parts).ok()?) {
        for (number, set) in data.sets.iter_mut().enumerate() {
            let attempt = u32::from_le_bytes(take_chunk(&mut content)?);
            if attempt > 0 {
                *set = drawing.draw_again(case, *part, number, attempt).ok()?;
            }
            for _ in &case.accepts {
                set.accepts
                    .push(f64::from_le_bytes(take_chunk(&mut content)?));
            }
            set.expected = take_outputs(case, drawing, &mut content)?;
            if case.steps > 1 {
                set.after_steps = take_outputs(case, drawing, &mut content)?;
            }
            for (tensor, input) in case.tensors.iter().zip(&mut set.inputs) {
                if tensor.expected_of().is_some() && input.is_some() {
                    let cells = content.split_off(..tensor.bytes())?;
                    *input = Some(kept(cells, drawing)?);
                }
            }
        }
        ahead.insert((case.index, *part), data);
    }
    content.is_empty().then_some(ahead)
}

/// Takes so many bytes from the beginning of a content; `None` if it is too short.
fn take_chunk<const N: usize>(content: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = content.split_first_chunk::<N>()?;
    *content = rest;
    Some(*first)
}

/// Cells where the sets are held.
fn kept(cells: &[u8], drawing: Drawing) -> Option<Cells> {
    match drawing.memory {
        Some(memory) => memory.hold(cells).ok(),
        None => Some(Cells::Host(cells.to_vec())),
    }
}

/// Takes what a launch of a case writes from the beginning of a content; `None` if it is too short.
fn take_outputs(case: &Case, drawing: Drawing, content: &mut &[u8]) -> Option<Contents> {
    let outputs = case.tensors.iter().map(|tensor| {
        if !tensor.is_compared() {
            return Some(None);
        }
        let cells = content.split_off(..tensor.bytes())?;
        Some(Some(kept(cells, drawing)?))
    });
    outputs.collect()
}

#[cfg(test)]
mod tests;
