//! The palette, the theme picker and the kernel picker: a line to type and a list below it. The
//! screen shows each theme while it is chosen.

use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{Overlay, PickFrom, PickList};
use crate::palette::PickRows;
use crate::request::{RepositoryRequest, ViewRequest};
use crate::theme::Theme;
use lab_history::kernels::ListedKernel;
use ratatui::crossterm::event::KeyEvent;

impl Model {
    pub(super) fn open_pick(&mut self, of: PickFrom) {
        let pick = PickList::default();
        self.overlays.push(Overlay::Pick { pick, of });
    }

    /// The list begins at the present theme. A theme that was chosen before is shown as it is now.
    pub(super) fn on_themes(&mut self, themes: Vec<(String, Theme)>) {
        let chosen = self.appearance.chosen_theme.as_ref();
        let named = chosen.and_then(|name| themes.iter().position(|(n, _)| n == name));
        let held = &self.appearance.held_theme;
        let present = themes.iter().position(|(_, theme)| theme == held);
        if let Some(Overlay::Pick {
            pick,
            of: PickFrom::Themes,
        }) = self.overlays.last_mut()
            && pick.input.value().is_empty()
        {
            pick.at = named.or(present).unwrap_or(0);
        }
        let theme = named.map(|at| themes[at].1.clone());
        self.appearance.themes = themes;
        if let Some(theme) = theme {
            self.hold_theme(theme);
        }
        self.press_held();
    }

    pub(super) fn open_kernels(&mut self) {
        self.open_pick(PickFrom::Kernels(None));
        self.load(ViewRequest::Kernels);
    }

    /// The list begins at the kernel of this screen.
    pub(super) fn on_kernels(&mut self, found: Vec<ListedKernel>) {
        let is_here = |kernel: &ListedKernel| kernel.name == self.setup.kernel;
        let here = found.iter().position(is_here);
        for overlay in &mut self.overlays {
            if let Overlay::Pick {
                pick,
                of: PickFrom::Kernels(kernels),
            } = overlay
            {
                if pick.input.value().is_empty() {
                    pick.at = here.unwrap_or(0);
                }
                *kernels = Some(found.clone());
            }
        }
        self.press_held();
    }

    /// Holds a key that chooses or accepts a row of a list that is still read, and those behind it;
    /// false where the key acts now.
    pub(super) fn holds(&mut self, action: Option<Action>, key: KeyEvent) -> bool {
        let has_themes = !self.appearance.themes.is_empty();
        let Some(Overlay::Pick { pick, of }) = self.overlays.last_mut() else {
            return false;
        };
        let is_read = match of {
            PickFrom::Actions | PickFrom::Evidence(_) => true,
            PickFrom::Themes => has_themes,
            PickFrom::Kernels(found) => found.is_some(),
        };
        let waits = match action {
            Some(Action::Abandon) => false,
            Some(Action::Accept | Action::PreviousChoice | Action::NextChoice) => true,
            _ => !pick.held.is_empty(),
        };
        let holds = waits && !is_read;
        pick.held.extend(holds.then_some(key));
        holds
    }

    /// The list is there: the keys that were held act.
    fn press_held(&mut self) {
        let pick = self.overlays.last_mut().and_then(Overlay::pick);
        let held = pick.map(|pick| std::mem::take(&mut pick.held));
        held.into_iter().flatten().for_each(|key| self.on_key(key));
    }

    /// The list on top, and the selected row.
    fn picked(&self) -> Option<(PickRows<'_>, usize)> {
        match self.overlays.last() {
            Some(Overlay::Pick { pick, of }) => {
                Some((self.pick_rows(pick.input.value(), of), pick.at))
            }
            _ => None,
        }
    }

    fn go_to_kernel(&mut self, kernel: String) {
        self.overlays.pop();
        // The screen that judges this kernel may be closed by now: then this one takes its place.
        if kernel == self.setup.kernel && self.runs.other_screen.is_none() {
            return self.stay_here();
        }
        match self.decision.in_progress {
            Some(_) => self.refuse(
                Action::Kernels,
                "a decision is in progress: choose the kernel when it is done".to_owned(),
            ),
            None => {
                self.frame.typed = Some(Vec::new());
                self.emit(Effect::OpenKernel(kernel));
            }
        }
    }

    /// Whether the list of kernels is open.
    pub(super) fn chooses_kernel(&self) -> bool {
        let is_list = |overlay: &Overlay| {
            matches!(
                overlay,
                Overlay::Pick {
                    of: PickFrom::Kernels(_),
                    ..
                }
            )
        };
        self.overlays.iter().any(is_list)
    }

    /// The list of kernels was closed, and the screen's kernel stays: it is judged now, if the screen
    /// opened with the list.
    pub(super) fn stay_here(&mut self) {
        if self.runs.wait_for_choice {
            self.ask(RepositoryRequest::Look);
        }
    }

    /// Moves the selection of a list by `by` rows.
    pub(super) fn step_pick(&mut self, by: isize) {
        let Some((rows, at)) = self.picked() else {
            return;
        };
        let last = rows.count().saturating_sub(1);
        let at = at.saturating_add_signed(by).min(last);
        if let Some(pick) = self.overlays.last_mut().and_then(Overlay::pick) {
            pick.at = at;
        }
        self.preview();
    }

    /// The typed text of a list has changed: its best row is selected.
    pub(super) fn retype_pick(&mut self) {
        if let Some(pick) = self.overlays.last_mut().and_then(Overlay::pick) {
            pick.at = 0;
            self.preview();
        }
    }

    /// Sets the theme, below the preview of a picker if one is open.
    pub(super) fn hold_theme(&mut self, theme: Theme) {
        self.appearance.hold(theme);
        self.preview();
    }

    /// Shows the selected theme of a picker.
    fn preview(&mut self) {
        let picked = match self.picked() {
            Some((PickRows::Themes(themes), at)) => themes.get(at).map(|(_, theme)| theme.clone()),
            _ => None,
        };
        if let Some(theme) = picked {
            self.appearance.theme = theme;
        }
    }

    pub(super) fn accept_pick(&mut self) {
        match self.picked() {
            Some((PickRows::Line { number, target }, _)) if target.is_ok() => {
                self.overlays.pop();
                self.go_to_number(number);
            }
            Some((PickRows::Actions(offers), at)) => {
                let usable = offers.get(at).filter(|offer| offer.usable.is_ok());
                if let Some(action) = usable.map(|offer| offer.binding.action) {
                    self.overlays.pop();
                    self.perform(action);
                }
            }
            Some((PickRows::Themes(themes), at)) => {
                if let Some((name, theme)) = themes.get(at).copied().cloned() {
                    self.overlays.pop();
                    self.appearance.hold(theme);
                    self.appearance.chosen_theme = Some(name);
                }
            }
            Some((PickRows::Kernels(kernels), at)) => {
                if let Some(kernel) = kernels.get(at).map(|kernel| kernel.name.clone()) {
                    self.go_to_kernel(kernel);
                }
            }
            Some((PickRows::Evidence(records), at)) => {
                if let Some((id, _)) = records.get(at).copied().cloned() {
                    self.overlays.pop();
                    self.open_record_of(&id);
                }
            }
            _ => {}
        }
    }
}
