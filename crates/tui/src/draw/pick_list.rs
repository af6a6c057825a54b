//! The palette, the theme picker and the kernel picker: a line to type, and below it the matching
//! rows.

use super::dialog::Dialog;
use crate::format;
use crate::keymap::{Action, KeyScope};
use crate::overlay::PickList;
use crate::palette::{Offer, PaletteRows};
use crate::text::{fit, pad, printable, width};
use crate::widgets::figure;
use crate::widgets::input::draw_input;
use crate::widgets::window::draw_window;
use lab_core::history::kernels::ListedKernel;
use lab_core::text::figures::thousands;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns of the palette and of the theme picker, where the screen has them.
const PALETTE: u16 = 104;
const THEMES: u16 = 44;
/// Rows of the kernel picker, where the screen has them.
const KERNEL_ROWS: usize = 16;
/// Columns of its cells: at least so many of a name; the last verdict with its decision, the best
/// figure with its unit, the number of experiments; and between two cells.
const NAME: usize = 24;
const LAST: usize = 14;
const BEST: usize = 18;
const ABOUT: usize = 28;
const GAP: usize = 2;

pub(super) fn draw_palette(
    dialog: &Dialog,
    frame: &mut Frame,
    area: Rect,
    pick: &PickList,
    rows: &PaletteRows,
) {
    // The box is as tall as all actions need, so that it keeps its size while words are typed.
    let title = "Actions";
    let size = |all: usize| (PALETTE, all + 1);
    match rows {
        PaletteRows::Actions { offers, all } => {
            let row = offer_rows(dialog, offers);
            List {
                title,
                size: size(*all),
                count: offers.len(),
                empty: None,
            }
            .draw(dialog, frame, area, pick, row);
        }
        PaletteRows::Line {
            number,
            target,
            all,
        } => {
            let theme = dialog.theme();
            let row = |_, columns: usize| {
                let (text, style) = match target {
                    Ok((pane, count)) => {
                        let rows = thousands(*count as f64);
                        let number = thousands((*number).clamp(1, *count) as f64);
                        (
                            format!("line {number} of {rows} in {}", pane.name()),
                            theme.text(),
                        )
                    }
                    Err(why) => (format!("({why})"), theme.quiet()),
                };
                let text = format!(" :{}  {text}", pick.input.value().trim());
                Line::styled(fit(&text, columns).into_owned(), style)
            };
            List {
                title,
                size: size(*all),
                count: 1,
                empty: None,
            }
            .draw(dialog, frame, area, pick, row);
        }
    }
}

/// Formats the row of an offered action: key, name, and its sentence or why it cannot be used.
fn offer_rows<'a>(
    dialog: &Dialog<'a>,
    offers: &'a [Offer],
) -> impl Fn(usize, usize) -> Line<'static> + use<'a> {
    let (theme, keymap, view) = (dialog.theme(), &dialog.appearance.keymap, dialog.view);
    let key = move |action: Action| {
        let own = keymap.key_in(KeyScope::In(view), action);
        if own.is_empty() {
            keymap.key(action)
        } else {
            own
        }
    };
    let key_columns = offers
        .iter()
        .map(|o| width(&key(o.binding.action)))
        .max()
        .unwrap_or(0)
        .max(3);
    let name_columns = offers
        .iter()
        .map(|o| width(o.binding.name))
        .max()
        .unwrap_or(0);
    move |at: usize, columns: usize| {
        let offer = &offers[at];
        let binding = offer.binding;
        let (is_usable, text) = match &offer.usable {
            Ok(()) => (true, binding.doc.to_owned()),
            Err(reason) => (false, format!("({})  {}", printable(reason), binding.doc)),
        };
        let room = columns.saturating_sub(key_columns + name_columns + 5);
        let style = |style| if is_usable { style } else { theme.quiet() };
        Line::from(vec![
            Span::styled(
                format!(" {}  ", pad(&key(binding.action), key_columns)),
                style(theme.key()),
            ),
            Span::styled(
                format!("{}  ", pad(binding.name, name_columns)),
                style(theme.strong()),
            ),
            Span::styled(fit(&text, room).into_owned(), style(theme.text())),
        ])
    }
}

/// `fitting` are the indices of the themes that match.
pub(super) fn draw_themes(
    dialog: &Dialog,
    frame: &mut Frame,
    area: Rect,
    pick: &PickList,
    fitting: &[usize],
) {
    let themes = &dialog.appearance.themes;
    let theme = dialog.theme();
    let row = |at: usize, columns: usize| {
        let name = printable(&themes[fitting[at]].0);
        Line::styled(
            format!(" {}", fit(&name, columns.saturating_sub(1))),
            theme.text(),
        )
    };
    // The list stands at the side, so that most of the screen shows the theme.
    let right = Rect {
        x: area.x + area.width.saturating_sub(THEMES + 4),
        width: area.width.min(THEMES + 4),
        ..area
    };
    let empty = themes.is_empty().then_some(" reading …");
    let size = (THEMES, themes.len().max(1) + 1);
    List {
        title: "Themes",
        size,
        count: fitting.len(),
        empty,
    }
    .draw(dialog, frame, right, pick, row);
}

/// `fitting` are the kernels that match; `None` while they are looked for.
pub(super) fn draw_kernels(
    dialog: &Dialog,
    frame: &mut Frame,
    area: Rect,
    pick: &PickList,
    fitting: Option<&[&ListedKernel]>,
) {
    let theme = dialog.theme();
    let kernels = fitting.unwrap_or_default();
    let row = |at: usize, columns: usize| {
        let kernel = kernels[at];
        let about = printable(&dialog.about_kernel(&kernel.name)).into_owned();
        let best = dialog.best_of(kernel).map(|experiment| {
            let unit =
                printable(format::unit(&experiment.objective(&kernel.objective))).into_owned();
            format!("best {} {unit}", figure(experiment, usize::MAX))
        });
        let last = kernel.last.map(|last| {
            let decided = last
                .decided
                .map_or_else(String::new, |status| format!(" {}", status.word()));
            let word = format!("{} {}{decided}", last.outcome.sign(), last.outcome.word());
            (word, theme.verdict(last.outcome))
        });
        let (last, style) = last.unwrap_or_default();
        let cells = [
            (last, LAST, style),
            (best.unwrap_or_default(), BEST, theme.text()),
            (about, ABOUT, theme.quiet()),
        ];
        // What a narrow screen cannot hold is left out from the right.
        let mut room = columns.saturating_sub(1);
        let is_shown = |(_, wide, _): &(String, usize, Style)| {
            let fits = room >= NAME + GAP + wide;
            room -= if fits { GAP + wide } else { 0 };
            fits
        };
        let cells: Vec<_> = cells.into_iter().take_while(is_shown).collect();
        let cells = cells.into_iter().map(|(text, wide, style)| {
            Span::styled(
                format!("{}{}", " ".repeat(GAP), pad(&fit(&text, wide), wide)),
                style,
            )
        });
        let name = printable(&kernel.name);
        let mut spans = vec![Span::styled(
            format!(" {}", pad(&fit(&name, room), room)),
            theme.text(),
        )];
        spans.extend(cells);
        Line::from(spans)
    };
    let empty = fitting.is_none().then_some(" looking for kernels …");
    // The box keeps its size while words are typed.
    let size = (PALETTE, KERNEL_ROWS + 1);
    List {
        title: "Kernels",
        size,
        count: kernels.len(),
        empty,
    }
    .draw(dialog, frame, area, pick, row);
}

/// A line to type with a list below it.
struct List<'a> {
    title: &'a str,
    /// Columns and rows.
    size: (u16, usize),
    /// Rows of the list.
    count: usize,
    /// The text of an empty list that is still being loaded.
    empty: Option<&'a str>,
}

impl List<'_> {
    /// Draws the list; `row` formats a row in so many columns.
    fn draw(
        &self,
        dialog: &Dialog,
        frame: &mut Frame,
        area: Rect,
        pick: &PickList,
        row: impl Fn(usize, usize) -> Line<'static>,
    ) {
        let theme = dialog.theme();
        let inner = draw_window(frame, area, self.title, self.size, theme);
        if inner.height == 0 {
            return;
        }
        draw_input(frame, Rect { height: 1, ..inner }, "› ", &pick.input, theme);
        let body = Rect {
            y: inner.y + 1,
            height: inner.height - 1,
            ..inner
        };
        let rows = usize::from(body.height);
        if self.count == 0 {
            let nothing = format!(
                " nothing fits: {} closes",
                dialog.appearance.keymap.key(Action::Abandon)
            );
            let text = self.empty.map_or(nothing, str::to_owned);
            frame.render_widget(Line::styled(text, theme.quiet()), body);
        }
        let at = pick.at.min(self.count.saturating_sub(1));
        // The chosen row is in the middle, as far as the ends of the list allow.
        let first = at
            .saturating_sub(rows / 2)
            .min(self.count.saturating_sub(rows));
        for (line, index) in (first..self.count.min(first + rows)).enumerate() {
            let place = Rect {
                y: body.y + line as u16,
                height: 1,
                ..body
            };
            let mut drawn = row(index, usize::from(body.width));
            if index == at {
                drawn = theme.select(drawn);
                drawn.spans.insert(0, Span::styled("▸", theme.key()));
                drawn.spans[1].content = drawn.spans[1]
                    .content
                    .trim_start_matches(' ')
                    .to_owned()
                    .into();
            }
            frame.render_widget(drawn, place);
        }
    }
}
