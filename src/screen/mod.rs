//! The screen's main loop and its threads. The loop waits for an event, applies all waiting events,
//! then draws at most once. Only this module reads the clock and owns the terminal. The threads
//! below answer the model's requests.

pub mod appearance_files;
pub mod editor;
mod exports;
pub mod highlighter;
pub mod inbox;
pub mod input;
pub mod layout_file;
mod pace;
pub mod preferences;
pub mod profile_files;
pub mod profiler;
pub mod repository_worker;
mod scrolling;
pub mod settings_files;
pub mod settings_worker;
pub mod signals;
pub mod source_files;
pub mod telemetry_monitor;
pub mod terminal;
pub mod threads;
pub mod view_loader;
mod watchdog;
pub mod worker;

use crate::screen::inbox::Inbox;
use crate::screen::pace::Pace;
use crate::screen::repository_worker::Opening;
use crate::screen::settings_worker::UserFiles;
use crate::screen::terminal::{Guard, install_panic_hook};
use crate::screen::threads::Threads;
use crate::screen::view_loader::RecordText;
use jiff::tz::TimeZone;
use lab_project::Project;
use lab_project::screen_lock::{self, ScreenLock};
use lab_runner::spec::RunSpec;
use lab_system::descendants;
use lab_tui::effect::{Effect, Redraw};
use lab_tui::event::{Event, TerminalEvent, UserInput};
use lab_tui::geometry::FrameGeometry;
use lab_tui::keymap::Action;
use lab_tui::layout::{Layout, UserChoice};
use lab_tui::model::Model;
use lab_tui::reply::RepositoryReply;
use lab_tui::request::{Preferences, RepositoryRequest, Spot};
use lab_tui::state::{Now, Setup};
use lab_tui::status::MessageLevel;
use lab_tui::{Places, open, update, view};
use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::SIGHUP;
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// At most this much time passes before a frame is drawn, however many keys wait.
const TURN: Duration = Duration::from_millis(8);

/// How long the loop waits if the model asks for no timer.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// The user's settings and files, read before the screen opens.
pub struct User {
    pub preferences: Preferences,
    pub layout: Layout,
    pub choice: UserChoice,
    /// Why the remembered layout was not used.
    pub problem: Option<String>,
    pub files: UserFiles,
    /// Shows a bench or a sweep as its command does.
    pub record: RecordText,
    /// The keys that were typed for this screen before it opened.
    pub typed: Vec<Event>,
    /// The screen that judges the kernel in the place of this one.
    pub other: Option<String>,
}

/// How the screen ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// The number of the signal that asked for it, if one did.
    pub signal: Option<i32>,
    /// The screen that the user asked for instead.
    pub next: Option<Next>,
}

/// A screen to open: its project, and the lock that it holds, or that another screen holds.
#[derive(Debug)]
pub struct Next {
    pub project: Arc<Project>,
    pub opening: Opening,
    pub lock: ScreenLock,
    /// The keys that were typed since it was asked for.
    pub typed: Vec<Event>,
}

impl Next {
    /// Opens another kernel of the repository by its path relative to the root.
    fn open(present: &Project, opening: &Opening, kernel: &str) -> anyhow::Result<Next> {
        // Commands that the screen names are for the folder in which it was opened.
        let path = if opening.from == present.root {
            kernel.into()
        } else {
            present.root.join(kernel)
        };
        let opening = Opening {
            from: opening.from.clone(),
            kernel: Some(path),
            lists: false,
        };
        let project = Arc::new(Project::open(&opening.from, opening.kernel.as_deref())?);
        let lock = screen_lock::take(&project)?;
        Ok(Next {
            project,
            opening,
            lock,
            typed: Vec::new(),
        })
    }
}

/// Opens the screen and returns when it is closed. The terminal is restored in any case. A terminal
/// that was closed counts as SIGHUP, which may come later than the first error.
pub fn run(project: Arc<Project>, opening: Opening, user: User) -> io::Result<Ended> {
    match show(project, opening, user) {
        Err(error) if terminal::is_gone(&error) => Ok(Ended {
            signal: Some(SIGHUP),
            next: None,
        }),
        ended => ended,
    }
}

fn show(project: Arc<Project>, opening: Opening, user: User) -> io::Result<Ended> {
    let (events, receiver) = mpsc::channel();
    let inbox = Inbox::new(events.clone(), receiver);
    install_panic_hook(events.clone());
    let mut model = Model::new(
        Setup::of(&project),
        user.preferences.theme.clone(),
        TimeZone::system(),
    );
    model.adopt(user.preferences);
    model.restore_layout(user.layout);
    model.restore_choice(user.choice);
    if let Some(problem) = user.problem {
        model.say(MessageLevel::Warning, problem);
    }
    if let Some(other) = &user.other {
        model.only_show(other.clone());
    }
    let guard = Guard::enter()?;
    let mut screen = Screen {
        model,
        guard,
        inbox,
        project: Arc::clone(&project),
        opened: Instant::now(),
        pace: Pace::default(),
        redraw: Redraw::AtOnce,
        places: Places::Known,
        ended: Ended::default(),
        resumed: false,
        opening: opening.clone(),
    };
    // The first frame is drawn before anything that could be slow.
    screen.draw()?;
    for key in user.typed {
        // This function holds the receiver, so this cannot fail.
        let _ = screen.inbox.keys().send(key);
    }
    let mut threads = Threads::start(
        &project,
        (opening, user.other.is_none()),
        (user.files, user.record),
        &events,
        &screen.inbox,
    )?;
    let mut stayed = screen.stay(&threads);
    if stayed.as_ref().is_err_and(terminal::is_gone) {
        (screen.ended.signal, stayed) = (Some(SIGHUP), Ok(()));
    }
    // The terminal is restored first, so that the user need not wait for the last work.
    screen.guard.leave();
    threads.signals.give_back(screen.ended.signal);
    drop(threads);
    // Nobody reads keys any more: those that were read are for the next screen.
    if let Some(next) = &mut screen.ended.next {
        next.typed.extend(screen.inbox.unread());
    }
    stayed.map(|()| screen.ended)
}

struct Screen {
    model: Model,
    guard: Guard,
    inbox: Inbox,
    project: Arc<Project>,
    opened: Instant,
    pace: Pace,
    /// What the events since the last frame ask for.
    redraw: Redraw,
    places: Places,
    ended: Ended,
    opening: Opening,
    /// The screen suspended itself and has handled the return; the SIGCONT event that follows is
    /// ignored.
    resumed: bool,
}

impl Screen {
    fn now(&self) -> Now {
        self.opened.elapsed()
    }

    fn draw(&mut self) -> io::Result<()> {
        self.guard.set_modes(self.model.appearance.modes())?;
        let mut geometry = FrameGeometry::default();
        let cells = self
            .guard
            .draw(|frame| geometry = view(&self.model, frame))?;
        self.take(geometry);
        self.redraw = Redraw::No;
        self.pace.drew(cells);
        Ok(())
    }

    /// Tells the model where everything is, as a frame would, for a key that needs it.
    fn lay_out(&mut self) {
        let mut geometry = FrameGeometry::default();
        self.guard
            .lay_out(|frame| geometry = view(&self.model, frame));
        self.take(geometry);
    }

    /// The model stores where everything is. This asks for nothing else.
    fn take(&mut self, geometry: FrameGeometry) {
        let now = self.now();
        let _ = update(&mut self.model, Event::Drawn(Box::new(geometry)), now);
        self.places = Places::Known;
    }

    fn stay(&mut self, threads: &Threads) -> io::Result<()> {
        for effect in open(&mut self.model, self.opening.asks_for_kernel(&self.project)) {
            self.carry_out(effect, threads)?;
        }
        loop {
            let event = self.wait();
            if self.take_in(event, threads)? {
                return Ok(());
            }
            if self.pace.allows(self.redraw) {
                self.draw()?;
            }
        }
    }

    /// Waits for an event, the next frame, or the timer that the model asked for.
    fn wait(&mut self) -> Event {
        let is_changed = self.redraw != Redraw::No;
        let frame = is_changed.then(|| self.pace.rest());
        let clock = self
            .model
            .wakes_at()
            .map(|at| at.saturating_sub(self.now()));
        self.inbox
            .wait([frame, clock].into_iter().flatten().min().unwrap_or(IDLE))
    }

    /// Applies this event and those that wait behind it. Returns true if the screen is to close.
    ///
    /// Keys that wait together are drawn together: a long paste, or a key that was held down while
    /// the terminal was slow.
    fn take_in(&mut self, event: Event, threads: &Threads) -> io::Result<bool> {
        let began = Instant::now();
        let mut next = Some(event);
        while let Some(event) = next.take() {
            // A tick came because nothing else did. A new size needs a frame before anything else.
            let is_last = matches!(event, Event::Tick | Event::Terminal(_));
            if !self.places.serve(&self.model, &event) {
                self.lay_out();
            }
            if self.update(event, threads)? {
                return Ok(true);
            }
            if is_last || began.elapsed() >= TURN {
                break;
            }
            next = self.inbox.try_next();
            let is_soon = matches!(next, None | Some(Event::Input(_) | Event::Terminal(_)));
            if self.redraw == Redraw::AtOnce
                && !is_soon
                && let Some(event) = next.take()
            {
                self.inbox.put_back(event);
            }
        }
        Ok(false)
    }

    fn update(&mut self, event: Event, threads: &Threads) -> io::Result<bool> {
        match &event {
            Event::Repository(RepositoryReply::Project(Ok(project))) => {
                self.project = Arc::clone(project);
                threads.runner.set_project(Arc::clone(project));
            }
            Event::Terminal(TerminalEvent::Terminate(signal)) => self.ended.signal = Some(*signal),
            Event::Terminal(TerminalEvent::Hangup) => self.ended.signal = Some(SIGHUP),
            Event::Terminal(TerminalEvent::Continued) if std::mem::take(&mut self.resumed) => {
                return Ok(false);
            }
            // Another process stopped this one, and a shell has had the terminal since.
            Event::Terminal(TerminalEvent::Continued) => self.guard.leave(),
            // Also if the size is the same as before: the terminal had another size for a moment
            // and lost cells.
            Event::Terminal(TerminalEvent::Resize) => self.guard.repaint(),
            _ => {}
        }
        let (now, places) = (self.now(), self.places.after(&self.model, &event));
        let update = update(&mut self.model, event, now);
        // An event that changed nothing must not hide the change of an earlier one.
        self.redraw = self.redraw.max(update.redraw);
        if update.redraw == Redraw::AtOnce {
            self.places = places;
        }
        for effect in update.effects {
            if self.carry_out(effect, threads)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Carries out an effect. Returns true if the screen is to close.
    fn carry_out(&mut self, effect: Effect, threads: &Threads) -> io::Result<bool> {
        match effect {
            Effect::StartRun(reason, inputs) => threads.runner.start(RunSpec {
                inputs,
                ..RunSpec::new(reason)
            }),
            Effect::FollowRun(run) => threads.runner.follow(run),
            Effect::KillRun => threads.runner.kill(),
            Effect::StartProfile => {
                threads.profiler.stop();
                threads.profiler.ask(Arc::clone(&self.project));
            }
            Effect::StopProfile => threads.profiler.stop(),
            Effect::StopKeep => threads.repository.stop(),
            Effect::Refresh => {
                threads.runner.check_standby();
                threads.repository.ask(RepositoryRequest::Look);
            }
            Effect::Repository(request) => threads.repository.ask(request),
            Effect::View(request) => threads.views.ask((Arc::clone(&self.project), request)),
            Effect::Settings(request) => threads.settings.ask(request),
            Effect::Telemetry(gpu) => threads.telemetry.ask(gpu),
            Effect::Highlight(request) => threads.highlighter.ask(request),
            Effect::OpenEditor(spot) => self.edit(spot, threads)?,
            Effect::OpenKernel(kernel) => match Next::open(&self.project, &self.opening, &kernel) {
                Ok(mut next) => {
                    let typed = self.model.frame.typed.take().unwrap_or_default();
                    let typed = typed.into_iter().map(UserInput::Key);
                    next.typed.extend(typed.map(Event::Input));
                    self.ended.next = Some(next);
                    return Ok(true);
                }
                Err(why) => {
                    // What was typed for the other kernel must not act on this one.
                    self.model.frame.typed = None;
                    self.model.refuse(Action::Kernels, format!("{why:#}"));
                    self.redraw = Redraw::AtOnce;
                }
            },
            Effect::Copy(text) => self.guard.copy(&text)?,
            Effect::Notify(how, text) => {
                let in_tmux = std::env::var_os("TMUX").is_some();
                self.guard.call(how, &text, in_tmux)?;
            }
            Effect::Suspend => self.suspend(threads)?,
            Effect::Repaint => self.guard.come_back()?,
            Effect::Quit => return Ok(true),
        }
        Ok(false)
    }

    /// Gives the terminal to the shell. The whole process group stops; otherwise a `cargo run`
    /// around this process would go on and the shell would not notice. Without a shell, nothing
    /// would continue the group.
    fn suspend(&mut self, threads: &Threads) -> io::Result<()> {
        if !descendants::has_shell() {
            let why = "suspend: no shell to return to".to_owned();
            self.model.say(MessageLevel::Warning, why);
            self.redraw = Redraw::AtOnce;
            return Ok(());
        }
        let _paused = threads.input.pause();
        self.guard.leave();
        kill_current_process_group(Signal::STOP)?;
        // The process is stopped here until SIGCONT.
        self.resumed = true;
        self.guard.come_back()
    }

    fn edit(&mut self, spot: Option<Spot>, threads: &Threads) -> io::Result<()> {
        let _paused = threads.input.pause();
        self.guard.leave();
        let set = self.model.appearance.settings.editor.clone();
        let editor = set.unwrap_or_else(|| editor::chosen(|name| std::env::var(name).ok()));
        let command = editor::command(&editor, &self.project.kernel, spot);
        let ended = threads.signals.lend(command);
        self.guard.come_back()?;
        // The loop holds the receiver, so this cannot fail.
        let _ = threads
            .events
            .send(Event::Terminal(TerminalEvent::EditorClosed(
                editor::complaint(&editor, ended),
            )));
        Ok(())
    }
}
