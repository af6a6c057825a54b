//! The roofline as a chart with its sentences: this kernel and the incumbent below the limits of
//! the card.

mod chart;

use crate::prelude::*;
use lab_history::profile::facts::{bytes, flops, percent};
use lab_history::profile::roofline::{self, Roofline};
use lab_protocol::profile::Profile;
use lab_text::figures::figure;

/// The chart and its sentences; empty where the report lacks a figure.
pub fn rows(profile: &Profile, incumbent: Option<&Profile>, columns: usize) -> Lines {
    let Some(own) = roofline::of(profile) else {
        return Vec::new();
    };
    let other = incumbent.and_then(roofline::of);
    let mut out = chart::rows(&own, other.as_ref(), columns);
    let mut texts = vec![format!("{} this kernel: {}", chart::OWN, words(&own))];
    texts.extend(
        other
            .as_ref()
            .map(|other| format!("{} incumbent: {}", chart::OTHER, words(other))),
    );
    texts.push(format!(
        "{} ridge point, {} FLOP/B: to its left DRAM limits ({}/s), to its right {} ({})",
        chart::RIDGE,
        figure(own.peak / own.bandwidth),
        bytes(own.bandwidth),
        own.pipe,
        flops(own.peak)
    ));
    let plain = |text: &String| paragraph(text, columns, Style::new());
    out.extend(texts.iter().flat_map(plain));
    out
}

fn words(roof: &Roofline) -> String {
    let limit = if roof.is_memory_bound() {
        "DRAM"
    } else {
        &roof.pipe
    };
    format!(
        "{} at {} FLOP/B, {} of what {limit} allows there",
        flops(roof.achieved),
        figure(roof.intensity),
        percent(100.0 * roof.achieved / roof.roof())
    )
}
