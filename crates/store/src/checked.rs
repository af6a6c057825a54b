//! Lines with a checksum before their text, so that a bit that a disk or another program flipped is
//! found. The checksum proves nothing of who wrote the line.

/// The checksum of some bytes.
pub fn sum(bytes: impl AsRef<[u8]>) -> u64 {
    let hash = *blake3::hash(bytes.as_ref()).as_bytes();
    hash.first_chunk()
        .map_or(0, |first| u64::from_le_bytes(*first))
}

/// A text of one line behind its checksum, without a line break at the end.
pub fn line(text: &str) -> String {
    format!("{:016x} {text}", sum(text))
}

/// The text of a line that [`line`] made; `None` if it is damaged or of another form.
pub fn read(line: &str) -> Option<&str> {
    let (head, text) = line.split_once(' ')?;
    (format!("{:016x}", sum(text)) == head).then_some(text)
}
