//! How long highlighting takes: `cargo bench --bench highlight [-- FILE]` prints milliseconds for
//! compiling the syntax, for a thousand lines never seen before, and for the same lines after an
//! edit of one.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

use lab_tui::highlight::{HighlightCache, Highlighter};
use std::time::Instant;

const LINES: usize = 1000;
const ROUNDS: usize = 9;

/// The median of some rounds, in milliseconds.
fn median(mut round: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args()
        .skip(1)
        .find(|arg| arg != "--bench")
        .unwrap_or_else(|| "kernels/wavegru/kernel.cu".to_owned());
    let source = std::fs::read_to_string(&file)?;
    let lines: Vec<&str> = source.lines().cycle().take(LINES).collect();
    let text = lines.join("\n");
    let compile = median(|| drop(Highlighter::new()));
    let highlighter = Highlighter::new()?;
    // Each expression of the syntax is compiled when it is first needed.
    let start = Instant::now();
    highlighter.highlight(text.as_bytes(), &mut HighlightCache::default());
    let first = start.elapsed().as_secs_f64() * 1e3;
    let cold =
        median(|| drop(highlighter.highlight(text.as_bytes(), &mut HighlightCache::default())));
    let mut cache = HighlightCache::default();
    highlighter.highlight(text.as_bytes(), &mut cache);
    let mut edits = 0;
    let warm = median(|| {
        edits += 1;
        let mut edited = lines.clone();
        let line = format!("    float edit{edits} = __expf({edits}.0f);");
        edited[LINES / 2] = &line;
        highlighter.highlight(edited.join("\n").as_bytes(), &mut cache);
    });
    println!("{file}, {LINES} lines");
    println!("syntax_ms {compile:.2}");
    println!("first_ms {first:.2}");
    println!("cold_ms {cold:.2}");
    println!("one_edit_ms {warm:.3}");
    println!("cold_to_edit {:.0}", cold / warm);
    Ok(())
}
