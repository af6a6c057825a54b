//! The watcher reports every way in which an editor saves, and nothing else.

use crate::lab::Lab;
use lab_project::Project;
use lab_testing::patience;
use lab_watch::{WatchEvent, Watcher};
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

struct Story {
    lab: Lab,
    watcher: Watcher,
    events: Receiver<WatchEvent>,
}

impl Story {
    fn new() -> Story {
        Story::prepared(|_| {})
    }

    /// With an action before the watching starts.
    fn prepared(prepare: impl FnOnce(&Lab)) -> Story {
        let lab = Lab::empty();
        fs::create_dir(lab.path("inc")).unwrap();
        lab.write("inc/tile.cuh", "// tile\n");
        lab.write("kernel.cu", "#include \"inc/tile.cuh\"\n");
        prepare(&lab);
        let project = Arc::new(Project::open(&lab.repo, None).unwrap());
        let (send, events) = channel();
        let watcher =
            lab_watch::start(project, Arc::new(move |event| drop(send.send(event)))).unwrap();
        Story {
            lab,
            watcher,
            events,
        }
    }

    /// The next event about the bytes.
    #[track_caller]
    fn next(&self) -> WatchEvent {
        loop {
            let event = self
                .events
                .recv_timeout(patience())
                .expect("an event comes");
            if event != WatchEvent::RepositoryChanged {
                return event;
            }
        }
    }

    /// Only something other than the bytes changed.
    #[track_caller]
    fn hears_of_the_repository(&self) {
        let event = self
            .events
            .recv_timeout(patience())
            .expect("an event comes");
        assert_eq!(event, WatchEvent::RepositoryChanged);
    }

    /// The next event is a change of exactly these files.
    #[track_caller]
    fn hears(&self, wanted: &[&str]) {
        match self.next() {
            WatchEvent::Changed { files, .. } => assert_eq!(files, wanted),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn saves_of_every_kind() {
    let story = Story::new();
    let lab = &story.lab;
    lab.write("kernel.cu", "#include \"inc/tile.cuh\"\n// in place\n");
    story.hears(&["kernel.cu"]);
    lab.write("kernel.cu.tmp", "#include \"inc/tile.cuh\"\n// by rename\n");
    fs::rename(lab.path("kernel.cu.tmp"), lab.path("kernel.cu")).unwrap();
    story.hears(&["kernel.cu"]);
    lab.sh("sed -i s/rename/sed/ kernel.cu").is(0);
    story.hears(&["kernel.cu"]);
    // As vim does it: the old file becomes a backup, a new one is written.
    fs::rename(lab.path("kernel.cu"), lab.path("kernel.cu~")).unwrap();
    lab.write("kernel.cu", "#include \"inc/tile.cuh\"\n// by vim\n");
    story.hears(&["kernel.cu"]);
    lab.write("inc/tile.cuh", "// another tile\n");
    story.hears(&["inc/tile.cuh"]);
    lab.write("problem.toml", "# new\n");
    story.hears(&["problem.toml"]);
    lab.write("lab.toml", "time_limit_s = 5\n");
    match story.next() {
        WatchEvent::Changed { files, config, .. } => {
            assert_eq!((files, config), (vec!["lab.toml".to_owned()], true));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_change_is_not_heard() {
    let story = Story::new();
    let lab = &story.lab;
    // The same bytes again, files that are not inputs, the lab's own files, and bytes that the lab
    // puts back.
    lab.write("kernel.cu", lab.read("kernel.cu"));
    lab.write("notes.txt", "x");
    fs::create_dir_all(lab.path(".lab/runs/1")).unwrap();
    lab.write(".lab/runs/1/kernel.cu", "x");
    let kernel = lab.path("kernel.cu");
    let put = "// put back, and it includes nothing\n";
    story
        .watcher
        .without_event(move || (fs::write(kernel, put).unwrap(), Some(put.into())))
        .unwrap();
    // An event of those would come before this one.
    lab.write("problem.toml", "# the end\n");
    story.hears(&["problem.toml"]);
}

#[test]
fn a_save_while_the_lab_puts_a_kernel_back_is_heard() {
    let story = Story::new();
    let saved = |text: &str| format!("#include \"inc/tile.cuh\"\n// {text}\n");
    // The lab refused because of this save.
    let (kernel, newer) = (story.lab.path("kernel.cu"), saved("newer than the verdict"));
    story
        .watcher
        .without_event(move || (fs::write(kernel, newer).unwrap(), None))
        .unwrap();
    story.hears(&["kernel.cu"]);
    // A save over the bytes that the lab had just put there.
    let (kernel, put, over) = (
        story.lab.path("kernel.cu"),
        saved("put back"),
        saved("saved over it"),
    );
    let act = move || {
        fs::write(&kernel, &put).unwrap();
        fs::write(&kernel, over).unwrap();
        ((), Some(put.into_bytes()))
    };
    story.watcher.without_event(act).unwrap();
    story.hears(&["kernel.cu"]);
}

#[test]
fn a_kernel_that_is_gone_is_said_and_its_return_is_heard() {
    let story = Story::new();
    fs::remove_file(story.lab.path("kernel.cu")).unwrap();
    match story.next() {
        WatchEvent::Unreadable(what) => assert!(what.contains("kernel.cu is not there"), "{what}"),
        other => panic!("{other:?}"),
    }
    story.lab.write("kernel.cu", "// back, and another\n");
    story.hears(&["kernel.cu", "inc/tile.cuh"]);
}

#[test]
fn a_save_that_nobody_tells_of_is_found_by_looking() {
    // Written through a link in another folder, as from another machine: this machine gets no
    // event.
    let story = Story::prepared(|lab| {
        fs::create_dir(lab.path("elsewhere")).unwrap();
        fs::hard_link(lab.path("kernel.cu"), lab.path("elsewhere/alias.cu")).unwrap();
    });
    story.lab.write(
        "elsewhere/alias.cu",
        "#include \"inc/tile.cuh\"\n// from elsewhere\n",
    );
    story.hears(&["kernel.cu"]);
}

#[test]
fn what_others_do_in_git_and_with_the_lab_is_heard() {
    let story = Story::new();
    let lab = &story.lab;
    lab.git("checkout -q -b elsewhere");
    story.hears_of_the_repository();
    lab.git("commit -q --allow-empty -m beside");
    story.hears_of_the_repository();
    lab.write(".git/index.lock", "");
    story.hears_of_the_repository();
    fs::remove_file(lab.path(".git/index.lock")).unwrap();
    story.hears_of_the_repository();
    lab.write("results.tsv", "commit\n");
    story.hears_of_the_repository();
    fs::create_dir_all(lab.path(".lab/runs/1")).unwrap();
    story.hears_of_the_repository();
    lab.write(".lab/runs/1/record.json", "{}");
    story.hears_of_the_repository();
}

#[test]
fn a_loop_is_heard_when_it_runs_already_when_it_writes_and_when_it_has_ended() {
    let mut held = None;
    let story = Story::prepared(|lab| {
        let project = Project::open(&lab.repo, None).unwrap();
        let folder = format!(".lab/auto/{}", project.kernel_key());
        fs::create_dir_all(lab.path(&folder)).unwrap();
        lab.write(&format!("{folder}/state.json"), "{}");
        let lock = fs::File::create(lab.path(&format!("{folder}/lock"))).unwrap();
        lock.lock().unwrap();
        held = Some((lock, folder));
    });
    let (lock, folder) = held.unwrap();
    assert_eq!(story.next(), WatchEvent::LoopChanged { running: true });
    for name in ["state.json", "request", "end-turn", "command.log"] {
        story
            .lab
            .write(&format!("{folder}/{name}"), format!("{name} has changed"));
        assert_eq!(
            story.next(),
            WatchEvent::LoopChanged { running: true },
            "{name}"
        );
    }
    lock.unlock().unwrap();
    assert_eq!(story.next(), WatchEvent::LoopChanged { running: false });
}

#[test]
fn a_profile_of_any_run_is_heard_of() {
    let story = Story::prepared(|lab| {
        fs::create_dir(lab.path(".lab")).unwrap();
        lab.write(".lab/profiled", "1");
    });
    story.lab.write(".lab/profiled", "12");
    assert_eq!(story.next(), WatchEvent::Profiled);
}
