//! The log of HEAD, the messages of commits, and kernels and their changes as text.

use super::history::{first_parent, first_parents};
use crate::{Project, Repo, bounds, file_in, filters, find, head_commit, renames, text_diff};
use anyhow::Result;
use jiff::Timestamp;
use lab_run::experiment::Experiment;
use lab_run::message::{self, Message, Trailer, TrailerKey};
use lab_text::sanitise;
use std::collections::HashMap;
use std::path::Path;

/// One commit of HEAD's history.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    pub id: String,
    /// Clean text, as the author.
    pub subject: String,
    pub author: String,
    pub time: Timestamp,
    /// The experiment that this commit holds; the newest if there are several.
    pub experiment: Option<Box<Experiment>>,
}

/// The experiments by the commits that hold them.
pub struct Marks<'e>(HashMap<&'e str, Vec<&'e Experiment>>);

/// A row names its commit by at least this many digits.
const DIGITS: usize = 4;

impl<'e> Marks<'e> {
    /// Finds experiments by their commits. `experiments` stand oldest first.
    pub fn of(experiments: &'e [Experiment]) -> Self {
        let mut marks: HashMap<&str, Vec<&Experiment>> = HashMap::new();
        for experiment in experiments.iter().rev() {
            if let Some(digits) = experiment.row.commit.get(..DIGITS) {
                marks.entry(digits).or_default().push(experiment);
            }
        }
        Marks(marks)
    }

    /// The newest experiment that this commit holds; `id` is a full one.
    pub fn get(&self, id: &str) -> Option<&'e Experiment> {
        let near = self.0.get(id.get(..DIGITS)?)?;
        near.iter().find(|e| id.starts_with(&e.row.commit)).copied()
    }
}

/// A page of HEAD's history along first parents, newest first, at most `limit` commits. `after` is
/// the full id of the last commit of the page before. The time grows with the page, not with the
/// history.
pub fn log_page(
    repo: &Repo,
    marks: &Marks,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<LogEntry>> {
    let git = &repo.git;
    let first = match after {
        Some(id) => first_parent(git, &find(git, id)?),
        None => head_commit(git)?,
    };
    let commits = first.into_iter();
    let commits = commits
        .flat_map(|first| first_parents(git, first))
        .take(limit);
    Ok(commits.map(|commit| entry(&commit, marks)).collect())
}

pub fn entry(commit: &git2::Commit, marks: &Marks) -> LogEntry {
    let id = commit.id().to_string();
    LogEntry {
        subject: subject(commit),
        author: clean(commit.author().name_bytes()),
        time: Timestamp::from_second(commit.time().seconds()).unwrap_or_default(),
        experiment: marks.get(&id).cloned().map(Box::new),
        id,
    }
}

pub fn subject(commit: &git2::Commit) -> String {
    clean(commit.summary_bytes().unwrap_or_default())
}

/// Text of git's, clean for a screen.
pub fn clean(text: &[u8]) -> String {
    sanitise::text(&String::from_utf8_lossy(text))
}

/// The trailers under the message of a commit.
pub fn trailers_of(repo: &Repo, commit: &str) -> Result<Vec<Trailer>> {
    let commit = find(&repo.git, commit)?;
    Ok(trailers(&String::from_utf8_lossy(commit.message_bytes())))
}

/// The kernel of a commit as text; bytes that are no UTF-8 are replaced.
pub fn show(repo: &Repo, commit: &str) -> Result<String> {
    let commit = find(&repo.git, commit)?;
    let name = renames::name_in(repo, &commit);
    let bytes = filters::on_disk(repo, &commit, &name)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The change of the kernel by a commit, against its first parent, as a unified diff with `around`
/// unchanged lines around each change.
pub fn change(repo: &Repo, commit: &str, around: u32) -> Result<String> {
    let new = find(&repo.git, commit)?;
    let old = first_parent(&repo.git, &new);
    let before = old.map(|old| kernel_in(repo, &old)).transpose()?.flatten();
    let after = kernel_in(repo, &new)?;
    unified(&repo.project, before.as_ref(), after.as_ref(), around)
}

/// The kernel that a commit holds, under the name that it had there.
fn kernel_in<'r>(repo: &'r Repo, commit: &git2::Commit) -> Result<Option<git2::Blob<'r>>> {
    let name = renames::name_in(repo, commit);
    let held = file_in(&repo.git, commit, &name)?;
    held.map(|(id, _)| bounds::blob(&repo.git, id)).transpose()
}

/// The hunks from one blob to another; a missing blob counts as empty.
fn unified(
    project: &Project,
    old: Option<&git2::Blob>,
    new: Option<&git2::Blob>,
    around: u32,
) -> Result<String> {
    let path = Some(Path::new(&project.kernel_name));
    let mut options = text_diff::options(around);
    let (old, new) = (
        old.map_or(&[][..], git2::Blob::content),
        new.map_or(&[][..], git2::Blob::content),
    );
    Ok(text_diff::between([old, new], path, &mut options, usize::MAX)?.text)
}

/// The trailers of a commit's message, clean, in their order.
pub fn trailers(message: &str) -> Vec<Trailer> {
    // git takes a NUL for the end of the text.
    let Ok(found) = git2::message_trailers_strs(&message.replace('\0', "")) else {
        return Vec::new();
    };
    let owned = found
        .iter()
        .map(|(key, value)| (TrailerKey::from(key.to_owned()), message::clean(value)));
    owned.filter(|(_, value)| !value.is_empty()).collect()
}

/// Subject and trailers of any commit's message. The body is left out.
///
/// ```
/// use lab_run::message::{Message, TrailerKey};
/// use lab_git::parse_message;
///
/// let message = Message::new("fast", [(TrailerKey::Constraint, "48 kB\nof shared memory".into())]);
/// assert_eq!(parse_message(&message.render()), message);
/// ```
pub fn parse_message(text: &str) -> Message {
    let subject = text.trim_start().split("\n\n").next().unwrap_or_default();
    Message::new(subject, trailers(text))
}

/// The message that a person typed, with these trailers too. Trailers at the end of the text are
/// trailers; everything before them is the subject.
///
/// ```
/// let message = lab_git::typed_message("two\nrows\n\nSigned-off-by: Ann", []);
/// assert_eq!(message.render(), "two rows\n\nSigned-off-by: Ann\n");
/// ```
pub fn typed_message(text: &str, more: impl IntoIterator<Item = Trailer>) -> Message {
    let own = trailers(text);
    let subject = match text.trim_end().rsplit_once("\n\n") {
        Some((subject, _)) if !own.is_empty() => subject,
        _ => text,
    };
    let more = more.into_iter().filter(|trailer| !own.contains(trailer));
    let more: Vec<Trailer> = more.collect();
    Message::new(subject, own.into_iter().chain(more))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_body_of_somebody_elses_message_is_no_trailer() {
        // Of their own making they may say what they like.
        let own = parse_message("fast\n\nConfidence: quite\n");
        assert_eq!(own.trailers(), [(TrailerKey::Confidence, "quite".into())]);
        let text = "fast\n\nNote: this is prose, and\nso is this\n\nConfidence: low\n";
        assert_eq!(
            parse_message(text),
            Message::new("fast", [(TrailerKey::Confidence, "low".into())])
        );
        assert!(trailers("Constraint: a subject").is_empty());
    }

    fn keys() -> impl Strategy<Value = TrailerKey> {
        prop_oneof![
            prop::sample::select(TrailerKey::KNOWN.to_vec()),
            "[A-Za-z][A-Za-z0-9-]{0,12}".prop_map(TrailerKey::from)
        ]
    }

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[-#: a-z\n\t.]{0,40}",
            "(---|#|cherry|Conflicts:|\n){0,3}[a-z: \n]{0,20}"
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// git2 finds exactly these trailers in what was rendered, and nothing is lost by reading
        /// and writing.
        #[test]
        fn what_is_rendered_is_read_back(subject in texts(), given in prop::collection::vec((keys(), texts()), 0..5)) {
            let message = Message::new(&subject, given);
            prop_assume!(!message.subject().is_empty());
            let text = message.render();
            let found: Vec<String> =
                git2::message_trailers_strs(&text).unwrap().iter().map(|(key, _)| key.to_owned()).collect();
            let wanted: Vec<String> = message.trailers().iter().map(|(key, _)| key.to_string()).collect();
            prop_assert_eq!(found, wanted, "{}", text);
            prop_assert_eq!(parse_message(&text), message.clone(), "{}", text);
            prop_assert_eq!(parse_message(&text).render(), text);
        }
    }
}
