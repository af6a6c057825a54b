//! What the judge has built: the candidate, the incumbent, and a problem's reference.cu.

use super::kernel_snapshot::KernelSnapshot;
use super::launch_lines::write_needs;
use crate::compiler::{Compiler, SNAPSHOTS};
use crate::outcome::{OrLab, Result, Stop};
use crate::problem::BuildNeeds;
use itertools::Itertools as _;
use lab_device::{BuildRequest, Built, Sanitizer};
use lab_protocol::CompileOptions;
use lab_protocol::report::{Report, Severity, Writer, numbered};
use lab_protocol::{JudgeRequest, Language};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Builds kernels for the run's device.
pub struct KernelBuilder {
    /// `None` if nothing of the run is compiled.
    pub compiler: Option<Compiler>,
    pub request: Arc<JudgeRequest>,
    pub cache_dir: PathBuf,
    /// The architecture to build for, as in `sm_90`; empty on the cpu device.
    pub arch: String,
    /// The instrumentation of the candidate, which a tool asks for.
    pub sanitizer: Option<Sanitizer>,
}

impl KernelBuilder {
    pub fn compiler(&mut self) -> Result<&mut Compiler> {
        self.compiler
            .as_mut()
            .ok_or_else(|| Stop::Lab("this run has no compiler process".into()))
    }

    fn build_request(&self, source: PathBuf, shown_as: String, needs: &BuildNeeds) -> BuildRequest {
        BuildRequest {
            source,
            shown_as,
            include_dirs: Vec::new(),
            defines: Vec::new(),
            options: CompileOptions::default(),
            sanitizer: None,
            problem_header: needs.problem_header.clone(),
            arch: self.arch.clone(),
            cache_dir: self.cache_dir.clone(),
        }
    }

    /// How a kernel is built with the candidate's options and under its name. Its includes are
    /// looked up in `own_folder` and in the problem's.
    fn kernel_request(
        &self,
        source: PathBuf,
        own_folder: Option<&Path>,
        needs: &BuildNeeds,
    ) -> BuildRequest {
        let own_folder = own_folder.map(|folder| {
            if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_owned()
            }
        });
        let mut include_dirs = own_folder.into_iter().collect_vec();
        include_dirs.push(self.request.folder.clone());
        include_dirs.dedup();
        BuildRequest {
            include_dirs,
            options: self.request.compile_options.clone(),
            sanitizer: self.sanitizer,
            ..self.build_request(source, self.request.shown_as(), needs)
        }
    }

    fn candidate_request(&self, source: PathBuf, needs: &BuildNeeds) -> BuildRequest {
        self.kernel_request(source, self.request.kernel().parent(), needs)
    }

    /// Whether the compiler, if there is one, has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.compiler.as_mut().is_none_or(Compiler::is_alive)
    }

    /// Lets the compiler prepare for the candidate, as the file is now: it may precompile the
    /// headers that the file includes.
    pub fn warm_up(&mut self, needs: &BuildNeeds) -> Result {
        let request = self.candidate_request(self.request.kernel(), needs);
        self.compiler()?.warm_up(&request)
    }

    /// Builds the candidate. [`KernelBuilder::write_build`] writes the result's lines.
    pub fn candidate(&mut self, snapshot: &KernelSnapshot, needs: &BuildNeeds) -> Result<Built> {
        let request = self.candidate_request(snapshot.source(), needs);
        self.compiler()?.build(&request)
    }

    /// Writes the compiler's messages, `build_s:` and what is known of the kernel's resources.
    /// Returns the image, or [`Stop::Build`] if there is none.
    pub fn write_build(&self, built: Built, out: &mut Writer) -> Result<PathBuf> {
        let Built {
            image,
            log,
            seconds,
            reused,
            device_branch,
            resources,
        } = built;
        if image.is_none() {
            out.text(&self.host_code())?;
        }
        out.text(&log)?;
        out.line(
            "build_s",
            format_args!("{seconds:.2}{}", if reused { " reused=yes" } else { "" }),
        )?;
        write_needs(resources, out)?;
        if let Some(place) = device_branch.filter(|_| image.is_some()) {
            out.caveat(format_args!(
                "the emulated device judged another path than a GPU runs: {place}"
            ))?;
        }
        image.ok_or_else(|| Stop::Build(format!("{} does not build", self.request.shown_as())))
    }

    /// An error at the first line with code of the host, in the form of a compiler's message. Empty
    /// if the source has none. The compiler only says that it does not know the words there.
    fn host_code(&self) -> String {
        let source = std::fs::read_to_string(self.request.kernel()).unwrap_or_default();
        let found = match self.request.language() {
            Language::Cuda => lab_source::functions::host_code(&source),
            Language::Python => None,
        };
        found.map_or_else(String::new, |(line, what)| {
            let shown = self.request.shown_as();
            format!(
                "{shown}:{line}:1: error: {what} is code of the host, and a kernel.cu holds only device code: `lab init {shown} \
                 --name NEW` writes a problem NEW without it (`lab help published-kernels`)\n"
            )
        })
    }

    /// Builds the candidate for the problem's targets too, and writes `target:`, `target_2:` and so on. A
    /// target for which it does not build is a caveat.
    pub fn write_targets(
        &mut self,
        snapshot: &KernelSnapshot,
        needs: &BuildNeeds,
        out: &mut Writer,
    ) -> Result {
        if needs.targets.is_empty() {
            return Ok(());
        }
        let request = self.candidate_request(snapshot.source(), needs);
        let Some(built) = self.compiler()?.build_for(&request, &needs.targets)? else {
            let targets = needs.targets.join(", ");
            return Ok(out.caveat(format_args!(
                "not built for {targets}: there is no NVRTC on this machine. It needs no GPU: pip install nvidia-cuda-nvrtc \
                 nvidia-cuda-runtime nvidia-cuda-cccl"
            ))?);
        };
        for (number, target) in (1..).zip(built) {
            let key = numbered("target", number);
            if let Some(why) = target.refused {
                out.line(&key, format_args!("{} refused=yes", target.arch))?;
                let shown_as = self.request.shown_as();
                out.caveat(format_args!(
                    "{shown_as} does not build for {}: {why}",
                    target.arch
                ))?;
                continue;
            }
            let mut words = target.arch;
            for (name, needed) in target.resources.known() {
                words += &format!(" {name}={needed}");
            }
            out.line(&key, words)?;
        }
        Ok(())
    }

    /// Writes `built_for:`, the architecture that the image of a GPU says it is for. Writes a
    /// caveat if the image allocates memory: the judge cannot see what a launch leaves there for
    /// the next one.
    pub fn write_image(image: &Path, out: &mut Writer) -> Result {
        let bytes =
            std::fs::read(image).or_lab(|| format!("{} cannot be read", image.display()))?;
        if let Some(target) = lab_device::image_target(&bytes) {
            out.line("built_for", target)?;
        }
        let called = lab_device::allocators(&bytes);
        if !called.is_empty() {
            let names = called
                .iter()
                .map(|name| if name.starts_with("_Zn") { "new" } else { name })
                .join(", ");
            out.caveat(format_args!(
                "the kernel allocates memory itself ({names}): a launch may use what an earlier launch left there"
            ))?;
        }
        Ok(())
    }

    /// Builds the incumbent with the candidate's options and shown path. It was the candidate once,
    /// so its build is usually in the build cache.
    pub fn incumbent(&mut self, source: &Path, needs: &BuildNeeds) -> Result<PathBuf> {
        let request = self.kernel_request(source.to_owned(), source.parent(), needs);
        let built = self.compiler()?.build(&request)?;
        built
            .image
            .ok_or_else(|| Stop::Build("it does not build".into()))
    }

    /// Builds a peer that is a second kernel.cu, with the candidate's options. `copy` is a copy of
    /// `source`, which is in the problem's folder.
    pub fn peer(&mut self, copy: PathBuf, source: &Path, needs: &BuildNeeds) -> Result<PathBuf> {
        let shown_as = self.request.as_shown(&source.display().to_string());
        let mut request = self.kernel_request(copy, source.parent(), needs);
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

    /// Builds a source of the lab's own, which gets a folder while it is built.
    pub fn own_source(&mut self, name: &str, text: &str, header: &str) -> Result<PathBuf> {
        let parent = self.cache_dir.join(SNAPSHOTS);
        let copy = KernelSnapshot::write(text.as_bytes(), name, name, &parent)?;
        // Not under the path of the copy, which is another one each time: the image would never be
        // found in the build cache.
        self.trusted(&copy.source(), name.to_owned(), header)
    }

    /// Builds a trusted source with this `lab_problem.h`, without the user's compiler options,
    /// which are for the candidate. Returns [`Stop::Problem`] with the compiler's messages if it
    /// does not build.
    pub fn reference(&mut self, source: &Path, header: &str) -> Result<PathBuf> {
        // Each run judges a copy in another folder. With the path of the copy in it, each run would
        // build its own image, and could use no sealed inputs that an earlier image has made.
        let shown_as = self.request.as_shown(&source.display().to_string());
        self.trusted(source, shown_as, header)
    }

    fn trusted(&mut self, source: &Path, shown_as: String, header: &str) -> Result<PathBuf> {
        let needs = BuildNeeds {
            problem_header: header.to_owned(),
            ..BuildNeeds::default()
        };
        let mut request = self.build_request(source.to_owned(), shown_as.clone(), &needs);
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
