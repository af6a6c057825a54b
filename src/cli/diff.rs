//! `lab diff`: two experiments beside one another, as the view Compare shows them.

use super::json::run::{ComparisonReport, RunReport};
use super::shown::Paper;
use super::verdict::Judged;
use super::{JsonArg, any, told};
use anyhow::{Result, bail};
use clap::Args;
use itertools::Itertools;
use jiff::tz::TimeZone;
use lab_history::details::{self, Compared, ComparedProfiles};
use lab_history::profile::compare::Moved;
use lab_history::{Session, names};
use lab_project::Project;
use lab_protocol::report::Measure;
use lab_run::record::Record;
use lab_tui::diff::DiffView;
use lab_tui::panes::experiment::code_view;
use lab_tui::panes::experiment::comparison::{self, Sides};
use lab_tui::state::Setup;
use lab_tui::widgets::Document;
use lab_tui::widgets::document::{Section, Sheet};
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The first: the number of a run, or a commit as git names it
    #[arg(value_name = "A")]
    first: String,
    /// The second
    #[arg(value_name = "B")]
    second: String,
    /// Only the machine code of their profiles
    #[arg(long, conflicts_with = "profile")]
    sass: bool,
    /// Only what moved from one profile to the other
    #[arg(long)]
    profile: bool,
    #[command(flatten)]
    json: JsonArg,
}

pub fn main(options: &DiffArgs) -> Result<ExitCode> {
    let any = any()?;
    let both = Pair::read(&any, [&options.first, &options.second])?;
    if options.profile || options.sass {
        both.has_profiles()?;
    }
    Ok(told(both.answer(), || both.tell(options)))
}

/// Unchanged lines around each change.
const AROUND: u32 = 3;

/// Two experiments that are compared.
pub struct Pair {
    project: Project,
    session: Session,
    compared: Compared,
}

impl Pair {
    /// Reads two experiments by their names: the number of a run, or a commit.
    pub fn read(any: &Project, both: [&str; 2]) -> Result<Pair> {
        let session = Session::open(any)?;
        let named = |name| names::experiment(&session, name);
        let keys = [named(both[0])?, named(both[1])?];
        let compared = details::compare(any, keys, AROUND);
        let kernel = compared.records.iter().flatten().next();
        let kernel = kernel.map(|record| any.root.join(&record.start.kernel));
        let project = match kernel {
            Some(kernel) => Project::open(&any.root, Some(&kernel))?,
            None => any.clone(),
        };
        Ok(Pair {
            project,
            session,
            compared,
        })
    }

    /// How the second compares with the first.
    pub fn report(&self) -> DiffReport<'_> {
        let config = &self.project.config;
        let [first, second] = self.compared.keys.each_ref().map(ToString::to_string);
        let ratio = self.compared.ratio();
        let words = match &ratio {
            Ok(change) => {
                let words = change.in_words(&config.objective, config.goal);
                let words = [Some(words), self.compared.caution()];
                words.into_iter().flatten().join(", ")
            }
            Err(why) => format!("no ratio: {why}"),
        };
        let (profile, sass) = match &self.compared.profiles {
            ComparedProfiles::Moved { moved, code, .. } => {
                let row = |it: &Moved| [&it.what, &it.before, &it.after].map(Clone::clone);
                (moved.iter().map(row).collect(), code.as_deref().ok())
            }
            _ => (Vec::new(), None),
        };
        DiffReport {
            words: format!("{second} against {first}: {words}"),
            first,
            second,
            ratio: ComparisonReport::of(ratio.as_ref().ok(), None, config).ratio,
            common_workloads: self.compared.common_workloads(),
            not_compared: ratio.err(),
            profile,
            sass,
            diff: self.compared.diff.as_deref().ok(),
        }
    }

    /// The error says which profile is missing.
    fn has_profiles(&self) -> Result<()> {
        let [first, second] = &self.compared.keys;
        match &self.compared.profiles {
            ComparedProfiles::Moved { .. } => Ok(()),
            ComparedProfiles::Not(why) => {
                bail!("{why}: `lab profile` makes one of the present bytes")
            }
            ComparedProfiles::Neither => {
                bail!(
                    "{first} and {second} have no profile: `lab profile` makes one of the present bytes"
                )
            }
        }
    }

    fn answer(&self) -> DiffAnswer<'_> {
        let records = self.compared.records.each_ref();
        let run = |record: &Option<Record>| {
            let judged = Judged::of(&self.project, None, &self.session.index, record.as_ref()?)?;
            Some(RunReport::of(&judged))
        };
        DiffAnswer {
            compared: self.report(),
            runs: records.map(run),
        }
    }

    fn tell(&self, options: &DiffArgs) {
        let (paper, both) = (Paper::stdout(), &self.compared);
        let experiments = &self.session.history.experiments;
        let find = |key| experiments.iter().find(|e| e.is(key));
        let sides = Sides {
            experiments: both.keys.each_ref().map(find),
            setup: &Setup::of(&self.project),
            zone: &TimeZone::system(),
            columns: paper.columns,
        };
        let kernel = DiffView::of_text(both.diff.as_deref().unwrap_or_default());
        let code = code_view(both);
        let sections: Vec<Section> = match (options.profile, options.sass) {
            (false, false) => comparison::sections(both, [&kernel, &code], "", sides),
            (profile, _) => {
                let [moved, changed] = comparison::profile(both, &code, sides);
                vec![if profile { moved } else { changed }]
            }
        };
        let text = Document::new(sections);
        // A line of source is not cut.
        let sheet = Sheet {
            left: 0,
            columns: usize::from(u16::MAX),
            needle: "",
        };
        let lines = text.lines(0..text.rows(), sheet);
        lines.iter().for_each(|line| paper.say(line));
    }
}

/// How the second of two experiments compares with the first.
#[derive(JsonSchema, Serialize)]
pub struct DiffReport<'a> {
    #[serde(skip)]
    pub words: String,
    /// As it is called on the screen.
    first: String,
    second: String,
    /// Above 1 the second is better. `None`: `not_compared` says why.
    ratio: Option<Measure>,
    /// `None` if they were compared.
    not_compared: Option<String>,
    /// How many workloads the ratio is about, if the two did not judge the same ones.
    common_workloads: Option<usize>,
    /// What moved from one profile to the other: the figure, before, after.
    profile: Vec<[String; 3]>,
    /// The change of the machine code, if both profiles hold it.
    sass: Option<&'a str>,
    /// From the first kernel to the second.
    pub diff: Option<&'a str>,
}

/// What `lab diff` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct DiffAnswer<'a> {
    #[serde(flatten)]
    compared: DiffReport<'a>,
    /// Both runs; null where the record is not here.
    runs: [Option<RunReport>; 2],
}
