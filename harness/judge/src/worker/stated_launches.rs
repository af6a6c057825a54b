//! Which launches of a statement the device can run.

use super::launch_checks::{build, check_shape, crash, kernel_names};
use super::launch_statement::{StatedLaunch, Statement};
use super::launching::Launching;
use super::memory::Device;
use super::{Launched, LaunchedKernel, ModuleId};
use crate::outcome::Result;

impl Launching {
    /// Refuses what this device cannot run. `what` names the statement.
    pub(super) fn check(
        &mut self,
        device: &mut Device,
        module: ModuleId,
        statement: &Statement,
        what: &str,
    ) -> Result<Launched> {
        let memory = device.info.memory_bytes;
        if memory > 0 && statement.scratch_bytes > memory {
            return Err(crash(
                statement.line,
                &format!(
                    "{what} asks for {} bytes of scratch, and this device has {memory} bytes of memory. Lower \
                     launches.scratch_bytes.",
                    statement.scratch_bytes
                ),
            ));
        }
        let mut kernels: Vec<LaunchedKernel> = Vec::new();
        // Launches of a loop are alike in everything but their arguments.
        for (number, stated) in (1..).zip(&statement.launches) {
            let mut known = kernels.iter_mut();
            let alike = known.find(|known| {
                (&known.entry, known.shape, known.maps)
                    == (&stated.entry, stated.shape, stated.maps.len())
            });
            match alike {
                Some(alike) => alike.times += 1,
                None => kernels.push(self.check_launch(device, module, (number, stated), what)?),
            }
        }
        let Statement {
            is_list,
            scratch_bytes,
            zeroed,
            ..
        } = *statement;
        Ok(Launched {
            kernels,
            is_list,
            scratch_bytes,
            zeroed,
            resources: Vec::new(),
        })
    }

    /// [`Launching::check`] of the launch with this number.
    fn check_launch(
        &mut self,
        device: &mut Device,
        module: ModuleId,
        (number, stated): (usize, &StatedLaunch),
        what: &str,
    ) -> Result<LaunchedKernel> {
        let Some(entry) = self.entry(device, module, &stated.entry)? else {
            let names = kernel_names(device, self.module(module)?.loaded)?;
            // A name with a line break must not cut the message.
            let named = stated.entry.escape_debug().to_string();
            let text = format!(
                "{what} names the kernel '{named}' as its launch {number}, and the source has no extern \"C\" __global__ \
                 void {named}(…){names}"
            );
            return Err(build(stated.line, &text));
        };
        check_shape(device, entry, stated, what)?;
        let occupancy = device.driver.occupancy(entry, &stated.shape)?;
        let (entry, shape, maps) = (stated.entry.clone(), stated.shape, stated.maps.len());
        Ok(LaunchedKernel {
            entry,
            shape,
            times: 1,
            occupancy,
            maps,
        })
    }
}
