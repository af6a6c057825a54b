//! A panic of a program that holds the terminal. The test starts itself in a pseudo terminal and
//! panics there.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[allow(dead_code)]
#[path = "pty/bench.rs"]
mod bench;

use bench::Bench;
use lab::screen::terminal::{Guard, install_panic_hook};
use lab_tui::event::Event;
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

const DRAWING_THREAD: &str = "panics-in-the-drawing-thread";
const WORKER: &str = "panics-in-a-worker";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(DRAWING_THREAD) => panics_in_the_drawing_thread(),
        Some(WORKER) => {
            panics_in_a_worker();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let trials = vec![
        Trial::test("a_panic_gives_the_terminal_back_and_then_speaks", || {
            let bench = Bench::new();
            let mut program = bench.open_this_program(DRAWING_THREAD);
            program.see("the drawing thread fell over");
            assert_ne!(program.end(), 0);
            Ok(())
        }),
        Trial::test("a_panic_of_another_thread_leaves_the_screen_alone", || {
            let bench = Bench::new();
            let mut program = bench.open_this_program(WORKER);
            program.see("a worker said: worker fell over");
            assert_eq!(program.end(), 0);
            Ok(())
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn panics_in_the_drawing_thread() {
    let (events, _inbox) = std::sync::mpsc::channel();
    install_panic_hook(events);
    let _guard = Guard::enter().unwrap();
    panic!("the drawing thread fell over");
}

fn panics_in_a_worker() {
    let (events, inbox) = std::sync::mpsc::channel();
    install_panic_hook(events);
    let mut guard = Guard::enter().unwrap();
    let worker = std::thread::Builder::new().name("worker".to_owned());
    let _ = worker.spawn(|| panic!("fell over")).unwrap().join();
    let Ok(Event::WorkerDied { name, message }) = inbox.recv() else {
        panic!("the panic was not reported")
    };
    assert!(message.starts_with("fell over ("), "{message}");
    // The guard still holds the terminal: a frame can be drawn, and the end restores the terminal.
    guard
        .draw(|frame| frame.render_widget("still here", frame.area()))
        .unwrap();
    drop(guard);
    lab_protocol::console::say(&format!("a worker said: {name} fell over"));
}
