//! `lab restore`: put an older kernel.cu on disk.

use super::{open, say};
use crate::session::decide;
use crate::session::repo::short;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct Options {
    /// A commit, as git names it, or the number of a discarded run
    commit: String,
    /// The kernel, or its folder
    #[arg(value_name = "KERNEL_OR_FOLDER")]
    kernel: Option<PathBuf>,
}

pub fn main(options: &Options) -> Result<ExitCode> {
    let project = open(options.kernel.as_deref())?;
    let restored = decide::restore(&project, &options.commit)?;
    let commit = format!("{} {}", short(&restored.commit), restored.subject);
    if restored.changed {
        say(&format!("{} is now that of {commit}", project.kernel_name));
    } else {
        say(&format!("{} is that of {commit} already", project.kernel_name));
    }
    if let Some(saved) = &restored.saved {
        let saved = short(saved);
        say(&format!("  the bytes that were on disk are kept as {saved} (`lab restore {saved}`)"));
    }
    Ok(ExitCode::SUCCESS)
}
