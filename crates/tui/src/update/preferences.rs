//! The user's settings, the saved layout, and notifications.

use crate::effect::Effect;
use crate::format;
use crate::layout::{Layout, UserChoice};
use crate::model::Model;
use crate::request::{Preferences, SettingsRequest};
use crate::settings::Notify;
use crate::state::{FinishedRun, Now, Setup};
use lab_run::RunId;
use lab_run::verdict::Outcome;
use std::time::Duration;

impl Model {
    /// Takes the settings of config.toml. A file with an error changes nothing.
    pub(super) fn on_preferences(&mut self, read: Result<Preferences, String>, asked: bool) {
        let preferences = match read {
            Ok(preferences) => preferences,
            Err(why) => {
                self.fail(format!("{why}; the settings are unchanged"));
                return;
            }
        };
        let is_new = preferences.settings != self.appearance.settings;
        if is_new || asked {
            self.inform(if is_new {
                "config.toml was read"
            } else {
                "config.toml has not changed"
            });
        }
        if !is_new {
            return;
        }
        // A changed setting replaces what was chosen on the screen. A theme that is only previewed
        // was not chosen.
        let appearance = &self.appearance;
        let (new, old) = (&preferences.settings, &appearance.settings);
        let has_other_colours = (&new.color, new.paint) != (&old.color, old.paint);
        let keeps_theme = appearance.chosen_theme.is_some() && new.theme == old.theme;
        let mouse = (new.mouse == old.mouse).then_some(appearance.mouse);
        let theme = if keeps_theme {
            appearance.held_theme.clone()
        } else {
            preferences.theme.clone()
        };
        if !keeps_theme {
            self.appearance.chosen_theme = None;
        }
        self.appearance.adopt(preferences);
        self.appearance.mouse = mouse.unwrap_or(self.appearance.mouse);
        self.hold_theme(theme);
        // The listed themes are needed again in the new number of colours.
        let lists = has_other_colours && (keeps_theme || !self.appearance.themes.is_empty());
        if lists {
            self.emit(Effect::Settings(SettingsRequest::ListThemes));
        }
    }

    pub(super) fn toggle_mouse(&mut self) {
        self.appearance.mouse = !self.appearance.mouse;
        self.panes.dragged = None;
        let word = if self.appearance.mouse {
            "on: hold Shift to select text"
        } else {
            "off: the terminal has it again"
        };
        self.inform(format!("the mouse is {word}"));
    }

    /// Saves the layout and what the user chose where they changed; the layout not while a border
    /// moves.
    pub(super) fn save_layout(&mut self) {
        let appearance = &mut self.appearance;
        let mouse = (appearance.mouse != appearance.usual_mouse).then_some(appearance.mouse);
        let choice = UserChoice {
            theme: appearance.chosen_theme.clone(),
            mouse,
        };
        if choice != appearance.saved_choice {
            appearance.saved_choice = choice.clone();
            let save = Effect::Settings(SettingsRequest::SaveChoice(choice));
            self.frame.effects.insert(0, save);
        }
        let appearance = &mut self.appearance;
        let layout = Layout {
            view: self.panes.view,
            shares: self.panes.shares.clone(),
            all_problems: self.panes.experiments.all_problems,
        };
        if layout == appearance.saved_layout || self.panes.dragged.is_some() {
            return;
        }
        appearance.saved_layout = layout.clone();
        let save = Effect::Settings(SettingsRequest::SaveLayout(Box::new(layout)));
        self.frame.effects.insert(0, save);
    }

    /// Notifies a user whose terminal does not have the focus that a long run has ended.
    pub(super) fn notify(&mut self, run: RunId, began: Now) {
        let settings = &self.appearance.settings;
        let is_long =
            self.now.saturating_sub(began) >= Duration::from_secs_f64(settings.notify_after_s);
        if self.appearance.focused || !is_long || settings.notify == Notify::Off {
            return;
        }
        // A check that was ended left no verdict: there is nothing to notify of.
        let ended = [&self.runs.last, &self.runs.check].into_iter().flatten();
        let Some(run) = ended.into_iter().find(|ended| ended.start.id == run) else {
            return;
        };
        let figure = figure_of(run, &self.setup);
        let number = if run.is_not_judged() {
            String::new()
        } else {
            format!("run {} ", run.start.id)
        };
        let text = format!(
            "{}: {number}{}{figure}",
            self.setup.name,
            run.verdict.word()
        );
        self.emit(Effect::Notify(settings.notify, text));
    }
}

/// ` 165,210 sps` of a run that passed, else nothing.
fn figure_of(run: &FinishedRun, setup: &Setup) -> String {
    let passed = run.verdict.outcome == Outcome::Pass;
    let Some(measure) = run.verdict.objective.filter(|_| passed) else {
        return String::new();
    };
    let emulated = if run.verdict.emulated {
        " emulated"
    } else {
        ""
    };
    format!(
        " {} {}{emulated}",
        format::count(measure.value),
        setup.objective.unit()
    )
}
