//! Programs, sandbox and terminal of this machine, and whether the folder reports changes.

use super::{ill, note, well};
use lab_device::sandbox::{self, SandboxState};
use lab_device::{self as device, Finding};
use lab_protocol::Target;
use lab_protocol::console;
use rustix::fs::{Access, access};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The lab links libgit2 and needs the git program only for hooks and signed commits.
pub fn git() -> Finding {
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => well(
            "git",
            String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        ),
        _ => note(
            "git",
            "the git program does not run",
            "install git: commit hooks and signed commits need it",
        ),
    }
}

pub fn repository(folder: &Path) -> Finding {
    match lab_project::work_tree(folder) {
        Ok(root) => match access(&root, Access::WRITE_OK) {
            Ok(()) => match lab_git::head_fault_at(&root) {
                None => well("repository", root.display().to_string()),
                Some(fault) => {
                    let (says, remedy) = fault.split_once(": ").unwrap_or((&fault, "`git fsck`"));
                    ill("repository", says, remedy)
                }
            },
            Err(error) => ill(
                "repository",
                format!("{} cannot be written: {error}", root.display()),
                "verdicts and decisions are written there: make it writable, or work in a copy of your own",
            ),
        },
        Err(error) => {
            let text = format!("{error:#}");
            let (says, remedy) = text.split_once(": ").unwrap_or((&text, "`git init`"));
            ill("repository", says, remedy)
        }
    }
}

pub fn compiler() -> Finding {
    match device::builder(Target::Cpu) {
        Ok(builder) => well("C++ compiler", builder.version()),
        Err(error) => Finding {
            what: "C++ compiler".into(),
            ok: false,
            says: error.to_string(),
            remedy: None,
        },
    }
}

/// What holds kernels and compilers back. Without it, kernels run on the cpu device in trusted
/// folders only.
pub fn sandbox() -> Finding {
    match lab_device::sandbox::support() {
        SandboxState::Enforced { landlock } => {
            let says =
                format!("Landlock {landlock}, seccomp, limits; on the cpu device and on GPUs");
            if landlock < sandbox::WITH_SIGNALS {
                let newer = "Linux 6.12 or later also holds back signals of a compiler's parts";
                return note("sandbox", says, newer);
            }
            well("sandbox", says)
        }
        SandboxState::None { why } => note(
            "sandbox",
            format!("none: {why}"),
            "boot a Linux from 5.13 on with `lsm=landlock,…`; until then the cpu device runs kernels after `lab trust` only",
        ),
    }
}

pub fn terminal() -> Finding {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let term = env("TERM");
    if !console::stdout_is_terminal() {
        return note(
            "terminal",
            "stdout is not a terminal",
            "the screen needs a terminal; `lab run` does not",
        );
    }
    if matches!(term.as_str(), "" | "dumb") {
        return ill(
            "terminal",
            format!("TERM is '{term}'"),
            "set TERM to what your terminal is, as in xterm-256color",
        );
    }
    let (wide, high) = crossterm::terminal::size().unwrap_or((0, 0));
    let multiplexer = if env("TMUX").is_empty() {
        ""
    } else {
        ", in tmux"
    };
    let says = format!("{term}, {wide}×{high}{multiplexer}");
    if wide < 40 || high < 10 {
        return note(
            "terminal",
            says,
            "the screen needs 40×10; 80×24 shows more, 160×45 everything",
        );
    }
    let rich = matches!(env("COLORTERM").as_str(), "truecolor" | "24bit");
    if rich || !env("NO_COLOR").is_empty() {
        return well("terminal", says);
    }
    let remedy = if multiplexer.is_empty() {
        "for themes of more than 16 colours: `export COLORTERM=truecolor` where your terminal has them"
    } else {
        "for themes of more than 16 colours: `set -as terminal-features ',*:RGB'` in tmux.conf and `export COLORTERM=truecolor`"
    };
    note("terminal", says, remedy)
}

pub fn watching(folder: &Path) -> Finding {
    const SLOW: &str = "saves are still noticed, within a second";
    // Magic numbers of statfs(2) of file systems that do not report changes made on another
    // machine.
    const REMOTE: [(u64, &str); 6] = [
        (0x6969, "NFS"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB2"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "FUSE"),
        (0x0bd0_0bd0, "Lustre"),
    ];
    let kind = rustix::fs::statfs(folder).map_or(0, |s| s.f_type as u64 & 0xffff_ffff);
    if let Some((_, name)) = REMOTE.iter().find(|(magic, _)| *magic == kind) {
        return note(
            "watching",
            format!("this folder is on {name}, which does not report changes"),
            SLOW,
        );
    }
    let limit = |name: &str| {
        let text = fs::read_to_string(Path::new("/proc/sys/fs/inotify").join(name)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    match lab_watch::watcher(|_| {}).and_then(|mut ears| {
        notify::Watcher::watch(&mut ears, folder, notify::RecursiveMode::NonRecursive)
    }) {
        Ok(()) => {
            let number = |name| limit(name).map_or_else(|| "?".to_owned(), |n| n.to_string());
            let (watches, instances) = (number("max_user_watches"), number("max_user_instances"));
            well(
                "watching",
                format!("inotify, {watches} watches and {instances} instances a user"),
            )
        }
        Err(error) => ill(
            "watching",
            format!("inotify cannot watch this folder: {error}; {SLOW}"),
            "`sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288`",
        ),
    }
}
