//! The message that is typed before a keep or a discard: the subject of the commit and the trailers
//! below it, which are folded until the user opens them.

use lab_run::RunId;
use lab_run::message::{Message, TrailerKey};
use tui_input::Input;

/// Lists of commits show a subject of up to this many letters in full.
pub const SHORT: usize = 50;

/// Most tools cut a subject that is longer than this.
pub const LONG: usize = 72;

/// One line to type.
#[derive(Clone, Debug)]
pub struct Field {
    /// `None` for the subject.
    pub key: Option<TrailerKey>,
    pub input: Input,
}

#[derive(Clone, Debug)]
pub struct Draft {
    pub run: RunId,
    /// The subject first.
    fields: Vec<Field>,
    at: usize,
    pub open: bool,
    /// The text of `Tested` as the last verdict filled it in. A newer verdict replaces it, unless
    /// the user changed it.
    tested: String,
    /// Why the message was not accepted.
    pub problem: Option<String>,
    /// The subject was typed for another run: text that is typed now replaces it.
    pub is_old: bool,
}

impl Draft {
    /// The message that was typed before, now about this run and with the cursor at the end of the
    /// subject; else an empty one. `tested` is the verdict in words, for the trailer `Tested`.
    pub fn resume(typed: Option<&Draft>, run: RunId, tested: String) -> Self {
        let mut draft = typed.cloned().unwrap_or_else(|| Draft::empty(run));
        draft.is_old = draft.run != run && !draft.subject().is_empty();
        (draft.run, draft.at, draft.problem) = (run, 0, None);
        for field in &mut draft.fields {
            field.input = Input::new(field.input.value().to_owned());
        }
        draft.fill(tested);
        draft
    }

    /// Fills in the verdict in words, unless the user changed the trailer `Tested`.
    pub fn fill(&mut self, tested: String) {
        let is_tested = |field: &&mut Field| field.key == Some(TrailerKey::Tested);
        let mut trailers = self.fields.iter_mut().filter(is_tested);
        if let Some(field) = trailers.find(|field| field.input.value() == self.tested) {
            field.input = Input::new(tested.clone());
        }
        self.tested = tested;
    }

    fn empty(run: RunId) -> Self {
        let trailers = TrailerKey::KNOWN.into_iter().map(Some);
        let fields = std::iter::once(None).chain(trailers).map(|key| Field {
            key,
            input: Input::default(),
        });
        Draft {
            run,
            fields: fields.collect(),
            at: 0,
            open: false,
            tested: String::new(),
            problem: None,
            is_old: false,
        }
    }

    /// A key acts on the line that is typed into. Text replaces a subject of another run; a key that
    /// edits or moves keeps it.
    pub fn begin(&mut self, is_text: bool) {
        if std::mem::take(&mut self.is_old) && is_text && self.at == 0 {
            self.fields[0].input = Input::default();
        }
    }

    /// The line that is typed into.
    pub fn input(&mut self) -> &mut Input {
        &mut self.fields[self.at].input
    }

    /// The visible lines, and which of them is typed into.
    pub fn shown(&self) -> (&[Field], usize) {
        (
            if self.open {
                &self.fields
            } else {
                &self.fields[..1]
            },
            self.at,
        )
    }

    pub fn subject(&self) -> &str {
        self.fields[0].input.value().trim()
    }

    /// The keys of the trailers that are not empty.
    pub fn filled(&self) -> Vec<&str> {
        let filled = self
            .fields
            .iter()
            .filter(|f| !f.input.value().trim().is_empty());
        filled
            .filter_map(|f| Some(f.key.as_ref()?.word()))
            .collect()
    }

    /// Opens or folds the trailers. Their text stays.
    pub fn fold(&mut self) {
        self.open = !self.open;
        self.at = usize::from(self.open);
    }

    /// Goes to the next or the previous line, from the last to the first. Opens folded trailers.
    pub fn step(&mut self, forward: bool) {
        self.complete();
        if !self.open {
            self.open = true;
            self.at = if forward { 1 } else { self.fields.len() - 1 };
            return;
        }
        let count = self.fields.len();
        self.at = (self.at + if forward { 1 } else { count - 1 }) % count;
    }

    /// Completes a usual value that was typed in part: `hi` becomes `high` if no other value begins
    /// with it.
    pub fn complete(&mut self) {
        let words = self.words();
        let field = &mut self.fields[self.at];
        let typed = field.input.value().trim().to_lowercase();
        let mut near = words.iter().filter(|word| word.starts_with(&typed));
        if let (false, Some(word), None) = (typed.is_empty(), near.next(), near.next()) {
            field.input = Input::new((*word).to_owned());
        }
    }

    /// The usual values of the trailer that is typed into.
    pub fn words(&self) -> &'static [&'static str] {
        self.fields[self.at]
            .key
            .as_ref()
            .map_or(&[], TrailerKey::words)
    }

    /// Puts the next or the previous usual value into the line; an empty line follows the last
    /// value.
    pub fn choose(&mut self, forward: bool) {
        self.complete();
        let words = self.words();
        let field = &mut self.fields[self.at];
        let places = words.len() + 1;
        // The empty line comes after the last value.
        let at = words
            .iter()
            .position(|word| *word == field.input.value())
            .unwrap_or(words.len());
        let next = (at + if forward { 1 } else { places - 1 }) % places;
        if !words.is_empty() {
            field.input = Input::new(words.get(next).copied().unwrap_or_default().to_owned());
        }
    }

    /// Why a trailer is not valid; the cursor goes to its line.
    pub fn wrong(&mut self) -> Option<String> {
        let filled = |field: &&Field| !field.input.value().trim().is_empty();
        let error = |field: &Field| field.key.as_ref()?.value(field.input.value()).err();
        let (at, what) = (0..self.fields.len())
            .find_map(|at| Some((at, self.fields.get(at).filter(filled).and_then(error)?)))?;
        (self.open, self.at) = (true, at);
        Some(what)
    }

    /// The message; `default_subject` is used if no subject was typed.
    pub fn message(&self, default_subject: &str) -> Message {
        let subject = if self.subject().is_empty() {
            default_subject
        } else {
            self.subject()
        };
        let value =
            |key: &TrailerKey, typed: &str| key.value(typed).unwrap_or_else(|_| typed.to_owned());
        let trailers = self.fields.iter().filter_map(|field| {
            let key = field.key.clone()?;
            let value = value(&key, field.input.value());
            Some((key, value))
        });
        Message::new(subject, trailers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(draft: &mut Draft, text: &str) {
        *draft.input() = Input::new(text.to_owned());
    }

    fn steps(draft: &mut Draft, lines: usize) {
        (0..lines).for_each(|_| draft.step(true));
    }

    #[test]
    fn a_subject_alone_is_a_message_and_tested_is_there_already() {
        let mut draft = Draft::resume(None, RunId(7), "NVIDIA H200, 2 of 2 gates".into());
        typed(&mut draft, "  two rows a block ");
        assert_eq!(draft.shown().0.len(), 1);
        assert_eq!(draft.filled(), ["Tested"]);
        assert_eq!(
            draft.message("").render(),
            "two rows a block\n\nTested: NVIDIA H200, 2 of 2 gates\n"
        );
    }

    #[test]
    fn what_was_not_used_is_there_again_and_tested_is_of_the_newer_run() {
        let mut draft = Draft::resume(None, RunId(7), "170 sps".into());
        typed(&mut draft, "two rows");
        steps(&mut draft, 3);
        typed(&mut draft, "48 kB");
        draft.problem = Some("refused".into());
        let mut draft = Draft::resume(Some(&draft), RunId(8), "180 sps".into());
        assert_eq!(
            (draft.run, draft.problem.clone(), draft.open),
            (RunId(8), None, true)
        );
        assert_eq!(
            draft.message("").render(),
            "two rows\n\nConstraint: 48 kB\nTested: 180 sps\n"
        );
        assert!(draft.is_old);
        draft.begin(false);
        draft.begin(true);
        draft
            .input()
            .handle(tui_input::InputRequest::InsertChar('!'));
        assert_eq!(
            draft.subject(),
            "two rows!",
            "after a key that moves, typing goes on at the end of the subject"
        );
        let mut other = Draft::resume(Some(&draft), RunId(9), String::new());
        other.begin(true);
        assert_eq!(other.subject(), "", "text of another run is replaced");
        let mut same = Draft::resume(Some(&draft), RunId(8), String::new());
        same.begin(true);
        assert_eq!(same.subject(), "two rows!");
        // The text typed over the verdict's words stays, even an empty one.
        draft.step(false);
        draft.step(false);
        typed(&mut draft, "");
        let draft = Draft::resume(Some(&draft), RunId(9), "190 sps".into());
        assert_eq!(
            draft.message("").render(),
            "two rows!\n\nConstraint: 48 kB\n"
        );
        assert_eq!(Draft::resume(None, RunId(9), String::new()).subject(), "");
    }

    #[test]
    fn lines_are_gone_through_and_usual_words_completed() {
        let mut draft = Draft::resume(None, RunId(7), String::new());
        for text in ["fast", "", "", "48 kB", "", "hi"] {
            typed(&mut draft, text);
            draft.step(true);
        }
        typed(&mut draft, "m");
        draft.complete();
        assert_eq!(
            draft.message("").render(),
            "fast\n\nConstraint: 48 kB\nConfidence: high\nScope-risk: moderate\n"
        );
        draft.fold();
        assert_eq!((draft.open, draft.shown().1), (false, 0));
        draft.step(false);
        assert_eq!(draft.shown().1, 10, "round the beginning to the last");
        draft.step(true);
        assert_eq!(draft.shown().1, 0);
    }

    #[test]
    fn what_could_be_two_words_is_left_as_it_is() {
        let mut draft = Draft::resume(None, RunId(7), String::new());
        steps(&mut draft, 7);
        typed(&mut draft, "perhaps");
        draft.complete();
        let said = draft.wrong().expect("perhaps is none of its words");
        assert!(
            said.starts_with("Reversibility: 'perhaps' is none of its words"),
            "{said}"
        );
        typed(&mut draft, "Messy");
        assert_eq!(draft.wrong(), None);
        assert_eq!(draft.message("x").render(), "x\n\nReversibility: messy\n");
    }

    #[test]
    fn a_wrong_trailer_is_gone_to_even_where_it_is_folded_away() {
        let mut draft = Draft::resume(None, RunId(7), String::new());
        for text in ["x", "", "", "", "", "certain"] {
            typed(&mut draft, text);
            draft.step(true);
        }
        draft.fold();
        assert!(draft.wrong().is_some());
        assert_eq!((draft.open, draft.shown().1), (true, 5));
    }

    #[test]
    fn words_are_gone_through_round_the_end() {
        let mut draft = Draft::resume(None, RunId(7), String::new());
        draft.choose(true);
        assert_eq!(draft.input().value(), "", "a subject has none");
        steps(&mut draft, 5);
        let mut seen = Vec::new();
        for forward in [true, true, true, true, false, false] {
            draft.choose(forward);
            seen.push(draft.input().value().to_owned());
        }
        assert_eq!(seen, ["low", "medium", "high", "", "high", "medium"]);
        typed(&mut draft, "lo");
        draft.choose(true);
        assert_eq!(draft.input().value(), "medium");
    }
}
