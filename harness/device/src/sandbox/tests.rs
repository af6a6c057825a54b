//! What a confined thread can still do. The policies of workers hold for a whole process, so the
//! judge's own tests try them.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

use super::*;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs `act` on a thread that is confined like a compiler. `None`, with the reason on stderr,
/// where Linux cannot do that.
fn confined<T: Send + 'static>(
    files: FileAccess,
    act: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    std::thread::spawn(move || match enter(Policy::Compiler, &files) {
        SandboxState::Enforced { .. } => Some(act()),
        SandboxState::None { why } => {
            eprintln!("skipped: {why}");
            None
        }
    })
    .join()
    .unwrap()
}

fn fails(program: &str, argument: &Path) -> bool {
    !Command::new(program)
        .arg(argument)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
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
    let held = confined(files, move || {
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
    assert!(held.is_some() || support().missing().is_some());
}

#[test]
fn a_compiler_leaves_no_link_pipe_or_socket_behind() {
    let write = tempfile::tempdir().unwrap();
    let folder = write.path().to_owned();
    let files = FileAccess {
        write: vec![folder.clone()],
        ..FileAccess::default()
    };
    confined(files, move || {
        assert!(std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).is_err());
        assert!(std::os::unix::net::UnixListener::bind(folder.join("socket")).is_err());
        assert!(fails("mkfifo", &folder.join("pipe")));
        fs::write(folder.join("file"), "x").unwrap();
        fs::create_dir(folder.join("folder")).unwrap();
        fs::rename(folder.join("file"), folder.join("folder/file")).unwrap();
    });
}

#[test]
#[allow(unsafe_code)]
fn a_compiler_shares_no_memory_with_other_processes() {
    confined(FileAccess::default(), || {
        // SAFETY: the call takes three numbers and touches no memory of this process.
        let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600) };
        assert_eq!(segment, -1);
    });
}

#[test]
fn a_compiler_reaches_no_network_and_no_other_process() {
    let own = std::process::id();
    confined(FileAccess::default(), move || {
        assert!(UdpSocket::bind("127.0.0.1:0").is_err());
        for file in ["mem", "cmdline", "environ"] {
            assert!(fs::read(format!("/proc/{own}/{file}")).is_err(), "{file}");
        }
        if matches!(support_here(), SandboxState::Enforced { landlock } if landlock >= WITH_SIGNALS)
        {
            assert!(
                !Command::new("sh")
                    .args(["-c", &format!("kill -0 {own}")])
                    .status()
                    .unwrap()
                    .success()
            );
        }
    });
}

/// The state of a thread that is confined once more.
fn support_here() -> SandboxState {
    let [landlock] = [files::restrict(Policy::Compiler, &FileAccess::default())];
    landlock.map_or_else(
        |why| SandboxState::None { why },
        |landlock| SandboxState::Enforced { landlock },
    )
}

#[test]
fn entering_takes_little_time() {
    let read = (0..20).map(|n| format!("/usr/share/{n}").into()).collect();
    let files = FileAccess {
        read,
        ..FileAccess::default()
    };
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let files = files.clone();
            let began = Instant::now();
            std::thread::spawn(move || drop(enter(Policy::Compiler, &files)))
                .join()
                .unwrap();
            began.elapsed()
        })
        .collect();
    times.sort();
    eprintln!(
        "entering the sandbox takes {:.2} ms",
        times[4].as_secs_f64() * 1e3
    );
    assert!(times[4] < Duration::from_millis(50), "{times:?}");
}

#[test]
fn the_weaker_of_two_states_is_shown() {
    let (seven, six) = (
        SandboxState::Enforced { landlock: 7 },
        SandboxState::Enforced { landlock: 6 },
    );
    let none = SandboxState::None { why: "no".into() };
    assert_eq!(seven.clone().and(six.clone()), six);
    assert_eq!(six.clone().and(seven.clone()), six);
    assert_eq!(seven.clone().and(none.clone()), none);
    assert_eq!(none.clone().and(seven.clone()), none);
    assert_eq!(
        (seven.to_string().as_str(), none.to_string().as_str()),
        ("landlock 7 + seccomp", "none")
    );
}

#[test]
fn every_policy_has_valid_filters() {
    for policy in [
        Policy::CpuKernel,
        Policy::GpuKernel,
        Policy::CpuTool,
        Policy::GpuTool,
        Policy::GpuProfiler,
        Policy::Compiler,
    ] {
        assert!(
            !system_calls::filters(policy, false, 0).unwrap().is_empty(),
            "{policy:?}"
        );
    }
    assert_eq!(name_of(libc::SYS_socket as i32), Some("socket"));
    assert_eq!(name_of(libc::SYS_read as i32), None);
}

#[test]
fn a_toolchain_never_opens_its_prefix() {
    let prefix = tempfile::tempdir().unwrap();
    for folder in ["bin", "lib", "documents", "x86_64-conda-linux-gnu"] {
        fs::create_dir(prefix.path().join(folder)).unwrap();
    }
    let program = prefix.path().join("bin/g++");
    fs::write(&program, "").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let prefix = prefix.path().canonicalize().unwrap();
    let folders = toolchain_folders(program.as_os_str());
    assert_eq!(
        folders,
        ["bin", "lib", "x86_64-conda-linux-gnu"].map(|name| prefix.join(name))
    );
    assert!(toolchain_folders("no-such-compiler".as_ref()).is_empty());
}
