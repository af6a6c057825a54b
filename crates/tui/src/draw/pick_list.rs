//! The palette, the theme picker and the kernel picker: a line to type, and below it the matching
//! rows.

use super::dialog::about_kernel;
use crate::keymap::KeyScope;
use crate::model::Model;
use crate::overlay::{PickFrom, PickList};
use crate::palette::{self, Offer, PickRows};
use crate::prelude::*;
use crate::widgets::window::WIDE;
use itertools::Itertools;
use lab_history::kernels::{ListedKernel, incumbent};
use lab_protocol::report::PeerRatio;
use lab_run::peers::PeerFigure;
use lab_text::figures::thousands;

/// Columns of the theme picker, where the screen has them.
const THEMES: u16 = 44;
/// Columns and rows of the kernel picker, where the screen has them.
const KERNELS: u16 = 128;
const KERNEL_ROWS: usize = 16;
/// Columns of its cells: at least so many of a name; the last verdict with its decision, the
/// incumbent's figure with its unit, its part of the floor, its ratios to its peers or the number of
/// experiments; and between two cells.
const NAME: usize = 24;
const LAST: usize = 14;
const KEPT: usize = 24;
const FLOOR: usize = 10;
const ABOUT: usize = 27;
const GAP: usize = 2;

pub(super) fn draw(
    model: &Model,
    frame: &mut Frame,
    mut area: Rect,
    pick: &PickList,
    from: &PickFrom,
) {
    // A box keeps its size while words are typed.
    let (title, size, awaited) = match from {
        PickFrom::Actions => ("Actions", (WIDE, palette::count()), None),
        PickFrom::Themes => {
            // The screen that shows the themes stays visible at the left.
            let columns = area.width.min(THEMES + 4);
            area.x += area.width - columns;
            area.width = columns;
            let themes = model.appearance.themes.len();
            let awaited = (themes == 0).then_some(" reading …");
            ("Themes", (THEMES, themes.max(1)), awaited)
        }
        PickFrom::Kernels(found) => {
            let awaited = found.is_none().then_some(" looking for kernels …");
            ("Kernels", (KERNELS, KERNEL_ROWS), awaited)
        }
        PickFrom::Evidence(records) => ("Behind the claim", (WIDE, records.len()), None),
    };
    let inner = draw_window(frame, area, title, (size.0, size.1 + 1));
    if inner.height == 0 {
        return;
    }
    let parts = [Constraint::Length(1), Constraint::Fill(1)];
    let [typed, body] = Layout::vertical(parts).areas(inner);
    draw_input(frame, typed, "› ", &pick.input);
    let rows = model.pick_rows(pick.input.value(), from);
    let (count, visible) = (rows.count(), usize::from(body.height));
    if count == 0 {
        let close = model.appearance.keymap.key(Action::Abandon);
        let nothing = format!(" nothing fits: {close} closes");
        let text = awaited.map_or(nothing, str::to_owned);
        frame.render_widget(Line::styled(text, QUIET), body);
    }
    let at = pick.at.min(count.saturating_sub(1));
    let first = at
        .saturating_sub(visible / 2)
        .min(count.saturating_sub(visible));
    let row = row_of(model, &rows, pick.input.value(), usize::from(body.width));
    let line = |index| {
        if index != at {
            return row(index);
        }
        let mut line = style::select(row(index));
        // The mark takes the place of the first blank; an action may have no key behind it.
        if let Some(rest) = line.spans[0].content.strip_prefix(' ') {
            line.spans[0].content = rest.to_owned().into();
        }
        line.spans.insert(0, Span::styled("▸", KEY.patch(SELECTED)));
        line
    };
    draw_rows(frame, body, (first..count).map(line));
}

/// Formats a row of a list in so many columns.
fn row_of<'r>(
    model: &'r Model,
    rows: &'r PickRows,
    typed: &'r str,
    columns: usize,
) -> impl Fn(usize) -> Line<'static> + 'r {
    let widths = match rows {
        PickRows::Actions(offers) => offer_widths(model, offers),
        _ => [0; 2],
    };
    move |at| match rows {
        PickRows::Actions(offers) => offer_row(model, &offers[at], widths, columns),
        PickRows::Line { number, target } => {
            let (text, style) = match target {
                Ok((pane, count)) => {
                    let number = thousands((*number).clamp(1, *count) as f64);
                    let rows = thousands(*count as f64);
                    let text = format!("line {number} of {rows} in {}", pane.name());
                    (text, TEXT)
                }
                Err(why) => (format!("({why})"), QUIET),
            };
            let text = format!(" :{}  {text}", typed.trim());
            Line::styled(fit(&text, columns), style)
        }
        PickRows::Themes(themes) => {
            let name = fit(&printable(&themes[at].0), columns.saturating_sub(1));
            Line::raw(format!(" {name}"))
        }
        PickRows::Kernels(kernels) => kernel_row(model, kernels[at], columns),
        PickRows::Evidence(records) => {
            let (id, about) = records[at];
            let text = format!(" {id}  {}", printable(about));
            Line::raw(fit(&text, columns))
        }
    }
}

/// The key of an action in the present view.
fn key_of(model: &Model, action: Action) -> String {
    let keymap = &model.appearance.keymap;
    let here = KeyScope::In(model.panes.view);
    match action.binding().scope {
        KeyScope::In(_) if action.binding().scope != here => keymap.key(action),
        _ => keymap.key_in(here, action),
    }
}

/// Columns of the keys and of the names.
fn offer_widths(model: &Model, offers: &[Offer]) -> [usize; 2] {
    let keys = offers
        .iter()
        .map(|o| width(&key_of(model, o.binding.action)));
    let names = offers.iter().map(|o| o.binding.name);
    [keys.max().unwrap_or(0).max(3), widest(names)]
}

fn offer_row(
    model: &Model,
    Offer { binding, usable }: &Offer,
    [key_columns, name_columns]: [usize; 2],
    columns: usize,
) -> Line<'static> {
    let text = match usable {
        Ok(()) => binding.doc.to_owned(),
        Err(reason) => format!("({})  {}", printable(reason), binding.doc),
    };
    let room = columns.saturating_sub(key_columns + name_columns + 5);
    let key = pad(&key_of(model, binding.action), key_columns);
    let name = pad(binding.name, name_columns);
    let style = |style| if usable.is_ok() { style } else { QUIET };
    Line::from(vec![
        Span::styled(format!(" {key}  "), style(KEY)),
        Span::styled(format!("{name}  "), style(STRONG)),
        Span::styled(fit(&text, room), style(TEXT)),
    ])
}

fn kernel_row(model: &Model, kernel: &ListedKernel, columns: usize) -> Line<'static> {
    let kept = incumbent(&model.repository.experiments, &kernel.name).map(|experiment| {
        let unit = printable(experiment.objective(&kernel.objective).unit());
        format!("kept {} {unit}", figure(experiment, usize::MAX))
    });
    let last = kernel.last.map(|last| {
        let decided = last.decided.map(|status| format!(" {}", status.word()));
        let (sign, word) = last.outcome.words(last.build_failed);
        let text = format!("{sign} {word}{}", decided.unwrap_or_default());
        (text, style::verdict(last.outcome))
    });
    let (last, style) = last.unwrap_or_default();
    let floor = kernel.of_floor.map(|part| format!("{part:.0} % floor"));
    let about = match peers_in_brief(&kernel.peers) {
        peers if peers.is_empty() => printable(&about_kernel(model, &kernel.name)),
        peers => fit(&printable(&peers), ABOUT),
    };
    let cells = [
        (last, LAST, style),
        (kept.unwrap_or_default(), KEPT, TEXT),
        (floor.unwrap_or_default(), FLOOR, TEXT),
        (about, ABOUT, QUIET),
    ];
    let mut room = columns.saturating_sub(1);
    let mut line = Line::default();
    for (text, wide, style) in cells {
        if room < NAME + GAP + wide {
            break;
        }
        room -= GAP + wide;
        let cell = format!("{}{}", " ".repeat(GAP), pad(&text, wide));
        line.push_span(Span::styled(cell, style));
    }
    let name = format!(" {}", pad(&printable(&kernel.name), room));
    line.spans.insert(0, Span::raw(name));
    line
}

/// The ratios to the peers, the smallest first: a narrow cell shows what the kernel is slower than.
fn peers_in_brief(peers: &[PeerFigure]) -> String {
    let mut ratios: Vec<(PeerRatio, &str)> = peers
        .iter()
        .filter_map(|peer| Some((peer.ratio?, &*peer.name)))
        .collect();
    ratios.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
    let brief = |(ratio, name): (PeerRatio, &str)| {
        let interval = None;
        PeerRatio { interval, ..ratio }.with_name(name)
    };
    ratios.into_iter().map(brief).join(", ")
}
