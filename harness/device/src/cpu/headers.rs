//! The headers of the cpu device. The binary holds them, and the builder writes them to the cache,
//! in a folder named by their hash.

use crate::standard_headers::{STANDARD, headers};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Name and text.
pub const HEADERS: &[(&str, &str)] = headers!["cpu/":
    "lab_cpu.h",
    "lab_cpu_races.h",
    "lab_cpu/standard.h",
    "lab_cpu/runtime.h",
    "lab_cpu/races.h",
    "lab_cpu/race_hooks.h",
    "lab_cpu/checked.h",
    "lab_cpu/vector_types.h",
    "lab_cpu/math.h",
    "lab_cpu/special.h",
    "lab_cpu/rounding.h",
    "lab_cpu/simd.h",
    "lab_cpu/memory.h",
    "lab_cpu/warp.h",
    "lab_cpu/half.h",
    "lab_cpu/fp8.h",
    "lab_cpu/atomics.h",
    "lab_cpu/groups.h",
    "lab_cpu/atomic_ref.h",
    "lab_cpu/constants.h",
    "lab_cpu/functional.h",
    "lab_cpu/curand.h",
    "lab_cpu/cub/shared.h",
    "lab_cpu/cub/reduce.h",
    "lab_cpu/cub/scan.h",
    "lab_cpu/cub/exchange.h",
    "lab_cpu/keywords.h",
    "nvrtc_macros.h",
];

/// The macros that NVRTC defines.
pub const NVRTC_MACROS: &str = "nvrtc_macros.h";

/// The macros of this device, each of which stands for itself. A source that is preprocessed with
/// them keeps its words, and its conditions find the same macros as with `lab_cpu.h`.
pub const OWN_MACROS: &str = "own_macros.h";

/// CUDA's headers, one on a line, each with the headers that hold its content here. `lab_cpu.h`, which
/// every source includes, holds what NVRTC has built in.
const CUDA: &str = "\
cuda.h
cuda_runtime.h
cuda_runtime_api.h
device_launch_parameters.h
device_functions.h
vector_types.h
vector_functions.h
math_functions.h
math_constants.h constants.h
cuda_fp16.h half.h
cuda_fp16.hpp half.h
cuda_bf16.h half.h
cuda_bf16.hpp half.h
cuda_fp8.h half.h fp8.h
cuda_fp8.hpp half.h fp8.h
cooperative_groups.h groups.h
cooperative_groups/reduce.h groups.h
cooperative_groups/scan.h groups.h
cuda/atomic atomic_ref.h
cuda/std/atomic atomic_ref.h
cuda/functional functional.h
cuda/std/functional functional.h
curand_kernel.h curand.h
cub/config.cuh cub/shared.h
cub/version.cuh cub/shared.h
cub/util_type.cuh cub/shared.h
cub/thread/thread_operators.cuh cub/shared.h
cub/thread/thread_reduce.cuh cub/shared.h
cub/block/block_reduce.cuh cub/reduce.h
cub/warp/warp_reduce.cuh cub/reduce.h
cub/block/block_scan.cuh cub/scan.h
cub/warp/warp_scan.cuh cub/scan.h
cub/block/block_exchange.cuh cub/exchange.h
cub/block/block_load.cuh cub/exchange.h
cub/block/block_store.cuh cub/exchange.h";

/// Whether this device has a header of CUDA's with this name.
pub fn is_known(name: &str) -> bool {
    let mut names = CUDA.lines().map(first_word);
    names.any(|known| known == name)
}

fn first_word(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// The headers of CUDA's C++ library that hold what [`STANDARD`] has under the same name.
const CUDA_STANDARD: &str = "\
    algorithm array cassert cfloat climits cmath cstddef cstdint cstring initializer_list limits \
    type_traits utility";

/// The folder, in that of the headers, which device code searches for those of the C and C++
/// library.
pub const STANDARD_FOLDER: &str = "standard";

/// Name and text of every file.
fn files() -> impl Iterator<Item = (String, String)> {
    // Included from `lab_cpu.h`, they are headers of the system: a message about one of their macros
    // names the place in the user's file.
    let own = HEADERS.iter().map(|(name, text)| {
        let system = if name.starts_with("lab_cpu/") {
            SYSTEM
        } else {
            ""
        };
        ((*name).to_owned(), format!("{system}{text}"))
    });
    let cuda = CUDA.lines().map(|line| {
        let content = line.split(' ').skip(1);
        let includes = content.map(|name| format!("#include \"lab_cpu/{name}\"\n"));
        let text = format!("{GUARD}{}", includes.collect::<String>());
        (first_word(line).to_owned(), text)
    });
    let cuda_standard = CUDA_STANDARD.split(' ').map(|name| {
        let text = format!(
            "{GUARD}#include <{name}>\nnamespace cuda::std {{\nusing namespace ::std;\n}}\n"
        );
        (format!("cuda/std/{name}"), text)
    });
    let standard = STANDARD.iter().map(|(name, text)| {
        (
            format!("{STANDARD_FOLDER}/{name}"),
            format!("{SYSTEM}{text}"),
        )
    });
    let macros = [(OWN_MACROS.to_owned(), own_macros())];
    own.chain(cuda)
        .chain(cuda_standard)
        .chain(standard)
        .chain(macros)
}

/// The text of [`OWN_MACROS`]. A macro that NVRTC has too stands for the same as there.
fn own_macros() -> String {
    let defined = |text: &'static str| {
        text.lines().filter_map(|line| {
            let definition = line.trim_start().strip_prefix("#define ")?;
            Some((definition.split([' ', '(']).next()?, definition))
        })
    };
    let (nvrtc, own): (Vec<_>, Vec<_>) =
        HEADERS.iter().partition(|(name, _)| *name == NVRTC_MACROS);
    let nvrtc: BTreeMap<&str, &str> = nvrtc.iter().flat_map(|(_, text)| defined(text)).collect();
    let names: BTreeSet<&str> = own
        .iter()
        .flat_map(|(_, text)| defined(text))
        .map(|(name, _)| name)
        .filter(|name| *name != "LAB_CPU")
        .collect();
    let lines = names.iter().map(|name| {
        let definition = nvrtc.get(name).map(|text| (*text).to_owned());
        let definition = definition.unwrap_or_else(|| format!("{name} {name}"));
        format!("#undef {name}\n#define {definition}\n")
    });
    lines.chain(["#define LAB_CPU 1\n".to_owned()]).collect()
}

/// What a header begins with for which the compiler gives no warnings.
const SYSTEM: &str = "#pragma GCC system_header\n";
const GUARD: &str = "#pragma once\n#pragma GCC system_header\n";

/// Returns a hash of everything that [`write`](write()) writes.
pub fn hash() -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in files().flat_map(<[String; 2]>::from) {
        hasher.update(part.as_bytes()).update(&[0]);
    }
    hasher.finalize()
}

/// Writes the headers to a folder.
pub fn write(folder: &Path) -> std::io::Result<()> {
    for (name, text) in files() {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}
