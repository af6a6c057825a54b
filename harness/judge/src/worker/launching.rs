//! Modules, and launches of their kernels: finds the launch statement of an entry, runs it once for
//! each set of dimensions, and turns what it asks for into the steps that the device runs.

use super::launch_checks::{build, encoded, of_statement};
use super::launch_statement::{self, HEAD_BYTES, LIST_BYTES, Refused, SHAPE_BYTES, Statement};
use super::memory::{Device, Filling, OWN};
use super::messages::{LaunchedEach, Passed, TWO_STATEMENTS, missing_text};
use super::scratch::ScratchPool;
use super::{BufferId, Launch, LaunchArg, Launched, ModuleId, STATEMENT_OF};
use crate::outcome::{Result, Stop};
use lab_device::{
    Arg, DeviceError, Entry, ExecutionOrder, MAP_BYTES, MemoryRange, POISON, Shape, Step,
    check_parameters,
};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// What a launch statement finds where it writes its result. It is no poison, so that a tool that
/// watches reads of unwritten memory sees it written.
const UNSTATED: u32 = 0x5a5a_5a5a;

/// The name of the buffers for the result of launch statements, for messages.
const STATEMENT: &str = "the launch statement's result";

/// A module as the judge knows it. `loaded` is the driver's number, which changes when the module
/// is loaded again.
pub(super) struct LoadedModule {
    image: PathBuf,
    pub(super) loaded: u32,
}

/// The launch statement of an entry.
#[derive(Clone, Copy)]
struct StatementKernel {
    kernel: Entry,
    is_list: bool,
}

/// A launch statement that has run.
pub(super) struct Plan {
    pub(super) statement: Statement,
    launched: Launched,
}

/// The modules of a worker, and what is known about their launches.
#[derive(Default)]
pub struct Launching {
    modules: Vec<LoadedModule>,
    entries: HashMap<(ModuleId, String), Entry>,
    /// By module, entry and dims. Each statement runs once.
    plans: HashMap<(ModuleId, String, Vec<u8>), Arc<Plan>>,
    /// Where launch statements write a `LabShape`, and a `LabLaunches`.
    shape_result: Option<BufferId>,
    list_result: Option<BufferId>,
    pub(super) scratch: ScratchPool,
}

impl Launching {
    pub fn load(&mut self, device: &mut Device, image: PathBuf) -> Result<ModuleId, DeviceError> {
        let loaded = device.driver.load(&image)?;
        self.modules.push(LoadedModule { image, loaded });
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    pub(super) fn module(&self, module: ModuleId) -> Result<&LoadedModule, DeviceError> {
        let found = self.modules.get(module.0 as usize);
        found.ok_or_else(|| DeviceError::Driver(format!("no module {}", module.0)))
    }

    /// Loads the module again, so that its globals are as in the image, and wipes shared memory.
    /// What launches left beside their buffers is noted as a breach and restored.
    pub fn reload(&mut self, device: &mut Device, module: ModuleId) -> Result<(), DeviceError> {
        let LoadedModule { image, loaded } = self.module(module)?;
        let (image, loaded) = (image.clone(), *loaded);
        self.entries.retain(|(of, _), _| *of != module);
        device.driver.unload(loaded)?;
        let loaded = device.driver.load(&image)?;
        self.modules[module.0 as usize].loaded = loaded;
        device.check(OWN)?;
        device.driver.scrub()
    }

    /// Unloads all modules, and wipes shared memory. What launches left beside their buffers is noted
    /// as a breach and restored.
    pub fn unload_all(&mut self, device: &mut Device) -> Result<(), DeviceError> {
        self.entries.clear();
        self.plans.clear();
        for module in self.modules.drain(..) {
            device.driver.unload(module.loaded)?;
        }
        device.check(OWN)?;
        device.driver.scrub()
    }

    /// A kernel of a module; `None` if the module has none of this name.
    pub fn entry(
        &mut self,
        device: &mut Device,
        module: ModuleId,
        name: &str,
    ) -> Result<Option<Entry>, DeviceError> {
        let key = (module, name.to_owned());
        if let Some(found) = self.entries.get(&key) {
            return Ok(Some(*found));
        }
        let loaded = self.module(module)?.loaded;
        let found = device.driver.entry(loaded, name)?;
        if let Some(found) = found {
            self.entries.insert(key, found);
        }
        Ok(found)
    }

    /// The name that the module lacks to launch `entry`: of the kernel or of its launch statement.
    /// [`Stop::Build`] if a kernel that is launched alone takes parameters of other sizes.
    pub fn missing(
        &mut self,
        device: &mut Device,
        module: ModuleId,
        entry: &str,
        passed: Option<Passed>,
    ) -> Result<Option<String>> {
        let statement = match self.statement_kernel(device, module, entry)? {
            Err(missing) => return Ok(Some(missing)),
            Ok(statement) => statement,
        };
        // The kernels of a list are checked when they are launched.
        if let Some(Passed { mut sizes, dims }) = passed.filter(|_| !statement.is_list)
            && let Some(kernel) = self.entry(device, module, entry)?
            && let Some(takes) = device.driver.parameters(kernel)?
        {
            if takes.len() > sizes.len() {
                sizes.extend(self.further_sizes(device, module, entry, dims)?);
            }
            check_parameters(entry, &takes, sizes.into_iter())
                .map_err(|error| Stop::Build(error.to_string()))?;
        }
        Ok(None)
    }

    /// The bytes of the arguments and the tensor maps that the launch statement of a kernel adds
    /// to those of the problem.
    fn further_sizes(
        &mut self,
        device: &mut Device,
        module: ModuleId,
        entry: &str,
        dims: Vec<u8>,
    ) -> Result<Vec<usize>> {
        let launch = Launch::of(module, entry, Vec::new(), dims);
        let plan = self.plan(device, &launch)?;
        let stated = plan.statement.launches.iter();
        Ok(stated
            .flat_map(|launch| {
                let args = launch.args.iter().map(Vec::len);
                args.chain(launch.maps.iter().map(|_| MAP_BYTES))
            })
            .collect())
    }

    /// The launch statement of an entry, or the name that the module lacks. A list needs no kernel
    /// of its own name.
    fn statement_kernel(
        &mut self,
        device: &mut Device,
        module: ModuleId,
        entry: &str,
    ) -> Result<Result<StatementKernel, String>, DeviceError> {
        if let Some(kernel) = self.entry(device, module, &format!("lab_launches_{entry}"))? {
            return Ok(Ok(StatementKernel {
                kernel,
                is_list: true,
            }));
        }
        if self.entry(device, module, entry)?.is_none() {
            return Ok(Err(entry.to_owned()));
        }
        let statement = format!("lab_launch_{entry}");
        let found = self.entry(device, module, &statement)?;
        Ok(found
            .map(|kernel| StatementKernel {
                kernel,
                is_list: false,
            })
            .ok_or(statement))
    }

    /// Runs the launch statement of launches that follow. Returns for each the bytes of scratch
    /// that it asks for, and its line.
    pub fn state(&mut self, device: &mut Device, launches: &[Launch]) -> Result<Vec<(u64, u32)>> {
        let mut asked = Vec::with_capacity(launches.len());
        for launch in launches {
            let (plan, _) = self.stated(device, launch)?;
            asked.push((plan.statement.scratch_bytes, plan.statement.line));
        }
        let modules: BTreeSet<u32> = launches.iter().map(|launch| launch.module.0).collect();
        for module in modules {
            self.reload(device, ModuleId(module))?;
        }
        Ok(asked)
    }

    /// Launches, or runs the list of launches that the statement asks for, and waits. Returns the
    /// seconds.
    fn launch(&mut self, device: &mut Device, launch: &Launch) -> Result<(f64, Launched)> {
        let plan = self.plan(device, launch)?;
        let launched = plan.launched.clone();
        if plan.statement.is_list {
            return Ok((self.run_list(device, launch)?, launched));
        }
        let mut steps = Vec::new();
        self.steps(device, (launch, &launch.args), &plan, None, &mut steps)?;
        let mut seconds = 0.0;
        for Step {
            entry,
            shape,
            args,
            order,
            ..
        } in steps
        {
            seconds += device.driver.launch(entry, &shape, &args, order)?;
        }
        Ok((seconds, launched))
    }

    /// [`Launching::launch`] for each of these, up to the first that fails; with `wiped` each after
    /// wiping shared memory.
    pub fn launch_each(
        &mut self,
        device: &mut Device,
        launches: &[Launch],
        wiped: bool,
    ) -> LaunchedEach {
        let mut each = LaunchedEach::default();
        for launch in launches {
            let ready = if wiped {
                device.wipe_shared_memory().map_err(Stop::from)
            } else {
                Ok(())
            };
            match ready.and_then(|()| self.launch(device, launch)) {
                Ok((seconds, launched)) => {
                    each.seconds.push(seconds);
                    each.launched = Some(launched);
                }
                Err(failure) => {
                    each.failure = Some(failure);
                    break;
                }
            }
        }
        each
    }

    /// Appends the steps of one launch or list with these arguments.
    pub(super) fn steps(
        &mut self,
        device: &mut Device,
        (launch, args): (&Launch, &[LaunchArg]),
        plan: &Plan,
        scratch: Option<BufferId>,
        steps: &mut Vec<Step>,
    ) -> Result {
        let Statement {
            launches,
            is_list,
            scratch_bytes,
            zeroed,
            ..
        } = &plan.statement;
        let taken = taken(device, args)?;
        let scratch = scratch.map(|buffer| device.address(buffer)).transpose()?;
        let zeroed = scratch.filter(|_| *zeroed).map(|address| MemoryRange {
            address,
            bytes: scratch_bytes.next_multiple_of(4) as usize,
        });
        for (number, stated) in launches.iter().enumerate() {
            let Some(entry) = self.entry(device, launch.module, &stated.entry)? else {
                return Err(Stop::Build(missing_text(&stated.entry, &stated.entry)));
            };
            let mut with_maps = taken.clone();
            if *is_list {
                with_maps.push(scratch.unwrap_or(0).to_le_bytes().to_vec());
            }
            with_maps.extend_from_slice(&stated.args);
            for map in &stated.maps {
                with_maps.push(encoded(
                    device,
                    (launch, args),
                    map,
                    scratch.map(|address| (address, *scratch_bytes)),
                )?);
            }
            let zeroed = zeroed.filter(|_| number == 0);
            steps.push(Step {
                zeroed,
                entry,
                shape: stated.shape,
                args: with_maps,
                order: launch.order,
            });
        }
        Ok(())
    }

    /// What the launch statement asks for. If it runs for that, the module is loaded again
    /// afterwards, so that the statement leaves nothing in its globals.
    pub(super) fn plan(&mut self, device: &mut Device, launch: &Launch) -> Result<Arc<Plan>> {
        let (plan, has_run) = self.stated(device, launch)?;
        if has_run {
            self.reload(device, launch.module)?;
        }
        Ok(plan)
    }

    /// Runs the launch statement, once for an entry and dims, and checks what it asks for. This
    /// happens outside the timed part of a launch. Also returns whether it ran now: then the module
    /// is to be loaded again.
    fn stated(&mut self, device: &mut Device, launch: &Launch) -> Result<(Arc<Plan>, bool)> {
        let key = (launch.module, launch.entry.clone(), launch.dims.clone());
        if let Some(known) = self.plans.get(&key) {
            return Ok((known.clone(), false));
        }
        let found = self
            .statement_kernel(device, launch.module, &launch.entry)?
            .map_err(|missing| Stop::Build(missing_text(&launch.entry, &missing)))?;
        if found.is_list
            && self
                .entry(
                    device,
                    launch.module,
                    &format!("lab_launch_{}", launch.entry),
                )?
                .is_some()
        {
            let entry = &launch.entry;
            let text = format!(
                "{TWO_STATEMENTS}{entry}: keep LAB_LAUNCH({entry}) or LAB_LAUNCHES({entry})"
            );
            return Err(Stop::Build(text));
        }
        let (out, bytes) = self
            .run_statement(device, launch, found)
            .map_err(|e| of_statement(&launch.entry, e))?;
        let what = if found.is_list {
            "the launch list of"
        } else {
            STATEMENT_OF
        };
        let what = format!("{what} {}", launch.entry);
        let read = if found.is_list {
            launch_statement::read_list(&bytes)
        } else {
            launch_statement::read_single(&bytes, &launch.entry)
        };
        let statement = read.map_err(|Refused { line, what: asked }| {
            build(line, &format!("{what} asks for {asked}"))
        })?;
        let launched = self.check(device, launch.module, &statement, &what)?;
        // From here on no launch gets it.
        device.fill(out, POISON, Filling::Waits)?;
        let plan = Arc::new(Plan {
            statement,
            launched,
        });
        self.plans.insert(key, plan.clone());
        Ok((plan, true))
    }

    /// Runs a launch statement. Returns the buffer of its result, and the result.
    fn run_statement(
        &mut self,
        device: &mut Device,
        launch: &Launch,
        found: StatementKernel,
    ) -> Result<(BufferId, Vec<u8>), DeviceError> {
        let (result, bytes) = if found.is_list {
            (&mut self.list_result, LIST_BYTES)
        } else {
            (&mut self.shape_result, SHAPE_BYTES)
        };
        let out = match *result {
            Some(buffer) => buffer,
            None => *result.insert(device.allocate(STATEMENT.into(), bytes)?),
        };
        // The statement writes what it states, and all of the result is read.
        device.fill(out, UNSTATED, Filling::Waits)?;
        device.expect_launch(OWN)?;
        let address = device.address(out)?;
        let info = [device.info.sms, device.info.max_shared_bytes];
        let args = [
            launch.dims.clone(),
            info.iter().flat_map(|n| n.to_le_bytes()).collect(),
            address.to_le_bytes().to_vec(),
        ];
        device.driver.launch(
            found.kernel,
            &Shape::default(),
            &args,
            ExecutionOrder::Forward,
        )?;
        let mut content = vec![0; if found.is_list { HEAD_BYTES } else { bytes }];
        device.driver.download(address, &mut content)?;
        if found.is_list {
            content.resize(launch_statement::used_bytes(&content), 0);
            device.driver.download(address, &mut content)?;
        }
        Ok((out, content))
    }
}

/// The problem's arguments of a launch that follows, as the kernel takes them.
fn taken(device: &mut Device, args: &[LaunchArg]) -> Result<Vec<Arg>, DeviceError> {
    device.expect_launch(OWN)?;
    let taken = |arg: &LaunchArg| match arg {
        LaunchArg::Buffer(id) => Ok(device.address(*id)?.to_le_bytes().to_vec()),
        LaunchArg::Part(id, offset) => Ok((device.address(*id)? + offset).to_le_bytes().to_vec()),
        LaunchArg::Value(bytes) => Ok(bytes.clone()),
    };
    args.iter().map(taken).collect()
}
