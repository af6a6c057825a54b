//! A line to type and a list below it: the palette, and the chooser of themes, which shows each while it is
//! looked at.

use super::super::effect::Effect;
use super::super::keymap::Action;
use super::super::overlay::{Overlay, Pick};
use super::super::palette;
use super::super::theme::Theme;
use super::App;

impl App {
    pub(super) fn open_themes(&mut self) -> Vec<Effect> {
        let before = self.theme.clone();
        self.overlays.push(Overlay::Themes { pick: Pick::default(), before });
        vec![Effect::ListThemes]
    }

    /// The names that fit what was typed, as places in [`App::themes`].
    pub fn fitting_themes(&self, typed: &str) -> Vec<usize> {
        palette::best(typed, self.themes.iter().map(|(name, _)| [name.as_str()]))
    }

    pub(super) fn on_themes(&mut self, themes: Vec<(String, Theme)>) -> Vec<Effect> {
        self.themes = themes;
        // The present one is where the choice begins.
        let here = self.themes.iter().position(|(_, theme)| theme == self.theme_before());
        let named = self.theme_name.as_ref().and_then(|name| self.themes.iter().position(|(n, _)| n == name));
        if let Some(Overlay::Themes { pick, .. }) = self.overlays.last_mut()
            && pick.input.value().is_empty()
        {
            pick.at = named.or(here).unwrap_or(0);
        }
        // It may be another by now: another file, or in as many colours as the config wants since.
        if let Some((_, theme)) = named.and_then(|at| self.themes.get(at)) {
            self.hold_theme(theme.clone());
        }
        Vec::new()
    }

    /// By so many rows; the rows of the list are counted by who shows it.
    pub(super) fn step_pick(&mut self, by: isize) {
        let rows = match self.overlays.last() {
            Some(Overlay::Palette(pick)) if palette::number(pick.input.value()).is_some() => 1,
            Some(Overlay::Palette(pick)) => palette::offers(self, pick.input.value()).len(),
            Some(Overlay::Themes { pick, .. }) => self.fitting_themes(pick.input.value()).len(),
            _ => return,
        };
        if let Some(pick) = self.overlays.last_mut().and_then(Overlay::pick) {
            pick.at = pick.at.saturating_add_signed(by).min(rows.saturating_sub(1));
        }
        self.preview();
    }

    /// What was typed changed the list: its best row is meant.
    pub(super) fn retype_pick(&mut self) {
        if let Some(pick) = self.overlays.last_mut().and_then(Overlay::pick) {
            pick.at = 0;
            self.preview();
        }
    }

    /// The theme that holds while others are looked at.
    pub(super) fn theme_before(&self) -> &Theme {
        let before = self.overlays.iter().find_map(|overlay| match overlay {
            Overlay::Themes { before, .. } => Some(before),
            _ => None,
        });
        before.unwrap_or(&self.theme)
    }

    /// This theme holds from now on: where the chooser is open, it is the one that Esc goes back to.
    pub(super) fn hold_theme(&mut self, theme: Theme) {
        for overlay in &mut self.overlays {
            if let Overlay::Themes { before, .. } = overlay {
                *before = theme.clone();
            }
        }
        self.theme = theme;
        self.preview();
    }

    /// Shows the theme that is looked at.
    fn preview(&mut self) {
        if let Some((_, theme)) = self.picked_theme() {
            self.theme = theme;
        }
    }

    fn picked_theme(&self) -> Option<(String, Theme)> {
        let Some(Overlay::Themes { pick, .. }) = self.overlays.last() else { return None };
        let at = self.fitting_themes(pick.input.value()).get(pick.at).copied()?;
        self.themes.get(at).cloned()
    }

    /// Enter in a list.
    pub(super) fn accept_pick(&mut self) -> Vec<Effect> {
        match self.overlays.last() {
            Some(Overlay::Palette(pick)) if let Some(number) = palette::number(pick.input.value()) => {
                if self.numbered().is_err() {
                    return Vec::new();
                }
                self.overlays.pop();
                self.go_to_number(number)
            }
            Some(Overlay::Palette(pick)) => {
                let offer = palette::offers(self, pick.input.value()).into_iter().nth(pick.at);
                // What cannot be used says so in its row.
                let Some(offer) = offer.filter(|offer| offer.usable.is_ok()) else { return Vec::new() };
                self.overlays.pop();
                self.perform(offer.binding.action)
            }
            Some(Overlay::Themes { .. }) => {
                let Some((name, theme)) = self.picked_theme() else { return Vec::new() };
                self.overlays.pop();
                self.theme = theme;
                self.theme_name = Some(name);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// A pick is closed without a choice.
    pub(super) fn abandon_pick(&mut self, overlay: Overlay) {
        if let Overlay::Themes { before, .. } = overlay {
            self.theme = before;
        }
    }

    /// The action that a key of a line asks for, in a list below it.
    pub(super) fn on_pick_key(&mut self, action: Action) {
        match action {
            Action::PreviousChoice => self.step_pick(-1),
            Action::NextChoice => self.step_pick(1),
            _ => {}
        }
    }
}
