//! The worker's side: answers requests with a device.

use super::cells;
use super::launching::Launching;
use super::memory::{Device, Filling};
use super::messages::{ForWorkers, Opened, SandboxRequest, WorkerRequest};
use super::windows::Manner;
use crate::outcome::Stop;
use crate::process::descriptors;
use crate::process::framing::{self, FrameError};
use crate::process::rpc;
use lab_device::sandbox::{self, Policy};
use lab_device::{DeviceInfo, Driver, Result};
use lab_protocol::Target;
use lab_system::lifetime;
use serde_json::{Value, json};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Opens the device that the first request names, and serves until the judge closes the connection.
/// An error of the device is an answer; only an error of the connection is returned.
pub fn serve(
    mut stream: UnixStream,
    open: impl FnOnce(Target) -> Result<Box<dyn Driver>>,
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
    let device = match open(target) {
        Ok(driver) => Device::new(driver, under_tool),
        Err(error) => {
            let failure = Stop::Lab(error.to_string());
            return framing::send(&mut stream, &(number, Err::<(), _>(failure)), &[]);
        }
    };
    // Everything that the device needs is open now, no further thread was started, and no kernel is
    // loaded yet.
    let sandbox = sandbox.map(|asked| sandbox::enter(policy(&device.info, &asked), &asked.files));
    let opened = Opened {
        info: device.info.clone(),
        has_graphs: device.driver.has_graphs(),
        has_statements: true,
        shares_memory: device.driver.shares_memory(),
        sandbox,
    };
    framing::send(&mut stream, &(number, Ok::<_, Stop>(opened)), &[])?;
    let mut served = Served::new(device);
    while let Some((number, request, body)) = rpc::next(&mut stream)? {
        if matches!(request, WorkerRequest::Map(_)) {
            served.incoming = Some(descriptors::receive(&stream)?);
        }
        let (answer, body) = match served.answer(request, body) {
            Ok((reply, body)) => (Ok(reply), body),
            Err(failure) => (Err(failure), Vec::new()),
        };
        framing::send(&mut stream, &(number, answer), &body)?;
        if let Some(memory) = served.take_outgoing() {
            descriptors::send(&stream, &[descriptors::MARK], &[memory.as_fd()])?;
        }
        served.keep(body);
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

/// What a worker has once its device is open.
pub struct Served {
    device: Device,
    launching: Launching,
    /// Memory for the content of the next buffer that is read. New memory would cost as much time
    /// as the copy into it.
    spare: Vec<u8>,
    /// Memory of another process, which is to be mapped.
    incoming: Option<OwnedFd>,
    /// Memory for another process, which follows the answer.
    outgoing: Option<OwnedFd>,
}

/// Most bytes that are kept for the next content.
const MOST_SPARE: usize = 256 << 20;

impl Served {
    pub fn new(device: Device) -> Self {
        Served {
            device,
            launching: Launching::default(),
            spare: Vec::new(),
            incoming: None,
            outgoing: None,
        }
    }

    /// The memory that follows the last answer.
    pub fn take_outgoing(&mut self) -> Option<OwnedFd> {
        self.outgoing.take()
    }

    /// Keeps memory for the content of the next buffer.
    pub fn keep(&mut self, body: Vec<u8>) {
        if (self.spare.capacity()..=MOST_SPARE).contains(&body.capacity()) {
            self.spare = body;
        }
    }

    /// The reply to a request, and its body.
    pub fn answer(
        &mut self,
        request: WorkerRequest,
        mut body: Vec<u8>,
    ) -> Result<(Value, Vec<u8>), Stop> {
        let (device, launching) = (&mut self.device, &mut self.launching);
        let reply = match request {
            WorkerRequest::Open { .. } => {
                return Err(Stop::Lab("the device is open already".into()));
            }
            WorkerRequest::Load { image, .. } => json!(launching.load(device, image)?),
            WorkerRequest::Reload { module } => json!(launching.reload(device, module)?),
            WorkerRequest::UnloadAll => json!(launching.unload_all(device)?),
            WorkerRequest::MissingEntry {
                module,
                entry,
                parameters: _,
                passed,
            } => json!(launching.missing(device, module, &entry, passed)?),
            WorkerRequest::Allocate { buffers, used } => {
                json!(device.allocate_all(buffers, used)?)
            }
            WorkerRequest::Write {
                buffers,
                are_inputs,
            } => {
                let last = buffers.last().copied();
                for buffer in buffers {
                    // The last one gets all that is left, and refuses what it does not hold.
                    let bytes = if Some(buffer) == last {
                        body.len()
                    } else {
                        device.bytes_of(buffer)?.min(body.len())
                    };
                    let rest = body.split_off(bytes);
                    let content = std::mem::replace(&mut body, rest);
                    match are_inputs {
                        true => device.write_input(buffer, content)?,
                        false => device.write(buffer, &content)?,
                    }
                }
                Value::Null
            }
            WorkerRequest::Read { buffer } => {
                let content = device.read(buffer, std::mem::take(&mut self.spare))?;
                return Ok((Value::Null, content));
            }
            WorkerRequest::Fill { fills, how } => {
                json!(device.fill_all(&fills, how)?)
            }
            WorkerRequest::Free { buffer } => json!(device.free(buffer)?),
            WorkerRequest::State(launches) => json!(launching.state(device, &launches)?),
            WorkerRequest::Launch {
                fills,
                launches,
                wiped,
            } => {
                device.fill_all(&fills, Filling::Ahead)?;
                json!(launching.launch_each(device, &launches, wiped))
            }
            WorkerRequest::Replay {
                windows,
                flush,
                submission,
                key,
            } => {
                let manner = Manner {
                    flush,
                    submission,
                    key,
                };
                json!(launching.replay_each(device, &windows, manner))
            }
            WorkerRequest::Digests { buffers, key } => json!(device.digests(&buffers, key)?),
            WorkerRequest::Breaches { of_given, owner } => {
                json!(device.breaches(owner, of_given)?)
            }
            WorkerRequest::ForWorkers(asked) => self.for_workers(asked, &body)?,
            WorkerRequest::Map(shared) => {
                let memory = self.incoming.take();
                let memory =
                    memory.ok_or_else(|| Stop::Lab("no memory came to be mapped".into()))?;
                json!(device.map(&memory, &shared)?)
            }
            WorkerRequest::Unmap { buffers } => json!(device.free_all(&buffers)?),
            WorkerRequest::Cells { module, work } => {
                json!(cells::work(device, launching, module, work, &body)?)
            }
            // The driver's and the compiler's versions are in the run's own lines.
            WorkerRequest::Versions => json!([]),
        };
        Ok((reply, Vec::new()))
    }

    /// The reply to a request for another worker.
    fn for_workers(&mut self, asked: ForWorkers, body: &[u8]) -> Result<Value> {
        let device = &mut self.device;
        Ok(match asked {
            ForWorkers::Allocate {
                owner,
                buffers,
                used,
            } => {
                let (shared, memory) = device.allocate_shared(owner, buffers, used)?;
                self.outgoing = Some(memory);
                json!(shared)
            }
            ForWorkers::Prepare {
                owner,
                fills,
                given,
            } => json!(device.prepare_launch(owner, fills, &given)?),
            ForWorkers::Check { owner } => json!(device.check(owner)?),
            ForWorkers::Free { owners, buffers } => {
                json!(device.free_with_owners(&owners, &buffers)?)
            }
            ForWorkers::Hold => json!(device.hold(body.len(), body)?),
            ForWorkers::HoldCopies { buffers } => json!(device.hold_copies(&buffers)?),
            ForWorkers::Copy { pairs, are_inputs } => {
                for (held, to) in pairs {
                    device.copy(held, to, are_inputs)?;
                }
                Value::Null
            }
        })
    }
}
