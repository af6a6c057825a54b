//! Takes in what a harness prints: all of it goes into run.log, the result lines into the report,
//! and batches of clean lines to the screen, however fast the harness prints.

use jiff::Timestamp;
use lab_project::config::{Config, MeasureConfig};
use lab_project::objective::Objective;
use lab_protocol::report::wrong_cells::is_drawn;
use lab_protocol::report::{LINE_LIMIT, Report, attribute, first_word, number, parse};
use lab_text::sanitise::{self, LogLine};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lines of a run in progress, for the screen. A batch comes at most every 16 ms.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub lines: Vec<LogLine>,
    /// Number of lines left out before `lines`, more than a screen can show. They are in run.log.
    pub skipped: u64,
    /// The report of all result lines so far, if this batch changed it.
    pub report: Option<Arc<Report>>,
}

impl Batch {
    /// The lines for people: those that pictures are drawn from are in run.log only.
    pub fn for_people(&self) -> impl DoubleEndedIterator<Item = &str> {
        let texts = self.lines.iter().map(|line| line.text.as_str());
        texts.filter(move |text| parse(text).is_none_or(|entry| !is_drawn(entry.key)))
    }
}

/// Most lines in a batch; older ones are left out.
const BATCH_LINES: usize = 1_000;

/// Bytes of the end that run.log keeps of an output that was too long.
const TAIL: usize = 64 * 1024;

/// Takes in the output of one run.
pub struct Follow {
    log: Log,
    began: Instant,
    /// The start of the line that is being read, no longer than [`LINE_LIMIT`].
    line: Vec<u8>,
    pending: VecDeque<Vec<u8>>,
    skipped: u64,
    report: Report,
    report_grew: bool,
    /// The last line for people, as it was printed. Only the last of millions of lines is ever
    /// cleaned.
    last_words: Vec<u8>,
    /// The difference of two speeds that does not matter, as a fraction: for the `turns:` lines.
    same_within: f64,
    /// The objective is a speed or a time, which turns compare.
    is_of_speed: bool,
}

impl Follow {
    /// Writes the log to `file`, up to `limit` bytes.
    pub fn new(file: File, limit: u64) -> Self {
        Follow {
            log: Log {
                file,
                limit,
                seen: 0,
                tail: VecDeque::new(),
                failed: None,
            },
            began: Instant::now(),
            line: Vec::new(),
            pending: VecDeque::new(),
            skipped: 0,
            report: Report::default(),
            report_grew: false,
            last_words: Vec::new(),
            same_within: MeasureConfig::default().same_within / 100.0,
            is_of_speed: true,
        }
    }

    /// Judges the speed of `turns:` lines by lab.toml's `same_within`. Its objective says whether that
    /// speed counts.
    #[must_use]
    pub fn judging_by(mut self, config: &Config) -> Self {
        self.same_within = config.measure.same_within / 100.0;
        self.is_of_speed = !matches!(config.objective, Objective::Other(_));
        self
    }

    /// The run began at this time, and not now.
    #[must_use]
    pub fn begun(mut self, at: Timestamp) -> Self {
        let ago = Duration::try_from(lab_run::now().duration_since(at)).unwrap_or_default();
        self.began = self.began.checked_sub(ago).unwrap_or(self.began);
        self
    }

    /// Takes in bytes of the pipe, which may end anywhere in a line.
    pub fn take(&mut self, bytes: &[u8]) {
        self.log.write(bytes);
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            let free = LINE_LIMIT.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(free)]);
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    /// Whether more was printed than the limit allows.
    pub fn flooded(&self) -> bool {
        self.log.seen > self.log.limit
    }

    /// Whether [`Follow::batch`] would have lines.
    pub fn has_news(&self) -> bool {
        !self.pending.is_empty() || self.report_grew
    }

    /// The lines since the last batch.
    pub fn batch(&mut self) -> Batch {
        if self.report_grew {
            self.report.judge_turns(self.same_within);
        }
        let lines = self.pending.drain(..).map(|raw| {
            let result = is_result(&raw);
            LogLine {
                text: sanitise::line(&raw),
                result,
            }
        });
        Batch {
            lines: lines.collect(),
            skipped: std::mem::take(&mut self.skipped),
            report: std::mem::take(&mut self.report_grew).then(|| Arc::new(self.report.clone())),
        }
    }

    /// Ends the output: takes a last line without its newline, and writes the tail of an output
    /// that was too long. An error means that run.log is incomplete.
    pub fn finish(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.judge_turns();
        self.log.finish()
    }

    /// Judges the `turns:` lines. If they decide nothing about a correct kernel, a caveat says why.
    /// A wrong kernel gets none: its speed does not matter. Nor does it for another objective.
    fn judge_turns(&mut self) {
        self.report.judge_turns(self.same_within);
        let correct =
            self.report.correctness() == Some(true) && self.report.failing_gate().is_none();
        let counts = correct && self.is_of_speed;
        if let Some(doubt) = self.report.doubt().filter(|_| counts).map(str::to_owned) {
            self.report.push("caveat", &doubt);
            self.report_grew = true;
        }
    }

    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The last line that is for people and not empty, clean.
    pub fn last_words(&self) -> String {
        sanitise::line(&self.last_words).trim().to_owned()
    }

    /// Adds a line of the lab's own, `lab: TEXT`, as if the harness had printed it.
    pub fn say(&mut self, text: &str) {
        if !self.line.is_empty() {
            self.take(b"\n");
        }
        self.take(format!("lab: {text}\n").as_bytes());
    }

    /// The rest of the output cannot be read. [`Follow::finish`] returns the error.
    pub fn cut_off(&mut self, error: io::Error) {
        let named = io::Error::new(
            error.kind(),
            format!("cannot read what the harness prints: {error}"),
        );
        self.log.failed.get_or_insert(named);
    }

    /// Number of bytes that were printed.
    pub fn bytes(&self) -> u64 {
        self.log.seen
    }

    /// Takes a result line into the report. A stage of a harness that names no time began now.
    fn push(&mut self, line: &str) {
        let at = is_untimed_stage(line).then(|| self.began.elapsed().as_secs_f64());
        match at {
            Some(at) => self.report.push_line(&format!("{line} at={at:.3}")),
            None => self.report.push_line(line),
        };
    }

    fn end_line(&mut self) {
        let raw = std::mem::take(&mut self.line);
        let result = is_result(&raw);
        if result || is_worth_reading(&raw) {
            let clean = sanitise::line_within(&raw, LINE_LIMIT);
            // A line that only reads as a result line once control sequences are removed is text.
            if result && parse(&clean).is_some() {
                self.push(&clean);
            } else {
                self.report.push_text(&clean);
            }
            // What a carriage return overwrites is text too.
            let parts = raw.trim_ascii_end().split(|byte| *byte == b'\r');
            for part in parts.rev().skip(1) {
                let text = sanitise::line_within(part, LINE_LIMIT);
                self.report.push_text(&text);
            }
            self.report_grew = true;
        }
        if raw.iter().any(u8::is_ascii_graphic) && !(result && is_figure(&raw)) {
            self.last_words.clone_from(&raw);
        }
        if self.pending.len() == BATCH_LINES {
            self.pending.pop_front();
            self.skipped += 1;
        }
        self.pending.push_back(raw);
    }
}

/// Whether the line names a stage and does not say when it began.
fn is_untimed_stage(line: &str) -> bool {
    let entry = parse(line).filter(|entry| entry.key == "stage");
    entry.is_some_and(|entry| attribute(entry.value, "at").is_none())
}

fn is_result(raw: &[u8]) -> bool {
    let text = String::from_utf8_lossy(raw);
    parse(text.trim_end_matches(['\n', '\r'])).is_some()
}

/// Whether the text may be a compiler's diagnostic or a disguised `correctness:` line, each of which
/// holds one of these words.
fn is_worth_reading(raw: &[u8]) -> bool {
    let text = String::from_utf8_lossy(raw);
    let mut words = ["error", "warni"].into_iter();
    words.any(|word| text.contains(word)) || text.to_ascii_lowercase().contains("correctness")
}

/// Whether a result line is a fact of the run. `sh: 1: nvc: not found` has the form of a result
/// line, but is a message for people.
fn is_figure(raw: &[u8]) -> bool {
    const OF_THE_PROTOCOL: [&str; 9] = [
        "caveat",
        "correctness",
        "device",
        "fault",
        "progress",
        "stage",
        "stopped",
        "workload",
        "compiler",
    ];
    let text = String::from_utf8_lossy(raw);
    parse(text.trim_end()).is_some_and(|entry| {
        OF_THE_PROTOCOL.contains(&entry.key)
            || entry.key.ends_with("_series")
            || (entry.key == "build" && entry.value == "failed")
            || number(first_word(entry.value)).is_some()
    })
}

/// run.log: everything up to the limit, then a line that says how much is left out, then the end.
struct Log {
    file: File,
    limit: u64,
    seen: u64,
    tail: VecDeque<u8>,
    failed: Option<io::Error>,
}

impl Log {
    fn write(&mut self, bytes: &[u8]) {
        let free = usize::try_from(self.limit.saturating_sub(self.seen)).unwrap_or(usize::MAX);
        let (head, rest) = bytes.split_at(bytes.len().min(free));
        self.seen += bytes.len() as u64;
        if self.failed.is_none() {
            self.failed = self.file.write_all(head).err();
        }
        self.tail.extend(&rest[rest.len().saturating_sub(TAIL)..]);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let beyond = self.seen.saturating_sub(self.limit);
        if beyond > 0 {
            let left_out = beyond - self.tail.len() as u64;
            writeln!(
                self.file,
                "\nlab: {left_out} bytes are left out here: the output limit was reached"
            )?;
            self.file.write_all(self.tail.make_contiguous())?;
        }
        self.file.flush()?;
        match self.file.metadata()?.nlink() {
            0 => Err(io::Error::other("it was deleted while the run went on")),
            _ => Ok(()),
        }
    }
}

/// Reads the end of a log: at most `limit` clean lines of its last 4 MiB.
pub fn read_log(mut file: File, limit: usize) -> io::Result<Vec<LogLine>> {
    use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
    const READ: u64 = 4 << 20;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
    let mut file = BufReader::with_capacity(64 * 1024, file.take(READ));
    let mut raw = Vec::new();
    if length > READ {
        // It starts within a line.
        file.read_until(b'\n', &mut raw)?;
    }
    let mut lines = VecDeque::new();
    loop {
        raw.clear();
        if file.read_until(b'\n', &mut raw)? == 0 {
            return Ok(lines.into());
        }
        if lines.len() == limit {
            lines.pop_front();
        }
        lines.push_back(LogLine {
            text: sanitise::line(&raw),
            result: is_result(&raw),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::report::{Speed, Stage};

    fn follow(limit: u64) -> (tempfile::NamedTempFile, Follow) {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let follow = Follow::new(file.reopen().expect("the same file"), limit);
        (file, follow)
    }

    #[test]
    fn lines_come_whole_however_the_pipe_cuts_them() {
        let (_file, mut follow) = follow(1000);
        for byte in b"stage: build\nhello\ncorrectness: pass" {
            follow.take(&[*byte]);
        }
        follow.finish().expect("written");
        let batch = follow.batch();
        let lines: Vec<(&str, bool)> = batch
            .lines
            .iter()
            .map(|l| (l.text.as_str(), l.result))
            .collect();
        assert_eq!(
            lines,
            [
                ("stage: build", true),
                ("hello", false),
                ("correctness: pass", true)
            ]
        );
        assert_eq!(
            batch.report.expect("result lines came").correctness(),
            Some(true)
        );
        assert_eq!(follow.last_words(), "hello");
        assert!(!follow.has_news());
    }

    #[test]
    fn a_stage_without_a_time_began_when_its_line_came() {
        let (_file, mut follow) = follow(1000);
        follow.take(b"stage: verify\nstage: measure at=7.5\n");
        let report = follow.report();
        let verified = report.stage_began(Stage::Verify);
        assert!(verified.is_some_and(|at| at < 7.0), "{verified:?}");
        assert_eq!(report.stage_began(Stage::Measure), Some(7.5));
        assert_eq!(follow.batch().lines[0].text, "stage: verify");
    }

    #[test]
    fn what_is_no_result_line_in_the_log_is_none_on_the_screen() {
        let (_file, mut follow) = follow(1000);
        follow.take(
            b"\x1b[32mcorrectness: pass\n50%\rcorrectness: pass\nh0_max_diff: \x1b[1m2\x1b[0m limit=1\n",
        );
        let batch = follow.batch();
        assert_eq!(
            batch.lines.iter().map(|l| l.result).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert_eq!(follow.report().correctness(), None);
        assert_eq!(follow.report().value("h0_max_diff"), Some("2 limit=1"));
    }

    #[test]
    fn the_last_words_are_words() {
        let words = |log: &str| {
            let (_file, mut follow) = follow(1000);
            follow.take(log.as_bytes());
            follow.last_words()
        };
        assert_eq!(
            words("sh: 1: nvc: not found\nstage: done\n"),
            "sh: 1: nvc: not found"
        );
        assert_eq!(
            words("h0 is off\nh0_max_diff: 2e-3 limit=1\ncorrectness: fail\n\n"),
            "h0 is off"
        );
    }

    #[test]
    fn turns_are_judged_while_they_come_and_a_doubt_is_a_caveat_at_the_end() {
        let followed_for = |objective: &str, blocks: usize, rest: &str| {
            let (_file, follow) = follow(10_000);
            let mut follow = follow.judging_by(&Config {
                objective: objective.into(),
                ..Config::default()
            });
            follow.take(b"speed: slower\n");
            follow.take(
                "turns: 0.0200 0.0100 0.0101 0.0201\n"
                    .repeat(blocks)
                    .as_bytes(),
            );
            let so_far = follow.batch().report.expect("result lines came");
            follow.take(rest.as_bytes());
            follow.finish().expect("written");
            (
                so_far.comparison().expect("turns").speed,
                follow.report().caveats().to_vec(),
            )
        };
        let followed = |blocks, rest| followed_for("throughput_sps", blocks, rest);
        let pass = "correctness: pass\n";
        assert_eq!(followed(3, pass), (Some(Speed::Faster), Vec::new()));
        let why =
            "speed undecided: only 2 ABBA blocks, and a verdict needs 3; time more ABBA blocks";
        assert_eq!(
            followed(2, pass),
            (Some(Speed::Undecided), vec![why.to_owned()])
        );
        // Turns say nothing about another measure.
        assert_eq!(followed_for("p99_us", 2, pass).1, Vec::<String>::new());
        // A wrong kernel has no speed.
        assert_eq!(followed(2, "correctness: fail\n").1, Vec::<String>::new());
        assert_eq!(
            followed(2, "y_error: 2 limit=1\ncorrectness: pass\n").1,
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_flood_keeps_head_and_tail() {
        let (file, mut follow) = follow(10);
        follow.take(b"0123456789");
        assert!(!follow.flooded());
        follow.take(&vec![b'x'; 3 * TAIL]);
        follow.take(b"the end\n");
        assert!(follow.flooded());
        follow.finish().expect("written");
        let text = std::fs::read_to_string(file.path()).expect("a log");
        assert!(text.starts_with("0123456789\nlab: "));
        assert!(text.ends_with("xthe end\n"));
        assert!(text.len() < TAIL + 200);
    }

    #[test]
    fn a_screen_gets_the_newest_lines_and_the_number_of_the_others() {
        let (_file, mut follow) = follow(u64::MAX);
        for n in 0..5_000 {
            follow.take(format!("line {n}\n").as_bytes());
        }
        let batch = follow.batch();
        assert_eq!((batch.lines.len(), batch.skipped), (BATCH_LINES, 4_000));
        assert_eq!(batch.lines[BATCH_LINES - 1].text, "line 4999");
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let (_file, mut follow) = follow(u64::MAX);
        for _ in 0..100 {
            follow.take(&[b'y'; 10_000]);
        }
        assert_eq!(follow.line.len(), LINE_LIMIT);
    }
}
