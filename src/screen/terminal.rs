//! Owns the terminal's modes: raw input, the alternate screen, bracketed paste, the cursor. They
//! are restored exactly once, however the screen ends.
#![expect(
    clippy::disallowed_methods,
    reason = "it draws cells, whose text lab-tui has cleaned"
)]

use crate::screen::scrolling::Scrolling;
use crate::screen::watchdog::Watchdog;
use lab_protocol::text::is_visible;
use lab_system::threads::lock;
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
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, BufWriter, Stdout, Write};
use std::mem::ManuallyDrop;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard};

/// `Some` while the screen has set its modes. It is static because the panic hook reads it too.
static OURS: Mutex<Option<Watchdog>> = Mutex::new(None);

fn ours() -> MutexGuard<'static, Option<Watchdog>> {
    lock(&OURS)
}

/// The buffer takes a whole frame, so that one write sends it.
const FRAME_BYTES: usize = 256 * 1024;

/// Reports presses, releases, the wheel, and motion while a button is down, in SGR form (xterm's
/// control sequences, "Mouse Tracking"). Motion without a button is not needed and would be many
/// events.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

pub struct Guard {
    /// It is not dropped: its drop shows the cursor, as [`restore`] does, and panics if the
    /// terminal is gone.
    terminal: ManuallyDrop<ratatui::Terminal<Scrolling<BufWriter<Stdout>>>>,
    modes: Modes,
    /// The content of the terminal is unknown: the next frame is drawn whole.
    is_forgotten: bool,
}

impl Guard {
    /// Sets the screen's modes. The error says what to do if there is no terminal.
    pub fn enter() -> io::Result<Self> {
        take()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout()));
        let terminal = Scrolling::new(backend).and_then(ratatui::Terminal::new);
        let terminal = terminal.inspect_err(|_| restore())?;
        let terminal = ManuallyDrop::new(terminal);
        Ok(Guard {
            terminal,
            modes: Modes::default(),
            is_forgotten: false,
        })
    }

    /// Draws one frame. A terminal that supports synchronized updates shows it in one step. Returns
    /// how many cells were written.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<usize> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let drawn = self
            .redraw_if_forgotten()
            .and_then(|()| self.terminal.draw(render).map(|_| ()));
        let closed = execute!(self.terminal.backend_mut(), EndSynchronizedUpdate);
        drawn.and(closed)?;
        Ok(self.terminal.backend_mut().take_written())
    }

    /// Has the terminal report these events from now on, also after an editor had it.
    pub fn set_modes(&mut self, modes: Modes) -> io::Result<()> {
        if modes == self.modes {
            return Ok(());
        }
        self.modes = modes;
        self.report()
    }

    fn report(&mut self) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        out.write_all(
            if self.modes.mouse {
                MOUSE_ON
            } else {
                MOUSE_OFF
            }
            .as_bytes(),
        )?;
        if self.modes.focus {
            execute!(out, EnableFocusChange)
        } else {
            execute!(out, DisableFocusChange)
        }
    }

    /// Puts text on the clipboard of the user's terminal (OSC 52), also over ssh.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(
            self.terminal.backend_mut(),
            CopyToClipboard::to_clipboard_from(text)
        )
    }

    /// Notifies the user by the bell, or by OSC 9 with a text; wraps OSC 9 for tmux if `in_tmux`.
    pub fn call(&mut self, how: Notify, text: &str, in_tmux: bool) -> io::Result<()> {
        let text: String = text.chars().filter(|letter| is_visible(*letter)).collect();
        let out = self.terminal.backend_mut();
        match (how, in_tmux) {
            (Notify::Off, _) => return Ok(()),
            (Notify::Bell, _) => out.write_all(b"\x07")?,
            (Notify::Osc, false) => write!(out, "\x1b]9;{text}\x07")?,
            (Notify::Osc, true) => write!(out, "\x1bPtmux;\x1b\x1b]9;{text}\x07\x1b\\")?,
        }
        out.flush()
    }

    /// Restores the terminal for an editor or the shell.
    pub fn leave(&mut self) {
        restore();
    }

    /// Sets the screen's modes again. The next frame is drawn whole.
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

    /// Renders a frame that the terminal does not get: `render` finds out where everything is.
    pub fn lay_out(&mut self, render: impl FnOnce(&mut Frame)) {
        render(&mut self.terminal.get_frame());
        self.terminal.current_buffer_mut().reset();
    }

    /// Has ratatui draw every cell. It happens within the synchronized update, so no empty screen
    /// is seen. `clear()` is not used: it asks the terminal for the cursor's position, and the
    /// answer would reach the input thread.
    fn redraw_if_forgotten(&mut self) -> io::Result<()> {
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
    if ours().is_some() {
        return Ok(());
    }
    let watchdog = Watchdog::start();
    *ours() = Some(watchdog);
    let taken = enable_raw_mode().and_then(|()| {
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            cursor::Hide
        )
    });
    taken.inspect_err(|_| restore())
}

/// Restores the terminal if the screen has set its modes. Errors are ignored: the terminal may be
/// gone, and nothing more can be done.
fn restore() {
    let Some(watchdog) = ours().take() else {
        return;
    };
    let mut out = io::stdout();
    // Sent whether they were on or not: in a panic the guard's state is not known.
    let _ = out.write_all(MOUSE_OFF.as_bytes());
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableFocusChange,
        DisableBracketedPaste
    );
    let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
    drop(watchdog);
}

/// Whether the terminal was closed when it gave this error. The error need not say so: crossterm
/// asks for the size by a program if the terminal does not answer, and returns that one's error.
pub fn is_gone(error: &io::Error) -> bool {
    let gone = [
        Errno::IO,
        Errno::NXIO,
        Errno::PIPE,
        Errno::NODEV,
        Errno::BADF,
    ];
    let says_so = error
        .raw_os_error()
        .is_some_and(|code| gone.contains(&Errno::from_raw_os_error(code)));
    says_so || is_hung_up()
}

/// Whether the terminal's other end is closed.
fn is_hung_up() -> bool {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let mut ends = [
        PollFd::new(&stdin, PollFlags::empty()),
        PollFd::new(&stdout, PollFlags::empty()),
    ];
    // A poll that fails tells nothing.
    let _ = poll(&mut ends, Some(&Timespec::default()));
    ends.iter().any(|end| {
        end.revents()
            .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
    })
}

/// If this thread, which draws, panics, the hook restores the terminal before the message is
/// printed. If another thread panics, the screen goes on and shows the message.
pub fn install_panic_hook(events: Sender<Event>) {
    let drawing = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == drawing || ours().is_none() {
            restore();
            before(info);
            return;
        }
        let (name, message) = panicked(info);
        // Sending fails only while the screen closes.
        let _ = events.send(Event::WorkerDied { name, message });
    }));
}

/// A panic in words: its thread, then its message and place.
pub fn panicked(info: &std::panic::PanicHookInfo) -> (String, String) {
    let text = info.payload_as_str().unwrap_or("no message");
    let place = info
        .location()
        .map(|l| format!(" ({}:{})", l.file(), l.line()));
    let name = std::thread::current()
        .name()
        .unwrap_or("a worker")
        .to_owned();
    (name, format!("{text}{}", place.unwrap_or_default()))
}
