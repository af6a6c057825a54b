//! Types of C++ as types of problem.toml.

/// The element of a pointer, or the type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The type in problem.toml.
    pub name: &'static str,
    /// The type of kernel.cu for it.
    pub cpp: &'static str,
    /// How many of them the C++ type holds: 4 for `float4`.
    pub width: usize,
    /// Whether the C++ type is another one of the same size, so that pointers must be cast.
    pub is_cast: bool,
    /// The struct of several types whose bytes it holds.
    pub packed: Option<String>,
}

/// For each type of problem.toml: its name in kernel.cu, the C++ types that are the same, and those
/// of which a pointer must be cast.
const TYPES: [(&str, &str, &[&str], &[&str]); 15] = [
    ("f32", "float", &["float"], &[]),
    (
        "f16",
        "__half",
        &["half", "__half"],
        &["at::Half", "c10::Half", "torch::Half"],
    ),
    (
        "bf16",
        "__nv_bfloat16",
        &["__nv_bfloat16", "nv_bfloat16"],
        &["bfloat16", "at::BFloat16", "c10::BFloat16"],
    ),
    (
        "f8e4m3",
        "__nv_fp8_e4m3",
        &["__nv_fp8_e4m3"],
        &["c10::Float8_e4m3fn"],
    ),
    (
        "f8e5m2",
        "__nv_fp8_e5m2",
        &["__nv_fp8_e5m2"],
        &["c10::Float8_e5m2"],
    ),
    ("f64", "double", &["double"], &[]),
    ("i16", "short", &["short", "int16_t", "short int"], &[]),
    ("i32", "int", &["int", "int32_t"], &[]),
    (
        "i64",
        "long long",
        &["long long", "long long int"],
        &["int64_t", "long", "long int", "ptrdiff_t"],
    ),
    (
        "u16",
        "unsigned short",
        &["unsigned short", "uint16_t", "ushort"],
        &[],
    ),
    (
        "u32",
        "unsigned int",
        &["unsigned int", "unsigned", "uint", "uint32_t"],
        &[],
    ),
    (
        "u64",
        "unsigned long long",
        &["unsigned long long", "unsigned long long int"],
        &["uint64_t", "unsigned long", "size_t", "ulong"],
    ),
    ("i8", "signed char", &["signed char", "int8_t"], &["char"]),
    (
        "u8",
        "unsigned char",
        &["unsigned char", "uint8_t"],
        &["uchar", "__nv_fp8_storage_t"],
    ),
    ("bool", "bool", &["bool"], &[]),
];

/// The vector types of CUDA by the type of their parts.
const VECTORS: [(&str, &str); 7] = [
    ("float", "float"),
    ("double", "double"),
    ("int", "int"),
    ("uint", "unsigned"),
    ("half", "half"),
    ("uchar", "unsigned char"),
    ("char", "char"),
];

/// The element for a type of C++. `None` if problem.toml has none for it.
pub fn element(base: &str) -> Option<Element> {
    let base = base.strip_prefix("::").unwrap_or(base);
    let base = base.strip_prefix("std::").unwrap_or(base);
    for (name, cpp, same, cast) in TYPES {
        if same.contains(&base) || cast.contains(&base) {
            let (width, is_cast) = (1, !same.contains(&base));
            return Some(Element {
                name,
                cpp,
                width,
                is_cast,
                packed: None,
            });
        }
    }
    if ["__nv_bfloat162", "nv_bfloat162"].contains(&base) {
        return vector("__nv_bfloat16", 2);
    }
    let base = base.strip_prefix("__").unwrap_or(base);
    let width = base.chars().last()?.to_digit(10)? as usize;
    let part = &base[..base.len() - 1];
    let (_, part) = VECTORS.iter().find(|(name, _)| *name == part)?;
    vector(part, width)
}

fn vector(part: &str, width: usize) -> Option<Element> {
    let part = element(part)?;
    (2..=4).contains(&width).then_some(Element {
        width,
        is_cast: true,
        ..part
    })
}

impl Element {
    /// The bytes of one number.
    pub fn bytes(&self) -> usize {
        let digits = self.name.trim_start_matches(char::is_alphabetic);
        let bits = digits.split('e').next().and_then(|bits| bits.parse().ok());
        bits.unwrap_or(8) / 8
    }
}

/// Whether a value of this type is a whole number.
pub fn is_whole(base: &str) -> bool {
    let is_number = |name: &str| name.starts_with(['i', 'u']);
    element(base).is_some_and(|element| element.width == 1 && is_number(element.name))
}

/// The type of a `[[scalar]]` for a value of this type.
pub fn scalar(base: &str) -> Option<&'static str> {
    let element = element(base).filter(|element| element.width == 1)?;
    Some(match element.name {
        "f16" | "bf16" => "f32",
        name if name.starts_with("f8") => return None,
        name => name,
    })
}

/// The type in kernel.cu for one of problem.toml.
pub fn cpp(name: &str) -> &'static str {
    let found = TYPES.iter().find(|(known, ..)| *known == name);
    found.map_or("int", |(_, cpp, ..)| cpp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_its_name_in_problem_toml() {
        let known = |base: &str| element(base).map(|e| (e.name, e.width, e.is_cast));
        assert_eq!(known("float"), Some(("f32", 1, false)));
        assert_eq!(known("std::int32_t"), Some(("i32", 1, false)));
        assert_eq!(known("int64_t"), Some(("i64", 1, true)));
        assert_eq!(known("float4"), Some(("f32", 4, true)));
        assert_eq!(known("__half2"), Some(("f16", 2, true)));
        assert_eq!(known("nv_bfloat162"), Some(("bf16", 2, true)));
        for unknown in ["Params", "float5", "", "void"] {
            assert_eq!(known(unknown), None, "{unknown}");
        }
        assert_eq!(
            (scalar("double"), scalar("size_t"), scalar("uint")),
            (Some("f64"), Some("u64"), Some("u32"))
        );
    }
}
