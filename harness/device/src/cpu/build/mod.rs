//! The [`Builder`] of the cpu device: rewrites `kernel.cu` and its local includes to C++, and has
//! the host compiler build a shared object from them, with precompiled headers.

mod compiler;
mod imports;
mod limits;
mod other_code;
mod preprocessed;
mod sanitizer;
mod sources;
mod unit;

pub use compiler::HostCompiler;

use crate::api::{BuildRequest, Builder, Built, DeviceError, SharedFiles};
use crate::build_cache;
use crate::sandbox;
use crate::standard_headers::LAB_H;
use lab_source::without_bom;
use lab_system::temporary::TemporaryFolder;
use sources::Sources;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use unit::Unit;

impl Builder for HostCompiler {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn key(&self, request: &BuildRequest) -> Option<String> {
        // The instruction sets: with -march=native, an image is valid only for processors that have
        // them, and several machines may share a cache folder. The variables: the compiler looks
        // for headers in their folders.
        let folders = ["CPATH", "CPLUS_INCLUDE_PATH"].map(std::env::var_os);
        let compiler = format!(
            "{} {} {folders:?} {}",
            self.version,
            self.command.display(),
            instruction_sets()
        );
        build_cache::key_of(request, &compiler)
    }

    fn own_files(&self) -> Vec<PathBuf> {
        sandbox::toolchain_folders(&self.command)
    }

    fn shared_files(&self) -> SharedFiles {
        let own = self.clone();
        Box::new(move |request| own.headers(&request.cache_dir, request.sanitizer).map(drop))
    }

    fn build(&mut self, request: &BuildRequest) -> Result<Built, DeviceError> {
        let started = Instant::now();
        let headers = self.headers(&request.cache_dir, request.sanitizer)?;
        let cannot_write = |error: io::Error| cannot_write(&request.cache_dir, &error);
        let work = build_cache::work_folder(&request.cache_dir);
        let folder = TemporaryFolder::inside(&work).map_err(cannot_write)?;
        let folder = folder.path();

        let source = match std::fs::read(&request.source) {
            Ok(bytes) => String::from_utf8_lossy(without_bom(&bytes)).into_owned(),
            Err(error) => {
                let log = format!("{}:1:1: error: cannot be read: {error}\n", request.shown_as);
                return Ok(Built::failed(log, started));
            }
        };
        let mut sources = Sources::new(request, folder);
        let text = unit_text(request, &source, &mut sources, folder).map_err(cannot_write)?;
        if !sources.unreadable.is_empty() {
            return Ok(Built::failed(sources.unreadable, started));
        }
        let image = folder.join("kernel.so");
        let unit = Unit {
            compiler: self,
            request,
            folder,
            headers: &headers,
        };
        let compiled = unit.compile(&text, &image)?;
        let log = sources.with_columns(&compiled.log);
        if !compiled.built {
            return Ok(Built::failed(log, started));
        }
        // The image gets a name that no other build uses, because a loaded image must not be
        // written to.
        let images = build_cache::output_folder(&request.cache_dir);
        let path = images
            .join(folder.file_name().unwrap_or_default())
            .with_extension("so");
        std::fs::create_dir_all(&images)
            // An early Landlock forbids every move from one folder to another.
            .and_then(|()| {
                std::fs::rename(&image, &path).or_else(|_| std::fs::copy(&image, &path).map(drop))
            })
            .map_err(cannot_write)?;
        Ok(Built {
            image: Some(path),
            device_branch: compiled.other_code.or(sources.branch),
            ..Built::failed(log, started)
        })
    }
}

/// Returns the rewritten source, and writes its headers to the build's folder.
fn unit_text(
    request: &BuildRequest,
    source: &str,
    sources: &mut Sources,
    folder: &Path,
) -> io::Result<String> {
    let lab = sources.text(LAB_H, "lab.h", None)?;
    std::fs::write(folder.join("lab.h"), lab)?;
    std::fs::write(folder.join("lab_problem.h"), &request.problem_header)?;
    // As a pragma: the option makes g++ refuse extended characters in the text of a #warning too.
    let pedantic = "#pragma GCC diagnostic warning \"-Wpedantic\"\n";
    let mut text = if request.is_host() {
        String::new()
    } else {
        pedantic.to_owned()
    };
    for (name, value) in &request.defines {
        text += &format!("#define {name} {value}\n");
    }
    text += &sources.text(source, &request.shown_as, request.source.parent())?;
    Ok(text)
}

/// The instruction sets of this machine's processor, as Linux lists them. Empty where they cannot
/// be read.
fn instruction_sets() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_list = |line: &&str| line.starts_with("flags") || line.starts_with("Features");
    text.lines().find(is_list).unwrap_or_default().to_owned()
}

fn cannot_write(folder: &Path, error: &io::Error) -> DeviceError {
    DeviceError::Unavailable(format!(
        "cannot write the cpu device's build to {}: {error}. Free disk space or make the folder writable.",
        folder.display()
    ))
}
