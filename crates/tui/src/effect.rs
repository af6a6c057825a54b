//! What `update` wants done. It does none of it itself: the executor carries effects out and
//! answers by events.

use super::layout::Layout;
use super::source::Which;
use crate::request::Request;
use crate::request::Spot;
use crate::request::ViewRequest as Wish;
use crate::settings::Notify;
use lab_core::inputs::Inputs;
use lab_core::run::Reason;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Judge these inputs, or the files on disk where nobody read them yet; a run that goes on is ended.
    StartRun(Reason, Option<Arc<Inputs>>),
    /// End the run that goes on.
    KillRun,
    /// Ask the desk for something: a decision above all.
    Ask(Request),
    /// End the check that goes on before a keep; nothing is kept.
    StopKeep,
    /// Look at disk and git anew.
    Refresh,
    /// Read the state of this GPU from now on, or of none.
    LookAt(Option<String>),
    /// Find out how this source is coloured.
    Colour(Which, Arc<str>),
    /// Read for a view.
    Read(Wish),
    /// Open kernel.cu in the user's editor, where a place in it is known there.
    OpenEditor(Option<Spot>),
    /// Put this text on the clipboard of the user's terminal.
    Copy(String),
    /// Tell the user, who looks elsewhere.
    Call(Notify, String),
    /// Write the layout down.
    Remember(Box<Layout>),
    /// Read config.toml anew.
    ReloadConfig,
    /// Look which themes there are.
    ListThemes,
    /// Give the terminal to the shell until SIGCONT.
    Suspend,
    /// Draw everything anew.
    Repaint,
    Quit,
}
