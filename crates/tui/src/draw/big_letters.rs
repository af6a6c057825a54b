//! Letters three rows tall, made of half blocks, so that a verdict can be read from a distance.

/// Rows of a letter on the screen.
pub const ROWS: usize = 3;

/// Each letter with its five rows from the top; the bits of a digit are the dots of a row.
const FONT: [&str; 39] = [
    "0 75557", "1 26227", "2 71747", "3 71317", "4 55711", "5 74717", "6 74757", "7 71122",
    "8 75757", "9 75717", "A 25755", "B 65656", "C 74447", "D 65556", "E 74647", "F 74644",
    "G 74557", "H 55755", "I 72227", "J 11157", "L 44447", "M 57755", "N 65555", "O 75557",
    "P 75744", "R 75655", "S 74717", "T 72222", "U 55557", "V 55552", "Y 55222", "k 45655",
    ". 00001", ", 00011", "+ 02720", "- 00700", "% 51245", "× 05250", "  00000",
];

/// The rows of a letter from the top, if it is in the font.
fn dots(letter: char) -> Option<[u8; 5]> {
    let glyph = FONT.iter().find(|glyph| glyph.starts_with(letter))?;
    let rows = glyph.as_bytes().get(letter.len_utf8() + 1..)?;
    Some(<[u8; 5]>::try_from(rows).ok()?.map(|digit| digit - b'0'))
}

/// Columns of a letter, without the gap behind it.
fn columns(letter: char) -> usize {
    match letter {
        '.' | ',' => 1,
        ' ' => 2,
        _ => 3,
    }
}

/// Columns that `text` takes.
pub fn width(text: &str) -> usize {
    text.chars()
        .map(|c| columns(c) + 1)
        .sum::<usize>()
        .saturating_sub(1)
}

/// The three rows of `text`; `None` where a letter is not in the font.
pub fn rows(text: &str) -> Option<[String; ROWS]> {
    let letters: Vec<(usize, [u8; 5])> = text
        .chars()
        .map(|c| Some((columns(c), dots(c)?)))
        .collect::<Option<_>>()?;
    Some(std::array::from_fn(|row| {
        let mut line = String::new();
        for (index, (columns, dots)) in letters.iter().enumerate() {
            if index > 0 {
                line.push(' ');
            }
            let upper = dots[row * 2];
            let lower = dots.get(row * 2 + 1).copied().unwrap_or(0);
            for column in (0..*columns).rev() {
                let is_set = |bits: u8| bits >> column & 1 == 1;
                line.push(match (is_set(upper), is_set(lower)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                });
            }
        }
        line
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::report::Stage;
    use lab_run::verdict::Outcome;
    use strum::VariantArray;

    #[test]
    fn letters_look_like_letters() {
        let rows = rows("1.5k").expect("all in the font");
        assert_eq!(
            rows.join("\n"),
            "▄█    █▀▀ █ ▄\n █    ▀▀█ █▀▄\n▀▀▀ ▀ ▀▀▀ ▀ ▀"
        );
        assert!(rows.iter().all(|row| row.chars().count() == width("1.5k")));
    }

    #[test]
    fn every_word_of_a_verdict_and_a_stage_is_in_the_font() {
        for outcome in [
            Outcome::Pass,
            Outcome::Fail,
            Outcome::Crash,
            Outcome::Void,
            Outcome::NotJudged,
        ] {
            assert!(rows(outcome.word()).is_some(), "{}", outcome.word());
        }
        assert!(rows("BUILD ERROR").is_some());
        for stage in Stage::VARIANTS {
            assert!(
                rows(&stage.word().to_uppercase()).is_some(),
                "{}",
                stage.word()
            );
        }
        assert!(rows("0123456789,.+-%k START").is_some());
        assert_eq!(rows("ß"), None);
    }
}
