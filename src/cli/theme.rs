//! `lab theme`: lists the colour schemes, or shows one in this terminal.

use super::output::say_styled;
use super::table::table;
use super::{AppearanceArgs, complain, say};
use crate::screen::{appearance_files, preferences};
use anyhow::{Error, Result};
use clap::Args;
use lab_protocol::console;
use lab_tui::highlight::{HighlightCache, Highlighter, SyntaxRole};
use lab_tui::text::{printable, width};
use lab_tui::theme::style::{self, BAD, GOOD, KEY, MATCH, QUIET, SCREEN, SELECTED, WARN};
use lab_tui::theme::{Appearance, Catalogue, ColorDepth, DiffRole, Theme, ThemeEntry};
use ratatui::style::{Color, Modifier, Style};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct ThemeArgs {
    /// The scheme to show [default: list all]
    #[arg(value_name = "NAME_OR_PATH")]
    name: Option<String>,
    /// Colours of the terminal: auto, none, 16, 256 or truecolor
    #[arg(long, value_name = "DEPTH")]
    color: Option<String>,
    /// Paint the scheme's background over the terminal's own
    #[arg(long)]
    paint: bool,
}

/// The width of the preview in columns, so that a painted background is a rectangle.
const WIDTH: usize = 96;

/// A kernel with an example of each syntax role.
const SAMPLE: &str = include_str!("theme_sample.cu");

pub fn main(options: &ThemeArgs) -> Result<ExitCode> {
    let Some(name) = &options.name else {
        list(&appearance_files::catalogue());
        return Ok(ExitCode::SUCCESS);
    };
    let asked = AppearanceArgs {
        theme: Some(name.clone()),
        color: options.color.clone(),
        paint: options.paint,
    };
    let Appearance { theme, depth, .. } = preferences::appearance(asked.into())?;
    // Without a terminal plain text is printed, unless colours were asked for.
    let styled = console::stdout_is_terminal() || options.color.is_some();
    say(&format!(
        "{}, color {}",
        printable(name),
        if styled { depth } else { ColorDepth::None }
    ));
    preview(
        &theme,
        if styled {
            painted
        } else {
            |text, _| text.to_owned()
        },
    )
    .map_err(Error::msg)?;
    Ok(ExitCode::SUCCESS)
}

fn list(catalogue: &Catalogue) {
    let row = |entry: &ThemeEntry| {
        let variant = entry.variant().map_or("", |variant| variant.word());
        let about = match (&entry.file, &entry.scheme) {
            (Some(file), _) => file.display().to_string(),
            (_, Some(scheme)) => scheme.author.clone(),
            (_, None) => "the terminal's own sixteen colours".to_owned(),
        };
        [entry.name.as_str(), variant, &about].map(printable)
    };
    let rows: Vec<_> = catalogue.entries.iter().map(row).collect();
    table(&rows).iter().for_each(|row| say(row));
    catalogue.problems.iter().for_each(|(_, why)| complain(why));
}

fn preview(theme: &Theme, painted: fn(&str, Style) -> String) -> Result<(), String> {
    let words = [
        ("● PASS", GOOD.add_modifier(Modifier::BOLD)),
        ("✗ FAIL", BAD),
        ("∅ VOID", WARN),
        ("focused", KEY),
        ("beside the point", QUIET),
        ("selected", SELECTED),
        ("found", MATCH),
        ("+ added", style::diff(DiffRole::Added)),
        ("- removed", style::diff(DiffRole::Removed)),
    ];
    let is_painted = theme.shown(SCREEN).bg.is_some();
    let painted = |text: &str, style| painted(text, theme.shown(SCREEN.patch(style)));
    let line = |text: String, columns: usize| {
        let rest = if is_painted {
            WIDTH.saturating_sub(columns)
        } else {
            0
        };
        let rest = painted(&" ".repeat(rest), SCREEN);
        say_styled(&format!("{text}{rest}"));
    };
    let shown = words.map(|(word, style)| painted(word, style) + &painted("  ", SCREEN));
    let columns = words.iter().map(|(word, _)| width(word) + 2).sum();
    line(shown.concat(), columns);
    line(String::new(), 0);
    let found = Highlighter::new()?.highlight(SAMPLE.as_bytes(), &mut HighlightCache::default());
    for (index, text) in SAMPLE.lines().enumerate() {
        let mut out = painted(&format!("{:>3} ", index + 1), style::gutter(false));
        let mut from = 0;
        let mut put = |to: usize, role| {
            out += &painted(&text[from..to], style::syntax(role));
            from = to;
        };
        for span in found.line(index) {
            put(span.range.start, SyntaxRole::Plain);
            put(span.range.end, span.role);
        }
        put(text.len(), SyntaxRole::Plain);
        line(out, width(text) + 4);
    }
    Ok(())
}

/// `text` between the control sequences of a style.
pub(super) fn painted(text: &str, style: Style) -> String {
    if text.is_empty() {
        return String::new();
    }
    let effects = [
        (Modifier::BOLD, anstyle::Effects::BOLD),
        (Modifier::DIM, anstyle::Effects::DIMMED),
        (Modifier::UNDERLINED, anstyle::Effects::UNDERLINE),
        (Modifier::REVERSED, anstyle::Effects::INVERT),
    ];
    let effects = effects
        .into_iter()
        .filter(|(modifier, _)| style.add_modifier.contains(*modifier))
        .fold(anstyle::Effects::new(), |all, (_, effect)| all | effect);
    let sgr = anstyle::Style::new()
        .effects(effects)
        .fg_color(style.fg.and_then(color))
        .bg_color(style.bg.and_then(color));
    format!("{sgr}{text}{sgr:#}")
}

fn color(color: Color) -> Option<anstyle::Color> {
    use anstyle::AnsiColor;
    Some(match color {
        Color::Rgb(r, g, b) => anstyle::RgbColor(r, g, b).into(),
        Color::Indexed(index) => anstyle::Ansi256Color(index).into(),
        Color::Black => AnsiColor::Black.into(),
        Color::Red => AnsiColor::Red.into(),
        Color::Green => AnsiColor::Green.into(),
        Color::Yellow => AnsiColor::Yellow.into(),
        Color::Blue => AnsiColor::Blue.into(),
        Color::Magenta => AnsiColor::Magenta.into(),
        Color::Cyan => AnsiColor::Cyan.into(),
        Color::Gray => AnsiColor::White.into(),
        Color::DarkGray => AnsiColor::BrightBlack.into(),
        Color::White => AnsiColor::BrightWhite.into(),
        _ => return None,
    })
}
