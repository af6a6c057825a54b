//! The headers of the cpu device. The binary holds them, and the builder writes them to the cache,
//! in a folder named by their hash.

use std::path::Path;

/// The header with the launch statement and the helpers, which is the same on every device.
pub const LAB_H: &str = include_str!("../../../include/lab.h");

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../include/cpu/", $name)))),*]
    };
}

/// Name and text.
const HEADERS: &[(&str, &str)] = headers![
    "lab_cpu.h",
    "lab_cpu/standard.h",
    "lab_cpu/runtime.h",
    "lab_cpu/races.h",
    "lab_cpu/vector_types.h",
    "lab_cpu/math.h",
    "lab_cpu/memory.h",
    "lab_cpu/warp.h",
    "lab_cpu/half.h",
    "lab_cpu/fp8.h",
    "lab_cpu/atomics.h",
    "lab_cpu/groups.h",
    "lab_cpu/atomic_ref.h",
    "lab_cpu/keywords.h",
];

/// CUDA's headers whose content is in `lab_cpu.h`. They are written as empty files.
const PROVIDED: &[&str] = &[
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "device_launch_parameters.h",
    "device_functions.h",
    "vector_types.h",
    "vector_functions.h",
    "math_functions.h",
    "cuda_fp16.hpp",
    "cuda_bf16.hpp",
    "cuda_fp8.hpp",
    "math_constants.h",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cuda/atomic",
    "cuda/std/atomic",
    "cuda/std/cmath",
    "cuda/std/cstddef",
    "cuda/std/cstdint",
    "cuda/std/limits",
    "cuda/std/tuple",
    "cuda/std/type_traits",
    "cuda/std/utility",
    "cuda/std/array",
    "assert.h",
    "cassert",
];

/// Name and text of every file.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let provided = PROVIDED.iter().map(|name| {
        let text = "// The content is in lab_cpu.h, which every kernel.cu includes.\n";
        (*name, text)
    });
    HEADERS.iter().copied().chain(provided)
}

/// Returns a hash of everything that [`write`](write()) writes.
pub fn hash() -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in files().flat_map(|(name, text)| [name, text]) {
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
