#![allow(clippy::unwrap_used)]
use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use tempfile::TempDir;

/// `/home/rc` outside and a root `/repo` beside it.
struct World {
    temp: TempDir,
    root: Root,
}

const BYTES: &[u8] = b"outside";

fn world() -> World {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().canonicalize().unwrap();
    fs::create_dir_all(path.join("repo/.lab/runs/1")).unwrap();
    fs::create_dir(path.join("home")).unwrap();
    fs::write(path.join("home/rc"), BYTES).unwrap();
    World {
        root: Root::new(&path.join("repo")),
        temp,
    }
}

impl World {
    fn link(&self, target: &str, at: &str) {
        symlink(target, self.root.path().join(at)).unwrap();
    }

    #[track_caller]
    fn outside_is_untouched(&self) {
        assert_eq!(fs::read(self.temp.path().join("home/rc")).unwrap(), BYTES);
        assert_eq!(
            fs::read_dir(self.temp.path().join("home")).unwrap().count(),
            1
        );
    }
}

#[track_caller]
fn refused<T: fmt::Debug>(result: io::Result<T>, wanted: &str) {
    let error = result.unwrap_err();
    assert!(
        refusal(&error).is_some() && error.to_string().contains(wanted),
        "{error:?}, not '{wanted}'"
    );
}

use std::fmt;

#[test]
fn no_access_follows_a_link_whether_of_the_file_or_of_a_folder_above_it() {
    let world = world();
    world.link("../../home/rc", ".lab/screen.lock");
    world.link("../../../home", ".lab/runs/2");
    for file in [".lab/screen.lock", ".lab/runs/2/rc", ".lab/runs/2/new"] {
        let file = Path::new(file);
        for access in [
            Access::Read,
            Access::Append,
            Access::ReadAppend,
            Access::ReadWrite,
        ] {
            refused(world.root.open(file, access), "is a link");
        }
        refused(
            world.root.wait_for_lock(file, Access::ReadWrite),
            "is a link",
        );
        refused(world.root.take_lock(file, Access::ReadAppend), "is a link");
        assert!(!world.root.is_locked(file));
    }
    let below = Path::new(".lab/runs/2/new");
    refused(world.root.replace(below, b"x"), "is a link");
    refused(world.root.create(below), "is a link");
    refused(world.root.create_dir(below), "is a link");
    refused(
        world.root.create_dir_all(Path::new(".lab/runs/2/a/b")),
        "is a link",
    );
    refused(
        world.root.remove_file(Path::new(".lab/runs/2/rc")),
        "is a link",
    );
    refused(
        world.root.remove_dir_all(Path::new(".lab/runs/2/rc")),
        "is a link",
    );
    refused(world.root.entries(Path::new(".lab/runs/2")), "is a link");
    world.outside_is_untouched();
}

#[test]
fn a_link_is_replaced_or_removed_itself() {
    let world = world();
    world.link("../../home/rc", ".lab/record.json");
    world.link("../../home", ".lab/standby");
    world.link("../../home/rc", ".lab/log");
    world
        .root
        .replace(Path::new(".lab/record.json"), b"{}")
        .unwrap();
    assert_eq!(
        world.root.read(Path::new(".lab/record.json"), 9).unwrap(),
        b"{}"
    );
    world
        .root
        .remove_dir_all(Path::new(".lab/standby"))
        .unwrap();
    world
        .root
        .create(Path::new(".lab/log"))
        .unwrap()
        .write_all(b"new")
        .unwrap();
    assert_eq!(world.root.read(Path::new(".lab/log"), 9).unwrap(), b"new");
    world.outside_is_untouched();
    let mut names = world.root.entries(Path::new(".lab")).unwrap();
    names.sort();
    assert_eq!(names, ["log", "record.json", "runs"]);
    // A folder of links loses the links.
    world.link("../../../home", ".lab/runs/1/a");
    world.root.remove_dir_all(Path::new(".lab/runs")).unwrap();
    world.root.remove_dir_all(Path::new(".lab/runs")).unwrap();
    world.outside_is_untouched();
    assert!(!world.root.path().join(".lab/runs").exists());
}

#[test]
fn pipes_devices_and_large_files_are_not_read() {
    let world = world();
    let at = |name: &str| world.root.path().join(name);
    rustix::fs::mkfifoat(CWD, at("pipe"), Mode::from_raw_mode(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for name in ["pipe", "socket"] {
        refused(world.root.read(Path::new(name), 9), "is no plain file");
        refused(
            world.root.open(Path::new(name), Access::ReadWrite),
            "is no plain file",
        );
        refused(read_anywhere(&at(name), 9), "is no plain file");
    }
    refused(
        read_anywhere(Path::new("/dev/zero"), 9),
        "/dev/zero is no plain file",
    );
    assert_eq!(
        world.root.read(Path::new(".lab"), 9).unwrap_err().kind(),
        io::ErrorKind::IsADirectory
    );
    fs::write(at("ten"), "0123456789").unwrap();
    refused(
        world.root.read(Path::new("ten"), 9),
        "has 10 bytes: at most 9 are read",
    );
    refused(read_anywhere(&at("ten"), 9), "has 10 bytes");
    assert_eq!(
        world.root.read(Path::new("ten"), 10).unwrap(),
        b"0123456789"
    );
}

#[test]
fn a_file_with_a_second_name_is_read_and_not_written() {
    let world = world();
    fs::hard_link(
        world.temp.path().join("home/rc"),
        world.root.path().join("lock"),
    )
    .unwrap();
    let lock = Path::new("lock");
    assert_eq!(world.root.read(lock, 99).unwrap(), BYTES);
    for access in [Access::Append, Access::ReadAppend, Access::ReadWrite] {
        refused(world.root.open(lock, access), "is a hard link");
    }
    world.root.replace(lock, b"own").unwrap();
    world.outside_is_untouched();
}

#[test]
fn a_file_is_created_whole_and_only_under_a_free_name() {
    let world = world();
    let lock = Path::new(".lab/index.lock");
    world.root.create_whole(lock, b"held").unwrap();
    let taken = world
        .root
        .create_whole(lock, b"held by another")
        .unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(world.root.read(lock, 99).unwrap(), b"held");
    world.link("../../home/none", ".lab/linked");
    let linked = world
        .root
        .create_whole(Path::new(".lab/linked"), b"x")
        .unwrap_err();
    assert_eq!(linked.kind(), io::ErrorKind::AlreadyExists);
    let names = world.root.entries(Path::new(".lab")).unwrap();
    assert_eq!(names.len(), 3, "no temporary file is left: {names:?}");
    world.outside_is_untouched();
}

#[test]
fn paths_that_leave_the_root_are_refused() {
    let world = world();
    for path in [
        "../home/rc",
        ".lab/../../home/rc",
        "/etc/hostname",
        "a/../b",
    ] {
        refused(world.root.read(Path::new(path), 9), "leads out of");
    }
    let absolute = world.root.path().join("./kernel.cu");
    fs::write(&absolute, "x").unwrap();
    assert_eq!(world.root.read(&absolute, 9).unwrap(), b"x");
}

#[test]
fn links_between_places_inside_are_resolved_and_others_refused() {
    let world = world();
    let root = &world.root;
    fs::create_dir_all(root.path().join("a/b")).unwrap();
    fs::write(root.path().join("a/real.cu"), "x").unwrap();
    world.link("../real.cu", "a/b/kernel.cu");
    world.link("a/b", "short");
    world.link(root.path().join("a").to_str().unwrap(), "absolute");
    for path in [
        "a/b/kernel.cu",
        "short/kernel.cu",
        "absolute/real.cu",
        "absolute/b/kernel.cu",
    ] {
        assert_eq!(
            root.resolve(Path::new(path)).unwrap(),
            Path::new("a/real.cu"),
            "{path}"
        );
        assert_eq!(root.read_resolved(Path::new(path), 9).unwrap(), b"x");
        assert_eq!(root.metadata_resolved(Path::new(path)).unwrap().size(), 1);
    }
    assert_eq!(
        root.resolve(Path::new("none/x.h")).unwrap(),
        Path::new("none/x.h")
    );
    world.link("../../home/rc", "a/out.cu");
    world.link("../..", "a/up");
    world.link("/dev/zero", "zero.h");
    for path in ["a/out.cu", "a/up/home/rc", "zero.h"] {
        refused(root.resolve(Path::new(path)), "leads out of");
        refused(root.read_resolved(Path::new(path), 9), "leads out of");
    }
    world.link("circle", "circle");
    assert!(
        root.resolve(Path::new("circle"))
            .unwrap_err()
            .to_string()
            .contains("Too many levels")
    );
}

#[test]
fn a_lock_below_a_root_keeps_others_out() {
    let world = world();
    let lock = Path::new(".lab/lock");
    let held = world.root.wait_for_lock(lock, Access::ReadAppend).unwrap();
    assert!(world.root.is_locked(lock));
    assert!(
        world
            .root
            .take_lock(lock, Access::ReadAppend)
            .unwrap()
            .is_none()
    );
    assert!(world.root.is_name_of(lock, &held));
    world.root.remove_file(lock).unwrap();
    assert!(!world.root.is_name_of(lock, &held));
    let other = world
        .root
        .take_lock(lock, Access::ReadAppend)
        .unwrap()
        .unwrap();
    assert!(world.root.is_name_of(lock, &other) && !world.root.is_name_of(lock, &held));
    drop((held, other));
    assert!(
        world
            .root
            .take_lock(lock, Access::ReadWrite)
            .unwrap()
            .is_some()
    );
}

#[test]
fn many_files_are_looked_at_from_an_open_folder_and_no_link_is_followed() {
    let world = world();
    let root = &world.root;
    let runs = root.open_to_look(Path::new(".lab/runs")).unwrap();
    let look = |run: &str, name: &str| runs.stamp(run.as_ref(), name.as_ref());
    assert_eq!(
        look("1", "record.json").unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    root.replace(Path::new(".lab/runs/1/record.json"), b"{}")
        .unwrap();
    let about = root.metadata(Path::new(".lab/runs/1/record.json")).unwrap();
    let wanted = (about.ino(), 2, about.mtime(), about.mtime_nsec());
    assert_eq!(look("1", "record.json").unwrap(), wanted);
    world.link("../../home", ".lab/runs/2");
    assert!(look("2", "rc").is_err(), "the folder is a link");
    world.link("../../../../home/rc", ".lab/runs/1/link");
    assert_ne!(
        look("1", "link").unwrap().1,
        BYTES.len() as u64,
        "a link has a stamp of its own"
    );
    world.link("runs", ".lab/linked");
    refused(root.open_to_look(Path::new(".lab/linked")), "is a link");
}
