//! The files that a problem.toml takes values and workloads from.

use std::path::{Component, Path};
use toml::{Table, Value};

/// The paths that a problem.toml names as `values = { npy = "…" }` of a tensor or a workload, or as
/// `jsonl = "…"` of a workload, each once, sorted. Relative to its folder. A path that leads out of
/// the folder is left out: the judge refuses it.
pub(super) fn named_in(problem: &[u8]) -> Vec<String> {
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

pub(super) fn stays_below(name: &str) -> bool {
    !name.is_empty()
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
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
}
