//! The user's settings, and what was chosen on the screen instead of them: theme, keys, mouse.

use crate::chart::SymbolSet;
use crate::keymap::Keymap;
use crate::layout::{Layout, UserChoice};
use crate::request::{Modes, Preferences};
use crate::settings::{Notify, Settings};
use crate::theme::Theme;
use jiff::tz::TimeZone;

#[derive(Debug)]
pub struct ScreenSettings {
    /// The theme that is shown: the held one, or the selected one of the theme picker.
    pub theme: Theme,
    /// The theme without the preview of the theme picker.
    pub held_theme: Theme,
    /// What charts are drawn with.
    pub symbols: SymbolSet,
    /// Times are shown in this zone.
    pub zone: TimeZone,
    pub settings: Settings,
    pub keymap: Keymap,
    /// The screen hears the mouse.
    pub mouse: bool,
    /// The terminal has the focus, as far as it reports.
    pub focused: bool,
    /// Every theme by name, once the theme picker asked for them.
    pub themes: Vec<(String, Theme)>,
    /// The theme that was chosen on the screen.
    pub chosen_theme: Option<String>,
    /// What config.toml and the terminal say of the mouse.
    pub usual_mouse: bool,
    /// The layout as it was last saved.
    pub saved_layout: Layout,
    /// What the user chose, as it was last saved.
    pub saved_choice: UserChoice,
}

impl ScreenSettings {
    pub fn new(theme: Theme, zone: TimeZone) -> Self {
        ScreenSettings {
            held_theme: theme.clone(),
            theme,
            symbols: SymbolSet::default(),
            zone,
            settings: Settings::default(),
            keymap: Keymap::built_in(),
            mouse: false,
            focused: true,
            themes: Vec::new(),
            chosen_theme: None,
            usual_mouse: false,
            saved_layout: Layout::default(),
            saved_choice: UserChoice::default(),
        }
    }

    /// Takes the settings over.
    pub fn adopt(&mut self, preferences: Preferences) {
        let Preferences {
            settings,
            theme,
            symbols,
            mouse,
        } = preferences;
        self.keymap = settings.keymap.clone();
        (self.mouse, self.usual_mouse) = (mouse, mouse);
        self.hold(theme);
        self.symbols = symbols;
        self.settings = settings;
    }

    pub fn hold(&mut self, theme: Theme) {
        self.held_theme = theme.clone();
        self.theme = theme;
    }

    /// What the terminal is to report besides keys.
    pub fn modes(&self) -> Modes {
        Modes {
            mouse: self.mouse,
            focus: self.settings.notify != Notify::Off,
        }
    }
}
