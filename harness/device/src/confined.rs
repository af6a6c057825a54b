//! A builder in the sandbox: it runs on a thread that may read sources and the compiler's own
//! files, write one folder, and start the compiler's parts. Landlock and seccomp hold for that
//! thread and for the processes that it starts.
//!
//! The files that all builds share, made from the lab's own sources, are made outside the sandbox,
//! where no source of a user has a say. The same holds for the [build cache](crate::build_cache).

use crate::api::{
    BuildRequest, Builder, Built, DeviceError, FolderTrust, Result, SharedFiles, TargetBuild,
};
use crate::sandbox::{self, FileAccess, Policy, SandboxState};
use lab_protocol::Target;
use lab_system::threads;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

type Job = Box<dyn FnOnce(&mut dyn Builder) + Send>;

/// A [`Builder`] on a confined thread, which ends with this value.
pub struct ConfinedBuilder {
    jobs: Sender<Job>,
    version: String,
    shared: SharedFiles,
    state: SandboxState,
}

impl ConfinedBuilder {
    /// Opens the builder of a target and confines it to these files and its own. `folder` says
    /// whether the compiler may be one of the current folder.
    pub fn open(target: Target, folder: FolderTrust, mut files: FileAccess) -> Result<Self> {
        let (jobs, receiver) = channel::<Job>();
        let (say, said) = channel();
        // The receiver of what is said waits below.
        let run = move || match crate::builder_in(target, folder) {
            Ok(mut builder) => {
                files.execute.extend(builder.own_files());
                let (version, shared) = (builder.version(), builder.shared_files());
                // Takes the rights of this thread away.
                let state = sandbox::enter(Policy::Compiler, &files);
                let _ = say.send(Ok((version, shared, state)));
                receiver.iter().for_each(|job| job(&mut *builder));
            }
            Err(error) => drop(say.send(Err(error))),
        };
        let started = threads::start("builder", run);
        started.map_err(|e| {
            DeviceError::Driver(format!("a thread for the compiler cannot be started: {e}"))
        })?;
        let (version, shared, state) = said.recv().map_err(|_| ended())??;
        Ok(ConfinedBuilder {
            jobs,
            version,
            shared,
            state,
        })
    }

    /// What holds the builder back.
    pub fn state(&self) -> &SandboxState {
        &self.state
    }

    /// Runs a job on the thread and returns its result.
    fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut dyn Builder) -> T + Send + 'static,
    ) -> Result<T> {
        let (say, said) = channel();
        // The receiver waits below.
        let job: Job = Box::new(move |builder| drop(say.send(job(builder))));
        self.jobs.send(job).map_err(|_| ended())?;
        said.recv().map_err(|_| ended())
    }
}

fn ended() -> DeviceError {
    DeviceError::Driver("the compiler's thread has ended".into())
}

impl Builder for ConfinedBuilder {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn warm(&mut self, request: &BuildRequest) -> bool {
        let own = request.clone();
        (self.shared)(request).is_ok()
            && self.run(move |builder| builder.warm(&own)).unwrap_or(false)
    }

    fn key(&self, request: &BuildRequest) -> Option<String> {
        let own = request.clone();
        self.run(move |builder| builder.key(&own)).ok()?
    }

    fn build_for(
        &mut self,
        request: &BuildRequest,
        archs: &[String],
    ) -> Result<Option<Vec<TargetBuild>>> {
        let (own, archs) = (request.clone(), archs.to_vec());
        self.run(move |builder| builder.build_for(&own, &archs))?
    }

    fn build(&mut self, request: &BuildRequest) -> Result<Built> {
        (self.shared)(request)?;
        let own = request.clone();
        let built = self.run(move |builder| builder.build(&own))??;
        // A part of the compiler may have put a link there, which the judge would follow with its
        // own rights.
        let is_file = |image: &Path| image.symlink_metadata().is_ok_and(|about| about.is_file());
        match &built.image {
            Some(image) if !is_file(image) => Err(DeviceError::Driver(format!(
                "the compiler wrote no plain file to {}: look at the options in lab.toml",
                image.display()
            ))),
            _ => Ok(built),
        }
    }
}
