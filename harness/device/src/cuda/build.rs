//! The builder for CUDA devices: it compiles one source file to a cubin in the cache folder.

use super::nvrtc::{Input, Nvrtc, Output};
use super::pch::{Pch, Prefix, leading_includes};
use super::toolkit::Toolkit;
use super::{headers, ptxas};
use crate::api::{BuildRequest, Builder, Built, DeviceError, Resources, Result, TargetBuild};
use crate::build_cache;
use itertools::Itertools as _;
use lab_source::without_bom;
use lab_system::threads::{self, Beside};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Builds with NVRTC.
pub struct NvrtcBuilder {
    nvrtc: Nvrtc,
    toolkit: Toolkit,
    pch: Pch,
}

impl NvrtcBuilder {
    /// Loads the toolkit's NVRTC.
    pub fn new(toolkit: Toolkit) -> Result<Self> {
        let nvrtc = Nvrtc::load(&toolkit)?;
        Ok(NvrtcBuilder {
            nvrtc,
            toolkit,
            pch: Pch::default(),
        })
    }

    /// Whether this NVRTC can precompile headers: from 12.8 on.
    pub fn can_precompile(&self) -> bool {
        self.nvrtc.has_pch()
    }

    /// The compute capability of an architecture that this NVRTC builds for.
    fn capability(&self, asked: &str) -> Result<u32> {
        let number = asked.strip_prefix("sm_").unwrap_or_default();
        let capability = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let Ok(capability) = capability.parse() else {
            return Err(DeviceError::Unavailable(format!(
                "'{asked}' is no architecture of a CUDA device. An architecture is written like sm_90."
            )));
        };
        if !self.nvrtc.archs.contains(&capability) {
            let list = self
                .nvrtc
                .archs
                .iter()
                .map(|a| format!("sm_{a}"))
                .join(", ");
            return Err(DeviceError::Unavailable(format!(
                "{} builds for {list}, not for {asked}. Install a CUDA toolkit that supports this device, \
                 or set CUDA_HOME to one.",
                self.version()
            )));
        }
        Ok(capability)
    }

    /// Returns the architecture to build for. A module runs on this device only, so the
    /// architecture is the one with all instructions: `sm_90a` has `wgmma` and `setmaxnreg`, which
    /// `sm_90` lacks.
    fn architecture(&self, asked: &str) -> Result<String> {
        let capability = self.capability(asked)?;
        let has_suffix = asked.ends_with(|c: char| c.is_ascii_alphabetic()) || capability < 90;
        Ok(if has_suffix {
            asked.to_owned()
        } else {
            format!("{asked}a")
        })
    }

    /// Returns NVRTC's options. A precompiled header can be used only with the options it was made
    /// with.
    fn options(&self, request: &BuildRequest, arch: &str) -> Vec<String> {
        let mut options = vec![
            format!("--gpu-architecture={arch}"),
            "--ptxas-options=-v".to_owned(),
            // For profilers. It slows down neither the build nor the kernel.
            "--generate-line-info".to_owned(),
        ];
        // Kernels of one file are compiled side by side, to the same instructions. More threads are no faster.
        if self.nvrtc.version >= (13, 0) {
            options.push("--split-compile=8".to_owned());
        }
        if !request.options.has_standard() {
            options.push("--std=c++17".to_owned());
        }
        let folders = request.include_dirs.iter().chain(&self.toolkit.includes);
        options.extend(folders.map(|folder| format!("-I{}", folder.display())));
        options.extend(
            request
                .defines
                .iter()
                .map(|(name, value)| format!("-D{name}={value}")),
        );
        options.extend_from_slice(request.options.for_nvrtc());
        options
    }

    /// Returns what can be precompiled: the includes of the toolkit's headers and the lab's own,
    /// unless one of the user's folders has a file of that name.
    fn prefix(&self, request: &BuildRequest, text: &[u8], options: &[String]) -> Prefix {
        let text = std::str::from_utf8(text).unwrap_or_default();
        let users = request
            .source
            .parent()
            .into_iter()
            .chain(request.include_dirs.iter().map(PathBuf::as_path))
            .collect_vec();
        let is_fixed = |spelled: &str| {
            let name = &spelled[1..spelled.len() - 1];
            (headers::is_embedded(name)
                || spelled.starts_with('<') && self.toolkit.has_header(name))
                && !users.iter().any(|folder| folder.join(name).exists())
        };
        let can = request.options.include_folders().next().is_none();
        Prefix {
            lines: if can {
                leading_includes(text, is_fixed)
            } else {
                String::new()
            },
            options: options.to_vec(),
            problem_header: request.problem_header.clone(),
        }
    }
}

/// The architecture for which a source is looked at where there is no GPU.
const LOOKED_AT_FOR: &str = "sm_90";

impl NvrtcBuilder {
    /// Compiles the text of a request's source. The log names the user's paths.
    fn compile(
        &self,
        request: &BuildRequest,
        text: &[u8],
        options: &[String],
        syntax_only: bool,
    ) -> Result<Output> {
        let source = &request.source;
        let path = std::path::absolute(source).map_err(|e| cannot("find", source, &e))?;
        let mut output = self.nvrtc.compile(&Input {
            text,
            name: &path.to_string_lossy(),
            headers: &headers::with_problem(&request.problem_header),
            options,
            syntax_only,
        })?;
        output.log = with_user_paths(&output.log, &path, &request.shown_as);
        Ok(output)
    }

    /// Returns what NVRTC has against a source, without building it. `None` if it takes the source.
    pub fn errors(&self, request: &BuildRequest) -> Result<Option<String>> {
        let text = source_text(request)?;
        let mut options = self.options(request, &self.architecture(LOOKED_AT_FOR)?);
        options.push("--fdevice-syntax-only".to_owned());
        let output = self.compile(request, &text, &options, true)?;
        Ok((!output.taken).then_some(output.log))
    }

    /// Builds for this architecture, exactly as it is written, and keeps what the build says.
    fn for_target(&self, request: &BuildRequest, arch: &str) -> Result<TargetBuild> {
        let built = |refused, resources| TargetBuild {
            arch: arch.to_owned(),
            refused,
            resources,
        };
        let refused = |why| Ok(built(Some(why), Resources::default()));
        if let Err(unknown) = self.capability(arch) {
            return refused(unknown.to_string());
        }
        let text = source_text(request)?;
        let output = self.compile(request, &text, &self.options(request, arch), false)?;
        let (resources, log) = ptxas::split(&output.log);
        if output.cubin.is_none() {
            let mut lines = log.lines();
            let first = lines.find(|line| line.contains("error")).unwrap_or(&log);
            return refused(first.trim().to_owned());
        }
        Ok(built(None, resources))
    }
}

impl Builder for NvrtcBuilder {
    fn version(&self) -> String {
        format!("NVRTC {}.{}", self.nvrtc.version.0, self.nvrtc.version.1)
    }

    fn key(&self, request: &BuildRequest) -> Option<String> {
        // The library's stamp: an update of a toolkit may keep its version and its paths.
        let library = build_cache::stamp(&self.toolkit.library);
        let compiler = format!("{} {library} {:?}", self.version(), self.toolkit.includes);
        build_cache::key_of(request, &compiler)
    }

    fn own_files(&self) -> Vec<PathBuf> {
        // NVRTC loads a library that lies beside it when it compiles for the first time.
        let library = &self.toolkit.library;
        let real = library.canonicalize().unwrap_or_else(|_| library.clone());
        let folders = [&real, library].into_iter();
        folders
            .filter_map(|file| file.parent().map(Path::to_owned))
            .chain(self.toolkit.includes.iter().cloned())
            .collect()
    }

    fn build_for(
        &mut self,
        request: &BuildRequest,
        archs: &[String],
    ) -> Result<Option<Vec<TargetBuild>>> {
        let own = &*self;
        std::thread::scope(|scope| {
            let each = archs.iter();
            let building = each
                .map(|arch| threads::beside(scope, move || own.for_target(request, arch)))
                .collect_vec();
            let built = building.into_iter().map(Beside::join);
            built.collect::<Result<Vec<_>, _>>().map(Some)
        })
    }

    fn warm(&mut self, request: &BuildRequest) -> bool {
        let arch = self.architecture(&request.arch);
        let (Ok(text), Ok(arch)) = (source_text(request), arch) else {
            return false;
        };
        let options = self.options(request, &arch);
        let prefix = self.prefix(request, &text, &options);
        self.pch.make(&self.nvrtc, &prefix, &request.cache_dir)
    }

    fn build(&mut self, request: &BuildRequest) -> Result<Built> {
        let started = Instant::now();
        let text = source_text(request)?;
        if let Some(at) = text.iter().position(|byte| *byte == 0) {
            let line = 1 + text[..at].iter().filter(|byte| **byte == b'\n').count();
            let log = format!(
                "{}({line}): error: the source holds a NUL byte. Remove it.\n",
                request.shown_as
            );
            return Ok(Built::failed(log, started));
        }
        let mut options = self.options(request, &self.architecture(&request.arch)?);
        let prefix = self.prefix(request, &text, &options);
        options.extend(self.pch.options(&prefix));
        let output = self.compile(request, &text, &options, false)?;
        let (resources, log) = ptxas::split(&output.log);
        let Some(cubin) = output.cubin else {
            return Ok(Built::failed(log, started));
        };
        Ok(Built {
            image: Some(store(&cubin, &request.cache_dir)?),
            resources,
            ..Built::failed(log, started)
        })
    }
}

fn source_text(request: &BuildRequest) -> Result<Vec<u8>> {
    let text = std::fs::read(&request.source).map_err(|e| cannot("read", &request.source, &e))?;
    Ok(without_bom(&text).to_vec())
}

/// Replaces the paths of the snapshot and of its headers in a log by the user's own paths.
fn with_user_paths(log: &str, source: &Path, shown_as: &str) -> String {
    let log = log.replace(&*source.to_string_lossy(), shown_as);
    let folder_of = |path: &Path| {
        path.parent()
            .map(|p| p.join("").to_string_lossy().into_owned())
    };
    match folder_of(source) {
        Some(folder) if folder != "/" => {
            log.replace(&folder, &folder_of(Path::new(shown_as)).unwrap_or_default())
        }
        _ => log,
    }
}

/// Writes the cubin to a new file, and removes the file if that fails. Returns its path.
fn store(cubin: &[u8], cache_dir: &Path) -> Result<PathBuf> {
    let folder = build_cache::output_folder(cache_dir);
    let write = || -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(&folder)?;
        let mut file = tempfile::Builder::new()
            .suffix(".cubin")
            .tempfile_in(&folder)?;
        std::io::Write::write_all(&mut file, cubin)?;
        Ok(file.keep()?.1)
    };
    write().map_err(|e| cannot("write to", &folder, &e))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> DeviceError {
    DeviceError::Driver(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_show_the_users_paths() {
        let log = "/run/7/kernel.cu(3): error: no\n/run/7/tiles.cuh(1): error: no\n/usr/include/x.h(1): error: no\n";
        let source = Path::new("/run/7/kernel.cu");
        assert_eq!(
            with_user_paths(log, source, "kernels/a/kernel.cu"),
            "kernels/a/kernel.cu(3): error: no\nkernels/a/tiles.cuh(1): error: no\n/usr/include/x.h(1): error: no\n"
        );
        assert!(
            with_user_paths(log, source, "mine.cu")
                .starts_with("mine.cu(3): error: no\ntiles.cuh(1)")
        );
    }
}
