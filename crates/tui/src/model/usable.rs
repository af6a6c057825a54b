//! Which actions can be used now, and the reasons why not. Hints, the palette and the keys ask
//! here, so that they agree.

use super::Model;
use super::rows::no_rows;
use crate::keymap::Action;
use crate::panes::source::SourceMode;
use crate::state::Running;
use crate::text::printable;
use crate::views::split::Border;
use crate::views::{Pane, View};
use lab_board::Source;
use lab_decide::policy::{Allowed, Candidate, NotAllowed, RunInProgress, Snapshot, allowed};
use lab_run::RunId;
use lab_run::experiment::ExperimentKey;
use lab_run::verdict::Outcome;
use ratatui::layout::Direction;

impl Model {
    /// Whether an action can be used now; the error is a reason short enough for a hint.
    pub fn usable(&self, action: Action) -> Result<(), String> {
        let is_external = self.setup.external.is_some();
        let is_deciding = self.decision.in_progress.is_some();
        if let Some(other) = self
            .runs
            .other_screen
            .as_ref()
            .filter(|_| action.binding().is_change)
        {
            return Err(format!(
                "{other} judges this kernel: use that one, or quit it and choose the kernel here ({})",
                self.way(Action::Kernels)
            ));
        }
        match action {
            Action::Keep | Action::Discard if self.awaited_run(action).is_some() => Ok(()),
            Action::Keep => self.allowed().keep.map(drop).map_err(in_brief),
            Action::Discard => self.can_discard(),
            Action::Rerun | Action::Measure | Action::Check | Action::Profile
                if matches!(self.runs.present, Some(Err(_))) =>
            {
                Err(format!("{} cannot be read", self.setup.file()))
            }
            Action::Check | Action::Profile if is_external => {
                Err("needs the built-in harness".to_owned())
            }
            Action::Check if self.setup.is_python() => {
                Err("watches CUDA C++: its tools cannot watch Python".to_owned())
            }
            Action::Profile if self.setup.is_python() => {
                Err("profiles CUDA C++: this kernel is Python".to_owned())
            }
            Action::Rerun | Action::Measure if is_deciding => {
                Err("a decision is in progress".to_owned())
            }
            Action::Check if self.runs.is_checking() => Err("a check is in progress".to_owned()),
            Action::Profile if self.profiles.running.is_some() => {
                Err("a profile is being made".to_owned())
            }
            // A check that is asked for during a run follows the run.
            Action::Check if !is_deciding => Ok(()),
            // The repository worker knows more about an undo, and says it.
            Action::Check | Action::Profile | Action::Undo => self.is_calm(),
            Action::Describe | Action::Annotate => self.can_describe().map(drop),
            Action::Cite => self.can_cite().map(drop),
            Action::Mark => self
                .shown()
                .map(drop)
                .ok_or_else(|| "no experiment yet".to_owned()),
            Action::Compare => self.pair().map(drop),
            Action::Restore => self.can_restore().map(drop),
            Action::ApplyPoint => self.can_apply().map(drop),
            Action::Stop
                if self.runs.is_idle()
                    && self.decision.held_out.is_none()
                    && self.profiles.running.is_none() =>
            {
                Err("no run in progress".to_owned())
            }
            Action::Context => match (self.panes.view, self.panes.source.mode) {
                (View::Bench | View::Device | View::Decisions | View::Sweep, _) => {
                    Err("no diff in this view".to_owned())
                }
                (View::Source, SourceMode::File) => Err(format!(
                    "the whole file is shown: {} shows the changes",
                    self.way(Action::TurnSource)
                )),
                (View::Source | View::Results | View::Git | View::Loop, _) => Ok(()),
            },
            Action::WrongCells if !self.runs.is_idle() => Err("a run is in progress".to_owned()),
            Action::WrongCells => self.has_cells(),
            Action::NextPair if self.repository.sweep_pairs() < 2 => {
                Err("no sweep of three constants or more".to_owned())
            }
            Action::SortWorkloads | Action::ReverseWorkloads
                if !self.panes.shows(Pane::Workloads) =>
            {
                Err("no run with several workloads".to_owned())
            }
            Action::NextMatch | Action::PreviousMatch if self.searched().is_none() => {
                Err(format!("search first, with {}", self.way(Action::Search)))
            }
            Action::Search => self.can_search(),
            Action::PauseLoop | Action::EndTurn | Action::EndLoop => self.can_ask_loop(action),
            Action::Copy => self.to_copy().map(drop),
            Action::CopyAll => self.all_to_copy().map(drop),
            Action::Export => self.to_export().map(drop),
            Action::BorderLeft | Action::BorderRight | Action::BorderUp | Action::BorderDown => {
                self.can_move_border(action)
            }
            Action::ResetBorders if self.panes.shares.is_empty() => {
                Err("no border was moved".to_owned())
            }
            Action::NextDevice if self.repository.devices(&self.setup).is_empty() => {
                Err("no experiment names its device".to_owned())
            }
            Action::AllProblems if self.panes.experiments.table.of_others == 0 => {
                Err("there are experiments of this problem only".to_owned())
            }
            // These are always possible, or report themselves what they did not find.
            _ => Ok(()),
        }
    }

    /// Why a keep is refused, with the files and the command that mends it. `None` where the few
    /// words of the hint tell all.
    pub fn why_no_keep(&self) -> Option<String> {
        let why = self.allowed().keep.err()?;
        let names_files = matches!(
            why,
            NotAllowed::Rules { .. }
                | NotAllowed::OutsideInclude(_)
                | NotAllowed::UncommittedInclude { .. }
        );
        names_files.then(|| printable(&why.to_string()))
    }

    /// Whether the last run's log holds the cells of an output that is wrong.
    fn has_cells(&self) -> Result<(), String> {
        let last = self.runs.last.as_ref().ok_or("no run yet")?;
        if !last.report.wrong_tensors().is_empty() {
            return Ok(());
        }
        let why = match last.verdict.outcome {
            Outcome::Fail if self.setup.external.is_some() => {
                "the harness printed no cells of the output that is wrong (NAME_wrong_map)"
            }
            Outcome::Fail => "the run's log holds no cells of the output that is wrong",
            Outcome::Pass => "the last run got no output wrong",
            _ => "the last run compared no output",
        };
        Err(why.to_owned())
    }

    /// Why a discard is refused, with what to do. `None` where the few words of the hint tell all.
    pub fn why_no_discard(&self) -> Option<String> {
        self.is_calm().ok()?;
        self.decision_run()?;
        let why = self.allowed().discard.err()?;
        Some(printable(&why.to_string()))
    }

    fn can_discard(&self) -> Result<(), String> {
        self.is_calm()?;
        self.decision_run().ok_or("needs a verdict")?;
        self.allowed().discard.map(drop).map_err(in_brief)
    }

    /// Neither a run nor a decision of this screen is in progress.
    pub fn is_calm(&self) -> Result<(), String> {
        self.snapshot().idle().map_err(in_brief)
    }

    /// What the rules of [`lab_decide::policy`] allow now.
    pub fn allowed(&self) -> Allowed {
        allowed(&self.snapshot())
    }

    /// The run that a decision of the user's would be about.
    pub fn decision_run(&self) -> Option<RunId> {
        let last = self.runs.last.as_ref()?;
        if !last.is_not_judged() {
            return Some(last.start.id);
        }
        Some(self.repository.snapshot()?.candidate.as_ref()?.id)
    }

    /// The run that a keep or a discard would wait for: the run in progress, or the last one while
    /// it is checked.
    pub fn awaited_run(&self, action: Action) -> Option<RunId> {
        let live = self.runs.live()?;
        if self.decision.in_progress.is_some() || self.loops.running {
            return None;
        }
        let snapshot = Snapshot {
            running: None,
            ..self.snapshot()
        };
        let (once_idle, is_check) = (allowed(&snapshot), live.start.is_check());
        let is_possible = match action {
            Action::Keep => !is_check || once_idle.keep.is_ok(),
            _ => once_idle.discard.is_ok(),
        };
        let run = if is_check {
            self.decision_run()
        } else {
            Some(live.start.id)
        };
        run.filter(|_| is_possible)
    }

    /// What the rules look at: the last look at the repository, and what the screen knows better.
    fn snapshot(&self) -> Snapshot {
        let empty = || Snapshot {
            kernel: self.setup.kernel.clone(),
            argument: String::new(),
            external: self.setup.external.is_some(),
            incumbent: None,
            present: Err(format!("{} was not read yet", self.setup.kernel)),
            obstacle: None,
            candidate: None,
            running: None,
            deciding: false,
            last_decision: None,
            kept: Vec::new(),
            damaged: None,
        };
        let mut snapshot = self.repository.snapshot().cloned().unwrap_or_else(empty);
        if let Some(present) = &self.runs.present {
            snapshot.set_present(present.clone());
        }
        // A look after the run's end knows more than the end itself: what the held-out check came
        // to. A look before the end knows no verdict.
        let looked_at = snapshot.candidate.take();
        snapshot.candidate = self.runs.last.as_ref().and_then(|last| {
            // What was not judged is no run that could be decided.
            if last.is_not_judged() {
                return looked_at;
            }
            let candidate =
                looked_at.filter(|run| run.id == last.start.id && run.outcome.is_some());
            let candidate = candidate.unwrap_or_else(|| Candidate::from(&*last.record));
            Some(Candidate {
                decided: last.decided,
                ..candidate
            })
        });
        snapshot.running = match &self.runs.running {
            Running::No => None,
            Running::Asked(..) => Some(RunInProgress::Starting),
            Running::Live(live) => Some(RunInProgress::Started(live.start.id)),
        };
        snapshot.deciding = self.decision.in_progress.is_some();
        snapshot
    }

    /// The two experiments to compare, the older first; or what the user has to do first.
    pub fn pair(&self) -> Result<[ExperimentKey; 2], String> {
        let mut keys = self.panes.experiments.table.marked.clone();
        keys.extend(
            self.shown_key()
                .filter(|key| keys.len() == 1 && !keys.contains(key)),
        );
        let place = |key: &ExperimentKey| self.repository.place_of(key);
        keys.sort_by_key(place);
        let key = self.appearance.keymap.key(Action::Mark);
        keys.try_into().map_err(|_| format!("mark two with {key}"))
    }

    /// The commit whose kernel a restore would put on disk.
    pub fn can_restore(&self) -> Result<String, String> {
        let experiment = self.shown().ok_or("no experiment yet")?;
        let commit = &experiment.row.commit;
        if !self.setup.is_about(experiment) {
            return Err(format!(
                "it is about another kernel: `lab restore {commit}` in a shell"
            ));
        }
        self.is_calm()?;
        Ok(commit.clone())
    }

    /// The selected point of the sweep, as a number and in words.
    pub fn can_apply(&self) -> Result<(u32, String), String> {
        let view = self.repository.sweep.as_ref().ok_or("no sweep yet")?;
        let points = self.repository.points();
        let point = points.get(self.panes.points.row(&points));
        let point = point.ok_or("no point was measured yet")?;
        if !point.outcome.is_correct() {
            let (number, word) = (point.number, point.outcome.word());
            return Err(format!("select a correct point; {number}: {word}"));
        }
        self.is_calm()?;
        Ok((point.number, view.sweep.start.in_words(point)))
    }

    /// The record that this view shows and that can be evidence of a decision; `None` stands for the
    /// newest bench, which the screen does not read.
    pub fn can_cite(&self) -> Result<Option<Source>, String> {
        let source = match self.panes.view {
            View::Decisions if self.repository.board.is_some() && !self.repository.has_bench => {
                return Err("no bench yet: `lab bench` makes one".to_owned());
            }
            View::Decisions => return Ok(None),
            View::Device => {
                let (run, _) = self.profiles.shown().ok_or("no profile is shown")?;
                Source::Profile(*run)
            }
            View::Sweep => {
                let sweep = self.repository.sweep.as_ref().ok_or("no sweep yet")?;
                Source::Sweep(sweep.sweep.start.sweep)
            }
            View::Results => {
                let experiment = self.shown().ok_or("no experiment yet")?;
                let run = experiment.run.filter(|_| !experiment.foreign);
                Source::Run(run.ok_or("evidence is made of your own records")?)
            }
            _ => return Err("choose a record in Results, Device, Sweep or Decisions".to_owned()),
        };
        Ok(Some(source))
    }

    /// The commit of the experiment that can be described, and its present description.
    pub fn can_describe(&self) -> Result<(String, String), String> {
        let experiment = self.shown().ok_or("no experiment yet")?;
        let row = &experiment.row;
        let newest = self
            .repository
            .experiments
            .iter()
            .rev()
            .find(|e| e.row.commit == row.commit);
        if newest.is_some_and(|newest| !newest.is(&experiment.key())) {
            return Err(format!(
                "a newer row names {} too: describe that one",
                row.commit
            ));
        }
        self.is_calm()?;
        Ok((row.commit.clone(), row.description.clone()))
    }

    /// The pane in which the next match is looked for.
    pub fn searched(&self) -> Option<Pane> {
        let is_searched = |pane: &Pane| !self.panes.needle(*pane).is_empty();
        let log = || Some(Pane::Log).filter(|log| self.panes.shows(*log));
        Some(self.text_pane())
            .filter(is_searched)
            .or_else(|| log().filter(is_searched))
    }

    /// Every frame asks this, so panes whose rows must be laid out to be counted are not counted.
    pub fn can_search(&self) -> Result<(), String> {
        let pane = self.text_pane();
        let is_counted = pane.is_list() || matches!(pane, Pane::Log | Pane::Source);
        if is_counted && self.rows(pane).count == 0 {
            Err(no_rows(pane))
        } else {
            Ok(())
        }
    }

    /// The border beside the focused pane that moves in this direction.
    pub fn border(&self, direction: Direction) -> Option<Border> {
        let area = self.frame.geometry.area_of(self.panes.focus())?;
        let mut borders = self.frame.geometry.borders.iter();
        borders
            .find(|b| b.direction == direction && b.touches(area))
            .copied()
    }

    fn can_move_border(&self, action: Action) -> Result<(), String> {
        let (direction, place) = match action {
            Action::BorderLeft | Action::BorderRight => (Direction::Horizontal, "left or right of"),
            _ => (Direction::Vertical, "above or below"),
        };
        self.border(direction)
            .map(drop)
            .ok_or_else(|| format!("no border {place} this pane"))
    }
}

/// The reason in a few words.
fn in_brief(why: NotAllowed) -> String {
    why.hint()
}
