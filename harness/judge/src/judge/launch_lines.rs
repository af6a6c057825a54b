//! The lines about the launches that a kernel's statement asked for, and about the kernels that
//! Python code has compiled.

use crate::worker::{KernelResources, Launched, LaunchedKernel};
use lab_device::{Occupancy, Resources, extents};
use lab_protocol::report::{MOST_LAUNCH_LINES, Writer, numbered};
use std::io;

/// Writes `launch:` for the first launch of the statement, `launch_2:` and so on for those of a list
/// that differ, and for a list `launch_list:` with the number of its launches and its scratch buffer.
/// Writes what the largest kernel of Python code needs.
pub fn write_launches(launched: &Launched, out: &mut Writer) -> io::Result<()> {
    let Launched {
        kernels,
        is_list,
        scratch_bytes,
        zeroed,
        resources,
    } = launched;
    if *is_list {
        let scratch = match (scratch_bytes, zeroed) {
            (0, _) => "none",
            (_, true) => "zeroed",
            (_, false) => "unset",
        };
        let launches = launched.launches();
        let shown = if kernels.len() > MOST_LAUNCH_LINES {
            format!(" shown={MOST_LAUNCH_LINES}")
        } else {
            String::new()
        };
        out.line(
            "launch_list",
            format_args!("{launches} scratch_bytes={scratch_bytes} scratch={scratch}{shown}"),
        )?;
    }
    for (number, kernel) in (1..=MOST_LAUNCH_LINES).zip(kernels) {
        write_launch(&numbered("launch", number), kernel, *is_list, out)?;
    }
    write_resources(resources, out)
}

/// Writes what the kernel with the most registers needs: most often the one that computes most. Where there are several, `largest_kernel:` is its name.
fn write_resources(resources: &[KernelResources], out: &mut Writer) -> io::Result<()> {
    let largest = resources.iter().max_by_key(|kernel| kernel.needs);
    let Some(largest) = largest else {
        return Ok(());
    };
    if resources.len() > 1 {
        let of = resources.len();
        out.line("largest_kernel", format_args!("{} of={of}", largest.name))?;
    }
    write_needs(largest.needs, out)
}

/// Writes `registers:`, `spill_bytes:` and `shared_bytes:` of a kernel, as far as they are known.
pub fn write_needs(needs: Resources, out: &mut Writer) -> io::Result<()> {
    needs
        .known()
        .try_for_each(|(key, needed)| out.line(key, needed))
}

/// Writes the shape of a launch, and the occupancy in percent of a multiprocessor's threads.
fn write_launch(
    key: &str,
    kernel: &LaunchedKernel,
    is_list: bool,
    out: &mut Writer,
) -> io::Result<()> {
    let LaunchedKernel {
        entry,
        shape,
        times,
        occupancy,
        maps,
    } = kernel;
    let mut line = format!("{} block={}", extents(shape.grid), extents(shape.block));
    line.push_str(&format!(" shared_bytes={}", shape.shared_bytes));
    if shape.cooperative {
        line.push_str(" cooperative=yes");
    }
    if shape.has_clusters() {
        line.push_str(&format!(" cluster={}", extents(shape.cluster)));
    }
    if *maps > 0 {
        line.push_str(&format!(" tensor_maps={maps}"));
    }
    if is_list {
        line.push_str(&format!(" entry={entry}"));
    }
    if *times > 1 {
        line.push_str(&format!(" times={times}"));
    }
    if let Some(Occupancy {
        blocks_per_sm,
        threads_per_sm,
    }) = occupancy.filter(|r| r.threads_per_sm > 0)
    {
        // In f64: the product of three extents that the kernel chose may overflow an integer.
        let threads: f64 =
            shape.block.map(f64::from).iter().product::<f64>() * f64::from(blocks_per_sm);
        let occupancy = threads / f64::from(threads_per_sm) * 100.0;
        line.push_str(&format!(
            " blocks_per_sm={blocks_per_sm} occupancy={occupancy:.0}"
        ));
    }
    out.line(key, line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lab_protocol::report::Log;
    use lab_protocol::report::Report;

    #[test]
    fn of_several_compiled_kernels_the_largest_is_written_with_its_name() {
        let kernel = |name: &str, registers| KernelResources {
            name: name.into(),
            needs: Resources {
                registers,
                spill_bytes: Some(0),
                shared_bytes: None,
            },
        };
        let report = |resources: Vec<KernelResources>| {
            let log = Log::default();
            write_launches(
                &Launched {
                    resources,
                    ..Launched::default()
                },
                &mut log.writer(),
            )
            .unwrap();
            Report::read(&log.text())
        };
        let alone = report(vec![kernel("a", Some(32))]);
        assert_eq!(
            (alone.value("registers"), alone.value("spill_bytes")),
            (Some("32"), Some("0"))
        );
        assert_eq!(alone.value("shared_bytes"), None);
        let both = report(vec![
            kernel("a", None),
            kernel("b", Some(40)),
            kernel("c", Some(8)),
        ]);
        assert_eq!(both.value("registers"), Some("40"));
        assert_eq!(both.value("largest_kernel"), Some("b of=3"));
        assert_eq!(report(Vec::new()).value("registers"), None);
    }
}
