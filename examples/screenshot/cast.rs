//! A recording: as asciinema's format, version 2 (https://docs.asciinema.org/manual/asciicast/v2/),
//! and as one SVG that moves.

use super::svg;
use std::collections::HashMap;
use std::fmt::Write;
use std::num::NonZero;

/// What came when, in seconds since the first bytes.
pub type Chunks = [(f64, Vec<u8>)];

/// Pictures come no closer than this, and nobody waits longer than that. Seconds.
const SHORTEST: f64 = 0.08;
const LONGEST: f64 = 2.0;
/// The last one stays.
const REST: f64 = 3.0;

pub fn cast(chunks: &Chunks, columns: u16, rows: u16) -> String {
    let mut out = format!(
        "{{\"version\": 2, \"width\": {columns}, \"height\": {rows}, \"title\": \"lab\"}}\n"
    );
    let mut waiting: Vec<u8> = Vec::new();
    for (at, bytes) in chunks {
        waiting.extend(bytes);
        // A letter may be cut in two by the pipe.
        let whole = match std::str::from_utf8(&waiting) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8_lossy(&waiting[..whole]).into_owned();
        waiting.drain(..whole);
        let _ = writeln!(out, "[{at:.3}, \"o\", {}]", serde_json::Value::from(text));
    }
    out
}

/// Each row that was ever on the screen is there once; a frame is a list of rows, and shows itself
/// in its time.
pub fn moving(chunks: &Chunks, columns: u16, rows: u16) -> String {
    let one = |n: u16| NonZero::new(n).unwrap_or(NonZero::<u16>::MIN);
    let mut parser = vt100::Parser::new(one(rows), one(columns), 0);
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut frames: Vec<(f64, Vec<usize>)> = Vec::new();
    for (n, (at, bytes)) in chunks.iter().enumerate() {
        parser.process(bytes);
        let next = chunks.get(n + 1).map_or(f64::INFINITY, |(at, _)| *at);
        if next - at < SHORTEST {
            continue;
        }
        let frame = (0..rows).map(|row| {
            let line = svg::line(parser.screen(), row);
            let number = known.len();
            *known.entry(line).or_insert(number)
        });
        let frame: Vec<usize> = frame.collect();
        if frames.last().is_none_or(|(_, last)| *last != frame) {
            frames.push((*at, frame));
        }
    }
    let mut begins = vec![0.0];
    for pair in frames.windows(2) {
        let last = begins.last().copied().unwrap_or(0.0);
        begins.push(last + (pair[1].0 - pair[0].0).clamp(SHORTEST, LONGEST));
    }
    let whole = begins.last().copied().unwrap_or(0.0) + REST;
    let mut out = svg::head(columns, rows);
    let mut lines: Vec<(&String, &usize)> = known.iter().collect();
    lines.sort_by_key(|(_, number)| **number);
    out.push_str("<defs>\n");
    for (line, number) in lines {
        let _ = writeln!(out, "<g id=\"r{number}\">{line}</g>");
    }
    out.push_str("</defs>\n");
    for (n, (_, frame)) in frames.iter().enumerate() {
        let from = begins[n] / whole;
        let to = begins.get(n + 1).map_or(1.0, |next| next / whole);
        // Where nothing moves the last one is seen.
        let still = if n + 1 == frames.len() {
            "visible"
        } else {
            "hidden"
        };
        let (values, times) = match n {
            0 => ("visible;hidden;hidden", format!("0;{to:.5};1")),
            _ => ("hidden;visible;hidden", format!("0;{from:.5};{to:.5}")),
        };
        let _ = writeln!(
            out,
            "<g visibility=\"{still}\"><animate attributeName=\"visibility\" values=\"{values}\" keyTimes=\"{times}\" \
             dur=\"{whole:.2}s\" calcMode=\"discrete\" repeatCount=\"indefinite\"/>"
        );
        for (row, line) in frame.iter().enumerate() {
            let _ = write!(
                out,
                "<use href=\"#r{line}\" x=\"{}\" y=\"{}\"/>",
                svg::LEFT,
                svg::top(row as u16)
            );
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}
