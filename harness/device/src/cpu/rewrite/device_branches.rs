//! Where a source asks which device it is built for: the cpu device then runs another path than a
//! GPU.

use super::pass::Pass;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::words;
use lab_source::line_at;

/// The macros that only one of the two devices defines.
const MACROS: [&str; 8] = [
    "LAB_CPU",
    "__CUDA_ARCH__",
    "__CUDA_ARCH_LIST__",
    "__CUDACC_RTC__",
    "__CUDACC_VER_MAJOR__",
    "__NVCC__",
    "CUDA_VERSION",
    "CUDART_VERSION",
];

impl Pass<'_> {
    /// Notes a condition or a macro that names one of [`MACROS`]. `start` is the directive's first
    /// byte.
    pub fn branch_in_directive(&mut self, directive: Directive, start: usize) {
        let asks = [
            "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "define",
        ];
        if !asks.contains(&directive.name) {
            return;
        }
        let mut words = words(directive.rest).into_iter();
        if let Some(found) = words.find(|word| MACROS.contains(word)) {
            self.branch(found, start);
        }
    }

    /// Notes a word that only differs between the devices: a macro in code, or `device.emulated` in
    /// a launch statement.
    pub fn branch_at_word(&mut self, at: usize) {
        let word = self.code.at(at);
        let emulated = word == "emulated" && at > 0 && self.code.at(at - 1) == ".";
        if emulated || MACROS.contains(&word) {
            self.branch(
                if emulated { "device.emulated" } else { word },
                self.code.tokens[at].start,
            );
        }
    }

    fn branch(&mut self, asks_for: &str, start: usize) {
        self.done.branch.get_or_insert_with(|| {
            let line = line_at(self.code.text, start);
            format!("{}:{line} asks for {asks_for}", self.shown_as)
        });
    }
}
