//! Text in sections. Only the visible rows are formatted: a run.log may have thousands.

use super::log_line::paint;
use super::paragraph::Lines;
use crate::diff::{DiffView, JumpTarget, RowPainter, no_line_styles};
use crate::search_highlight;
use crate::text::fit;
use crate::theme::style::STRONG;
use lab_text::sanitise::LogLine;
use ratatui::text::Line;
use std::borrow::Cow;
use std::ops::Range;

/// How rows are formatted.
#[derive(Clone, Copy)]
pub struct Sheet<'t> {
    /// First visible column of a diff and of a log.
    pub left: usize,
    pub columns: usize,
    /// The text whose matches are highlighted; empty without a search.
    pub needle: &'t str,
}

pub struct Section<'a> {
    /// Empty where the section needs none.
    pub title: String,
    pub body: Body<'a>,
}

pub enum Body<'a> {
    Lines(Lines),
    Diff(&'a DiffView),
    Log(&'a [LogLine]),
}

pub struct Document<'a> {
    sections: Vec<Section<'a>>,
}

impl<'a> Document<'a> {
    pub fn of(body: impl Into<Body<'a>>) -> Self {
        Document::new(vec![Section::new("", body)])
    }

    /// Empty sections are left out.
    pub fn new(sections: Vec<Section<'a>>) -> Self {
        Document {
            sections: sections.into_iter().filter(|s| s.body.len() > 0).collect(),
        }
    }

    /// How many rows the text has.
    pub fn rows(&self) -> usize {
        // No blank row behind the last.
        self.sections
            .iter()
            .map(Section::rows)
            .sum::<usize>()
            .saturating_sub(1)
    }

    /// The text of row `at`.
    pub fn text(&self, at: usize) -> Cow<'a, str> {
        self.row(at, Body::text)
    }

    /// The same; of a diff as a line of a patch.
    pub fn patch_line(&self, at: usize) -> Cow<'a, str> {
        self.row(at, |body, row| match body {
            Body::Diff(view) => view.patch_line(row),
            body => body.text(row),
        })
    }

    /// Its first diff as a patch. Lines of a diff without file names are of `kernel`.
    pub fn patch(&self, kernel: &str) -> Option<String> {
        self.sections
            .iter()
            .find_map(|section| match &section.body {
                Body::Diff(view) => view.patch(kernel),
                _ => None,
            })
    }

    fn row(&self, at: usize, text: impl Fn(&Body<'a>, usize) -> String) -> Cow<'a, str> {
        let section = self.begins().take_while(|(begin, _)| *begin <= at).last();
        let text =
            section.map(
                |(begin, section)| match (at - begin).checked_sub(section.title_rows()) {
                    Some(row) => text(&section.body, row),
                    None => section.title.clone(),
                },
            );
        text.unwrap_or_default().into()
    }

    /// The row in which each section begins.
    fn begins(&self) -> impl Iterator<Item = (usize, &Section<'a>)> {
        self.sections.iter().scan(0, |at, section| {
            let begin = *at;
            *at += section.rows();
            Some((begin, section))
        })
    }

    /// The rows where sections begin, and the files and changes of a diff. What begins right below
    /// its section's title is left out.
    pub fn starts(&self) -> Vec<JumpTarget> {
        let mut starts = Vec::new();
        for (row, section) in self.begins() {
            starts.push(JumpTarget { row, is_head: true });
            if let Body::Diff(view) = &section.body {
                let first = row + section.title_rows();
                let changes = view.stops().into_iter().filter(|stop| stop.row > 0);
                starts.extend(changes.map(|stop| JumpTarget {
                    row: first + stop.row,
                    ..stop
                }));
            }
        }
        starts
    }

    /// The first row of the diff.
    pub fn diff_at(&self) -> Option<usize> {
        let mut diffs = self
            .begins()
            .filter(|(_, section)| matches!(section.body, Body::Diff(_)));
        diffs
            .next()
            .map(|(begin, section)| begin + section.title_rows())
    }

    pub fn lines(&self, rows: Range<usize>, sheet: Sheet) -> Vec<Line<'a>> {
        let mut out = Vec::new();
        for (begin, section) in self.begins() {
            let end = begin + section.rows();
            let (first, last) = (rows.start.max(begin), rows.end.min(end));
            if first < last {
                section.lines(first - begin..last - begin, sheet, &mut out);
            }
        }
        out
    }
}

impl<'a> Section<'a> {
    pub fn new(title: &str, body: impl Into<Body<'a>>) -> Self {
        Section {
            title: title.to_owned(),
            body: body.into(),
        }
    }

    fn title_rows(&self) -> usize {
        usize::from(!self.title.is_empty())
    }

    /// With its title, and a blank row behind it.
    fn rows(&self) -> usize {
        self.title_rows() + self.body.len() + 1
    }

    /// Some of the section's rows, of which the first may be its title, and the last is blank.
    fn lines(&self, rows: Range<usize>, sheet: Sheet, out: &mut Vec<Line<'a>>) {
        let Sheet {
            left,
            columns,
            needle,
        } = sheet;
        let (titles, blank) = (self.title_rows(), self.rows() - 1);
        if rows.start < titles {
            let title = Line::styled(fit(&self.title, columns), STRONG);
            out.push(search_highlight::mark(title, needle));
        }
        let skip = rows.start.saturating_sub(titles);
        let take = rows.end.min(blank).saturating_sub(titles) - skip;
        match &self.body {
            Body::Lines(lines) => {
                let lines = lines.iter().skip(skip).take(take).cloned();
                out.extend(lines.map(|line| search_highlight::mark(line, needle)));
            }
            Body::Diff(view) => {
                let brush = RowPainter {
                    line_styles: &no_line_styles,
                    search: needle,
                    columns,
                    left,
                    digits: view.digits,
                };
                let seen = view.rows.iter().skip(skip).take(take);
                out.extend(seen.map(|row| brush.row(view, *row, false)));
            }
            Body::Log(lines) => {
                let seen = lines.iter().skip(skip).take(take);
                out.extend(seen.map(|line| paint(line, left, columns, needle)));
            }
        }
        if rows.end > blank {
            out.push(Line::default());
        }
    }
}

impl From<Lines> for Body<'_> {
    fn from(lines: Lines) -> Self {
        Body::Lines(lines)
    }
}

impl Body<'_> {
    /// The text of row `at`.
    fn text(&self, at: usize) -> String {
        match self {
            Body::Lines(lines) => lines.get(at).map(Line::to_string).unwrap_or_default(),
            Body::Diff(view) => view.text(at),
            Body::Log(lines) => lines
                .get(at)
                .map(|line| line.text.clone())
                .unwrap_or_default(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Body::Lines(lines) => lines.len(),
            Body::Diff(view) => view.rows.len(),
            Body::Log(lines) => lines.len(),
        }
    }
}
