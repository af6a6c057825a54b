//! The worker's side: answers requests with a device.

use super::launch_checks::Device;
use super::launching::Launching;
use super::memory::Memory;
use super::messages::{SandboxRequest, WorkerAnswer, WorkerFailure, WorkerReply, WorkerRequest};
use crate::process::framing::{self, FrameError};
use crate::process::rpc;
use lab_device::sandbox::{self, Policy};
use lab_device::{DeviceError, DeviceInfo, Driver};
use lab_protocol::Target;
use lab_system::lifetime;
use std::os::unix::net::UnixStream;

/// Opens the device that the first request names, and serves until the judge closes the connection.
/// An error of the device is an answer; only an error of the connection is returned.
pub fn serve(
    mut stream: UnixStream,
    open: impl FnOnce(Target) -> Result<Box<dyn Driver>, DeviceError>,
) -> Result<(), FrameError> {
    let Some((
        number,
        WorkerRequest::Open {
            target,
            parent,
            under_tool,
            sandbox,
        },
        _,
    )) = rpc::next(&mut stream)?
    else {
        return Ok(());
    };
    if parent.is_some_and(|parent| !lifetime::parent_is(parent)) {
        return Ok(());
    }
    let mut device = match open(target) {
        Ok(driver) => OpenDevice::new(
            driver,
            if under_tool {
                Memory::under_tool()
            } else {
                Memory::guarded()
            },
        ),
        Err(error) => {
            let failure = WorkerFailure::Lab(error.to_string());
            return framing::send(&mut stream, &(number, WorkerAnswer::Err(failure)), &[]);
        }
    };
    // Everything that the device needs is open now, no further thread was started, and no kernel is
    // loaded yet.
    let sandbox = sandbox.map(|asked| sandbox::enter(policy(&device.info, &asked), &asked.files));
    let (info, has_graphs) = (device.info.clone(), device.driver.has_graphs());
    let opened = WorkerReply::Opened {
        info,
        has_graphs,
        has_statements: true,
        sandbox,
    };
    framing::send(&mut stream, &(number, WorkerAnswer::Ok(opened)), &[])?;
    while let Some((number, request, body)) = rpc::next(&mut stream)? {
        let (answer, body): (WorkerAnswer, _) = match device.answer(request, body) {
            Ok((reply, body)) => (Ok(reply), body),
            Err(failure) => (Err(failure), Vec::new()),
        };
        framing::send(&mut stream, &(number, answer), &body)?;
        device.keep(body);
    }
    Ok(())
}

fn policy(info: &DeviceInfo, asked: &SandboxRequest) -> Policy {
    match (info.emulated, asked.for_foreign_tool) {
        (false, true) if asked.for_profiler => Policy::GpuProfiler,
        (true, false) => Policy::CpuKernel,
        (true, true) => Policy::CpuTool,
        (false, false) => Policy::GpuKernel,
        (false, true) => Policy::GpuTool,
    }
}

struct OpenDevice {
    driver: Box<dyn Driver>,
    info: DeviceInfo,
    memory: Memory,
    launching: Launching,
    /// Memory for the content of the next buffer that is read. New memory would cost as much time
    /// as the copy into it.
    spare: Vec<u8>,
}

/// Most bytes that are kept for the next content.
const MOST_SPARE: usize = 256 << 20;

impl OpenDevice {
    fn new(driver: Box<dyn Driver>, memory: Memory) -> Self {
        let info = driver.info();
        OpenDevice {
            driver,
            info,
            memory,
            launching: Launching::default(),
            spare: Vec::new(),
        }
    }

    /// Keeps memory for the content of the next buffer.
    fn keep(&mut self, body: Vec<u8>) {
        if (self.spare.capacity()..=MOST_SPARE).contains(&body.capacity()) {
            self.spare = body;
        }
    }

    fn answer(
        &mut self,
        request: WorkerRequest,
        body: Vec<u8>,
    ) -> Result<(WorkerReply, Vec<u8>), WorkerFailure> {
        let OpenDevice {
            driver,
            info,
            memory,
            launching,
            spare,
        } = self;
        let device = &mut Device {
            driver: &mut **driver,
            memory,
            info,
        };
        let reply = match request {
            WorkerRequest::Open { .. } => {
                return Err(WorkerFailure::Lab("the device is open already".into()));
            }
            WorkerRequest::Load { image, .. } => {
                WorkerReply::Module(launching.load(device, image)?)
            }
            WorkerRequest::Reload { module } => {
                launching.reload(device, module)?;
                WorkerReply::Done
            }
            WorkerRequest::MissingEntry {
                module,
                entry,
                parameters: _,
            } => WorkerReply::MissingEntry(launching.missing(device, module, &entry)?),
            WorkerRequest::Allocate { name, bytes } => {
                WorkerReply::Buffer(device.memory.allocate(device.driver, name, bytes)?)
            }
            WorkerRequest::AllocateAll { buffers } => {
                WorkerReply::Buffers(device.memory.allocate_all(device.driver, buffers)?)
            }
            WorkerRequest::Write { buffer } => {
                device.memory.write(device.driver, buffer, &body)?;
                WorkerReply::Done
            }
            WorkerRequest::WriteInput { buffer } => {
                device.memory.write_input(device.driver, buffer, body)?;
                WorkerReply::Done
            }
            WorkerRequest::WriteInputs { buffers } => {
                let mut rest = body.as_slice();
                for buffer in buffers {
                    let bytes = device.memory.bytes_of(buffer)?;
                    let too_few =
                        || WorkerFailure::Lab("the contents of buffers are too short".into());
                    let (content, behind) = rest.split_at_checked(bytes).ok_or_else(too_few)?;
                    device
                        .memory
                        .write_input(device.driver, buffer, content.to_vec())?;
                    rest = behind;
                }
                WorkerReply::Done
            }
            WorkerRequest::Read { buffer } => {
                let bytes = std::mem::take(spare);
                return Ok((
                    WorkerReply::Done,
                    device.memory.read(device.driver, buffer, bytes)?,
                ));
            }
            WorkerRequest::Fill { buffer, pattern } => {
                device.memory.fill(device.driver, buffer, pattern)?;
                WorkerReply::Done
            }
            WorkerRequest::FlushCache { buffer, pattern } => {
                device.memory.flush_cache(device.driver, buffer, pattern)?;
                WorkerReply::Done
            }
            WorkerRequest::Seal { buffer } => {
                device.memory.seal(device.driver, buffer)?;
                WorkerReply::Done
            }
            WorkerRequest::Free { buffer } => {
                device.memory.free(device.driver, buffer)?;
                WorkerReply::Done
            }
            WorkerRequest::State(launch) => {
                let (scratch_bytes, line) = launching.state(device, &launch)?;
                WorkerReply::Stated {
                    scratch_bytes,
                    line,
                }
            }
            WorkerRequest::Replay {
                launches,
                flush,
                submission,
            } => {
                let seconds = launching.replay(device, &launches, flush, submission)?;
                WorkerReply::Replayed {
                    seconds,
                    uncaptured: None,
                }
            }
            WorkerRequest::FillAll { buffers, pattern } => {
                for buffer in buffers {
                    device.memory.fill(device.driver, buffer, pattern)?;
                }
                WorkerReply::Done
            }
            WorkerRequest::Digests { buffers, key } => {
                WorkerReply::Digests(device.memory.digests(device.driver, &buffers, key)?)
            }
            WorkerRequest::Launch(launch) => {
                let (seconds, launched) = launching.launch(device, &launch)?;
                WorkerReply::Launched { seconds, launched }
            }
            WorkerRequest::FillAndLaunch { fills, launch } => {
                for (buffer, pattern) in fills {
                    device.memory.fill_before(device.driver, buffer, pattern)?;
                }
                let (seconds, launched) = launching.launch(device, &launch)?;
                WorkerReply::Launched { seconds, launched }
            }
            // The driver's and the compiler's versions are in the run's own lines.
            WorkerRequest::Versions => WorkerReply::Versions(Vec::new()),
            WorkerRequest::Breaches { of_given: false } => {
                WorkerReply::Breaches(device.memory.breaches(device.driver)?)
            }
            WorkerRequest::Breaches { of_given: true } => {
                WorkerReply::Breaches(device.memory.breaches_of_given(device.driver)?)
            }
        };
        Ok((reply, Vec::new()))
    }
}
