//! What `update` wants done. It does none of it itself: the executor carries effects out and
//! answers by events.

use super::editor::Spot;
use super::layout::Layout;
use super::reader::Wish;
use super::source::Which;
use crate::session::message::Message;
use crate::session::run::{Reason, RunId};
use crate::settings::Notify;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Judge the present bytes; a run that goes on is ended.
    StartRun(Reason),
    /// End the run that goes on.
    KillRun,
    Keep {
        run: RunId,
        message: Message,
    },
    /// End the check that goes on before a keep; nothing is kept.
    StopKeep,
    Discard {
        run: RunId,
        message: Message,
        confirmed: bool,
    },
    /// Say what undoing the last decision would do.
    AskUndo,
    /// Take the decision about this run back, as long as it is the last.
    Undo(RunId),
    /// Another description for the experiment of a commit.
    Describe {
        commit: String,
        description: String,
    },
    /// Put the kernel of this commit on disk.
    Restore(String),
    /// Look at disk and git anew.
    Refresh,
    /// Read the log of a run that this screen did not see.
    LoadLog(RunId),
    /// Read the state of this GPU from now on, or of none.
    LookAt(Option<String>),
    /// Find out how this source is coloured.
    Colour(Which, Arc<str>),
    /// Read for a view.
    Read(Wish),
    /// lab.toml changed: open the project anew.
    ReopenProject,
    /// Trust the harness command of lab.toml as it now is.
    Trust,
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
