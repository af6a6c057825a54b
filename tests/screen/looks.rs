//! Highlighted source: the kind of each piece of a sample, and its style in each depth of colour.

use lab_tui::highlight::{HighlightCache, Highlighter, SyntaxRole};
use lab_tui::theme::style::{BAD, GOOD, QUIET, SELECTED, TEXT, WARN, diff_background, syntax};
use lab_tui::theme::{ColorDepth, DiffRole, Theme};
use ratatui::style::{Color, Style};

const SAMPLE: &str = include_str!("../../src/cli/theme_sample.cu");

/// A letter under each byte that is not plain text.
fn letter(role: SyntaxRole) -> char {
    match role {
        SyntaxRole::Plain => ' ',
        SyntaxRole::Keyword => 'k',
        SyntaxRole::Qualifier => 'q',
        SyntaxRole::Type => 't',
        SyntaxRole::Builtin => 'b',
        SyntaxRole::Text => 's',
        SyntaxRole::Number => 'n',
        SyntaxRole::Comment => 'c',
        SyntaxRole::Preprocessor => 'p',
        SyntaxRole::Function => 'f',
        SyntaxRole::Operator => 'o',
    }
}

#[test]
fn a_kernel_is_read_as_cuda() {
    let found = Highlighter::new()
        .unwrap()
        .highlight(SAMPLE.as_bytes(), &mut HighlightCache::default());
    let mut picture = String::new();
    for (index, line) in SAMPLE.lines().enumerate() {
        let mut marks = vec![' '; line.len()];
        for span in found.line(index) {
            marks[span.range.clone()].fill(letter(span.role));
        }
        let marks: String = marks.into_iter().collect();
        picture += &format!("{line}\n{}\n", marks.trim_end());
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("source_roles", picture);
    });
}

fn color(color: Option<Color>) -> String {
    match color {
        None => "-".to_owned(),
        Some(Color::Rgb(r, g, b)) => format!("{r:02x}{g:02x}{b:02x}"),
        Some(Color::Indexed(index)) => index.to_string(),
        Some(own) => own.to_string().to_lowercase(),
    }
}

/// `ink on ground weight`
fn said(style: Style) -> String {
    let ground = style
        .bg
        .map(|bg| format!(" on {}", color(Some(bg))))
        .unwrap_or_default();
    let weight: Vec<String> = style
        .add_modifier
        .iter_names()
        .map(|(name, _)| name.to_lowercase())
        .collect();
    format!("{}{ground} {}", color(style.fg), weight.join(" "))
        .trim_end()
        .to_owned()
}

#[test]
fn the_same_scheme_colours_signals_and_source_in_each_depth() {
    let depths = [
        ColorDepth::Rgb,
        ColorDepth::Ansi256,
        ColorDepth::Ansi16,
        ColorDepth::None,
    ];
    let mut picture = String::new();
    for name in ["lab-dark", "lab-light", "ansi"] {
        picture += &format!(
            "{name:<16}{:<26}{:<22}{:<22}none\n",
            "truecolor", "256", "16"
        );
        let themes = depths.map(|depth| Theme::choose(Some(name), depth).unwrap());
        let mut row = |what: &str, style: Style| {
            let shown = themes.each_ref().map(|theme| said(theme.shown(style)));
            let [rgb, indexed, sixteen, none] = shown;
            picture += &format!("  {what:<14}{rgb:<26}{indexed:<22}{sixteen:<22}{none}\n");
        };
        row("text", TEXT);
        row("quiet", QUIET);
        row("good", GOOD);
        row("bad", BAD);
        row("warn", WARN);
        row("selected", SELECTED);
        for role in SyntaxRole::ALL {
            row(&format!("{role:?}").to_lowercase(), syntax(*role));
        }
        for role in [DiffRole::Added, DiffRole::RemovedPart] {
            row("behind", diff_background(role));
        }
    }
    let picture: Vec<&str> = picture.lines().map(str::trim_end).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("colours_in_four_depths", picture.join("\n"));
    });
}
