//! The files that a problem.toml takes values, workloads and peers from.

use lab_protocol::report::peers::MOST_PEERS;
use std::path::{Component, Path};
use toml::{Table, Value};

/// The paths that a problem.toml names as `values = { npy = "…" }` of a tensor or a workload, or as
/// `jsonl = "…"` of a workload, each once, sorted. Relative to its folder. A path that leads out of
/// the folder is left out: the judge refuses it.
pub fn named_in(problem: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(problem);
    let mut names = Vec::new();
    // The judge says what is wrong with a file that is no TOML.
    if let Ok(table) = text.parse::<Table>() {
        collect(&Value::Table(table), &mut names);
    }
    names.sort_unstable();
    names
}

fn collect(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            for (key, inner) in table {
                match inner {
                    Value::String(name)
                        if ["npy", "jsonl"].contains(&key.as_str())
                            && stays_below(name)
                            && !names.contains(name) =>
                    {
                        names.push(name.clone());
                    }
                    _ => collect(inner, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}

fn stays_below(name: &str) -> bool {
    !name.is_empty()
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The file of a peer's function, if the table names no other.
pub const USUAL_FILE: &str = "peer.py";

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
    fn files_of_tensors_and_of_workloads_are_named_once() {
        let problem = br#"
entry = "f"
[[tensor]]
name = "x"
values = { npy = "data/x.npy" }
[[tensor]]
name = "npy"
values = { normal = {} }
[[workload]]
values = { x = { npy = "small.npy" }, npy = { constant = 1 } }
[[held_out]]
values.x.npy = "data/x.npy"
jsonl = "more.jsonl"
[[keep]]
values = { x = { npy = "keep.npy" } }
"#;
        assert_eq!(
            named_in(problem),
            ["data/x.npy", "keep.npy", "more.jsonl", "small.npy"]
                .map(str::to_owned)
                .as_slice()
        );
    }

    #[test]
    fn what_is_no_file_below_the_folder_is_left_out() {
        for problem in [
            "values.npy = \"../x.npy\"",
            "values.npy = \"/etc/passwd\"",
            "values.npy = 3",
            "npy",
            "\u{0}",
        ] {
            assert!(named_in(problem.as_bytes()).is_empty(), "{problem}");
        }
        assert!(named_in(b"\xff\xfe").is_empty());
    }

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
