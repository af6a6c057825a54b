//! `cargo bench --bench frame -- EXPERIMENTS COMMITS`: what one key and the frame after it cost
//! inside the screen, in milliseconds, with a long history, and with a source of 10,000 lines: no
//! terminal, no disk and no git.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

use jiff::Timestamp;
use jiff::tz::TimeZone;

use lab_git::{GraphEntry, LogEntry, text_diff};
use lab_history::History;
use lab_project::config::{AutoConfig, Goal};
use lab_run::Fingerprint;
use lab_run::experiment::{Correctness, Experiment, Measured, Row, Status};
use lab_tui::diff::Diff;
use lab_tui::effect::Effect;
use lab_tui::event::{Event, UserInput};
use lab_tui::geometry::FrameGeometry;
use lab_tui::highlight::{HighlightCache, Highlighter};
use lab_tui::keymap::Key;
use lab_tui::model::Model;
use lab_tui::reply::{GraphPage, HighlightReply, Overview, RepositoryReply, ViewReply};
use lab_tui::request::{HighlightRequest, ViewRequest};
use lab_tui::source::{Base, PresentText, SourceRequest, SourceText, SourceView};
use lab_tui::state::Setup;
use lab_tui::theme::Theme;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SOURCE_LINES: usize = 10_000;
const KEYS: usize = 200;

fn main() {
    let mut numbers = std::env::args().filter_map(|arg| arg.parse::<usize>().ok());
    let experiments = numbers.next().unwrap_or(10_000);
    let commits = numbers.next().unwrap_or(10_000);
    let mut model = Model::new(setup(), Theme::plain(), TimeZone::UTC);
    let mut screen = Terminal::new(TestBackend::new(200, 60)).expect("a screen of cells");
    let history: Vec<Experiment> = (1..=experiments).map(experiment).collect();
    let log: Vec<LogEntry> = (0..500.min(experiments))
        .map(|n| commit(experiments - n))
        .collect();
    let facts = |history: &[Experiment]| {
        let history = History {
            experiments: history.to_vec(),
            problems: Vec::new(),
        };
        Event::Repository(RepositoryReply::Overview(Box::new(Overview {
            at: Timestamp::UNIX_EPOCH,
            stage_times: None,
            status: Err("no disk".into()),
            history: Ok(history),
            log: Ok(log.clone()),
        })))
    };
    println!("{experiments} experiments, {commits} commits in the graph");
    lab_tui::open(&mut model, false);
    tell(
        "the first look",
        vec![timed(|| drop(take(&mut model, facts(&history))))],
    );
    let again: Vec<Event> = (0..5).map(|_| facts(&history)).collect();
    let looks = again
        .into_iter()
        .map(|facts| timed(|| drop(take(&mut model, facts))));
    tell("a later look", looks.collect());
    let entries = (0..commits).map(|n| {
        let newer = |n: usize| commit(commits.saturating_sub(n));
        let parents = (n + 1 < commits)
            .then(|| newer(n + 1).id)
            .into_iter()
            .collect();
        GraphEntry {
            commit: newer(n),
            parents,
            labels: Vec::new(),
        }
    });
    let page = GraphPage {
        is_first: true,
        is_last: true,
        entries: entries.collect(),
    };
    tell(
        "the graph",
        vec![timed(|| {
            drop(take(&mut model, Event::View(ViewReply::Graph(Ok(page)))));
        })],
    );
    let places = [
        ("Bench, no pane moves", "1", "?"),
        ("Correctness", "1", "jk"),
        ("Throughput", "1\t", "jk"),
    ];
    let rest = [
        ("Git log", "\t", "jk"),
        ("run.log", "\t", "jk"),
        ("Results", "3", "jk"),
        ("Git", "4", "jk"),
    ];
    for (name, way, keys) in places.into_iter().chain(rest) {
        way.chars().for_each(|key| drop(press(&mut model, key)));
        walk(name, keys, &mut model, &mut screen);
    }
    let wishes = press(&mut model, '2');
    let request = wishes.into_iter().find_map(|effect| match effect {
        Effect::View(ViewRequest::Source(request)) => Some(request),
        _ => None,
    });
    let source = source(request.expect("the source is asked for"));
    let mut colours = Vec::new();
    tell(
        "a source, read",
        vec![timed(|| {
            colours = take(&mut model, Event::View(ViewReply::Source(Box::new(source))));
        })],
    );
    let highlighter = Highlighter::new().expect("the syntax");
    for effect in colours {
        let Effect::Highlight(HighlightRequest { which, text, .. }) = effect else {
            continue;
        };
        let found = highlighter.highlight(text.as_bytes(), &mut HighlightCache::default());
        drop(take(
            &mut model,
            Event::Highlighted(HighlightReply {
                which,
                text,
                colours: found,
            }),
        ));
    }
    // Down and up, and from change to change.
    for (name, way) in [
        ("Source", ""),
        ("Source, unified", "v"),
        ("Source, side by side", "v"),
    ] {
        way.chars().for_each(|key| drop(press(&mut model, key)));
        for (how, keys) in [("", "jk"), (", far", "Gg"), (", changes", "]")] {
            walk(&format!("{name}{how}"), keys, &mut model, &mut screen);
        }
    }
}

/// Presses these keys in turn, and draws after each.
fn walk(name: &str, keys: &str, model: &mut Model, screen: &mut Terminal<TestBackend>) {
    let mut draw = |model: &mut Model| {
        timed(|| {
            let mut geometry = FrameGeometry::default();
            screen
                .draw(|frame| geometry = lab_tui::view(model, frame))
                .expect("cells are always there");
            drop(take(model, Event::Drawn(Box::new(geometry))));
        })
    };
    draw(model);
    let (mut updates, mut frames) = (Vec::new(), Vec::new());
    for key in keys.chars().cycle().take(KEYS) {
        updates.push(timed(|| drop(press(model, key))));
        frames.push(draw(model));
    }
    tell(&format!("{name}: a key"), updates);
    tell(&format!("{name}: its frame"), frames);
}

fn press(model: &mut Model, key: char) -> Vec<Effect> {
    let key = if key == '\t' {
        "tab".to_owned()
    } else {
        key.to_string()
    };
    let key = Key::parse(&key).expect("the name of a key");
    take(model, Event::Input(UserInput::Key(key.event())))
}

/// Handles an event as the screen does.
fn take(model: &mut Model, event: Event) -> Vec<Effect> {
    lab_tui::update(model, event, Duration::ZERO).effects
}

/// Every tenth line differs from the base's.
fn source(request: SourceRequest) -> SourceView {
    let text = |changed: &str| {
        let line = |n: usize| {
            let value = if n.is_multiple_of(10) {
                changed
            } else {
                "1.0f"
            };
            format!(
                "    float value_{n} = __expf({value}) * {n}.5f; // line {n} of a long kernel\n"
            )
        };
        SourceText::new((1..=SOURCE_LINES).map(line).collect::<String>())
    };
    let (base, present) = (text("2.0f"), text("3.0f"));
    SourceView {
        request,
        diff: Arc::new(Diff::parse(
            &text_diff(base.whole(), present.whole(), 3).expect("a diff"),
        )),
        present: Ok(PresentText {
            text: present,
            fingerprint: Fingerprint("f".into()),
        }),
        base: Ok(Base {
            name: "incumbent 0123456".into(),
            text: base,
        }),
        since: Vec::new(),
    }
}

fn setup() -> Setup {
    Setup {
        name: "long".into(),
        kernel: "kernel.cu".into(),
        objective: "throughput_sps".into(),
        goal: Goal::Maximize,
        external: None,
        auto: AutoConfig::default(),
    }
}

fn experiment(n: usize) -> Experiment {
    let status = if n.is_multiple_of(3) {
        Status::Keep
    } else {
        Status::Discard
    };
    let row = Row {
        commit: format!("{n:07x}"),
        throughput_sps: 1000.0 + n as f64,
        kernel_us: 5.0,
        correctness: Correctness::Pass,
        status,
        description: format!("experiment {n}: two rows of the gate matrix per warp"),
    };
    let decided = Timestamp::from_second(1_700_000_000 + n as i64).ok();
    Experiment {
        row,
        run: None,
        kernel: Some("kernel.cu".into()),
        device: Some("test bench".into()),
        renamed_from: None,
        foreign: false,
        emulated: false,
        decided,
        peers: Vec::new(),
        trailers: Vec::new(),
        measured: Measured::default(),
    }
}

fn commit(n: usize) -> LogEntry {
    LogEntry {
        id: format!("{n:07x}{:033}", 0),
        subject: format!("commit number {n}"),
        author: "Ada".into(),
        time: Timestamp::from_second(1_700_000_000 + n as i64).unwrap_or_default(),
        experiment: None,
    }
}

fn timed(act: impl FnOnce()) -> f64 {
    let began = Instant::now();
    act();
    began.elapsed().as_secs_f64() * 1e3
}

fn tell(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        times
            .get((times.len() as f64 * share) as usize)
            .copied()
            .unwrap_or(f64::NAN)
    };
    println!(
        "{what:<32} {:>8.3} ms at the median, {:>8.3} at the 99th percentile",
        at(0.5),
        at(0.99)
    );
}
