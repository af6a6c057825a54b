//! The font of the program: how wide a text is. Its letters are among the widest that a browser
//! takes for `system-ui`.

use anyhow::{Context, Result};
use lab_protocol::text::escape_invisible;
use ttf_parser::Face;

/// Latin and Greek letters; others are drawn as a box.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSans-subset.ttf");

/// The height of the font in units of the drawing, as in chart.css.
pub const SIZE: f32 = 12.0;

/// The width of a letter where the font cannot be read.
const WIDE: f64 = 8.0;

pub fn face() -> Result<Face<'static>> {
    Face::parse(FONT, 0).context("the font of the program")
}

/// The width of a text in units of the drawing.
pub fn width(text: &str) -> f64 {
    let shown = escape_invisible(text);
    let Ok(face) = face() else {
        return shown.chars().count() as f64 * WIDE;
    };
    let advance = |c| face.glyph_hor_advance(face.glyph_index(c).unwrap_or_default());
    let units = shown.chars().filter_map(advance).map(f64::from);
    units.sum::<f64>() * f64::from(SIZE) / f64::from(face.units_per_em())
}

/// The text, or its beginning and its end with a mark between them, no wider than `most`.
pub fn fit(text: &str, most: f64) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| -> String {
        let (begin, end) = (kept.div_ceil(2), letters.len() - kept / 2);
        let begin = letters[..begin].iter();
        begin.chain(['…'].iter()).chain(&letters[end..]).collect()
    };
    let all = (1..letters.len()).rev().map(cut);
    let fits = |text: &String| width(text) <= most;
    all.into_iter().find(fits).unwrap_or_else(|| "…".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_wide_keeps_its_beginning_and_its_end() {
        assert_eq!(fit("f16.1x64", 100.0), "f16.1x64");
        let cut = fit("1x1024x4096x2048x2048x128", 80.0);
        assert!(cut.starts_with("1x1") && cut.ends_with("128"), "{cut}");
        assert!(width(&cut) <= 80.0 && cut.contains('…'), "{cut}");
        assert!(width("MMM") > width("iii"));
    }
}
