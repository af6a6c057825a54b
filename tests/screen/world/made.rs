//! Made-up data for stories: commits, rows, verdicts, records, the user's settings.

use jiff::Timestamp;
use lab_auto::{LoopView, OnDisk};
use lab_git::LogEntry;
use lab_protocol::report::{Measure, Report, Speed};
use lab_run::experiment::{Experiment, Row, Status as Word};
use lab_run::peers::MeasuredPeer;
use lab_run::record::Record;
use lab_run::verdict::{Change, Outcome, Verdict};
use lab_run::{Ending, KernelBlob, RunStart};
use lab_tui::chart::SymbolSet;
use lab_tui::request::Preferences;
use lab_tui::settings::Settings;
use lab_tui::theme::{ColorDepth, Theme, parse_color_depth};
use std::time::Duration;

/// The moment in which every story begins.
pub fn noon() -> Timestamp {
    "2026-05-04T12:00:00Z".parse().unwrap()
}

/// As a terminal with the config's number of colours shows them.
pub fn themes(settings: &Settings) -> Vec<(String, Theme)> {
    ["ansi", "lab-dark", "lab-light"]
        .map(|name| {
            (
                name.to_owned(),
                Theme::choose(Some(name), depth(settings)).unwrap(),
            )
        })
        .into()
}

fn depth(settings: &Settings) -> ColorDepth {
    let said = settings
        .color
        .as_deref()
        .map(|color| parse_color_depth(color).unwrap());
    said.flatten().unwrap_or(ColorDepth::Rgb)
}

/// A config whose lines are separated by `|`.
pub fn preferences(config: &str) -> Result<Preferences, String> {
    let settings = Settings::parse(&config.replace('|', "\n"), "config.toml")?;
    let theme = Theme::choose(settings.theme.as_deref(), depth(&settings))?;
    Ok(Preferences {
        mouse: settings.mouse == Some(true),
        settings,
        theme,
        symbols: SymbolSet::default(),
    })
}

/// The 20th and the 45th of sixty lines differ, in git's form with this much context.
pub fn long_diff(around: u32) -> String {
    let old: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let new = old
        .replace("line 20\n", "line 20 is new\n")
        .replace("line 45\n", "line 45 is new\n");
    let mut how = git2::DiffOptions::new();
    how.context_lines(around);
    let patch =
        git2::Patch::from_buffers(old.as_bytes(), None, new.as_bytes(), None, Some(&mut how));
    let text = String::from_utf8(patch.unwrap().to_buf().unwrap().to_vec()).unwrap();
    text[text.find("@@").unwrap()..].to_owned()
}

pub fn measure(value: f64) -> Measure {
    Measure {
        value,
        low: Some(value * 0.998),
        high: Some(value * 1.002),
    }
}

pub fn row(commit: &str, value: f64, status: Word, description: &str) -> Row {
    Row {
        commit: commit.into(),
        throughput_sps: if value.is_nan() { 0.0 } else { value },
        kernel_us: if value > 0.0 { 1e6 / value } else { 0.0 },
        correctness: (status != Word::Crash && !value.is_nan()).into(),
        status,
        description: description.into(),
    }
}

pub fn commit(id: &str, subject: &str, experiment: Option<Experiment>) -> LogEntry {
    LogEntry {
        id: id.into(),
        subject: subject.into(),
        author: "Ada".into(),
        time: noon() - Duration::from_secs(7200),
        experiment: experiment.map(Box::new),
    }
}

/// The same, against the bytes of this name.
pub fn in_turns_with(incumbent: &str, ratio: f64) -> Change {
    Change {
        incumbent: KernelBlob::of(&hex(incumbent)),
        ..in_turns(ratio)
    }
}

/// The id of bytes with this name, in hex.
pub fn hex(bytes: &str) -> String {
    let sum = bytes
        .bytes()
        .fold(7_u64, |sum, b| sum.wrapping_mul(257).wrapping_add(b.into()));
    format!("{sum:016x}")
}

pub fn void(why: &str) -> Verdict {
    Verdict::bare(Outcome::Void, why)
}

pub fn record(start: RunStart, report: &Report, ending: Ending, verdict: Verdict) -> Record {
    Record {
        peers: MeasuredPeer::of_report(report, &[], start.started),
        ended: Some(start.started),
        seconds: Some(2.4),
        ending: Some(ending),
        verdict: Some(verdict),
        device: report.device().map(str::to_owned),
        results: report
            .entries()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect(),
        workloads: report.workloads().iter().map(|row| in_words(row)).collect(),
        ..Record::begun(start, Vec::new(), "built-in".into())
    }
}

fn in_words(row: &[(&str, &str)]) -> String {
    row.iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A change whose interval is too wide.
pub fn undecided(ratio: f64) -> Change {
    let interval = Some((ratio - 0.018, ratio + 0.018));
    Change {
        ratio,
        spread: Some(0.018),
        interval,
        speed: Some(Speed::Undecided),
        ..Change::default()
    }
}

/// Half a percent decides the verdict, and three tenths are half of the interval.
pub fn in_turns(ratio: f64) -> Change {
    let (low, high) = (ratio - 0.003, ratio + 0.003);
    let speed = if low > 0.005 {
        Speed::Faster
    } else if high < -0.005 {
        Speed::Slower
    } else {
        Speed::Same
    };
    Change {
        ratio,
        spread: Some(0.003),
        interval: Some((low, high)),
        speed: Some(speed),
        ..Change::default()
    }
}

/// A kernel on which no loop has worked.
pub fn no_loop() -> LoopView {
    LoopView {
        at: noon(),
        running: false,
        state: None,
        asked: None,
        ends_turn: false,
        on_disk: OnDisk::Incumbent,
        edit: Ok(String::new()),
        output: Vec::new(),
        incumbent: None,
        runs: Vec::new(),
        device: None,
        branch: Some("main".into()),
        kernel_option: String::new(),
        lanes: Vec::new(),
    }
}
