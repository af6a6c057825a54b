//! The roofline of a kernel: the speed of each workload over its operations for each byte, below what
//! the device can do.

use crate::chart::{Chart, Plot, RIGHT, X_TICKS, shape};
use crate::peaks::Peaks;
use lab_history::profile::roofline::Roofline;
use lab_protocol::report::Workload;
use lab_run::record::Record;
use lab_text::axis::{Axis, Scale};
use lab_text::figures::{count, figure};

/// Workloads of a chart at most.
const MOST: usize = 100;

/// A workload in the roofline.
struct Point {
    /// Operations for each byte.
    intensity: f64,
    /// GFLOP/s.
    speed: f64,
    /// GFLOP/s that arithmetic on its type allows.
    rate: Option<f64>,
    name: String,
}

fn point(it: &Workload, peaks: Option<&Peaks>) -> Option<Point> {
    let speed = it.gflops.filter(|rate| *rate > 0.0)?;
    let of_rates = || Some(speed / it.gbps.filter(|rate| *rate > 0.0)?);
    let of_amounts = || Some(it.flops? / it.bytes.filter(|bytes| *bytes > 0.0)?);
    Some(Point {
        intensity: of_amounts().or_else(of_rates)?,
        speed,
        rate: peaks.and_then(|peaks| peaks.rate(&it.name)),
        name: it.name.clone(),
    })
}

/// The roofs are those of the device's data sheet, and of a profile of the run. The error says why
/// there is no roofline.
pub fn of(
    record: &Record,
    profile: Option<&Roofline>,
    id: &str,
    title: String,
) -> Result<Chart, String> {
    let device = record.device.as_deref().unwrap_or_default();
    let peaks = Peaks::of(device);
    let all = record.report().workload_figures();
    let points = all.iter().filter_map(|it| point(it, peaks));
    let points: Vec<Point> = points.take(MOST).collect();
    if points.is_empty() {
        let text = "its run tells no rate of operations and bytes of a workload (`flops` and `bytes` in \
                    problem.toml)";
        return Err(text.to_owned());
    }
    if peaks.is_none() && profile.is_none() {
        return Err(format!(
            "no data sheet of {device} is known here, and its run has no profile with counters (`lab profile`)"
        ));
    }
    let of_profile = profile.map(|of| [of.achieved / 1e9, of.roof() / 1e9]);
    let xs = points.iter().map(|point| point.intensity);
    let x = Axis::over(xs.chain(profile.map(|of| of.intensity)), Scale::Log);
    let flat = flat(&points);
    let roofs: Vec<Vec<(f64, f64)>> = match peaks {
        Some(peaks) if flat.is_empty() => vec![roof(&x, peaks.dram, f64::INFINITY)],
        Some(peaks) => flat
            .iter()
            .map(|rate| roof(&x, peaks.dram, *rate))
            .collect(),
        None => Vec::new(),
    };
    let ys = points.iter().map(|it| it.speed);
    let ys = ys.chain(roofs.iter().flatten().map(|(_, y)| *y));
    let plot = Plot {
        x,
        y: Axis::over(ys.chain(of_profile.into_iter().flatten()), Scale::Log),
        x_ticks: X_TICKS,
    };
    let names = ["operations for each byte", "GFLOP/s"];
    let mut chart = Chart::new(format!("{id}-roofline"), title, &plot, names);
    let mut said = vec!["Logarithmic axes.".to_owned()];
    for path in &roofs {
        chart.line("roof", line(&plot, path));
    }
    if let Some(peaks) = peaks {
        said.push(documented(&mut chart, &plot, peaks, &flat, device));
    }
    for point in &points {
        let path = shape("kept", plot.at(point.intensity, point.speed));
        chart.mark("kept", path, says(point, peaks), String::new());
    }
    chart.name("kept", format!("workloads {}", points.len()));
    profile
        .iter()
        .for_each(|of| profiled(&mut chart, &plot, of));
    chart.description = said.join(" ");
    Ok(chart)
}

/// The rates of arithmetic of the workloads, each once, rising.
fn flat(points: &[Point]) -> Vec<f64> {
    let mut rates: Vec<f64> = points.iter().filter_map(|point| point.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates
}

/// The corners of a roof: the slope of DRAM up to the rate of arithmetic.
fn roof(x: &Axis, dram: f64, rate: f64) -> Vec<(f64, f64)> {
    let ridge = (rate / dram).clamp(x.low(), x.high());
    let corners = [x.low(), ridge, x.high()];
    corners.map(|at| (at, rate.min(at * dram))).to_vec()
}

fn line(plot: &Plot, corners: &[(f64, f64)]) -> String {
    let spot = |(x, y): &(f64, f64)| {
        let spot = plot.at(*x, *y);
        format!("{} {}", spot.x, spot.y)
    };
    let spots: Vec<String> = corners.iter().map(spot).collect();
    format!("M{}", spots.join("L"))
}

/// Names the roofs of the data sheet. Returns what they are.
fn documented(chart: &mut Chart, plot: &Plot, peaks: &Peaks, flat: &[f64], device: &str) -> String {
    let dram = format!("DRAM {} GB/s", count(peaks.dram));
    let mut names = vec![dram.clone()];
    for rate in flat {
        let all = peaks.arithmetic.iter().filter(|(it, _)| it == rate);
        let types: Vec<&str> = all.flat_map(|(_, types)| types.iter().copied()).collect();
        let name = format!("{} {} TFLOP/s dense", types.join(", "), figure(rate / 1e3));
        // A roof above the picture has no place of its own.
        if rate / peaks.dram < plot.x.high() {
            let y = plot.at(plot.x.high(), *rate).y - 5.0;
            chart.text("end halo", (RIGHT - 4.0, y), name.clone());
        }
        names.push(name);
    }
    chart.name("roof", format!("roof: {dram}"));
    let none = if flat.is_empty() {
        " No workload names a type of numbers, so there is no roof of arithmetic."
    } else {
        ""
    };
    format!(
        "The lines are what the data sheet of {device} allows: {}. A mark above the slope read from the L2 \
         cache.{none}",
        names.join("; ")
    )
}

/// `m=64 T=bf16: 700,000 GFLOP/s, 1,365 operations for each byte, 70.7 % of its roof`
fn says(point: &Point, peaks: Option<&Peaks>) -> String {
    let (name, speed, each) = (&point.name, count(point.speed), count(point.intensity));
    let text = format!("{name}: {speed} GFLOP/s, {each} operations for each byte");
    let of_dram = peaks.map(|peaks| peaks.dram * point.intensity);
    let roof = of_dram.map(|most| most.min(point.rate.unwrap_or(f64::INFINITY)));
    match roof {
        Some(roof) => format!(
            "{text}, {} % of its roof",
            figure(point.speed / roof * 100.0)
        ),
        None => text,
    }
}

/// Draws what DRAM and arithmetic of the card allow at the clocks of a profile, and the launch that
/// was profiled.
fn profiled(chart: &mut Chart, plot: &Plot, of: &Roofline) {
    let corners = roof(&plot.x, of.bandwidth / 1e9, of.peak / 1e9);
    chart.line("level", line(plot, &corners));
    let speed = of.achieved / 1e9;
    let title = format!("profiled launch: {} GFLOP/s", count(speed));
    let at = plot.at(of.intensity, speed);
    chart.mark("foreign", shape("foreign", at), title, String::new());
    chart.name(
        "level",
        format!("DRAM and {} at the profile's clocks", of.pipe),
    );
    chart.name("foreign", "profiled".to_owned());
}
