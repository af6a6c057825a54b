//! The names of types of numbers: the language's words, and names that a source gives to them.

use lab_protocol::text::is_among;
use lab_source::cpp::Code;
use std::collections::HashSet;

/// The words of integer types.
pub const WORDS: &str = "\
    char short int long signed unsigned size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t \
    uint16_t uint32_t uint64_t";

/// The words of other types of numbers. A cast to one needs no call.
pub const OTHER_WORDS: &str = "float double bool";

/// The user's own names of types of numbers, and of types that a template is given.
pub fn type_names<'s>(code: &Code<&'s str>) -> HashSet<&'s str> {
    let is_number = |at: &usize| {
        let word = code.at(*at);
        is_among(word, WORDS) || is_among(word, OTHER_WORDS) || is_among(word, "const std :")
    };
    let name = |at: usize| {
        let behind = |from: usize| (from..).find(|at| !is_number(at)).unwrap_or(from);
        match code.at(at) {
            "typedef" => {
                let named = behind(at + 1);
                (named > at + 1 && code.at(named + 1) == ";").then_some(named)
            }
            "using" if code.at(at + 2) == "=" => {
                let end = behind(at + 3);
                (end > at + 3 && code.at(end) == ";").then_some(at + 1)
            }
            "typename" | "class" if is_among(code.at(at + 2), ", > =") => Some(at + 1),
            _ => None,
        }
    };
    let names = (0..code.tokens.len()).filter_map(name);
    let names = names.map(|at| code.tokens[at].text(code.text));
    names.collect()
}
