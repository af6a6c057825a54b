//! The files of the loop: `.lab/auto/` in the work tree, and a folder of the user's for the
//! command's work tree.

use super::state::{Phase, State, VERSION};
use anyhow::{Context, Error, Result, anyhow, ensure};
use lab_project::loop_claim::{self, STATE_LIMIT, folder};
use lab_project::{Project, trust};
use lab_run::inputs;
use lab_system::failure::Failure;
use lab_system::file_lock::LockedFile;
use lab_system::leftovers;
use lab_system::root::{Access, Root, if_there};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock that is held is tried again, and after which wait.
const ATTEMPTS: usize = 5;
const MOMENT: Duration = Duration::from_millis(20);

/// Names of files in the loop's folder.
const STATE: &str = "state.json";
const REQUEST: &str = "request";
const END_TURN: &str = "end-turn";
const KEPT_BYTES: &str = "kept_bytes";

/// Where the files of one kernel's loop are.
pub struct Files {
    pub root: Root,
    /// In `.lab`.
    pub folder: PathBuf,
    /// Absolute, outside the work tree.
    pub user: PathBuf,
}

/// The locks of a running loop. The lock in `.lab` shows other labs that the loop runs. The lock
/// beside the command's folder keeps a second loop out of that folder, even if `git clean -fdx`
/// removes `.lab`.
pub struct Locks([LockedFile; 2]);

impl Files {
    pub fn of(project: &Project) -> Result<Files> {
        let place = format!("{}\n{}", project.root.display(), project.kernel_name);
        let key = blake3::hash(place.as_bytes()).to_hex().to_string();
        let user = trust::state_folder()?.join("auto").join(&key[..16]);
        Ok(Files {
            root: project.files(),
            folder: folder(project),
            user,
        })
    }

    /// Creates the folders, and removes what a killed loop left in its own.
    pub fn create(&self) -> Result<()> {
        self.root
            .create_dir_all(&self.folder)
            .cannot("create", &self.folder)
            .and_so("no loop could start")?;
        leftovers::sweep(&self.root, &self.folder);
        #[allow(clippy::disallowed_methods)] // The folder is the user's own.
        std::fs::create_dir_all(&self.user).cannot("create", &self.user)
    }

    /// Takes the locks of the loop. The error names the process that holds them.
    pub fn lock(&self, project: &Project) -> Result<Locks> {
        let hold = |(root, path): &(Root, PathBuf)| {
            for _ in 0..=ATTEMPTS {
                let taken = root.take_lock(path, Access::ReadWrite);
                let taken = taken.cannot("lock", path);
                if let Some(lock) = taken? {
                    return Ok(lock);
                }
                // A command that asks whether a loop runs holds the lock for a moment.
                std::thread::sleep(MOMENT);
            }
            Err(is_taken(project))
        };
        let [user, lab] = &self.lock_files();
        Ok(Locks([hold(user)?, hold(lab)?]))
    }

    /// Whether the locks keep a second loop away: not where somebody has removed their files, and
    /// perhaps locked new ones.
    pub fn are_held(&self, locks: &Locks) -> bool {
        self.lock_files()
            .iter()
            .zip(&locks.0)
            .all(|((root, path), lock)| root.is_name_of(path, lock))
    }

    /// The files of [`Locks`]. That of the user's is the first: who does not get it touches nothing
    /// in `.lab`.
    fn lock_files(&self) -> [(Root, PathBuf); 2] {
        let user = self.user.with_extension("lock");
        [
            (Root::around(&user), user),
            (self.root.clone(), self.folder.join("lock")),
        ]
    }

    /// Replaces the state in one step. With a kernel that is to be judged it is on disk before this
    /// returns. Without one nobody waits for the disk. A power failure then loses what the state
    /// alone says of the last turns: their numbers, costs and failures, and the last patch. What
    /// was judged and decided is in the records.
    pub fn write_state(&self, state: &State) -> Result<()> {
        let path = self.folder.join(STATE);
        let bytes = serde_json::to_vec_pretty(state)?;
        let written = self.again_if_gone(|| match (&state.candidate, state.phase) {
            (None, Phase::Starting | Phase::Editing) => {
                self.root.replace_with(&path, |out| out.write_all(&bytes))
            }
            _ => self.root.replace(&path, &bytes),
        });
        let written = written.cannot("write", &path);
        written.and_so("the loop ended")
    }

    /// Stores the bytes that are to be judged.
    pub fn write_candidate(&self, bytes: &[u8]) -> Result<()> {
        self.write("candidate", bytes).and_so("the loop ended")
    }

    /// Replaces one of the loop's files. The bytes are on disk before this returns.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        let written = self.again_if_gone(|| self.root.replace(&path, bytes));
        written.cannot("write", &path)
    }

    /// Reads a short file of the loop.
    fn word(&self, name: &str) -> Option<String> {
        let text = self.root.read_text(&self.folder.join(name), 64).ok()?;
        Some(text.trim().to_owned())
    }

    /// Does a step once more, with new folders, if somebody has removed them: `git clean -fdx`
    /// removes `.lab`.
    fn again_if_gone<T>(&self, step: impl Fn() -> std::io::Result<T>) -> std::io::Result<T> {
        match step() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.root.create_dir_all(&self.folder)?;
                step()
            }
            done => done,
        }
    }

    /// Whether the file of the lock is there and locked.
    pub fn is_locked(&self) -> bool {
        self.root.is_locked(&self.folder.join("lock"))
    }

    /// The bytes that are to be judged; `None` unless they have this hash.
    pub fn candidate(&self, hash: &str) -> Option<Vec<u8>> {
        let bytes = self
            .root
            .read(&self.folder.join("candidate"), inputs::SIZE_LIMIT)
            .ok()?;
        (inputs::hash_of(&bytes) == hash).then_some(bytes)
    }

    /// An empty file for the output of the command, and its path.
    pub fn log(&self) -> Result<(File, PathBuf)> {
        let path = self.folder.join("command.log");
        let file = self.again_if_gone(|| self.root.create(&path));
        let file = file.cannot("write", &path)?;
        Ok((file, path))
    }

    /// Bytes of files other than the kernel that were kept of all turns.
    pub fn kept_bytes(&self) -> u64 {
        let kept = self.word(KEPT_BYTES).and_then(|text| text.parse().ok());
        kept.unwrap_or(0)
    }

    pub fn write_kept_bytes(&self, bytes: u64) -> Result<()> {
        self.write(KEPT_BYTES, bytes.to_string().as_bytes())
    }

    /// What a person asked the loop for, and the loop has not read yet.
    pub fn request(&self) -> Option<String> {
        self.word(REQUEST)
    }

    /// Removes and returns what a person asked the loop for.
    pub fn take_request(&self) -> Option<String> {
        let asked = self.request()?;
        self.root.remove_file(&self.folder.join(REQUEST)).ok()?;
        Some(asked)
    }

    pub fn write_request(&self, word: &str) -> Result<()> {
        self.write(REQUEST, word.as_bytes())
    }

    /// Asks for the end of this turn. The request is not about another turn.
    pub fn write_end_of_turn(&self, turn: u64) -> Result<()> {
        self.write(END_TURN, turn.to_string().as_bytes())
    }

    /// Whether a person asked for the end of this turn.
    pub fn ends_turn(&self, turn: u64) -> bool {
        self.word(END_TURN) == Some(turn.to_string())
    }

    /// The files whose changes a screen shows.
    pub fn shown(&self) -> [PathBuf; 4] {
        [STATE, REQUEST, END_TURN, "command.log"].map(|name| self.folder.join(name))
    }

    /// The kernel in the command's work tree.
    pub fn edited(&self, project: &Project) -> PathBuf {
        self.user.join("tree").join(&project.kernel_name)
    }
}

fn is_taken(project: &Project) -> Error {
    let process = read_state(project)
        .ok()
        .flatten()
        .map(|state| format!(" (process {})", state.process));
    anyhow!(
        "a `lab auto` works on {} already{}: `lab auto status{}` shows it, `lab auto stop{}` ends it",
        project.kernel_name,
        process.unwrap_or_default(),
        project.argument,
        project.argument
    )
}

/// Reads the state of a kernel's loop. `None` if there was none, or a power failure left nothing of
/// it: some file systems then hold a file without bytes, or with zeros in their place.
pub fn read_state(project: &Project) -> Result<Option<State>> {
    read_state_in(project, &folder(project))
}

/// [`read_state`] of the loop with this folder.
pub fn read_state_in(project: &Project, folder: &Path) -> Result<Option<State>> {
    let path = folder.join(STATE);
    let bytes = if_there(project.files().read(&path, STATE_LIMIT))
        .cannot("read", &path)?
        .filter(|bytes| bytes.iter().any(|byte| *byte != 0));
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let state: State = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is damaged: remove it", path.display()))?;
    ensure!(
        state.schema_version <= VERSION,
        "a newer lab wrote {}: update lab",
        path.display()
    );
    Ok(Some(state))
}

/// Whether a loop works on the kernel now.
pub fn is_running(project: &Project) -> Result<bool> {
    Files::of(project).map(|_| loop_claim::is_running(project))
}
