//! The headers of the cpu device, carried in the binary and written to the cache under their content's hash.

use std::path::{Path, PathBuf};

/// The launch statement and device helpers, the same on every device.
pub const LAB_H: &str = include_str!("../../../include/lab.h");

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../include/cpu/", $name)))),*]
    };
}

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
    "lab_cpu/atomics.h",
    "lab_cpu/groups.h",
    "lab_cpu/atomic_ref.h",
    "lab_cpu/keywords.h",
];

/// Headers that CUDA has under these names; their content is in `lab_cpu.h` already.
const ALREADY_THERE: &[&str] = &[
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "device_launch_parameters.h",
    "device_functions.h",
    "vector_types.h",
    "vector_functions.h",
    "math_functions.h",
    "cuda_fp16.hpp",
    "cuda_bf16.hpp",
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

/// Hash of everything written by [`write`].
pub fn hash() -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for (name, text) in HEADERS {
        hasher.update(name.as_bytes()).update(&[0]).update(text.as_bytes()).update(&[0]);
    }
    for name in ALREADY_THERE {
        hasher.update(name.as_bytes()).update(&[0]);
    }
    hasher.finalize()
}

pub fn write(folder: &Path) -> std::io::Result<()> {
    let put = |name: &str, text: &str| {
        let path: PathBuf = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)
    };
    for (name, text) in HEADERS {
        put(name, text)?;
    }
    for name in ALREADY_THERE {
        put(name, "// In lab_cpu.h, which every kernel begins with.\n")?;
    }
    Ok(())
}
