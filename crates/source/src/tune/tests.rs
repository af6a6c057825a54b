#![allow(clippy::unwrap_used)]
use super::{Space, Syntax};

const KERNEL: &str = "\
// lab: tune BLOCK = 64, 128, 256
// lab: tune ROWS = 1..8 *2
// lab: require BLOCK * ROWS <= 512
#ifndef BLOCK
#define BLOCK 128 // threads
#endif
constexpr int ROWS = 2;
__global__ void f(float* x) { x[threadIdx.x % BLOCK] = ROWS; }
";

fn mistake(source: &str) -> String {
    Space::read(source, Syntax::Cpp).unwrap_err().to_string()
}

/// A tune line and its constant, and then `more`.
fn with(tune: &str, more: &str) -> String {
    format!("constexpr int BLOCK = 128;\nint n = BLOCK;\n// lab: tune {tune}\n{more}")
}

#[test]
fn a_point_is_the_source_with_other_values() {
    let space = Space::read(KERNEL, Syntax::Cpp).unwrap();
    let names: Vec<&str> = space.parameters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["BLOCK", "ROWS"]);
    // 64 with 1, 2, 4, 8; 128 with 1, 2, 4; 256 with 1, 2.
    assert_eq!(space.points, [0, 1, 2, 3, 4, 5, 6, 8, 9]);
    assert_eq!(space.values(9), ["256", "2"]);
    assert_eq!(space.in_words(9), "BLOCK=256 ROWS=2");
    assert_eq!(space.written(), Some(5));
    assert_eq!(space.source(KERNEL, 5), KERNEL);
    let other = space.source(KERNEL, 9);
    assert_eq!(other, KERNEL.replace("BLOCK 128 //", "BLOCK 256 //"));
    // The source of a point has the same points.
    let again = Space::read(&other, Syntax::Cpp).unwrap();
    assert_eq!(
        (again.points, again.parameters[0].written.as_str()),
        (space.points.clone(), "256")
    );
    for point in &space.points {
        assert_eq!(space.point(&space.choices(*point)), *point);
    }
}

#[test]
fn the_pairs_of_values_that_no_point_has_are_known() {
    let space = Space::read(KERNEL, Syntax::Cpp).unwrap();
    let words = |(at, value): (usize, usize)| {
        let parameter = &space.parameters[at];
        format!("{}={}", parameter.name, parameter.values[value])
    };
    let of_block = space
        .excluded_pairs()
        .into_iter()
        .filter(|(first, _)| first.0 == 0);
    let pairs: Vec<String> = of_block.map(|(a, b)| words(a) + " " + &words(b)).collect();
    assert_eq!(
        pairs,
        ["BLOCK=128 ROWS=8", "BLOCK=256 ROWS=4", "BLOCK=256 ROWS=8"]
    );
    let free = KERNEL.replace("// lab: require BLOCK * ROWS <= 512\n", "");
    assert!(
        Space::read(&free, Syntax::Cpp)
            .unwrap()
            .excluded_pairs()
            .is_empty()
    );
    // A record does not hold a million of them.
    let many = with(
        "BLOCK = 1..200",
        "// lab: tune N = 1..200\nconstexpr int N = 1;\nint m = N;\n// lab: require N < BLOCK\n",
    );
    assert!(
        Space::read(&many, Syntax::Cpp)
            .unwrap()
            .excluded_pairs()
            .is_empty()
    );
}

#[test]
fn a_source_without_tune_lines_has_no_points() {
    let space = Space::read("// lab: notes\nint x = 1;\n", Syntax::Cpp).unwrap();
    assert!(space.parameters.is_empty() && space.points.is_empty());
}

#[test]
fn values_are_numbers_words_and_ranges() {
    let values = |text: &str| {
        let source = with(&format!("BLOCK = {text}"), "");
        Space::read(&source, Syntax::Cpp).unwrap().parameters[0]
            .values
            .clone()
    };
    assert_eq!(values("64..256 step 64"), ["64", "128", "192", "256"]);
    assert_eq!(values("64..200 step 64"), ["64", "128", "192"]);
    assert_eq!(
        values("1 .. 3, 8..32 * 2"),
        ["1", "2", "3", "8", "16", "32"]
    );
    assert_eq!(values("-1, 1.5f, 128u"), ["-1", "1.5f", "128u"]);
    assert_eq!(values("true, false"), ["true", "false"]);
    assert_eq!(values("float2 , float4"), ["float2", "float4"]);
}

#[test]
fn what_looks_like_a_tune_line_in_a_string_is_none() {
    let string = "const char* s = \"// lab: tune A = 1\"; // lab: tune N = 1, 2\n";
    let raw = "const char* r = R\"(\n// lab: tune B = 1\n)\";\n#define C \"// lab: tune D = 1\"\n";
    let source = format!("{string}{raw}constexpr int N = 1;\nint x = N;\n");
    let space = Space::read(&source, Syntax::Cpp).unwrap();
    assert_eq!(
        (space.parameters.len(), &*space.parameters[0].name),
        (1, "N")
    );
    let python = "\"\"\"\n# lab: tune A = 1\n\"\"\"\n# lab: tune N = 1, 2\nN = 1\nx = N\n";
    let space = Space::read(python, Syntax::Python).unwrap();
    assert_eq!(space.in_words(1), "N=2");
}

#[test]
fn a_launch_of_triton_has_places_for_its_keywords_and_for_strings() {
    let kernel = "\
# lab: tune BLOCK = 32, 64
# lab: tune num_warps = 1, 4
# lab: tune num_stages = 2, 3
# lab: tune PRECISION = \"ieee\", \"tf32\"
# lab: require BLOCK * num_warps <= 128
@triton.jit
def k(x, n, PRECISION: tl.constexpr, BLOCK: \"tl.constexpr\" = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.dot(i, i, input_precision=PRECISION), i < n)

def f(x):
    k[(triton.cdiv(x.numel(), 64),)](x, x.numel(), PRECISION='tf32', num_warps=4, num_stages=2)
";
    let space = Space::read(kernel, Syntax::Python).unwrap();
    let written = space.written().map(|point| space.in_words(point));
    assert_eq!(written, None, "64 * 4 is excluded");
    let first = space.points[0];
    assert_eq!(
        space.in_words(first),
        "BLOCK=32 num_warps=1 num_stages=2 PRECISION='ieee'"
    );
    let point = space.source(kernel, first);
    assert!(
        point.contains("PRECISION='ieee', num_warps=1, num_stages=2)"),
        "{point}"
    );
    assert!(point.contains("BLOCK: \"tl.constexpr\" = 32):"), "{point}");
    let free = kernel.replace("# lab: require BLOCK * num_warps <= 128\n", "");
    let space = Space::read(&free, Syntax::Python).unwrap();
    assert_eq!(space.source(&free, space.written().unwrap()), free);
    let twice = format!("{kernel}    k[1](x, 1, num_warps=8)\n");
    assert_eq!(
        Space::read(&twice, Syntax::Python).unwrap_err().to_string(),
        "line 2: lines 12 and 13 give num_warps a value: a sweep changes one place, so leave one, or give them a constant \
         that has the tune line"
    );
    let numbers = kernel.replace("BLOCK * num_warps <= 128", "PRECISION == 1");
    assert_eq!(
        Space::read(&numbers, Syntax::Python)
            .unwrap_err()
            .to_string(),
        "line 5: 'PRECISION == 1' compares PRECISION, and its value 'ieee' is not a number"
    );
    let twice = "# lab: tune P = 'a', \"a\"\n";
    assert_eq!(
        Space::read(twice, Syntax::Python).unwrap_err().to_string(),
        "line 1: P has the value \"a\" twice: leave one out"
    );
}

#[test]
fn a_value_may_be_a_template_argument_an_alias_or_one_of_several_constants() {
    for (source, value) in [
        ("template <int N = 4> int f() { return N; }", "4"),
        ("constexpr int M = 1, N = -2; int x = N;", "-2"),
        ("using N = float4; N x;", "float4"),
        ("enum { N = 4 }; int x = N;", "4"),
        ("#define N true\n#if N\n#endif", "true"),
        (
            "#define N (4)\nconstexpr int M = 0, N = 8;\nint x = N;",
            "8",
        ),
    ] {
        let all = format!("// lab: tune N = 1, 2\n{source}\n");
        let space = Space::read(&all, Syntax::Cpp).unwrap_or_else(|e| panic!("{source}: {e}"));
        assert_eq!(space.parameters[0].written, value, "{source}");
    }
}

#[test]
fn a_line_that_is_wrong_is_named_with_what_to_do() {
    for (tune, why) in [
        (
            "BLOCK",
            "line 3: `lab: tune BLOCK` has no values: write `lab: tune BLOCK = 64, 128` or `lab: tune BLOCK = 64..512 step 64`",
        ),
        (
            "BLOCK =",
            "line 3: `lab: tune BLOCK` has no values: write `lab: tune BLOCK = 64, 128` or `lab: tune BLOCK = 64..512 step 64`",
        ),
        (
            "= 64",
            "line 3: `lab: tune` names nothing: write `lab: tune BLOCK = 64, 128`",
        ),
        (
            "my block = 64",
            "line 3: 'my block' is not the name of a constant: write `lab: tune BLOCK = 64, 128`",
        ),
        (
            "BLOCK = 64,, 128",
            "line 3: BLOCK: a value is missing beside a comma",
        ),
        (
            "BLOCK = 64; 128",
            "line 3: BLOCK: '64; 128' is not a value: a value is a number, a word or a string, or a range `64..512 step 64` or `64..512 *2`",
        ),
        (
            "BLOCK = 1..",
            "line 3: BLOCK: '1..' is not a value: a value is a number, a word or a string, or a range `64..512 step 64` or `64..512 *2`",
        ),
        (
            "BLOCK = 64, 128, 64",
            "line 3: BLOCK has the value 64 twice: leave one out",
        ),
        (
            "BLOCK = 512..64",
            "line 3: BLOCK: the range 512..64 is empty: its first number is the smaller one",
        ),
        (
            "BLOCK = 1..9 step 0",
            "line 3: BLOCK: the range '1..9 step 0' has no second value: a step is at least 1, a factor at least 2, from a number above 0",
        ),
        (
            "BLOCK = 0..9 *2",
            "line 3: BLOCK: the range '0..9 *2' has no second value: a step is at least 1, a factor at least 2, from a number above 0",
        ),
        (
            "BLOCK = 1..1000000000",
            "line 3: BLOCK: the range '1..1000000000' has more than 10,000 values: write a larger `step`",
        ),
        (
            "BLOCK = 1..99999999999999999999",
            "line 3: BLOCK: 99999999999999999999 is too large",
        ),
        (
            "BLOK = 64",
            "line 3: the source never uses BLOK: write `constexpr int BLOK = 64;` and use BLOK in the kernel, or remove the tune line",
        ),
        (
            "n = 64",
            "line 3: the source uses n and gives it no plain value: write `constexpr int n = 64;`, where a sweep puts each of the values in place of 64",
        ),
    ] {
        let source = with(tune, "").replace("int n = BLOCK;", "int n = 2 * BLOCK; int m = n;");
        assert_eq!(mistake(&source), why);
    }
    assert_eq!(
        mistake(&with("BLOCK = 64", "// lab: tune BLOCK = 128\n")),
        "line 4: BLOCK has a tune line already, line 3: put all its values there"
    );
    assert_eq!(
        mistake("// lab: tun BLOCK = 64\n"),
        "line 1: `lab: tun` is unknown: did you mean `lab: tune`?"
    );
    assert_eq!(
        mistake("#define N 4\n// lab: tune N = 4\n"),
        "line 2: line 1 gives N a value, and the source never uses it: use N in the kernel, or remove the tune line"
    );
    assert_eq!(
        mistake("#if A\n#define N 4\n#else\n#define N 8\n#endif\nint x = N;\n// lab: tune N = 4\n"),
        "line 7: lines 2 and 4 give N a value: a sweep changes one place, so leave one"
    );
}

#[test]
fn more_combinations_than_a_sweep_can_number_are_refused() {
    let names = ["A", "B", "C"];
    let lines = names.map(|name| {
        format!("// lab: tune {name} = 1..1000\nconstexpr int {name} = 1;\nint x{name} = {name};\n")
    });
    assert_eq!(
        mistake(&lines.concat()),
        "line 7: the tune lines make 1,000,000,000 combinations, and a sweep has at most 1,000,000: leave values out"
    );
}

#[test]
fn a_condition_that_is_wrong_is_named_with_its_line() {
    for (require, why) in [
        (
            "BLOCK > 1024",
            "line 4: 'BLOCK > 1024' is false for all 2 combinations: no point is left to try",
        ),
        (
            "BLOCKS > 64",
            "line 4: 'BLOCKS > 64' names 'BLOCKS', which has no tune line (did you mean 'BLOCK'?)",
        ),
        (
            "",
            "line 4: `lab: require` has no condition: write `lab: require BLOCK * ROWS <= 1024`",
        ),
        (
            "1 / (BLOCK - 64)",
            "line 4: '1 / (BLOCK - 64)' divides 1 by zero, for BLOCK=64",
        ),
        (
            "100 / (BLOCK - 64) > 1",
            "line 4: '100 / (BLOCK - 64) > 1' divides 100 by zero, for BLOCK=64",
        ),
        (
            "512 % (BLOCK - 128) == 0",
            "line 4: '512 % (BLOCK - 128) == 0' divides 512 by zero, for BLOCK=128",
        ),
    ] {
        assert_eq!(
            mistake(&with(
                "BLOCK = 64, 128",
                &format!("// lab: require {require}\n")
            )),
            why
        );
    }
    assert_eq!(
        mistake(&with(
            "BLOCK = 64, 128",
            "// lab: require BLOCK > 64\n// lab: require BLOCK < 128\n"
        )),
        "line 5: 'BLOCK < 128' is false for all 1 combinations that the lines before it leave: no point is left to try"
    );
    assert!(
        mistake(&with("BLOCK = 64", "// lab: require BLOCK <\n"))
            .starts_with("line 4: 'BLOCK <' is not an expression: ")
    );
    assert_eq!(
        mistake(&with("BLOCK = 64, N", "// lab: require BLOCK < 128\n")),
        "line 4: 'BLOCK < 128' compares BLOCK, and its value N is not a number"
    );
}

#[test]
fn a_python_kernel_has_its_constants_at_the_top_or_among_the_parameters() {
    for (source, value) in [
        ("BLOCK = 128\ndef f(x):\n    return x + BLOCK\n", "128"),
        ("BLOCK: int = 128\nx = BLOCK\n", "128"),
        (
            "def f(x, BLOCK: tl.constexpr = 64):\n    return tl.arange(0, BLOCK)\n",
            "64",
        ),
        (
            "FAST = True\nk(BLOCK=FAST)\nBLOCK = 8\nf(x, BLOCK=BLOCK)\n",
            "8",
        ),
    ] {
        let all = format!("# lab: tune BLOCK = 16, 32\n{source}");
        let space = Space::read(&all, Syntax::Python).unwrap_or_else(|e| panic!("{source}: {e}"));
        assert_eq!(space.parameters[0].written, value, "{source}");
        let point = space.source(&all, 1);
        assert_eq!(
            point,
            all.replacen(&format!("= {value}"), "= 32", 1),
            "{source}"
        );
    }
    let error = Space::read("# lab: tune BLOCK = 16\nf(x)\n", Syntax::Python).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: the source never uses BLOCK: write `BLOCK = 16` and use BLOCK in the kernel, or remove the tune line"
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_for_tune_lines(text in "(// lab: (tune|require) [A-C =0-9.,*<]{0,12}\n|[A-C] = [0-9]+;|#define [A-C] [0-9a]*\n|[A-C(){};<>=é'\"]|\n){0,12}") {
        if let Ok(space) = Space::read(&text, Syntax::Cpp) {
            for point in space.points.iter().take(20) {
                let _ = space.source(&text, *point);
            }
        }
        let _ = Space::read(&text.replace("//", "#"), Syntax::Python);
    }
}
