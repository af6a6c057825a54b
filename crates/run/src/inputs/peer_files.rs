//! The files of the peers that a problem.toml names in its `[[peer]]` tables.

use super::value_files::stays_below;
use lab_protocol::report::peers::MOST_PEERS;
use toml::{Table, Value};

/// The file of a peer's function, if the table names no other.
pub(crate) const USUAL_FILE: &str = "peer.py";

/// A `[[peer]]` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerTable {
    pub name: String,
    /// The file that it is read from, relative to problem.toml.
    pub file: String,
    /// The function of a Python file; `None` of a kernel.cu.
    pub function: Option<String>,
}

/// The peers of a problem.toml, in its order. A table that the judge refuses, for instance because
/// its file leads out of the folder, is left out.
pub fn tables(problem: &[u8]) -> Vec<PeerTable> {
    let table = String::from_utf8_lossy(problem).parse::<Table>().ok();
    let Some(Value::Array(peers)) = table.as_ref().and_then(|table| table.get("peer")) else {
        return Vec::new();
    };
    let read = |peer: &Value| {
        let text = |key: &str| peer.get(key).and_then(Value::as_str).map(str::to_owned);
        let (name, function, kernel) = (text("name")?, text("function"), text("kernel"));
        let file = match (&function, kernel) {
            (Some(_), None) => text("file").unwrap_or_else(|| USUAL_FILE.to_owned()),
            (None, Some(kernel)) => kernel,
            _ => return None,
        };
        stays_below(&file).then_some(PeerTable {
            name,
            file,
            function,
        })
    };
    peers.iter().take(MOST_PEERS).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_a_file_of_its_own_or_the_usual_one() {
        let read = tables(
            b"[[peer]]\nname = \"eager\"\nfunction = \"eager\"\n[[peer]]\nname = \"triton\"\nfunction = \"f\"\nfile = \"t.py\"\n\
              [[peer]]\nname = \"old\"\nkernel = \"old/kernel.cu\"\n",
        );
        let files: Vec<&str> = read.iter().map(|peer| peer.file.as_str()).collect();
        assert_eq!(files, ["peer.py", "t.py", "old/kernel.cu"]);
        assert_eq!(
            (read[1].function.as_deref(), read[2].function.as_deref()),
            (Some("f"), None)
        );
    }

    #[test]
    fn what_is_no_peer_is_left_out() {
        for problem in [
            "peer = 3",
            "[[peer]]\nname = \"a\"",
            "[[peer]]\nfunction = \"f\"",
            "[[peer]]\nname = \"a\"\nkernel = \"../k.cu\"",
            "[[peer]]\nname = \"a\"\nkernel = \"/etc/passwd\"",
            "[[peer]]\nname = \"a\"\nkernel = \"k.cu\"\nfunction = \"f\"",
            "[[peer]",
        ] {
            assert!(tables(problem.as_bytes()).is_empty(), "{problem}");
        }
        assert!(tables(b"\xff").is_empty());
    }
}
