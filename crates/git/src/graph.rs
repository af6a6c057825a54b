//! The commits of all branches, newest first, page by page, for a graph.
//!
//! A commit comes after its children. To know all children, one would have to walk the whole
//! history first, which takes seconds for a million commits. So the walk looks ahead only at
//! commits that are nearly as new ([`SLACK`]). If the clocks of two authors differed by more, a
//! parent may come before one of its children, and the graph draws its line too late.

use super::history::refs_matching;
use super::log::{LogEntry, Marks, entry};
use super::{Repo, bounds, head_commit, head_ref};
use anyhow::Result;
use git2::Oid;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Seconds by which a child's time may be older than its parent's without being shown after it.
const SLACK: i64 = 3600;

/// Commits that the walk looks at ahead at most: an imported history may have one time for all of
/// them.
const AHEAD: usize = 5_000;

/// What a label names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelKind {
    /// HEAD itself, if it is detached.
    Head,
    Branch,
    /// The branch that HEAD is on.
    Current,
    Remote,
    Tag,
}

/// A short name of a commit: `main`, `origin/main`, `v1`. The bytes are git's, not cleaned for a
/// screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub kind: LabelKind,
    pub name: String,
}

/// One commit of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphEntry {
    pub commit: LogEntry,
    /// Full ids, the first parent first.
    pub parents: Vec<String>,
    pub labels: Vec<Label>,
}

/// A walk over HEAD, branches, remote branches and tags. Its memory grows by 20 bytes with each
/// commit shown, not with the history.
pub struct Graph {
    repo: Repo,
    labels: HashMap<Oid, Vec<Label>>,
    /// Commits that are known, but neither looked at nor shown.
    ahead: BinaryHeap<(i64, Oid)>,
    known: HashMap<Oid, Node>,
    /// Commits whose known children are all shown.
    ready: BinaryHeap<(i64, std::cmp::Reverse<usize>, Oid)>,
    shown: HashSet<Oid>,
    order: usize,
}

struct Node {
    parents: Vec<Oid>,
    time: i64,
    /// Children that were looked at and are not shown yet.
    children: usize,
    is_looked_at: bool,
}

impl Graph {
    /// Begins a walk at the newest commits. It has a handle of its own, which it opens anew for
    /// each page.
    pub fn open(repo: &Repo) -> Result<Graph> {
        let repo = repo.anew()?;
        let labels = labels(&repo)?;
        let mut graph = Graph {
            labels: HashMap::new(),
            ahead: BinaryHeap::new(),
            known: HashMap::new(),
            ready: BinaryHeap::new(),
            shown: HashSet::new(),
            order: 0,
            repo,
        };
        for tip in labels.keys() {
            graph.meet(*tip);
        }
        let mut tips: Vec<(i64, Oid)> = graph
            .known
            .iter()
            .map(|(id, node)| (node.time, *id))
            .collect();
        tips.sort_unstable_by(|a, b| b.cmp(a));
        for (time, tip) in tips {
            graph.is_ready(time, tip);
        }
        graph.labels = labels;
        Ok(graph)
    }

    /// The next commits, at most `limit`; none at the end of the history.
    pub fn page(&mut self, marks: &Marks, limit: usize) -> Result<Vec<GraphEntry>> {
        // A handle remembers every commit that it read, up to 256 MB, and the walk reads none
        // twice.
        self.repo = self.repo.anew()?;
        let mut entries = Vec::new();
        while entries.len() < limit
            && let Some(id) = self.next()?
        {
            let commit = bounds::commit(&self.repo.git, id)?;
            entries.push(GraphEntry {
                parents: commit.parent_ids().map(|p| p.to_string()).collect(),
                labels: self.labels.get(&id).cloned().unwrap_or_default(),
                commit: entry(&commit, marks),
            });
        }
        Ok(entries)
    }

    fn next(&mut self) -> Result<Option<Oid>> {
        while let Some((time, _, id)) = self.ready.pop() {
            if self.shown.contains(&id) {
                continue;
            }
            self.look_ahead(time.saturating_sub(SLACK))?;
            if self.known.get(&id).is_none_or(|node| node.children > 0) {
                // A child was found: the commit is ready again once that child is shown.
                continue;
            }
            self.look_at(id)?;
            self.shown.insert(id);
            let Some(node) = self.known.remove(&id) else {
                continue;
            };
            for parent in node.parents {
                let Some(of) = self.known.get_mut(&parent) else {
                    continue;
                };
                of.children = of.children.saturating_sub(1);
                if of.children == 0 {
                    let time = of.time;
                    self.is_ready(time, parent);
                }
            }
            return Ok(Some(id));
        }
        Ok(None)
    }

    fn is_ready(&mut self, time: i64, id: Oid) {
        self.order += 1;
        self.ready.push((time, std::cmp::Reverse(self.order), id));
    }

    fn look_ahead(&mut self, until: i64) -> Result<()> {
        while self.known.len() < AHEAD
            && let Some((time, id)) = self.ahead.peek().copied()
            && time >= until
        {
            self.ahead.pop();
            self.look_at(id)?;
        }
        Ok(())
    }

    /// Counts this commit among the children of its parents.
    fn look_at(&mut self, id: Oid) -> Result<()> {
        let Some(node) = self.known.get_mut(&id).filter(|node| !node.is_looked_at) else {
            return Ok(());
        };
        node.is_looked_at = true;
        for parent in node.parents.clone() {
            self.meet(parent);
            if let Some(of) = self.known.get_mut(&parent) {
                of.children += 1;
            }
        }
        Ok(())
    }

    /// Adds a commit to the known ones. A shallow clone may lack it, or its file is cut off:
    /// then it is left out.
    fn meet(&mut self, id: Oid) {
        if self.known.contains_key(&id) || self.shown.contains(&id) {
            return;
        }
        let Ok(commit) = bounds::commit(&self.repo.git, id) else {
            return;
        };
        let time = commit.time().seconds();
        let parents = commit.parent_ids().collect();
        self.known.insert(
            id,
            Node {
                parents,
                time,
                children: 0,
                is_looked_at: false,
            },
        );
        self.ahead.push((time, id));
    }
}

/// The names of HEAD, branches and tags, by the commits that they point to.
fn labels(repo: &Repo) -> Result<HashMap<Oid, Vec<Label>>> {
    let git = &repo.git;
    let mut labels: HashMap<Oid, Vec<Label>> = HashMap::new();
    let mut add = |id: Oid, kind: LabelKind, name: &str| {
        labels.entry(id).or_default().push(Label {
            kind,
            name: name.to_owned(),
        });
    };
    let current = head_ref(repo)?;
    if let Some(head) = head_commit(git)?.filter(|_| current == "HEAD") {
        add(head.id(), LabelKind::Head, "HEAD");
    }
    let rooms = [
        ("refs/heads/", LabelKind::Branch),
        ("refs/remotes/", LabelKind::Remote),
        ("refs/tags/", LabelKind::Tag),
    ];
    for (prefix, kind) in rooms {
        for (name, reference) in refs_matching(git, &format!("{prefix}*"))? {
            // A symbolic ref like `origin/HEAD` names a branch that is listed anyway.
            if reference.kind() == Some(git2::ReferenceType::Symbolic) {
                continue;
            }
            let Ok(commit) = bounds::commit_at(git, &reference) else {
                continue;
            };
            let kind = if current == name {
                LabelKind::Current
            } else {
                kind
            };
            add(
                commit.id(),
                kind,
                name.strip_prefix(prefix).unwrap_or(&name),
            );
        }
    }
    labels
        .values_mut()
        .for_each(|names| names.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name))));
    Ok(labels)
}

/// The column of one commit in the graph, and the lines beside it. Columns count from 0 at the
/// left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub column: usize,
    /// A line comes from above: a child was shown.
    pub has_child: bool,
    /// Columns of further lines that come from above and end here: children on side branches.
    pub joins: Vec<usize>,
    /// Columns of the lines that leave downwards, one for each parent; the first parent's is the
    /// commit's own column.
    pub parents: Vec<usize>,
    /// Columns of lines that run past.
    pub passing: Vec<usize>,
}

/// Gives each commit its column, in the order in which the commits are shown.
#[derive(Clone, Debug, Default)]
pub struct Lanes(Vec<Option<String>>);

impl Lanes {
    /// The place of the next commit; `parents` are full ids, the first parent first.
    pub fn place(&mut self, id: &str, parents: &[String]) -> Place {
        let waiting = |lanes: &[Option<String>], id: &str| -> Vec<usize> {
            let here =
                |(at, lane): (usize, &Option<String>)| (lane.as_deref() == Some(id)).then_some(at);
            lanes.iter().enumerate().filter_map(here).collect()
        };
        let mine = waiting(&self.0, id);
        let column = mine.first().copied().unwrap_or_else(|| self.free());
        for &at in &mine {
            self.0[at] = None;
        }
        let passing = (0..self.0.len())
            .filter(|&at| self.0[at].is_some())
            .collect();
        let mut columns = Vec::new();
        for (nth, parent) in parents.iter().enumerate() {
            let known = waiting(&self.0, parent)
                .first()
                .copied()
                .filter(|_| nth > 0);
            let at = known.unwrap_or_else(|| if nth == 0 { column } else { self.free() });
            self.0[at] = Some(parent.clone());
            columns.push(at);
        }
        while self.0.last().is_some_and(Option::is_none) {
            self.0.pop();
        }
        let joins = mine.iter().copied().filter(|&at| at != column).collect();
        Place {
            column,
            has_child: !mine.is_empty(),
            joins,
            parents: columns,
            passing,
        }
    }

    /// The leftmost column without a line.
    fn free(&mut self) -> usize {
        match self.0.iter().position(Option::is_none) {
            Some(at) => at,
            None => {
                self.0.push(None);
                self.0.len() - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id: parents` a line; the places as `column joins>parents|passing`.
    fn places(commits: &str) -> Vec<String> {
        let mut lanes = Lanes::default();
        let place = |line: &str| {
            let (id, parents) = line.split_once(':').expect("id: parents");
            let parents: Vec<String> = parents.split_whitespace().map(str::to_owned).collect();
            let p = lanes.place(id, &parents);
            let text = |columns: &[usize]| columns.iter().map(usize::to_string).collect::<String>();
            format!(
                "{} {}>{}|{}",
                p.column,
                text(&p.joins),
                text(&p.parents),
                text(&p.passing)
            )
        };
        commits.split("; ").map(place).collect()
    }

    #[test]
    fn a_line_stays_in_its_column_and_a_merge_opens_one() {
        assert_eq!(places("c: b; b: a; a:"), ["0 >0|", "0 >0|", "0 >|"]);
        // m merges s into b; both grew from a.
        assert_eq!(
            places("m: b s; s: a; b: a; a:"),
            ["0 >01|", "1 >1|0", "0 >0|1", "0 1>|"]
        );
        // Two branches that meet at a.
        assert_eq!(
            places("x: a; y: a; a: r; r:"),
            ["0 >0|", "1 >1|0", "0 1>0|", "0 >|"]
        );
        // A column that is free again is taken by the next that needs one.
        assert_eq!(
            places("m: b s; s: b; n: b; b:"),
            ["0 >01|", "1 >1|0", "2 >2|01", "0 12>|"]
        );
    }
}
