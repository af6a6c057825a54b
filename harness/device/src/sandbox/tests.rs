//! States, filters and folders of the sandbox. `tests/sandbox.rs` tries the rights of a confined
//! thread.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

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
