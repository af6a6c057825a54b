//! Assembly, which becomes an error.

use super::pass::Pass;

impl Pass<'_> {
    /// Replaces an assembly statement by an error, on as many lines. Returns the index of the token
    /// to go on with.
    pub fn assembly(&mut self, at: usize) -> usize {
        let mut open = at + 1;
        while matches!(
            self.code.at(open),
            "volatile" | "__volatile__" | "inline" | "goto"
        ) {
            open += 1;
        }
        if self.code.at(open) != "(" {
            return at + 1;
        }
        let close = self.code.partner(open);
        let (start, end) = (self.code.tokens[at].start, self.code.tokens[close].end);
        let lines = "\n".repeat(self.code.text[start..end].matches('\n').count());
        let reason = "inline PTX cannot run on the cpu device (guard it with #ifndef LAB_CPU)";
        self.refuse(start, end, reason, &lines);
        close + 1
    }
}
