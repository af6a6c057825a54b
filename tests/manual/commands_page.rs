//! docs/commands.md from the definition of the command line.

use crate::links::anchor;
use clap::{Arg, Command};
use lab::cli::help::KERNEL_AND_EXIT_CODES;
use std::fmt::Write as _;

/// The whole page: a list of the commands, the rules for all of them, and a section for each.
pub fn page(mut lab: Command) -> String {
    lab.build();
    let mut commands = Vec::new();
    collect("lab", &lab, &mut commands);
    let mut out = "# Commands and exit codes\n\n\
                   <!-- Generated from the command line: LAB_WRITE_DOCS=1 cargo test --test manual -->\n\n\
                   `lab help COMMAND` prints the same in a terminal.\n\n\
                   [Which kernel a command means](#which-kernel-a-command-means) and [exit codes](#exit-codes) hold for all of them.\n\n"
        .to_owned();
    for (name, command) in &commands {
        let about = one_line(&command.get_about().unwrap_or_default().to_string());
        writeln!(out, "- [`{name}`](#{}): {about}", anchor(name)).unwrap();
    }
    let (kernel, codes) = KERNEL_AND_EXIT_CODES.split_once("\n\n").unwrap();
    for (title, text) in [
        ("Which kernel a command means", kernel),
        ("Exit codes", codes),
    ] {
        let text = text.split_once('\n').unwrap().1;
        write!(out, "\n## {title}\n\n```text\n{text}\n```\n").unwrap();
    }
    for (name, command) in &commands {
        section(name, command, &mut out);
    }
    out
}

/// The command and the shown ones below it, by their full names.
fn collect<'a>(name: &str, command: &'a Command, found: &mut Vec<(String, &'a Command)>) {
    found.push((name.to_owned(), command));
    for below in command.get_subcommands() {
        if !below.is_hide_set() && below.get_name() != "help" {
            collect(&format!("{name} {}", below.get_name()), below, found);
        }
    }
}

fn section(name: &str, command: &Command, out: &mut String) {
    let about = command.get_long_about().or(command.get_about());
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    write!(
        out,
        "\n## {name}\n\n{}\n\n```text\n",
        about.unwrap_or_default()
    )
    .unwrap();
    for line in usage.lines() {
        writeln!(out, "{}", line.trim()).unwrap();
    }
    out.push_str("```\n");
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let arguments: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    if !arguments.is_empty() {
        out.push('\n');
        for arg in arguments {
            writeln!(out, "- `{arg}`: {}", meaning(arg)).unwrap();
        }
    }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help());
    let mut text = one_line(&help.unwrap_or_default().to_string());
    let defaults: Vec<_> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    let takes_value = arg.get_action().takes_values();
    if takes_value && !defaults.is_empty() && !text.contains("[default") {
        write!(text, " [default: {}]", defaults.join(", ")).unwrap();
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
