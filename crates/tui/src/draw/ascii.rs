//! The screen in ASCII, for a terminal whose locale has nothing else: every sign of the frame that was
//! drawn is replaced by one that looks alike.

use ratatui::buffer::Buffer;

/// Signs, each with its likeness. The second character of a likeness takes a blank behind the sign.
const LIKE: [(&str, &str); 38] = [
    ("─━┄╌–—", "-"),
    ("│┃┆┊", "|"),
    ("┬┴┼├┤┌┐└┘╭╮╰╯┰┸╋┣┫", "+"),
    ("●", "O"),
    ("◆◐◓◑◒•", "*"),
    ("○◇", "o"),
    ("·∙", "-"),
    ("✓", "v"),
    ("✗×☠", "x"),
    ("∅", "0"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("≈", "~"),
    ("±", "+-"),
    ("…", ".."),
    ("▸▶›→⇒", ">"),
    ("◂◀‹←", "<"),
    ("▲▴↑", "^"),
    ("▼▾↓", "v"),
    ("█▇▰■", "#"),
    ("▆", "="),
    ("▅", "-"),
    ("▄▃▂▁", "_"),
    ("▱░□", "."),
    ("▀", "\""),
    ("µμ", "u"),
    ("°", "'"),
    ("²", "2"),
    ("³", "3"),
    ("“”", "\""),
    ("‘’", "'"),
    ("⇧", "^"),
    ("⏎↵", "<"),
    ("Δ", "d"),
    ("σ", "s"),
    ("½", "."),
    ("\u{a0}", " "),
];

/// Replaces every cell that is not ASCII.
pub(super) fn replace(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width).max(1);
    for at in 0..buffer.content.len() {
        let cell = &buffer.content[at];
        if cell.symbol().is_ascii() {
            continue;
        }
        let (sign, behind) = like(cell.symbol());
        buffer.content[at].set_char(sign);
        let is_last = (at + 1) % width == 0;
        if let Some(behind) = behind.filter(|_| !is_last && buffer.content[at + 1].symbol() == " ")
        {
            buffer.content[at + 1].set_char(behind);
        }
    }
}

fn like(symbol: &str) -> (char, Option<char>) {
    let sign = symbol.chars().next().unwrap_or(' ');
    let known = LIKE.iter().find(|(signs, _)| signs.contains(sign));
    let mut likeness = known.map_or("?", |(_, likeness)| likeness).chars();
    (likeness.next().unwrap_or('?'), likeness.next())
}
