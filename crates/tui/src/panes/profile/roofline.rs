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
    let other = other.as_ref();
    let other = other.map(|other| format!("{} incumbent: {}", chart::OTHER, words(other)));
    let (ridge, limit) = (figure(own.peak / own.bandwidth), bytes(own.bandwidth));
    let (pipe, peak) = (&own.pipe, flops(own.peak));
    let ridge = format!(
        "{} ridge point, {ridge} FLOP/B: to its left DRAM limits ({limit}/s), to its right {pipe} ({peak})",
        chart::RIDGE
    );
    let own = format!("{} this kernel: {}", chart::OWN, words(&own));
    let texts = [Some(own), other, Some(ridge)].into_iter().flatten();
    out.extend(texts.flat_map(|text| paragraph(&text, columns, Style::new())));
    out
}

fn words(roof: &Roofline) -> String {
    let limit = if roof.is_memory_bound() {
        "DRAM"
    } else {
        &roof.pipe
    };
    let (flops, intensity) = (flops(roof.achieved), figure(roof.intensity));
    let share = percent(100.0 * roof.achieved / roof.roof());
    format!("{flops} at {intensity} FLOP/B, {share} of what {limit} allows there")
}
