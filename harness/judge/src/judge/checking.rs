//! `lab harness --check`: runs the candidate under each tool, one after the other. Compares no
//! results and times nothing.

use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::processes::{arch, as_kernel_output};
use super::tool_start::{self, ToolStart};
use crate::check::sanitizer::{ComputeSanitizer, REMEDY};
use crate::check::{self, ToolRun};
use crate::compiler::{Compiler, SNAPSHOTS};
use crate::options::JudgeOptions;
use crate::outcome::{Correctness, Stop};
use crate::problem::{Problem, ProblemContext};
use crate::sink::SharedSink;
use crate::worker::Worker;
use lab_device::{DeviceInfo, Image, Sanitizer};
use lab_protocol::report::{Stage, Writer};
use lab_protocol::{Tool, tool_names};
use std::collections::HashMap;
use std::path::Path;

/// Runs these tools, or all tools of the device if none is named. Returns `Pass` if no tool found
/// anything.
///
/// A tool that does not finish does not stop the others. Its error is returned at the end, unless
/// another tool found something.
pub fn check(
    options: &JudgeOptions,
    tools: &[Tool],
    sink: &SharedSink,
) -> Result<Correctness, Stop> {
    let out = &mut sink.writer();
    let mut problem = tool_start::open_problem(
        options,
        "`lab check` watches the memory accesses of CUDA C++: its tools cannot watch Python. A run finds stores out of bounds into the \
         lab's buffers, and changed inputs",
        out,
    )?;
    let target = lab_device::resolve(options.device);
    let tools = if tools.is_empty() {
        Tool::of(target)
    } else {
        tools
    };
    let sanitizer = options
        .sanitizer
        .clone()
        .map(|path| ComputeSanitizer { path })
        .or_else(ComputeSanitizer::find);
    if sanitizer.is_none() && tools.iter().any(|tool| tool.needs_sanitizer()) {
        return Err(Stop::Lab(REMEDY.into()));
    }
    let ToolStart {
        compiler,
        device,
        cache_dir,
    } = tool_start::start(options, target, sink, out)?;
    out.line("check_tools", tool_names(tools))?;
    out.line("check_size", problem.shrink_for_check(&device)?)?;

    let snapshot = KernelSnapshot::take(options, &cache_dir.join(SNAPSHOTS))?;
    let mut session = CheckSession {
        options,
        device: &device,
        cache_dir: &cache_dir,
        sink,
        sanitizer,
        compiler: Some(compiler),
        images: HashMap::new(),
    };
    let (mut found, mut unfinished) = (Vec::new(), None);
    for (done, tool) in tools.iter().enumerate() {
        out.progress(done as u64, tools.len() as u64)?;
        match session.run(*tool, &mut *problem, &snapshot, out) {
            Ok(Correctness::Pass) => {}
            Ok(Correctness::Fail) => found.push(*tool),
            // A kernel that does not build for one tool builds for none.
            Err(stop @ (Stop::Build(_) | Stop::Problem(_))) => return Err(stop),
            Err(stop @ (Stop::Crash(_) | Stop::Lab(_))) => {
                out.text(&stop.to_string())?;
                unfinished.get_or_insert(stop);
            }
        }
    }
    out.progress(tools.len() as u64, tools.len() as u64)?;
    match unfinished {
        _ if !found.is_empty() => {
            out.line(
                "check",
                format_args!("{} found something", tool_names(&found)),
            )?;
            Ok(Correctness::Fail)
        }
        Some(stop) => Err(stop),
        None => {
            out.line("check", format_args!("{} clean", tool_names(tools)))?;
            Ok(Correctness::Pass)
        }
    }
}

/// What stays the same for all tools of a check.
struct CheckSession<'a> {
    options: &'a JudgeOptions,
    device: &'a DeviceInfo,
    cache_dir: &'a Path,
    sink: &'a SharedSink,
    sanitizer: Option<ComputeSanitizer>,
    /// `None` only while [`CheckSession::image`] builds.
    compiler: Option<Compiler>,
    /// The images built so far, by the instrumentation that a tool needs.
    images: HashMap<Option<Sanitizer>, Image>,
}

impl CheckSession<'_> {
    fn run(
        &mut self,
        tool: Tool,
        problem: &mut dyn Problem,
        snapshot: &KernelSnapshot,
        out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        if tool == Tool::Race {
            problem.require_memory_for_races(self.device, false)?;
        }
        let image = self.image(tool, problem, snapshot, out)?;
        out.stage(Stage::Verify)?;
        let tool_run = ToolRun::new(
            tool,
            self.options,
            &image.path,
            self.sanitizer.as_ref(),
            self.cache_dir,
        )?;
        let worker = Worker::start_under_tool(
            &self.options.worker,
            &tool_run.watching()?,
            lab_device::resolve(self.options.device),
            check::time_limit(self.options),
            self.cache_dir,
            as_kernel_output(self.sink.writer()),
        )?
        .ready()?;
        let mut cx = ProblemContext {
            device: self.device,
            cache_dir: self.cache_dir,
            seed: self.options.seed.unwrap_or(1),
            seed_is_fixed: true,
            out,
            // A check times nothing.
            figures: None,
            spawn_worker: &mut |_| Err(Stop::Lab("a check starts no further worker".into())),
            build: &mut |_, _| Err(Stop::Lab("a check builds no reference".into())),
        };
        tool_run.run(problem, &mut cx, worker)
    }

    /// The candidate built with the instrumentation that this tool needs.
    fn image(
        &mut self,
        tool: Tool,
        problem: &dyn Problem,
        snapshot: &KernelSnapshot,
        out: &mut Writer,
    ) -> Result<Image, Stop> {
        let instrumentation = check::instrumentation(tool);
        if let Some(image) = self.images.get(&instrumentation) {
            return Ok(image.clone());
        }
        out.stage(Stage::Build)?;
        let mut options = self.options.clone();
        options.instrumentation = instrumentation;
        let Some(compiler) = self.compiler.take() else {
            return Err(Stop::Lab("the compiler process has ended".into()));
        };
        let arch = arch(&options, self.device);
        let mut builder = KernelBuilder {
            compiler: Some(compiler),
            options: &options,
            cache_dir: self.cache_dir,
            arch,
        };
        let built = builder.candidate(snapshot, &problem.build_needs(self.device));
        let image = built.and_then(|built| builder.write_build(built, out));
        self.compiler = builder.compiler;
        let image = image?;
        self.images.insert(instrumentation, image.clone());
        Ok(image)
    }
}
