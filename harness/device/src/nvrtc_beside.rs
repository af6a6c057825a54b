//! The compiler of the cpu device where NVRTC is on the machine too: what NVRTC refuses is no kernel,
//! even if the host's compiler takes it. NVRTC needs no GPU, and pip's wheels are enough.

use crate::api::{BuildRequest, Builder, Built, FolderTrust, Result, SharedFiles, TargetBuild};
use crate::build_cache;
use crate::cpu::{self, HostCompiler};
use crate::cuda::{NvrtcBuilder, nvrtc_with_headers};
use lab_system::threads;
use std::path::PathBuf;
use std::time::Instant;

/// The host's compiler, which makes the image, and NVRTC.
struct BesideNvrtc {
    host: HostCompiler,
    nvrtc: NvrtcBuilder,
}

/// Returns the builder of the cpu device. In a trusted folder NVRTC may come from a `.venv` of the
/// current folder.
pub fn builder(folder: FolderTrust) -> Result<Box<dyn Builder>> {
    let host = cpu::builder()?;
    Ok(match nvrtc_with_headers(folder) {
        Some(nvrtc) => Box::new(BesideNvrtc { host, nvrtc }),
        None => Box::new(host),
    })
}

impl Builder for BesideNvrtc {
    fn version(&self) -> String {
        format!("{} beside {}", self.host.version(), self.nvrtc.version())
    }

    fn key(&self, request: &BuildRequest) -> Option<String> {
        let compiler = [self.host.key(request)?, self.nvrtc.key(request)?].join(" ");
        build_cache::key_of(request, &compiler)
    }

    fn own_files(&self) -> Vec<PathBuf> {
        [self.host.own_files(), self.nvrtc.own_files()].concat()
    }

    fn shared_files(&self) -> SharedFiles {
        self.host.shared_files()
    }

    fn build_for(
        &mut self,
        request: &BuildRequest,
        archs: &[String],
    ) -> Result<Option<Vec<TargetBuild>>> {
        self.nvrtc.build_for(request, archs)
    }

    fn build(&mut self, request: &BuildRequest) -> Result<Built> {
        let started = Instant::now();
        // The run's own build says what NVRTC says. A .cpp is host code.
        if request.sanitizer.is_some() || request.is_host() {
            return self.host.build(request);
        }
        let (host, nvrtc) = (&mut self.host, &self.nvrtc);
        std::thread::scope(|scope| {
            let building = threads::beside(scope, move || host.build(request));
            let errors = nvrtc.errors(request);
            let built = building.join()?;
            Ok(match errors? {
                Some(log) => Built::failed(log, started),
                None => built,
            })
        })
    }
}
