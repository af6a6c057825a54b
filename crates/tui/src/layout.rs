//! What the screen saves between two sessions: of a kernel the view and the borders, of the user the
//! theme and the mouse.

use crate::views::View;
use crate::views::split::Shares;
use serde::{Deserialize, Serialize};

/// What the screen restores when it opens again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    pub view: View,
    /// The borders that the user moved.
    pub shares: Shares,
    /// Results shows the experiments of all problems.
    pub all_problems: bool,
}

/// What the user chose on the screen, for every kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserChoice {
    pub theme: Option<String>,
    /// `Some` where the user turned the mouse on or off.
    pub mouse: Option<bool>,
}
