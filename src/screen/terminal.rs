//! Owns the terminal's modes: raw input, the alternate screen, bracketed paste, the cursor. They are
//! given back exactly once, whichever way the screen ends.

use crate::screen::watchdog::Watchdog;
use lab_tui::event::Event;
use lab_tui::request::Modes;
use lab_tui::settings::Notify;
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::clipboard::CopyToClipboard;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute, queue};
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Whether the modes are ours now. The panic hook asks it too, so it belongs to the process.
static OURS: AtomicBool = AtomicBool::new(false);

/// For the time in which they are ours.
static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

/// A frame is written as one piece, so that it reaches the terminal as one.
const FRAME_BYTES: usize = 256 * 1024;

/// Presses, releases, the wheel, and motion while a button is down, in SGR form (xterm's control sequences,
/// "Mouse Tracking"). Motion without a button would be a flood that nobody needs.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

pub struct Guard {
    terminal: ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    modes: Modes,
    /// What is on the terminal is not known any more: the next frame is drawn whole.
    is_forgotten: bool,
}

impl Guard {
    /// Takes the terminal. The error says what to do where there is none.
    pub fn enter() -> io::Result<Self> {
        take()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout()));
        let terminal = ratatui::Terminal::new(backend).inspect_err(|_| restore())?;
        Ok(Guard { terminal, modes: Modes::default(), is_forgotten: false })
    }

    /// Draws one frame; a terminal that knows synchronized updates shows it at once and whole.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let drawn = self.forget_what_was().and_then(|()| self.terminal.draw(render).map(|_| ()));
        let closed = execute!(self.terminal.backend_mut(), EndSynchronizedUpdate);
        drawn.and(closed)
    }

    /// Has the terminal report this from now on, also after it was lent.
    pub fn set_modes(&mut self, modes: Modes) -> io::Result<()> {
        if modes == self.modes {
            return Ok(());
        }
        self.modes = modes;
        self.report()
    }

    fn report(&mut self) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        out.write_all(if self.modes.mouse { MOUSE_ON } else { MOUSE_OFF }.as_bytes())?;
        match self.modes.focus {
            true => execute!(out, EnableFocusChange),
            false => execute!(out, DisableFocusChange),
        }
    }

    /// Puts text on the clipboard of the user's terminal (OSC 52), wherever that is.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Calls the user: the bell, or OSC 9 with a text, through tmux where that is between.
    pub fn call(&mut self, how: Notify, text: &str, in_tmux: bool) -> io::Result<()> {
        let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
        let out = self.terminal.backend_mut();
        match (how, in_tmux) {
            (Notify::Off, _) => return Ok(()),
            (Notify::Bell, _) => out.write_all(b"\x07")?,
            (Notify::Osc, false) => write!(out, "\x1b]9;{text}\x07")?,
            (Notify::Osc, true) => write!(out, "\x1bPtmux;\x1b\x1b]9;{text}\x07\x1b\\")?,
        }
        out.flush()
    }

    /// Gives the terminal to somebody else: an editor, the shell.
    pub fn leave(&mut self) {
        restore();
    }

    /// Takes it back. The next frame is drawn whole.
    pub fn come_back(&mut self) -> io::Result<()> {
        take()?;
        if self.modes != Modes::default() {
            self.report()?;
        }
        self.repaint();
        Ok(())
    }

    /// Has the next frame drawn whole.
    pub fn repaint(&mut self) {
        self.is_forgotten = true;
    }

    /// Within the frame, or an empty screen would be seen before it. Not by `clear()`: that asks the terminal where
    /// its cursor is, and the answer would have to come through the input thread.
    fn forget_what_was(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_forgotten) {
            let size = self.terminal.size()?;
            self.terminal.resize(size.into())?;
        }
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

fn take() -> io::Result<()> {
    if OURS.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    set_watchdog(Watchdog::start().ok());
    let taken = enable_raw_mode()
        .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide));
    taken.inspect_err(|_| restore())
}

/// Gives back what is ours. Errors are left aside: the terminal may be gone, and there is no more
/// that could be done about it.
fn restore() {
    if !OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // Said whether they were on or not: this may be a panic, which knows no guard.
    let _ = out.write_all(MOUSE_OFF.as_bytes());
    let _ = execute!(out, EndSynchronizedUpdate, DisableFocusChange, DisableBracketedPaste);
    let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
    set_watchdog(None);
}

/// The one before, if any, ends.
fn set_watchdog(watchdog: Option<Watchdog>) {
    // A panic elsewhere leaves nothing half done here.
    *WATCHDOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = watchdog;
}

/// A panic of this thread, the one that draws, gives the terminal back before the message is
/// printed. A panic of any other thread must not: the screen goes on, and shows it.
pub fn install_panic_hook(events: Sender<Event>) {
    let drawing = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == drawing || !OURS.load(Ordering::SeqCst) {
            restore();
            before(info);
            return;
        }
        let name = std::thread::current().name().unwrap_or("a worker").to_owned();
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let what = text.unwrap_or("no message");
        let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        // Nobody listens any more where the screen is closing.
        let _ = events.send(Event::WorkerDied { name, message: format!("{what}{place}") });
    }));
}
