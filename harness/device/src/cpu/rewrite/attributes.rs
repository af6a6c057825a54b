//! `__attribute__`: a word that is a macro on this device.

use super::pass::Pass;

impl Pass<'_> {
    /// Rewrites `__noinline__`, which NVRTC takes within an attribute.
    pub fn attribute(&mut self, at: usize) {
        let code = self.code;
        if code.at(at + 1) != "(" {
            return;
        }
        for i in at + 2..code.partner(at + 1) {
            if code.at(i) == "__noinline__" {
                let token = code.tokens[i];
                self.edit(token.start, token.end, "noinline");
            }
        }
    }
}
