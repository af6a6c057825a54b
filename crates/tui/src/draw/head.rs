//! The head of a large screen: project, device, branch, the names of the views and the run.

use super::view_names::{ViewNames, draw_views};
use crate::geometry::Button;
use crate::model::Model;
use crate::prelude::*;
use crate::state::Running;
use crate::widgets::in_short;
use lab_protocol::report::Report;
use lab_run::RunStart;

/// Columns that are left to a longer name of the project beside the names of the views.
const NAME: usize = 16;

/// Blanks: two before and after the names of the views, one at the end.
const BETWEEN: usize = 5;

/// How the first rows of a large screen are shared.
struct Head {
    /// The project's name, shortened where the names of the views need its columns.
    name: String,
    /// The names of the views stand in a row of their own.
    has_two_rows: bool,
}

impl Head {
    fn of(model: &Model, columns: u16) -> Head {
        let name = printable(&model.setup.name);
        let (whole, names) = (width(&name), ViewNames::All.columns(model));
        let [.., run] = which_run(model);
        let others = head_text(model, "", "", false).width() + width(&run) + BETWEEN;
        let room = usize::from(columns).saturating_sub(others + names);
        let has_two_rows = room < whole.min(NAME);
        let room = match has_two_rows {
            true => usize::from(columns).saturating_sub(others),
            false => room,
        };
        Head {
            name: fit(&name, room.max(1)),
            has_two_rows,
        }
    }
}

/// Rows of the head of a large screen.
pub(super) fn rows(model: &Model, columns: u16) -> u16 {
    1 + u16::from(Head::of(model, columns).has_two_rows)
}

/// Draws project, device and branch; on the right the run and why it started. The names of the
/// views come first: in a narrow head the branch stands in the foot, and the device has a short
/// name or none. Returns the names of the views as buttons, and whether the branch is named.
pub(super) fn draw(model: &Model, frame: &mut Frame, area: Rect) -> (Vec<Button>, bool) {
    let Head { name, has_two_rows } = Head::of(model, area.width);
    let row = row_of(area, area.y);
    let names = match has_two_rows {
        true => 0,
        false => ViewNames::All.columns(model) as u16,
    };
    let least = head_text(model, &name, "", false).width() + usize::from(names) + BETWEEN;
    let rights = which_run(model);
    let fits = |text: &&String| width(text) + least <= usize::from(area.width);
    let right = rights.iter().find(fits).unwrap_or(&rights[2]);
    let right = Line::styled(format!("{right} "), QUIET).right_aligned();
    let taken = (right.width() as u16).min(area.width / 2);
    let room = area.width.saturating_sub(taken + names + 4);
    let device = model
        .runs
        .report()
        .and_then(Report::device)
        .unwrap_or_default();
    let whole = device_name(device);
    let forms = [
        (true, whole),
        (false, whole),
        (false, in_short(device)),
        (false, ""),
    ];
    let mut forms = forms.map(|(branch, device)| (branch, head_text(model, &name, device, branch)));
    let fits = |(_, text): &&(bool, Line)| text.width() <= usize::from(room);
    let last = forms.len() - 1;
    let at = forms.iter().position(|form| fits(&form)).unwrap_or(last);
    let (names_branch, left) = std::mem::take(&mut forms[at]);
    let from = (left.width() as u16 + 2).min(area.width);
    let views = match has_two_rows {
        true => row_of(area, area.y + 1),
        false => Rect {
            x: area.x + from,
            width: area.width.saturating_sub(from + taken + 2),
            ..row
        },
    };
    draw_rows(frame, row, [left]);
    let buttons = draw_views(model, frame, views, &ViewNames::ALL);
    let place = Rect {
        x: area.right() - taken,
        width: taken,
        ..row
    };
    frame.render_widget(right, place);
    (buttons, names_branch)
}

/// Project and device, and HEAD where there is room for the branch.
fn head_text(model: &Model, name: &str, device: &str, branch: bool) -> Line<'static> {
    let mut left = Line::from(vec![" lab ".key(), format!(" {name} ").strong()]);
    if !device.is_empty() {
        left.push_span(format!(" {} ", printable(device)));
    }
    if let Some(status) = &model.repository.status {
        let head = &status.head;
        if branch {
            left.push_span(format!(" {}", printable(&head.label())).quiet());
        }
        if let Some(operation) = &head.operation {
            left.push_span(format!("  {operation} in progress").warn());
        }
    }
    left
}

/// The run and why it started, the longest form first.
pub(super) fn which_run(model: &Model) -> [String; 3] {
    let when = |start: &RunStart| {
        let (word, time) = (
            start.reason.word(),
            format::clock(start.started, &model.appearance.zone),
        );
        [format!("{word} {time}"), word.to_owned(), String::new()]
    };
    let why = |start: &RunStart| {
        let [whole, word, _] = when(start);
        let run = format!("run {}", start.id);
        [format!("{run} · {whole}"), format!("{run} · {word}"), run]
    };
    match (&model.runs.running, &model.runs.last) {
        (Running::Live(live), _) => why(&live.start),
        (Running::Asked(reason, _), _) => {
            let word = reason.word();
            [format!("{word} · starting"), word.to_owned(), String::new()]
        }
        // It has no number.
        (Running::No, Some(last)) if last.is_not_judged() => when(&last.start),
        (Running::No, Some(last)) => why(&last.start),
        (Running::No, None) => Default::default(),
    }
}

/// The device's name without its attributes: `NVIDIA H200` of `NVIDIA H200 emulated=1`.
fn device_name(device: &str) -> &str {
    let attribute = device.split_whitespace().find(|word| word.contains('='));
    let end = attribute.and_then(|word| device.find(word));
    end.map_or(device, |end| device[..end].trim_end())
}
