//! The headers of the C and C++ library that device code may include, on every device. NVRTC has no
//! headers of the host, and the cpu device does not read them either, so the same names are known on
//! both. Their text is plain C++17.

/// Name and text of headers in a folder below `include`.
macro_rules! headers {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/include/", $folder, $name)))),*]
    };
}
pub(crate) use headers;

/// The header with the launch statement and the helpers, which is the same on every device.
pub const LAB_H: &str = include_str!("../include/lab.h");

/// Name and text of each header.
pub const STANDARD: &[(&str, &str)] = headers!["std/":
    "algorithm",
    "array",
    "assert.h",
    "cassert",
    "cfloat",
    "climits",
    "cmath",
    "cstddef",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "float.h",
    "initializer_list",
    "limits",
    "limits.h",
    "math.h",
    "new",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "type_traits",
    "utility",
];
