//! The screen's figures, taken from outside: `lab` in a pseudo terminal of 200×60, and beside it, on the
//! same machine and in the same repositories, the programs that people compare it with, where they
//! are installed (tig, gitui, lazygit; lnav and less for a log).
//!
//! `cargo bench --bench terminal` measures everything, `cargo bench --bench terminal -- flood` one scenario.
//! What the figures were is in benchmarks/README.md. Nothing here is a test: a slow machine is no failure.

mod grounds;
mod proc;
mod pty;

use grounds::{Ground, LAB};
use pty::Terminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXPERIMENTS: usize = 10_000;
const LOG_BYTES: usize = 1_000_000_000;
const COMMITS: usize = 1_000_000;
/// Lines a second.
const FLOOD: usize = 50_000;

/// Starts of each program; the medians count.
const STARTS: usize = 7;
const KEYS: usize = 100;
/// A 99th percentile wants more.
const FLOODED_KEYS: usize = 400;
const IDLE: Duration = Duration::from_secs(10);
/// Then a program has drawn what it has to draw.
const QUIET: Duration = Duration::from_millis(300);

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--harness") {
        return grounds::harness();
    }
    let scenarios: [(&str, fn()); 5] =
        [("small", small), ("history", history), ("commits", commits), ("clock", clock), ("flood", flood)];
    let asked: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    for (name, measure) in scenarios {
        if asked.is_empty() || asked.iter().any(|arg| *arg == name) {
            measure();
        }
    }
    Ok(())
}

/// One program on one ground.
struct Contender {
    name: &'static str,
    command: Vec<String>,
    /// On the screen once it shows what it was opened for.
    shown: String,
    /// Brings it where `j` and `k` move something.
    prepare: &'static str,
    quit: &'static str,
}

impl Contender {
    fn new(name: &'static str, args: &[&str], shown: &str) -> Option<Self> {
        let program = if name == "lab" { PathBuf::from(LAB) } else { installed(name)? };
        let mut command = vec![program.to_string_lossy().into_owned()];
        command.extend(args.iter().map(|arg| (*arg).to_owned()));
        Some(Contender { name, command, shown: shown.to_owned(), prepare: "", quit: "q" })
    }

    /// With the focus on the git log.
    fn lab(shown: &str) -> Option<Self> {
        Contender::new("lab", &[], shown).map(|lab| Contender { prepare: "\t\t", ..lab })
    }

    fn open(&self, ground: &Ground) -> Terminal {
        Terminal::start(&self.command, &ground.repo(), &ground.vars())
    }
}

fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn small() {
    let contenders = [
        Contender::lab("● PASS"),
        Contender::new("tig", &[], "commit number 20"),
        Contender::new("gitui", &[], "Unstaged"),
        Contender::new("lazygit", &[], "commit number 20"),
    ];
    compare("A repository of twenty commits", &Ground::small(), contenders);
}

fn history() {
    let ground = Ground::history(EXPERIMENTS, LOG_BYTES);
    let title = format!("{EXPERIMENTS} experiments, a run.log of {} MB", LOG_BYTES / 1_000_000);
    let last = format!("[{:>12}]", LOG_BYTES / 100 - 1);
    let log = format!(".lab/runs/{EXPERIMENTS}/run.log");
    let contenders = [
        Contender::lab("the newest of all"),
        Contender::new("tig", &[], "the newest of all"),
        Contender::new("gitui", &[], "Unstaged"),
        Contender::new("lazygit", &[], "the newest of all"),
        Contender::new("lnav", &[&log], &last),
        Contender::new("less", &["+G", &log], &last),
    ];
    compare(&title, &ground, contenders);
    long_run(&ground);
}

fn commits() {
    let ground = Ground::commits(COMMITS);
    let newest = format!("commit number {COMMITS}");
    let contenders = [
        Contender::lab(&newest),
        Contender::new("tig", &[], &newest),
        Contender::new("gitui", &[], "Unstaged"),
        Contender::new("lazygit", &[], &newest),
    ];
    compare(&format!("A repository of {COMMITS} commits"), &ground, contenders);
}

fn compare<const N: usize>(title: &str, ground: &Ground, contenders: [Option<Contender>; N]) {
    println!("\n## {title}\n");
    println!(
        "| program | first bytes | first frame | all shown | a key, median | p99 | memory | peak | with children | idle CPU |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for contender in contenders.into_iter().flatten() {
        println!("{}", row(&contender, ground));
    }
}

fn row(contender: &Contender, ground: &Ground) -> String {
    let mut first = Vec::new();
    let mut frame = Vec::new();
    let mut shown = Vec::new();
    for _ in 0..STARTS {
        let mut terminal = contender.open(ground);
        shown.push(terminal.see(&contender.shown));
        first.extend(terminal.first_bytes);
        frame.extend(terminal.first_frame);
        terminal.settle(QUIET);
        terminal.end(contender.quit);
    }
    let mut terminal = contender.open(ground);
    terminal.see(&contender.shown);
    terminal.settle(QUIET);
    terminal.press(contender.prepare);
    terminal.settle(QUIET);
    let keys: Vec<Duration> = (0..KEYS)
        .map(|n| {
            let before = terminal.screen().contents_formatted();
            let took = terminal.echo(["j", "k"][n % 2], |screen| screen.contents_formatted() != before);
            terminal.settle(Duration::from_millis(20));
            took
        })
        .collect();
    terminal.settle(QUIET);
    let memory = proc::memory(terminal.pid());
    let idle = idle(&mut terminal);
    terminal.end(contender.quit);
    format!(
        "| {} | {} | {} | {} | {} | {} | {:.1} MB | {:.1} MB | {:.1} MB | {idle:.2} % |",
        contender.name,
        ms(median(&first)),
        if frame.is_empty() { "–".to_owned() } else { ms(median(&frame)) },
        ms(median(&shown)),
        ms(median(&keys)),
        ms(percentile(&keys, 99)),
        memory.resident,
        memory.peak,
        memory.share_with_children,
    )
}

/// Percent of one processor while nobody does anything.
fn idle(terminal: &mut Terminal) -> f64 {
    let before = proc::cpu(terminal.pid());
    terminal.watch(IDLE);
    let spent = proc::cpu(terminal.pid()).saturating_sub(before);
    100.0 * spent.as_secs_f64() / IDLE.as_secs_f64()
}

/// A run that prints as much as the log holds, while the screen looks on.
fn long_run(ground: &Ground) {
    let lab = Contender::lab("").expect("lab is here");
    let mut terminal = lab.open(ground);
    terminal.see("the newest of all");
    ground.write("kernel.cu", &format!("print {LOG_BYTES}\n"));
    let began = Instant::now();
    terminal.see("500 sps");
    let took = began.elapsed();
    let memory = proc::memory(terminal.pid());
    terminal.end("q");
    ground.git(&["checkout", "-q", "kernel.cu"]);
    println!(
        "\nA run there that prints {} MB takes {:.1} s; memory {:.1} MB afterwards, {:.1} MB at most.",
        LOG_BYTES / 1_000_000,
        took.as_secs_f64(),
        memory.resident,
        memory.peak
    );
    forget_runs_after(ground, EXPERIMENTS);
}

/// Runs that a measurement made: the next one shall find the ground as it was.
fn forget_runs_after(ground: &Ground, last: usize) {
    for entry in std::fs::read_dir(ground.repo().join(".lab/runs")).into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<usize>().ok());
        if number.is_some_and(|number| number > last) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What the clock of a run that goes on writes.
fn clock() {
    let ground = Ground::small();
    let mut terminal = Contender::lab("").expect("lab is here").open(&ground);
    terminal.see("● PASS");
    ground.write("kernel.cu", "wait 600\n");
    terminal.see("MEASURE");
    terminal.settle(Duration::from_millis(5));
    terminal.frames();
    let before = proc::cpu(terminal.pid());
    terminal.watch(IDLE);
    let cpu = 100.0 * (proc::cpu(terminal.pid()) - before).as_secs_f64() / IDLE.as_secs_f64();
    println!("\n## A run that goes on and prints nothing\n");
    println!("{}; {cpu:.2} % of a processor.", of_frames(&terminal.frames(), IDLE));
    terminal.end("q");
    ground.git(&["checkout", "-q", "kernel.cu"]);
    forget_runs_after(&ground, 1);
}

fn of_frames(sizes: &[usize], time: Duration) -> String {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let at =
        |percent: usize| sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
    format!(
        "{:.1} frames a second, {} bytes each at the median, {} at most",
        sizes.len() as f64 / time.as_secs_f64(),
        at(50),
        at(100)
    )
}

/// Keys while a harness prints more than anybody can read.
fn flood() {
    let ground = Ground::small();
    println!("\n## A harness that prints {FLOOD} lines a second\n");
    let mut terminal = Contender::lab("").expect("lab is here").open(&ground);
    terminal.see("● PASS");
    ground.write("kernel.cu", &format!("flood {FLOOD} 60\n"));
    terminal.see("[     10");
    terminal.frames();
    let before = proc::cpu(terminal.pid());
    terminal.watch(Duration::from_secs(3));
    let cpu = 100.0 * (proc::cpu(terminal.pid()) - before).as_secs_f64() / 3.0;
    println!(
        "- drawing: {}; the whole of lab and harness takes {cpu:.0} % of a processor",
        of_frames(&terminal.frames(), Duration::from_secs(3))
    );
    let (mut words, mut moves) = (Vec::new(), Vec::new());
    let mut pause = Pauses(1);
    terminal.echo("/", |screen| screen.cursor_position() == (57, 89) || !screen.hide_cursor());
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
            screen.rows(0, pty::COLUMNS).any(|row| row.contains(&wanted))
        }));
    }
    let (kept, sent) = burst(&mut terminal);
    terminal.echo("\u{1b}", |screen| screen.hide_cursor());
    let panes = ["Correctness", "Throughput", "Git log", "run.log"];
    let focused = |screen: &vt100::Screen, name: &str| screen.contents().contains(&format!("━ {name}"));
    let mut at = panes.iter().position(|name| focused(terminal.screen(), name)).unwrap_or(0);
    for _ in 0..FLOODED_KEYS {
        terminal.watch(pause.next());
        at = (at + 1) % panes.len();
        moves.push(terminal.echo("\t", |screen| focused(screen, panes[at])));
    }
    for (what, times) in [("a letter typed into the search", &words), ("Tab to the next pane", &moves)] {
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
    println!("- memory: {:.1} MB, {:.1} MB at most", memory.resident, memory.peak);
    terminal.end("q");
    ground.git(&["checkout", "-q", "kernel.cu"]);
    forget_runs_after(&ground, 1);
}

/// Keys that come all at once: how many of how many arrived. They fill a line, and what takes all but the
/// first five away again follows on their heels; then one is typed and taken away many times over.
fn burst(terminal: &mut Terminal) -> (usize, usize) {
    const LETTERS: usize = 450;
    terminal.press("\u{15}");
    let letters: String = (0..LETTERS).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    let back = "\u{7f}".repeat(LETTERS - 5);
    let to_and_fro = "x\u{7f}".repeat(1_000);
    terminal.press(&format!("{letters}{back}{to_and_fro}"));
    terminal.watch(Duration::from_secs(3));
    let line = terminal.screen().rows(0, pty::COLUMNS).find_map(|row| {
        let (_, typed) = row.split_once("/abc")?;
        Some(format!("abc{}", typed.split_whitespace().next().unwrap_or("")))
    });
    let sent = LETTERS + LETTERS - 5 + 2_000;
    let left = line.unwrap_or_default();
    (if left == "abcde" { sent } else { sent - left.len().abs_diff(5).max(1) }, sent)
}

/// Between 5 and 60 ms, as if at random: no key shall come at the same point of every frame.
struct Pauses(u64);

impl Pauses {
    fn next(&mut self) -> Duration {
        // Knuth's MMIX constants.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros(5_000 + (self.0 >> 33) % 55_000)
    }
}

fn median(times: &[Duration]) -> Duration {
    percentile(times, 50)
}

/// The nearest rank.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(rank).copied().unwrap_or_default()
}

fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") }
}
