//! Whether counters could be read when it was last tried, kept in the cache folder: a try takes
//! seconds.
//!
//! An answer is for one device, driver, ncu and user, and for what Linux shows of the permission.
//! It is too old after a while, because an administrator can change the rest.

use super::ncu::Ncu;
use super::permission;
use lab_device::DeviceInfo;
use lab_system::atomic_file;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "counters.json";

/// How long an answer holds. A refusal is short-lived: whoever follows the remedy tries again.
const READABLE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const REFUSED: Duration = Duration::from_secs(10 * 60);

/// Most answers in the file, the newest first.
const MOST: usize = 16;

/// Most bytes of the file that are read.
const LIMIT: u64 = 1 << 20;

/// The machine, the program and the user that an answer is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(String);

impl Subject {
    /// This user with this ncu on this device.
    pub fn of(device: &DeviceInfo, ncu: &Ncu) -> Subject {
        let (user, seen) = (
            rustix::process::geteuid().as_raw().to_string(),
            format!("{:?}", permission::is_allowed()),
        );
        let path = ncu.path.to_string_lossy();
        let mut hasher = blake3::Hasher::new();
        for part in [
            &device.uuid,
            &device.name,
            &device.driver,
            &*path,
            &ncu.version,
            &user,
            &seen,
        ] {
            hasher
                .update(&(part.len() as u64).to_le_bytes())
                .update(part.as_bytes());
        }
        Subject(hasher.finalize().to_hex()[..32].to_owned())
    }
}

/// What a try has shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    subject: String,
    /// Seconds since 1970.
    unix_s: u64,
    /// Why no counters can be read, and what to do; `None` if they can.
    pub refused: Option<String>,
}

fn file(cache_dir: &Path) -> PathBuf {
    cache_dir.join(FILE)
}

fn read(cache_dir: &Path) -> Vec<Proof> {
    let path = file(cache_dir);
    let is_small = path
        .symlink_metadata()
        .is_ok_and(|about| about.is_file() && about.len() <= LIMIT);
    // A damaged file is as good as none: the next try replaces it.
    let text = is_small.then(|| std::fs::read(&path).ok()).flatten();
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// What was shown, and how many seconds ago. `None` if nothing was, or too long ago. `now` is in
/// seconds since 1970.
pub fn load(cache_dir: &Path, subject: &Subject, now: u64) -> Option<(Proof, u64)> {
    let proof = read(cache_dir)
        .into_iter()
        .find(|proof| proof.subject == subject.0)?;
    // A time to come is one of a clock that was wrong.
    let age = now.checked_sub(proof.unix_s)?;
    let holds = if proof.refused.is_some() {
        REFUSED
    } else {
        READABLE
    };
    (age < holds.as_secs()).then_some((proof, age))
}

/// Keeps what was shown now.
pub fn store(
    cache_dir: &Path,
    subject: &Subject,
    now: u64,
    shown: &Result<(), String>,
) -> io::Result<()> {
    let proof = Proof {
        subject: subject.0.clone(),
        unix_s: now,
        refused: shown.clone().err(),
    };
    let mut all = read(cache_dir);
    all.retain(|other| other.subject != subject.0);
    all.insert(0, proof);
    all.truncate(MOST);
    atomic_file::replace_in_cache(&file(cache_dir), &serde_json::to_vec(&all)?)
}

/// Forgets what was shown, because a launch has shown something else.
pub fn forget(cache_dir: &Path, subject: &Subject) -> io::Result<()> {
    let mut all = read(cache_dir);
    all.retain(|other| other.subject != subject.0);
    atomic_file::replace_in_cache(&file(cache_dir), &serde_json::to_vec(&all)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn subject(word: &str) -> Subject {
        Subject(word.to_owned())
    }

    #[test]
    fn an_answer_is_for_its_subject_and_for_a_while() {
        let cache = tempfile::tempdir().unwrap();
        let now = 1_000_000_000;
        assert_eq!(load(cache.path(), &subject("a"), now), None);
        store(cache.path(), &subject("a"), now, &Ok(())).unwrap();
        store(cache.path(), &subject("b"), now, &Err("no".into())).unwrap();
        let loaded = |word: &str, at: u64| {
            load(cache.path(), &subject(word), at).map(|(proof, age)| (proof.refused, age))
        };
        assert_eq!(loaded("a", now + 60), Some((None, 60)));
        assert_eq!(loaded("b", now + 60), Some((Some("no".into()), 60)));
        assert_eq!(
            loaded("b", now + 600),
            None,
            "a refusal is tried again soon"
        );
        assert_eq!(loaded("a", now + 7 * 24 * 3600), None);
        assert_eq!(loaded("a", now - 1), None, "the clock was wrong");
        assert_eq!(loaded("c", now), None);
        store(cache.path(), &subject("b"), now + 700, &Ok(())).unwrap();
        assert_eq!(
            loaded("b", now + 700),
            Some((None, 0)),
            "the newer answer replaces the older"
        );
        forget(cache.path(), &subject("b")).unwrap();
        assert_eq!(
            (loaded("b", now + 700), loaded("a", now)),
            (None, Some((None, 0)))
        );
    }

    #[test]
    fn a_damaged_file_is_replaced_and_it_does_not_grow() {
        let cache = tempfile::tempdir().unwrap();
        std::fs::write(file(cache.path()), "[{").unwrap();
        for at in 0..40 {
            store(cache.path(), &subject(&at.to_string()), at, &Ok(())).unwrap();
        }
        assert_eq!(read(cache.path()).len(), MOST);
        assert!(
            load(cache.path(), &subject("39"), 40).is_some()
                && load(cache.path(), &subject("0"), 40).is_none()
        );
    }
}
