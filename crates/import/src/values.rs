//! The values of an input about which nothing is known.

/// The line of problem.toml for an input of this type.
pub fn of(kind: &str) -> &'static str {
    match kind {
        "i16" | "i32" | "i64" | "u16" | "u32" | "u64" => {
            "# A guess: indices must stay below the extent that they index.\nvalues = { integers = { low = 0, high = 3 } }\n"
        }
        "i8" | "u8" => "values = { integers = { low = 0, high = 100 } }\n",
        "bool" => "values = { integers = { low = 0, high = 1 } }\n",
        _ => "values = { normal = { mean = 0.0, std = 1.0 } }\n",
    }
}
