//! The export as one .cu: kernel, reference, and a main that verifies and times.

use super::source::{Flattened, Frame, declared_names, mentions};
use super::{Exported, Parts, lab_header, shell_word, tables};
use crate::probe::bounds::CacheState;
use itertools::Itertools;

const STATEMENTS: &str = include_str!("parts/statements.h");
const LAUNCHING: &str = include_str!("parts/launching.h");
const WORKLOADS: &str = include_str!("parts/workloads.h");
const CHECKING: &str = include_str!("parts/checking.h");
const MAIN: &str = include_str!("parts/main.cu");

/// Begins the names of the reference's kernels, so that both sources can stand in one
/// file.
const PREFIX: &str = "lab_reference_";

const INCLUDES: &str = "#include <cuda.h>\n#include <cuda_runtime.h>\n\n#include <algorithm>\n#include <cmath>\n\
    #include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include <memory>\n#include <stdexcept>\n#include <string>\n\
    #include <utility>\n#include <vector>\n";

pub fn write(parts: &Parts) -> Result<Exported, String> {
    let material = parts.material;
    if material.kernel.is_python() {
        return Err(format!(
            "{} is a Python kernel, which cannot stand in a .cu: `lab export --to torch` writes a Python file",
            material.kernel.path
        ));
    }
    if parts.reference.is_python() {
        return Err(format!(
            "the reference is {}, which cannot stand in a .cu: `lab export --to torch` writes a Python file, or write a reference.cu",
            parts.reference.path
        ));
    }
    let dims = parts.spec.dims_struct() + "\n";
    let frame = Frame {
        namespace: Some("lab_kernel"),
        opening: &dims,
    };
    let kernel = parts.flatten(material.kernel, &frame)?;
    let reference = reference(parts, &dims)?;
    let sources = [kernel.text.as_str(), reference.text.as_str()];
    let command = command(parts, &sources);
    let sections = [
        head(
            parts,
            &command,
            &sources,
            kernel.foreign.union(&reference.foreign),
        ),
        INCLUDES.to_owned(),
        title("lab.h: launch statements, and the helpers that the kernel uses"),
        lab_header::structs(),
        STATEMENTS.to_owned(),
        lab_header::helpers(&sources),
        title(&format!("{}: the kernel", material.kernel.path)),
        kernel.with_macros_undefined(),
        title(&format!("{}: the reference", parts.reference.path)),
        reference.with_macros_undefined(),
        title("Launching, verifying and timing"),
        LAUNCHING.to_owned(),
        WORKLOADS.to_owned(),
        CHECKING.to_owned(),
        problem(parts),
        MAIN.to_owned(),
    ];
    let sections = sections
        .iter()
        .map(|section| section.trim_end())
        .filter(|section| !section.is_empty())
        .join("\n\n");
    Ok(Exported {
        text: sections + "\n",
        command,
    })
}

/// The reference. Both sources may have the same names: those of the reference get a prefix, also
/// where they come from a macro.
fn reference(parts: &Parts, dims: &str) -> Result<Flattened, String> {
    let plain = parts.flatten(parts.reference, &Frame::default())?;
    let entries = parts.spec.case_of_each_entry().into_iter();
    let entries = entries.map(|case| case.entry.clone());
    let mut renamed = declared_names(&plain.text);
    renamed.extend(entries);
    if let Some(name) = renamed.intersection(&plain.macros).next() {
        return Err(format!(
            "{}: {name} is the name of a macro and of a kernel, which must be renamed in an export: rename one of them",
            parts.reference.path
        ));
    }
    let define = |name: &String| format!("#define {name} {PREFIX}{name}\n");
    let defines: String = renamed.iter().map(define).collect();
    let frame = Frame {
        namespace: Some("lab_reference"),
        opening: &format!("{defines}\n{dims}"),
    };
    let mut reference = parts.flatten(parts.reference, &frame)?;
    reference.macros.extend(renamed);
    Ok(reference)
}

fn title(text: &str) -> String {
    let line = "=".repeat(100);
    format!("// {line}\n// {text}\n// {line}")
}

/// The option of nvcc that names the architecture: that of the measured image, if the source has
/// instructions that only such an image may hold. `-arch=sm_90a` would not do: from CUDA 13 on nvcc
/// then also builds for `compute_90`, which lacks them.
fn architecture(parts: &Parts, sources: &[&str]) -> String {
    let text = sources.concat();
    let measured = parts
        .material
        .built_for
        .and_then(|name| name.strip_prefix("sm_"))
        .filter(|n| n.ends_with('a'));
    let needed = if text.contains("tcgen05") {
        measured.unwrap_or("100a")
    } else if text.contains("wgmma") || text.contains("setmaxnreg") {
        measured.unwrap_or("90a")
    } else {
        return "-arch=native".to_owned();
    };
    let plain = needed.chars().all(|c| c.is_ascii_alphanumeric());
    let needed = if plain { needed } else { "90a" };
    format!("-gencode=arch=compute_{needed},code=sm_{needed}")
}

/// The command that builds and runs the program.
fn command(parts: &Parts, sources: &[&str]) -> String {
    let stem = parts.material.file_stem;
    let options = parts.options();
    let mut words = vec![
        "nvcc".to_owned(),
        "-O3".to_owned(),
        architecture(parts, sources),
    ];
    if !options.iter().any(|option| option.starts_with("--std=")) {
        words.push("-std=c++17".into());
    }
    words.extend(options.into_iter().map(shell_word));
    words.extend([
        shell_word(&format!("{stem}.cu")),
        "-o".into(),
        shell_word(stem),
        "&&".into(),
    ]);
    words.push(shell_word(&format!("./{stem}")));
    words.join(" ")
}

fn head<'a>(
    parts: &Parts,
    command: &str,
    sources: &[&str],
    foreign: impl Iterator<Item = &'a String>,
) -> String {
    let mut out = format!(
        "// {}: a CUDA kernel, its reference, and a program that verifies and times the kernel.\n//\n//   {command}\n//\n",
        parts.name
    );
    out += &parts.head("// ");
    out += "//\n// Each line of the program is a workload of problem.toml: its time on this GPU, and its largest error. A cell is right if\n\
            // |got - want| <= atol + rtol * |want|, as in lab; an error of 1 is the limit. The inputs are drawn by SplitMix64 from\n\
            // a seed (the program's argument): they are not the values that lab draws, and hold no planted extremes. The time is a\n\
            // median of CUDA events after warm-ups; lab's own figures are of more launches, in turns with other kernels.\n";
    if mentions(&sources.concat(), &["LAB_CPU"]) {
        out += "// LAB_CPU is not defined here: what it guards is for lab's emulated device.\n";
    }
    for name in foreign {
        out += &format!("// {name} is not part of this file: name its folder with -I.\n");
    }
    out
}

/// The problem as constants and tables of the program.
fn problem(parts: &Parts) -> String {
    let spec = &parts.spec;
    let cold = spec.cache == CacheState::Cold;
    format!(
        "// The problem.\nnamespace lab_export {{\nnamespace {{\n\nconst char* const problem_name = {};\nconst char* const \
         reference_prefix = \"{PREFIX}\";\nconst int steps = {};  // launches in a row after which inout tensors are compared \
         too\nconst bool is_cold = {cold};  // whether the L2 cache is flushed before a timed launch\nconst bool is_graph = {};\n\n{}\n}}  \
         // namespace\n}}  // namespace lab_export\n",
        tables::quoted(&parts.name),
        parts.file.steps,
        spec.graph,
        tables::in_cpp(spec),
    )
}
