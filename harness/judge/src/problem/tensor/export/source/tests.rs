//! Sources with headers, conditions, comments and strings, as they stand in an export.
#![allow(clippy::unwrap_used)]

use super::*;
use std::collections::BTreeMap;

/// Flattens a source into the namespace `n`, with these headers beside it.
fn flat(text: &str, headers: &[(&str, &str)]) -> Result<Flattened, String> {
    let headers: BTreeMap<&str, &str> = headers.iter().copied().collect();
    let read = |path: &str| Ok(headers.get(path).map(|text| (*text).to_owned()));
    flatten(
        text,
        &Frame {
            namespace: Some("n"),
            opening: "int first;\n",
        },
        &read,
    )
}

#[test]
fn includes_stay_outside_of_the_namespace() {
    let text = "// What it is.\n#include \"lab.h\"\n#include <a>\n\nint x;\n#include <b>\nint y;\n";
    let wanted = "// What it is.\n#include <a>\n\nnamespace n {\nint first;\nint x;\n}  // namespace n\n#include <b>\nnamespace n {\nint y;\n}  \
                  // namespace n\n";
    assert_eq!(flat(text, &[]).unwrap().text, wanted);
}

#[test]
fn a_condition_keeps_its_branches_whole() {
    let around = |text: &str| flat(text, &[]).unwrap().text;
    // The branches hold code: the namespace is open before and behind them.
    let code = around("#ifdef A\nint x;\n#else\n#include <b>\nint y;\n#endif\n");
    assert_eq!(
        code,
        "namespace n {\nint first;\n#ifdef A\nint x;\n#else\n}  // namespace n\n#include <b>\nnamespace n {\nint y;\n#endif\n}  // namespace n\n"
    );
    // They hold includes alone: it is closed there.
    let includes = around("int x;\n#ifdef A\n#include <b>\n#endif\nint y;\n");
    assert_eq!(
        includes,
        "namespace n {\nint first;\nint x;\n}  // namespace n\n#ifdef A\n#include <b>\n#endif\nnamespace n {\nint y;\n}  // namespace n\n"
    );
    assert_eq!(
        around("#ifndef A\n#define A 1\n#endif\n")
            .matches("namespace n {")
            .count(),
        1
    );
}

#[test]
fn local_headers_stand_in_place_of_their_includes() {
    let headers = [
        (
            "a.cuh",
            "#pragma once\n#include \"sub/b.cuh\"\n#define WIDTH 3\nint a;\n",
        ),
        (
            "sub/b.cuh",
            "#pragma once\n#include <c>\n#include \"../a.cuh\"\nint b;\n",
        ),
    ];
    let found = flat(
        "#include \"a.cuh\"\n#include \"a.cuh\"\n#include \"cute/x.hpp\"\nint x;\n",
        &headers,
    )
    .unwrap();
    assert_eq!(
        [
            found.text.matches("int a;").count(),
            found.text.matches("int b;").count()
        ],
        [1, 1],
        "{}",
        found.text
    );
    assert!(
        !found.text.contains("pragma") && found.text.contains("#include \"cute/x.hpp\""),
        "{}",
        found.text
    );
    assert_eq!(found.macros.into_iter().collect::<Vec<_>>(), ["WIDTH"]);
    assert_eq!(
        found.foreign.into_iter().collect::<Vec<_>>(),
        ["cute/x.hpp"]
    );
    let circle = flat("#include \"a\"\n", &[("a", "#include \"a\"\n")]).unwrap_err();
    assert_eq!(
        circle,
        "a is included in itself: write `#pragma once` into it"
    );
    assert!(
        flat("#include NAME\n", &[])
            .unwrap_err()
            .contains("names the macro NAME")
    );
}

#[test]
fn comments_and_strings_are_no_directives() {
    let text = "/*\n#include <a>\n*/\nconst char* x = R\"(\n#include <b>\n)\";\nconst char* y = \"/*\"; // \"\n#include <c>\nint z = 1'000;\n";
    let found = flat(text, &[]).unwrap();
    assert_eq!(
        found
            .text
            .matches("}  // namespace n\n#include <c>")
            .count(),
        1,
        "{}",
        found.text
    );
    assert!(
        found
            .text
            .starts_with("/*\n#include <a>\n*/\nnamespace n {"),
        "{}",
        found.text
    );
    assert!(
        found.text.contains("R\"(\n#include <b>\n)\";"),
        "{}",
        found.text
    );
    let long = flat(
        "#define LONG(a) \\\n    int a; \\\n    int b\nint x;\n",
        &[],
    )
    .unwrap();
    assert!(
        long.text
            .starts_with("#define LONG(a) \\\n    int a; \\\n    int b\nnamespace n {"),
        "{}",
        long.text
    );
}

#[test]
fn kernels_and_c_functions_are_found() {
    let text = "// extern \"C\" void no();\nextern \"C\" __global__ void __launch_bounds__(256, 2) one(const float* x) {}\n\
        __global__ void\ntwo(int n);\nextern \"C\" { __global__ void three(); }\nextern \"C\" __device__ int four() { return five(); }\n\
        #define KERNEL(name) extern \"C\" __global__ void name()\nKERNEL(six) {}\nconst char* s = \"__global__ void no()\";\n\
        template <int N> __global__ __cluster_dims__(2, 1, 1) void seven() {}\n";
    let names: Vec<String> = declared_names(text).into_iter().collect();
    assert_eq!(names, ["four", "one", "seven", "three", "two"]);
}

#[test]
fn a_word_is_found_where_it_is_code() {
    assert!(
        mentions("#ifdef LAB_CPU\n#endif", &["LAB_CPU"])
            && mentions("x = lab_pin(y);", &["lab_pin"])
    );
    assert!(!mentions(
        "// LAB_CPU\nx(\"LAB_CPU\"); int LAB_CPUS;",
        &["LAB_CPU"]
    ));
}
