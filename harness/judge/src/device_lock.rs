//! One measurement at a time on one GPU, whoever runs it: a lock on a file, free again when it is
//! dropped or its process dies. Measuring takes it alone; what else launches on the device (verifying, work
//! ahead on standby) shares it, so that it never runs beside a measurement. Building never takes it.
//!
//! The file is named by the GPU's identifier, because CUDA_VISIBLE_DEVICES gives one GPU several ordinals,
//! and lies in `/tmp`, because two users of one host share neither a cache folder nor XDG_RUNTIME_DIR. There
//! anybody may have put anything, so it is opened as a plain file only, never through a link, never written to,
//! and readable is enough to lock it. Where that fails, the user's own cache folder holds it. Containers
//! with a `/tmp` of their own do not see each other: there NVML's list of processes tells.

use crate::outcome::Stop;
use lab_device::DeviceInfo;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a device is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceUse {
    /// Nobody else may launch meanwhile.
    Measuring,
    /// Others may launch too, but nobody may measure.
    Launching,
}

/// Between two looks at a lock that somebody holds.
const A_MOMENT: Duration = Duration::from_millis(5);

/// Longer than one who waits looks away: whoever takes a lock again and again leaves this gap.
const GAP: Duration = Duration::from_millis(10);

/// A device's lock, not taken yet.
#[derive(Clone, Debug)]
pub struct DeviceLock {
    /// Where its file may lie, best first.
    places: Vec<PathBuf>,
}

/// Holds it until it is dropped.
#[derive(Debug)]
pub struct LockGuard(#[expect(dead_code, reason = "held, never read")] File);

impl DeviceLock {
    /// `None` on the emulated device, whose times mean nothing.
    pub fn of(device: &DeviceInfo, cache_dir: &Path) -> Option<DeviceLock> {
        let name = if device.uuid.is_empty() { &device.name } else { &device.uuid };
        (!device.emulated).then(|| DeviceLock::in_folders(name, &[Path::new("/tmp"), cache_dir]))
    }

    fn in_folders(name: &str, folders: &[&Path]) -> DeviceLock {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let file = format!("lab-device-{}.lock", name.chars().map(plain).collect::<String>());
        DeviceLock { places: folders.iter().map(|folder| folder.join(&file)).collect() }
    }

    /// `None` where somebody holds it so that this use must wait.
    pub fn try_take(&self, wanted: DeviceUse) -> Result<Option<LockGuard>, Stop> {
        let mut failed = None;
        for place in &self.places {
            match try_at(place, wanted) {
                Ok(held) => return Ok(held),
                Err(error) => failed = Some((place, error)),
            }
        }
        let Some((place, error)) = failed else { return Ok(None) };
        Err(Stop::Lab(format!("the device's lock {}: {error}", place.display())))
    }

    /// Waits for it, for as long as `patience`; `busy` is called once where there is something to wait
    /// for. `None` where patience was not enough.
    pub fn take(
        &self,
        wanted: DeviceUse,
        patience: Duration,
        busy: impl FnOnce() -> io::Result<()>,
    ) -> Result<Option<LockGuard>, Stop> {
        let deadline = Instant::now() + patience;
        let mut busy = Some(busy);
        loop {
            if let Some(held) = self.try_take(wanted)? {
                return Ok(Some(held));
            }
            if let Some(busy) = busy.take() {
                busy()?;
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(A_MOMENT);
        }
    }

    /// For launches that nobody waits for: shares it once it is free, unless something else is `due` before.
    pub fn take_while_idle(&self, mut due: impl FnMut() -> bool) -> Option<LockGuard> {
        while !due() {
            std::thread::sleep(GAP);
            match self.try_take(DeviceUse::Launching) {
                Ok(Some(held)) => return Some(held),
                Ok(None) => {}
                // What waits for the device's turn will say it.
                Err(_) => return None,
            }
        }
        None
    }
}

fn try_at(place: &Path, wanted: DeviceUse) -> io::Result<Option<LockGuard>> {
    // Somebody may remove the file between opening and locking it: then it locks nothing.
    for _ in 0..8 {
        let file = open(place)?;
        let locked = match wanted {
            DeviceUse::Measuring => file.try_lock(),
            DeviceUse::Launching => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let (mine, there) = (file.metadata()?, std::fs::symlink_metadata(place));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (mine.dev(), mine.ino())) {
            return Ok(Some(LockGuard(file)));
        }
    }
    Err(io::Error::other("it is removed again and again"))
}

/// The file, made where it is missing. Opening without O_CREAT first: in a folder that all may write to, the
/// system refuses O_CREAT on a file of another user's (fs.protected_regular).
fn open(place: &Path) -> io::Result<File> {
    // A FIFO must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let all_may_read = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let opened = match rustix::fs::open(place, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => {
            match rustix::fs::open(place, flags | OFlags::CREATE | OFlags::EXCL, all_may_read) {
                Ok(made) => {
                    // Whatever the umask left of it.
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
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no plain file")) }
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
        let place = lock.places[0].clone();
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
        assert!(is_free(&other, DeviceUse::Measuring), "another device's lock is another one");
        drop(measuring);
        let launching = lock.try_take(DeviceUse::Launching).unwrap().unwrap();
        assert!(is_free(&lock, DeviceUse::Launching) && !is_free(&lock, DeviceUse::Measuring));
        drop(launching);
        assert!(is_free(&lock, DeviceUse::Measuring));
    }

    #[test]
    fn who_waits_is_told_once_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, _) = here(folder.path());
        let held = lock.try_take(DeviceUse::Measuring).unwrap().unwrap();
        let mut told = 0;
        let mut tell = || {
            told += 1;
            Ok(())
        };
        assert!(lock.take(DeviceUse::Measuring, Duration::from_millis(20), &mut tell).unwrap().is_none());
        assert!(lock.take_while_idle(|| true).is_none(), "an order that is due does not wait");
        let waiting = {
            let lock = lock.clone();
            std::thread::spawn(move || lock.take(DeviceUse::Measuring, Duration::from_secs(60), || Ok(())))
        };
        drop(held);
        let second = waiting.join().unwrap().unwrap();
        assert!(second.is_some() && told == 1);
        drop(second);
        assert!(lock.take_while_idle(|| false).is_some());
    }

    #[test]
    fn another_users_file_is_locked_without_writing_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, place) = here(folder.path());
        assert!(is_free(&lock, DeviceUse::Measuring));
        let mode = fs::metadata(&place).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o644, "all may read it, whatever the umask");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(is_free(&lock, DeviceUse::Measuring));
    }

    #[test]
    fn a_link_or_a_pipe_in_its_place_is_not_touched() {
        let (public, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let lock = DeviceLock::in_folders(NAME, &[public.path(), own.path()]);
        let treasure = own.path().join("treasure");
        symlink(&treasure, &lock.places[0]).unwrap();
        assert!(is_free(&lock, DeviceUse::Measuring));
        assert!(!treasure.exists() && lock.places[1].is_file(), "the user's own folder holds it instead");
        fs::remove_file(&lock.places[0]).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &lock.places[0], rustix::fs::FileType::Fifo, Mode::RUSR, 0)
            .unwrap();
        assert!(is_free(&lock, DeviceUse::Measuring));
    }

    #[test]
    fn a_removed_file_locks_nothing_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, place) = here(folder.path());
        let held = lock.try_take(DeviceUse::Measuring).unwrap().unwrap();
        fs::remove_file(&place).unwrap();
        assert!(is_free(&lock, DeviceUse::Measuring), "it is made anew");
        drop(held);
    }
}
