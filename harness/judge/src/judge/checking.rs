//! `lab check`: runs the candidate under each tool, one after the other. Compares no
//! results and times nothing.

use super::kernel_snapshot::KernelSnapshot;
use super::processes::as_kernel_output;
use super::session::Session;
use crate::check::sanitizer::{self, REMEDY};
use crate::check::{self, ToolRun};
use crate::outcome::{Result, Stop};
use crate::problem::Watched;
use crate::sink::SharedSink;
use lab_device::Sanitizer;
use lab_protocol::JudgeRequest;
use lab_protocol::report::Stage;
use lab_protocol::{Tool, tool_names};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs these tools, or all tools of the device if none is named. Returns [`Stop::Wrong`] if a tool
/// found something.
///
/// A tool that does not finish does not stop the others. Its error is returned at the end, unless
/// another tool found something.
pub fn check(
    request: &Arc<JudgeRequest>,
    tools: &[Tool],
    sanitizer: Option<&Path>,
    sink: &SharedSink,
) -> Result {
    let (mut session, problem) = Session::open_for_tool(
        request,
        sink,
        "`lab check` watches the memory accesses of CUDA C++: its tools cannot watch Python. A run finds stores out of bounds into the \
         lab's buffers, and changed inputs",
    )?;
    let sanitizer = sanitizer.map(Path::to_owned).or_else(sanitizer::find);
    let tools = match tools {
        [] => Tool::of(session.target),
        tools => tools,
    };
    let lacks_sanitizer = sanitizer.is_none() && tools.iter().any(|tool| tool.needs_sanitizer());
    if lacks_sanitizer {
        return Err(Stop::Lab(REMEDY.into()));
    }
    let problem = problem.watched(&session.device);
    session.out.line("check_tools", tool_names(tools))?;
    session.out.line("check_size", &problem.size)?;
    let out = &mut sink.writer();
    let mut checking = Checking {
        snapshot: session.snapshot()?,
        session,
        sanitizer,
        images: HashMap::new(),
    };
    let (mut found, mut unfinished) = (Vec::new(), None);
    for (done, tool) in tools.iter().enumerate() {
        out.progress(done as u64, tools.len() as u64)?;
        match checking.run(*tool, &problem) {
            Ok(()) => {}
            Err(Stop::Wrong) => found.push(*tool),
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
            Err(Stop::Wrong)
        }
        Some(stop) => Err(stop),
        None => {
            out.line("check", format_args!("{} clean", tool_names(tools)))?;
            Ok(())
        }
    }
}

/// What stays the same for all tools of a check.
struct Checking {
    session: Session,
    snapshot: KernelSnapshot,
    sanitizer: Option<PathBuf>,
    /// The images built so far, by the instrumentation that a tool needs.
    images: HashMap<Option<Sanitizer>, PathBuf>,
}

impl Checking {
    fn run(&mut self, tool: Tool, problem: &Watched) -> Result {
        if tool == Tool::Race {
            problem.require_memory_for_races(&self.session.device, false)?;
        }
        let image = self.image(tool, problem)?;
        let session = &mut self.session;
        session.out.stage(Stage::Verify)?;
        let request = Arc::clone(&session.request);
        let sanitizer = self.sanitizer.as_deref();
        let cache_dir = session.cache_dir.clone();
        let tool_run = ToolRun::new(tool, &request, &image, sanitizer, &cache_dir)?;
        let output = as_kernel_output(session.sink.writer());
        let worker = tool_run.start(session.target, check::time_limit(&request), output)?;
        session.with_fixed_inputs(|cx| tool_run.run(problem, cx, worker))
    }

    /// The candidate built with the instrumentation that this tool needs.
    fn image(&mut self, tool: Tool, problem: &Watched) -> Result<PathBuf> {
        let instrumentation = check::instrumentation(tool);
        if let Some(image) = self.images.get(&instrumentation) {
            return Ok(image.clone());
        }
        let needs = problem.build_needs(&self.session.device);
        let Session { builder, out, .. } = &mut self.session;
        out.stage(Stage::Build)?;
        builder.sanitizer = instrumentation;
        let built = builder.candidate(&self.snapshot, &needs)?;
        let image = builder.write_build(built, out)?;
        self.images.insert(instrumentation, image.clone());
        Ok(image)
    }
}
