//! Names of functions and variables.

/// Whether C++ and Python take the text for a name, reserved words aside.
pub fn is_identifier(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The words of Python that name nothing else.
pub const PYTHON_WORDS: &str = "\
    False None True __debug__ and as assert async await break class continue def del elif else \
    except finally for from global if import in is lambda nonlocal not or pass raise return \
    try while with yield";
