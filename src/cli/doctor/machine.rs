//! Programs, sandbox and terminal of this machine, and whether the folder reports changes.

use super::{ill, note, well};
use itertools::Itertools;
use lab_device::sandbox::{self, SandboxState};
use lab_device::{self as device, Finding, known_name, version_number};
use lab_protocol::Target;
use lab_protocol::console;
use rustix::fs::{Access, access};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The lab links libgit2 and needs the git program only for hooks and signed commits.
pub fn git() -> Finding {
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            let says = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let version = says.strip_prefix("git version ").unwrap_or_default();
            let public = version_number(version).to_owned();
            well("git", says).public(public)
        }
        _ => note(
            "git",
            "the git program does not run",
            "install git: commit hooks and signed commits need it",
        )
        .public("does not run"),
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
        Ok(builder) => {
            let version = builder.version();
            well("C++ compiler", version.as_str()).public(known_compilers(&version))
        }
        Err(error) => Finding::bad("C++ compiler", error.to_string(), None),
    }
}

/// The names of known compilers and their numbers; the text may be that of any program that CXX names.
fn known_compilers(version: &str) -> String {
    let shown = |word| known_name(word, "g++ clang++ beside NVRTC", version_number(word));
    version.split_whitespace().map(shown).join(" ")
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
                return note("sandbox", says.as_str(), newer).public(says);
            }
            well("sandbox", says.as_str()).public(says)
        }
        SandboxState::None { why } => note(
            "sandbox",
            format!("none: {why}"),
            "boot a Linux from 5.13 on with `lsm=landlock,…`; until then the cpu device runs kernels after `lab trust` only",
        )
        .public("none"),
    }
}

/// The value of a variable of the environment; empty without one.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

pub fn terminal() -> Finding {
    let term = variable("TERM");
    if !console::stdout_is_terminal() {
        return note(
            "terminal",
            "stdout is not a terminal",
            "the screen needs a terminal; `lab run` does not",
        )
        .public("stdout is not a terminal");
    }
    if matches!(term.as_str(), "" | "dumb") {
        return ill(
            "terminal",
            format!("TERM is '{term}'"),
            "set TERM to what your terminal is, as in xterm-256color",
        );
    }
    let (wide, high) = crossterm::terminal::size().unwrap_or((0, 0));
    let multiplexer = if variable("TMUX").is_empty() {
        ""
    } else {
        ", in tmux"
    };
    let says = |term: &str| format!("{term}, {wide}×{high}{multiplexer}");
    let public = says(known_name(&term, TERMINALS, "another terminal"));
    size_and_colours(says(&term), (wide, high), multiplexer).public(public)
}

/// Values of TERM that name nothing of a user's.
const TERMINALS: &str = "xterm xterm-color xterm-16color xterm-256color xterm-direct xterm-kitty xterm-ghostty screen \
                         screen-256color tmux tmux-256color tmux-direct linux vt100 vt220 rxvt rxvt-unicode \
                         rxvt-unicode-256color alacritty foot foot-extra wezterm contour ansi";

fn size_and_colours(says: String, (wide, high): (u16, u16), multiplexer: &str) -> Finding {
    if wide < 40 || high < 10 {
        return note(
            "terminal",
            says,
            "the screen needs 40×10; 80×24 shows more, 160×45 everything",
        );
    }
    let rich = matches!(variable("COLORTERM").as_str(), "truecolor" | "24bit");
    if rich || !variable("NO_COLOR").is_empty() {
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
        )
        .public(*name);
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
            let says = format!("inotify, {watches} watches and {instances} instances a user");
            well("watching", says.as_str()).public(says)
        }
        Err(error) => ill(
            "watching",
            format!("inotify cannot watch this folder: {error}; {SLOW}"),
            "`sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288`",
        ),
    }
}
