//! `[[peer]]`: other implementations of the problem that the kernel is timed beside.

use crate::problem::api::PeerSpec;
use crate::problem::key_error::KeyError;
use lab_protocol::report::peers::MOST_PEERS;
use serde::Deserialize;
use std::path::{Component, Path, PathBuf};

/// The file of a peer's function, if nothing else is said.
const USUAL_FILE: &str = "peer.py";

/// Longest name, in characters. It stands in a column.
const MOST_CHARACTERS: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PeerText {
    name: String,
    /// A function of a Python file.
    function: Option<String>,
    /// The Python file.
    file: Option<String>,
    /// Another kernel.cu, with the problem's entries.
    kernel: Option<String>,
    /// Whether its timed launches run as one CUDA graph; as the problem says, if it is missing.
    graph: Option<bool>,
}

/// Checks the peers of a file, whose problem says `graph`.
pub(super) fn peers(texts: &[PeerText], graph: bool) -> Result<Vec<PeerSpec>, KeyError> {
    if texts.len() > MOST_PEERS {
        let what = format!("peer: {} are too many: a problem has at most {MOST_PEERS}", texts.len());
        return Err(KeyError::new(what).within("peer"));
    }
    let peer = |(i, text): (usize, &PeerText)| {
        let twice = texts[..i].iter().any(|other| other.name == text.name);
        let checked = if twice {
            Err(KeyError::new("another peer has this name").within("name"))
        } else {
            text.check(graph)
        };
        checked.map_err(|e| e.of(format_args!("peer '{}'", text.name)).within(i).within("peer"))
    };
    texts.iter().enumerate().map(peer).collect()
}

impl PeerText {
    fn check(&self, graph: bool) -> Result<PeerSpec, KeyError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.+-:/".contains(c);
        if self.name.is_empty() || self.name.len() > MOST_CHARACTERS || !self.name.chars().all(plain) {
            let what = format!(
                "a name has 1 to {MOST_CHARACTERS} letters, digits and the signs _ . + - : /, as in name = \"F.rms_norm\""
            );
            return Err(KeyError::new(what).within("name"));
        }
        let (key, source, function) = match (&self.function, &self.kernel) {
            (Some(_), Some(_)) => {
                let what = "function and kernel are both given: a peer is a function of a Python file, or a kernel.cu";
                return Err(KeyError::new(what).within("kernel"));
            }
            (None, None) => {
                let what =
                    "say what it is: function = \"NAME\" for a function of peer.py, or kernel = \"other.cu\"";
                return Err(KeyError::new(what).within("name"));
            }
            (Some(function), None) if !super::is_identifier(function) => {
                let what = format!("function: '{function}' is not the name of a function");
                return Err(KeyError::new(what).within("function"));
            }
            (Some(function), None) => {
                ("file", self.file.as_deref().unwrap_or(USUAL_FILE), Some(function.clone()))
            }
            (None, Some(_)) if self.file.is_some() => {
                return Err(KeyError::new("file is for a function: leave it out").within("file"));
            }
            (None, Some(kernel)) => ("kernel", kernel.as_str(), None),
        };
        let source = inside(source).map_err(|what| KeyError::new(format!("{key}: {what}")).within(key))?;
        let is_python = source.extension().is_some_and(|extension| extension == "py");
        match (&function, is_python) {
            (Some(_), false) => {
                Err(KeyError::new("file: it must be a Python file, as peer.py").within("file"))
            }
            (None, true) => {
                let what = "kernel: it is a Python file: name it with file = \"…\" and its function with function = \"…\"";
                Err(KeyError::new(what).within("kernel"))
            }
            _ => {
                Ok(PeerSpec { name: self.name.clone(), source, function, graph: self.graph.unwrap_or(graph) })
            }
        }
    }
}

/// A path that stays in the problem's folder.
fn inside(text: &str) -> Result<PathBuf, &'static str> {
    let path = Path::new(text);
    let stays = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if text.is_empty() || !stays {
        return Err("it must be a path in the problem's folder, without \"..\"");
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Deserialize)]
    struct File {
        peer: Vec<PeerText>,
    }

    fn read(text: &str) -> Result<Vec<PeerSpec>, String> {
        let file: File = toml::from_str(text).unwrap();
        peers(&file.peer, true).map_err(|e| e.to_string())
    }

    #[test]
    fn a_peer_is_a_function_or_a_kernel() {
        let read = read(
            "[[peer]]\nname = \"F.rms_norm\"\nfunction = \"rms\"\n[[peer]]\nname = \"old\"\nkernel = \"old/kernel.cu\"\ngraph = false\n",
        )
        .unwrap();
        assert_eq!((read[0].source.to_str(), read[0].function.as_deref()), (Some("peer.py"), Some("rms")));
        assert_eq!((read[1].source.to_str(), read[1].function.as_deref()), (Some("old/kernel.cu"), None));
        assert_eq!((read[0].graph, read[1].graph), (true, false));
    }

    #[test]
    fn what_is_wrong_with_a_peer_is_said() {
        let error = |keys: &str| read(&format!("[[peer]]\n{keys}\n")).unwrap_err();
        for (keys, wanted) in [
            ("name = \"a b\"\nfunction = \"f\"", "peer 'a b': a name has 1 to 32 letters"),
            ("name = \"a\"", "peer 'a': say what it is"),
            ("name = \"a\"\nfunction = \"f\"\nkernel = \"k.cu\"", "function and kernel are both given"),
            ("name = \"a\"\nfunction = \"f()\"", "'f()' is not the name of a function"),
            ("name = \"a\"\nkernel = \"../k.cu\"", "kernel: it must be a path in the problem's folder"),
            ("name = \"a\"\nkernel = \"k.py\"", "kernel: it is a Python file"),
            ("name = \"a\"\nkernel = \"k.cu\"\nfile = \"p.py\"", "file is for a function"),
            ("name = \"a\"\nfunction = \"f\"\nfile = \"p.txt\"", "file: it must be a Python file"),
            (
                "name = \"a\"\nfunction = \"f\"\n[[peer]]\nname = \"a\"\nfunction = \"g\"",
                "another peer has this name",
            ),
        ] {
            let found = error(keys);
            assert!(found.contains(wanted), "{keys}: {found}");
        }
    }
}
