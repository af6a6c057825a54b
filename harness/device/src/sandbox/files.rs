//! Files, by Landlock.

use super::{FileAccess, Policy, folders};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, PathFd, RestrictSelfAttr, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use std::path::PathBuf;

/// The newest version of Landlock whose rights are asked for. An older kernel gives those that it
/// knows.
const NEWEST: ABI = ABI::V9;

/// What a file, as opposed to a folder, can be opened for.
const OF_FILES: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{Execute | WriteFile | ReadFile | Truncate | IoctlDev});

/// Restricts the calling thread, and the process where Linux can do that. Returns the version of
/// Landlock's interface, or why files are not held back.
pub fn restrict(policy: Policy, files: &FileAccess) -> Result<u32, String> {
    let failed = |error: RulesetError| format!("Landlock cannot be applied: {error}");
    let status = ruleset(policy, files)
        .map_err(failed)?
        .restrict_self()
        .map_err(failed)?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _)
        | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => {
            Err("this Linux kernel has no Landlock, or it is switched off".into())
        }
        (
            _,
            LandlockStatus::Available {
                effective_abi,
                kernel_abi,
            },
        ) => Ok(kernel_abi.unwrap_or(effective_abi as i32) as u32),
    }
}

/// The ruleset of a process: what it may open, and beside that nothing.
fn ruleset(policy: Policy, files: &FileAccess) -> Result<RulesetCreated, RulesetError> {
    let mut handled = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?;
    // A tool talks to its helper processes by sockets and signals.
    if !matches!(policy, Policy::GpuTool | Policy::GpuProfiler) {
        handled = handled
            .handle_access(AccessNet::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?;
    }
    let mut rules = handled.create()?;
    if policy != Policy::Compiler {
        rules = rules.all_threads(true)?;
    }
    for (path, rights) in grants(policy, files) {
        // A path that does not exist gives no right.
        let Ok(opened) = PathFd::new(&path) else {
            continue;
        };
        let rights = if path.is_dir() {
            rights
        } else {
            rights & OF_FILES
        };
        rules = rules.add_rule(PathBeneath::new(opened, rights))?;
    }
    Ok(rules)
}

/// Every path that may be opened, with what for. Below a folder the same holds.
fn grants(policy: Policy, files: &FileAccess) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    let execute = read | AccessFs::Execute;
    let write = read | make_bitflags!(AccessFs::{WriteFile | Truncate});
    let device = write | AccessFs::IoctlDev;
    let make_special = AccessFs::from_all(NEWEST)
        & !make_bitflags!(AccessFs::{Execute | MakeChar | MakeBlock | IoctlDev | ResolveUnix});
    // The judge reads what is written there, with its user's rights: a link or a pipe would lead it
    // elsewhere.
    let make = make_special & !make_bitflags!(AccessFs::{MakeSym | MakeFifo | MakeSock});
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let of_policy = match policy {
        Policy::CpuKernel => vec![(folders::library_folders(files), read)],
        Policy::CpuTool => vec![
            (folders::library_folders(files), read),
            // A sanitizer reads the map of its own memory.
            (paths(&["/proc/self"]), read),
        ],
        Policy::Compiler => {
            let machine = [
                "/proc/cpuinfo",
                "/proc/meminfo",
                "/sys/devices/system/cpu",
                "/dev/urandom",
            ];
            vec![
                (folders::system_folders(files), execute),
                (paths(&machine), read),
                (paths(&["/dev/null"]), write),
            ]
        }
        Policy::GpuKernel => {
            let machine = ["/proc", "/sys", "/etc", "/opt", "/run/nvidia-persistenced"];
            vec![
                (folders::system_folders(files), read),
                (folders::library_folders(files), read),
                (paths(&machine), read),
                // The driver names its threads, and shares memory by files.
                (paths(&["/proc/self"]), write),
                (paths(&["/dev/shm"]), make_special),
                (folders::gpu_devices(), device),
            ]
        }
        Policy::GpuProfiler => {
            // The profiler's library in this process locks a file, and connects to the profiler by
            // a socket there. Where TMPDIR names another folder, that is the place.
            let mut shared = paths(&["/tmp", "/var/tmp", "/dev/shm"]);
            let temporary = std::env::var_os("TMPDIR").map(PathBuf::from);
            shared.extend(temporary.filter(|folder| folder.is_absolute()));
            vec![
                (paths(&["/"]), execute),
                (shared, make_special | AccessFs::ResolveUnix),
                (paths(&["/proc", "/dev"]), device),
            ]
        }
        Policy::GpuTool => vec![
            (paths(&["/"]), execute),
            (paths(&["/tmp", "/var/tmp", "/dev/shm"]), make_special),
            (paths(&["/proc", "/dev"]), device),
        ],
    };
    let given = [
        (files.read.clone(), read),
        (files.execute.clone(), execute),
        (files.write.clone(), make),
    ];
    let all = given.into_iter().chain(of_policy);
    all.flat_map(|(paths, rights)| paths.into_iter().map(move |path| (path, rights)))
        .collect()
}
