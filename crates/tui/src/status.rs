//! The line of messages. Information and warnings expire; an error stays until a key is pressed.

use std::time::Duration;

/// How long information and warnings stay.
const LIFETIME: Duration = Duration::from_secs(6);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageLevel {
    Info,
    Warning,
    Error,
}

impl MessageLevel {
    pub fn sign(self) -> &'static str {
        match self {
            MessageLevel::Info => "·",
            MessageLevel::Warning => "!",
            MessageLevel::Error => "✗",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusMessage {
    pub level: MessageLevel,
    pub text: String,
    expires: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
pub struct StatusLine {
    pub message: Option<StatusMessage>,
}

impl StatusLine {
    pub fn say(&mut self, level: MessageLevel, text: impl Into<String>, now: Duration) {
        let expires = (level != MessageLevel::Error).then(|| now + LIFETIME);
        let text = crate::text::printable(&text.into());
        self.message = Some(StatusMessage {
            level,
            text,
            expires,
        });
    }

    /// A key was pressed: removes an error. True where there was one.
    pub fn acknowledge(&mut self) -> bool {
        self.message
            .take_if(|message| message.level == MessageLevel::Error)
            .is_some()
    }

    /// Removes the message with this text: it no longer holds.
    pub fn take_back(&mut self, text: &str) {
        self.message
            .take_if(|message| message.text == crate::text::printable(text));
    }

    /// When the message expires.
    pub fn expires(&self) -> Option<Duration> {
        self.message.as_ref()?.expires
    }

    /// Removes an expired message; true where one was removed.
    pub fn tick(&mut self, now: Duration) -> bool {
        self.message
            .take_if(|message| message.expires.is_some_and(|at| at <= now))
            .is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_expires_and_an_error_goes_with_a_key() {
        let start = Duration::from_secs(100);
        let mut line = StatusLine::default();
        line.say(MessageLevel::Info, "kept", start);
        assert!(!line.acknowledge());
        assert!(!line.tick(start + Duration::from_secs(1)));
        assert!(line.tick(start + LIFETIME));
        line.say(MessageLevel::Error, "no git", start);
        assert!(!line.tick(start + LIFETIME * 100));
        assert!(line.acknowledge());
        assert_eq!(line.message, None);
    }
}
