//! A text by line, held once.

use std::sync::Arc;

/// Lines are those of [`str::lines`], with their carriage returns: a line feed at the end begins no further one.
#[derive(Clone, Debug)]
pub struct Text {
    whole: Arc<str>,
    /// Where each line begins.
    starts: Arc<[usize]>,
}

impl Default for Text {
    fn default() -> Self {
        Text::new("")
    }
}

impl Text {
    pub fn new(whole: impl Into<Arc<str>>) -> Self {
        let whole: Arc<str> = whole.into();
        let mut starts = Vec::new();
        let mut at = 0;
        for line in whole.split_inclusive('\n') {
            starts.push(at);
            at += line.len();
        }
        Text { starts: starts.into(), whole }
    }

    pub fn whole(&self) -> &Arc<str> {
        &self.whole
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Line `at`, from 0, without its end; empty where there is none.
    pub fn line(&self, at: usize) -> &str {
        let Some(start) = self.starts.get(at) else { return "" };
        let end = self.starts.get(at + 1).copied().unwrap_or(self.whole.len());
        let line = &self.whole[*start..end];
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// How many lines are the same in both at the beginning, and how many of the others at the end.
    pub fn common(&self, other: &Text) -> (usize, usize) {
        let most = self.len().min(other.len());
        let same = |a: usize, b: usize| self.line(a) == other.line(b);
        let head = (0..most).take_while(|at| same(*at, *at)).count();
        let tail = (1..=most - head).take_while(|n| same(self.len() - n, other.len() - n)).count();
        (head, tail)
    }

    /// Where line `at` of this text is in `other`, as far as that is plain to see.
    pub fn follow(&self, at: usize, other: &Text) -> usize {
        let (head, tail) = self.common(other);
        let at = if at >= head && at >= self.len() - tail {
            other.len() - self.len().saturating_sub(at)
        } else {
            at
        };
        at.min(other.len().saturating_sub(1))
    }
}
