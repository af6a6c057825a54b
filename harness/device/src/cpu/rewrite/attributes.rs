//! `__attribute__`: words that NVRTC reads in another way than the host compiler.

use super::pass::Pass;

impl Pass<'_> {
    /// Rewrites `__noinline__`, which is a macro here, and refuses `vector_size`, which NVRTC
    /// ignores.
    pub fn attribute(&mut self, at: usize) {
        let code = self.code;
        if code.at(at + 1) != "(" {
            return;
        }
        for i in at + 2..code.partner(at + 1) {
            let token = code.tokens[i];
            match code.at(i) {
                "__noinline__" => self.edit(token.start, token.end, "noinline"),
                "vector_size" | "__vector_size__" => {
                    let place = code.tokens[at].start;
                    let reason =
                        "NVRTC ignores vector_size: use CUDA's own vector types, as float4";
                    self.refuse(place, place, reason, " ");
                }
                _ => {}
            }
        }
    }
}
