//! The layout of the screen that is saved between two sessions of a project: the view, the borders,
//! the theme, the mouse.

use crate::views::View;
use crate::views::split::Shares;
use serde::{Deserialize, Serialize};

/// What the screen restores when it opens again.
///
/// ```
/// use lab_tui::layout::Layout;
/// use lab_tui::views::View;
///
/// let layout = Layout { view: View::Git, ..Layout::default() };
/// let text = layout.to_json().unwrap();
/// assert_eq!(Layout::parse(&text), Ok(layout));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    pub view: View,
    /// The borders that the user moved.
    pub shares: Shares,
    /// The theme that the user chose on the screen.
    pub theme: Option<String>,
    /// `Some` where the user turned the mouse on or off on the screen.
    pub mouse: Option<bool>,
    /// Results shows the experiments of all problems.
    pub all_problems: bool,
}

impl Layout {
    /// Parses the JSON text of a layout. Unknown keys are ignored: a later version may have written
    /// them. The error says what is damaged.
    pub fn parse(text: &str) -> Result<Layout, String> {
        serde_json::from_str(text).map_err(|error| format!("it is damaged ({error})"))
    }

    /// The layout as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_ignored_and_damage_is_reported() {
        assert_eq!(
            Layout::parse(r#"{"view":"git","depth":3}"#).map(|l| l.view),
            Ok(View::Git)
        );
        for damage in [
            "",
            "{",
            "[1]",
            r#"{"view":"attic"}"#,
            r#"{"shares":{"git":-1}}"#,
        ] {
            let error = Layout::parse(damage).expect_err("it is damaged");
            assert!(error.contains("damaged"), "{error}");
        }
    }
}
