//! The headers of the C and C++ library that device code may include, on every device. NVRTC has no
//! headers of the host, and the cpu device does not read them either, so the same names are known on
//! both. Their text is plain C++17.

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../include/std/", $name)))),*]
    };
}

/// Name and text of each header.
pub const STANDARD: &[(&str, &str)] = headers![
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
