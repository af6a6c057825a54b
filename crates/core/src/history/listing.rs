//! The rows of both ledgers in the order of their decisions, with their runs. The experiments
//! themselves are made one by one, so that a million rows need not be in memory as experiments.

use super::{missing_rows, owed, problems};
use crate::ledger::{self, Line};
use crate::project::Project;
use crate::repo::{Notes, Repo};
use crate::run::RunId;
use crate::run::experiment::{Experiment, Row};
use crate::store::{RunIndex, RunSummary};
use std::collections::{HashMap, HashSet, VecDeque};

/// The rows of both ledgers, oldest first.
pub struct Listing {
    /// The texts of results.tsv and results.cpu.tsv.
    texts: [String; 2],
    rows: Vec<Place>,
    /// A sentence for each damaged record, each row that cannot be read, and the missing rows of
    /// each ledger.
    pub problems: Vec<String>,
    /// Decided runs whose rows are not in their ledger.
    pub(super) missing: Vec<RunId>,
}

/// See [`RunIndex::positions`].
type Positions = HashMap<RunId, (i64, u64)>;

/// Where a row is, and whose it is.
struct Place {
    /// See [`RunIndex::positions`]; a row whose time is not known has that of the row before it.
    decided: Option<(i64, u64)>,
    emulated: bool,
    at: usize,
    length: u32,
    run: Option<RunId>,
}

impl Listing {
    /// Reads both ledgers. Call [`RunIndex::refresh`] first.
    pub fn read(repo: &Repo, project: &Project, index: &mut RunIndex) -> Listing {
        let mut listing = Listing {
            texts: Default::default(),
            rows: Vec::new(),
            problems: index.problems(),
            missing: Vec::new(),
        };
        let notes = Notes::of(repo);
        let positions = index.positions();
        for emulated in [false, true] {
            listing.add(repo, project, index, &notes, &positions, emulated);
        }
        listing.rows.sort_by_key(|place| place.decided);
        let mut names = std::mem::take(index.kernel_names_mut());
        let bare: Vec<&str> = listing.without_record(index).collect();
        problems::update(repo, project, index, &mut names, &bare);
        *index.kernel_names_mut() = names;
        listing
    }

    fn add(
        &mut self,
        repo: &Repo,
        project: &Project,
        index: &mut RunIndex,
        notes: &Notes,
        positions: &Positions,
        emulated: bool,
    ) {
        let path = ledger::path(project, emulated);
        let text = ledger::read_text(&path).unwrap_or_else(|problem| {
            self.problems.push(problem);
            String::new()
        });
        let (name, first) = (ledger::file_name(&path), self.rows.len());
        let mut runs = Runs::of(index, emulated);
        let mut unread = Vec::new();
        for line in ledger::lines(&text) {
            match line.row() {
                Ok(row) => {
                    let at = line.text().as_ptr() as usize - text.as_ptr() as usize;
                    let length = line.text().len() as u32;
                    runs.push(&row);
                    self.rows.push(Place {
                        decided: None,
                        emulated,
                        at,
                        length,
                        run: None,
                    });
                }
                Err(what) => {
                    self.problems
                        .push(format!("{name}:{}: {what}", line.number));
                    unread.extend(line.is_whole().then(|| line.commit().to_owned()));
                }
            }
        }
        self.texts[usize::from(emulated)] = text;
        let gone = runs.join(&mut self.rows[first..]);
        let without_run = || {
            self.rows[first..]
                .iter()
                .filter(|place| place.run.is_none())
        };
        let commit = |place: &Place| self.line(place).commit();
        index.read_notes(notes, without_run().map(commit));
        // A row whose description somebody changed by hand is not missing.
        let missed: HashSet<&str> = gone
            .iter()
            .filter_map(|id| commit_of(index.summary(*id)?))
            .collect();
        let mut there: HashSet<&str> = without_run()
            .map(commit)
            .filter(|commit| missed.contains(commit))
            .collect();
        there.extend(unread.iter().map(String::as_str));
        let gone = gone.into_iter().filter_map(|id| index.summary(id));
        let gone =
            gone.filter(|summary| commit_of(summary).is_some_and(|commit| !there.contains(commit)));
        let owed = owed(repo, project, emulated, gone.collect());
        self.problems.extend(missing_rows(project, emulated, &owed));
        self.missing.extend(owed.iter().map(|summary| summary.id));
        let times: Vec<Option<(i64, u64)>> = self.rows[first..]
            .iter()
            .map(|place| self.decided(index, positions, place))
            .collect();
        let mut last = None;
        for (place, decided) in self.rows[first..].iter_mut().zip(times) {
            last = decided.or(last);
            place.decided = last;
        }
    }

    fn line(&self, place: &Place) -> Line<'_> {
        let text = &self.texts[usize::from(place.emulated)];
        Line::again(
            text.get(place.at..place.at + place.length as usize)
                .unwrap_or_default(),
        )
    }

    fn decided(
        &self,
        index: &RunIndex,
        positions: &Positions,
        place: &Place,
    ) -> Option<(i64, u64)> {
        match place.run {
            Some(run) => positions.get(&run).copied(),
            None => {
                let noted = index.summary_in_note(self.line(place).commit());
                let noted = noted.filter(|noted| noted.emulated() == place.emulated)?;
                Some((noted.decision.as_ref()?.decided.as_microsecond(), 0))
            }
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The experiments, oldest first, each made when it is asked for.
    pub fn experiments<'l>(
        &'l self,
        index: &'l RunIndex,
    ) -> impl DoubleEndedIterator<Item = Experiment> + 'l {
        self.rows.iter().filter_map(|place| {
            let row = self.line(place).row().ok()?;
            let summary = match place.run {
                Some(id) => index.summary(id),
                None => index
                    .summary_in_note(&row.commit)
                    .filter(|noted| noted.emulated() == place.emulated),
            };
            Some(Experiment::new(
                row,
                place.run,
                place.emulated,
                summary,
                index.kernel_names(),
            ))
        })
    }

    /// The rows as they stand in the ledgers, with their runs, oldest first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = (Row, Option<RunId>)> + '_ {
        self.rows
            .iter()
            .filter_map(|place| Some((self.line(place).row().ok()?, place.run)))
    }

    /// The commits of the rows that have neither a record nor a note here.
    pub fn without_record<'l>(&'l self, index: &'l RunIndex) -> impl Iterator<Item = &'l str> {
        let bare = self.rows.iter().filter(|place| place.run.is_none());
        bare.map(|place| self.line(place).commit())
            .filter(|commit| index.summary_in_note(commit).is_none())
    }
}

/// The commit that the row of a record names.
fn commit_of(summary: &RunSummary) -> Option<&str> {
    Some(&summary.decision.as_ref()?.row.as_ref()?.commit)
}

/// The decided runs of one ledger, to be joined with its rows.
struct Runs {
    /// By the hash of their rows, the newest first: a commit that was kept twice has two rows, and
    /// the record of the older may be gone.
    recorded: HashMap<u64, VecDeque<RunId>>,
    hashes: Vec<u64>,
}

impl Runs {
    fn of(index: &RunIndex, emulated: bool) -> Runs {
        let mut recorded: HashMap<u64, VecDeque<RunId>> = HashMap::new();
        for (run, hash) in index.rows(emulated) {
            recorded.entry(hash).or_default().push_back(run);
        }
        Runs {
            recorded,
            hashes: Vec::new(),
        }
    }

    /// Takes the next row of the ledger.
    fn push(&mut self, row: &Row) {
        if !self.recorded.is_empty() {
            self.hashes.push(RunIndex::hash_of(row));
        }
    }

    /// Gives each row its run, if its record is here. Returns the runs without a row, oldest first.
    fn join(mut self, rows: &mut [Place]) -> Vec<RunId> {
        for (hash, place) in self.hashes.iter().zip(rows).rev() {
            place.run = self.recorded.get_mut(hash).and_then(VecDeque::pop_front);
        }
        let mut gone: Vec<RunId> = self.recorded.into_values().flatten().collect();
        gone.sort_unstable();
        gone
    }
}
