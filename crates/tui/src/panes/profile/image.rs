//! The built image in a profile without counters: resources, instructions by kind, and the machine
//! code of the loops.

use crate::prelude::*;
use itertools::Itertools;
use lab_protocol::profile::{ImageFacts, Origin, Profile, SassLoop};

/// Most instructions of a loop that are shown, and most kinds of instructions.
const INSTRUCTIONS: usize = 64;
const KINDS: usize = 12;

/// The sections; none where the profile has counters.
pub fn sections(profile: &Profile, columns: usize) -> Vec<(&'static str, Lines)> {
    if !matches!(profile.origin, Origin::Image { .. }) {
        return Vec::new();
    }
    let image = &profile.image;
    let plain = |text: &str| paragraph(text, columns, Style::new());
    let kinds = image.mix.iter().take(KINDS);
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let kinds = if kinds.is_empty() {
        Vec::new()
    } else {
        plain(&format!("instructions: {}", kinds.join(", ")))
    };
    let loops = image.loops.iter().flat_map(|found| of_loop(found, columns));
    vec![
        ("Built image", plain(&resources(image))),
        ("", kinds),
        ("Loops, the innermost first", loops.collect()),
    ]
}

fn resources(image: &ImageFacts) -> String {
    let spills = image.spill_bytes.map(|bytes| match bytes {
        0 => "no spills".to_owned(),
        bytes => format!("{bytes} bytes spilled by each thread"),
    });
    let shared = image.static_shared_bytes.filter(|bytes| *bytes > 0);
    let registers = image.registers;
    let parts = [
        registers.map(|registers| format!("{registers} registers a thread")),
        spills,
        shared.map(|bytes| format!("{bytes} bytes of static shared memory a block")),
    ];
    parts.into_iter().flatten().join(", ")
}

fn of_loop(found: &SassLoop, columns: usize) -> Lines {
    let place = found.line.map(|line| format!(" at line {line}"));
    let count = found.instructions.len();
    let head = format!("{count} instructions{}", place.unwrap_or_default());
    let mut out = vec![Line::raw(head)];
    let shown = found.instructions.iter().take(INSTRUCTIONS);
    out.extend(shown.map(|of| {
        let text = format!("  {:#06x} {}", of.address, of.text);
        Line::styled(fit(&printable(&text), columns), QUIET)
    }));
    if count > INSTRUCTIONS {
        let more = format!("  … and {} more", count - INSTRUCTIONS);
        out.push(Line::styled(more, QUIET));
    }
    out
}
