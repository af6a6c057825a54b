//! What a user types, and which rows are left in which order.

use super::*;
use lab_protocol::report::Speed;
use lab_run::experiment::{Measured, Row, Status};
use lab_run::message::TrailerKey;
use lab_run::verdict::Change;
use lab_run::{KernelBlob, RunId};

const HERE: TableContext = TableContext {
    kernel: "a/kernel.cu",
    device: Some("H200"),
    emulated: false,
    goal: Goal::Maximize,
};

/// The kernel of a row.
fn blob(at: usize) -> Option<KernelBlob> {
    KernelBlob::of(&format!("{at:016x}"))
}

/// Has the run of row `at` time its kernel in turns with that of row `with`.
fn time_in_turns(history: &mut [Experiment], at: usize, with: usize, ratio: f64) {
    history[at].measured.change = Some(Change {
        ratio,
        interval: Some((ratio - 0.01, ratio + 0.01)),
        incumbent: blob(with),
        ..Change::default()
    });
}

/// How each row compares with the best before it, in percent.
fn over_best(history: &[Experiment]) -> Vec<Option<OverBest>> {
    let percent = |over| match over {
        OverBest::InTurns(ratio) => OverBest::InTurns((ratio * 100.0).round()),
        other => other,
    };
    let table = table(history);
    table
        .facts
        .iter()
        .map(|f| f.over_best.map(percent))
        .collect()
}

/// `figure status kernel device description`, oldest first.
fn history(rows: &str) -> Vec<Experiment> {
    let one = |(at, line): (usize, &str)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let figure: f64 = words[0].parse().expect("a figure");
        let status = match words[1] {
            "keep" => Status::Keep,
            "discard" => Status::Discard,
            _ => Status::Crash,
        };
        let speed = if status == Status::Keep {
            Speed::Faster
        } else {
            Speed::Slower
        };
        let change = Change {
            ratio: 0.01 * at as f64,
            speed: Some(speed),
            ..Change::default()
        };
        Experiment {
            row: Row {
                commit: format!("c{at}"),
                throughput_sps: figure,
                kernel_us: 1e6 / figure.max(1.0),
                correctness: (status != Status::Crash).into(),
                status,
                description: words[4..].join(" "),
            },
            run: Some(RunId(at as u64 + 1)),
            kernel: Some(format!("{}/kernel.cu", words[2])),
            device: Some(words[3].into()),
            renamed_from: None,
            foreign: false,
            emulated: words[3] == "cpu",
            decided: None,
            peers: Vec::new(),
            trailers: Vec::new(),
            measured: Measured {
                objective: None,
                change: Some(change),
                caveated: figure == 60.0,
                part: None,
                chosen: None,
                blob: blob(at),
            },
        }
    };
    rows.trim().lines().enumerate().map(one).collect()
}

const PAST: &str = "
    40 keep a H200 Baseline
    60 discard a H200 unrolled by 8
    0 crash a H200 async copy
    80 keep a H200 float4 loads
    90 keep b H200 another kernel
    70 keep a H100 on the older device
    9 keep a cpu emulated
    72 discard a H200 Unrolled by 4
";

fn table(history: &[Experiment]) -> Table {
    let mut table = Table::default();
    table.set_history(history, HERE);
    table
}

fn rows(table: &Table) -> String {
    table
        .order
        .iter()
        .map(|place| format!("c{place}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[track_caller]
fn filtered(text: &str, wanted: &str) {
    let history = history(PAST);
    let mut table = table(&history);
    table.filter_by(
        Filter::parse(text).unwrap_or_else(|why| panic!("{why}")),
        &history,
    );
    assert_eq!(rows(&table), wanted, "{text}");
}

#[test]
fn the_newest_is_on_top() {
    assert_eq!(rows(&table(&history(PAST))), "c7 c6 c5 c4 c3 c2 c1 c0");
}

#[test]
fn a_row_matches_every_word_of_the_filter() {
    filtered("", "c7 c6 c5 c4 c3 c2 c1 c0");
    filtered("unrolled", "c7 c1");
    filtered("unrolled !8", "c7");
    filtered("UNROLLED c7", "c7");
    filtered("status:keep kernel:a/ device:h200", "c3 c0");
    filtered("!status:keep", "c7 c2 c1");
    // A word that is a status, and a part of one, which is not.
    filtered("!keep", "c7 c2 c1");
    filtered("kee", "");
    filtered(">60 <80", "c7 c5");
    filtered(">0.06k status:keep kernel:a", "c5 c3");
    filtered("speed:slower correctness:fail", "c2");
    filtered("caveat:yes", "c1");
    filtered("run:1", "c0");
    filtered("nothing like this", "");
}

#[test]
fn a_row_is_found_by_the_lines_that_it_changed() {
    let history = history(PAST);
    let mut table = table(&history);
    table.filter_by(Filter::parse("diff:__ldg").expect("a filter"), &history);
    assert_eq!(rows(&table), "", "nothing is read yet");
    let unread = table.unread(&history);
    assert_eq!(unread[0].0, "c7", "the newest first");
    assert_eq!(unread.len(), history.len());
    let lines = unread.into_iter().map(|(commit, _)| {
        let line = if commit == "c3" || commit == "c5" {
            "float4 v = __ldg(x + i);"
        } else {
            "float v = x[i];"
        };
        (commit, line.to_owned())
    });
    table.take_changed(lines.collect(), &history);
    assert_eq!(rows(&table), "c5 c3");
    assert!(table.unread(&history).is_empty());
    table.filter_by(
        Filter::parse("!diff:__LDG >60").expect("a filter"),
        &history,
    );
    assert_eq!(rows(&table), "c7 c4");
}

#[test]
fn a_row_is_found_by_its_trailers() {
    let mut history = history(PAST);
    history[1].trailers = vec![(TrailerKey::Lesson, "registers spill".into())];
    history[3].trailers = vec![(TrailerKey::Confidence, "high".into())];
    let found = |text: &str| {
        let mut table = table(&history);
        table.filter_by(Filter::parse(text).expect("a filter"), &history);
        rows(&table)
    };
    assert_eq!(found("trailer:SPILL"), "c1");
    assert_eq!(found("trailer:confidence"), "c3", "by its key");
    assert_eq!(found("trailer:e unrolled !8"), "");
    assert_eq!(found("!trailer:e status:discard"), "c7");
}

#[test]
fn a_wrong_word_is_an_error_that_says_what_to_write() {
    let error = |text| Filter::parse(text).expect_err(text);
    assert_eq!(
        error("what:keep"),
        "no field 'what': choose one of status, device, kernel, speed, correctness, caveat, commit, run, trailer, tags, note, diff"
    );
    assert_eq!(error("stat:keep"), "no field 'stat' (did you mean status?)");
    assert_eq!(
        error(">fast"),
        "'>fast' is not a limit of the figure: write >150k or >2.5M"
    );
    assert_eq!(
        error("<"),
        "'<' is not a limit of the figure: write <150k or <2.5M"
    );
}

#[test]
fn each_column_sorts_its_best_value_first_and_rows_without_a_value_last() {
    let history = history(PAST);
    let mut table = table(&history);
    let mut seen = Vec::new();
    for _ in 0..Column::ALL.len() {
        table.sort_by_next(&history, Goal::Maximize);
        seen.push(format!("{}: {}", table.sort.column.name(), rows(&table)));
    }
    let wanted = [
        "commit: c0 c1 c2 c3 c4 c5 c6 c7",
        "status: c6 c5 c4 c3 c0 c7 c1 c2",
        "figure: c4 c3 c7 c5 c1 c0 c6 c2",
        "vs incumbent: c7 c6 c5 c4 c3 c2 c1 c0",
        "vs best: c7 c6 c5 c4 c3 c2 c1 c0",
        "vs fastest peer: c7 c6 c5 c4 c3 c2 c1 c0",
        "kernel µs: c4 c3 c7 c5 c1 c0 c6 c2",
        "correctness: c2 c7 c6 c5 c4 c3 c1 c0",
        "speed: c6 c5 c4 c3 c0 c7 c2 c1",
        "problem: c7 c6 c5 c3 c2 c1 c0 c4",
        "device: c5 c7 c4 c3 c2 c1 c0 c6",
        "when: c7 c6 c5 c4 c3 c2 c1 c0",
        "run: c7 c6 c5 c4 c3 c2 c1 c0",
        "description: c0 c7 c4 c2 c6 c3 c5 c1",
    ];
    seen.rotate_right(
        1 + Column::ALL
            .iter()
            .position(|c| *c == Column::When)
            .expect("a column"),
    );
    assert_eq!(seen, wanted);
    // In the reversed order rows without a value are last too.
    while table.sort.column != Column::Figure {
        table.sort_by_next(&history, Goal::Maximize);
    }
    table.reverse(&history);
    assert_eq!(rows(&table), "c6 c0 c1 c5 c7 c3 c4 c2");
}

#[test]
fn the_best_before_is_over_as_many_workloads() {
    let mut history = history(
        "10 keep a H200 measured all\n90 keep a H200 saved\n12 keep a H200 measured\n81 keep a H200 saved",
    );
    for at in [1, 3] {
        history[at].measured.part = Some(8);
    }
    time_in_turns(&mut history, 2, 0, 0.05);
    time_in_turns(&mut history, 3, 2, 0.2);
    let (in_turns, not) = (OverBest::InTurns(5.0), OverBest::NotInTurns);
    assert_eq!(over_best(&history), [None, None, Some(in_turns), Some(not)]);
    // Earlier versions recorded no incumbent: who was timed with it is not known.
    let change = history[2].measured.change.as_mut();
    change.expect("its turns").incumbent = None;
    let unnamed = OverBest::Unnamed;
    assert_eq!(over_best(&history), [None, None, Some(unnamed), Some(not)]);
}

#[test]
fn a_row_of_an_unknown_kernel_and_a_figure_of_another_are_no_best() {
    let mut history = history(
        "90 keep a H200 unknown\n10 keep a H200 own\n50 keep a H200 another's\n20 keep a H200 own\n\
         40 keep a H200 another's",
    );
    history[0].kernel = None;
    for at in [2, 4] {
        history[at].foreign = true;
    }
    time_in_turns(&mut history, 3, 1, 1.0);
    time_in_turns(&mut history, 4, 2, -0.2);
    let [own, anothers] = [100.0, -20.0].map(|it| Some(OverBest::InTurns(it)));
    assert_eq!(over_best(&history), [None, None, None, own, anothers]);
}

#[test]
fn the_best_before_is_of_the_same_kernel_on_the_same_device() {
    let mut history = history(PAST);
    // A crash has no figure, the fourth was timed beside the first, the last beside the fourth.
    time_in_turns(&mut history, 3, 0, 0.5);
    time_in_turns(&mut history, 7, 3, -0.1);
    let [faster, slower] = [50.0, -10.0].map(|it| Some(OverBest::InTurns(it)));
    let not = Some(OverBest::NotInTurns);
    assert_eq!(
        over_best(&history),
        [None, not, None, faster, None, None, None, slower]
    );
    let table = table(&history);
    let marks: Vec<(bool, bool)> = table
        .facts
        .iter()
        .map(|f| (f.of_another_kernel, f.on_another_device))
        .collect();
    assert_eq!(
        (marks[3], marks[4], marks[5], marks[6]),
        ((false, false), (true, false), (false, true), (false, true))
    );
}

#[test]
fn two_are_marked_and_a_third_mark_removes_the_oldest() {
    let history = history(PAST);
    let mut table = table(&history);
    for place in [0, 3, 7] {
        table.mark(history[place].key());
    }
    assert_eq!(table.marked, [history[3].key(), history[7].key()]);
    table.mark(history[3].key());
    assert_eq!(table.marked, [history[7].key()]);
    table.set_history(&history[..7], HERE);
    assert!(
        table.marked.is_empty(),
        "an experiment that is gone has no mark"
    );
}

#[test]
fn undecided_sorts_between_same_and_slower_and_is_found_by_its_word() {
    let mut history = history(PAST);
    for (at, speed) in [Speed::Slower, Speed::Undecided, Speed::Same, Speed::Faster]
        .into_iter()
        .enumerate()
    {
        history[at]
            .measured
            .change
            .as_mut()
            .expect("a change")
            .speed = Some(speed);
    }
    history.truncate(4);
    let mut table = table(&history);
    while table.sort.column != Column::Speed {
        table.sort_by_next(&history, Goal::Maximize);
    }
    assert_eq!(rows(&table), "c3 c2 c1 c0");
    table.filter_by(
        Filter::parse("speed:undecided").expect("a filter"),
        &history,
    );
    assert_eq!(rows(&table), "c1");
}

#[test]
fn one_problem_is_shown_or_all_of_them() {
    let history = history(PAST);
    let mut table = Table::of_one_problem();
    table.set_history(&history, HERE);
    assert_eq!(
        (rows(&table).as_str(), table.of_others),
        ("c7 c6 c5 c3 c2 c1 c0", 1)
    );
    // A word that names a kernel chooses among all.
    table.filter_by(Filter::parse("kernel:b").expect("a filter"), &history);
    assert_eq!(
        (rows(&table).as_str(), table.is_of_one_problem()),
        ("c4", false)
    );
    table.filter_by(Filter::default(), &history);
    table.show_one_problem(false, &history);
    assert_eq!(rows(&table), "c7 c6 c5 c4 c3 c2 c1 c0");
    // A row of an unknown problem may be of this one.
    let mut history = history;
    history[4].kernel = None;
    table.show_one_problem(true, &history);
    table.set_history(&history, HERE);
    assert_eq!(
        (rows(&table).as_str(), table.of_others),
        ("c7 c6 c5 c4 c3 c2 c1 c0", 0)
    );
}
