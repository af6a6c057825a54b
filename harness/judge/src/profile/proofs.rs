//! Whether counters could be read when it was last tried, kept in the cache folder: a try takes
//! seconds.
//!
//! An answer is for one device, driver, ncu and user, and for what Linux shows of the permission.
//! It is too old after a while, because an administrator can change the rest.

use super::ncu::Ncu;
use super::permission;
use lab_device::DeviceInfo;
use lab_system::atomic_file;
use lab_system::root::read_anywhere;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an answer holds. A refusal is short-lived: whoever follows the remedy tries again.
const READABLE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const REFUSED: Duration = Duration::from_secs(10 * 60);

/// Most bytes of a file that are read.
const LIMIT: u64 = 1 << 16;

/// The machine, the program and the user that an answer is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(String);

impl Subject {
    /// This user with this ncu on this device.
    pub fn of(device: &DeviceInfo, ncu: &Ncu) -> Subject {
        let device = (&device.uuid, &device.name, &device.driver);
        let user = (rustix::process::geteuid(), permission::is_allowed());
        let subject = format!("{:?}", (device, &ncu.path, &ncu.version, user));
        Subject(blake3::hash(subject.as_bytes()).to_hex()[..32].to_owned())
    }
}

/// What a try has shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Seconds since 1970.
    unix_s: u64,
    /// Why no counters can be read, and what to do; `None` if they can.
    pub refused: Option<String>,
}

/// One file for each subject, so that two who try at once keep both answers.
fn file(cache_dir: &Path, subject: &Subject) -> PathBuf {
    cache_dir.join(format!("counters-{}.json", subject.0))
}

/// What was shown, and how many seconds ago. `None` if nothing was, or too long ago. `now` is in
/// seconds since 1970.
pub fn load(cache_dir: &Path, subject: &Subject, now: u64) -> Option<(Proof, u64)> {
    // A damaged file is as good as none: the next try replaces it.
    let text = read_anywhere(&file(cache_dir, subject), LIMIT).ok()?;
    let proof: Proof = serde_json::from_slice(&text).ok()?;
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
        unix_s: now,
        refused: shown.clone().err(),
    };
    let path = file(cache_dir, subject);
    atomic_file::replace_in_cache(&path, &serde_json::to_vec(&proof)?)
}

/// Forgets what was shown, because a launch has shown something else.
pub fn forget(cache_dir: &Path, subject: &Subject) -> io::Result<()> {
    match std::fs::remove_file(file(cache_dir, subject)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
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
    fn a_damaged_file_is_no_answer_and_is_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let path = file(cache.path(), &subject("a"));
        std::fs::write(&path, "[{").unwrap();
        assert_eq!(load(cache.path(), &subject("a"), 1), None);
        store(cache.path(), &subject("a"), 1, &Ok(())).unwrap();
        assert!(load(cache.path(), &subject("a"), 1).is_some());
    }

    #[test]
    fn two_who_try_at_once_keep_both_answers() {
        let cache = tempfile::tempdir().unwrap();
        let words: Vec<String> = (0..32).map(|number| number.to_string()).collect();
        std::thread::scope(|scope| {
            for word in &words {
                scope.spawn(|| store(cache.path(), &subject(word), 1, &Ok(())).unwrap());
            }
        });
        for word in &words {
            assert!(load(cache.path(), &subject(word), 1).is_some(), "{word}");
        }
    }
}
