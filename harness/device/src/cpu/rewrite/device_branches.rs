//! Where a source asks its compiler a question that another compiler answers otherwise.

use super::pass::Pass;
use lab_source::cpp::words;
use lab_source::line_at;

/// Names of questions, or what they begin with.
const QUESTIONS: [&str; 5] = [
    "__has_",
    "__BASE_FILE__",
    "__INCLUDE_LEVEL__",
    "__FILE_NAME__",
    "__PRETTY_FUNCTION__",
];

impl Pass<'_> {
    /// Notes a question in a directive or in code. `start` is the first byte of the text.
    pub fn question(&mut self, text: &str, start: usize) {
        let is_question = |word: &&str| QUESTIONS.iter().any(|name| word.starts_with(name));
        if let Some(found) = words(text).into_iter().find(is_question) {
            self.done.branch.get_or_insert_with(|| {
                let line = line_at(self.code.text, start);
                format!("{}:{line} asks for {found}", self.shown_as)
            });
        }
    }
}
