//! The palette, the theme picker and the kernel picker: a line to type and a list below it. The
//! screen shows each theme while it is chosen.

use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{Overlay, PickList};
use crate::palette;
use crate::request::{RepositoryRequest, SettingsRequest};
use crate::theme::Theme;
use lab_core::history::kernels::ListedKernel;

impl Model {
    pub(super) fn open_themes(&mut self) {
        let before = self.appearance.theme.clone();
        self.overlays.push(Overlay::Themes {
            pick: PickList::default(),
            before,
        });
        self.emit(Effect::Settings(SettingsRequest::ListThemes))
    }

    pub(super) fn on_themes(&mut self, themes: Vec<(String, Theme)>) {
        self.appearance.themes = themes;
        // The list begins at the present theme.
        let themes = &self.appearance.themes;
        let present = themes
            .iter()
            .position(|(_, theme)| theme == self.theme_before());
        let chosen = self.appearance.chosen_theme.as_ref();
        let named = chosen.and_then(|name| themes.iter().position(|(n, _)| n == name));
        if let Some(Overlay::Themes { pick, .. }) = self.overlays.last_mut()
            && pick.input.value().is_empty()
        {
            pick.at = named.or(present).unwrap_or(0);
        }
        // The chosen theme may have changed: its file, or the number of colours.
        if let Some((_, theme)) = named.and_then(|at| self.appearance.themes.get(at)) {
            self.hold_theme(theme.clone());
        }
    }

    pub(super) fn open_kernels(&mut self) {
        self.overlays.push(Overlay::Kernels {
            pick: PickList::default(),
            kernels: None,
        });
        self.ask(RepositoryRequest::Kernels)
    }

    /// The list begins at the present kernel.
    pub(super) fn on_kernels(&mut self, found: Vec<ListedKernel>) {
        let here = found
            .iter()
            .position(|kernel| kernel.name == self.setup.kernel);
        for overlay in &mut self.overlays {
            if let Overlay::Kernels { pick, kernels } = overlay {
                if pick.input.value().is_empty() {
                    pick.at = here.unwrap_or(0);
                }
                *kernels = Some(found.clone());
            }
        }
    }

    /// The kernels that match what is typed, the best first.
    pub(crate) fn fitting_kernels<'k>(
        typed: &str,
        kernels: Option<&'k Vec<ListedKernel>>,
    ) -> Vec<&'k ListedKernel> {
        let all = kernels.map(Vec::as_slice).unwrap_or_default();
        let names = all.iter().map(|kernel| [kernel.name.as_str()]);
        palette::best(typed, names)
            .into_iter()
            .map(|at| &all[at])
            .collect()
    }

    fn picked_kernel(&self) -> Option<String> {
        let Some(Overlay::Kernels { pick, kernels }) = self.overlays.last() else {
            return None;
        };
        let fitting = Model::fitting_kernels(pick.input.value(), kernels.as_ref());
        fitting.get(pick.at).map(|kernel| kernel.name.clone())
    }

    /// Opens the screen on the chosen kernel. A decision is finished first.
    fn go_to_kernel(&mut self) {
        let Some(kernel) = self.picked_kernel() else {
            return;
        };
        self.overlays.pop();
        if kernel == self.setup.kernel {
            return;
        }
        if self.decision.in_progress.is_some() {
            self.warn("a decision is in progress: choose the kernel when it is done");
            return;
        }
        self.emit(Effect::OpenKernel(kernel))
    }

    /// Moves the choice by so many rows of the list.
    pub(super) fn step_pick(&mut self, by: isize) {
        let rows = match self.overlays.last() {
            Some(Overlay::Palette(pick)) if palette::number(pick.input.value()).is_some() => 1,
            Some(Overlay::Palette(pick)) => self.offers(pick.input.value()).len(),
            Some(Overlay::Themes { pick, .. }) => self.fitting_themes(pick.input.value()).len(),
            Some(Overlay::Kernels { pick, kernels }) => {
                Model::fitting_kernels(pick.input.value(), kernels.as_ref()).len()
            }
            _ => return,
        };
        if let Some(pick) = self.overlays.last_mut().and_then(Overlay::pick) {
            pick.at = pick
                .at
                .saturating_add_signed(by)
                .min(rows.saturating_sub(1));
        }
        self.preview();
    }

    /// The typed words changed the list: chooses its first row.
    pub(super) fn retype_pick(&mut self) {
        if let Some(pick) = self.overlays.last_mut().and_then(Overlay::pick) {
            pick.at = 0;
            self.preview();
        }
    }

    /// The theme that holds while others are previewed.
    pub(super) fn theme_before(&self) -> &Theme {
        let before = self.overlays.iter().find_map(|overlay| match overlay {
            Overlay::Themes { before, .. } => Some(before),
            _ => None,
        });
        before.unwrap_or(&self.appearance.theme)
    }

    /// Makes this theme hold. While the theme picker is open, Esc brings it back.
    pub(super) fn hold_theme(&mut self, theme: Theme) {
        for overlay in &mut self.overlays {
            if let Overlay::Themes { before, .. } = overlay {
                *before = theme.clone();
            }
        }
        self.appearance.theme = theme;
        self.preview();
    }

    /// Shows the theme at the choice.
    fn preview(&mut self) {
        if let Some((_, theme)) = self.picked_theme() {
            self.appearance.theme = theme;
        }
    }

    fn picked_theme(&self) -> Option<(String, Theme)> {
        let Some(Overlay::Themes { pick, .. }) = self.overlays.last() else {
            return None;
        };
        let at = self
            .fitting_themes(pick.input.value())
            .get(pick.at)
            .copied()?;
        self.appearance.themes.get(at).cloned()
    }

    /// Enter in a list.
    pub(super) fn accept_pick(&mut self) {
        match self.overlays.last() {
            Some(Overlay::Palette(pick))
                if let Some(number) = palette::number(pick.input.value()) =>
            {
                if self.numbered().is_err() {
                    return;
                }
                self.overlays.pop();
                self.go_to_number(number)
            }
            Some(Overlay::Palette(pick)) => {
                let offer = self.offers(pick.input.value()).into_iter().nth(pick.at);
                // The row of an action that cannot be used says why.
                let Some(offer) = offer.filter(|offer| offer.usable.is_ok()) else {
                    return;
                };
                self.overlays.pop();
                self.perform(offer.binding.action)
            }
            Some(Overlay::Themes { .. }) => {
                let Some((name, theme)) = self.picked_theme() else {
                    return;
                };
                self.overlays.pop();
                self.appearance.theme = theme;
                self.appearance.chosen_theme = Some(name);
            }
            Some(Overlay::Kernels { .. }) => self.go_to_kernel(),
            _ => {}
        }
    }

    /// The list was closed without a choice.
    pub(super) fn abandon_pick(&mut self, overlay: Overlay) {
        if let Overlay::Themes { before, .. } = overlay {
            self.appearance.theme = before;
        }
    }

    /// Performs a key of the line in the list below it.
    pub(super) fn on_pick_key(&mut self, action: Action) {
        match action {
            Action::PreviousChoice => self.step_pick(-1),
            Action::NextChoice => self.step_pick(1),
            _ => {}
        }
    }
}
