//! The lines about how the kernel is launched: `launch:`, `launch_2:` and so on, `launch_list:` and
//! `launched_as:`.

use super::{Report, attribute, first_word, numbered, parsed};
use schemars::JsonSchema;
use serde::Serialize;

/// Most lines about the launches of a list.
pub const MOST_LAUNCH_LINES: usize = 64;

/// One launch of the launch statement, or several alike. Extents are words such as `132x1x1`.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct LaunchLine {
    /// The kernel; `None` if the statement has one launch, which is of the problem's entry.
    pub entry: Option<String>,
    /// Blocks.
    pub grid: String,
    /// Threads of a block.
    pub block: Option<String>,
    /// Dynamic shared memory of a block.
    pub shared_bytes: Option<u64>,
    /// Whether all blocks are resident at once.
    pub cooperative: bool,
    /// Blocks of a cluster; `None` without clusters.
    pub cluster: Option<String>,
    /// Tensor maps that the kernel gets.
    pub tensor_maps: u64,
    /// How many launches of the list are like this one, but for their arguments.
    pub times: u64,
    /// Blocks that fit on a multiprocessor, if the device knows that.
    pub blocks_per_sm: Option<u64>,
    /// Threads that fit on a multiprocessor with this launch, in percent of the most possible.
    pub occupancy: Option<u64>,
}

/// The scratch buffer of a launch list.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ScratchLine {
    /// Its size.
    pub bytes: u64,
    /// `zeroed`: zeros when the list begins, and the zeroing is a part of the time. `unset`: filled
    /// with a pattern.
    pub content: String,
}

/// What the kernel needs on an architecture, for which it is built and not launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TargetLine {
    /// As in `sm_90a`.
    pub arch: String,
    /// Whether it builds. A caveat says why not.
    pub builds: bool,
    /// The most of its kernels, a thread.
    pub registers: Option<u64>,
    /// Spill loads and stores.
    pub spill_bytes: Option<u64>,
    /// Static shared memory of a block.
    pub shared_bytes: Option<u64>,
}

impl TargetLine {
    fn read(value: &str) -> TargetLine {
        TargetLine {
            arch: first_word(value).to_owned(),
            builds: attribute(value, "refused").is_none(),
            registers: parsed(value, "registers"),
            spill_bytes: parsed(value, "spill_bytes"),
            shared_bytes: parsed(value, "shared_bytes"),
        }
    }
}

impl LaunchLine {
    fn read(value: &str) -> LaunchLine {
        let text = |name| attribute(value, name).map(str::to_owned);
        LaunchLine {
            entry: text("entry"),
            grid: first_word(value).to_owned(),
            block: text("block"),
            shared_bytes: parsed(value, "shared_bytes"),
            cooperative: attribute(value, "cooperative").is_some(),
            cluster: text("cluster"),
            tensor_maps: parsed(value, "tensor_maps").unwrap_or(0),
            times: parsed(value, "times").unwrap_or(1),
            blocks_per_sm: parsed(value, "blocks_per_sm"),
            occupancy: parsed(value, "occupancy"),
        }
    }
}

impl Report {
    /// The launches of the launch statement that differ, in the order in which they first come.
    pub fn launches(&self) -> Vec<LaunchLine> {
        (1..=MOST_LAUNCH_LINES)
            .map_while(|number| self.value(&numbered("launch", number)))
            .map(LaunchLine::read)
            .collect()
    }

    /// The scratch buffer of a launch list; `None` if there is none.
    pub fn scratch(&self) -> Option<ScratchLine> {
        let list = self.value("launch_list")?;
        let bytes = parsed(list, "scratch_bytes").filter(|bytes| *bytes > 0)?;
        Some(ScratchLine {
            bytes,
            content: attribute(list, "scratch")?.to_owned(),
        })
    }

    /// How the timed launches got to the device: `graph` or `plain`.
    pub fn launched_as(&self) -> Option<&str> {
        self.value("launched_as")
            .map(first_word)
            .filter(|word| ["graph", "plain"].contains(word))
    }

    /// What the kernel needs on the architectures that the problem names, in their order.
    pub fn targets(&self) -> Vec<TargetLine> {
        let lines = (1..).map_while(|number| self.value(&numbered("target", number)));
        lines.map(TargetLine::read).collect()
    }

    /// The architecture that the image of a GPU is built for, such as `sm_90a`.
    pub fn built_for(&self) -> Option<&str> {
        self.value("built_for").map(first_word)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_launches_of_a_list_are_read_in_order() {
        let report = Report::read(
            "launch_list: 2 scratch_bytes=4096 scratch=zeroed\n\
             launch: 8x5x1 block=128x1x1 shared_bytes=0 cluster=2x1x1 tensor_maps=1 entry=partial\n\
             launch_2: 5x1x1 block=32x1x1 shared_bytes=64 cooperative=yes entry=total times=12 blocks_per_sm=3 occupancy=50\n\
             launched_as: graph\nbuilt_for: sm_90a\n",
        );
        let [first, second] = &report.launches()[..] else {
            panic!("{:?}", report.launches())
        };
        assert_eq!(
            (first.entry.as_deref(), first.grid.as_str()),
            (Some("partial"), "8x5x1")
        );
        assert_eq!(
            (
                first.cluster.as_deref(),
                first.tensor_maps,
                first.cooperative
            ),
            (Some("2x1x1"), 1, false)
        );
        assert_eq!(
            (second.shared_bytes, second.cooperative, second.occupancy),
            (Some(64), true, Some(50))
        );
        assert_eq!((first.times, second.times), (1, 12));
        assert_eq!(
            report.scratch().unwrap(),
            ScratchLine {
                bytes: 4096,
                content: "zeroed".into()
            }
        );
        assert_eq!(
            (report.launched_as(), report.built_for()),
            (Some("graph"), Some("sm_90a"))
        );
    }

    #[test]
    fn targets_are_read_in_order() {
        let report = Report::read(
            "target: sm_80 registers=40 spill_bytes=8 shared_bytes=1024\ntarget_2: sm_90a refused=yes\n",
        );
        let first = TargetLine {
            arch: "sm_80".into(),
            builds: true,
            registers: Some(40),
            spill_bytes: Some(8),
            shared_bytes: Some(1024),
        };
        let second = TargetLine {
            arch: "sm_90a".into(),
            ..TargetLine::default()
        };
        assert_eq!(report.targets(), [first, second]);
    }

    #[test]
    fn a_log_of_an_earlier_version_has_one_launch_without_an_entry() {
        let report = Report::read("launch: 132x1x1 block=512x1x1 shared_bytes=197632\n");
        let launches = report.launches();
        assert_eq!((launches.len(), &launches[0].entry), (1, &None));
        assert_eq!(
            (report.scratch(), report.launched_as(), report.built_for()),
            (None, None, None)
        );
    }
}
