//! Keys during a flood of output: the time from each key to a painted frame, and whether a key is
//! lost.

use super::grounds::Ground;
use super::pty::{self, Terminal};
use super::{Contender, forget_runs_after, median, ms, of_frames, percentile, proc};
use std::time::Duration;

/// Lines a second.
const FLOOD: usize = 50_000;

/// A 99th percentile needs many samples.
const FLOODED_KEYS: usize = 400;

pub fn flood() -> Result<(), String> {
    let ground = Ground::small();
    println!("\n## A harness that prints {FLOOD} lines a second\n");
    let mut terminal = Contender::lab("").ok_or("lab is not here")?.open(&ground);
    terminal.see("● PASS")?;
    ground.write("kernel.cu", &format!("flood {FLOOD} 60\n"));
    terminal.see("[     10")?;
    terminal.frames();
    let before = proc::cpu(terminal.pid());
    terminal.watch(Duration::from_secs(3));
    let cpu = 100.0
        * proc::cpu(terminal.pid())
            .saturating_sub(before)
            .as_secs_f64()
        / 3.0;
    println!(
        "- drawing: {}; the whole of lab and harness takes {cpu:.0} % of a processor",
        of_frames(&terminal.frames(), Duration::from_secs(3))
    );
    let (mut words, mut moves) = (Vec::new(), Vec::new());
    let mut pause = Pauses(1);
    terminal.echo("/", |screen| {
        screen.cursor_position() == (57, 89) || !screen.hide_cursor()
    })?;
    let mut typed = String::new();
    for n in 0..FLOODED_KEYS {
        terminal.watch(pause.next());
        if typed.len() == 20 {
            typed.clear();
            terminal.press("\u{15}");
            terminal.watch(Duration::from_millis(50));
        }
        typed.push(char::from(b'a' + (n % 26) as u8));
        let wanted = format!("/{typed}");
        words.push(terminal.echo(&typed[typed.len() - 1..], |screen| {
            screen
                .rows(0, pty::COLUMNS)
                .any(|row| row.contains(&wanted))
        })?);
    }
    let (kept, sent) = burst(&mut terminal);
    terminal.echo("\u{1b}", vt100::Screen::hide_cursor)?;
    let panes = ["Correctness", "Throughput", "Git log", "run.log"];
    let focused =
        |screen: &vt100::Screen, name: &str| screen.contents().contains(&format!("━ {name}"));
    let mut at = panes
        .iter()
        .position(|name| focused(terminal.screen(), name))
        .unwrap_or(0);
    for _ in 0..FLOODED_KEYS {
        terminal.watch(pause.next());
        at = (at + 1) % panes.len();
        moves.push(terminal.echo("\t", |screen| focused(screen, panes[at]))?);
    }
    for (what, times) in [
        ("a letter typed into the search", &words),
        ("Tab to the next pane", &moves),
    ] {
        println!(
            "- {what}, key to painted frame: median {}, p99 {}, at most {} ({} keys)",
            ms(median(times)),
            ms(percentile(times, 99)),
            ms(percentile(times, 100)),
            times.len()
        );
    }
    println!("- keys dropped: {} of {sent} typed in one go", sent - kept);
    let memory = proc::memory(terminal.pid());
    println!(
        "- memory: {:.1} MB, {:.1} MB at most",
        memory.resident, memory.peak
    );
    terminal.end("q");
    ground.git(&["checkout", "-q", "kernel.cu"]);
    forget_runs_after(&ground, 1);
    Ok(())
}

/// Keys that are sent at once: how many of how many arrived. They fill a line; keys that delete all
/// but the first five follow at once; then one letter is typed and deleted many times over.
fn burst(terminal: &mut Terminal) -> (usize, usize) {
    const LETTERS: usize = 450;
    terminal.press("\u{15}");
    let letters: String = (0..LETTERS)
        .map(|n| char::from(b'a' + (n % 26) as u8))
        .collect();
    let back = "\u{7f}".repeat(LETTERS - 5);
    let to_and_fro = "x\u{7f}".repeat(1_000);
    terminal.press(&format!("{letters}{back}{to_and_fro}"));
    terminal.watch(Duration::from_secs(3));
    let line = terminal.screen().rows(0, pty::COLUMNS).find_map(|row| {
        let (_, typed) = row.split_once("/abc")?;
        Some(format!(
            "abc{}",
            typed.split_whitespace().next().unwrap_or("")
        ))
    });
    let sent = LETTERS + LETTERS - 5 + 2_000;
    let left = line.unwrap_or_default();
    (
        if left == "abcde" {
            sent
        } else {
            sent - left.len().abs_diff(5).max(1)
        },
        sent,
    )
}

/// Between 5 and 60 ms, pseudo-random: the keys must not come at the same point of every frame.
struct Pauses(u64);

impl Pauses {
    fn next(&mut self) -> Duration {
        // Knuth's MMIX constants.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros(5_000 + (self.0 >> 33) % 55_000)
    }
}
