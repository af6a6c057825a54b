//! What the model knows of where everything is on the screen, between two frames: several events can
//! be handled before the next one.

use crate::event::{Event, UserInput};
use crate::model::Model;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Places {
    /// Nothing has changed since the last frame.
    Known,
    /// Keys went up or down by a row, which moves no pane: enough for a further such step.
    Stepped,
    Unknown,
}

impl Places {
    /// Whether an event needs no layout first. A letter that is typed into a line and a key without
    /// an action never do.
    pub fn serve(self, model: &Model, event: &Event) -> bool {
        let uses_them = match event {
            Event::Input(UserInput::Key(key)) => model.key_acts(*key),
            Event::Input(UserInput::Mouse(_)) => true,
            _ => false,
        };
        match self {
            Places::Known => true,
            Places::Stepped => !uses_them || is_step(model, event),
            Places::Unknown => !uses_them,
        }
    }

    /// What is known after an event that changes the screen. The model is that before it.
    #[must_use]
    pub fn after(self, model: &Model, event: &Event) -> Places {
        let then = if is_step(model, event) {
            Places::Stepped
        } else {
            Places::Unknown
        };
        self.max(then)
    }
}

fn is_step(model: &Model, event: &Event) -> bool {
    matches!(event, Event::Input(UserInput::Key(key)) if model.key_steps(*key))
}
