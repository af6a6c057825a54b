//! What a launch statement asks for beside a shape that the device runs: tensor maps, and refusals
//! with their line.

use super::launch_statement::{self, StatedLaunch, StatedMap};
use super::memory::Device;
use super::tensor_maps::{self, Mapped, SCRATCH};
use super::{Launch, LaunchArg, STATEMENT_OF};
use crate::outcome::{Result, Stop};
use itertools::Itertools as _;
use lab_device::{Arg, DeviceError, Entry, OTHER_PARAMETERS};

/// Most kernels of a module that a message names.
const NAMED: usize = 20;

/// The bytes of a tensor map. `scratch` are the address and the bytes of the scratch buffer.
pub fn encoded(
    device: &mut Device,
    (launch, args): (&Launch, &[LaunchArg]),
    asked: &StatedMap,
    scratch: Option<(u64, u64)>,
) -> Result<Arg> {
    let refused = |why: &str| {
        let what = format!(
            "the launch statement of {} asks for a tensor map of {}",
            launch.entry, asked.tensor
        );
        crash(asked.line, &format!("{what}, which cannot be made: {why}"))
    };
    // A null pointer is no tensor.
    let parameters = launch.parameters.iter().zip(args);
    let tensors = parameters.filter_map(|(parameter, arg)| {
        let (place, _) = (arg.place()?, parameter.shape.as_ref()?);
        Some((parameter, place))
    });
    let tensor = tensors
        .clone()
        .find(|(tensor, _)| tensor.name == asked.tensor);
    let (address, bytes) = match (tensor, scratch) {
        (Some((tensor, (buffer, offset))), _) => (device.address(buffer)? + offset, tensor.bytes()),
        (None, Some(scratch)) if asked.tensor == SCRATCH => scratch,
        (None, _) => {
            let list = tensors.map(|(tensor, _)| tensor.name.as_str()).join(", ");
            return Err(refused(&format!(
                "there is no such tensor. There are: {list}; \"{SCRATCH}\" is the buffer of a list with scratch_bytes"
            )));
        }
    };
    let map = tensor_maps::complete(
        asked,
        &Mapped {
            address,
            bytes,
            tensor: tensor.map(|(tensor, _)| tensor),
        },
    )
    .map_err(|why| refused(&why))?;
    device.driver.tensor_map(&map).map_err(|error| match error {
        DeviceError::Kernel(why) => refused(&why),
        other => other.into(),
    })
}

/// Refuses a shape that this device cannot launch.
pub fn check_shape(device: &mut Device, entry: Entry, stated: &StatedLaunch, what: &str) -> Result {
    let StatedLaunch { shape, line, .. } = stated;
    let refuse = |asked: String| Err(crash(*line, &format!("{what} asks for {asked}")));
    if let Some(asked) = launch_statement::refusal(shape, device.info.max_shared_bytes) {
        return refuse(asked);
    }
    if device.info.emulated && shape.has_clusters() {
        let text = format!(
            "{what} asks for clusters of {:?} blocks, and thread block clusters cannot run on the cpu device: set \
             launch.cluster under #ifndef LAB_CPU, and let the kernel do without clusters there",
            shape.cluster
        );
        return Err(build(*line, &text));
    }
    if shape.cooperative && !shape.has_clusters() {
        let (threads, blocks) = (shape.threads(), shape.blocks());
        let each = device
            .driver
            .blocks_per_sm(entry, threads as u32, shape.shared_bytes)?;
        let fit = u64::from(each) * u64::from(device.info.sms);
        if blocks > fit {
            return refuse(format!(
                "a cooperative grid of {blocks} blocks, but only {fit} fit on this device at once \
                 ({each} on each of {} multiprocessors)",
                device.info.sms
            ));
        }
    }
    Ok(())
}

/// The kernels of a module, as the end of a sentence.
pub fn kernel_names(device: &mut Device, loaded: u32) -> Result<String, DeviceError> {
    let mut names = device.driver.kernels(loaded)?;
    names.retain(|name| !name.starts_with("lab_launch"));
    names.sort();
    let more = if names.len() > NAMED { ", …" } else { "" };
    names.truncate(NAMED);
    Ok(if names.is_empty() {
        String::new()
    } else {
        format!(". Its kernels are: {}{more}", names.join(", "))
    })
}

/// What a kernel of a list gets differs from what a single kernel gets, so an error of its
/// parameters says so.
pub fn explained(error: DeviceError, is_list: bool) -> Stop {
    match error {
        DeviceError::Kernel(text) if is_list && text.contains(OTHER_PARAMETERS) => {
            Stop::Crash(format!(
                "{text}. In a launch list each kernel takes the problem's parameters, then the scratch pointer, then the \
                 arguments and the tensor maps of its launch."
            ))
        }
        other => other.into(),
    }
}

/// A failure of the kernel that is the launch statement of `entry`.
pub fn of_statement(entry: &str, error: DeviceError) -> Stop {
    match error {
        DeviceError::Kernel(text) => Stop::Crash(format!("{STATEMENT_OF} {entry} failed: {text}")),
        other => other.into(),
    }
}

/// A failure that belongs to a line of the source; line 0 is unknown.
pub fn at_line(line: u32, text: &str) -> String {
    if line == 0 {
        text.to_owned()
    } else {
        format!("line {line}: {text}")
    }
}

pub fn build(line: u32, text: &str) -> Stop {
    Stop::Build(at_line(line, text))
}

pub fn crash(line: u32, text: &str) -> Stop {
    Stop::Crash(at_line(line, text))
}
