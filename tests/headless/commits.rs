//! Reading commits: pages of the log, the graph, one whole commit.

use crate::lab::Lab;
use lab_git::{ChangeKind, Graph, LabelKind, Marks, Obstacle, OwnCommits, Repo};
use lab_project::Project;
use lab_run::message::TrailerKey;
use lab_store::RunIndex;
use lab_tui::diff::ContextLines;

fn project(lab: &Lab) -> Project {
    Project::open(&lab.repo, None).unwrap()
}

fn opened(lab: &Lab) -> Repo {
    Repo::open(&project(lab)).unwrap()
}

fn commit(lab: &Lab, name: &str) {
    lab.write(name, name);
    lab.git(&format!("add {name}"));
    lab.git(&format!("commit -qm {name}"));
}

#[test]
fn the_log_comes_in_pages() {
    let lab = Lab::new();
    (0..7).for_each(|n| commit(&lab, &format!("c{n}")));
    let repo = opened(&lab);
    let marks = Marks::of(&[]);
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = lab_git::log_page(&repo, &marks, after.as_deref(), 3).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        seen.extend(page.into_iter().map(|entry| entry.subject));
    }
    assert_eq!(seen, ["c6", "c5", "c4", "c3", "c2", "c1", "c0", "start"]);
}

#[test]
fn the_commits_of_a_kernel_are_found_below_those_of_others() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// two rows a block\n");
    lab.git("commit -qam rows");
    (0..12).for_each(|n| commit(&lab, &format!("docs{n}")));
    let repo = opened(&lab);
    let mut walk = OwnCommits::open(&repo).unwrap();
    let mut found = Vec::new();
    while !walk.is_at_end() {
        let page = walk.page(&repo, &Marks::of(&[])).unwrap();
        found.extend(page.into_iter().map(|entry| entry.subject));
    }
    assert_eq!(found, ["rows", "start"]);
}

/// A worker keeps its handle for a whole request, in which other programs may change the
/// repository.
#[test]
fn an_open_handle_sees_what_git_does_meanwhile() {
    let lab = Lab::new();
    let (project, repo) = (project(&lab), opened(&lab));
    let head = || lab_git::head(&repo).unwrap();
    let staged = || lab_git::staged(&repo).unwrap();
    let tracked = || lab_git::tracked(&repo, &project.root.join("a"));
    assert_eq!(
        (head().commit.unwrap(), staged(), tracked()),
        (lab.head(), false, false)
    );

    commit(&lab, "a");
    assert_eq!((head().commit.unwrap(), tracked()), (lab.head(), true));
    lab.git("checkout -qb side");
    lab.git("pack-refs --all --prune");
    lab.git("gc -q --prune=now");
    assert_eq!(
        (head().branch.as_deref(), head().commit.unwrap()),
        (Some("side"), lab.head())
    );
    commit(&lab, "b");
    assert_eq!(
        head().commit.unwrap(),
        lab.head(),
        "a loose ref hides a packed one"
    );
    assert_eq!(
        lab_git::resolve(&repo, "side").unwrap(),
        (lab.head(), "b".to_owned())
    );

    lab.write("kernel.cu", "// staged\n");
    lab.git("add kernel.cu");
    assert!(staged());
    let incumbent = lab_git::incumbent(&repo).unwrap();
    lab.git("commit -qm kernel");
    assert!(!staged());
    assert_ne!(lab_git::incumbent(&repo).unwrap(), incumbent);
    lab.git("notes --ref lab add -m noted HEAD");
    assert_eq!(lab_git::incumbent_note(&repo).as_deref(), Some("noted\n"));

    assert_eq!(lab_git::obstacle(&repo), None);
    lab.write(".git/index.lock", "");
    assert!(matches!(
        lab_git::obstacle(&repo),
        Some(Obstacle::Locked(_))
    ));
    std::fs::remove_file(lab.path(".git/index.lock")).unwrap();
    assert_eq!(lab_git::obstacle(&repo), None);
}

#[test]
fn the_graph_shows_every_branch_a_child_before_its_parents_and_the_names() {
    let lab = Lab::new();
    // All commits were made within two seconds, so their times do not order them.
    commit(&lab, "a");
    lab.git("checkout -qb side");
    commit(&lab, "s");
    lab.git("checkout -q main");
    lab.git("merge -q --no-ff -m merged side");
    lab.git("checkout -q -b other HEAD^");
    commit(&lab, "o");
    lab.git("tag -a v1 -m first side");
    lab.git("update-ref refs/remotes/origin/main main");
    lab.git("checkout -q main");
    lab.write("kernel.cu", "// kept\n");
    lab.lab("run").is(0);
    lab.lab("keep -m kept").is(0);

    let repo = opened(&lab);
    let experiments = lab_history::look(&repo, &mut RunIndex::open(&repo.project)).experiments;
    let marks = Marks::of(&experiments);
    let mut graph = Graph::open(&repo).unwrap();
    let mut entries = Vec::new();
    loop {
        // However small the pages are, the order is the same.
        match graph.page(&marks, 2).unwrap() {
            page if page.is_empty() => break,
            page => entries.extend(page),
        }
    }
    let at = |subject: &str| {
        entries
            .iter()
            .position(|e| e.commit.subject == subject)
            .unwrap()
    };
    assert_eq!(entries.len(), 6);
    for (child, parent) in [
        ("kept", "merged"),
        ("merged", "s"),
        ("s", "a"),
        ("o", "a"),
        ("a", "start"),
    ] {
        assert!(at(child) < at(parent), "{child} comes before {parent}");
    }
    assert_eq!(entries[at("merged")].parents.len(), 2);
    let names = |subject: &str| -> Vec<(LabelKind, &str)> {
        entries[at(subject)]
            .labels
            .iter()
            .map(|l| (l.kind, l.name.as_str()))
            .collect()
    };
    assert_eq!(names("kept"), [(LabelKind::Current, "main")]);
    assert_eq!(names("merged"), [(LabelKind::Remote, "origin/main")]);
    assert_eq!(
        names("s"),
        [(LabelKind::Branch, "side"), (LabelKind::Tag, "v1")]
    );
    let mark = entries[at("kept")].commit.experiment.as_ref().unwrap();
    assert_eq!(mark.row.description, "kept");
}

#[test]
fn one_commit_whole() {
    let lab = Lab::new();
    lab.write("gone", "1\n2\n");
    lab.write("old-name", "a\nb\nc\nd\ne\n");
    lab.git("add -A");
    lab.git("commit -qm before");
    lab.git("rm -q gone");
    lab.git("mv old-name new-name");
    lab.write("kernel.cu", "// the first\n// and more\n");
    lab.write("blob", b"\0\x01\x02");
    lab.write("long", "a line of text\n".repeat(40_000));
    lab.git("add -A");
    lab.write(
        "../message",
        "many things\n\nWhy it was done.\n\nConfidence: low\nNot-tested: \x1b[31mmuch\n",
    );
    lab.git("commit -q -F ../message");

    let details = lab_git::commit_details(&opened(&lab), "HEAD", 3).unwrap();
    assert_eq!(details.id, lab.head());
    assert_eq!(
        (details.subject.as_str(), details.parents.len()),
        ("many things", 1)
    );
    assert_eq!(
        details.body,
        [
            "Why it was done.",
            "",
            "Confidence: low",
            "Not-tested: much"
        ]
    );
    assert_eq!(
        details.trailers,
        [
            (TrailerKey::Confidence, "low".into()),
            (TrailerKey::NotTested, "much".into())
        ]
    );
    assert_eq!(details.author, "A User <user@example.com>");
    let files: Vec<_> = details
        .files
        .iter()
        .map(|f| {
            (
                f.kind.sign(),
                f.path.as_str(),
                f.added,
                f.removed,
                f.is_binary,
            )
        })
        .collect();
    assert_eq!(
        files,
        [
            ("A", "blob", 0, 0, true),
            ("D", "gone", 0, 2, false),
            ("M", "kernel.cu", 1, 0, false),
            ("A", "long", 40_000, 0, false),
            ("R", "new-name", 0, 0, false),
        ]
    );
    let of = |path: &str| details.files.iter().find(|f| f.path == path).unwrap();
    assert_eq!(
        of("kernel.cu").diff,
        "@@ -1 +1,2 @@\n // the first\n+// and more\n"
    );
    assert_eq!(of("new-name").from.as_deref(), Some("old-name"));
    assert_eq!(of("new-name").kind, ChangeKind::Renamed);
    assert!(of("long").is_cut && of("long").diff.len() <= 256 << 10 && !of("kernel.cu").is_cut);
    // With the whole file as context there is one hunk, and the answer says how much context was
    // asked for.
    lab.write(
        "kernel.cu",
        (0..40).map(|n| format!("// {n}\n")).collect::<String>(),
    );
    lab.git("commit -qam long");
    let other = |n: usize| {
        if n % 30 == 5 {
            "changed\n".to_owned()
        } else {
            format!("// {n}\n")
        }
    };
    lab.write("kernel.cu", (0..40).map(other).collect::<String>());
    lab.git("commit -qam changed");
    let hunks = |around: u32| {
        let details = lab_git::commit_details(&opened(&lab), "HEAD", around).unwrap();
        let of = |text: &str| {
            text.lines()
                .filter(|line| line.starts_with("@@"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(details.around, around);
        assert_eq!(
            of(&lab_git::change(&opened(&lab), "HEAD", around).unwrap()),
            of(&details.files[0].diff)
        );
        of(&details.files[0].diff)
            .iter()
            .map(|head| head.split(" @@").next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        hunks(ContextLines::Near.lines()),
        ["@@ -3,7 +3,7", "@@ -33,7 +33,7"]
    );
    assert_eq!(
        hunks(ContextLines::Far.lines()),
        ["@@ -1,16 +1,16", "@@ -26,15 +26,15"]
    );
    assert_eq!(hunks(ContextLines::Whole.lines()), ["@@ -1,40 +1,40"]);
    // The first commit is compared with an empty tree.
    let first = lab_git::commit_details(&opened(&lab), "HEAD~4", 3).unwrap();
    assert!(first.parents.is_empty() && first.files.iter().all(|f| f.kind == ChangeKind::Added));
}

#[test]
fn many_notes_stand_in_folders_and_every_one_is_found() {
    let lab = Lab::new();
    // A clone of an earlier version: 300 notes side by side.
    let mut import = String::from("blob\nmark :1\ndata 2\n{}\n");
    for at in 0..300 {
        import += &format!(
            "commit refs/heads/many\nmark :{}\ncommitter A <a@b> {at} +0000\ndata 1\nx\n\n",
            at + 2
        );
    }
    lab.write("../import", import);
    lab.sh("git fast-import --quiet < ../import").is(0);
    let many = lab.git("rev-list many");
    let blob = lab.sh("printf '{}' | git hash-object --stdin").out;
    let tree: String = many
        .lines()
        .map(|id| format!("100644 blob {}\t{id}\n", blob.trim()))
        .collect();
    lab.write("../tree", tree);
    lab.sh("git update-ref refs/notes/lab $(git commit-tree -m notes $(git mktree --missing < ../tree))")
        .is(0);
    for bytes in ["// better\n", "// best\n"] {
        lab.write("kernel.cu", bytes);
        lab.lab("run").is(0);
        lab.lab(&format!("keep -m '{}'", bytes.trim())).is(0);
    }
    let listed = lab.git("notes --ref=lab list");
    assert_eq!(listed.lines().count(), 302, "git finds them all");
    let largest = lab.sh("git cat-file -s refs/notes/lab^{tree}").out;
    assert!(
        largest.trim().parse::<usize>().unwrap() < 12_000,
        "the tree names folders: {largest}"
    );
    for head in ["HEAD", "HEAD^"] {
        assert!(
            lab.git(&format!("notes --ref=lab show {head}"))
                .contains("\"fingerprint\"")
        );
    }
    // And so does the lab if it has no record.
    std::fs::remove_dir_all(lab.path(".lab")).unwrap();
    let log = lab.lab("log --json").is(0).json();
    assert_eq!(log["experiments"][1]["kernel"], "kernel.cu");
}
