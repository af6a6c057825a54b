//! The loop: wait for something, take in all that waits, draw once. It is the only place that
//! reads the clock and owns the terminal.

pub mod appearance_files;
pub mod editor;
pub mod executor;
pub mod highlighter;
pub mod input;
pub mod layout_file;
pub mod repository_worker;
pub mod settings_files;
pub mod settings_worker;
pub mod signals;
pub mod source_files;
pub mod telemetry_monitor;
pub mod terminal;
pub mod view_loader;
mod watchdog;

use crate::screen::executor::Executor;
use crate::screen::input::InputThread;
use crate::screen::repository_worker::Opening;
use crate::screen::settings_worker::Cupboard;
use crate::screen::signals::SignalThread;
use crate::screen::terminal::{Guard, install_panic_hook};
use jiff::tz::TimeZone;
use lab_core::project::Project;
use lab_tui::app::{App, Now, Setup};
use lab_tui::effect::Effect;
use lab_tui::event::Event;
use lab_tui::layout::Layout;
use lab_tui::panes;
use lab_tui::request::Preferences;
use lab_tui::request::Spot;
use lab_tui::status::Level;
use rustix::process::{Signal, kill_current_process_group};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Frames of data come no closer than this; a key is drawn at once.
const FRAME: Duration = Duration::from_millis(16);

/// No more than this is taken in before a frame.
const TURN: Duration = Duration::from_millis(8);
const TURN_EVENTS: usize = 256;

/// Nobody listens to the clock for a day: then nothing moves at all.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is the user's own.
pub struct User {
    pub preferences: Preferences,
    pub layout: Layout,
    /// What was wrong with the remembered layout.
    pub problem: Option<String>,
    pub cupboard: Cupboard,
}

/// How the screen ended: the number of the signal that asked for it, if one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub signal: Option<i32>,
}

/// Opens the screen and stays until it is closed. The terminal is given back in any case.
pub fn run(project: Arc<Project>, opening: Opening, user: User) -> io::Result<Ended> {
    let (events, inbox) = mpsc::channel();
    install_panic_hook(events.clone());
    let mut app = App::new(Setup::of(&project), user.preferences.theme.clone(), TimeZone::system());
    app.adopt(user.preferences);
    app.recall(user.layout);
    if let Some(problem) = user.problem {
        app.say(Level::Warning, problem);
    }
    let guard = Guard::enter()?;
    let mut screen = Screen {
        app,
        guard,
        inbox,
        project: Arc::clone(&project),
        opened: Instant::now(),
        drawn: None,
        signal: None,
        resumed: false,
    };
    // The first frame comes before anything that could be slow.
    screen.draw()?;
    let threads = Threads::start(&project, opening, user.cupboard, &events)?;
    let stayed = screen.stay(&threads);
    // First the terminal, so that nobody looks at a dead screen while the last work is finished.
    screen.guard.leave();
    threads.signals.give_back();
    drop(threads);
    stayed?;
    Ok(Ended { signal: screen.signal })
}

struct Threads {
    executor: Executor,
    input: InputThread,
    signals: SignalThread,
    events: Sender<Event>,
}

impl Threads {
    fn start(
        project: &Arc<Project>,
        opening: Opening,
        cupboard: Cupboard,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        Ok(Threads {
            signals: SignalThread::start(events.clone())?,
            input: InputThread::start(events.clone())?,
            executor: Executor::start(project, opening, cupboard, events)?,
            events: events.clone(),
        })
    }
}

struct Screen {
    app: App,
    guard: Guard,
    inbox: Receiver<Event>,
    project: Arc<Project>,
    opened: Instant,
    drawn: Option<Instant>,
    signal: Option<i32>,
    /// The SIGCONT that follows a suspension of our own was seen to already.
    resumed: bool,
}

impl Screen {
    fn now(&self) -> Now {
        self.opened.elapsed()
    }

    fn draw(&mut self) -> io::Result<()> {
        let app = &mut self.app;
        self.guard.set_modes(app.modes())?;
        self.guard.draw(|frame| panes::draw(frame, app))?;
        app.dirty = false;
        app.urgent = false;
        self.drawn = Some(Instant::now());
        Ok(())
    }

    fn stay(&mut self, threads: &Threads) -> io::Result<()> {
        for effect in self.app.open() {
            threads.executor.carry_out(effect);
        }
        loop {
            let event = self.wait();
            if self.take_in(event, threads)? {
                return Ok(());
            }
            if self.app.dirty && (self.app.urgent || self.frame_is_due()) {
                self.draw()?;
            }
        }
    }

    fn frame_is_due(&self) -> bool {
        self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME)
    }

    /// Sleeps until something happens, a frame is due, or the app wants its clock.
    fn wait(&self) -> Event {
        let frame = self.drawn.filter(|_| self.app.dirty).map(|drawn| FRAME.saturating_sub(drawn.elapsed()));
        let clock = self.app.wakes_at().map(|at| at.saturating_sub(self.now()));
        let patience = [frame, clock].into_iter().flatten().min().unwrap_or(IDLE);
        match self.inbox.recv_timeout(patience) {
            Ok(event) => event,
            // The loop itself holds a sender, so it is the time that ran out.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Event::Tick,
        }
    }

    /// Takes in this event and what waits behind it; true where the screen is to close.
    fn take_in(&mut self, event: Event, threads: &Threads) -> io::Result<bool> {
        let began = Instant::now();
        let mut next = Some(event);
        let mut taken = 0;
        let was_dirty = self.app.dirty;
        let mut is_dirty = was_dirty;
        while let Some(event) = next.take() {
            let was_quiet = matches!(event, Event::Tick);
            if self.update(event, threads)? {
                return Ok(true);
            }
            // An event that changed nothing must not undo that an earlier one did.
            is_dirty |= self.app.dirty;
            taken += 1;
            if self.app.urgent || taken >= TURN_EVENTS || began.elapsed() >= TURN || was_quiet {
                break;
            }
            next = self.inbox.try_recv().ok();
        }
        self.app.dirty = is_dirty;
        Ok(false)
    }

    fn update(&mut self, event: Event, threads: &Threads) -> io::Result<bool> {
        match &event {
            Event::Project(Ok(project)) => {
                self.project = Arc::clone(project);
                threads.executor.adopt(project);
            }
            Event::Terminate(signal) => self.signal = Some(*signal),
            Event::Hangup => self.signal = Some(signal_hook::consts::SIGHUP),
            Event::Continued if std::mem::take(&mut self.resumed) => return Ok(false),
            // Somebody else stopped us, and a shell has had the terminal since.
            Event::Continued => self.guard.leave(),
            // Also where it is the known size again: the terminal was another for a moment, and forgot cells.
            Event::Resize => self.guard.repaint(),
            _ => {}
        }
        let now = self.now();
        for effect in self.app.update(event, now) {
            match threads.executor.carry_out(effect) {
                Some(Effect::Quit) => return Ok(true),
                Some(Effect::Repaint) => self.guard.come_back()?,
                Some(Effect::Suspend) => self.suspend(threads)?,
                Some(Effect::Copy(text)) => self.guard.copy(&text)?,
                Some(Effect::Call(how, text)) => {
                    self.guard.call(how, &text, std::env::var_os("TMUX").is_some())?;
                }
                Some(Effect::OpenEditor(spot)) => self.edit(spot, threads)?,
                _ => {}
            }
        }
        Ok(false)
    }

    /// Gives the terminal to the shell. The whole group stops, or a `cargo run` around this process
    /// would go on waiting and the shell would never know.
    fn suspend(&mut self, threads: &Threads) -> io::Result<()> {
        threads.input.pause();
        self.guard.leave();
        kill_current_process_group(Signal::STOP)?;
        // Stopped here, until SIGCONT.
        self.resumed = true;
        self.guard.come_back()?;
        threads.input.go_on();
        Ok(())
    }

    fn edit(&mut self, spot: Option<Spot>, threads: &Threads) -> io::Result<()> {
        threads.input.pause();
        self.guard.leave();
        threads.signals.lend(true);
        let set = self.app.settings.editor.clone();
        let editor = set.unwrap_or_else(|| editor::chosen(|name| std::env::var(name).ok()));
        let mut command = editor::command(&editor, &self.project.kernel, spot);
        let ended = command.status();
        threads.signals.lend(false);
        self.guard.come_back()?;
        threads.input.go_on();
        // The channel lives as long as the screen.
        let _ = threads.events.send(Event::EditorClosed(editor::complaint(&editor, ended)));
        Ok(())
    }
}
