//! Where what is not read ends: a statement, template arguments, a constructor's initialisers.

use super::Walk;

impl Walk<'_> {
    /// The index after the next semicolon that no bracket encloses.
    pub fn after_semicolon(&self, start: usize, end: usize) -> usize {
        let at = self.text.statement_end(start, end);
        at + usize::from(at < end && self.text.at(at) == ";")
    }

    /// The index after the template arguments that begin at `open`; the next index where `<` begins
    /// none.
    pub fn after_angles(&self, open: usize, end: usize) -> usize {
        let mut depth = 0usize;
        let mut at = open;
        while at < end {
            match self.text.at(at) {
                "<" => depth += 1,
                ">" if self.text.at(at.saturating_sub(1)) != "-" => {
                    depth -= 1;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                "(" | "[" | "{" => at = self.text.partner(at),
                ";" | ")" | "]" | "}" => break,
                _ => {}
            }
            at += 1;
        }
        open + 1
    }

    /// The index before the template arguments that end at `close`.
    pub fn before_angles(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..=close).rev() {
            match self.text.at(at) {
                ">" => depth += 1,
                "<" => {
                    depth -= 1;
                    if depth == 0 {
                        return at.checked_sub(1);
                    }
                }
                ";" | "{" | "}" => return None,
                _ => {}
            }
        }
        None
    }

    /// The index of the brace that follows a constructor's initialisers.
    pub fn after_initialisers(&self, start: usize, end: usize) -> usize {
        let mut at = start;
        while at < end {
            while at < end && !matches!(self.text.at(at), "(" | "{") {
                at += 1;
            }
            at = self.text.partner(at) + 1;
            while self.text.at(at) == "." {
                at += 1;
            }
            if self.text.at(at) != "," {
                break;
            }
            at += 1;
        }
        if self.text.at(at) == "{" { at } else { end }
    }
}
