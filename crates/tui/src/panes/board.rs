//! The panes of the view Decisions: the board by domain, and one decision with its evidence.

use crate::prelude::*;
use lab_board::{Board, Decision, Status, words};

/// Columns of the status.
const STATUS: usize = 10;
/// Most columns of the domain.
const DOMAIN: usize = 30;

/// Returns the scrolled list.
pub fn draw(canvas: &mut Canvas, list: ListState) -> ListState {
    let repository = canvas.data.repository;
    let board = repository.board.as_ref();
    let note = match board {
        Some(Ok(board)) => words::by_status(board),
        _ => String::new(),
    };
    let mut inner = canvas.draw_title(&note);
    let columns = usize::from(inner.width);
    let above = match board {
        None => vec![Line::styled("reading decisions.toml …", QUIET)],
        Some(Err(why)) => paragraph(why, columns, BAD),
        Some(Ok(board)) => above(board, columns),
    };
    let rows = (above.len() as u16).min(inner.height.saturating_sub(3));
    draw_rows(canvas.frame, inner, above.into_iter().take(rows.into()));
    inner = Rect {
        y: inner.y + rows,
        height: inner.height - rows,
        ..inner
    };
    let decisions = repository.decisions();
    let widest = decisions.iter().map(|it| width(&it.domain)).max();
    let domain = widest.unwrap_or(0).min(DOMAIN.min(columns / 3));
    canvas.draw_list(inner, list, decisions.len(), true, |at| {
        let repeated = at > 0 && decisions[at - 1].domain == decisions[at].domain;
        row(&decisions[at], repeated, domain, columns)
    })
}

/// What is wrong with the board, or how to begin one.
fn above(board: &Board, columns: usize) -> Lines {
    let mut lines = Vec::new();
    for problem in &board.problems {
        let style = if problem.is_false { BAD } else { WARN };
        lines.extend(paragraph(&problem.text, columns, style));
    }
    if board.decisions.is_empty() {
        let hints = words::board(board);
        let hints = hints
            .iter()
            .flat_map(|text| paragraph(text, columns, QUIET));
        lines.extend(hints);
    }
    lines
}

fn row(decision: &Decision, repeated: bool, domain: usize, columns: usize) -> Line<'static> {
    let style = style(decision.status);
    let name = if repeated { "" } else { &decision.domain };
    let stale = if decision.stale.is_empty() { " " } else { "~" };
    let mut line = Line::from(vec![
        Span::raw(pad(&printable(name), domain + 2)),
        Span::styled(pad(decision.status.word(), STATUS), style),
        stale.warn(),
        Span::raw(" "),
    ]);
    let room = columns.saturating_sub(line.width());
    let Decision {
        id, title, claim, ..
    } = decision;
    let text = format!("{id}  {title}: {}", claim.text);
    line.push_span(Span::raw(fit(&printable(&text), room)));
    line
}

fn style(status: Status) -> Style {
    match status {
        Status::Supported => GOOD,
        Status::Measured => TEXT,
        Status::Caveated => WARN,
        Status::Rejected => BAD,
    }
}

/// The selected decision with all that is known of its evidence, or its record.
pub fn whole(data: ScreenData, selected: usize, columns: usize) -> Lines {
    let Some(Ok(board)) = &data.repository.board else {
        return Vec::new();
    };
    let Some(decision) = board.decisions.get(selected) else {
        return Vec::new();
    };
    let whole = || words::whole(decision, board);
    let lines = data.repository.record.clone().unwrap_or_else(whole);
    let styled = |(at, text): (usize, &String)| {
        let style = match at {
            0 => QUIET,
            1 => STRONG,
            _ => TEXT,
        };
        let indent = text.len() - text.trim_start().len();
        let below = paragraph(text.trim_start(), columns.saturating_sub(indent), style);
        let inset = move |mut line: Line<'static>| {
            line.spans.insert(0, Span::raw(" ".repeat(indent)));
            line
        };
        if text.is_empty() {
            vec![Line::default()]
        } else {
            below.into_iter().map(inset).collect()
        }
    };
    lines.iter().enumerate().flat_map(styled).collect()
}
