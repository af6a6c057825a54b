//! Asks the person at the terminal to choose.

use super::{say, say_below};
use anyhow::{Context, Result};
use std::io;

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
        let mut line = String::new();
        let read = io::stdin()
            .read_line(&mut line)
            .context("cannot read the answer")?;
        if read == 0 {
            return Ok(None);
        }
        let word = line.trim();
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
