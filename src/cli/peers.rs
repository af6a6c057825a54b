//! `lab peers`: lists the problem's peers with their last figures, and adds the first one.

use super::peer_lines::NOT_COMPARED;
use super::table::table;
use super::{JsonArg, KernelArg, failed, problem_file, say, say_below, told};
use anyhow::Result;
use clap::{Args, Subcommand};
use lab_decide::status;
use lab_git::Repo;
use lab_history::last_peers::{self, LastPeers};
use lab_project::Project;
use lab_protocol::Exit;
use lab_protocol::report::is_emulated;
use lab_run::inputs::{self, PeerTable};
use lab_run::peers::PeerFigure;
use lab_runner::new_peer::{self, NewPeer};
use lab_store::RunIndex;
use lab_text::age;
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct PeersArgs {
    #[command(subcommand)]
    command: Option<PeersCommand>,
    #[command(flatten)]
    kernel: KernelArg,
    #[command(flatten)]
    json: JsonArg,
}

#[derive(Subcommand, Debug)]
enum PeersCommand {
    /// Add the first peer to problem.toml: peer.py with the function of reference.py, or else
    /// reference.cu
    New(NewPeerArgs),
}

#[derive(Args, Debug)]
struct NewPeerArgs {
    #[command(flatten)]
    kernel: KernelArg,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab peers` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct PeersAnswer<'a> {
    /// The kernel.
    kernel: &'a str,
    /// The figures are the incumbent's, because the peers were not timed beside the present bytes.
    of_incumbent: bool,
    /// The device of the figures; null without any.
    device: Option<String>,
    /// In the order of problem.toml.
    peers: Vec<ListedPeer>,
}

/// A peer of problem.toml, with its last figure.
#[derive(JsonSchema, Serialize)]
struct ListedPeer {
    /// Relative to the folder of problem.toml.
    file: String,
    /// Null of a kernel.cu.
    function: Option<String>,
    #[serde(flatten)]
    figure: PeerFigure,
    #[serde(skip)]
    is_timed: bool,
}

/// What `lab peers new` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct NewPeerAnswer {
    #[serde(flatten)]
    added: NewPeer,
    /// How the rules differ from those in HEAD.
    changed: Vec<String>,
}

pub fn main(options: &PeersArgs) -> Result<ExitCode> {
    match &options.command {
        Some(PeersCommand::New(options)) => add(options),
        None => list(options),
    }
}

fn list(options: &PeersArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    if let Some(why) = problem_file::mistake(&project) {
        return Ok(failed(&why, Exit::Usage));
    }
    let listed = look(&project)?;
    Ok(told(&listed, || listed.tell(&project.argument)))
}

/// The peers of the kernel with their last figures.
pub fn look(project: &Project) -> Result<PeersAnswer<'_>> {
    let inputs = inputs::read(project)?;
    let tables = inputs.peer_tables();
    let index = RunIndex::open(project);
    let status = status::look(&Repo::open(project)?, &index)?;
    // A figure of the present bytes; else why there is none; else the incumbent's figure.
    let of_present = |known: &LastPeers| known.fingerprint == inputs.fingerprint;
    let tried = match status.peers.as_ref().filter(|known| of_present(known)) {
        Some(_) => None,
        None => {
            let judged = status.judged.as_ref().or(status.last.as_ref());
            let device = judged.and_then(|record| record.device.as_deref());
            last_peers::tried(project, &index, &inputs.fingerprint, device)
        }
    };
    let known = tried.as_ref().or(status.peers.as_ref());
    let of_incumbent = known.is_some_and(|known| !of_present(known));
    let listed = |table: PeerTable| {
        let mut figures = known.iter().flat_map(|known| &known.peers);
        let figure = figures.find(|figure| figure.name == table.name).cloned();
        ListedPeer {
            is_timed: figure.is_some(),
            figure: figure.unwrap_or_else(|| PeerFigure::untimed(table.name)),
            file: table.file,
            function: table.function,
        }
    };
    Ok(PeersAnswer {
        kernel: &project.kernel_name,
        of_incumbent,
        device: known.and_then(|known| known.device.clone()),
        peers: tables.into_iter().map(listed).collect(),
    })
}

impl PeersAnswer<'_> {
    /// A line for each peer.
    pub fn lines(&self) -> Vec<String> {
        let line = |peer: &ListedPeer| format!("{}: {}", peer.figure.name, self.in_words(peer));
        self.peers.iter().map(line).collect()
    }

    fn in_words(&self, peer: &ListedPeer) -> String {
        let whose = if self.of_incumbent {
            "the incumbent: "
        } else {
            ""
        };
        let is_emulated = self.device.as_deref().is_some_and(is_emulated);
        peer.in_words(whose, is_emulated)
    }

    fn tell(&self, this: &str) {
        let kernel = self.kernel;
        if self.peers.is_empty() {
            return say(&format!(
                "{kernel} has no peers: `lab peers new{this}` adds the first"
            ));
        }
        say(&format!("peers of {kernel}"));
        let rows = self
            .peers
            .iter()
            .map(|peer| [peer.figure.name.clone(), peer.source(), self.in_words(peer)]);
        say_below(table(&rows.collect::<Vec<_>>()));
        say(&format!(
            "`lab bench --verdict{this}` times the kernel beside them"
        ));
    }
}

impl ListedPeer {
    /// `peer.py: rms_norm`, or the path of a kernel.cu.
    fn source(&self) -> String {
        match &self.function {
            Some(function) => format!("{}: {function}", self.file),
            None => self.file.clone(),
        }
    }

    fn in_words(&self, whose: &str, is_emulated: bool) -> String {
        let PeerFigure {
            ratio,
            part,
            measured,
            failure,
            ..
        } = &self.figure;
        if !self.is_timed {
            return "not timed yet".to_owned();
        }
        let age = measured.map(|then| format!(", {}", age::since(then, lab_run::now())));
        let of_part = |text: String| part.map_or(text.clone(), |part| format!("{text}, {part}"));
        let text = match (ratio, failure) {
            (Some(ratio), _) => of_part(ratio.to_string()),
            (None, Some(why)) => format!("not compared: {why}"),
            (None, None) if is_emulated => of_part(NOT_COMPARED.to_owned()),
            (None, None) => "not compared".to_owned(),
        };
        format!("{whose}{text}{}", age.unwrap_or_default())
    }
}

fn add(options: &NewPeerArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    if let Some(why) = problem_file::mistake(&project) {
        return Ok(failed(&why, Exit::Usage));
    }
    let new = NewPeerAnswer {
        added: new_peer::add(&project)?,
        changed: changed_rules(&project),
    };
    Ok(told(&new, || {
        let NewPeer {
            name,
            problem,
            function,
            written,
        } = &new.added;
        let what = match (function, written) {
            (Some(function), Some(written)) => format!("the function {function} of {written}"),
            _ => "reference.cu".to_owned(),
        };
        say(&format!("added the peer {name} to {problem}: {what}"));
        let this = &project.argument;
        if !new.changed.is_empty() {
            say(&format!(
                "  problem.toml and the files of peers are rules: `lab rules{this} -m TEXT` commits them before the next keep"
            ));
        }
        say(&format!(
            "next: `lab bench --verdict{this}` times the kernel beside it. `lab help peers` shows how to write others"
        ));
    }))
}

/// How the rules differ from those in HEAD. Empty where git cannot say: the commands that need it
/// say why.
fn changed_rules(project: &Project) -> Vec<String> {
    let rules = lab_decide::read_rules(project).unwrap_or_default();
    rules.changed.iter().map(ToString::to_string).collect()
}
