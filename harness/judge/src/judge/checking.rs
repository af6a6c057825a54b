//! `lab harness --check`: the candidate under each tool in turn. Nothing is compared and nothing timed.

use super::kernel_builder::KernelBuilder;
use super::snapshot::KernelSnapshot;
use super::{JudgeOptions, arch, cache_dir, kernel_output, start_worker, text_of_compiler};
use crate::check::sanitizer::{REMEDY, Sanitizer};
use crate::check::{self, ToolRun};
use crate::compiler::Compiler;
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, Problem, ProblemContext};
use crate::sink::SharedSink;
use crate::worker::Worker;
use lab_device::{DeviceInfo, Image};
use lab_protocol::report::{Stage, Writer};
use lab_protocol::{Tool, tool_names};
use std::collections::HashMap;
use std::path::Path;

pub fn check(options: &JudgeOptions, tools: &[Tool], shared: &SharedSink) -> Result<Correctness, Stop> {
    let out = &mut shared.writer();
    out.stage(Stage::Build)?;
    let mut problem = problem::open(&options.folder)?;
    out.line("problem", problem.name())?;
    let target = lab_device::resolve(options.device);
    let tools = if tools.is_empty() { Tool::of(target) } else { tools };
    let sanitizer = options.sanitizer.clone().map(|path| Sanitizer { path }).or_else(Sanitizer::find);
    if sanitizer.is_none() && tools.iter().any(|tool| tool.needs_sanitizer()) {
        return Err(Stop::Lab(REMEDY.into()));
    }
    let cache_dir = cache_dir(options)?;
    let compiler =
        Compiler::start(&options.compiler, target, options.time_limit, text_of_compiler(shared.writer()))?;
    let device = start_worker(options, target, shared)?.ready()?.info().clone();
    out.line("device", &device.name)?;
    out.line("check_tools", tool_names(tools))?;
    out.line("check_size", problem.shrink(&device)?)?;

    let snapshot = KernelSnapshot::take(options, &cache_dir.join("snapshots"))?;
    let mut course = CheckSession {
        options,
        device: &device,
        cache_dir: &cache_dir,
        shared,
        sanitizer,
        compiler: Some(compiler),
        images: HashMap::new(),
    };
    let (mut found, mut unfinished) = (Vec::new(), None);
    for (done, tool) in tools.iter().enumerate() {
        out.progress(done as u64, tools.len() as u64)?;
        match course.run(*tool, &mut *problem, &snapshot, out) {
            Ok(Correctness::Pass) => {}
            Ok(Correctness::Fail) => found.push(*tool),
            // What does not build builds for no tool.
            Err(stop @ (Stop::Build(_) | Stop::Problem(_))) => return Err(stop),
            Err(stop) => {
                out.text(&format!("{stop}"))?;
                unfinished.get_or_insert(stop);
            }
        }
    }
    out.progress(tools.len() as u64, tools.len() as u64)?;
    match unfinished {
        _ if !found.is_empty() => {
            out.line("check", format_args!("{} found something", tool_names(&found)))?;
            Ok(Correctness::Fail)
        }
        Some(stop) => Err(stop),
        None => {
            out.line("check", format_args!("{} clean", tool_names(tools)))?;
            Ok(Correctness::Pass)
        }
    }
}

/// What stays the same for all tools.
struct CheckSession<'a> {
    options: &'a JudgeOptions,
    device: &'a DeviceInfo,
    cache_dir: &'a Path,
    shared: &'a SharedSink,
    sanitizer: Option<Sanitizer>,
    compiler: Option<Compiler>,
    /// By the options that a tool adds to the build.
    images: HashMap<&'static [&'static str], Image>,
}

impl CheckSession<'_> {
    fn run(
        &mut self,
        tool: Tool,
        problem: &mut dyn Problem,
        snapshot: &KernelSnapshot,
        out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        let image = self.image(tool, problem, snapshot, out)?;
        out.stage(Stage::Verify)?;
        let watch = ToolRun::new(tool, self.options, &image.path, self.sanitizer.as_ref())?;
        let worker = Worker::start_watched(
            &self.options.worker,
            &watch.environment()?,
            lab_device::resolve(self.options.device),
            check::time_limit(self.options),
            kernel_output(self.shared.writer()),
        )?
        .ready()?;
        let mut cx = ProblemContext {
            device: self.device,
            cache_dir: self.cache_dir,
            seed: self.options.seed.unwrap_or(1),
            out,
            // Nothing is timed.
            figures: None,
            spawn_worker: &mut || Err(Stop::Lab("a check needs no further worker".into())),
            build: &mut |_, _| Err(Stop::Lab("a check needs no reference".into())),
        };
        watch.run(problem, &mut cx, worker)
    }

    fn image(
        &mut self,
        tool: Tool,
        problem: &dyn Problem,
        snapshot: &KernelSnapshot,
        out: &mut Writer,
    ) -> Result<Image, Stop> {
        let added = check::compile_options(tool);
        if let Some(image) = self.images.get(added) {
            return Ok(image.clone());
        }
        out.stage(Stage::Build)?;
        let mut options = self.options.clone();
        options.compile_options.extend(added.iter().map(|option| (*option).to_owned()));
        let Some(compiler) = self.compiler.take() else {
            return Err(Stop::Lab("the compiler process is gone".into()));
        };
        let arch = arch(&options, self.device);
        let mut build = KernelBuilder { compiler, options: &options, cache_dir: self.cache_dir, arch };
        let built = build.candidate(snapshot, &problem.build_needs(self.device));
        let image = built.and_then(|built| build.tell(built, out));
        self.compiler = Some(build.compiler);
        let image = image?;
        self.images.insert(added, image.clone());
        Ok(image)
    }
}
