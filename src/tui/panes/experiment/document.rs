//! Text in sections, of which only the rows that are seen are formatted: a run.log may have thousands.

use super::super::super::diff::{Brush, View, plain};
use super::super::super::text::{fit, pad};
use super::super::super::theme::Theme;
use super::super::correctness::fit_line;
use super::super::run_log;
use crate::session::sanitise::LogLine;
use ratatui::text::{Line, Span};
use std::ops::Range;

/// What rows are laid on.
#[derive(Clone, Copy)]
pub struct Sheet<'t> {
    /// First column that is seen of a diff and of a log.
    pub left: usize,
    pub columns: usize,
    pub theme: &'t Theme,
}

pub struct Section<'a> {
    /// Empty where it needs none.
    pub title: String,
    pub body: Body<'a>,
}

pub enum Body<'a> {
    Lines(Vec<Line<'static>>),
    Diff(&'a View),
    Log(&'a [LogLine]),
}

pub struct Document<'a> {
    sections: Vec<Section<'a>>,
}

impl<'a> Document<'a> {
    pub fn of(lines: Vec<Line<'static>>) -> Self {
        Document::new(vec![Section { title: String::new(), body: Body::Lines(lines) }])
    }

    /// Sections with nothing to say are left out.
    pub fn new(sections: Vec<Section<'a>>) -> Self {
        Document { sections: sections.into_iter().filter(|s| s.body.len() > 0).collect() }
    }

    pub fn len(&self) -> usize {
        // No blank row behind the last.
        self.sections.iter().map(Section::rows).sum::<usize>().saturating_sub(1)
    }

    /// The row in which each section begins.
    pub fn starts(&self) -> Vec<usize> {
        let begins = self.sections.iter().scan(0, |at, section| {
            let begin = *at;
            *at += section.rows();
            Some(begin)
        });
        begins.collect()
    }

    pub fn lines(&self, rows: Range<usize>, sheet: Sheet) -> Vec<Line<'a>> {
        let mut out = Vec::new();
        let mut begin = 0;
        for section in &self.sections {
            let end = begin + section.rows();
            let (first, last) = (rows.start.max(begin), rows.end.min(end));
            if first < last {
                section.lines(first - begin..last - begin, sheet, &mut out);
            }
            begin = end;
        }
        out
    }
}

impl<'a> Section<'a> {
    pub fn new(title: &str, lines: Vec<Line<'static>>) -> Self {
        Section { title: title.to_owned(), body: Body::Lines(lines) }
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
        let Sheet { left, columns, theme } = sheet;
        let (titles, blank) = (self.title_rows(), self.rows() - 1);
        if rows.start < titles {
            out.push(Line::styled(fit(&self.title, columns).into_owned(), theme.strong()));
        }
        let skip = rows.start.saturating_sub(titles);
        let take = rows.end.min(blank).saturating_sub(titles) - skip;
        match &self.body {
            Body::Lines(lines) => {
                out.extend(lines.iter().skip(skip).take(take).map(|l| fit_line(l.clone(), columns)));
            }
            Body::Diff(view) => {
                let brush = Brush { theme, ink: &plain, search: "", columns, left, digits: view.digits() };
                let seen = view.rows().iter().skip(skip).take(take);
                out.extend(seen.map(|row| brush.row(view.diff(), *row, false)));
            }
            Body::Log(lines) => {
                let seen = lines.iter().skip(skip).take(take);
                out.extend(seen.map(|line| Line::from(run_log::paint(line, left, columns, "", theme))));
            }
        }
        if rows.end > blank {
            out.push(Line::default());
        }
    }
}

impl Body<'_> {
    fn len(&self) -> usize {
        match self {
            Body::Lines(lines) => lines.len(),
            Body::Diff(view) => view.rows().len(),
            Body::Log(lines) => lines.len(),
        }
    }
}

/// `label  text`, the label beside the point.
pub fn labelled(label: &str, columns: usize, text: String, theme: &Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("  {}  ", pad(label, columns)), theme.quiet()),
        Span::styled(text, theme.text()),
    ])
}
