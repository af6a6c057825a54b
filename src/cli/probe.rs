//! `lab probe`: measures the device and prints the figures.

use super::{JsonArg, complain, failed, say, told};
use clap::Args;
use lab_judge::judge::probing;
use lab_protocol::{Exit, JudgeRequest, Target};
use lab_text::figures::figure;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct ProbeArgs {
    /// auto, cpu, cuda, cuda:1
    #[arg(long, default_value = "auto")]
    device: Target,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab probe` prints with `--json`. Rates are per second, times in seconds.
#[derive(JsonSchema, Serialize)]
pub struct ProbeAnswer<'a> {
    /// Name.
    device: &'a str,
    /// Version.
    driver: &'a str,
    /// The figures say nothing about a GPU.
    emulated: bool,
    /// Read and written bytes both count.
    copy_bytes_per_s: f64,
    /// Reads from L2.
    l2_bytes_per_s: f64,
    /// A multiply-add counts as two.
    f32_flops: f64,
    /// Null without tensor cores.
    f16_tensor_flops: Option<f64>,
    /// One load that waits for the one before.
    l2_round_trip_s: f64,
    /// A kernel that does nothing.
    launch_s: f64,
    /// 1,024 tagged floats from every multiprocessor to every other.
    exchange_s: f64,
    /// What disturbed the probe; then nothing was stored.
    caveats: &'a [String],
}

/// Exits with 0 if the device was measured, else with 3.
pub fn main(given: &ProbeArgs) -> ExitCode {
    let request = JudgeRequest {
        device: given.device,
        trusted: super::harness::is_trusted(Path::new(".")),
        ..JudgeRequest::new(".")
    };
    match probing::probe(request) {
        Ok(probed) => told(as_json(&probed), || {
            show(&probed);
            if let Some(why) = lab_device::why_not_cuda(given.device) {
                complain(&format!(
                    "the cpu device was probed, because the NVIDIA driver cannot be used: {why}"
                ));
            }
        }),
        Err(stop) => failed(&stop.to_string(), Exit::Crashed),
    }
}

fn as_json(probed: &probing::Probed) -> ProbeAnswer<'_> {
    let (device, figures) = (&probed.device, &probed.figures);
    ProbeAnswer {
        device: &device.name,
        driver: &device.driver,
        emulated: device.emulated,
        copy_bytes_per_s: figures.copy,
        l2_bytes_per_s: figures.l2,
        f32_flops: figures.fma,
        f16_tensor_flops: figures.tensor,
        l2_round_trip_s: figures.l2_round_trip,
        launch_s: figures.launch,
        exchange_s: figures.exchange,
        caveats: &probed.disturbed,
    }
}

fn show(probed: &probing::Probed) {
    let (device, figures) = (&probed.device, &probed.figures);
    say(&format!("{}, {}", device.name, device.driver));
    let mut rows = vec![
        (
            "copy in memory",
            format!("{} GB/s", figure(figures.copy / 1e9)),
            "read and written bytes both count",
        ),
        (
            "reads from L2",
            format!("{} GB/s", figure(figures.l2 / 1e9)),
            "",
        ),
        (
            "f32 arithmetic",
            format!("{} TFLOP/s", figure(figures.fma / 1e12)),
            "multiply-adds, two operations each",
        ),
    ];
    if let Some(tensor) = figures.tensor {
        rows.push((
            "f16 tensor cores",
            format!("{} TFLOP/s", figure(tensor / 1e12)),
            "by mma.sync",
        ));
    }
    rows.extend([
        (
            "L2 round trip",
            format!("{} µs", figure(figures.l2_round_trip * 1e6)),
            "one load that waits for the one before",
        ),
        (
            "launch",
            format!("{} µs", figure(figures.launch * 1e6)),
            "of a kernel that does nothing",
        ),
        (
            "grid exchange",
            format!("{} µs", figure(figures.exchange * 1e6)),
            "1,024 tagged floats from every multiprocessor to every other",
        ),
    ]);
    for (name, value, note) in rows {
        say(format!("  {name:<16} {value:>16}  {note}").trim_end());
    }
    if device.emulated {
        say("emulated: these figures say nothing about a GPU, and no floor is derived from them");
    }
    for caveat in &probed.disturbed {
        say(&format!(
            "caveat: {caveat}: the figures were not stored; run `lab probe` again"
        ));
    }
}
