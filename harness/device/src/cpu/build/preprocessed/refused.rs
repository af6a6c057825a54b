//! Words and attributes of the host's compiler that NVRTC does not know, or does not carry out.

use super::Preprocessed;
use lab_protocol::text::is_among;

/// The functions of the host's compiler that NVRTC 13 has too.
const BUILTINS: &str = "\
    __builtin_FILE __builtin_FUNCTION __builtin_LINE __builtin_add_overflow __builtin_addressof \
    __builtin_assume __builtin_assume_aligned __builtin_bit_cast __builtin_clear_padding \
    __builtin_copysign __builtin_copysignf __builtin_expect \
    __builtin_is_constant_evaluated __builtin_isfinite __builtin_isinf __builtin_isnan \
    __builtin_mul_overflow __builtin_offsetof __builtin_sub_overflow __builtin_unreachable";

/// The attributes that leave a function or a variable what it is to NVRTC. NVRTC takes others, such
/// as `constructor` and `cleanup`, and does nothing for them.
const ATTRIBUTES: &str = "\
    aligned always_inline artificial assume carries_dependency cold const deprecated error \
    fallthrough flatten format gnu_inline hot leaf likely malloc maybe_unused may_alias \
    no_unique_address nodiscard noinline nonnull noreturn nothrow packed pure returns_nonnull \
    unlikely unused used using vector_size visibility warn_unused_result";

/// Returns an error for each of them in the user's files, in the form of a compiler message.
pub fn errors(text: &Preprocessed) -> String {
    let users = (0..text.tokens.len()).filter(|at| !text.is_foreign(text.tokens[*at].start));
    let found = users.filter_map(|at| {
        let reason = reason(text.word(at)).or_else(|| attribute(text, at))?;
        let (file, line) = text.place(text.tokens[at].start);
        Some(format!("{file}:{line}: error: {reason}\n"))
    });
    found.collect()
}

/// Why the attributes that begin at a token are refused.
fn attribute(text: &Preprocessed, at: usize) -> Option<String> {
    let list = match text.at(at) {
        "__attribute__" | "__attribute" => at + 2,
        "[" if text.at(at + 1) == "[" => at + 1,
        _ => return None,
    };
    let end = text.partner(list);
    let mut at = list + 1;
    while at < end {
        let name = text.word(at).trim_matches('_');
        let is_prefix = text.at(at + 1) == ":" && text.at(at + 2) == ":";
        let is_known = is_among(name, ATTRIBUTES) || name.starts_with("lab_cpu_");
        // The words have refused those that hide a function from the race detector.
        if !name.is_empty() && !is_prefix && !is_known && !name.starts_with("no_") {
            return Some(format!(
                "NVRTC does nothing for the attribute {name}, and the host's compiler would carry it out: remove it"
            ));
        }
        at = match text.at(at) {
            "(" => text.partner(at) + 1,
            _ => at + 1,
        };
    }
    None
}

fn reason(word: &str) -> Option<String> {
    let is_builtin = ["__builtin_", "__atomic_", "__sync_"]
        .iter()
        .any(|prefix| word.starts_with(prefix));
    match word {
        _ if word.contains("no_sanitize") || word.contains("no_instrument") => Some(format!(
            "{word} would hide a function from the race detector: remove the attribute"
        )),
        _ if word.starts_with("__tsan_") => Some(format!(
            "{word} is a function of the race detector: choose another name"
        )),
        "thread_local" | "__thread" => Some("device code has no thread_local variables".to_owned()),
        "typeof" | "__typeof__" | "__typeof" | "__auto_type" => {
            Some(format!("NVRTC does not know {word}: use decltype or auto"))
        }
        "__extension__" | "__label__" | "__real__" | "__imag__" | "_Complex" | "__complex__"
        | "__float128" | "_Float16" | "__const" | "__const__" | "__signed" | "__signed__" => {
            Some(format!("NVRTC does not know {word}"))
        }
        _ if is_builtin && !is_among(word, BUILTINS) => Some(format!(
            "{word} is a function of the host's compiler, which NVRTC does not have: use CUDA's own, such as __popc, \
             fmaxf or atomicAdd"
        )),
        _ => None,
    }
}
