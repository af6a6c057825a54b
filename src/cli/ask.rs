//! Asks the person at the terminal.

use super::{is_json, say, say_below};
use anyhow::{Context, Result};
use lab_protocol::console::stdout_is_terminal;
use lab_text::listed;
use lab_text::suggest::did_you_mean;
use std::io::{self, IsTerminal};

/// Whether a person can be asked: stdin and stdout are a terminal, and no JSON is wanted.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && stdout_is_terminal() && !is_json()
}

/// Asks a question to which only `y` or `yes` says yes.
pub fn yes(question: &str) -> Result<bool> {
    say(&format!("{question} [y/N]"));
    let answer = line()?.unwrap_or_default();
    Ok(["y", "yes"].contains(&answer.to_lowercase().as_str()))
}

/// What the person types in one line; `None` where the input ends, with Ctrl+D.
fn line() -> Result<Option<String>> {
    let mut line = String::new();
    let read = io::stdin()
        .read_line(&mut line)
        .context("cannot read the answer")?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// Shows the lines, each with a number, below what `title` says, and asks for one of them: its number,
/// its name or the beginning of its name. `None` if the person chooses none: with an empty line, `q`
/// or Ctrl+D.
pub fn which(title: &str, lines: &[String], names: &[&str]) -> Result<Option<usize>> {
    say(title);
    let numbered = lines.iter().enumerate();
    say_below(numbered.map(|(at, line)| format!("{:>2}  {line}", at + 1)));
    let question = format!(
        "Which one? A number from 1 to {}, or its name; an empty line for none:",
        names.len()
    );
    loop {
        say(&question);
        let Some(word) = line()?.filter(|word| !["", "q"].contains(&word.as_str())) else {
            return Ok(None);
        };
        match chosen(&word, names) {
            Ok(at) => return Ok(Some(at)),
            Err(why) => say(&why),
        }
    }
}

/// The position of the line that the word means; the error says why it means none.
fn chosen(word: &str, names: &[&str]) -> Result<usize, String> {
    if let Some(at) = names.iter().position(|name| *name == word) {
        return Ok(at);
    }
    if let Ok(number) = word.parse::<usize>() {
        let at = number.checked_sub(1).filter(|at| *at < names.len());
        return at.ok_or_else(|| format!("there is no line {number}"));
    }
    let begins = |(at, name): (usize, &&str)| name.starts_with(word).then_some(at);
    let alike: Vec<usize> = names.iter().enumerate().filter_map(begins).collect();
    match alike.as_slice() {
        [only] => Ok(*only),
        [] => Err(format!(
            "nothing here is called {word}{}",
            did_you_mean(word, names.iter().copied())
        )),
        several => Err(format!(
            "several begin with {word}: {}",
            listed(several.iter().map(|at| names[*at])).unwrap_or_default()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_meant_by_its_number_its_name_or_the_beginning_of_it() {
        let names = ["softmax", "saxpy", "softplus"];
        let chosen = |word: &str| chosen(word, &names);
        assert_eq!(chosen("2"), Ok(1));
        assert_eq!(chosen("softmax"), Ok(0));
        assert_eq!(chosen("sa"), Ok(1));
        for (word, why) in [
            ("9", "there is no line 9"),
            ("soft", "several begin with soft: softmax, softplus"),
            (
                "sofmax",
                "nothing here is called sofmax (did you mean softmax?)",
            ),
        ] {
            assert_eq!(chosen(word), Err(why.to_owned()));
        }
    }
}
