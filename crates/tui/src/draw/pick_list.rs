//! The palette, the theme picker and the kernel picker: a line to type, and below it the matching
//! rows.

use super::dialog::Dialog;
use crate::keymap::{Action, KeyScope};
use crate::overlay::{PickFrom, PickList};
use crate::palette::{self, Offer, PickRows};
use crate::text::{fit, pad, printable, width};
use crate::widgets::input::draw_input;
use crate::widgets::window::draw_window;
use crate::widgets::{draw_rows, figure};
use lab_history::kernels::ListedKernel;
use lab_text::figures::thousands;
use ratatui::prelude::*;

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

pub(super) fn draw(
    dialog: &Dialog,
    frame: &mut Frame,
    area: Rect,
    pick: &PickList,
    from: &PickFrom,
) {
    let (model, theme) = (dialog.model, dialog.theme());
    let themes = model.appearance.themes.len();
    // The theme picker leaves the screen visible that shows the themes.
    let right = Rect {
        x: area.x + area.width.saturating_sub(THEMES + 4),
        width: area.width.min(THEMES + 4),
        ..area
    };
    // A box keeps its size while words are typed.
    let (title, area, size, awaited) = match from {
        PickFrom::Actions => ("Actions", area, (PALETTE, palette::count() + 1), None),
        PickFrom::Themes => {
            let awaited = (themes == 0).then_some(" reading …");
            ("Themes", right, (THEMES, themes.max(1) + 1), awaited)
        }
        PickFrom::Kernels(found) => {
            let awaited = found.is_none().then_some(" looking for kernels …");
            ("Kernels", area, (PALETTE, KERNEL_ROWS + 1), awaited)
        }
    };
    let inner = draw_window(frame, area, title, size, theme);
    if inner.height == 0 {
        return;
    }
    draw_input(frame, Rect { height: 1, ..inner }, "› ", &pick.input, theme);
    let body = Rect {
        y: inner.y + 1,
        height: inner.height - 1,
        ..inner
    };
    let rows = model.pick_rows(pick.input.value(), from);
    let (count, visible) = (rows.count(), usize::from(body.height));
    if count == 0 {
        let close = model.appearance.keymap.key(Action::Abandon);
        let nothing = format!(" nothing fits: {close} closes");
        let text = awaited.map_or(nothing, str::to_owned);
        frame.render_widget(Line::styled(text, theme.quiet()), body);
    }
    let at = pick.at.min(count.saturating_sub(1));
    let first = at
        .saturating_sub(visible / 2)
        .min(count.saturating_sub(visible));
    let row = row_of(dialog, &rows, pick.input.value(), usize::from(body.width));
    let line = |index| {
        if index != at {
            return row(index);
        }
        let mut line = theme.select(row(index));
        let text = line.spans[0].content.trim_start_matches(' ').to_owned();
        line.spans[0].content = text.into();
        line.spans.insert(0, Span::styled("▸", theme.key()));
        line
    };
    draw_rows(frame, body, (first..count).map(line));
}

/// Formats a row of a list in so many columns.
fn row_of<'r>(
    dialog: &'r Dialog,
    rows: &'r PickRows,
    typed: &'r str,
    columns: usize,
) -> impl Fn(usize) -> Line<'static> + 'r {
    let theme = dialog.theme();
    let widths = match rows {
        PickRows::Actions(offers) => offer_widths(dialog, offers),
        _ => [0; 2],
    };
    move |at| match rows {
        PickRows::Actions(offers) => offer_row(dialog, &offers[at], widths, columns),
        PickRows::Line { number, target } => {
            let (text, style) = match target {
                Ok((pane, count)) => {
                    let rows = thousands(*count as f64);
                    let number = thousands((*number).clamp(1, *count) as f64);
                    let text = format!("line {number} of {rows} in {}", pane.name());
                    (text, theme.text())
                }
                Err(why) => (format!("({why})"), theme.quiet()),
            };
            let text = format!(" :{}  {text}", typed.trim());
            Line::styled(fit(&text, columns), style)
        }
        PickRows::Themes(themes) => {
            let name = printable(&themes[at].0);
            let name = fit(&name, columns.saturating_sub(1));
            Line::styled(format!(" {name}"), theme.text())
        }
        PickRows::Kernels(kernels) => kernel_row(dialog, kernels[at], columns),
    }
}

/// The key of an action in the present view.
fn key_of(dialog: &Dialog, action: Action) -> String {
    let keymap = &dialog.model.appearance.keymap;
    match keymap.key_in(KeyScope::In(dialog.model.panes.view), action) {
        own if own.is_empty() => keymap.key(action),
        own => own,
    }
}

/// Columns of the keys and of the names.
fn offer_widths(dialog: &Dialog, offers: &[Offer]) -> [usize; 2] {
    let keys = offers
        .iter()
        .map(|o| width(&key_of(dialog, o.binding.action)));
    let names = offers.iter().map(|o| width(o.binding.name));
    [keys.max().unwrap_or(0).max(3), names.max().unwrap_or(0)]
}

fn offer_row(
    dialog: &Dialog,
    Offer { binding, usable }: &Offer,
    [key_columns, name_columns]: [usize; 2],
    columns: usize,
) -> Line<'static> {
    let theme = dialog.theme();
    let text = match usable {
        Ok(()) => binding.doc.to_owned(),
        Err(reason) => format!("({})  {}", printable(reason), binding.doc),
    };
    let room = columns.saturating_sub(key_columns + name_columns + 5);
    let key = pad(&key_of(dialog, binding.action), key_columns);
    let name = pad(binding.name, name_columns);
    let style = |style| if usable.is_ok() { style } else { theme.quiet() };
    Line::from(vec![
        Span::styled(format!(" {key}  "), style(theme.key())),
        Span::styled(format!("{name}  "), style(theme.strong())),
        Span::styled(fit(&text, room), style(theme.text())),
    ])
}

fn kernel_row(dialog: &Dialog, kernel: &ListedKernel, columns: usize) -> Line<'static> {
    let theme = dialog.theme();
    let about = printable(&dialog.about_kernel(&kernel.name));
    let best = dialog.best_of(kernel).map(|experiment| {
        let unit = printable(experiment.objective(&kernel.objective).unit());
        format!("best {} {unit}", figure(experiment, usize::MAX))
    });
    let last = kernel.last.map(|last| {
        let decided = last.decided.map(|status| format!(" {}", status.word()));
        let (sign, word) = (last.outcome.sign(), last.outcome.word());
        let text = format!("{sign} {word}{}", decided.unwrap_or_default());
        (text, theme.verdict(last.outcome))
    });
    let (last, style) = last.unwrap_or_default();
    let cells = [
        (last, LAST, style),
        (best.unwrap_or_default(), BEST, theme.text()),
        (about, ABOUT, theme.quiet()),
    ];
    let mut room = columns.saturating_sub(1);
    let is_shown = |(_, wide, _): &(String, usize, Style)| {
        let fits = room >= NAME + GAP + wide;
        room -= if fits { GAP + wide } else { 0 };
        fits
    };
    let cells: Vec<_> = cells.into_iter().take_while(is_shown).collect();
    let cells = cells.into_iter().map(|(text, wide, style)| {
        Span::styled(format!("{}{}", " ".repeat(GAP), pad(&text, wide)), style)
    });
    let name = format!(" {}", pad(&printable(&kernel.name), room));
    let name = Span::styled(name, theme.text());
    Line::from_iter(std::iter::once(name).chain(cells))
}
