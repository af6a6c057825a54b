//! Sources of a stranger: each is read in a time that grows with its length, whatever it holds.

use lab_source::cpp::Code;
use lab_source::cpp::directive::includes;
use lab_source::cpp::items::items;
use lab_source::fingerprint::{cut_cpp, cut_python, hash};
use lab_source::functions::{functions, host_code, launch_statements};
use lab_source::imports::imports;
use lab_source::tune::{Space, Syntax};
use std::time::{Duration, Instant};

/// Bytes of a source. A time that grows with the square of it would be minutes.
const LENGTH: usize = 256 << 10;

/// What a source repeats.
const PIECES: [&str; 33] = [
    "(",
    "<",
    "\"",
    "\"\n",
    "\"\"\"",
    "'",
    "#",
    "#\n",
    "#if 1\n",
    "#define A ( ( (\n",
    "/**/",
    "/*",
    "*/",
    "*/#include <",
    "*/#include A",
    "#include /**/",
    "a\\\n",
    "R\"(a ",
    "a<",
    "a<b ",
    "template<",
    "# /*\n",
    "*/# /* ",
    "LAB_LAUNCH(a)\n",
    "__global__ f\n",
    "__global__ void f(\n",
    "extern \"C\" ",
    "extern \"C\" {",
    "namespace a {",
    "k<<<1, 1>>>(",
    "// lab: tune A = 1\n",
    "from . import a;",
    "\0",
];

#[test]
fn each_source_is_read_in_a_time_that_grows_with_its_length() {
    let mut sources: Vec<String> = PIECES
        .iter()
        .map(|piece| piece.repeat(LENGTH / piece.len()))
        .collect();
    let half = |piece: &str| piece.repeat(LENGTH / 2);
    sources.push(half("(") + &half("]"));
    sources.push(half("{[(") + &half(")"));
    for source in sources {
        let started = Instant::now();
        hash(source.as_bytes(), cut_cpp);
        hash(source.as_bytes(), cut_python);
        includes(source.as_bytes());
        imports(source.as_bytes());
        functions(&source);
        launch_statements(&source);
        host_code(&source);
        items(&Code::new(source.as_str(), true));
        for syntax in [Syntax::Cpp, Syntax::Python] {
            let _ = Space::read(&source, syntax);
        }
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?} takes {:?}",
            source.chars().take(20).collect::<String>(),
            started.elapsed()
        );
    }
}
