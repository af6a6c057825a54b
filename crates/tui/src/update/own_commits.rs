//! The commits of this kernel in the pane Git log: found in the background, page by page.

use crate::model::Model;
use crate::reply::OwnCommitsPage;
use crate::request::ViewRequest;
use lab_git::{LogEntry, Marks};
use std::collections::HashSet;

impl Model {
    /// Looks for the commits of this kernel, if HEAD or the kernel is another than at the last look.
    pub(super) fn load_own_commits(&mut self) {
        let Some(status) = self.repository.status.as_ref() else {
            return;
        };
        let wanted = Some((status.head.clone(), self.setup.kernel.clone()));
        if self.repository.log.asked_for == wanted {
            return;
        }
        self.repository.log.asked_for = wanted;
        self.repository.log.awaits_first = true;
        self.load(ViewRequest::OwnCommits);
    }

    pub(super) fn on_own_commits(&mut self, page: Result<OwnCommitsPage, String>) {
        let log = &mut self.repository.log;
        match page {
            // A page of an older walk.
            Ok(page) if log.awaits_first && !page.is_first => {}
            Ok(page) => {
                log.awaits_first = false;
                if page.is_first {
                    log.own.clear();
                }
                log.own.extend(page.entries);
                self.order_commits();
                if !page.is_last {
                    self.load(ViewRequest::MoreOwnCommits);
                }
            }
            Err(why) => self.fail(format!("git log: {why}")),
        }
    }

    /// Puts the commits of this kernel before the others.
    pub(super) fn order_commits(&mut self) {
        let repository = &mut self.repository;
        let marks = Marks::of(&repository.experiments);
        let log = &repository.log;
        let marked = |entry: &LogEntry| LogEntry {
            experiment: marks.get(&entry.id).cloned().map(Box::new),
            ..entry.clone()
        };
        let found: HashSet<&str> = log.own.iter().map(|entry| &*entry.id).collect();
        let setup = &self.setup;
        let is_own = |entry: &&LogEntry| {
            let experiment = entry.experiment.as_deref();
            let is_about = experiment.is_some_and(|experiment| setup.is_about(experiment));
            is_about || found.contains(&*entry.id)
        };
        let is_moved = log
            .newest
            .windows(2)
            .any(|two| !is_own(&&two[0]) && is_own(&&two[1]));
        let (own, others): (Vec<_>, Vec<_>) = log.newest.iter().partition(is_own);
        let near: HashSet<&str> = own.iter().map(|entry| &*entry.id).collect();
        let far = log.own.iter().filter(|entry| !near.contains(&*entry.id));
        let far: Vec<LogEntry> = far.map(marked).collect();
        let is_moved = is_moved || !(far.is_empty() || others.is_empty());
        let mut commits: Vec<LogEntry> = own.into_iter().cloned().collect();
        commits.extend(far);
        let count_of_own = commits.len();
        commits.extend(others.into_iter().cloned());
        repository.commits = commits;
        repository.log.count_of_own = count_of_own;
        repository.log.is_moved = is_moved;
    }
}
