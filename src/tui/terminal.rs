//! Owns the terminal's modes: raw input, the alternate screen, bracketed paste, the cursor. They are
//! given back exactly once, whichever way the screen ends.

use super::event::Event;
use super::watchdog::Watchdog;
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
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

pub struct Guard {
    terminal: ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Guard {
    /// Takes the terminal. The error says what to do where there is none.
    pub fn enter() -> io::Result<Self> {
        take()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout()));
        let terminal = ratatui::Terminal::new(backend).inspect_err(|_| restore())?;
        Ok(Guard { terminal })
    }

    /// Draws one frame; a terminal that knows synchronized updates shows it at once and whole.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(render).map(|_| ());
        let closed = execute!(self.terminal.backend_mut(), EndSynchronizedUpdate);
        drawn.and(closed)
    }

    /// Gives the terminal to somebody else: an editor, the shell.
    pub fn leave(&mut self) {
        restore();
    }

    /// Takes it back. The next frame is drawn whole.
    pub fn come_back(&mut self) -> io::Result<()> {
        take()?;
        self.repaint()
    }

    /// Forgets what is on the terminal, so that the next frame is drawn whole. Not `clear()`: that
    /// asks the terminal where its cursor is, and the answer would have to come through the input thread.
    pub fn repaint(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
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
    let _ = execute!(out, EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
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
