//! Words of the host's compiler that NVRTC does not know.

use super::Preprocessed;
use lab_protocol::text::is_among;

/// The functions of the host's compiler that NVRTC 13 has too.
const BUILTINS: &str = "\
    __builtin_FILE __builtin_FUNCTION __builtin_LINE __builtin_add_overflow __builtin_addressof \
    __builtin_assume __builtin_assume_aligned __builtin_bit_cast __builtin_clear_padding \
    __builtin_constant_p __builtin_copysign __builtin_copysignf __builtin_expect \
    __builtin_is_constant_evaluated __builtin_isfinite __builtin_isinf __builtin_isnan \
    __builtin_mul_overflow __builtin_offsetof __builtin_sub_overflow __builtin_unreachable";

/// Returns an error for each such word in the user's files, in the form of a compiler message.
pub fn errors(text: &Preprocessed) -> String {
    let words = (0..text.tokens.len()).filter_map(|at| {
        let start = text.tokens[at].start;
        let reason = reason(text.word(at)).filter(|_| !text.is_foreign(start))?;
        let (file, line) = text.place(start);
        Some(format!("{file}:{line}: error: {reason}\n"))
    });
    words.collect()
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
