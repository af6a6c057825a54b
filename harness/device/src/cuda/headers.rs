//! The headers that every kernel can include without a folder: `lab.h`, and the part of the C
//! library's headers that kernels use. NVRTC has no host headers, but its functions and types are
//! built in.

/// Name and text of each header.
pub const EMBEDDED: &[(&str, &str)] = &[
    ("lab.h", include_str!("../../../include/lab.h")),
    ("stdint.h", STDINT),
    ("cstdint", STDINT),
    ("limits.h", LIMITS),
    ("climits", LIMITS),
    ("float.h", FLOAT),
    ("cfloat", FLOAT),
    ("math.h", MATH),
    ("cmath", MATH),
    ("stddef.h", NOTHING),
    ("cstddef", NOTHING),
    ("stdio.h", NOTHING),
    ("cstdio", NOTHING),
    ("assert.h", NOTHING),
    ("cassert", NOTHING),
];

/// Returns these headers and the generated `lab_problem.h`.
pub fn with_problem(problem_header: &str) -> Vec<(&str, &str)> {
    EMBEDDED
        .iter()
        .copied()
        .chain([("lab_problem.h", problem_header)])
        .collect()
}

/// NVRTC knows `size_t`, `printf` and `assert` without a header.
const NOTHING: &str = "#pragma once\n";

/// The same types as CCCL declares under NVRTC: an alias may be declared twice if both declarations
/// agree.
const STDINT: &str = "\
#pragma once
#include <limits.h>
using int8_t = signed char;
using int16_t = signed short;
using int32_t = signed int;
using int64_t = signed long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using intptr_t = int64_t;
using uintptr_t = uint64_t;
#ifndef INT32_MAX
#define INT8_MIN SCHAR_MIN
#define INT16_MIN SHRT_MIN
#define INT32_MIN INT_MIN
#define INT64_MIN LLONG_MIN
#define INT8_MAX SCHAR_MAX
#define INT16_MAX SHRT_MAX
#define INT32_MAX INT_MAX
#define INT64_MAX LLONG_MAX
#define UINT8_MAX UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define UINT64_MAX ULLONG_MAX
#endif
";

/// Written as in CCCL, which defines these macros without `#ifndef`: a macro may be defined twice
/// if both definitions agree.
const LIMITS: &str = "\
#pragma once
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-SHRT_MAX - 1)
#define SHRT_MAX 0x7fff
#define USHRT_MAX 0xffff
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define UINT_MAX 0xffffffff
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define ULLONG_MAX 0xffffffffffffffffUL
#endif
";

const FLOAT: &str = "\
#pragma once
#ifndef FLT_MAX
#define FLT_MAX 3.40282346638528859811704183484516925e+38f
#define FLT_MIN 1.17549435082228750796873653722224568e-38f
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7f
#define DBL_MAX 1.79769313486231570814527423731704357e+308
#define DBL_MIN 2.22507385850720138309023271733240406e-308
#define DBL_EPSILON 2.22044604925031308084726333618164062e-16
#endif
";

const MATH: &str = "\
#pragma once
#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000u)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fc00000u)
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
";
