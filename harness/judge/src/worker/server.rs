//! The worker's side: answers requests with a device.

use super::launch_statement::{self, SHAPE_BYTES};
use super::memory::Memory;
use super::messages::{WorkerAnswer, WorkerFailure, WorkerReply, WorkerRequest, missing_text};
use super::{BufferId, Launch, LaunchArg, LaunchShape, ModuleId};
use crate::process::framing::{self, FrameError};
use crate::process::rpc;
use lab_device::sandbox::{self, Policy};
use lab_device::{Arg, DeviceError, DeviceInfo, Driver, Entry, ExecutionOrder, POISON, Shape, Step};
use lab_protocol::Target;
use lab_system::lifetime;
use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Opens the device that the first request names, and serves until the judge closes the connection. An error of the
/// device is an answer; only an error of the connection is returned.
pub fn serve(
    mut stream: UnixStream,
    open: impl FnOnce(Target) -> Result<Box<dyn Driver>, DeviceError>,
) -> Result<(), FrameError> {
    let Some((number, WorkerRequest::Open { target, parent, under_tool, sandbox }, _)) =
        rpc::next(&mut stream)?
    else {
        return Ok(());
    };
    if parent.is_some_and(|parent| !lifetime::parent_is(parent)) {
        return Ok(());
    }
    let mut device = match open(target) {
        Ok(driver) => {
            OpenDevice::new(driver, if under_tool { Memory::under_tool() } else { Memory::guarded() })
        }
        Err(error) => {
            let failure = WorkerFailure::Lab(error.to_string());
            return framing::send(&mut stream, &(number, WorkerAnswer::Err(failure)), &[]);
        }
    };
    // Everything that the device needs is open now, no further thread was started, and no kernel is loaded yet.
    let sandbox =
        sandbox.map(|asked| sandbox::enter(policy(&device.info, asked.for_foreign_tool), &asked.files));
    let opened = WorkerReply::Opened { info: device.info.clone(), sandbox };
    framing::send(&mut stream, &(number, WorkerAnswer::Ok(opened)), &[])?;
    while let Some((number, request, body)) = rpc::next(&mut stream)? {
        let (answer, body): (WorkerAnswer, _) = match device.answer(request, body) {
            Ok((reply, body)) => (Ok(reply), body),
            Err(failure) => (Err(failure), Vec::new()),
        };
        framing::send(&mut stream, &(number, answer), &body)?;
    }
    Ok(())
}

fn policy(info: &DeviceInfo, for_foreign_tool: bool) -> Policy {
    match (info.emulated, for_foreign_tool) {
        (true, false) => Policy::CpuKernel,
        (true, true) => Policy::CpuTool,
        (false, false) => Policy::GpuKernel,
        (false, true) => Policy::GpuTool,
    }
}
/// The name of the buffer for the result of launch statements, for messages.
const STATEMENT: &str = "the launch statement's result";

/// A kernel with its launch statement.
#[derive(Clone, Copy)]
struct Launchable {
    entry: Entry,
    statement: Entry,
}

/// A module as the judge knows it. `loaded` is the driver's number, which changes when the module is loaded anew.
struct LoadedModule {
    image: PathBuf,
    loaded: u32,
}

struct OpenDevice {
    driver: Box<dyn Driver>,
    info: DeviceInfo,
    memory: Memory,
    modules: Vec<LoadedModule>,
    entries: HashMap<(ModuleId, String), Launchable>,
    /// The shapes that launch statements have given, by module, entry and dims. Each statement runs once.
    shapes: HashMap<(ModuleId, String, Vec<u8>), LaunchShape>,
    /// Where a launch statement writes its `LabShape`.
    statement: Option<BufferId>,
}

impl OpenDevice {
    fn new(driver: Box<dyn Driver>, memory: Memory) -> Self {
        let info = driver.info();
        OpenDevice {
            driver,
            info,
            memory,
            modules: Vec::new(),
            entries: HashMap::new(),
            shapes: HashMap::new(),
            statement: None,
        }
    }

    fn answer(
        &mut self,
        request: WorkerRequest,
        body: Vec<u8>,
    ) -> Result<(WorkerReply, Vec<u8>), WorkerFailure> {
        let driver = &mut *self.driver;
        let reply = match request {
            WorkerRequest::Open { .. } => {
                return Err(WorkerFailure::Lab("the device is open already".into()));
            }
            WorkerRequest::Load { image } => {
                let loaded = driver.load(&image)?;
                self.modules.push(LoadedModule { image, loaded });
                WorkerReply::Module(ModuleId(self.modules.len() as u32 - 1))
            }
            WorkerRequest::Reload { module } => {
                self.reload(module)?;
                WorkerReply::Done
            }
            WorkerRequest::MissingEntry { module, entry } => {
                WorkerReply::MissingEntry(self.launchable(module, &entry)?.err())
            }
            WorkerRequest::Allocate { name, bytes } => {
                WorkerReply::Buffer(self.memory.allocate(driver, name, bytes)?)
            }
            WorkerRequest::Write { buffer } => {
                self.memory.write(driver, buffer, &body)?;
                WorkerReply::Done
            }
            WorkerRequest::WriteInput { buffer } => {
                self.memory.write(driver, buffer, &body)?;
                self.memory.seal_as(driver, buffer, body)?;
                WorkerReply::Done
            }
            WorkerRequest::Read { buffer } => {
                return Ok((WorkerReply::Done, self.memory.read(driver, buffer)?));
            }
            WorkerRequest::Fill { buffer, pattern } => {
                self.memory.fill(driver, buffer, pattern)?;
                WorkerReply::Done
            }
            WorkerRequest::FlushCache { buffer, pattern } => {
                self.memory.flush_cache(driver, buffer, pattern)?;
                WorkerReply::Done
            }
            WorkerRequest::Seal { buffer } => {
                self.memory.seal(driver, buffer)?;
                WorkerReply::Done
            }
            WorkerRequest::Free { buffer } => {
                self.memory.free(driver, buffer)?;
                WorkerReply::Done
            }
            WorkerRequest::Replay { launches, flush } => self.replay(&launches, flush)?,
            WorkerRequest::FillAll { buffers, pattern } => {
                for buffer in buffers {
                    self.memory.fill(driver, buffer, pattern)?;
                }
                WorkerReply::Done
            }
            WorkerRequest::Digests { buffers, key } => {
                WorkerReply::Digests(self.memory.digests(driver, &buffers, key)?)
            }
            WorkerRequest::Launch(launch) => self.launch(&launch)?,
            WorkerRequest::Breaches => WorkerReply::Breaches(self.memory.breaches(driver)?),
        };
        Ok((reply, Vec::new()))
    }

    fn module(&self, module: ModuleId) -> Result<&LoadedModule, DeviceError> {
        let found = self.modules.get(module.0 as usize);
        found.ok_or_else(|| DeviceError::Driver(format!("no module {}", module.0)))
    }

    /// Loads the module anew, so that its globals are as in the image, and wipes shared memory. What launches left beside
    /// their buffers is noted as a breach and restored.
    fn reload(&mut self, module: ModuleId) -> Result<(), DeviceError> {
        let LoadedModule { image, loaded } = self.module(module)?;
        let (image, loaded) = (image.clone(), *loaded);
        self.entries.retain(|(of, _), _| *of != module);
        self.driver.unload(loaded)?;
        let loaded = self.driver.load(&image)?;
        self.modules[module.0 as usize].loaded = loaded;
        self.memory.check(&mut *self.driver)?;
        self.driver.scrub()
    }

    /// The kernel and its launch statement, or the name of the one that the module lacks.
    fn launchable(
        &mut self,
        module: ModuleId,
        name: &str,
    ) -> Result<Result<Launchable, String>, DeviceError> {
        let key = (module, name.to_owned());
        if let Some(found) = self.entries.get(&key) {
            return Ok(Ok(*found));
        }
        let loaded = self.module(module)?.loaded;
        let Some(entry) = self.driver.entry(loaded, name)? else { return Ok(Err(name.to_owned())) };
        let statement = format!("lab_launch_{name}");
        let Some(statement) = self.driver.entry(loaded, &statement)? else { return Ok(Err(statement)) };
        let found = Launchable { entry, statement };
        self.entries.insert(key, found);
        Ok(Ok(found))
    }

    fn launch(&mut self, launch: &Launch) -> Result<WorkerReply, WorkerFailure> {
        let (shape, occupancy) = self.shape(launch)?;
        let found = self.required(launch)?;
        let args = self.args(launch)?;
        let seconds = self.driver.launch(found.entry, &shape, &args, launch.order)?;
        Ok(WorkerReply::Launched { seconds, shape, occupancy })
    }

    fn replay(
        &mut self,
        launches: &[Launch],
        flush: Option<(BufferId, u32)>,
    ) -> Result<WorkerReply, WorkerFailure> {
        // All shapes first: where a launch statement runs, its module is loaded anew, and entries change.
        let mut shapes = Vec::with_capacity(launches.len());
        for launch in launches {
            shapes.push(self.shape(launch)?.0);
        }
        let mut steps = Vec::with_capacity(launches.len());
        for (launch, shape) in launches.iter().zip(shapes) {
            let (entry, args) = (self.required(launch)?.entry, self.args(launch)?);
            steps.push(Step { entry, shape, args, order: launch.order });
        }
        let flush = match flush {
            Some((buffer, pattern)) => {
                Some((self.memory.flush_range(&mut *self.driver, buffer, pattern)?, pattern))
            }
            None => None,
        };
        Ok(WorkerReply::Replayed { seconds: self.driver.replay(&steps, flush)? })
    }

    /// The arguments of a launch that follows.
    fn args(&mut self, launch: &Launch) -> Result<Vec<Arg>, DeviceError> {
        self.memory.expect_launch();
        let arg = |arg: &LaunchArg| match arg {
            LaunchArg::Buffer(id) => Ok(self.memory.address(*id)?.to_le_bytes().to_vec()),
            LaunchArg::Value(bytes) => Ok(bytes.clone()),
        };
        launch.args.iter().map(arg).collect()
    }

    fn required(&mut self, launch: &Launch) -> Result<Launchable, WorkerFailure> {
        self.launchable(launch.module, &launch.entry)?
            .map_err(|missing| WorkerFailure::Build(missing_text(&launch.entry, &missing)))
    }

    /// Runs the launch statement, once for an entry and dims, and checks the shape that it gives. This happens
    /// outside the timed part of a launch. The module is loaded anew afterwards, so that the statement leaves nothing
    /// in its globals.
    fn shape(&mut self, launch: &Launch) -> Result<LaunchShape, WorkerFailure> {
        let key = (launch.module, launch.entry.clone(), launch.dims.clone());
        if let Some(known) = self.shapes.get(&key) {
            return Ok(*known);
        }
        let found = self.required(launch)?;
        let driver = &mut *self.driver;
        let out = match self.statement {
            Some(buffer) => buffer,
            None => *self.statement.insert(self.memory.allocate(driver, STATEMENT.into(), SHAPE_BYTES)?),
        };
        self.memory.fill(driver, out, POISON)?;
        self.memory.expect_launch();
        let address = self.memory.address(out)?;
        let device = [self.info.sms, self.info.max_shared_bytes, u32::from(self.info.emulated)];
        let args = [
            launch.dims.clone(),
            device.iter().flat_map(|n| n.to_le_bytes()).collect(),
            address.to_le_bytes().to_vec(),
        ];
        let one = Shape { grid: [1; 3], block: [1; 3], shared_bytes: 0, cooperative: false };
        self.driver.launch(found.statement, &one, &args, ExecutionOrder::Forward)?;
        let mut bytes = [0; SHAPE_BYTES];
        self.driver.download(address, &mut bytes)?;
        let shape = launch_statement::read(&bytes);
        self.check_shape(&launch.entry, found.entry, &shape)?;
        let occupancy = self.driver.occupancy(found.entry, &shape)?;
        // From here on no launch gets it.
        self.memory.fill(&mut *self.driver, out, POISON)?;
        self.reload(launch.module)?;
        self.shapes.insert(key, (shape, occupancy));
        Ok((shape, occupancy))
    }

    /// Refuses a shape that this device cannot launch.
    fn check_shape(&mut self, name: &str, entry: Entry, shape: &Shape) -> Result<(), WorkerFailure> {
        let refuse = |what: String| {
            Err(WorkerFailure::Crash(format!("the launch statement of {name} asks for {what}")))
        };
        if let Some(what) = launch_statement::refusal(shape, self.info.max_shared_bytes) {
            return refuse(what);
        }
        if shape.cooperative {
            let (threads, blocks) = (launch_statement::threads(shape), launch_statement::blocks(shape));
            let each = self.driver.blocks_per_sm(entry, threads as u32, shape.shared_bytes)?;
            let fit = u64::from(each) * u64::from(self.info.sms);
            if blocks > fit {
                return refuse(format!(
                    "a cooperative grid of {blocks} blocks, but only {fit} fit on this device at once \
                     ({each} on each of {} multiprocessors)",
                    self.info.sms
                ));
            }
        }
        Ok(())
    }
}
