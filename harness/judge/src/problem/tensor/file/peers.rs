//! `[[peer]]`: other implementations of the problem that the kernel is timed beside.

use super::super::beside::is_below;
use crate::dtype::Dtype;
use crate::problem::key_error::{InKey, Result, wrong};
use crate::problem::peer::PeerSpec;
use lab_protocol::Language;
use lab_protocol::report::peers::MOST_PEERS;
use lab_protocol::text::{is_among, is_identifier};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The words of Python that name nothing else.
pub const PYTHON_WORDS: &str = "\
    False None True __debug__ and as assert async await break class continue def del elif else \
    except finally for from global if import in is lambda nonlocal not or pass raise return \
    try while with yield";

/// The file of a peer's function, if nothing else is said.
const USUAL_FILE: &str = "peer.py";

/// Longest name, in characters. It stands in a column.
const MOST_CHARACTERS: usize = 32;

/// Stands for the name of a type.
const TYPE: &str = "{T}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerText {
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

/// The keys of the problem that its peers need.
pub(super) struct PeersOf<'a> {
    pub entry: &'a str,
    pub types: &'a [Dtype],
    pub graph: bool,
}

/// Checks the peers of a file.
pub(super) fn peers(texts: &[PeerText], of: &PeersOf) -> Result<Vec<PeerSpec>> {
    if texts.len() > MOST_PEERS {
        let what = format!(
            "peer: {} are too many: a problem has at most {MOST_PEERS}",
            texts.len()
        );
        return wrong("peer", what);
    }
    let peer = |(i, text): (usize, &PeerText)| {
        let twice = texts[..i].iter().any(|other| other.name == text.name);
        let checked = if twice {
            wrong("name", "another peer has this name")
        } else {
            text.check(of)
        };
        let checked = checked.of(format_args!("peer '{}'", text.name));
        checked.item("peer", i)
    };
    texts.iter().enumerate().map(peer).collect()
}

impl PeerText {
    fn check(&self, of: &PeersOf) -> Result<PeerSpec> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.+-:/".contains(c);
        if self.name.is_empty()
            || self.name.len() > MOST_CHARACTERS
            || !self.name.chars().all(plain)
        {
            let what = format!(
                "a name has 1 to {MOST_CHARACTERS} letters, digits and the signs _ . + - : /, as in name = \"F.rms_norm\""
            );
            return wrong("name", what);
        }
        let (key, source, functions) = match (&self.function, &self.kernel) {
            (Some(_), Some(_)) => {
                let what = "function and kernel are both given: a peer is a function of a Python file, or a kernel.cu";
                return wrong("kernel", what);
            }
            (None, None) => {
                let what = "say what it is: function = \"NAME\" for a function of peer.py, or kernel = \"other.cu\"";
                return wrong("name", what);
            }
            (Some(function), None) => {
                let functions = of.functions(function).within("function")?;
                let file = self.file.as_deref().unwrap_or(USUAL_FILE);
                ("file", file, functions)
            }
            (None, Some(_)) if self.file.is_some() => {
                return wrong("file", "file is for a function: leave it out");
            }
            (None, Some(kernel)) => ("kernel", kernel.as_str(), Vec::new()),
        };
        let source = inside(source).key(key)?;
        match (self.function.is_some(), Language::of(&source)) {
            (true, Language::Cuda) => {
                let what = "file: it must be a Python file, as peer.py";
                wrong("file", what)
            }
            (false, Language::Python) => {
                let what = "kernel: it is a Python file: name it with file = \"…\" and its function with function = \"…\"";
                wrong("kernel", what)
            }
            _ => {
                let graph = self.graph.unwrap_or(of.graph);
                Ok(PeerSpec {
                    name: self.name.clone(),
                    source,
                    functions,
                    graph,
                })
            }
        }
    }
}

impl PeersOf<'_> {
    /// Each entry with the function that it calls. `{T}` in the function's name stands for a type,
    /// as in the entry's.
    fn functions(&self, function: &str) -> Result<Vec<(String, String)>, String> {
        if function.contains(TYPE) && self.types.is_empty() {
            return Err(format!(
                "function: '{function}': {TYPE} stands for a type, and this problem has no types"
            ));
        }
        let pairs: Vec<(String, String)> = match self.types {
            [] => vec![(self.entry.to_owned(), function.to_owned())],
            types => {
                let of = |text: &str, dtype: &Dtype| text.replace(TYPE, dtype.word());
                types
                    .iter()
                    .map(|dtype| (of(self.entry, dtype), of(function, dtype)))
                    .collect()
            }
        };
        for (_, name) in &pairs {
            if !is_identifier(name) {
                return Err(format!(
                    "function: '{function}' is not the name of a function"
                ));
            }
            if is_among(name, PYTHON_WORDS) {
                return Err(format!(
                    "function: '{name}' is a word of Python, and no function can have this name"
                ));
            }
        }
        Ok(pairs)
    }
}

/// A path that stays in the problem's folder.
fn inside(text: &str) -> Result<PathBuf, &'static str> {
    let path = Path::new(text);
    if text.is_empty() || !is_below(path) {
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
        let of = PeersOf {
            entry: "scale_{T}",
            types: &[Dtype::F32, Dtype::F16],
            graph: true,
        };
        peers(&file.peer, &of).map_err(|e| e.to_string())
    }

    #[test]
    fn a_peer_is_a_function_or_a_kernel() {
        let read = read(
            "[[peer]]\nname = \"F.rms_norm\"\nfunction = \"rms\"\n[[peer]]\nname = \"old\"\nkernel = \"old/kernel.cu\"\ngraph = false\n",
        )
        .unwrap();
        let pairs = |with: [&str; 2]| {
            vec![
                ("scale_f32".into(), with[0].into()),
                ("scale_f16".into(), with[1].into()),
            ]
        };
        assert_eq!(
            (read[0].source.to_str(), &read[0].functions),
            (Some("peer.py"), &pairs(["rms", "rms"]))
        );
        assert_eq!(
            (read[1].source.to_str(), read[1].functions.len()),
            (Some("old/kernel.cu"), 0)
        );
        assert_eq!((read[0].graph, read[1].graph), (true, false));
    }

    #[test]
    fn a_function_for_each_type_is_named_as_the_entry_is() {
        let read = read("[[peer]]\nname = \"a\"\nfunction = \"f_{T}\"\n").unwrap();
        let pairs =
            [("scale_f32", "f_f32"), ("scale_f16", "f_f16")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(read[0].functions, pairs);
        let file: File = toml::from_str("[[peer]]\nname = \"a\"\nfunction = \"f_{T}\"\n").unwrap();
        let of = PeersOf {
            entry: "scale",
            types: &[],
            graph: true,
        };
        let error = peers(&file.peer, &of).unwrap_err().to_string();
        assert!(
            error.contains("{T} stands for a type, and this problem has no types"),
            "{error}"
        );
    }

    #[test]
    fn what_is_wrong_with_a_peer_is_said() {
        let error = |keys: &str| read(&format!("[[peer]]\n{keys}\n")).unwrap_err();
        for (keys, wanted) in [
            (
                "name = \"a b\"\nfunction = \"f\"",
                "peer 'a b': a name has 1 to 32 letters",
            ),
            ("name = \"a\"", "peer 'a': say what it is"),
            (
                "name = \"a\"\nfunction = \"f\"\nkernel = \"k.cu\"",
                "function and kernel are both given",
            ),
            (
                "name = \"a\"\nfunction = \"f()\"",
                "'f()' is not the name of a function",
            ),
            (
                "name = \"a\"\nfunction = \"\"",
                "'' is not the name of a function",
            ),
            (
                "name = \"a\"\nfunction = \"größe\"",
                "'größe' is not the name of a function",
            ),
            (
                "name = \"a\"\nfunction = \"f_{U}\"",
                "'f_{U}' is not the name of a function",
            ),
            (
                "name = \"a\"\nfunction = \"lambda\"",
                "'lambda' is a word of Python",
            ),
            (
                "name = \"a\"\nfunction = \"None\"",
                "'None' is a word of Python",
            ),
            (
                "name = \"a\"\nkernel = \"../k.cu\"",
                "kernel: it must be a path in the problem's folder",
            ),
            (
                "name = \"a\"\nkernel = \"k.py\"",
                "kernel: it is a Python file",
            ),
            (
                "name = \"a\"\nkernel = \"k.cu\"\nfile = \"p.py\"",
                "file is for a function",
            ),
            (
                "name = \"a\"\nfunction = \"f\"\nfile = \"p.txt\"",
                "file: it must be a Python file",
            ),
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
