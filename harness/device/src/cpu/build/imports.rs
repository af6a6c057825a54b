//! What a built module takes from the host's libraries. Device code may call the functions of the C
//! library that NVRTC has built in, which the device's headers declare. A source can declare any
//! other function itself, and the linker would find it in the C library.

use crate::cpu::headers::HEADERS;
use crate::image::imports;
use lab_protocol::text::is_among;
use lab_source::cpp::words;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

/// What the compiler itself calls: for local variables that are static, for `printf` of a plain
/// text, for large copies, for thread-local variables, for sine and cosine of one number.
const OF_THE_COMPILER: &str = "\
    __gmon_start__ __stack_chk_fail __tls_get_addr memcmp memmove putchar puts sincos sincosf";

/// What the device's headers call by other names.
const OF_THE_HEADERS: [&str; 2] = ["clock_gettime", "fflush"];

/// What further such names begin with. `_Zn` and `_Zd` are `new` and `delete`.
const PREFIXES: [&str; 4] = ["__cxa_", "_ITM_", "_Zn", "_Zd"];

/// Returns the names of the functions that the image takes from elsewhere and may not.
pub fn forbidden(image: &[u8]) -> BTreeSet<String> {
    static DECLARED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let declaring = ["lab_cpu/standard.h", "lab_cpu/math.h"];
        let texts = HEADERS.iter().filter(|(name, _)| declaring.contains(name));
        texts.flat_map(|(_, text)| words(text)).collect()
    });
    let mut names = imports(image);
    names.retain(|name| {
        let name = name.as_str();
        // Of `sqrt` and `sqrtf` the headers name one.
        let of_double = name.strip_suffix('f').unwrap_or(name);
        let is_declared = DECLARED.contains(name) || DECLARED.contains(of_double);
        let is_compilers = is_among(name, OF_THE_COMPILER)
            || OF_THE_HEADERS.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        !is_declared && !is_compilers
    });
    names
}
