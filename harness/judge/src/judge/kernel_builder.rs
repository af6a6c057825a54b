//! What the judge has built: the candidate, the incumbent, and a problem's reference.cu.

use super::kernel_snapshot::KernelSnapshot;
use crate::compiler::Compiler;
use crate::options::JudgeOptions;
use crate::outcome::Stop;
use crate::problem::BuildNeeds;
use lab_device::{BuildRequest, Built, Image};
use lab_protocol::CompileOptions;
use lab_protocol::report::{Report, Severity, Writer};
use std::path::{Path, PathBuf};

/// Builds kernels for the run's device.
pub struct KernelBuilder<'a> {
    /// `None` if nothing of the run is compiled.
    pub compiler: Option<Compiler>,
    pub options: &'a JudgeOptions,
    pub cache_dir: &'a Path,
    /// The architecture to build for, as in `sm_90`; empty on the cpu device.
    pub arch: String,
}

impl KernelBuilder<'_> {
    fn compiler(&mut self) -> Result<&mut Compiler, Stop> {
        self.compiler
            .as_mut()
            .ok_or_else(|| Stop::Lab("this run has no compiler process".into()))
    }

    fn request(&self, source: PathBuf, shown_as: String, needs: &BuildNeeds) -> BuildRequest {
        BuildRequest {
            source,
            shown_as,
            include_dirs: Vec::new(),
            defines: needs.defines.clone(),
            options: CompileOptions::default(),
            sanitizer: None,
            problem_header: needs.problem_header.clone(),
            arch: self.arch.clone(),
            cache_dir: self.cache_dir.to_owned(),
        }
    }

    fn candidate_request(&self, source: PathBuf, needs: &BuildNeeds) -> BuildRequest {
        BuildRequest {
            include_dirs: self.options.all_include_dirs(),
            options: self.options.compile_options.clone(),
            sanitizer: self.options.instrumentation,
            ..self.request(source, self.options.shown_as(), needs)
        }
    }

    /// Lets the compiler prepare for the candidate, as the file is now: it may precompile the
    /// headers that the file includes.
    pub fn warm_up(&mut self, needs: &BuildNeeds) -> Result<(), Stop> {
        let request = self.candidate_request(self.options.kernel(), needs);
        self.compiler()?.warm_up(&request)
    }

    /// Builds the candidate. [`KernelBuilder::write_build`] writes the result's lines.
    pub fn candidate(
        &mut self,
        snapshot: &KernelSnapshot,
        needs: &BuildNeeds,
    ) -> Result<Built, Stop> {
        let request = self.candidate_request(snapshot.source(), needs);
        self.compiler()?.build(&request)
    }

    /// Writes the compiler's messages, `build_s:` and what is known of the kernel's resources.
    /// Returns the image, or [`Stop::Build`] if there is none.
    pub fn write_build(&self, built: Built, out: &mut Writer) -> Result<Image, Stop> {
        let Built {
            image,
            log,
            seconds,
            reused,
            device_branch,
            registers,
            spill_bytes,
            shared_bytes,
        } = built;
        out.text(&log)?;
        out.line(
            "build_s",
            format_args!("{seconds:.2}{}", if reused { " reused=yes" } else { "" }),
        )?;
        for (key, value) in [
            ("registers", registers),
            ("spill_bytes", spill_bytes),
            ("shared_bytes", shared_bytes),
        ] {
            if let Some(value) = value {
                out.line(key, value)?;
            }
        }
        if let Some(place) = device_branch.filter(|_| image.is_some()) {
            out.caveat(format_args!(
                "the emulated device judged another path than a GPU runs: {place}"
            ))?;
        }
        image.ok_or_else(|| Stop::Build(format!("{} does not build", self.options.shown_as())))
    }

    /// Writes `built_for:`, the architecture that the image of a GPU says it is for. Writes a
    /// caveat if the image allocates memory: the judge cannot see what a launch leaves there for
    /// the next one.
    pub fn write_image(image: &Image, out: &mut Writer) -> Result<(), Stop> {
        let bytes = std::fs::read(&image.path)
            .map_err(|e| Stop::Lab(format!("{} cannot be read: {e}", image.path.display())))?;
        if let Some(target) = lab_device::image_target(&bytes) {
            out.line("built_for", target)?;
        }
        let called = lab_device::allocators(&bytes);
        if !called.is_empty() {
            let names: Vec<&str> = called
                .iter()
                .map(|name| if name.starts_with("_Zn") { "new" } else { name })
                .collect();
            out.caveat(format_args!(
                "the kernel allocates memory itself ({}): a launch may use what an earlier launch left there",
                names.join(", ")
            ))?;
        }
        Ok(())
    }

    /// Builds the incumbent with the candidate's options and shown path. It was the candidate once,
    /// so its build is usually in the build cache.
    pub fn incumbent(&mut self, needs: &BuildNeeds) -> Result<Image, Stop> {
        let Some(source) = self.options.incumbent_source() else {
            return Err(Stop::Lab("no incumbent was named".into()));
        };
        let own_folder = source.parent().map(Path::to_owned);
        let mut request = self.candidate_request(source, needs);
        // Its own folder takes the place of the candidate's, which is the first of the candidate's
        // list.
        request.include_dirs = own_folder
            .into_iter()
            .chain(self.options.include_dirs_of_problem())
            .collect();
        let built = self.compiler()?.build(&request)?;
        built
            .image
            .ok_or_else(|| Stop::Build("it does not build".into()))
    }

    /// Builds a peer that is a second kernel.cu, with the candidate's options. `copy` is a copy of
    /// `source`, which is in the problem's folder.
    pub fn peer(
        &mut self,
        copy: PathBuf,
        source: &Path,
        needs: &BuildNeeds,
    ) -> Result<Image, Stop> {
        let shown_as = self.options.as_shown(&source.display().to_string());
        let mut request = self.candidate_request(copy, needs);
        let own_folder = source.parent().map(Path::to_owned);
        request.include_dirs = own_folder
            .into_iter()
            .chain(self.options.include_dirs_of_problem())
            .collect();
        request.shown_as.clone_from(&shown_as);
        let built = self.compiler()?.build(&request)?;
        let errors = Report::read(&built.log);
        let first = errors
            .diagnostics()
            .iter()
            .find(|found| found.severity == Severity::Error);
        let why = first.map_or_else(String::new, |found| format!(": {}", found.message));
        built
            .image
            .ok_or_else(|| Stop::Build(format!("{shown_as} does not build{why}")))
    }

    /// Builds a trusted source with this `lab_problem.h`, without the user's compiler options,
    /// which are for the candidate. Returns [`Stop::Problem`] with the compiler's messages if it
    /// does not build.
    pub fn reference(&mut self, source: &Path, header: &str) -> Result<Image, Stop> {
        // Each run judges a copy in another folder. With the path of the copy in it, the image
        // would be another one each time: it would be built anew, and no sealed inputs in stock
        // would be of it.
        let shown_as = self.options.as_shown(&source.display().to_string());
        let needs = BuildNeeds {
            problem_header: header.to_owned(),
            ..BuildNeeds::default()
        };
        let mut request = self.request(source.to_owned(), shown_as.clone(), &needs);
        request.include_dirs = source.parent().map(Path::to_owned).into_iter().collect();
        let built = self.compiler()?.build(&request)?;
        built.image.ok_or_else(|| {
            Stop::Problem(format!(
                "{shown_as} does not build:\n{}",
                built.log.trim_end()
            ))
        })
    }
}
