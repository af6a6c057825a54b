//! A chart as PNG: its strokes and texts with the styles of chart.css, in the light colours. The font
//! is in the program, so a bare server draws the same.

use crate::MARK;
use crate::chart::{Chart, Text, WIDTH};
use crate::letters::{SIZE, face};
use anyhow::{Context, Result};
use lab_protocol::text::escape_invisible;
use std::collections::HashMap;
use tiny_skia::{
    Color, FillRule, LineCap, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

const CSS: &str = include_str!("../templates/chart.css");

/// Pixels for each unit of the drawing.
const SCALE: f32 = 2.0;

pub fn draw(chart: &Chart) -> Result<Vec<u8>> {
    let face = face()?;
    let size = |length: f64| (length as f32 * SCALE) as u32;
    let pixels = Pixmap::new(size(WIDTH), size(chart.height));
    let mut pixels = pixels.context("the chart is too high for a picture")?;
    pixels.fill(colour("paper", "fill"));
    let scaled = Transform::from_scale(SCALE, SCALE);
    let mut styles = HashMap::new();
    for stroke in &chart.strokes {
        let (paint, form) = styles
            .entry(stroke.class)
            .or_insert_with(|| (paint(colour(stroke.class, "stroke")), form(stroke.class)));
        if let Some(path) = path(&stroke.path) {
            pixels.stroke_path(&path, paint, form, scaled, None);
        }
    }
    for text in &chart.texts {
        let Some(path) = outline(&face, text) else {
            continue;
        };
        if text.class.contains("halo") {
            let paint = paint(colour("halo", "stroke"));
            pixels.stroke_path(&path, &paint, &form("halo"), scaled, None);
        }
        let paint = paint(colour("text", "fill"));
        pixels.fill_path(&path, &paint, FillRule::Winding, scaled, None);
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgba);
    // So a later picture may replace the file.
    encoder.add_text_chunk("Comment".to_owned(), MARK.to_owned())?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.take_demultiplied())?;
    writer.finish()?;
    Ok(file)
}

/// What chart.css says of a class, or of all paths or texts: the last rule that names it.
fn declared(class: &str, key: &str) -> Option<&'static str> {
    let all = if key == "fill" { "text" } else { "path" };
    let is_of = |selector: &str| {
        let named = selector.trim().strip_prefix(".chart ");
        named.is_some_and(|it| it == all || it.strip_prefix('.') == Some(class))
    };
    let rules = CSS.split('}').filter_map(|rule| rule.split_once('{'));
    let rules = rules.filter(|(selectors, _)| selectors.split(',').any(is_of));
    let named = rules.flat_map(|(_, declarations)| declarations.split(';'));
    let mut named = named.filter_map(|declaration| declaration.split_once(':'));
    let found = named.rfind(|(name, _)| *name == key);
    found.map(|(_, value)| value)
}

fn number(class: &str, key: &str) -> Option<f32> {
    declared(class, key)?.parse().ok()
}

/// A colour of chart.css; black if it names none.
fn colour(class: &str, key: &str) -> Color {
    let hex = declared(class, key).and_then(|value| {
        let name = value.strip_prefix("var(")?.strip_suffix(')')?;
        let (_, rest) = CSS.split_once(&format!("{name}:#"))?;
        u32::from_str_radix(rest.get(..6)?, 16).ok()
    });
    let [_, red, green, blue] = hex.unwrap_or_default().to_be_bytes();
    let mut colour = Color::from_rgba8(red, green, blue, 255);
    colour.apply_opacity(number(class, "stroke-opacity").unwrap_or(1.0));
    colour
}

fn paint(colour: Color) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(colour);
    paint
}

/// How the lines of a class are drawn.
fn form(class: &str) -> Stroke {
    let dash = declared(class, "stroke-dasharray").and_then(|lengths| {
        let lengths = lengths.split(' ').filter_map(|length| length.parse().ok());
        StrokeDash::new(lengths.collect(), 0.0)
    });
    let line_cap = match declared(class, "stroke-linecap") {
        Some("round") => LineCap::Round,
        Some("square") => LineCap::Square,
        _ => LineCap::Butt,
    };
    let width = declared(class, "stroke-width");
    let width = width.and_then(|it| it.trim_end_matches("px").parse().ok());
    Stroke {
        width: width.unwrap_or(1.0),
        line_cap,
        dash,
        ..Stroke::default()
    }
}

/// The straight lines of a chart: `M`, `L`, `H`, `V`, and from the last point `m`, `l`, `h`, `v`.
fn path(text: &str) -> Option<Path> {
    let starts = text.match_indices(|c: char| c.is_ascii_alphabetic());
    let starts = starts.map(|(at, _)| at);
    let ends = starts.clone().skip(1).chain([text.len()]);
    let (mut builder, mut x, mut y) = (PathBuilder::new(), 0.0, 0.0);
    for (from, to) in starts.zip(ends) {
        let (command, rest) = text[from..to].split_at(1);
        let numbers = rest.split_whitespace().map(str::parse);
        let numbers: Vec<f32> = numbers.collect::<Result<_, _>>().ok()?;
        let upper = command.to_ascii_uppercase();
        let (of_x, of_y) = if upper == command { (0.0, 0.0) } else { (x, y) };
        (x, y) = match (&*upper, &*numbers) {
            ("H", [across]) => (of_x + across, y),
            ("V", [down]) => (x, of_y + down),
            (_, [across, down]) => (of_x + across, of_y + down),
            _ => return None,
        };
        match &*upper {
            "M" => builder.move_to(x, y),
            _ => builder.line_to(x, y),
        }
    }
    builder.finish()
}

/// The outline of a letter, for `ttf_parser`.
struct Outline(PathBuilder);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

/// `None` of a text that shows nothing.
fn outline(face: &Face, text: &Text) -> Option<Path> {
    let scale = SIZE / f32::from(face.units_per_em());
    let shown = escape_invisible(&text.text);
    let glyphs = shown
        .chars()
        .map(|c| face.glyph_index(c).unwrap_or_default());
    let advance = |glyph| f32::from(face.glyph_hor_advance(glyph).unwrap_or_default()) * scale;
    let width: f32 = glyphs.clone().map(advance).sum();
    let before = match text.class.split(' ').next() {
        Some("end") => width,
        Some("mid") => width / 2.0,
        _ => 0.0,
    };
    let (mut x, y) = (text.x as f32 - before, text.y as f32);
    let mut letters = PathBuilder::new();
    for glyph in glyphs {
        let mut outline = Outline(PathBuilder::new());
        face.outline_glyph(glyph, &mut outline);
        let place = Transform::from_row(scale, 0.0, 0.0, -scale, x, y);
        let letter = outline.0.finish().and_then(|path| path.transform(place));
        letter.iter().for_each(|path| letters.push_path(path));
        x += advance(glyph);
    }
    letters.finish()
}
