//! The dialog with all cells of the outputs that a run got wrong.

use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{Overlay, WrongCells};
use crate::request::{CellsAsked, ViewRequest};
use lab_protocol::report::Report;
use lab_protocol::report::all_cells::{CellsRead, Seek};

/// Rows and columns that are shown before the first wrong cell.
const BEFORE: usize = 2;

impl WrongCells {
    fn asked(&self, seek: Option<Seek>) -> Option<CellsAsked> {
        let (tensor, shape) = self.tensors.get(self.at)?.clone();
        Some(CellsAsked {
            run: self.run,
            tensor,
            shape,
            cell: self.cell,
            seek,
        })
    }

    /// Moves by so many rows and columns, as far as the output goes. `page` are the rows and columns
    /// that are shown: a step by as many moves what is shown, too.
    fn step(&mut self, by: [isize; 2], page: [usize; 2]) {
        let Some((_, shape)) = self.tensors.get(self.at) else {
            return;
        };
        for axis in [0, 1] {
            let to = self.cell[axis].saturating_add_signed(by[axis]);
            self.cell[axis] = to.min(shape[axis].saturating_sub(1));
            if by[axis].unsigned_abs() == page[axis] {
                self.top[axis] = self.top[axis].saturating_add_signed(by[axis]);
            }
        }
        self.show_cell(page);
    }

    /// Shows a cell that was jumped to with a few rows and columns before it, unless it is shown.
    fn reveal(&mut self, page: [usize; 2]) {
        for axis in [0, 1] {
            let shown = self.top[axis]..self.top[axis] + page[axis];
            if !shown.contains(&self.cell[axis]) {
                self.top[axis] = self.cell[axis].saturating_sub(BEFORE);
            }
        }
        if page.iter().all(|page| *page > 0) {
            self.show_cell(page);
        }
    }

    /// Shows the rows and columns that are nearest to those that were shown and have the cell.
    fn show_cell(&mut self, page: [usize; 2]) {
        let Some((_, shape)) = self.tensors.get(self.at) else {
            return;
        };
        for axis in [0, 1] {
            let (cell, page) = (self.cell[axis], page[axis].max(1));
            let last = shape[axis].saturating_sub(page);
            let least = (cell + 1).saturating_sub(page);
            self.top[axis] = self.top[axis].clamp(least, cell).min(last);
        }
    }

    /// Goes to the first cell of the next output, or behind the last cell of the one before; false
    /// where there is none.
    fn step_output(&mut self, seek: Seek) -> bool {
        let next = match seek {
            Seek::Behind => self.at.checked_add(1),
            Seek::Before => self.at.checked_sub(1),
        };
        let next = next.filter(|next| *next < self.tensors.len());
        let Some(at) = next else { return false };
        self.at = at;
        self.cell = match seek {
            Seek::Behind => [0, 0],
            Seek::Before => [self.tensors[at].1[0], 0],
        };
        true
    }
}

impl Model {
    /// Opens the cells of the last run, at the first wrong one.
    pub(super) fn open_cells(&mut self) {
        let Some(last) = &self.runs.last else { return };
        let Some(shown) = first_wrong(&last.report) else {
            return;
        };
        let report = &last.report;
        let tensors = report.wrong_tensors().into_iter();
        let known = tensors.filter_map(|of| {
            let map = report.wrong_map(of)?;
            Some(((of.to_owned(), map.shape), map.workload))
        });
        let (tensors, workloads) = known.unzip();
        self.overlays.push(Overlay::Cells(WrongCells {
            run: last.start.id,
            workloads,
            tensors,
            at: 0,
            cell: shown.0,
            // With a few rows and columns before it.
            top: shown.0.map(|at| at.saturating_sub(BEFORE)),
            shown: (0, shown),
            problem: None,
        }));
        self.ask_cells(None);
    }

    /// A key that moves over the cells; false for another.
    pub(super) fn on_cells_key(&mut self, action: Action) -> bool {
        let Some(Overlay::Cells(cells)) = self.overlays.last_mut() else {
            return false;
        };
        let page = self.frame.geometry.cells.map(|page| page.max(1));
        let [rows, columns] = page.map(|page| page as isize);
        let all = isize::MAX;
        let by = match action {
            Action::Up => [-1, 0],
            Action::Down => [1, 0],
            Action::FocusPrevious => [0, -1],
            Action::FocusNext => [0, 1],
            Action::HalfUp => [-rows, 0],
            Action::HalfDown => [rows, 0],
            Action::ScrollLeft => [0, -columns],
            Action::ScrollRight => [0, columns],
            Action::Top => [-all, -all],
            Action::Bottom => [all, all],
            Action::NextMatch => {
                self.ask_cells(Some(Seek::Behind));
                return true;
            }
            Action::PreviousMatch => {
                self.ask_cells(Some(Seek::Before));
                return true;
            }
            _ => return false,
        };
        cells.step(by, page);
        self.ask_cells(None);
        true
    }

    fn ask_cells(&mut self, seek: Option<Seek>) {
        if let Some(Overlay::Cells(cells)) = self.overlays.last()
            && let Some(asked) = cells.asked(seek)
        {
            self.load(ViewRequest::Cells(asked));
        }
    }

    pub(super) fn on_cells(&mut self, asked: &CellsAsked, read: Result<Option<CellsRead>, String>) {
        let page = self.frame.geometry.cells;
        let is_open = |overlay: &&mut Overlay| match overlay {
            Overlay::Cells(cells) => cells.asked(asked.seek).as_ref() == Some(asked),
            _ => false,
        };
        let Some(Overlay::Cells(cells)) = self.overlays.last_mut().filter(is_open) else {
            return self.ignore();
        };
        match (read, asked.seek) {
            (Ok(Some(read)), _) => {
                cells.cell = read.0;
                cells.reveal(page);
                (cells.shown, cells.problem) = ((cells.at, read), None);
            }
            (Err(why), _) => {
                (cells.at, cells.cell) = (cells.shown.0, cells.shown.1.0);
                cells.problem = Some(why);
            }
            (Ok(None), Some(seek)) if cells.step_output(seek) => self.ask_cells(Some(seek)),
            (Ok(None), _) => cells.problem = Some("no further cell is wrong there".to_owned()),
        }
    }
}

/// The first wrong cell of a run's first wrong output, as its log shows it.
fn first_wrong(report: &Report) -> Option<CellsRead> {
    let tile = report.wrong_tile(report.wrong_tensors().first()?)?;
    let mut rows = tile.cells.iter().enumerate();
    let cell = rows.find_map(|(row, cells)| {
        let column = cells.iter().position(|cell| cell.is_wrong)?;
        Some([tile.at[0] + row, tile.at[1] + column])
    })?;
    Some((cell, tile))
}
