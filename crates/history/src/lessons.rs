//! The digest of what was tried: the experiments by idea, with what each idea brought.

use itertools::Itertools;
use lab_project::Project;
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::Measure;
use lab_run::RunId;
use lab_run::experiment::{Experiment, Status};
use lab_run::message::{TrailerKey, last_value};
use lab_store::RunIndex;
use lab_text::sanitise;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Experiments that are looked at, the newest.
pub const EXPERIMENTS: usize = 10_000;

/// Most lessons of an idea, the newest.
const LESSONS: usize = 3;

/// Most characters of a lesson, and of an idea's name.
const LESSON_LENGTH: usize = 400;
const NAME_LENGTH: usize = 200;

/// The speed of an experiment against the incumbent of its time.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Brought {
    /// Above 1 the experiment was better; the ends are of the 95 % interval.
    pub ratio: Measure,
    /// Null if the record is not here.
    pub run: Option<RunId>,
    /// No record of this user backs it.
    pub foreign: bool,
}

/// The experiments with the same hypothesis; of those without one, the experiments whose
/// descriptions begin with the same words before a colon. Capitals and blanks make no difference.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Idea {
    /// The hypothesis or the words, of the newest experiment.
    #[serde(rename = "idea")]
    pub name: String,
    /// Whether it is a hypothesis.
    pub is_hypothesis: bool,
    /// Experiments that were kept.
    pub kept: usize,
    /// Experiments that were discarded.
    pub discarded: usize,
    /// Discarded, and the run had crashed.
    pub crashed: usize,
    /// `None` if no experiment was compared.
    pub best: Option<Brought>,
    /// The smallest ratio; null if none was compared.
    pub worst: Option<Brought>,
    /// The newest first, each once. `foreign: ` stands before one that no record of this user backs.
    pub lessons: Vec<String>,
    /// The run of the newest experiment.
    pub last_run: Option<RunId>,
    /// The commit of the newest experiment.
    pub last_commit: String,
}

/// Groups experiments by idea. `newest_first` are those of one kernel; only the first
/// [`EXPERIMENTS`] are looked at. Ideas with a lesson come first, then those with a kept
/// experiment, then the others; the newest first among each.
pub fn lessons<E: Borrow<Experiment>>(
    newest_first: impl Iterator<Item = E>,
    objective: &Objective,
    goal: Goal,
) -> Vec<Idea> {
    let mut ideas: Vec<Idea> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for experiment in newest_first
        .filter(|e| e.borrow().row.status != Status::Rules)
        .take(EXPERIMENTS)
    {
        let experiment = experiment.borrow();
        let (name, is_hypothesis) = name(experiment);
        let key = format!("{is_hypothesis} {}", normalised(name));
        let at = *known.entry(key).or_insert_with(|| {
            ideas.push(Idea {
                name: cut(name, NAME_LENGTH),
                is_hypothesis,
                last_run: experiment.run,
                last_commit: experiment.row.commit.clone(),
                ..Idea::default()
            });
            ideas.len() - 1
        });
        ideas[at].add(experiment, objective, goal);
    }
    // A stable sort: among equals the newest stays first.
    ideas.sort_by_key(|idea| Reverse((!idea.lessons.is_empty(), idea.kept > 0)));
    ideas
}

/// The experiments of a kernel whose records are here, the newest run first, without a look at
/// results.tsv. Call [`RunIndex::refresh`] first.
pub fn of_records<'i>(
    project: &'i Project,
    index: &'i RunIndex,
) -> impl Iterator<Item = Experiment> {
    let decided = index.newest_of_kernel(&project.kernel_name, |_| true);
    decided.filter_map(|run| {
        let row = run.decision.as_ref()?.row.clone()?;
        let is_emulated = run.verdict.is_some_and(|verdict| verdict.emulated);
        Some(crate::experiment(
            row,
            Some(run.id),
            is_emulated,
            Some(run),
            &index.kernel_names,
        ))
    })
}

/// The first items that fit into a number of tokens, and how many they take.
pub fn fitting<T>(
    items: impl IntoIterator<Item = T>,
    tokens: usize,
    text: impl Fn(&T) -> String,
) -> (Vec<T>, usize) {
    let (mut taken, mut used) = (Vec::new(), 0);
    for item in items {
        let more = estimated_tokens(&text(&item));
        if used + more > tokens {
            break;
        }
        used += more;
        taken.push(item);
    }
    (taken, used)
}

fn name(experiment: &Experiment) -> (&str, bool) {
    let description = experiment.row.description.as_str();
    match last_value(&experiment.trailers, &TrailerKey::Hypothesis) {
        Some(hypothesis) => (hypothesis, true),
        None => (
            description
                .split_once(':')
                .map_or(description, |(words, _)| words),
            false,
        ),
    }
}

/// Without capitals, blanks in a row, and a full stop at the end.
fn normalised(text: &str) -> String {
    let mut words = text.split_whitespace().map(str::to_lowercase);
    words.join(" ").trim_end_matches(['.', '!']).to_owned()
}

fn cut(text: &str, limit: usize) -> String {
    sanitise::cut(&text.split_whitespace().join(" "), limit)
}

impl Idea {
    fn add(&mut self, experiment: &Experiment, objective: &Objective, goal: Goal) {
        match experiment.row.status {
            Status::Keep => self.kept += 1,
            Status::Discard => self.discarded += 1,
            Status::Crash => self.crashed += 1,
            Status::Rules => {}
        }
        if let Some(lesson) = last_value(&experiment.trailers, &TrailerKey::Lesson) {
            let foreign = if experiment.foreign { "foreign: " } else { "" };
            let lesson = format!("{foreign}{}", cut(lesson, LESSON_LENGTH));
            if self.lessons.len() < LESSONS && !self.lessons.contains(&lesson) {
                self.lessons.push(lesson);
            }
        }
        let change = experiment
            .measured
            .change
            .filter(|_| experiment.counts() && !experiment.emulated);
        let Some(ratio) = change
            .map(|change| change.as_ratio(objective, goal))
            .filter(|r| r.value.is_finite())
        else {
            return;
        };
        let brought = Brought {
            ratio,
            run: experiment.run,
            foreign: experiment.foreign,
        };
        if self.best.is_none_or(|best| ratio.value > best.ratio.value) {
            self.best = Some(brought);
        }
        if self
            .worst
            .is_none_or(|worst| ratio.value < worst.ratio.value)
        {
            self.worst = Some(brought);
        }
    }
}

/// How many tokens of a language model a text is estimated to have: one for every three bytes,
/// which is more than usual for English and for JSON.
pub fn estimated_tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_run::experiment::{Correctness, Measured, Row};
    use lab_run::verdict::Change;

    fn experiment(
        at: u64,
        status: Status,
        description: &str,
        change: f64,
        trailers: &[(&str, &str)],
    ) -> Experiment {
        let row = Row {
            commit: format!("{at:07x}"),
            throughput_sps: 1.0,
            kernel_us: 1.0,
            correctness: if status == Status::Crash {
                Correctness::Fail
            } else {
                Correctness::Pass
            },
            status,
            description: description.into(),
        };
        let interval = Some((change - 0.01, change + 0.01));
        let change = Change {
            ratio: change,
            interval,
            ..Change::default()
        };
        Experiment {
            row,
            run: Some(RunId(at)),
            kernel: Some("kernel.cu".into()),
            renamed_from: None,
            device: None,
            foreign: false,
            emulated: false,
            decided: None,
            trailers: trailers
                .iter()
                .map(|(k, v)| (TrailerKey::from((*k).to_owned()), (*v).to_owned()))
                .collect(),
            measured: Measured {
                change: Some(change),
                ..Measured::default()
            },
            peers: Vec::new(),
        }
    }

    fn digest(oldest_first: Vec<Experiment>) -> Vec<Idea> {
        lessons(
            oldest_first.into_iter().rev(),
            &Objective::Throughput,
            Goal::Maximize,
        )
    }

    #[test]
    fn experiments_of_one_idea_stand_together_with_the_best_and_the_worst() {
        let ideas = digest(vec![
            experiment(1, Status::Discard, "Unroll: by 4", -0.1, &[]),
            experiment(
                2,
                Status::Keep,
                "tiles",
                0.2,
                &[("Hypothesis", "Tiles  of 32 help.")],
            ),
            experiment(3, Status::Rules, "rules", 0.0, &[]),
            experiment(
                4,
                Status::Crash,
                "tiles of 64",
                0.9,
                &[("Hypothesis", "tiles of 32 help"), ("Lesson", "no room")],
            ),
            experiment(5, Status::Keep, "unroll: by 2", 0.1, &[]),
            experiment(6, Status::Discard, "other", -0.5, &[]),
        ]);
        let names: Vec<&str> = ideas.iter().map(|idea| idea.name.as_str()).collect();
        assert_eq!(names, ["tiles of 32 help", "unroll", "other"]);
        let [tiles, unroll, other] = ideas.as_slice() else {
            panic!("three ideas")
        };
        assert!(tiles.is_hypothesis && !unroll.is_hypothesis);
        assert_eq!(
            (tiles.kept, tiles.discarded, tiles.crashed, tiles.last_run),
            (1, 0, 1, Some(RunId(4)))
        );
        assert_eq!(tiles.lessons, ["no room"]);
        // What crashed has no figure.
        assert_eq!(tiles.best.and_then(|best| best.run), Some(RunId(2)));
        assert_eq!(tiles.best, tiles.worst);
        let runs = |idea: &Idea| {
            (
                idea.best.and_then(|b| b.run),
                idea.worst.and_then(|b| b.run),
            )
        };
        assert_eq!(runs(unroll), (Some(RunId(5)), Some(RunId(1))));
        assert_eq!((other.kept, other.discarded), (0, 1));
    }

    #[test]
    fn long_texts_are_cut_and_a_lesson_stands_once() {
        let long = "é".repeat(1000);
        let many = (1..20)
            .map(|at| experiment(at, Status::Keep, "x", 0.0, &[("Lesson", &long)]))
            .collect();
        let ideas = digest(many);
        assert_eq!((ideas.len(), ideas[0].lessons.len()), (1, 1));
        assert_eq!(ideas[0].lessons[0].chars().count(), LESSON_LENGTH + 1);
    }
}
