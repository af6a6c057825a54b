//! The changes of the kernels that were kept.

use askama::Template;
use lab_git::Repo;
use lab_run::experiment::{Experiment, Status};
use lab_run::message::Trailer;

/// Unchanged lines around a change.
const AROUND: u32 = 3;

/// Bytes of one diff that are shown.
const MOST: usize = 48 << 10;

/// The change of one kept kernel.
#[derive(Template)]
#[template(path = "diff.html")]
struct Diff<'a> {
    id: &'a str,
    experiment: &'a Experiment,
    trailers: Vec<Trailer>,
    /// The class of each line, and its text.
    lines: Vec<(&'static str, &'a str)>,
    is_cut: bool,
    /// Why there is no diff; empty if there is one.
    failure: &'a str,
}

/// The diffs of the kept experiments, the newest first, as many as fit into `room` bytes.
pub struct Diffs {
    /// As HTML, each with its id and the index of its experiment.
    pub shown: Vec<(usize, String, String)>,
    pub left_out: usize,
}

impl Diffs {
    pub fn read(
        repo: &Repo,
        experiments: &[&Experiment],
        id: &str,
        room: usize,
    ) -> askama::Result<Self> {
        let kept = experiments.iter().enumerate();
        let kept = kept.filter(|(_, e)| e.row.status == Status::Keep).rev();
        let mut diffs = Diffs {
            shown: Vec::new(),
            left_out: 0,
        };
        let mut left = room;
        for (at, e) in kept {
            let id = format!("{id}-d{}", at + 1);
            let html = if left > 0 {
                render(repo, e, &id)?
            } else {
                String::new()
            };
            match left.checked_sub(html.len()).filter(|_| left > 0) {
                Some(rest) => {
                    left = rest;
                    diffs.shown.push((at, id, html));
                }
                None => {
                    left = 0;
                    diffs.left_out += 1;
                }
            }
        }
        Ok(diffs)
    }

    /// The id of the diff of an experiment; empty without one.
    pub fn of(&self, e: &Experiment, experiments: &[&Experiment]) -> &str {
        let mut shown = self.shown.iter();
        let found = shown.find(|(at, ..)| experiments[*at].is(&e.key()));
        found.map_or("", |(_, id, _)| id)
    }
}

fn render(repo: &Repo, experiment: &Experiment, id: &str) -> askama::Result<String> {
    let commit = &experiment.row.commit;
    let text = lab_git::change(repo, commit, AROUND).map_err(|error| lab_git::told(&error));
    let (text, failure) = match text {
        Ok(text) => (text, String::new()),
        Err(why) => (String::new(), why),
    };
    let trailers = match experiment.trailers.is_empty() {
        false => experiment.trailers.clone(),
        true => lab_git::trailers_of(repo, commit).unwrap_or_default(),
    };
    let shown = &text[..text.floor_char_boundary(MOST)];
    Diff {
        id,
        experiment,
        trailers,
        lines: shown.lines().map(|line| (class(line), line)).collect(),
        is_cut: shown.len() < text.len(),
        failure: &failure,
    }
    .render()
}

fn class(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "at",
        _ => "",
    }
}
