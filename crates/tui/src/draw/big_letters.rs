//! Letters three rows tall, made of half blocks, so that a verdict can be read from a distance.

/// Rows of a letter on the screen.
pub const ROWS: usize = 3;

/// Three columns by five dots, from the top; a row's bits are its dots from left to right.
fn dots(letter: char) -> Option<[u8; 5]> {
    Some(match letter {
        '0' => [7, 5, 5, 5, 7],
        '1' => [2, 6, 2, 2, 7],
        '2' => [7, 1, 7, 4, 7],
        '3' => [7, 1, 3, 1, 7],
        '4' => [5, 5, 7, 1, 1],
        '5' => [7, 4, 7, 1, 7],
        '6' => [7, 4, 7, 5, 7],
        '7' => [7, 1, 1, 2, 2],
        '8' => [7, 5, 7, 5, 7],
        '9' => [7, 5, 7, 1, 7],
        'A' => [2, 5, 7, 5, 5],
        'B' => [6, 5, 6, 5, 6],
        'C' => [7, 4, 4, 4, 7],
        'D' => [6, 5, 5, 5, 6],
        'E' => [7, 4, 6, 4, 7],
        'F' => [7, 4, 6, 4, 4],
        'G' => [7, 4, 5, 5, 7],
        'H' => [5, 5, 7, 5, 5],
        'I' => [7, 2, 2, 2, 7],
        'J' => [1, 1, 1, 5, 7],
        'L' => [4, 4, 4, 4, 7],
        'M' => [5, 7, 7, 5, 5],
        'N' => [6, 5, 5, 5, 5],
        'O' => [7, 5, 5, 5, 7],
        'P' => [7, 5, 7, 4, 4],
        'R' => [7, 5, 6, 5, 5],
        'S' => [7, 4, 7, 1, 7],
        'T' => [7, 2, 2, 2, 2],
        'U' => [5, 5, 5, 5, 7],
        'V' => [5, 5, 5, 5, 2],
        'Y' => [5, 5, 2, 2, 2],
        'k' => [4, 5, 6, 5, 5],
        '.' => [0, 0, 0, 0, 1],
        ',' => [0, 0, 0, 1, 1],
        '+' => [0, 2, 7, 2, 0],
        '-' => [0, 0, 7, 0, 0],
        '%' => [5, 1, 2, 4, 5],
        ' ' => [0, 0, 0, 0, 0],
        _ => return None,
    })
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
    use lab_core::run::verdict::Outcome;
    use lab_protocol::report::Stage;

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
        for stage in Stage::ALL {
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
