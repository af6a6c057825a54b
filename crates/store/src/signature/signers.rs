//! The public keys that a repository trusts.

use super::public;
use anyhow::Result;
use lab_system::failure::Failure;
use lab_system::root::{Root, if_there};
use lab_text::sanitise;
use std::path::Path;

/// Where they are, below the repository's root.
pub const SIGNERS: &str = "evidence/allowed_signers";

/// Most bytes of that file.
const LIMIT: u64 = 4 << 20;

/// The public keys, with the names of their owners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signers {
    keys: Vec<(String, String)>,
    /// Lines that cannot be read, in words.
    pub problems: Vec<String>,
}

impl Signers {
    /// Reads evidence/allowed_signers: a line for each key, the name before it.
    pub fn read(root: &Path) -> Result<Signers> {
        let path = root.join(SIGNERS);
        let text = if_there(Root::new(root).read_text(&path, LIMIT)).cannot("read", &path)?;
        let mut signers = Signers::default();
        for (at, line) in text.unwrap_or_default().lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.rsplit_once(char::is_whitespace) {
                Some((name, key)) if public::is_key(key) => {
                    let name = sanitise::words(name);
                    signers.keys.push((name, key.to_owned()));
                }
                _ => signers.problems.push(format!(
                    "{SIGNERS}:{}: this is no name with a key: `lab decisions key` prints such a line",
                    at + 1
                )),
            }
        }
        Ok(signers)
    }

    /// The owner of a key. `None` of a key that is not listed.
    pub fn name_of(&self, key: &str) -> Option<&str> {
        let mut keys = self.keys.iter();
        keys.find(|(_, known)| known == key)
            .map(|(name, _)| name.as_str())
    }
}
