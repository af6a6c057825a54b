//! Where a source asks which device it is built for: the cpu device then runs another path than a
//! GPU.

use super::DeviceBranch;
use super::pass::Pass;

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
    /// Notes a condition or a macro that names one of [`MACROS`]. `text` is a directive, and
    /// `start` its first byte.
    pub(super) fn branch_in_directive(&mut self, word: &str, text: &str, start: usize) {
        if !matches!(
            word,
            "if" | "ifdef" | "ifndef" | "elif" | "elifdef" | "elifndef" | "define"
        ) {
            return;
        }
        let code = text.split("//").next().unwrap_or_default();
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let found = code
            .split(|c| !is_letter(c))
            .find(|word| MACROS.contains(word));
        if let Some(found) = found {
            self.branch(found, start);
        }
    }

    /// Notes a word that only differs between the devices: a macro in code, or `device.emulated` in
    /// a launch statement.
    pub(super) fn branch_at_word(&mut self, at: usize) {
        let word = self.word(at);
        let emulated = word == "emulated" && at > 0 && self.punct(at - 1, b'.');
        if emulated || MACROS.contains(&word) {
            self.branch(
                if emulated { "device.emulated" } else { word },
                self.tokens[at].start,
            );
        }
    }

    fn branch(&mut self, asks_for: &str, start: usize) {
        let line = self.source[..start].matches('\n').count() + 1;
        self.branches.get_or_insert(DeviceBranch {
            line,
            asks_for: asks_for.to_owned(),
        });
    }
}
