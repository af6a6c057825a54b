//! A world for the screen: a made-up repository, harness and person.

mod effects;
pub mod made;
mod past;
mod repository;
mod session;
mod story;

use jiff::tz::TimeZone;
use lab_auto::LoopView;
use lab_board::Board;
use lab_decide::rules::Rules;
use lab_git::LogEntry;
use lab_history::details::ComparedProfiles;
use lab_project::config::{AutoConfig, Goal};
use lab_protocol::report::Report;
use lab_run::RunStart;
use lab_run::experiment::Experiment;
use lab_run::record::Record;
use lab_sweep::SweepView;
use lab_tui::event::Event;
use lab_tui::geometry::FrameGeometry;
use lab_tui::layout::{Layout, UserChoice};
use lab_tui::model::Model;
use lab_tui::source::SourceRequest;
use lab_tui::state::Setup;
use lab_tui::theme::Theme;
use made::{commit, no_loop};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use std::collections::VecDeque;
use std::time::Duration;

/// The kernel that a world begins with.
pub const SOURCE: &str = include_str!("../kernel.cu");

pub const KERNEL: &str = "kernels/rmsnorm/kernel.cu";

pub struct World {
    pub model: Model,
    pub now: Duration,
    /// Columns and rows of the last picture.
    size: (u16, u16),
    /// Effects that only a terminal could carry out, in words.
    pub asked: Vec<String>,
    /// Effects that judge or decide, or change what others see, in words.
    pub changes: Vec<String>,
    pub clipboard: String,
    /// The text that was written into a file.
    pub exported: String,
    /// The layout as it was last written.
    pub layout: Layout,
    /// What the user chose, as it was last written.
    pub choice: UserChoice,
    answers: VecDeque<Event>,
    /// Names of the bytes: on disk, and in HEAD.
    disk: String,
    head: String,
    /// What HEAD held before each keep that made a commit.
    head_before: Vec<String>,
    saves: u32,
    runs: u64,
    live: Option<(RunStart, Report)>,
    records: Vec<Record>,
    pub history: Vec<Experiment>,
    pub commits: Vec<LogEntry>,
    /// The commits that changed the kernel's folder and hold no experiment.
    pub own_commits: Vec<LogEntry>,
    trusted: bool,
    /// Why kernels cannot be confined.
    unconfined: Option<String>,
    /// Decisions take until the step `decided`.
    pub slow: bool,
    /// Decisions are refused, for this reason.
    pub refusal: Option<String>,
    late: Option<Event>,
    /// The kernel is read for the view Source at the step `read` only.
    pub reads_late: bool,
    unread: Option<SourceRequest>,
    /// The text of the kernel for each name of bytes; for other names it is [`SOURCE`].
    pub texts: Vec<(String, String)>,
    /// A commit that git no longer has.
    pub gone: Option<String>,
    /// The number of commits that follow those of the graph, and how many of them arrive at once.
    /// The next ones arrive at the step `page`, if that is set.
    pub older: usize,
    pub page: usize,
    pub awaits_pages: bool,
    /// How many of them have arrived.
    told: usize,
    /// Changes of experiments and commits are long enough to have context around them.
    pub long_diffs: bool,
    /// All cells of the output that the runs get wrong.
    pub cells: Option<std::fs::File>,
    /// The benches that every experiment has.
    pub benches: Vec<lab_bench::BenchDigest>,
    /// The last times beside the problem's peers.
    pub peers: Option<lab_history::last_peers::LastPeers>,
    /// The state of `lab auto` that the screen reads.
    pub loops: Result<LoopView, String>,
    /// The board of decisions, or why it cannot be read.
    pub board: Result<Board, String>,
    /// The bench or sweep behind a decision, if the clone has it.
    pub record: Option<Vec<String>>,
    /// The kernel has a bench.
    pub has_bench: bool,
    /// The newest sweep of the kernel.
    pub sweep: Option<SweepView>,
    /// Why kernel.cu cannot be read.
    pub unreadable: Option<String>,
    /// How the rules on disk compare with HEAD's, and the sealed runs that a keep has to pass.
    pub keep_needs: (Rules, u32),
    /// The profile that every run has, and the incumbent's.
    pub profile: Option<lab_protocol::profile::Profile>,
    pub incumbent_profile: Option<lab_protocol::profile::Profile>,
    /// The text of comparisons about the profiles.
    pub compared_profiles: ComparedProfiles,
    /// The files of the rules that differ between two compared experiments.
    pub differing_rules: Vec<String>,
    /// The fault of the ledger.
    pub problems: Vec<String>,
}

impl World {
    pub fn new() -> Self {
        let setup = Setup {
            name: "rmsnorm".into(),
            kernel: KERNEL.into(),
            objective: "throughput_sps".into(),
            goal: Goal::Maximize,
            external: None,
            auto: AutoConfig::default(),
        };
        World {
            model: Model::new(setup, Theme::plain(), TimeZone::UTC),
            now: Duration::ZERO,
            size: (0, 0),
            asked: Vec::new(),
            changes: Vec::new(),
            clipboard: String::new(),
            exported: String::new(),
            layout: Layout::default(),
            choice: UserChoice::default(),
            answers: VecDeque::new(),
            disk: "bytes-0".into(),
            head: "bytes-0".into(),
            head_before: Vec::new(),
            saves: 0,
            runs: 0,
            refusal: None,
            live: None,
            records: Vec::new(),
            history: Vec::new(),
            own_commits: Vec::new(),
            commits: vec![commit("a1b2c3d4", "the first kernel", None)],
            trusted: true,
            unconfined: None,
            slow: false,
            late: None,
            reads_late: false,
            unread: None,
            texts: Vec::new(),
            gone: None,
            older: 0,
            page: 300,
            awaits_pages: false,
            told: 0,
            long_diffs: false,
            cells: None,
            benches: Vec::new(),
            peers: None,
            loops: Ok(no_loop()),
            board: Ok(Board::default()),
            record: None,
            has_bench: true,
            sweep: None,
            unreadable: None,
            keep_needs: (Rules::default(), 1),
            profile: None,
            incumbent_profile: None,
            compared_profiles: ComparedProfiles::default(),
            differing_rules: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub fn external(mut self) -> Self {
        self.model.setup.external = Some("uv run harness.py".into());
        self.trusted = false;
        self
    }

    /// A machine without a sandbox, and a folder that is not trusted.
    pub fn unconfined(mut self) -> Self {
        self.unconfined = Some("this Linux kernel has no Landlock, or it is switched off".into());
        self.trusted = false;
        self
    }

    /// How many began so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Half the width of the interval of the last verdict's objective.
    pub fn wide_interval(&mut self, share: f64) {
        let last = self.model.runs.last.as_mut().unwrap();
        let objective = last.verdict.objective.as_mut().unwrap();
        objective.low = Some(objective.value * (1.0 - share));
        objective.high = Some(objective.value * (1.0 + share));
    }

    /// The drawn screen, with its colours.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        // The screen has been open for a while: earlier keys were pressed on a frame of this size.
        if std::mem::replace(&mut self.size, (width, height)) != (width, height) {
            self.frame(&mut terminal);
        }
        self.frame(&mut terminal);
        terminal.backend().buffer().clone()
    }

    fn frame(&mut self, terminal: &mut Terminal<TestBackend>) {
        let mut geometry = FrameGeometry::default();
        terminal
            .draw(|frame| geometry = lab_tui::view(&self.model, frame))
            .unwrap();
        self.send(Event::Drawn(Box::new(geometry)));
    }

    /// The same as text.
    pub fn screen(&mut self, width: u16, height: u16) -> String {
        let buffer = self.draw(width, height);
        let mut out = String::new();
        for y in 0..height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..width {
                let symbol = buffer[(x, y)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                line.push_str(symbol);
                skip = lab_tui::text::width(symbol).saturating_sub(1);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// The same as one line of words, for a story's end.
    pub fn words(&mut self) -> String {
        self.screen(160, 45)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }
}
