//! A terminal's screen as SVG. Lines, blocks and braille are drawn as shapes, so that they join with
//! any font of the reader; letters are text in the system's monospace font, each run as wide as its
//! cells.

use std::fmt::Write;
use vt100::{Cell, Color, Screen};

/// One cell, in SVG units.
const WIDTH: f32 = 8.4;
const HEIGHT: f32 = 18.0;
const FONT: f32 = 14.0;
/// Distance of a letter's base line from the top of its cell.
const BASELINE: f32 = 13.5;
const MARGIN: f32 = 12.0;

const GROUND: &str = "#16181d";
const TEXT: &str = "#d4d7dd";

/// The 16 colours of the terminal in the pictures.
const PALETTE: [&str; 16] = [
    "#23262d", "#e06c75", "#7fc77f", "#d8a657", "#6fa8dc", "#c58fd6", "#5fb8b8", "#d4d7dd",
    "#6b717d", "#f08790", "#9ade9a", "#f0c674", "#8fc1f0", "#dcaaf0", "#7fd6d6", "#ffffff",
];

/// Rows and columns.
fn size(screen: &Screen) -> (u16, u16) {
    let (rows, columns) = screen.size();
    (rows.get(), columns.get())
}

/// One picture of the whole screen.
pub fn picture(screen: &Screen) -> String {
    let (rows, columns) = size(screen);
    let mut out = head(columns, rows);
    for row in 0..rows {
        let _ = writeln!(
            out,
            "<g transform=\"translate({MARGIN} {})\">{}</g>",
            top(row),
            line(screen, row)
        );
    }
    out.push_str("</svg>\n");
    out
}

fn head(columns: u16, rows: u16) -> String {
    let width = f32::from(columns) * WIDTH + 2.0 * MARGIN;
    let height = f32::from(rows) * HEIGHT + 2.0 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"{FONT}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n"
    )
}

/// Where a row begins.
fn top(row: u16) -> f32 {
    MARGIN + f32::from(row) * HEIGHT
}

/// How a cell looks, apart from its text.
#[derive(Clone, PartialEq)]
struct Style {
    ink: String,
    ground: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

impl Style {
    fn of(cell: &Cell) -> Self {
        let (ink, ground) = (color(cell.fgcolor()), color(cell.bgcolor()));
        let (ink, ground) = match cell.inverse() {
            true => (
                Some(ground.unwrap_or_else(|| GROUND.to_owned())),
                Some(ink.unwrap_or_else(|| TEXT.to_owned())),
            ),
            false => (ink, ground),
        };
        Style {
            ink: ink.unwrap_or_else(|| TEXT.to_owned()),
            ground,
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
        }
    }
}

/// `None` for the terminal's own colour.
fn color(color: Color) -> Option<String> {
    match color {
        Color::Default => None,
        Color::Idx(at @ 0..=15) => Some(PALETTE[usize::from(at)].to_owned()),
        // The 6×6×6 cube and the greys of xterm.
        Color::Idx(at @ 16..=231) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let at = at - 16;
            Some(format!(
                "#{:02x}{:02x}{:02x}",
                level(at / 36),
                level(at / 6 % 6),
                level(at % 6)
            ))
        }
        Color::Idx(at) => Some(format!("#{0:02x}{0:02x}{0:02x}", 8 + 10 * (at - 232))),
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
    }
}

/// One row, with its upper left corner at the origin.
fn line(screen: &Screen, row: u16) -> String {
    let mut out = String::new();
    let mut column = 0;
    let columns = size(screen).1;
    let cell = |column: u16| screen.cell(row, column).filter(|_| column < columns);
    while let Some(first) = cell(column) {
        let style = Style::of(first);
        let begin = column;
        let mut pieces: Vec<(u16, u16, String)> = Vec::new();
        while let Some(next) = cell(column).filter(|next| Style::of(next) == style) {
            let wide = if next.is_wide() { 2 } else { 1 };
            pieces.push((column, wide, next.contents().to_owned()));
            column += wide;
        }
        paint(&mut out, &style, begin, column, &pieces);
    }
    out
}

fn paint(out: &mut String, style: &Style, begin: u16, end: u16, pieces: &[(u16, u16, String)]) {
    let x = |column: u16| f32::from(column) * WIDTH;
    if let Some(ground) = &style.ground {
        let width = x(end) - x(begin);
        let _ = write!(
            out,
            "<rect x=\"{:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"{ground}\"/>",
            x(begin)
        );
    }
    let mut drawn = String::new();
    let mut word = String::new();
    let mut from = begin;
    let mut shapes = String::new();
    for (column, wide, text) in pieces {
        let letter = text.chars().next().unwrap_or(' ');
        if shape(&mut shapes, x(*column), letter) || letter == ' ' && word.is_empty() {
            flush(&mut drawn, &mut word, style, from, *column);
            from = column + wide;
        } else if letter.is_ascii() {
            word.push_str(if text.is_empty() { " " } else { text });
        } else {
            // A font may lack the letter, and its substitute may have another width.
            flush(&mut drawn, &mut word, style, from, *column);
            word.push_str(text);
            flush(&mut drawn, &mut word, style, *column, column + wide);
            from = column + wide;
        }
    }
    flush(&mut drawn, &mut word, style, from, end);
    let opacity = if style.dim { " opacity=\"0.6\"" } else { "" };
    if !shapes.is_empty() {
        let _ = write!(
            out,
            "<path d=\"{shapes}\" fill=\"{}\"{opacity}/>",
            style.ink
        );
    }
    out.push_str(&drawn);
}

/// Writes the waiting letters, which fill the cells from `from` on.
fn flush(out: &mut String, word: &mut String, style: &Style, from: u16, to: u16) {
    let trimmed = word.trim_end();
    let cells = if trimmed.is_ascii() {
        trimmed.len() as f32
    } else {
        f32::from(to - from)
    };
    if !trimmed.is_empty() {
        let escaped = trimmed
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let mut how = String::new();
        for (is_so, attribute) in [
            (style.bold, " font-weight=\"bold\""),
            (style.italic, " font-style=\"italic\""),
            (style.underline, " text-decoration=\"underline\""),
            (style.dim, " opacity=\"0.6\""),
        ] {
            how.push_str(if is_so { attribute } else { "" });
        }
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{BASELINE}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
             xml:space=\"preserve\" fill=\"{}\"{how}>{escaped}</text>",
            f32::from(from) * WIDTH,
            cells * WIDTH,
            style.ink
        );
    }
    word.clear();
}

/// Adds a character that is drawn as a shape to the path of a run. Returns false for any other
/// character.
fn shape(path: &mut String, x: f32, letter: char) -> bool {
    match letter {
        '\u{2800}'..='\u{28ff}' => braille(path, x, letter as u32 - 0x2800),
        '\u{2500}'..='\u{257f}' => return lines(path, x, letter),
        '\u{2580}'..='\u{259f}' => return block(path, x, letter),
        _ => return false,
    }
    true
}

fn rect(path: &mut String, x: f32, y: f32, width: f32, height: f32) {
    let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h{:.1}z", -width);
}

fn braille(path: &mut String, x: f32, dots: u32) {
    // Dots 1 to 8 of Unicode, as column and row.
    const PLACES: [(f32, f32); 8] = [
        (0.0, 0.0),
        (0.0, 1.0),
        (0.0, 2.0),
        (1.0, 0.0),
        (1.0, 1.0),
        (1.0, 2.0),
        (0.0, 3.0),
        (1.0, 3.0),
    ];
    const SIDE: f32 = 2.4;
    for (bit, (column, row)) in PLACES
        .iter()
        .enumerate()
        .filter(|(bit, _)| dots >> bit & 1 == 1)
    {
        let _ = bit;
        rect(
            path,
            x + (column + 0.5) * WIDTH / 2.0 - SIDE / 2.0,
            (row + 0.5) * HEIGHT / 4.0 - SIDE / 2.0,
            SIDE,
            SIDE,
        );
    }
}

fn block(path: &mut String, x: f32, letter: char) -> bool {
    let (w, h) = (WIDTH, HEIGHT);
    match letter {
        '▀' => rect(path, x, 0.0, w, h / 2.0),
        '▁'..='█' => {
            let eighths = (letter as u32 - 0x2580) as f32;
            rect(path, x, h * (1.0 - eighths / 8.0), w, h * eighths / 8.0);
        }
        '▉'..='▏' => rect(
            path,
            x,
            0.0,
            w * (8 - (letter as u32 - 0x2588)) as f32 / 8.0,
            h,
        ),
        '▐' => rect(path, x + w / 2.0, 0.0, w / 2.0, h),
        '▔' => rect(path, x, 0.0, w, h / 8.0),
        '▕' => rect(path, x + w * 7.0 / 8.0, 0.0, w / 8.0, h),
        '▖'..='▟' => {
            // Upper left, upper right, lower left, lower right.
            const QUARTERS: [u8; 10] = [
                0b0010, 0b0001, 0b1000, 0b1011, 0b1001, 0b1110, 0b1101, 0b0100, 0b0110, 0b0111,
            ];
            let which = QUARTERS[(letter as u32 - 0x2596) as usize];
            for (bit, (column, row)) in [
                (3, (0.0, 0.0)),
                (2, (1.0, 0.0)),
                (1, (0.0, 1.0)),
                (0, (1.0, 1.0)),
            ] {
                if which >> bit & 1 == 1 {
                    rect(path, x + column * w / 2.0, row * h / 2.0, w / 2.0, h / 2.0);
                }
            }
        }
        _ => return false,
    }
    true
}

/// Lines from the middle of a cell to its sides: how thick to the left, up, right and down.
fn lines(path: &mut String, x: f32, letter: char) -> bool {
    const LIGHT: f32 = 1.2;
    const HEAVY: f32 = 2.6;
    let (l, h) = (LIGHT, HEAVY);
    let [left, up, right, down] = match letter {
        '─' | '╌' | '┄' | '┈' => [l, 0.0, l, 0.0],
        '━' | '╍' | '┅' | '┉' => [h, 0.0, h, 0.0],
        '│' | '╎' | '┆' | '┊' => [0.0, l, 0.0, l],
        '┃' | '╏' | '┇' | '┋' => [0.0, h, 0.0, h],
        '┌' | '╭' => [0.0, 0.0, l, l],
        '┐' | '╮' => [l, 0.0, 0.0, l],
        '└' | '╰' => [0.0, l, l, 0.0],
        '┘' | '╯' => [l, l, 0.0, 0.0],
        '┏' => [0.0, 0.0, h, h],
        '┓' => [h, 0.0, 0.0, h],
        '┗' => [0.0, h, h, 0.0],
        '┛' => [h, h, 0.0, 0.0],
        '├' => [0.0, l, l, l],
        '┤' => [l, l, 0.0, l],
        '┬' => [l, 0.0, l, l],
        '┴' => [l, l, l, 0.0],
        '┼' => [l, l, l, l],
        '╴' => [l, 0.0, 0.0, 0.0],
        '╵' => [0.0, l, 0.0, 0.0],
        '╶' => [0.0, 0.0, l, 0.0],
        '╷' => [0.0, 0.0, 0.0, l],
        _ => return false,
    };
    let dashed = matches!(
        letter,
        '╌' | '┄' | '┈' | '╍' | '┅' | '┉' | '╎' | '┆' | '┊' | '╏' | '┇' | '┋'
    );
    let (cx, cy) = (x + WIDTH / 2.0, HEIGHT / 2.0);
    // A little is left out of a dashed line at either end of its cell.
    let gap = if dashed { 1.6 } else { 0.0 };
    let half = l / 2.0;
    for (thick, horizontal, from, to) in [
        (left, true, x + gap, cx + half),
        (right, true, cx - half, x + WIDTH - gap),
        (up, false, gap, cy + half),
        (down, false, cy - half, HEIGHT - gap),
    ] {
        if thick > 0.0 && horizontal {
            rect(path, from, cy - thick / 2.0, to - from, thick);
        } else if thick > 0.0 {
            rect(path, cx - thick / 2.0, from, thick, to - from);
        }
    }
    true
}
