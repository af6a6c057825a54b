//! Files that the kernel includes: a commit has to hold every judged file.

use crate::built_in::rmsnorm;
use crate::lab::Lab;
use std::fs;

const KERNEL: &str = "kernels/rmsnorm/kernel.cu";

fn record(lab: &Lab, run: u32) -> serde_json::Value {
    serde_json::from_str(&lab.read(&format!(".lab/runs/{run}/record.json"))).unwrap()
}

/// The recorded hash of an input; `None` if the run had no such input.
fn hash(record: &serde_json::Value, path: &str) -> Option<String> {
    let inputs = record["inputs"].as_array().unwrap();
    let found = inputs
        .iter()
        .find(|file| file["path"].as_str() == Some(path))?;
    found["hash"].as_str().map(str::to_owned)
}

#[test]
fn a_file_outside_of_the_repository_is_recorded_and_its_kernel_is_not_kept() {
    let lab = Lab::new();
    let outside = lab.repo.parent().unwrap().join("outside.h");
    fs::write(&outside, "// what the kernel does\n").unwrap();
    let shown = outside.display().to_string();
    for (line, file) in [
        (format!("#include \"{shown}\"\n"), &shown),
        (format!("  # include <{shown}>\n"), &shown),
        ("#include \"../outside.h\"\n".to_owned(), &shown),
        (
            format!("/* in a\ncomment */ #inc\\\nlude \"{shown}\"\n"),
            &shown,
        ),
        (format!("%:include \"{shown}\"\n"), &shown),
        (format!("#embed \"{shown}\"\n"), &shown),
    ] {
        lab.write("kernel.cu", &line);
        let caveat =
            format!("caveat: kernel.cu includes {file}, which is outside of the repository");
        lab.lab("run").is(0).says(&caveat);
        lab.lab("keep -m x").is(1).says(&format!(
            "kernel.cu includes {file}, which is outside of the repository: copy it into the repository, so that the \
             commit holds what was judged"
        ));
    }
    let wanted = blake3::hash(b"// what the kernel does\n")
        .to_hex()
        .to_string();
    assert_eq!(hash(&record(&lab, 1), &shown), Some(wanted));
    // A changed include changes the inputs of the run.
    fs::write(&outside, "// something else\n").unwrap();
    lab.lab("keep -m x")
        .is(1)
        .says(&format!("{shown} changed after the verdict of run 6"));
    // Its own includes are judged too.
    let second = lab.repo.parent().unwrap().join("second.h");
    fs::write(&second, "// more\n").unwrap();
    fs::write(&outside, "#include \"second.h\"\n").unwrap();
    lab.lab("run").is(0);
    assert!(hash(&record(&lab, 7), &second.display().to_string()).is_some());

    // A copy inside the repository is an ordinary include.
    lab.write("inside.h", "// what the kernel does\n");
    lab.write("kernel.cu", "#include \"inside.h\"\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x")
        .is(1)
        .says("inside.h is not as in HEAD, and an experiment changes kernel.cu alone");
    lab.git("add inside.h");
    lab.git("commit -qm inside");
    lab.lab("keep -m x").is(0);
}

#[test]
fn an_include_by_a_macro_is_not_kept() {
    let lab = Lab::new();
    lab.write("kernel.cu", "#define TILE \"tile.h\"\n#include TILE\n");
    lab.lab("run").is(0).says(
        "caveat: kernel.cu includes a file by the macro TILE, so lab cannot see which file it is",
    );
    lab.lab("keep -m x")
        .is(1)
        .says("name the file itself, so that the commit holds what was judged");
    lab.write("kernel.cu", "#include <cuda_fp16.h>\n#include \"mma.h\"\n");
    lab.lab("run").is(0);
    lab.lab("keep -m 'headers of the toolkit'").is(0);
}

/// Replaces a piece of rmsnorm's kernel.
#[track_caller]
fn edit(lab: &Lab, from: &str, to: &str) {
    let before = lab.git(&format!("show HEAD:{KERNEL}"));
    assert!(before.contains(from), "the kernel has no '{from}' any more");
    lab.write(KERNEL, before.replacen(from, to, 1));
}

#[test]
fn what_lies_in_an_include_folder_of_the_options_is_an_input() {
    let lab = rmsnorm();
    fs::create_dir(lab.path("common")).unwrap();
    lab.write("common/tile.h", "#define TILE 1\n");
    lab.write(
        "lab.toml",
        lab.read("lab.toml") + "[compile]\noptions = [\"-Icommon\"]\n",
    );
    lab.git("add lab.toml");
    lab.git("commit -qm options");
    edit(
        &lab,
        "#include",
        "#include <tile.h>\n#if TILE != 1\n#error no\n#endif\n#include",
    );
    lab.lab("run").is(0);
    assert!(hash(&record(&lab, 1), "common/tile.h").is_some());
    lab.lab("keep -m x")
        .is(1)
        .says("common/tile.h is not as in HEAD");
    lab.write("common/tile.h", "#define TILE 1 // changed\n");
    lab.lab("keep -m x")
        .is(1)
        .says("common/tile.h changed after the verdict of run 1");
    lab.write("common/tile.h", "#define TILE 1\n");
    lab.git("add common");
    lab.git("commit -qm tile");
    lab.lab("keep -m x").is(0);
}
