//! The thread that makes profiles. The end of the screen ends a profile in progress.

use crate::confinement;
use crate::screen::worker::Worker;
use lab_project::Project;
use lab_protocol::profile::ProfileSet;
use lab_run::RunId;
use lab_runner::process::Control;
use lab_runner::profiling::{self, ProfileSpec};
use lab_store::RunIndex;
use lab_tui::event::Event;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Each request is the project whose present bytes are profiled. [`Event::Profiled`] tells how a
/// profile ended.
pub fn start(events: Sender<Event>) -> io::Result<Worker<Arc<Project>>> {
    let replaces = |_: &Arc<Project>, _: &Arc<Project>| true;
    Worker::start("profile", replaces, move |requests| {
        requests.answer(&events, |project, requests| {
            let control = requests.control();
            let control = control.map_err(|error| format!("no pipe for it: {error}"));
            let made = control.and_then(|control| profile(&project, &control));
            Some(Event::Profiled(made))
        });
    })
}

fn profile(project: &Project, control: &Control) -> Result<RunId, String> {
    // With every counter: the view shows findings and hot lines, too.
    let mut spec = ProfileSpec::new(ProfileSet::Full);
    spec.run.confinement = confinement::missing;
    let made = profiling::profile(
        project,
        &spec,
        &mut RunIndex::new(project),
        control,
        |_, _| {},
    );
    made.map(|made| made.run).map_err(|error| error.to_string())
}
