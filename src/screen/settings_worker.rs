//! The thread with the user's own things: it reads config.toml when it changes, lists the themes, and writes down
//! the layout. None of it is anybody else's business, and a home on a slow disk delays no look and no key.

use crate::screen::layout_file;
use lab_tui::event::Event;
use lab_tui::layout::Layout;
use lab_tui::request::Preferences;
use lab_tui::theme::Theme;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A file that is being written is read once it has been quiet for so long.
const QUIET: Duration = Duration::from_millis(50);

/// Where the user's things lie and how they are read; made once, on the command line's side.
pub struct Cupboard {
    /// config.toml; it need not be there.
    pub config: Option<PathBuf>,
    pub layout: Option<PathBuf>,
    pub read: Box<dyn Fn() -> Result<Preferences, String> + Send>,
    /// Every theme there is, by its name.
    pub themes: Box<dyn Fn() -> Vec<(String, Theme)> + Send>,
}

#[derive(Debug)]
enum Order {
    /// Something happened to the config.
    Changed,
    /// The user asks for it to be read.
    Reload,
    ListThemes,
    Remember(Box<Layout>),
    End,
}

pub struct Drawer {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    /// Ends with the drawer.
    _watcher: Option<RecommendedWatcher>,
}

impl Drawer {
    pub fn start(cupboard: Cupboard, events: Sender<Event>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let watcher = cupboard.config.as_deref().and_then(|file| watch(file, orders.clone()));
        let thread = thread::Builder::new()
            .name("drawer".to_owned())
            .spawn(move || work(&cupboard, &events, &inbox))?;
        Ok(Drawer { orders, thread: Some(thread), _watcher: watcher })
    }

    pub fn reload(&self) {
        let _ = self.orders.send(Order::Reload);
    }

    pub fn list_themes(&self) {
        let _ = self.orders.send(Order::ListThemes);
    }

    pub fn remember(&self, layout: Layout) {
        let _ = self.orders.send(Order::Remember(Box::new(layout)));
    }
}

impl Drop for Drawer {
    /// What is to be remembered is written first.
    fn drop(&mut self) {
        let _ = self.orders.send(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The folder is watched: editors replace the file. Where it cannot be, there is the action `reload-config`.
fn watch(file: &Path, orders: Sender<Order>) -> Option<RecommendedWatcher> {
    let folder = file.parent()?;
    let name = file.file_name()?.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_it = |event: &notify::Event| {
            !event.kind.is_access() && event.paths.iter().any(|path| path.file_name() == Some(&name))
        };
        if event.is_ok_and(|event| is_it(&event)) {
            let _ = orders.send(Order::Changed);
        }
    })
    .ok()?;
    watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

fn work(cupboard: &Cupboard, events: &Sender<Event>, orders: &Receiver<Order>) {
    let mut waiting = None;
    loop {
        let Some(order) = waiting.take().or_else(|| orders.recv().ok()) else { return };
        let answer = match order {
            Order::Changed => {
                match settle(orders) {
                    Some(Order::Changed) | None => {}
                    // It may be to end; the config is read before it.
                    other => waiting = other,
                }
                Event::Preferences(Box::new((cupboard.read)()), false)
            }
            Order::Reload => Event::Preferences(Box::new((cupboard.read)()), true),
            Order::ListThemes => Event::Themes((cupboard.themes)()),
            Order::Remember(layout) => {
                // A memory that cannot be kept is missed at the next opening, and not before.
                let _ = cupboard.layout.as_ref().map(|file| layout_file::write(&layout, file));
                continue;
            }
            Order::End => return,
        };
        if events.send(answer).is_err() {
            return;
        }
    }
}

/// Waits until the config is left alone; the order that came between, if one did.
fn settle(orders: &Receiver<Order>) -> Option<Order> {
    loop {
        match orders.recv_timeout(QUIET) {
            Ok(Order::Changed) => {}
            Ok(other) => return Some(other),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}
