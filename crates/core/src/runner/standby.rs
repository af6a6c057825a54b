//! A judge started ahead of its run: while nobody saves it opens the device, precompiles headers
//! and gets the reference ready, so that a save waits for none of it. It judges once and is never
//! used again, like every judge.
//!
//! Its files are a copy in `.lab/standby/`, in which only the kernel is another when its run comes:
//! where any other file differs by then, or HEAD holds another incumbent, it is not used.

use crate::inputs::{self, Inputs};
use crate::project::Project;
use crate::repo::{self, HeldFile, Repo};
use crate::run::record::InputFile;
use crate::runner::process::{self, Control, Running};
use crate::runner::spec as order;
use crate::runner::spec::Order;
use anyhow::Result;
use std::fs;
use std::io::{self, PipeWriter, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A judge that heard its order says so at once, whatever it is busy with.
const PATIENCE: Duration = Duration::from_secs(2);

/// Dropping it ends it.
pub struct Standby {
    running: Running,
    orders: PipeWriter,
    /// The kernel's copy.
    kernel: PathBuf,
    /// What it was started for: the command, and every file but the kernel.
    command: String,
    files: Vec<InputFile>,
    /// Of the incumbent, as HEAD held it.
    incumbent: Vec<HeldFile>,
}

impl Standby {
    /// `None` for an external harness. The calling thread must live as long.
    pub fn start(project: &Project, order: &Order) -> Result<Option<Standby>> {
        if project.external() {
            return Ok(None);
        }
        let inputs = inputs::read(project)?;
        let repo = Repo::open(project)?;
        repo::exclude(&repo, project)?;
        let tree = tree(project);
        // Of a lab that was killed.
        for old in [&tree, &incumbent_tree(project)] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        inputs.write(project, &tree)?;
        // Where it cannot be had, the run has a judge of its own, which says why.
        let incumbent = order.incumbent_into(&repo, project, &incumbent_tree(project))?;
        let command = command(project, order);
        let told = in_words(&command);
        let (theirs, orders) = io::pipe()?;
        let running = process::start(command, theirs)?;
        let kernel = tree.join(&project.kernel_name);
        Ok(Some(Standby { running, orders, kernel, command: told, files: others(&inputs), incumbent }))
    }

    /// Whether it is there, and a run of these inputs would be what it was started for.
    pub fn fits(&mut self, project: &Project, order: &Order, inputs: &Inputs) -> bool {
        in_words(&command(project, order)) == self.command
            && others(inputs) == self.files
            && Repo::open(project)
                .and_then(|repo| order.incumbent_of(&repo, project))
                .is_ok_and(|held| held == self.incumbent)
            && self.running.lives()
    }

    /// Gives it the order to judge these inputs. `None` where it was started for anything else, is
    /// gone, or does not answer: then it is ended, and the run starts a judge of its own.
    pub fn take_over(
        mut self,
        project: &Project,
        order: &Order,
        inputs: &Inputs,
        control: &Control,
    ) -> Option<Running> {
        // One that spoke before it was asked is no judge on standby.
        if !self.fits(project, order, inputs) || self.running.unread() > 0 {
            return None;
        }
        fs::write(&self.kernel, inputs.kernel()).ok()?;
        self.orders.write_all(b"judge\n").ok()?;
        let heard = self.running.speaks(control, PATIENCE).ok()?;
        (heard || control.is_ended()).then_some(self.running)
    }
}

fn tree(project: &Project) -> PathBuf {
    project.lab_dir.join("standby")
}

fn incumbent_tree(project: &Project) -> PathBuf {
    project.lab_dir.join("incumbent")
}

fn command(project: &Project, order: &Order) -> Command {
    let judge = order.judge(project, &tree(project));
    let mut command = order::beside(judge, project, &incumbent_tree(project));
    command.arg("--standby");
    command
}

/// The kernel is the first.
fn others(inputs: &Inputs) -> Vec<InputFile> {
    inputs.files().split_off(1)
}

/// Program, arguments and folder.
fn in_words(command: &Command) -> String {
    format!("{command:?} {:?}", command.get_current_dir())
}
