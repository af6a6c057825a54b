//! The headers that device code may include, and those that it needs.

use super::types::element;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::words;
use std::collections::BTreeSet;

/// Headers that a published source includes for its device code, by the beginnings of their names,
/// and a word without which the code does not need them.
const FAMILIES: [(&str, &str); 19] = [
    ("cooperative_groups", "cooperative_groups"),
    ("mma.h", "wmma"),
    ("cub/", "cub"),
    ("cuda/", "cuda"),
    ("cute/", ""),
    ("cutlass/", ""),
    ("curand_", "curand"),
    ("cuda_pipeline", ""),
    ("cuda_awbarrier", ""),
    ("cuda_fp4", ""),
    ("cuda_fp6", ""),
    ("cuda_fp16.h", ""),
    ("cuda_bf16.h", ""),
    ("cuda_fp8.h", ""),
    ("utility", "std"),
    ("array", "std"),
    ("algorithm", "std"),
    ("initializer_list", "std"),
    ("limits", "std"),
];

/// Headers that `lab` writes itself, each with what words begin with that need it.
const NEEDED: [(&str, &[&str]); 10] = [
    ("type_traits", &[]),
    ("cmath", &["INFINITY", "NAN", "HUGE_VAL", "M_"]),
    ("cfloat", &["FLT_", "DBL_"]),
    (
        "climits",
        &[
            "INT_M", "UINT_MAX", "LONG_M", "LLONG_M", "SHRT_M", "CHAR_BIT",
        ],
    ),
    (
        "cstdint",
        &[
            "int8_t",
            "uint8_t",
            "int16_t",
            "uint16_t",
            "int32_t",
            "uint32_t",
            "int64_t",
            "uint64_t",
            "uintptr_t",
        ],
    ),
    ("cstdio", &["printf"]),
    ("cassert", &["assert"]),
    (
        "cuda_fp16.h",
        &[
            "half",
            "__half",
            "__float2half",
            "__hadd",
            "__hsub",
            "__hmul",
            "__hdiv",
            "__hfma",
            "__hneg",
            "__hmax",
            "__hmin",
            "__hgt",
            "__hlt",
            "__heq",
            "h2exp",
            "h2log",
            "h2sqrt",
            "h2rsqrt",
            "hexp",
            "hlog",
            "hsqrt",
            "hrsqrt",
            "__low2",
            "__high2",
        ],
    ),
    (
        "cuda_bf16.h",
        &[
            "nv_bfloat16",
            "__nv_bfloat16",
            "__float2bfloat16",
            "__bfloat162float",
        ],
    ),
    ("cuda_fp8.h", &["__nv_fp8"]),
];

/// Names in `std` that headers of PyTorch and of the host bring along, by the header that has them.
const OF_STD: [(&str, &[&str]); 2] = [
    (
        "cmath",
        &[
            "abs(",
            "exp",
            "log",
            "pow(",
            "sqrt(",
            "tanh(",
            "fabs(",
            "floor(",
            "ceil(",
            "isnan(",
            "isinf(",
            "isfinite(",
            "fmax(",
            "fmin(",
            "sin(",
            "cos(",
            "erf(",
            "round(",
        ],
    ),
    (
        "type_traits",
        &[
            "aligned_storage",
            "is_",
            "enable_if",
            "conditional",
            "remove_",
            "decay",
            "integral_constant",
            "true_type",
            "false_type",
        ],
    ),
];

/// Namespaces of device code that `using` may open, and how names in them begin.
const NAMESPACES: [(&str, &[&str]); 5] = [
    ("nvcuda", &["wmma", "experimental"]),
    (
        "cooperative_groups",
        &[
            "this_",
            "thread_",
            "tiled_partition",
            "coalesced_",
            "grid_group",
            "cluster_group",
        ],
    ),
    ("cub", &["Block", "Warp", "Sum", "Max", "Min"]),
    ("cute", &[""]),
    ("cutlass", &[""]),
];

/// The namespace of device code that a `using namespace` opens, if the code uses it.
pub fn opened(using: &str, used: &BTreeSet<&str>) -> Option<&'static str> {
    let words = words(using);
    let (name, starts) = NAMESPACES.iter().find(|(name, _)| words.contains(name))?;
    let is_used = |word: &&str| starts.iter().any(|start| word.starts_with(start));
    (used.contains(name) || used.iter().any(is_used)).then_some(*name)
}

/// Short names of types that nvcc knows from the host's headers, and NVRTC does not.
const SHORT_TYPES: [(&str, &str); 4] = [
    ("uint", "unsigned int"),
    ("uchar", "unsigned char"),
    ("ushort", "unsigned short"),
    ("ulong", "unsigned long"),
];

/// Types of PyTorch that are types of CUDA: the namespace, the name, the header, CUDA's name.
const OF_PYTORCH: [(&str, &str, &str, &str); 4] = [
    ("at", "Half", "cuda_fp16.h", "__half"),
    ("c10", "Half", "cuda_fp16.h", "__half"),
    ("at", "BFloat16", "cuda_bf16.h", "__nv_bfloat16"),
    ("c10", "BFloat16", "cuda_bf16.h", "__nv_bfloat16"),
];

/// Macros that PyTorch's headers define.
const MACROS: [(&str, &str); 3] = [
    ("C10_WARP_SIZE", "32"),
    ("C10_DEVICE", "__device__"),
    ("C10_HOST_DEVICE", "__host__ __device__"),
];

/// The number that a macro of PyTorch's headers is.
pub fn number_of_pytorch(name: &str) -> Option<&'static str> {
    let (_, value) = MACROS.iter().find(|(known, _)| *known == name)?;
    value.parse::<u32>().is_ok().then_some(*value)
}

/// The header that an include line names, without its quotes or brackets. A copy of CUB in the
/// project, as `3rdparty/cub/cub.cuh`, has the name that CUB gives it.
pub fn included(line: &str) -> Option<&str> {
    let header = Directive::parse(line)?.spelled_header()?;
    let name = header.trim_matches(['<', '>', '"']);
    let of_cub = name.rfind("/cub/").filter(|_| name.ends_with(".cuh"));
    Some(of_cub.map_or(name, |at| &name[at + 1..]))
}

/// The header that an include line names in quotes.
pub fn quoted(line: &str) -> Option<&str> {
    let header = Directive::parse(line)?.spelled_header()?;
    header.strip_prefix('"')?.strip_suffix('"')
}

/// Whether a header comes with CUDA or the C++ library, and not with the published file.
pub fn is_for_device(name: &str) -> bool {
    let is_own = |(header, _): &(&str, &[&str])| *header == name;
    FAMILIES.iter().any(|(start, _)| name.starts_with(start)) || NEEDED.iter().any(is_own)
}

/// Whether a header comes with CUDA's libraries for the host, or with PyTorch.
pub fn is_of_libraries(name: &str) -> bool {
    const STARTS: [&str; 16] = [
        "thrust/",
        "cuda.h",
        "cuda_runtime",
        "device_launch_parameters",
        "cublas",
        "cudnn",
        "cusparse",
        "cusolver",
        "cufft",
        "curand.h",
        "nccl",
        "nvToolsExt",
        "torch/",
        "ATen/",
        "c10/",
        "pybind11/",
    ];
    STARTS.iter().any(|start| name.starts_with(start)) || OF_C.contains(&name)
}

/// Headers of the C library, which some files include in quotes.
const OF_C: [&str; 12] = [
    "assert.h",
    "ctype.h",
    "errno.h",
    "float.h",
    "limits.h",
    "math.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
];

/// Whether a type is one that only code of the host has.
pub fn is_of_host(base: &str) -> bool {
    const STARTS: [&str; 9] = [
        "cudaStream_t",
        "cudaEvent_t",
        "cudaDeviceProp",
        "cublas",
        "cudnn",
        "std::vector",
        "std::string",
        "at::",
        "torch::",
    ];
    STARTS.iter().any(|start| base.starts_with(start)) && element(base).is_none()
}

/// Whether an include line of the published file stays where the code has these words.
pub fn stays(name: &str, used: &BTreeSet<&str>) -> bool {
    let is_own = NEEDED.iter().any(|(header, _)| *header == name);
    let family = FAMILIES.iter().find(|(start, _)| name.starts_with(start));
    let is_used = |word: &str| match word {
        "curand" => used.iter().any(|used| used.starts_with(word)),
        _ => word.is_empty() || used.contains(word),
    };
    !is_own && family.is_some_and(|(_, word)| is_used(word))
}

/// The include lines and the short names of types that a code needs because of its words, with an
/// empty line behind them.
pub fn needed(code: &str) -> String {
    let used = words(code);
    let is_needed = |starts: &[&str]| {
        used.iter()
            .any(|word| starts.iter().any(|start| word.starts_with(start)))
    };
    let is_of_std = |header: &str| {
        let names = OF_STD.iter().filter(|(of, _)| *of == header);
        let mut names = names.flat_map(|(_, names)| names.iter());
        names.any(|name| code.contains(&format!("std::{name}")))
    };
    let found = NEEDED
        .iter()
        .filter(|(header, starts)| is_needed(starts) || is_of_std(header));
    let includes = found.map(|(header, _)| format!("#include <{header}>\n"));
    let of_pytorch = OF_PYTORCH
        .iter()
        .filter(|(space, name, ..)| code.contains(&format!("{space}::{name}")));
    let of_pytorch = of_pytorch.map(|(space, name, header, of)| {
        format!("#include <{header}>\nnamespace {space} {{ typedef {of} {name}; }}\n")
    });
    let types = SHORT_TYPES
        .iter()
        .filter(|(name, _)| used.contains(name) && !code.contains(&format!(" {name};")));
    let types = types.map(|(name, long)| format!("typedef {long} {name};\n"));
    let macros = MACROS.iter().filter(|(name, _)| {
        let define = format!("#define {name} ");
        used.contains(name) && !code.contains(&define)
    });
    let macros = macros.map(|(name, value)| format!("#define {name} {value}\n"));
    let lines: String = includes
        .chain(of_pytorch)
        .chain(types)
        .chain(macros)
        .collect();
    if lines.is_empty() {
        lines
    } else {
        lines + "\n"
    }
}
