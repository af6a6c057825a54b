use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

/// Comments, strings, numbers of every kind, statements that depend on each other and others that
/// do not.
const KERNEL: &str = r#"// 17 rows in 3 blocks
#include "lab8.h"
#define WIDTH 32
/* 99 */ constexpr int MASK = 0xffu;
const char* name = "12 \" 13";
__global__ void f(float* y, int n) {
    float a = 0.5f;
    float b = 1'000;
    a = b * 2;
    #pragma unroll 4
    for (int i = 0; i < n; i++) y[i] = a;
#pragma unroll
    for (int i = 0; i < 8; i++) y[i] += b;
    const char* raw = R"x(77 )" 78)x";
    __syncthreads();
}
"#;

fn draw(seed: u64, turn: u64) -> Draw<'static> {
    Draw {
        seed,
        lane: None,
        turn,
    }
}

fn changed(seed: u64, turn: u64) -> Mutation {
    mutate(KERNEL.as_bytes(), Language::Cuda, draw(seed, turn), |_| {
        false
    })
    .expect("the kernel has numbers")
}

#[test]
fn every_kind_of_change_is_made_and_comments_and_strings_stay() {
    let all: Vec<Mutation> = (0..400).map(|turn| changed(1, turn)).collect();
    for what in [
        "line 3: 32 to 33",
        "line 4: 0xffu to 0x1feu",
        "line 7: 0.5f to 1.0f",
        "line 8: 1'000 to 2000",
        "line 10: unroll 4 to unroll 16",
        "line 12: unroll to unroll 2",
        "lines 7 and 8 swapped",
    ] {
        assert!(all.iter().any(|mutation| mutation.what == what), "{what}");
    }
    for mutation in &all {
        let text = String::from_utf8(mutation.bytes.clone()).expect("text");
        for kept in [
            "// 17 rows in 3 blocks",
            "lab8.h",
            "/* 99 */",
            r#""12 \" 13""#,
            r#"R"x(77 )" 78)x""#,
        ] {
            assert!(text.contains(kept), "{text}");
        }
        assert!(
            !mutation.what.contains("8 and 9"),
            "b is read in line 9: {}",
            mutation.what
        );
    }
    let unrolled = all
        .iter()
        .find(|mutation| mutation.what == "line 12: unroll to unroll 2");
    assert!(
        unrolled
            .is_some_and(|m| String::from_utf8_lossy(&m.bytes).contains("\n#pragma unroll 2\n"))
    );
}

#[test]
fn each_lane_draws_its_own_changes_from_the_seed_and_the_same_ones_each_time() {
    let of_lane = |lane| {
        let changed = |turn| {
            mutate(
                KERNEL.as_bytes(),
                Language::Cuda,
                Draw {
                    lane,
                    ..draw(1, turn)
                },
                |_| false,
            )
        };
        (0..40)
            .map(|turn| changed(turn).expect("a number").bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(of_lane(Some("cuda:0")), of_lane(Some("cuda:0")));
    assert_ne!(of_lane(Some("cuda:0")), of_lane(Some("cuda:1")));
    assert_ne!(of_lane(Some("cuda:0")), of_lane(None));
}

#[test]
fn what_was_tried_is_not_tried_again_while_there_is_something_else() {
    let kernel = b"int n = 8;\n";
    let mut tried = HashSet::new();
    for turn in 0..40 {
        let next = mutate(kernel, Language::Cuda, draw(3, turn), |bytes| {
            tried.contains(bytes)
        })
        .expect("a number");
        assert!(tried.insert(next.bytes), "{}", next.what);
    }
    assert!(
        mutate(kernel, Language::Cuda, draw(3, 0), |_| true).is_some(),
        "better one again than none"
    );
    assert_eq!(
        mutate(b"// 8\n", Language::Cuda, draw(3, 0), |_| false),
        None
    );
    assert_eq!(mutate(b"", Language::Cuda, draw(3, 0), |_| false), None);
}

#[test]
fn python_keeps_its_comments_and_strings() {
    let kernel = b"\"\"\"8 rows\"\"\"\nn = 16  # of 32\nname = '64'\n";
    for turn in 0..20 {
        let mutation =
            mutate(kernel, Language::Python, draw(1, turn), |_| false).expect("a number");
        let text = String::from_utf8(mutation.bytes).expect("text");
        assert!(
            text.starts_with("\"\"\"8 rows\"\"\"\nn = ")
                && text.ends_with("  # of 32\nname = '64'\n"),
            "{text}"
        );
    }
}

#[test]
fn numbers_keep_their_form() {
    assert_eq!(variants("8"), ["9", "7", "16", "4"]);
    assert_eq!(variants("0"), ["1"]);
    assert_eq!(
        variants("0xFFull"),
        ["0x100ull", "0xfeull", "0x1feull", "0x7full"]
    );
    assert_eq!(variants("1e-5f"), ["2e-5f", "5e-6f", "1.25e-5f", "8e-6f"]);
    assert_eq!(variants("0.0f"), ["1.0f"]);
    assert_eq!(variants("2.f"), ["4.0f", "1.0f", "2.5f", "1.6f"]);
    for other in ["017", "0b11", "1_x", "0x1p3", "99999999999999999999"] {
        assert_eq!(variants(other), Vec::<String>::new(), "{other}");
    }
    assert_eq!(
        variants("18446744073709551615"),
        ["18446744073709551614", "9223372036854775807"]
    );
}

proptest! {
    #[test]
    fn the_same_seed_and_turn_give_the_same_kernel_with_other_tokens(seed: u64, turn: u64) {
        let first = changed(seed, turn);
        prop_assert_eq!(&first, &changed(seed, turn));
        let tokens = |bytes: &[u8]| inputs::tokens_of(bytes, Language::Cuda);
        prop_assert_ne!(tokens(&first.bytes), tokens(KERNEL.as_bytes()));
    }

    #[test]
    fn any_source_is_changed_in_its_tokens_or_not_at_all(
        source in prop_oneof![
            "[ -~\n]{0,200}",
            "(a = [0-9]{1,4};\n|b\\[i\\] = x;\n|#pragma unroll [0-9]?\n|/\\*|\\*/|\"|'|R\"\\(|//|\n){0,40}",
        ],
        seed: u64,
        is_python: bool,
    ) {
        let language = if is_python { Language::Python } else { Language::Cuda };
        if let Some(mutation) = mutate(source.as_bytes(), language, draw(seed, 1), |_| false) {
            prop_assert_ne!(
                inputs::tokens_of(&mutation.bytes, language),
                inputs::tokens_of(source.as_bytes(), language)
            );
            prop_assert!(!mutation.what.is_empty());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_no_trouble(source: Vec<u8>, seed: u64) {
        for language in [Language::Cuda, Language::Python] {
            if let Some(mutation) = mutate(&source, language, draw(seed, 1), |_| false) {
                prop_assert_ne!(mutation.bytes, source.clone());
            }
        }
    }
}
