//! Asks the person at the terminal.

use super::{is_json, say, say_below};
use anyhow::{Context, Result};
use lab_protocol::console::stdout_is_terminal;
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

/// Shows the lines, each with a number, below what `title` says, and asks for one of them: its number
/// or its name. `None` where the person ends the input, with Ctrl+D.
pub fn which(title: &str, lines: &[String], names: &[&str]) -> Result<Option<usize>> {
    say(title);
    let numbered = lines.iter().enumerate();
    say_below(numbered.map(|(at, line)| format!("{:>2}  {line}", at + 1)));
    loop {
        say(&format!(
            "Which one? A number from 1 to {}, or its name:",
            names.len()
        ));
        let Some(word) = line()? else {
            return Ok(None);
        };
        let by_number = word
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1))
            .filter(|at| *at < names.len());
        let chosen = by_number.or_else(|| names.iter().position(|name| *name == word));
        if chosen.is_some() {
            return Ok(chosen);
        }
    }
}
