//! The built image in a profile without counters: resources, instructions by kind, and the machine
//! code of the loops.

use crate::prelude::*;
use lab_protocol::profile::{ImageFacts, Origin, Profile, SassLoop};

/// Most instructions of a loop that are shown, and most kinds of instructions.
const INSTRUCTIONS: usize = 64;
const KINDS: usize = 12;

/// The rows, with their headings; empty where the profile has counters, or nothing is known of the
/// image.
pub fn rows(profile: &Profile, columns: usize) -> Lines {
    if !matches!(profile.origin, Origin::Image { .. }) {
        return Vec::new();
    }
    let image = &profile.image;
    let mut out = Vec::new();
    let resources = resources(image);
    if !resources.is_empty() {
        out.extend([Line::default(), Line::styled("Built image", STRONG)]);
        out.extend(paragraph(&resources, columns, Style::new()));
    }
    if !image.mix.is_empty() {
        let kinds = image
            .mix
            .iter()
            .take(KINDS)
            .map(|(kind, count)| format!("{kind} {count}"));
        let text = format!("instructions: {}", kinds.collect::<Vec<_>>().join(", "));
        out.extend(paragraph(&text, columns, Style::new()));
    }
    if !image.loops.is_empty() {
        out.extend([
            Line::default(),
            Line::styled("Loops, the innermost first", STRONG),
        ]);
        out.extend(image.loops.iter().flat_map(|found| of_loop(found, columns)));
    }
    out
}

fn resources(image: &ImageFacts) -> String {
    let spills = image.spill_bytes.map(|bytes| match bytes {
        0 => "no spills".to_owned(),
        bytes => format!("{bytes} bytes spilled by each thread"),
    });
    let shared = image.static_shared_bytes.filter(|bytes| *bytes > 0);
    let parts = [
        image
            .registers
            .map(|registers| format!("{registers} registers a thread")),
        spills,
        shared.map(|bytes| format!("{bytes} bytes of static shared memory a block")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn of_loop(found: &SassLoop, columns: usize) -> Lines {
    let place = found
        .line
        .map(|line| format!(" at line {line}"))
        .unwrap_or_default();
    let count = found.instructions.len();
    let mut out = vec![Line::from(format!("{count} instructions{place}"))];
    let shown = found.instructions.iter().take(INSTRUCTIONS);
    out.extend(shown.map(|of| {
        let text = format!("  {:#06x} {}", of.address, of.text);
        Line::styled(crate::text::fit(&printable(&text), columns), QUIET)
    }));
    if count > INSTRUCTIONS {
        out.push(Line::styled(
            format!("  … and {} more", count - INSTRUCTIONS),
            QUIET,
        ));
    }
    out
}
