//! The highlighter on any text, and on one that changes.

use super::engine::{LONG_LINE, MANY_LINES};
use super::*;
use lab_protocol::Language;
use proptest::prelude::*;

/// Highlights without a cache.
fn cold(text: &[u8]) -> Highlighted {
    Highlighter::new()
        .expect("the syntax compiles")
        .highlight(text, &mut HighlightCache::default())
}

/// Highlights Python without a cache.
fn cold_python(text: &str) -> Highlighted {
    let mut cache = HighlightCache::new(Language::Python);
    Highlighter::new()
        .expect("the syntax compiles")
        .highlight(text.as_bytes(), &mut cache)
}

fn roles_of(line: &str) -> String {
    shown(line, &cold(line.as_bytes()))
}

/// `word:Role` for each span of the first line.
fn shown(line: &str, found: &Highlighted) -> String {
    let spans = found
        .line(0)
        .iter()
        .map(|span| format!("{}:{:?}", &line[span.range.clone()], span.role));
    spans.collect::<Vec<_>>().join(" ")
}

#[test]
fn words_have_their_roles_in_cuda() {
    for (line, expected) in [
        (
            "__global__ void k(float* x)",
            "__global__:Qualifier void:Type k:Function float:Type",
        ),
        (
            "__launch_bounds__(256)",
            "__launch_bounds__:Qualifier 256:Number",
        ),
        (
            "v += __shfl_down_sync(~0u, v, 1);",
            "__shfl_down_sync:Builtin 0u:Number 1:Number",
        ),
        (
            "if (threadIdx.x == 0)",
            "if:Keyword threadIdx:Builtin 0:Number",
        ),
        (
            "auto g = cg::this_grid();",
            "auto:Keyword cg:Type this_grid:Builtin",
        ),
        (
            "x = __expf(-1.5e-3f) * sqrtf(y);",
            "__expf:Builtin 1.5e-3f:Number sqrtf:Builtin",
        ),
        (
            "k<<<grid, 256>>>(x);",
            "<<<:Operator 256:Number >>>:Operator",
        ),
        ("Pack<Pack<Pack<int>>> x;", "int:Type"),
        (
            "LAB_LAUNCH(rmsnorm_f32) {",
            "LAB_LAUNCH:Qualifier rmsnorm_f32:Function",
        ),
        (
            "LAB_LAUNCHES(row_sums) {",
            "LAB_LAUNCHES:Qualifier row_sums:Function",
        ),
        (
            "#include <cuda_fp16.h> // half",
            "#include:Preprocessor <cuda_fp16.h>:Text // half:Comment",
        ),
        (
            "#pragma unroll 4 // all",
            "#pragma unroll 4 :Preprocessor // all:Comment",
        ),
        (
            r#"printf("a\"b %d", 'c');"#,
            r#"printf:Builtin "a\"b %d":Text 'c':Text"#,
        ),
        ("int for_each = 1'000;", "int:Type 1'000:Number"),
        ("maximum = my_sqrtf(a) ;", "my_sqrtf:Function"),
    ] {
        assert_eq!(roles_of(line), expected, "{line}");
    }
}

#[test]
fn words_have_their_roles_in_python() {
    for (line, expected) in [
        (
            "import triton.language as tl",
            "import:Preprocessor triton:Type as:Keyword",
        ),
        (
            "from math import prod  # x",
            "from:Preprocessor import:Preprocessor # x:Comment",
        ),
        ("@triton.jit", "@triton.jit:Qualifier"),
        (
            "def row_sums(x, *, n=1_000):",
            "def:Keyword row_sums:Function 1_000:Number",
        ),
        (
            "    BLOCK: tl.constexpr = 0x1F",
            "tl:Type constexpr:Type 0x1F:Number",
        ),
        (
            "    y = tl.load(p, other=0.0)",
            "tl:Type load:Function 0.0:Number",
        ),
        (
            "    z = x.to(torch.float16)",
            "to:Function torch:Type float16:Type",
        ),
        (
            "    for i in range(len(x)):",
            "for:Keyword in:Keyword range:Builtin len:Builtin",
        ),
        (
            "    return None if x is True else -1.5e-3",
            "return:Keyword None:Number if:Keyword is:Keyword True:Number else:Keyword 1.5e-3:Number",
        ),
        (r#"    s = f"a\"b" + rb'c'"#, r#"f"a\"b":Text rb'c':Text"#),
        (
            "    raise ValueError('x')",
            "raise:Keyword ValueError:Builtin 'x':Text",
        ),
        ("important = x.max", ""),
        ("matched = input_for(x)", "input_for:Function"),
        (
            "class Row(list): pass",
            "class:Keyword Row:Function list:Type pass:Keyword",
        ),
    ] {
        assert_eq!(shown(line, &cold_python(line)), expected, "{line}");
    }
    let text = "x = \"\"\"a 'b'\nimport c\n\"\"\" + 'open\nimport d\ny = '''\n# no\n'''  # yes\n";
    let roles: Vec<Vec<SyntaxRole>> = cold_python(text)
        .lines
        .iter()
        .map(|line| line.iter().map(|span| span.role).collect())
        .collect();
    use SyntaxRole::{Comment, Preprocessor, Text};
    let wanted = [
        vec![Text],
        vec![Text],
        vec![Text, Text],
        vec![Preprocessor],
        vec![Text],
        vec![Text],
        vec![Text, Comment],
    ];
    assert_eq!(roles, wanted);
}

#[test]
fn comments_and_strings_go_on_over_lines_and_end_where_they_end() {
    let text =
        "/* a\nb */ int c;\n#define X 1 \\\n  int\nR\"(for\nfor)\" for\n\"open\nfor // \\\nstill";
    let found = cold(text.as_bytes());
    let roles: Vec<Vec<SyntaxRole>> = found
        .lines
        .iter()
        .map(|line| line.iter().map(|span| span.role).collect())
        .collect();
    use SyntaxRole::{Comment, Function, Keyword, Number, Preprocessor, Text, Type};
    assert_eq!(
        roles,
        [
            vec![Comment],
            vec![Comment, Type],
            vec![Preprocessor, Function, Number],
            vec![Type],
            vec![Text],
            vec![Text, Keyword],
            vec![Text],
            vec![Keyword, Comment],
            vec![Comment]
        ]
    );
}

#[test]
fn lines_are_those_of_the_text() {
    for text in ["", "a", "a\n", "a\n\n", "\n", "a\r\nb"] {
        assert_eq!(
            cold(text.as_bytes()).lines.len(),
            text.lines().count(),
            "{text:?}"
        );
    }
}

#[test]
fn an_edit_parses_its_line_and_an_opened_comment_parses_what_it_covers() {
    let lines: Vec<String> = (0..500)
        .map(|i| format!("x[{i}] = {i}; /* {i} */"))
        .collect();
    let highlighter = Highlighter::new().expect("the syntax compiles");
    let mut cache = HighlightCache::default();
    let mut look =
        |lines: &[String]| highlighter.highlight(lines.join("\n").as_bytes(), &mut cache);
    assert_eq!(look(&lines).parsed_lines, 500);
    assert_eq!(look(&lines).parsed_lines, 0);
    let mut edited = lines.clone();
    edited[250] = "float y = 1;".to_owned();
    assert_eq!(look(&edited).parsed_lines, 1);
    edited.insert(100, "int z;".to_owned());
    assert_eq!(look(&edited).parsed_lines, 1);
    edited.drain(300..320);
    assert!(look(&edited).parsed_lines <= 1);
    edited[10] = "/* from here".to_owned();
    assert_eq!(
        look(&edited).parsed_lines,
        2,
        "to the end of the next line's comment"
    );
    edited[10] = "R\"(from here".to_owned();
    assert_eq!(
        look(&edited).parsed_lines,
        edited.len() - 10,
        "to the end of the text"
    );
    assert_eq!(look(&lines).lines, cold(lines.join("\n").as_bytes()).lines);
}

#[test]
fn long_lines_and_long_texts_are_plain_past_the_limit() {
    let line = format!("int {} int", "x".repeat(100 * LONG_LINE));
    assert_eq!(
        cold(line.as_bytes()).line(0),
        [SyntaxSpan {
            range: 0..3,
            role: SyntaxRole::Type
        }]
    );
    let many = "\n".repeat(MANY_LINES + 5);
    let found = cold(many.as_bytes());
    assert_eq!(found.lines.len(), MANY_LINES);
    assert_eq!(found.line(MANY_LINES + 1), []);
}

#[test]
fn bytes_that_are_not_text_keep_their_positions() {
    let found = cold(b"\xff\xfe int \x00 \xc3( float");
    let spans: Vec<_> = found
        .line(0)
        .iter()
        .map(|span| (span.range.clone(), span.role))
        .collect();
    assert_eq!(
        spans,
        [(3..6, SyntaxRole::Type), (12..17, SyntaxRole::Type)]
    );
}

#[test]
fn an_interrupted_highlighting_leaves_the_cache_as_it_was() {
    let highlighter = Highlighter::new().expect("the syntax compiles");
    let mut cache = HighlightCache::default();
    highlighter.highlight(b"int a;\nint b;", &mut cache);
    assert_eq!(
        highlighter.highlight_while(b"int c;", &mut cache, || false),
        None
    );
    assert_eq!(
        highlighter
            .highlight(b"int a;\nint b;", &mut cache)
            .parsed_lines,
        0
    );
}

/// Pieces that open, close and cross lines, and bytes that are none of these.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(&[
            "int ", "x(", "/*", "*/", "//", "\"", "'", "\\", "\\\n", "\n", "#define ", "#pragma ", "R\"a(", ")a\"", "R\"(", ")\"",
            "0x1.8p3", "1'0", "<<<", ">>>(", "__global__ ", "threadIdx", "é", "\t", "\r\n", "LAB_LAUNCH(", "u8'", ".5",
        ][..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_and_any_edit_of_it_gives_what_highlighting_without_a_cache_gives(texts in prop::collection::vec(text(), 2..5)) {
        thread_local!(static HIGHLIGHTER: Highlighter = Highlighter::new().expect("the syntax compiles"));
        HIGHLIGHTER.with(|highlighter| {
            let mut cache = HighlightCache::default();
            let mut before: Vec<u8> = Vec::new();
            for text in &texts {
                // Half of the old text stays around the new one.
                let (head, tail) = before.split_at(before.len() / 2);
                let edited = [head, text, tail].concat();
                let found = highlighter.highlight(&edited, &mut cache);
                prop_assert_eq!(&found.lines, &highlighter.highlight(&edited, &mut HighlightCache::default()).lines);
                let lines: Vec<&[u8]> = edited.split(|b| *b == b'\n').collect();
                for (line, bytes) in found.lines.iter().zip(lines) {
                    let mut from = 0;
                    for span in line.iter() {
                        prop_assert!(from <= span.range.start && span.range.start < span.range.end);
                        prop_assert!(span.range.end <= bytes.len());
                        from = span.range.end;
                    }
                }
                before = edited;
            }
            Ok(())
        })?;
    }
}
