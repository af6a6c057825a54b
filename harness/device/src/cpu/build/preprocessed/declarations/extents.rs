//! Where what is not read ends: a statement, template arguments, a constructor's initialisers.

use super::Walk;
use lab_source::cpp::TokenKind;

impl Walk<'_> {
    /// The index after the next semicolon that no bracket encloses.
    pub(super) fn after_semicolon(&self, start: usize, end: usize) -> usize {
        let mut at = start;
        while at < end {
            match self.text.tokens[at].kind {
                TokenKind::Punct(b';') => return at + 1,
                TokenKind::Punct(b'}') => return at,
                TokenKind::Punct(b'(' | b'[' | b'{') => at = self.text.partner(at),
                _ => {}
            }
            at += 1;
        }
        end
    }

    /// The index after the template arguments that begin at `open`; the next index where `<` begins
    /// none.
    pub(super) fn after_angles(&self, open: usize, end: usize) -> usize {
        let mut depth = 0usize;
        let mut at = open;
        while at < end {
            match self.text.tokens[at].kind {
                TokenKind::Punct(b'<') => depth += 1,
                TokenKind::Punct(b'>') if !self.text.punct(at.saturating_sub(1), b'-') => {
                    depth -= 1;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                TokenKind::Punct(b'(' | b'[' | b'{') => at = self.text.partner(at),
                TokenKind::Punct(b';' | b')' | b']' | b'}') => break,
                _ => {}
            }
            at += 1;
        }
        open + 1
    }

    /// The index before the template arguments that end at `close`.
    pub(super) fn before_angles(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..=close).rev() {
            match self.text.tokens[at].kind {
                TokenKind::Punct(b'>') => depth += 1,
                TokenKind::Punct(b'<') => {
                    depth -= 1;
                    if depth == 0 {
                        return at.checked_sub(1);
                    }
                }
                TokenKind::Punct(b';' | b'{' | b'}') => return None,
                _ => {}
            }
        }
        None
    }

    /// The index of the brace that follows a constructor's initialisers.
    pub(super) fn after_initialisers(&self, start: usize, end: usize) -> usize {
        let mut at = start;
        while at < end {
            while at < end && !self.text.punct(at, b'(') && !self.text.punct(at, b'{') {
                at += 1;
            }
            at = self.text.partner(at) + 1;
            while self.text.punct(at, b'.') {
                at += 1;
            }
            if !self.text.punct(at, b',') {
                break;
            }
            at += 1;
        }
        if self.text.punct(at, b'{') { at } else { end }
    }
}
