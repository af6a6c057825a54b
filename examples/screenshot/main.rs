//! Pictures of the running program: starts it in a pseudo terminal, does what a scene says, and
//! writes what is on the screen as SVG. `scripts/pictures` is how it is used.
//!
//! `screenshot SCENE OUT PROGRAM [ARGUMENT…]`; the program runs in the current folder. Each line of
//! a scene is one of
//! ```text
//! size 160 45        columns and rows; the first line
//! see TEXT           wait until this is on the screen
//! press KEYS
//! rest SECONDS       wait
//! picture NAME       write OUT/NAME.svg
//! ```
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

mod svg;

use anyhow::{Context, Result, bail, ensure};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::fs;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
/// A picture is taken after this time without output, or after RESTLESS while a clock ticks.
const QUIET: Duration = Duration::from_millis(250);
const RESTLESS: Duration = Duration::from_secs(2);

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [scene, out, program @ ..] = args.as_slice() else {
        bail!("screenshot SCENE OUT PROGRAM [ARGUMENT…]")
    };
    ensure!(
        !program.is_empty(),
        "screenshot SCENE OUT PROGRAM [ARGUMENT…]"
    );
    let text = fs::read_to_string(scene).with_context(|| format!("cannot read {scene}"))?;
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let first = lines.next().map_or("", |(_, line)| line);
    let numbers: Vec<u16> = first
        .split_whitespace()
        .skip(1)
        .filter_map(|n| n.parse().ok())
        .collect();
    let [columns, rows] = numbers[..] else {
        bail!("{scene}: the first line is `size COLUMNS ROWS`")
    };
    fs::create_dir_all(out)?;
    let mut stage = Stage::open(program, columns, rows, Path::new(out))?;
    for (at, line) in lines {
        stage
            .act(line)
            .with_context(|| format!("{scene}:{}: {line}", at + 1))?;
    }
    stage.close()
}

struct Stage {
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    chunks: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    out: PathBuf,
}

impl Stage {
    fn open(program: &[String], columns: u16, rows: u16, out: &Path) -> Result<Self> {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pty = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(&program[0]);
        command.args(&program[1..]);
        command.cwd(std::env::current_dir()?);
        command.env("TERM", "xterm-256color");
        let mut reader = pty.master.try_clone_reader()?;
        let writer = pty.master.take_writer()?;
        let (send, chunks) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 64 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let child = pty.slave.spawn_command(command)?;
        drop(pty.slave);
        let one = |n: u16| NonZero::new(n).context("a terminal has rows and columns");
        let parser = vt100::Parser::new(one(rows)?, one(columns)?, 0);
        let out = out.to_owned();
        Ok(Stage {
            child,
            _master: pty.master,
            writer,
            chunks,
            parser,
            out,
        })
    }

    fn act(&mut self, line: &str) -> Result<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "see" => self.see(rest),
            "press" => self.press(rest),
            "rest" => {
                self.watch(Duration::from_secs_f64(rest.parse()?));
                Ok(())
            }
            "picture" => self.picture(rest),
            _ => bail!("'{word}' is not a word of a scene"),
        }
    }

    fn press(&mut self, keys: &str) -> Result<()> {
        self.writer.write_all(keys.as_bytes())?;
        Ok(self.writer.flush()?)
    }

    /// Reads the next output. Returns false if none comes before the deadline.
    fn take(&mut self, deadline: Instant) -> bool {
        let Ok(bytes) = self
            .chunks
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        else {
            return false;
        };
        self.parser.process(&bytes);
        true
    }

    fn watch(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while self.take(deadline) {}
    }

    fn settle(&mut self) {
        let end = Instant::now() + RESTLESS;
        while Instant::now() < end && self.take(Instant::now() + QUIET) {}
    }

    fn see(&mut self, text: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.parser.screen().contents().contains(text) {
            ensure!(
                self.take(deadline),
                "it did not appear; the screen shows:\n{}",
                self.parser.screen().contents()
            );
        }
        Ok(())
    }

    fn picture(&mut self, name: &str) -> Result<()> {
        self.settle();
        self.write(&format!("{name}.svg"), &svg::picture(self.parser.screen()))
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.out.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{} ({} kB)", path.display(), text.len().div_ceil(1000));
        Ok(())
    }

    fn close(mut self) -> Result<()> {
        self.press("q")?;
        self.watch(Duration::from_secs(1));
        let _ = self.child.kill();
        self.child.wait()?;
        Ok(())
    }
}
