//! The static view: what a built image says without a launch under a profiler.

use super::{disassembly, loops, mix, occupancy};
use lab_protocol::profile::ImageFacts;
use std::path::Path;

/// What is known of an image beside its machine code.
#[derive(Clone, Debug)]
pub struct BuiltImage<'a> {
    pub path: &'a Path,
    /// The target, as in `sm_90a`; empty for the image of the cpu device.
    pub arch: &'a str,
    /// The kernel's function.
    pub entry: &'a str,
    /// What the compiler reports.
    pub reported: &'a ImageFacts,
    /// Threads of a block and bytes of its dynamic shared memory, if a launch has shown them.
    pub block: Option<(u32, u32)>,
}

/// What to do where the image is one of the cpu device.
pub const OF_CPU: &str = "registers, instruction mix and loops: the image of the cpu device is machine code of this computer and says \
                          nothing about a GPU. Profile on a machine with an NVIDIA GPU";

/// Reads what the image says. What it does not say is added to `missing`, in words.
pub fn read(image: &BuiltImage, missing: &mut Vec<String>) -> ImageFacts {
    if image.arch.is_empty() {
        missing.push(OF_CPU.into());
        return ImageFacts::default();
    }
    let mut facts = image.reported.clone();
    facts.occupancy = match (image.block, facts.registers) {
        (Some((threads, dynamic)), Some(registers)) => {
            let shared_bytes = facts.static_shared_bytes.unwrap_or(0) + dynamic;
            let found = occupancy::of(
                image.arch,
                occupancy::Block {
                    threads,
                    registers,
                    shared_bytes,
                },
            );
            if found.is_none() {
                missing.push(format!(
                    "occupancy: the limits of {} are not known here",
                    image.arch
                ));
            }
            found
        }
        (None, _) => {
            missing.push("occupancy: the size of a block is known only after a launch".into());
            None
        }
        (_, None) => {
            missing.push("occupancy: the compiler reported no registers".into());
            None
        }
    };
    match disassembly::of_function(image.path, image.entry) {
        Ok(instructions) => {
            facts.mix = mix::of(&instructions);
            facts.loops = loops::of(&instructions);
        }
        Err(why) => missing.push(why),
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_image_does_not_say_is_told() {
        let mut missing = Vec::new();
        let reported = ImageFacts {
            registers: Some(242),
            spill_bytes: Some(0),
            static_shared_bytes: Some(39968),
            ..ImageFacts::default()
        };
        let image = BuiltImage {
            path: Path::new("/no/such.cubin"),
            arch: "sm_90a",
            entry: "wavegru",
            reported: &reported,
            block: Some((256, 0)),
        };
        let facts = read(&image, &mut missing);
        assert_eq!(facts.occupancy.map(|o| o.percent), Some(12.5));
        assert!(
            missing.len() == 1 && missing[0].starts_with("instruction mix and loops"),
            "{missing:?}"
        );
        missing.clear();
        read(
            &BuiltImage {
                block: None,
                ..image.clone()
            },
            &mut missing,
        );
        assert!(missing[0].starts_with("occupancy"), "{missing:?}");
        missing.clear();
        assert_eq!(
            read(&BuiltImage { arch: "", ..image }, &mut missing),
            ImageFacts::default()
        );
        assert_eq!(missing, [OF_CPU]);
    }
}
