//! A lock on a GPU, so that nothing else runs on it while a kernel is measured, whoever starts it.
//!
//! Measuring takes the lock exclusively. Other launches share it: verifying, and work ahead on
//! standby. Building does not take it. The lock is on a file, so it is free again when the guard is
//! dropped or the process dies.
//!
//! Several judges on standby would hold a shared lock for ever: one of them always launches. So
//! there is a second file, the turn. Who waits to measure holds the turn, and nobody begins to
//! launch meanwhile.
//!
//! The file is named by the GPU's identifier, because CUDA_VISIBLE_DEVICES gives one GPU several
//! ordinals. It lies in `/tmp`, because two users of one host share neither a cache folder nor
//! XDG_RUNTIME_DIR. Anybody may have put anything there, so the file is opened only if it is a
//! plain file, never through a link, and it is never written to; reading permission is enough to
//! lock it. If that fails, a file in the user's own cache folder is used. Containers with a `/tmp`
//! of their own do not see each other's lock; then the list of processes from NVML shows the
//! others.

use crate::outcome::{Result, Stop};
use lab_device::DeviceInfo;
use lab_protocol::report::Writer;
use lab_system::file_lock::{self, LockedFile, Sharing};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a run uses the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceUse {
    /// Nothing else may launch meanwhile.
    Measuring,
    /// Others may launch too, and nobody may measure.
    Launching,
}

/// Interval at which a lock that is taken is tried again.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// How long a run waits for the device. A measurement on a save takes less. After this time another
/// run measures at length, or another user's process holds the lock: a verdict with a caveat is
/// then better than none.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a run of `lab bench` waits for the device: longer than another one measures. Nobody
/// waits for its verdict, and its times are of little use if something was measured beside it.
pub const PATIENCE_OF_BENCH: Duration = Duration::from_secs(30 * 60);

/// A device's lock, not taken. The emulated device has none, because its times mean nothing: there
/// every method returns at once without a guard.
#[derive(Clone, Debug)]
pub struct DeviceLock {
    /// Where the file may lie; the first that can be used counts. None for the emulated device.
    files: Vec<PathBuf>,
    /// The same for the turn.
    turns: Vec<PathBuf>,
}

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub struct LockGuard(#[expect(dead_code, reason = "held, never read")] LockedFile);

impl DeviceLock {
    /// The lock of this device; `cache_dir` holds its files if `/tmp` cannot.
    pub fn of(device: &DeviceInfo, cache_dir: &Path) -> DeviceLock {
        let name = if device.uuid.is_empty() {
            &device.name
        } else {
            &device.uuid
        };
        let folders = [Path::new("/tmp"), cache_dir];
        DeviceLock::in_folders(name, if device.emulated { &[] } else { &folders })
    }

    fn in_folders(name: &str, folders: &[&Path]) -> DeviceLock {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        let name: String = name.chars().map(plain).collect();
        let each = |ending: &str| {
            folders
                .iter()
                .map(|folder| folder.join(format!("lab-device-{name}{ending}")))
                .collect()
        };
        DeviceLock {
            files: each(".lock"),
            turns: each(".turn"),
        }
    }

    /// Takes the lock if it is free for this use and nobody waits to measure; `None` if not.
    /// Returns an error if no file can be locked.
    pub fn try_take(&self, wanted: DeviceUse) -> Result<Option<LockGuard>> {
        match try_in(&self.turns, wanted)? {
            Some(_turn) => try_in(&self.files, wanted),
            None => Ok(None),
        }
    }

    /// Waits until this use is allowed, but no longer than `patience`, and says in the log what it
    /// waits for. A measurement that goes on without the lock gets a caveat.
    pub fn wait_for(
        &self,
        patience: Duration,
        wanted: DeviceUse,
        out: &mut Writer,
    ) -> Result<Option<LockGuard>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let say = || {
            out.text(match wanted {
                DeviceUse::Measuring => "another run uses this device: waiting for it",
                DeviceUse::Launching => "another run measures on this device: waiting for it",
            })
        };
        let guard = self.take(wanted, patience, say)?;
        if guard.is_none() && wanted == DeviceUse::Measuring {
            out.caveat(format_args!(
                "another run used the same device for more than {} s, so this was measured beside it",
                patience.as_secs()
            ))?;
        }
        Ok(guard)
    }

    /// Waits for the lock, up to `patience`. Calls `on_wait` once if it has to wait. `None` if the
    /// time is up.
    pub fn take(
        &self,
        wanted: DeviceUse,
        patience: Duration,
        on_wait: impl FnOnce() -> io::Result<()>,
    ) -> Result<Option<LockGuard>> {
        let deadline = Instant::now() + patience;
        let mut on_wait = Some(on_wait);
        let mut turn = None;
        loop {
            if turn.is_none() {
                turn = try_in(&self.turns, wanted)?;
            }
            if turn.is_some()
                && let Some(held) = try_in(&self.files, wanted)?
            {
                return Ok(Some(held));
            }
            if let Some(on_wait) = on_wait.take() {
                on_wait()?;
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            // Who waits for a launch leaves the turn to a measurement.
            turn = turn.filter(|_| wanted == DeviceUse::Measuring);
            std::thread::sleep(POLL_EVERY);
        }
    }

    /// Waits for the lock to launch, and returns `None` when `interrupted` returns true.
    pub fn take_while_idle(&self, mut interrupted: impl FnMut() -> bool) -> Option<LockGuard> {
        while !self.files.is_empty() && !interrupted() {
            match self.try_take(DeviceUse::Launching) {
                Ok(Some(held)) => return Some(held),
                Ok(None) => std::thread::sleep(POLL_EVERY),
                // A run that needs the lock reports the same error.
                Err(_) => return None,
            }
        }
        None
    }
}

/// Takes the lock of the first of these files that can be locked.
fn try_in(files: &[PathBuf], wanted: DeviceUse) -> Result<Option<LockGuard>> {
    let mut failed = None;
    for file in files {
        match try_at(file, wanted) {
            Ok(held) => return Ok(held),
            Err(error) => failed = Some((file, error)),
        }
    }
    let Some((file, error)) = failed else {
        return Ok(None);
    };
    Err(Stop::Lab(format!(
        "the lock file {} of the device cannot be used: {error}",
        file.display()
    )))
}

fn try_at(place: &Path, wanted: DeviceUse) -> io::Result<Option<LockGuard>> {
    let sharing = match wanted {
        DeviceUse::Measuring => Sharing::Exclusive,
        DeviceUse::Launching => Sharing::Shared,
    };
    let taken = file_lock::take(sharing, || open(place), || std::fs::metadata(place));
    Ok(taken?.map(LockGuard))
}

/// Opens the file, or creates it. Tries without O_CREAT first: in a folder that everybody may write
/// to, Linux refuses O_CREAT on another user's file (fs.protected_regular).
fn open(place: &Path) -> io::Result<File> {
    // NONBLOCK, so that opening a FIFO does not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let all_may_read = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let opened = match rustix::fs::open(place, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => {
            match rustix::fs::open(place, flags | OFlags::CREATE | OFlags::EXCL, all_may_read) {
                Ok(made) => {
                    // The umask may have taken permissions away.
                    rustix::fs::fchmod(&made, all_may_read)?;
                    Ok(made)
                }
                Err(rustix::io::Errno::EXIST) => rustix::fs::open(place, flags, Mode::empty()),
                Err(error) => Err(error),
            }
        }
        other => other,
    };
    let file = File::from(opened?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a plain file"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const NAME: &str = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";

    fn here(folder: &Path) -> (DeviceLock, PathBuf) {
        let lock = DeviceLock::in_folders(NAME, &[folder]);
        let place = lock.files[0].clone();
        (lock, place)
    }

    fn is_free(lock: &DeviceLock, wanted: DeviceUse) -> bool {
        lock.try_take(wanted).unwrap().is_some()
    }

    #[test]
    fn nobody_launches_beside_a_measurement() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, _) = here(folder.path());
        let other = DeviceLock::in_folders("GPU-another", &[folder.path()]);
        let measuring = lock.try_take(DeviceUse::Measuring).unwrap().unwrap();
        assert!(!is_free(&lock, DeviceUse::Measuring) && !is_free(&lock, DeviceUse::Launching));
        assert!(
            is_free(&other, DeviceUse::Measuring),
            "each device has its own lock"
        );
        drop(measuring);
        let launching = lock.try_take(DeviceUse::Launching).unwrap().unwrap();
        assert!(is_free(&lock, DeviceUse::Launching) && !is_free(&lock, DeviceUse::Measuring));
        drop(launching);
        assert!(is_free(&lock, DeviceUse::Measuring));
    }

    #[test]
    fn a_waiting_run_is_notified_once_and_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, _) = here(folder.path());
        let held = lock.try_take(DeviceUse::Measuring).unwrap().unwrap();
        let mut notified = 0;
        let mut notify = || {
            notified += 1;
            Ok(())
        };
        assert!(
            lock.take(DeviceUse::Measuring, Duration::from_millis(20), &mut notify)
                .unwrap()
                .is_none()
        );
        assert!(
            lock.take_while_idle(|| true).is_none(),
            "an interrupted launch does not wait"
        );
        let waiting = {
            let lock = lock.clone();
            std::thread::spawn(move || {
                lock.take(DeviceUse::Measuring, Duration::from_secs(60), || Ok(()))
            })
        };
        drop(held);
        let second = waiting.join().unwrap().unwrap();
        assert!(second.is_some() && notified == 1);
        drop(second);
        assert!(lock.take_while_idle(|| false).is_some());
    }

    #[test]
    fn who_waits_to_measure_comes_before_launches_that_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, _) = here(folder.path());
        let first = lock.try_take(DeviceUse::Launching).unwrap().unwrap();
        let (tell, waits) = std::sync::mpsc::channel();
        let measuring = {
            let lock = lock.clone();
            let notify = move || tell.send(()).map_err(io::Error::other);
            std::thread::spawn(move || {
                lock.take(DeviceUse::Measuring, Duration::from_secs(60), notify)
            })
        };
        waits.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(
            !is_free(&lock, DeviceUse::Launching),
            "a launch would be shared with the first one"
        );
        drop(first);
        let measures = measuring.join().unwrap().unwrap();
        assert!(measures.is_some() && !is_free(&lock, DeviceUse::Launching));
        drop(measures);
        assert!(
            is_free(&lock, DeviceUse::Launching),
            "the turn is given back with the lock"
        );
    }

    #[test]
    fn another_users_file_is_locked_without_writing_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, place) = here(folder.path());
        assert!(is_free(&lock, DeviceUse::Measuring));
        let mode = fs::metadata(&place).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o644, "everybody may read it, whatever the umask");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(is_free(&lock, DeviceUse::Measuring));
    }

    #[test]
    fn a_link_or_a_pipe_in_its_place_is_not_touched() {
        let (public, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let lock = DeviceLock::in_folders(NAME, &[public.path(), own.path()]);
        let target = own.path().join("target");
        symlink(&target, &lock.files[0]).unwrap();
        assert!(is_free(&lock, DeviceUse::Measuring));
        assert!(
            !target.exists() && lock.files[1].is_file(),
            "the user's own folder holds it instead"
        );
        fs::remove_file(&lock.files[0]).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &lock.files[0],
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(is_free(&lock, DeviceUse::Measuring));
    }

    #[test]
    fn a_removed_file_locks_nothing_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, place) = here(folder.path());
        let held = lock.try_take(DeviceUse::Measuring).unwrap().unwrap();
        fs::remove_file(&place).unwrap();
        assert!(
            is_free(&lock, DeviceUse::Measuring),
            "the file is created again"
        );
        drop(held);
    }
}
