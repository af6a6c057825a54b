//! Measures the screen from outside: `lab` in a pseudo terminal of 200×60 and, on the same machine
//! and in the same repositories, the installed ones of the programs that people compare it with
//! (tig, gitui, lazygit; bacon for a command and its output; lnav and less for a log).
//!
//! `cargo bench --bench terminal` measures everything, `cargo bench --bench terminal -- flood` one
//! scenario. benchmarks/README.md has the figures. This is not a test: a slow machine is not a
//! failure.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

mod flood;
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
/// The row of the graph to which the benchmark scrolls.
const DEPTH: usize = 100_000;

/// Starts of each program; the medians count.
const STARTS: usize = 7;
const KEYS: usize = 100;
const IDLE: Duration = Duration::from_secs(10);
/// The time after which a program has drawn everything.
const QUIET: Duration = Duration::from_millis(300);

/// Measures and prints. The error names the event that did not come.
type Scenario = fn() -> Result<(), String>;

/// Down and up, for programs without `j` and `k`.
const ARROWS: [&str; 2] = ["\x1b[B", "\x1b[A"];

/// The file that gitui writes when it is left on its second tab.
const GITUI: &str = "(tab: 1, diff: (ignore_whitespace: false, context: 3, interhunk_lines: 0), \
                     status_show_untracked: None, commit_msgs: [])";

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--harness") {
        return grounds::harness();
    }
    let scenarios: [(&str, Scenario); 5] = [
        ("small", small),
        ("history", history),
        ("commits", commits),
        ("clock", clock),
        ("flood", flood::flood),
    ];
    let asked: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    for (name, measure) in scenarios {
        if asked.is_empty() || asked.iter().any(|arg| *arg == name) {
            // A failure of one scenario does not affect the next.
            measure().unwrap_or_else(|why| println!("\n{name}: {why}"));
        }
    }
    Ok(())
}

/// One program in one repository.
struct Contender {
    name: &'static str,
    command: Vec<String>,
    /// A text that is on the screen once the program shows its data.
    shown: String,
    /// Keys that bring the program to a list in which down and up move.
    prepare: &'static str,
    keys: [&'static str; 2],
    quit: &'static str,
    /// A file in the repository that the program reads when it starts, and its content.
    remembers: Option<(&'static str, &'static str)>,
}

impl Contender {
    fn new(name: &'static str, args: &[&str], shown: &str) -> Option<Self> {
        let program = if name == "lab" {
            PathBuf::from(LAB)
        } else {
            installed(name)?
        };
        let mut command = vec![program.to_string_lossy().into_owned()];
        command.extend(args.iter().map(|arg| (*arg).to_owned()));
        Some(Contender {
            name,
            command,
            shown: shown.to_owned(),
            prepare: "",
            keys: ["j", "k"],
            quit: "q",
            remembers: None,
        })
    }

    /// With the focus on the git log.
    fn lab(shown: &str) -> Option<Self> {
        Contender::new("lab", &[], shown).map(|lab| Contender {
            prepare: "\t\t",
            ..lab
        })
    }

    /// With the view Git open. `lab` remembers the view, and the next start must open on the bench.
    fn lab_git(shown: &str) -> Option<Self> {
        let lab = Contender::new("lab", &[], shown)?;
        Some(Contender {
            name: "lab, keys in the view Git",
            prepare: "4",
            quit: "1q",
            ..lab
        })
    }

    /// Runs the harness and shows its output; its keys open its help and close it.
    fn bacon(ground: &Ground, shown: &str) -> Option<Self> {
        let (harness, repo) = (ground.harness(), ground.repo());
        // Without a file of its own in the repository. It would run in a folder above that is a
        // package.
        let job = format!(
            "[jobs.judge]\ncommand = [{harness:?}, \"--harness\"]\nworkdir = {repo:?}\nneed_stdout = true\n\
             default_watch = false\n"
        );
        let bacon = Contender::new("bacon", &["--config-toml", &job, "--job", "judge"], shown)?;
        Some(Contender {
            keys: ["h", "h"],
            ..bacon
        })
    }

    /// On its log: it opens on the tab on which it was left.
    fn gitui(shown: &str) -> Option<Self> {
        Contender::new("gitui", &[], shown).map(|gitui| Contender {
            remembers: Some((".git/gitui", GITUI)),
            keys: ARROWS,
            ..gitui
        })
    }

    fn open(&self, ground: &Ground) -> Terminal {
        if let Some((name, text)) = self.remembers {
            ground.write(name, text);
        }
        Terminal::start(&self.command, &ground.repo(), &ground.vars())
    }
}

fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

fn small() -> Result<(), String> {
    let ground = Ground::small();
    let contenders = [
        Contender::lab("● PASS"),
        Contender::new("tig", &[], "commit number 20"),
        Contender::gitui("commit number 20"),
        Contender::new("lazygit", &[], "commit number 20"),
        Contender::bacon(&ground, "correctness: pass"),
    ];
    compare("A repository of twenty commits", &ground, contenders);
    Ok(())
}

fn history() -> Result<(), String> {
    let ground = Ground::history(EXPERIMENTS, LOG_BYTES);
    let title = format!(
        "{EXPERIMENTS} experiments, a run.log of {} MB",
        LOG_BYTES / 1_000_000
    );
    let last = format!("[{:>12}]", LOG_BYTES / 100 - 1);
    let log = format!(".lab/runs/{EXPERIMENTS}/run.log");
    let contenders = [
        Contender::lab("the newest of all"),
        Contender::new("tig", &[], "the newest of all"),
        Contender::gitui("the newest of all"),
        Contender::new("lazygit", &[], "the newest of all"),
        Contender::new("lnav", &[&log], &last),
        Contender::new("less", &["+G", &log], &last),
    ];
    compare(&title, &ground, contenders);
    long_run(&ground)
}

fn commits() -> Result<(), String> {
    let ground = Ground::commits(COMMITS);
    let newest = format!("commit number {COMMITS}");
    let contenders = [
        Contender::lab(&newest),
        Contender::lab_git(&newest),
        Contender::new("tig", &[], &newest),
        Contender::gitui(&newest),
        Contender::new("lazygit", &[], &newest),
    ];
    compare(
        &format!("A repository of {COMMITS} commits"),
        &ground,
        contenders,
    );
    graph(&ground)
}

/// The view Git: down as far as [`DEPTH`], page by page, with a key pressed while each page is
/// read.
fn graph(ground: &Ground) -> Result<(), String> {
    let mut terminal = Contender::lab("").ok_or("lab is not here")?.open(ground);
    terminal.see(&format!("commit number {COMMITS}"))?;
    terminal.settle(QUIET);
    let read = |screen: &vt100::Screen| {
        let title = screen.contents();
        let (before, _) = title.split_once(" and older ones")?;
        before.rsplit(' ').next()?.parse::<usize>().ok()
    };
    let shown = terminal.echo("4", |screen| read(screen).is_some())?;
    terminal.settle(QUIET);
    let (mut pages, mut keys) = (Vec::new(), Vec::new());
    let mut known = read(terminal.screen()).unwrap_or(0);
    while known < DEPTH {
        // The key after it comes while the page is read.
        let began = Instant::now();
        terminal.press("G");
        let before = terminal.screen().contents_formatted();
        keys.push(terminal.echo("k", |screen| screen.contents_formatted() != before)?);
        terminal.wait("more commits", |screen| {
            read(screen).is_some_and(|now| now > known)
        })?;
        pages.push(began.elapsed());
        known = read(terminal.screen()).unwrap_or(known);
    }
    let memory = proc::memory(terminal.pid());
    // `lab` remembers the view: the next start must open on the bench.
    terminal.press("1");
    terminal.settle(QUIET);
    terminal.end("q");
    println!(
        "\nThe view Git: on screen {} after its key. Down to {known}: {} pages, each there after {} at the median, {} at \
         the 99th percentile, {} at most; a key while it is read after {}, {} and {}; {:.1} MB then, {:.1} MB at most.",
        ms(shown),
        pages.len(),
        ms(median(&pages)),
        ms(percentile(&pages, 99)),
        ms(percentile(&pages, 100)),
        ms(median(&keys)),
        ms(percentile(&keys, 99)),
        ms(percentile(&keys, 100)),
        memory.resident,
        memory.peak
    );
    Ok(())
}

fn compare<const N: usize>(title: &str, ground: &Ground, contenders: [Option<Contender>; N]) {
    println!("\n## {title}\n");
    println!(
        "| program | first bytes | first frame | all shown | a key, median | p99 | memory | peak | with children | idle CPU |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for contender in contenders.into_iter().flatten() {
        // If one program shows something else, the others are still measured.
        match row(&contender, ground) {
            Ok(row) => println!("{row}"),
            Err(why) => {
                let why = why.lines().next().unwrap_or_default();
                println!("| {} | {why} |", contender.name);
            }
        }
    }
}

fn row(contender: &Contender, ground: &Ground) -> Result<String, String> {
    let mut first = Vec::new();
    let mut frame = Vec::new();
    let mut shown = Vec::new();
    for _ in 0..STARTS {
        let mut terminal = contender.open(ground);
        shown.push(terminal.see(&contender.shown)?);
        first.extend(terminal.first_bytes);
        frame.extend(terminal.first_frame);
        terminal.settle(QUIET);
        terminal.end(contender.quit);
    }
    let mut terminal = contender.open(ground);
    terminal.see(&contender.shown)?;
    terminal.settle(QUIET);
    terminal.press(contender.prepare);
    terminal.settle(QUIET);
    let mut keys = Vec::new();
    for n in 0..KEYS {
        let before = terminal.screen().contents_formatted();
        keys.push(terminal.echo(contender.keys[n % 2], |screen| {
            screen.contents_formatted() != before
        })?);
        terminal.settle(Duration::from_millis(20));
    }
    terminal.settle(QUIET);
    let memory = proc::memory(terminal.pid());
    let idle = idle(&mut terminal);
    terminal.end(contender.quit);
    Ok(format!(
        "| {} | {} | {} | {} | {} | {} | {:.1} MB | {:.1} MB | {:.1} MB | {idle:.2} % |",
        contender.name,
        ms(median(&first)),
        if frame.is_empty() {
            "–".to_owned()
        } else {
            ms(median(&frame))
        },
        ms(median(&shown)),
        ms(median(&keys)),
        ms(percentile(&keys, 99)),
        memory.resident,
        memory.peak,
        memory.share_with_children,
    ))
}

/// Percent of one processor while idle.
fn idle(terminal: &mut Terminal) -> f64 {
    let before = proc::cpu(terminal.pid());
    terminal.watch(IDLE);
    let spent = proc::cpu(terminal.pid()).saturating_sub(before);
    100.0 * spent.as_secs_f64() / IDLE.as_secs_f64()
}

/// A run that prints as much as the log holds, while the screen is open.
fn long_run(ground: &Ground) -> Result<(), String> {
    let mut terminal = Contender::lab("").ok_or("lab is not here")?.open(ground);
    terminal.see("the newest of all")?;
    ground.write("kernel.cu", &format!("print {LOG_BYTES}\n"));
    let began = Instant::now();
    terminal.see("500 sps")?;
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
    Ok(())
}

/// Removes the runs of a measurement, so that the next one finds the repository unchanged.
fn forget_runs_after(ground: &Ground, last: usize) {
    for entry in std::fs::read_dir(ground.repo().join(".lab/runs"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<usize>().ok());
        if number.is_some_and(|number| number > last) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The bytes for the clock of a run in progress.
fn clock() -> Result<(), String> {
    let ground = Ground::small();
    let mut terminal = Contender::lab("").ok_or("lab is not here")?.open(&ground);
    terminal.see("● PASS")?;
    ground.write("kernel.cu", "wait 600\n");
    terminal.see("MEASURE")?;
    terminal.settle(Duration::from_millis(5));
    terminal.frames();
    let before = proc::cpu(terminal.pid());
    terminal.watch(IDLE);
    let cpu = 100.0
        * proc::cpu(terminal.pid())
            .saturating_sub(before)
            .as_secs_f64()
        / IDLE.as_secs_f64();
    println!("\n## A run in progress that prints nothing\n");
    println!(
        "{}; {cpu:.2} % of a processor.",
        of_frames(&terminal.frames(), IDLE)
    );
    terminal.end("q");
    ground.git(&["checkout", "-q", "kernel.cu"]);
    forget_runs_after(&ground, 1);
    Ok(())
}

fn of_frames(sizes: &[usize], time: Duration) -> String {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let at = |percent: usize| {
        sorted
            .get(sorted.len().saturating_sub(1) * percent / 100)
            .copied()
            .unwrap_or(0)
    };
    format!(
        "{:.1} frames a second, {} bytes each at the median, {} at most",
        sizes.len() as f64 / time.as_secs_f64(),
        at(50),
        at(100)
    )
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
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else {
        format!("{ms:.0} ms")
    }
}
