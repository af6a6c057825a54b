//! The one line of messages: information goes by itself, an error stays until a key is pressed.

use std::time::Duration;

/// How long information stays.
const LIFETIME: Duration = Duration::from_secs(6);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    pub fn sign(self) -> &'static str {
        match self {
            Level::Info => "·",
            Level::Warning => "!",
            Level::Error => "✗",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub level: Level,
    pub text: String,
    expires: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
pub struct StatusLine {
    message: Option<Message>,
}

impl StatusLine {
    pub fn say(&mut self, level: Level, text: impl Into<String>, now: Duration) {
        let expires = (level != Level::Error).then(|| now + LIFETIME);
        let text = crate::text::printable(&text.into()).into_owned();
        self.message = Some(Message { level, text, expires });
    }

    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// A key was pressed: an error was seen.
    pub fn acknowledge(&mut self) -> bool {
        let is_error = self.message.as_ref().is_some_and(|m| m.level == Level::Error);
        if is_error {
            self.message = None;
        }
        is_error
    }

    /// What this text said is no longer so.
    pub fn take_back(&mut self, text: &str) {
        self.message.take_if(|message| message.text == crate::text::printable(text));
    }

    /// When something will go by itself.
    pub fn expires(&self) -> Option<Duration> {
        self.message.as_ref()?.expires
    }

    /// Drops what has expired; true where something went.
    pub fn tick(&mut self, now: Duration) -> bool {
        let gone = self.expires().is_some_and(|at| at <= now);
        if gone {
            self.message = None;
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_goes_by_itself_and_an_error_with_a_key() {
        let start = Duration::from_secs(100);
        let mut line = StatusLine::default();
        line.say(Level::Info, "kept", start);
        assert!(!line.acknowledge());
        assert!(!line.tick(start + Duration::from_secs(1)));
        assert!(line.tick(start + LIFETIME));
        line.say(Level::Error, "no git", start);
        assert!(!line.tick(start + LIFETIME * 100));
        assert!(line.acknowledge());
        assert_eq!(line.message(), None);
    }
}
