//! What the commands print: text for people on stdout, errors on stderr, JSON alone with `--json`.
//! Everything goes through [`console`], which cleans it.

use super::json;
use crate::screen::terminal::panicked;
use lab_decide::Refusal;
use lab_project::Project;
use lab_protocol::{Exit, console};
use lab_store::series::{Series, SeriesStart};
use lab_system::open_files::with_remedy;
use serde::Serialize;
use std::fmt::Display;
use std::io::BufWriter;
use std::panic::{PanicHookInfo, set_hook};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::thread;

pub use lab_protocol::console::{say, say_each, say_lines, say_styled, say_text};

/// The exit code of a command that was refused or failed, if it judges nothing.
pub const FAILED: u8 = 1;

pub fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}

/// Prints a message on stderr, after `lab: `.
pub fn complain(text: &str) {
    console::complain("lab", &with_remedy(text));
}

/// What the arguments ask for: a command by its name if they ask for JSON. Read before clap reads
/// them: also an error of clap's is an answer.
struct Request {
    json: bool,
    command: Option<String>,
}

static REQUEST: OnceLock<Request> = OnceLock::new();

/// Remembers whether the arguments ask for JSON, and of which command.
pub fn remember_request(definition: impl Fn() -> clap::Command) {
    let words = || std::env::args_os().skip(1).take_while(|word| word != "--");
    let json = words().any(|word| word == "--json");
    let named = |word| {
        definition()
            .find_subcommand(word)
            .map(|command| command.get_name().to_owned())
    };
    let command = if json { words().find_map(named) } else { None };
    let _ = REQUEST.set(Request { json, command });
}

/// Whether the arguments ask for JSON.
pub fn is_json() -> bool {
    REQUEST.get().is_some_and(|request| request.json)
}

/// Prints the answer of a `--json` command and returns its exit code. Nothing else goes to stdout.
pub fn answer(exit: impl Into<u8>, value: impl Serialize) -> ExitCode {
    let exit = exit.into();
    print_answer(exit, None, value);
    ExitCode::from(exit)
}

/// Tells what a command did: the answer with `--json`, else what `tell` prints.
pub fn told(value: impl Serialize, tell: impl FnOnce()) -> ExitCode {
    told_with(Exit::Passed, value, tell)
}

/// [`told`] of a command that ends with this exit code.
pub fn told_with(exit: impl Into<u8>, value: impl Serialize, tell: impl FnOnce()) -> ExitCode {
    let exit = exit.into();
    if is_json() {
        return answer(exit, value);
    }
    tell();
    ExitCode::from(exit)
}

/// Prints details below a line, indented.
pub fn say_below<T: Display>(details: impl IntoIterator<Item = T>) {
    say_each(details.into_iter().map(|detail| format!("  {detail}")));
}

fn print_answer(exit_code: u8, error: Option<&str>, value: impl Serialize) {
    let command = REQUEST.get().and_then(|request| request.command.as_deref());
    console::note(json::write_answer(
        BufWriter::new(console::stdout()),
        command,
        exit_code,
        error,
        value,
    ));
}

/// Reports why a command failed, with `--json` also as JSON, and returns its exit code.
pub fn failed(why: &str, exit: impl Into<u8>) -> ExitCode {
    failed_with(why, exit, json::Nothing {})
}

/// [`failed`] with keys that an answer in JSON has besides.
pub fn failed_with(why: &str, exit: impl Into<u8>, rest: impl Serialize) -> ExitCode {
    let (exit, why) = (exit.into(), with_remedy(why));
    if is_json() {
        print_answer(exit, Some(&why), rest);
    }
    complain(&why);
    ExitCode::from(exit)
}

/// Says on stderr which benches or sweeps cannot be read: an answer leaves them out.
pub fn complain_of<S: SeriesStart>(series: &Series<S>) {
    let problems = series.problems();
    problems.for_each(|problem| complain(&format!("{problem:#}")));
}

/// Goes on with the decision of a lab that was killed, and says on stderr what was done or why
/// nothing can be done now.
pub fn resume(project: &Project) {
    let resumed = lab_decide::resume(project);
    let resumed = resumed.unwrap_or_else(|error| Some(format!("{error:#}")));
    resumed.iter().for_each(|text| complain(text));
}

/// Reports why nothing was decided, and returns the exit code. What an earlier lab began and this
/// command asked for again is done: that is a success.
pub fn refused(refusal: &Refusal) -> ExitCode {
    match refusal {
        Refusal::Resumed {
            text,
            is_as_asked: true,
        } => told(json::Resumed::new(text, None), || say(text)),
        refusal => failed(&refusal.to_string(), FAILED),
    }
}

/// Prints what clap has to say: help and version on stdout, errors on stderr. Coloured on a
/// terminal, except if an argument holds a character that a terminal does not show.
pub fn say_of_clap(error: &clap::Error) {
    let clean =
        std::env::args_os().all(|argument| argument.to_str().is_some_and(console::is_clean));
    let is_terminal = if error.use_stderr() {
        console::stderr_is_terminal()
    } else {
        console::stdout_is_terminal()
    };
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let styled = clean
        && is_terminal
        && set("NO_COLOR").is_none()
        && set("TERM").is_some_and(|t| t != "dumb");
    let text = error.render();
    let text = if styled {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    if error.use_stderr() {
        if is_json() {
            print_answer(
                Exit::Usage as u8,
                Some(error.to_string().trim_end()),
                json::Nothing {},
            );
        }
        console::complain_styled(&text);
    } else {
        text.trim_end_matches('\n').lines().for_each(say_styled);
    }
}

/// The exit code of a Rust program that panicked.
const PANICKED: u8 = 101;

/// Has panics printed as the other messages are: what a panic says may quote text from outside.
pub fn install_panic_hook() {
    set_hook(Box::new(|info| {
        let text = of_panic(info);
        if is_json() && thread::current().name() == Some("main") {
            print_answer(PANICKED, Some(&text), json::Nothing {});
        }
        complain(&text);
    }));
}

fn of_panic(info: &PanicHookInfo) -> String {
    let (name, text) = panicked(info);
    let report = "this is an error of lab itself: please report it, with RUST_BACKTRACE=1 set";
    let trace = std::backtrace::Backtrace::capture();
    let trace = match trace.status() {
        std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
        _ => String::new(),
    };
    format!("the thread {name} panicked: {text}\n{report}{trace}")
}

/// Columns of the terminal; `otherwise` where it does not say: a serial console says 0.
pub fn columns(otherwise: usize) -> usize {
    let size = crossterm::terminal::size().ok();
    let columns = size.map(|(columns, _)| usize::from(columns));
    columns.filter(|columns| *columns > 0).unwrap_or(otherwise)
}
