//! Where a constructor's initialisers end.

use super::Walk;

impl Walk<'_> {
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
