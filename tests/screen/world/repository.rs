//! The made-up repository: the data for the reader, whole experiments, commits, and the kernel's
//! text.

use super::made::{commit, hex, long_diff, noon};
use super::{KERNEL, SOURCE, World};
use lab_git::{ChangeKind, CommitDetails, FileChange, GraphEntry, Label, LabelKind, text_diff};
use lab_history::details::{self, Compared, ExperimentDetails};
use lab_history::kernels::{LastRun, ListedKernel};
use lab_project::objective::Objective;
use lab_protocol::report::PeerRatio;
use lab_protocol::report::all_cells::AllCells;
use lab_run::common_workloads::{self, CommonWorkloads};
use lab_run::message;
use lab_run::peers::PeerFigure;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_run::{Fingerprint, RunId};
use lab_text::sanitise::LogLine;
use lab_tui::diff::Diff;
use lab_tui::event::Event;
use lab_tui::profile::ProfileView;
use lab_tui::reply::{GraphPage, OwnCommitsPage, ViewReply};
use lab_tui::request::ViewRequest;
use lab_tui::source::{Base, Baseline, PresentText, SourceRequest, SourceText, SourceView};
use std::sync::Arc;

impl World {
    /// The kernels of the repository: the present one with its last run, another that failed, and
    /// one that was never judged.
    pub(super) fn kernels(&self) -> Vec<ListedKernel> {
        let own = self.last().and_then(|record| {
            let decided = record.decision.as_ref().map(|decision| decision.status);
            Some(LastRun {
                run: record.start.id,
                outcome: record.verdict.as_ref()?.outcome,
                build_failed: false,
                decided,
            })
        });
        let failed = LastRun {
            run: RunId(7),
            outcome: Outcome::Crash,
            build_failed: true,
            decided: None,
        };
        let kernels = [
            (KERNEL, own),
            ("kernels/softmax/kernel.cu", Some(failed)),
            ("kernels/two/fast.cu", None),
        ];
        let peers = [("eager", 6.67), ("torch.compile", 0.97)].map(|(name, value)| PeerFigure {
            ratio: Some(PeerRatio {
                value,
                interval: Some((0.9, 7.0)),
            }),
            ..PeerFigure::untimed(name.to_owned())
        });
        let peers = Vec::from(peers);
        let listed = |(name, last): (&str, Option<LastRun>)| ListedKernel {
            name: name.to_owned(),
            objective: "throughput_sps".into(),
            of_floor: last.and(Some(87.4)),
            peers: if last.is_some() && name != KERNEL {
                peers.clone()
            } else {
                Vec::new()
            },
            last,
        };
        kernels.map(listed).into()
    }

    pub(super) fn read(&mut self, wish: ViewRequest) {
        match wish {
            ViewRequest::Compare(keys, around) => {
                let mut records = keys.each_ref().map(|key| self.record(key));
                for record in records.iter_mut().flatten() {
                    record.start.blob = hex(&record.start.blob);
                }
                let [a, b] = keys.each_ref().map(|key| key.commit.as_str());
                let short = format!("@@ -1 +1 @@\n-the bytes of {a}\n+the bytes of {b}\n");
                let diff = Ok(if self.long_diffs {
                    long_diff(around.lines())
                } else {
                    short
                });
                let common = match &records {
                    [Some(a), Some(b)] => {
                        common_workloads::compare(&a.report(), &b.report(), &Objective::Throughput)
                    }
                    _ => CommonWorkloads::Same,
                };
                self.answers
                    .push_back(Event::View(ViewReply::Comparison(Box::new(Compared {
                        keys,
                        records,
                        diff,
                        around: around.lines(),
                        rules: self.differing_rules.clone(),
                        common,
                        profiles: self.compared_profiles.clone(),
                    }))));
            }
            ViewRequest::Kernels => {
                let all = self.kernels();
                self.answers.push_back(Event::View(ViewReply::Kernels(all)));
            }
            ViewRequest::Source(request) if self.reads_late => self.unread = Some(request),
            ViewRequest::Source(request) => self.read_source(request),
            ViewRequest::ChangedLines(commits) => {
                let line = |commit: String| (commit.clone(), format!("the bytes of {commit}"));
                let lines = commits.into_iter().map(|(commit, _)| line(commit));
                let reply = ViewReply::ChangedLines(lines.collect());
                self.answers.push_back(Event::View(reply));
            }
            ViewRequest::Cells(asked) => {
                let read = match &self.cells {
                    None => Err("only the first wrong cells are there".to_owned()),
                    Some(file) => file
                        .try_clone()
                        .and_then(|file| AllCells::of(file, asked.shape))
                        .and_then(|all| all.read(asked.cell, asked.seek))
                        .map_err(|error| error.to_string()),
                };
                self.answers
                    .push_back(Event::View(ViewReply::Cells(asked, read)));
            }
            ViewRequest::Workload(name, runs) => {
                let records = self.records.iter().filter(|r| runs.contains(&r.start.id));
                let time = |r: &Record| Some((r.start.id, details::workload_time(r, &name)?));
                let times = records.filter_map(time).collect();
                let reply = ViewReply::Workload(name.clone(), times);
                self.answers.push_back(Event::View(reply));
            }
            ViewRequest::Details(key, around) => {
                let short = format!(
                    "@@ -1 +1 @@\n-the bytes before\n+the bytes of {}\n",
                    key.commit
                );
                let whole = ExperimentDetails {
                    record: self.record(&key),
                    trailers: vec![
                        (
                            message::TrailerKey::Constraint,
                            "48 kB of shared memory".into(),
                        ),
                        (message::TrailerKey::Confidence, "high".into()),
                        (
                            message::TrailerKey::Tested,
                            "NVIDIA H200, 1 of 1 gates".into(),
                        ),
                    ],
                    source: Ok("__global__ void rmsnorm() {}\n".into()),
                    diff: Ok(if self.long_diffs {
                        long_diff(around.lines())
                    } else {
                        short
                    }),
                    around: around.lines(),
                    log: vec![LogLine {
                        text: "the log of its run".into(),
                        result: false,
                    }],
                    benches: self.benches.clone(),
                    key,
                };
                self.answers
                    .push_back(Event::View(ViewReply::Details(Box::new(whole))));
            }
            ViewRequest::Profile(request) => {
                let run = request.run;
                let judged = self.records.iter().find(|record| record.start.id == run);
                let view = ProfileView {
                    fingerprint: judged.map(|record| record.start.fingerprint.clone()),
                    profile: Ok(self.profile.clone().map(|profile| (run, profile))),
                    incumbent: self.incumbent_profile.clone(),
                    request,
                };
                self.answers
                    .push_back(Event::View(ViewReply::Profile(Box::new(view))));
            }
            ViewRequest::Graph => {
                self.told = 0;
                let page = GraphPage {
                    is_first: true,
                    is_last: self.older == 0,
                    entries: self.graph(),
                };
                self.answers
                    .push_back(Event::View(ViewReply::Graph(Ok(page))));
            }
            ViewRequest::OwnCommits | ViewRequest::MoreOwnCommits => {
                let page = OwnCommitsPage {
                    is_first: wish == ViewRequest::OwnCommits,
                    is_last: true,
                    entries: self.own_commits.clone(),
                };
                self.answers
                    .push_back(Event::View(ViewReply::OwnCommits(Ok(page))));
            }
            ViewRequest::MoreGraph if self.awaits_pages => {}
            ViewRequest::MoreGraph => self.tell_page(),
            ViewRequest::Board => {
                let board = Box::new(self.board.clone());
                let reply = ViewReply::Board(board, self.has_bench);
                self.answers.push_back(Event::View(reply));
            }
            ViewRequest::Record(source, begun) => {
                let reply = ViewReply::Record(source, begun, self.record.clone());
                self.answers.push_back(Event::View(reply));
            }
            ViewRequest::Sweep(_) => {
                let sweep = self.sweep.clone().map(Box::new);
                self.answers.push_back(Event::View(ViewReply::Sweep(sweep)));
            }
            ViewRequest::Loop(_) => {
                self.answers
                    .push_back(Event::View(ViewReply::Loop(Box::new(self.loops.clone()))));
            }
            ViewRequest::Commit(id, _) if self.gone.as_ref() == Some(&id) => {
                self.answers.push_back(Event::View(ViewReply::Commit(
                    id,
                    Box::new(Err("it is not here".to_owned())),
                )));
            }
            ViewRequest::Commit(id, around) => {
                let mut details = CommitDetails {
                    around: around.lines(),
                    ..self.details(&id)
                };
                if self.long_diffs {
                    details.files[0].diff = long_diff(around.lines());
                }
                self.answers
                    .push_back(Event::View(ViewReply::Commit(id, Box::new(Ok(details)))));
            }
        }
    }

    /// The next page of the commits that follow.
    pub(super) fn tell_page(&mut self) {
        let numbers = self.told..self.older.min(self.told + self.page);
        self.told = numbers.end;
        let entry = |n: usize| GraphEntry {
            commit: commit(&format!("0ld{n:05}"), &format!("an older one, {n}"), None),
            parents: vec![format!("0ld{:05}", n + 1)],
            labels: Vec::new(),
        };
        let is_last = self.told == self.older;
        let page = GraphPage {
            is_first: false,
            is_last,
            entries: numbers.map(entry).collect(),
        };
        self.answers
            .push_back(Event::View(ViewReply::Graph(Ok(page))));
    }

    /// HEAD's commits, and a side branch that the newest one merges.
    pub(super) fn graph(&self) -> Vec<GraphEntry> {
        let label = |kind, name: &str| Label {
            kind,
            name: name.into(),
        };
        let mut entries: Vec<GraphEntry> = Vec::new();
        for (at, commit) in self.commits.iter().enumerate() {
            let parent = self.commits.get(at + 1).map(|parent| parent.id.clone());
            let mut entry = GraphEntry {
                commit: commit.clone(),
                parents: parent.into_iter().collect(),
                labels: Vec::new(),
            };
            // The reader does not know the history.
            entry.commit.experiment = None;
            if at == 0 {
                entry.labels.push(label(LabelKind::Current, "exp/rmsnorm"));
                entry.labels.push(label(LabelKind::Remote, "origin/main"));
                if self.commits.len() > 2 {
                    entry.parents.push("5ide5ide".into());
                }
            }
            entries.push(entry);
        }
        if self.commits.len() > 2 {
            let side = GraphEntry {
                commit: commit("5ide5ide", "notes on rounding", None),
                parents: vec![self.commits[2].id.clone()],
                labels: vec![label(LabelKind::Tag, "v1")],
            };
            entries.insert(2, side);
        }
        entries
    }

    pub(super) fn details(&self, id: &str) -> CommitDetails {
        // A discarded attempt has a commit as well, which no branch holds.
        let tried = self.history.iter().position(|e| e.row.commit == id);
        let kept = |before: usize| self.history[..before].iter().rfind(|e| e.is_kept());
        let parent = tried.and_then(kept).map_or("a1b2c3d4", |e| &e.row.commit);
        let known = self.commits.iter().find(|c| c.id == id).map(|c| &c.subject);
        let subject = known.or(tried.map(|at| &self.history[at].row.description));
        let subject = subject.map_or("notes on rounding", String::as_str);
        let tested = "NVIDIA H200, 4 of 4 gates, 142050 samples/s (+3.1 % vs incumbent)";
        CommitDetails {
            id: id.into(),
            parents: vec![parent.into()],
            subject: subject.into(),
            body: vec!["Two rows a warp keep the loads in flight.".into(), String::new(), format!("Tested: {tested}")],
            trailers: Vec::new(),
            around: 3,
            author: "Ada <ada@example.org>".into(),
            authored: noon(),
            committer: "Grace <grace@example.org>".into(),
            committed: noon(),
            files: vec![
                FileChange {
                    kind: ChangeKind::Modified,
                    path: KERNEL.into(),
                    from: None,
                    added: 2,
                    removed: 1,
                    is_binary: false,
                    diff: "@@ -1,3 +1,4 @@ rmsnorm\n // one row a warp\n-    float s = x[i];\n+    float s = x[i] * x[i];\n\
                           +    s += bias;\n }\n"
                        .into(),
                    is_cut: false,
                },
                FileChange {
                    kind: ChangeKind::Added,
                    path: "trace.bin".into(),
                    from: None,
                    added: 0,
                    removed: 0,
                    is_binary: true,
                    diff: String::new(),
                    is_cut: false,
                },
            ],
            files_left_out: 0,
        }
    }

    pub(super) fn read_source(&mut self, request: SourceRequest) {
        let present = match &self.unreadable {
            Some(why) => Err(why.clone()),
            None => Ok(PresentText {
                text: self.text(&self.disk),
                fingerprint: Fingerprint(self.disk.clone()),
            }),
        };
        let base = match &request.baseline {
            Baseline::Incumbent => Base {
                name: format!(
                    "incumbent {}",
                    self.commits[0].id.get(..7).unwrap_or_default()
                ),
                text: self.text(&self.head),
            },
            Baseline::Experiment(key) => Base {
                name: format!("experiment {}", key.commit),
                text: self.text(&key.commit),
            },
        };
        let around = request.around;
        let of = |text: &SourceText| {
            let present = present.as_ref().map_or(text, |p| &p.text);
            Diff::parse(&text_diff(text.whole(), present.whole(), around.lines()).unwrap())
        };
        let judged = request
            .runs
            .iter()
            .filter_map(|run| self.records.iter().find(|r| r.start.id == *run));
        let since = judged.map(|record| (record.start.id, of(&self.text(&record.start.blob))));
        let since = since.filter(|(_, diff)| !diff.is_empty()).collect();
        let diff = Arc::new(of(&base.text));
        self.answers
            .push_back(Event::View(ViewReply::Source(Box::new(SourceView {
                request,
                present,
                base: Ok(base),
                diff,
                since,
            }))));
    }

    /// The text of the kernel for a name of bytes.
    pub(super) fn text(&self, bytes: &str) -> SourceText {
        let known = self.texts.iter().find(|(name, _)| name == bytes);
        SourceText::new(known.map_or(SOURCE, |(_, text)| text))
    }

    /// The text of the next save: the present text with these words replaced.
    pub fn edit(&mut self, changes: &[(&str, &str)]) -> &mut Self {
        let mut text = self.text(&self.disk).whole().to_string();
        for (old, new) in changes {
            assert!(text.contains(old), "{old} is not in the kernel");
            text = text.replacen(old, new, 1);
        }
        self.texts.push((format!("bytes-{}", self.saves + 1), text));
        self
    }
}
