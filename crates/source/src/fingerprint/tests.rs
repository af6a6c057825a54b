//! Which sources are the same, comments and blanks aside.

use super::{cut_cpp, cut_python};
use proptest::prelude::*;

fn hash(source: &[u8]) -> String {
    super::hash(source, cut_cpp)
}

fn of_python(source: &str) -> String {
    super::hash(source.as_bytes(), cut_python)
}

#[test]
fn lines_and_indentation_count_in_python() {
    let source = "if a:\n    b = c // 2  # half\nd = [1,\n  2]\n";
    for same in [
        "if a: # x\n\n    b = c//2\n  # y\nd = [1, 2]",
        "if a:\n    b = c \\\n  // 2\nd = [1,\n\n2]\n\n",
    ] {
        assert_eq!(of_python(same), of_python(source), "{same}");
    }
    for other in [
        "if a:\n    b = c // 3\nd = [1, 2]\n",
        "if a:\n    b = c // 2\n    d = [1, 2]\n",
        "if a:\n    b = c\n    // 2\nd = [1, 2]\n",
        "if a:\n    b = c // 2\nd = [1, '2']\n",
    ] {
        assert_ne!(of_python(other), of_python(source), "{other}");
    }
}

#[test]
fn comments_and_blanks_make_no_difference_and_everything_else_does() {
    let source = "int a = b/2; // half\nchar* s = \"// no comment\";\n";
    for same in [
        "int a = b / 2;\nchar *s=\"// no comment\";",
        "// v2\nint a = b/2; char* s = \"// no comment\";\n\n",
        "int/* */a = b/2; /* two\nlines */ char* s = \"// no comment\";",
        "int a \\\n= b/2; char* s = \"// no comment\";",
    ] {
        assert_eq!(hash(same.as_bytes()), hash(source.as_bytes()), "{same}");
    }
    for other in [
        "inta = b/2; char* s = \"// no comment\";",
        "int a = b/2; char* s = \"//no comment\";",
        "int a = b/3;",
        "",
    ] {
        assert_ne!(hash(other.as_bytes()), hash(source.as_bytes()), "{other}");
    }
}

#[track_caller]
fn differ(a: &str, b: &str) {
    assert_ne!(hash(a.as_bytes()), hash(b.as_bytes()), "{a:?} and {b:?}");
}

#[track_caller]
fn same(a: &str, b: &str) {
    assert_eq!(hash(a.as_bytes()), hash(b.as_bytes()), "{a:?} and {b:?}");
}

#[test]
fn tokens_are_those_of_the_preprocessor() {
    differ("x = a + ++b;", "x = a++ + b;");
    differ("x = a - -b;", "x = a-- b;");
    differ("x = 0x1e + 5;", "x = 0x1e+5;");
    differ("a = \"b\"_c;", "a = \"b\" _c;");
    differ("a = L\"b\";", "a = L \"b\";");
    same("f<<<1, 2>>>(x);", "f <<< 1,2 >>> ( x ) ;");
    same("x = 1'000'000 / 2; // it's", "x = 1'000'000/2;");
    // A comment may go on on the next line, and then no code stands there.
    differ("// a \\\nint b;\nint c;", "// a\nint b;\nint c;");
    same("// a \\\nint b;\nint c;", "int c;");
    same("in\\\nt a;", "int a;");
    same("int a;\r\nint b;\r\n", "int a; int b;");
}

#[test]
fn the_lines_of_directives_count_and_so_does_a_macro_s_bracket() {
    differ("#define A\nb", "#define A b");
    differ("#define A(b) c", "#define A (b) c");
    differ("int a;\n#if 1\n", "int a; #if 1\n");
    same("  # define  A  b // c\nd", "#define A b\n\n\nd");
    same("#define A b \\\n  c\nd", "#define A b /* x\n y */ c\nd");
    differ("#include <a//b.h>\nint c;", "#include <a//d.h>\nint c;");
    // Blanks in the argument come into the text, and a line's number depends on what stands above.
    differ("#define A(b) #b\nA(c+d)", "#define A(b) #b\nA(c + d)");
    same("#define A(b) c ## b\nA(c+d)", "#define A(b) c##b\nA(c + d)");
    differ("int a = __LINE__;", "\nint a = __LINE__;");
}

#[test]
fn raw_strings_are_taken_as_they_stand() {
    differ("a = R\"(b // c)\";", "a = R\"(b // d)\";");
    differ("a = R\"(b  c)\";", "a = R\"(b c)\";");
    differ("a = R\"x(b)\" // c)x\"; d", "a = R\"x(b)\" // c)x\"; e");
    differ("a = R\"(b\\\nc)\";", "a = R\"(bc)\";");
    same("a = R\"x(b)\" // c)x\"; d // e", "a=R\"x(b)\" // c)x\";d");
}

#[test]
fn where_the_cut_is_not_sure_only_the_same_bytes_are_the_same() {
    for text in [
        "don't /* a \n// */ b",
        "/* a",
        "a = R\"(b",
        "a \\ \nb",
        "a ??/\nb",
        "%: define a",
        "a\rb",
    ] {
        differ(text, &format!("{text} "));
        same(text, text);
    }
    for text in [
        "a = f\"{b[\"#\"]}\" + c",
        "a = f'{\"}\"}'",
        "a = 'b",
        "# coding: latin-1\na",
        "a = __file__",
    ] {
        assert_ne!(
            of_python(text),
            of_python(&format!("{text}\n# d")),
            "{text}"
        );
    }
    assert_ne!(hash(b"a\xff"), hash(b"a\xfe"));
}

/// Tokens that may stand beside each other with any blanks or comments between them.
const TOKENS: [&str; 20] = [
    "int",
    "a",
    "b2",
    "1.5e-3f",
    "0x1f",
    "\"s // t\"",
    "'c'",
    "L\"w\"",
    "R\"(r /* \")\"",
    "++",
    "+",
    "-",
    "->",
    "<<<",
    ">>>",
    "(",
    ")",
    "{",
    ";",
    "::",
];

fn between() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        " ",
        "\t",
        "\n",
        "\r\n",
        "/* c */",
        "// c\n",
        "\\\n ",
        "/* c\n' \" */",
    ]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_has_a_hash(text in any::<Vec<u8>>()) {
        prop_assert_eq!(hash(&text).len(), 64);
        prop_assert_eq!(super::hash(&text, cut_python).len(), 64);
    }

    /// Comments and blanks make no difference, one token more, less or other does.
    #[test]
    fn only_the_tokens_count(
        tokens in prop::collection::vec((prop::sample::select(TOKENS.to_vec()), between()), 1..30),
        other in prop::sample::select(TOKENS.to_vec()),
        at in any::<prop::sample::Index>(),
    ) {
        let plain: Vec<&str> = tokens.iter().map(|(token, _)| *token).collect();
        let spaced: String = tokens.iter().map(|(token, blanks)| format!("{token}{blanks}")).collect();
        let of = |tokens: &[&str]| hash(tokens.join(" ").as_bytes());
        prop_assert_eq!(hash(spaced.as_bytes()), of(&plain), "{:?}", spaced);
        let at = at.index(plain.len());
        let mut changed = plain.clone();
        changed[at] = other;
        prop_assert_eq!(of(&changed) == of(&plain), other == plain[at]);
        changed.remove(at);
        prop_assert_ne!(of(&changed), of(&plain));
    }

    /// What follows anything that may begin a comment, a string or a directive counts, or the whole
    /// text does.
    #[test]
    fn no_code_is_lost(text in "[-a(){}<>#'\"/*\\\\\nR\r ]{0,24}") {
        let with = |end: &str| format!("{text}\n{end}");
        let cut = |source: &str| {
            let mut last = Vec::new();
            cut_cpp(source, &mut |token| last = token.as_bytes().to_vec()).map(|()| last)
        };
        let has_comment = text.contains("//") || text.contains("/*");
        // A comment that swallows the end is no loss: the compiler does not see it either.
        if !has_comment {
            prop_assert_ne!(hash(with("zz").as_bytes()), hash(with("yy").as_bytes()), "{:?}", text);
        }
        // Of a joined line the end may belong to a directive, behind which a line break counts.
        let is_swallowed = has_comment || text.ends_with('\\') || text.ends_with("\\\r");
        if !is_swallowed && let Some(last) = cut(&with("zz")) {
            prop_assert!(last.ends_with(b"zz"), "{:?}: {:?}", text, last);
        }
    }
}
