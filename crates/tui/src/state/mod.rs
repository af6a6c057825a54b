//! What the screen knows, in groups: each group is one struct with its methods in one file, and
//! knows nothing of panes, keys or effects. [`crate::model::Model`] holds one of each.

pub mod decision;
pub mod device;
pub mod loops;
pub mod peers;
pub mod profiles;
pub mod repository;
pub mod runs;
pub mod screen_data;
pub mod screen_settings;
pub mod selection;
pub mod setup;

pub use decision::{DecisionState, ExpectedBytes, HeldKeys, HeldOutCheck};
pub use device::DeviceHistory;
pub use loops::LoopState;
pub use profiles::Profiles;
pub use repository::{Comparable, Repository};
pub use runs::{FinishedRun, LiveRun, Running, Runs};
pub use screen_data::ScreenData;
pub use screen_settings::ScreenSettings;
pub use selection::Selection;
pub use setup::Setup;

use std::time::Duration;

/// Time since the screen was opened. Every event carries it; `update` reads no clock.
pub type Now = Duration;
