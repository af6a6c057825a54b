//! The rights of a confined thread. The policies of workers hold for a whole process, so the
//! judge's own tests try them.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "support/trials.rs"]
mod trials;

use lab_device::sandbox::{FileAccess, Policy, SandboxState, WITH_SIGNALS, enter, support};
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let tests: [(&str, fn()); 4] = [
        (
            "a_compiler_reads_and_writes_its_own_folders_and_no_others",
            a_compiler_reads_and_writes_its_own_folders_and_no_others,
        ),
        (
            "a_compiler_leaves_no_link_pipe_or_socket_behind",
            a_compiler_leaves_no_link_pipe_or_socket_behind,
        ),
        (
            "a_compiler_shares_no_memory_with_other_processes",
            a_compiler_shares_no_memory_with_other_processes,
        ),
        (
            "a_compiler_reaches_no_network_and_no_other_process",
            a_compiler_reaches_no_network_and_no_other_process,
        ),
    ];
    let state = support();
    let trial = |(name, test): (&str, fn())| {
        trials::trial(name, state.missing(), move || {
            test();
            Ok(())
        })
    };
    let trials = tests.into_iter().map(trial).collect();
    libtest_mimic::run(&trials::arguments(), trials).exit_code()
}

/// Runs `act` on a thread that is confined like a compiler, with the version of Landlock.
fn confined(files: FileAccess, act: impl FnOnce(u32) + Send + 'static) {
    let thread = std::thread::spawn(move || match enter(Policy::Compiler, &files) {
        SandboxState::Enforced { landlock } => act(landlock),
        SandboxState::None { why } => panic!("not confined: {why}"),
    });
    thread.join().unwrap();
}

fn fails(program: &str, argument: &Path) -> bool {
    !Command::new(program)
        .arg(argument)
        .output()
        .is_ok_and(|output| output.status.success())
}

fn a_compiler_reads_and_writes_its_own_folders_and_no_others() {
    let temp = tempfile::tempdir().unwrap();
    let [read, write, other] = ["read", "write", "other"].map(|name| temp.path().join(name));
    for folder in [&read, &write, &other] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("file"), "x").unwrap();
    }
    let files = FileAccess {
        read: vec![read.clone()],
        write: vec![write.clone()],
        ..FileAccess::default()
    };
    confined(files, move |_| {
        assert!(fs::read(read.join("file")).is_ok() && fs::read(write.join("file")).is_ok());
        assert!(
            fs::write(write.join("new"), "x").is_ok()
                && fs::remove_file(write.join("file")).is_ok()
        );
        assert!(fs::read(other.join("file")).is_err() && fs::read("/etc/passwd").is_err());
        assert!(
            fs::write(read.join("new"), "x").is_err() && fs::write(other.join("new"), "x").is_err()
        );
        assert!(fs::remove_file(read.join("file")).is_err());
        let mode = fs::metadata(other.join("file")).unwrap().permissions();
        assert!(fs::set_permissions(other.join("file"), mode).is_err());
        // The same holds for the programs that it starts.
        assert!(fails("cat", Path::new("/etc/passwd")) && fails("cat", &other.join("file")));
        assert!(!fails("cat", &read.join("file")));
    });
}

fn a_compiler_leaves_no_link_pipe_or_socket_behind() {
    let write = tempfile::tempdir().unwrap();
    let folder = write.path().to_owned();
    let files = FileAccess {
        write: vec![folder.clone()],
        ..FileAccess::default()
    };
    confined(files, move |_| {
        assert!(std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).is_err());
        assert!(std::os::unix::net::UnixListener::bind(folder.join("socket")).is_err());
        assert!(fails("mkfifo", &folder.join("pipe")));
        fs::write(folder.join("file"), "x").unwrap();
        fs::create_dir(folder.join("folder")).unwrap();
        fs::rename(folder.join("file"), folder.join("folder/file")).unwrap();
    });
}

#[allow(unsafe_code)]
fn a_compiler_shares_no_memory_with_other_processes() {
    confined(FileAccess::default(), |_| {
        // SAFETY: the call takes three numbers and touches no memory of this process.
        let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600) };
        assert_eq!(segment, -1);
    });
}

fn a_compiler_reaches_no_network_and_no_other_process() {
    let own = std::process::id();
    confined(FileAccess::default(), move |landlock| {
        assert!(UdpSocket::bind("127.0.0.1:0").is_err());
        for file in ["mem", "cmdline", "environ"] {
            assert!(fs::read(format!("/proc/{own}/{file}")).is_err(), "{file}");
        }
        if landlock >= WITH_SIGNALS {
            let mut kill = Command::new("sh");
            kill.args(["-c", &format!("kill -0 {own}")]);
            assert!(!kill.status().unwrap().success());
        }
    });
}
