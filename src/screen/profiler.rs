//! The thread that makes a profile. One at a time; dropping it ends the profile in progress and
//! waits for its end.

use crate::confinement;
use lab_core::project::Project;
use lab_core::runner::process::Control;
use lab_core::runner::profiling::{self, ProfileSpec};
use lab_core::store::RunIndex;
use lab_protocol::profile::ProfileSet;
use lab_tui::event::Event;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A profile in progress.
type Running = (Arc<Control>, JoinHandle<()>);

pub struct Profiler {
    project: Mutex<Arc<Project>>,
    running: Mutex<Option<Running>>,
    events: Sender<Event>,
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Profiler {
    pub fn new(project: Arc<Project>, events: Sender<Event>) -> Self {
        Profiler {
            project: Mutex::new(project),
            running: Mutex::new(None),
            events,
        }
    }

    /// Profiles this project from now on, because lab.toml changed.
    pub fn adopt(&self, project: &Arc<Project>) {
        *lock(&self.project) = Arc::clone(project);
    }

    /// Starts a profile of the present bytes. The event [`Event::Profiled`] tells how it ended.
    pub fn start(&self) {
        let mut running = lock(&self.running);
        // The screen asks for one at a time; the thread of an earlier one has sent its event.
        if let Some((control, thread)) = running.take() {
            control.end();
            let _ = thread.join();
        }
        match self.spawn() {
            Ok(started) => *running = Some(started),
            Err(error) => drop(
                self.events
                    .send(Event::Profiled(Err(format!("no thread for it: {error}")))),
            ),
        }
    }

    fn spawn(&self) -> io::Result<Running> {
        let control = Arc::new(Control::new()?);
        let (of, events, project) = (
            Arc::clone(&control),
            self.events.clone(),
            Arc::clone(&lock(&self.project)),
        );
        let thread = thread::Builder::new()
            .name("profile".to_owned())
            .spawn(move || {
                // With every counter: the view shows findings and hot lines, too.
                let spec = ProfileSpec {
                    confinement: confinement::missing,
                    ..ProfileSpec::new(ProfileSet::Full)
                };
                let mut index = RunIndex::new(&project);
                let made = profiling::profile(&project, &spec, &mut index, &of, |_, _| {});
                let _ = events.send(Event::Profiled(
                    made.map(|made| made.run).map_err(|error| error.to_string()),
                ));
            })?;
        Ok((control, thread))
    }

    /// Ends the profile in progress.
    pub fn stop(&self) {
        if let Some((control, _)) = &*lock(&self.running) {
            control.end();
        }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if let Some((control, thread)) = lock(&self.running).take() {
            control.end();
            let _ = thread.join();
        }
    }
}
