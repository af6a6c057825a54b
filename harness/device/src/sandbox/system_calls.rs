//! System calls, by seccomp.
//!
//! Two kinds of filter are used. Native code of a kernel may make only the calls that computing
//! needs ([`COMPUTING`]). Of the others, those that no program makes by accident end the process
//! with SIGSYS ([`FOREIGN_LISTS`]), so that the verdict can name them; the rest fail with ENOSYS, as on
//! an older Linux, and libraries then do without. Every other process may make all calls but those
//! on two lists ([`FORBIDDEN`], [`NEVER`]), which fail with EPERM.

use super::Policy;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, apply_filter_all_threads,
};
use std::collections::BTreeMap;

/// A system call: its name in the C library's headers, and its number.
type Call = (&'static str, i64);

/// Lists calls. Behind the semicolon are those that only x86-64 has.
macro_rules! calls {
    ($($name:ident)* $(; $($older:ident)*)?) => {
        &[
            $((stringify!($name), libc::$name as i64),)*
            $($(#[cfg(target_arch = "x86_64")] (stringify!($older), libc::$older as i64),)*)?
        ]
    };
}

/// What a computing process asks for: memory, threads, time, reading and writing what is open, and
/// opening a module.
const COMPUTING: &[Call] = calls![
    SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_lseek SYS_close SYS_close_range SYS_fstat
    SYS_newfstatat SYS_statx SYS_faccessat SYS_faccessat2 SYS_openat SYS_dup SYS_dup3 SYS_ppoll SYS_pselect6
    SYS_sendto SYS_recvfrom SYS_recvmsg SYS_shutdown SYS_getsockopt SYS_getsockname
    SYS_mmap SYS_munmap SYS_mprotect SYS_mremap SYS_madvise SYS_brk SYS_membarrier
    SYS_clone SYS_exit SYS_exit_group SYS_futex SYS_set_robust_list SYS_get_robust_list SYS_set_tid_address SYS_rseq
    SYS_sched_yield SYS_sched_getaffinity SYS_getcpu SYS_gettid SYS_getpid SYS_getppid
    SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_uname SYS_sysinfo SYS_getrandom SYS_getrusage SYS_getcwd
    SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday SYS_times
    SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigtimedwait SYS_sigaltstack SYS_restart_syscall;
    SYS_open SYS_stat SYS_lstat SYS_access SYS_dup2 SYS_poll SYS_select SYS_time SYS_arch_prctl
];

/// What neither a kernel, a compiler nor a GPU's driver with an open device asks for: talking to
/// others, tracing them, changing modes, owners and mounts, and interfaces of Linux that go around
/// the other rules.
const FORBIDDEN: &[Call] = calls![
    SYS_socket SYS_connect SYS_bind SYS_listen SYS_accept SYS_accept4 SYS_unshare SYS_setns
    SYS_setpgid SYS_setsid SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise
    SYS_kcmp SYS_pidfd_getfd SYS_truncate SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat
    SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_chroot SYS_mount SYS_umount2 SYS_pivot_root
    SYS_open_by_handle_at SYS_sched_setscheduler SYS_sched_setparam SYS_sched_setattr
    SYS_setpriority SYS_ioprio_set SYS_setuid SYS_setgid SYS_setresuid SYS_setresgid SYS_capset
    SYS_io_uring_setup SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_keyctl SYS_add_key
    SYS_request_key SYS_reboot SYS_swapon SYS_swapoff SYS_sethostname SYS_settimeofday
    SYS_clock_settime SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_syslog
    SYS_acct SYS_quotactl;
    SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat SYS_iopl SYS_ioperm
];

/// What no computing process asks for by accident, beside [`FORBIDDEN`].
const FOREIGN: &[Call] = calls![
    SYS_socketpair SYS_sendmsg SYS_sendmmsg SYS_execve SYS_execveat SYS_tkill SYS_rt_sigqueueinfo
    SYS_rt_tgsigqueueinfo SYS_pidfd_open SYS_pidfd_send_signal SYS_unlinkat SYS_mkdirat SYS_mknodat
    SYS_linkat SYS_symlinkat SYS_renameat2 SYS_ftruncate SYS_fallocate SYS_fchmod SYS_getdents64
    SYS_readlinkat SYS_chdir SYS_fchdir SYS_openat2 SYS_name_to_handle_at SYS_memfd_create
    SYS_memfd_secret SYS_inotify_init1 SYS_fanotify_init SYS_shmget SYS_shmat SYS_semget SYS_msgget
    SYS_mq_open SYS_sched_setaffinity SYS_io_setup SYS_landlock_create_ruleset;
    SYS_fork SYS_setrlimit SYS_vfork SYS_creat SYS_unlink SYS_rmdir SYS_mkdir SYS_mknod SYS_link
    SYS_symlink SYS_rename SYS_renameat SYS_readlink SYS_getdents SYS_inotify_init SYS_modify_ldt
];

/// Calls whose arguments decide: see [`foreign_arguments`] and [`uncounted_memory`].
const BY_ARGUMENT: &[Call] =
    calls![SYS_kill SYS_tgkill SYS_clone SYS_prlimit64 SYS_openat SYS_mmap];

/// Further calls that every other process must not make: see [`FORBIDDEN`].
const NEVER: &[Call] = calls![
    SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsmount SYS_mount_setattr SYS_removexattr
    SYS_lremovexattr SYS_fremovexattr
];

const FCHMODAT2: i64 = 452;

/// Calls of newer kernels that change modes and attributes by a path. Their numbers are the same on
/// every architecture.
const NEWER: &[Call] = &[
    ("SYS_fchmodat2", FCHMODAT2),
    ("SYS_setxattrat", 463),
    ("SYS_removexattrat", 466),
    ("SYS_open_tree_attr", 467),
    ("SYS_file_setattr", 469),
];

/// Signals to processes, which Landlock holds back from version 6 on.
const SIGNALS: &[Call] = calls![
    SYS_kill SYS_tkill SYS_tgkill SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo SYS_pidfd_send_signal
];

/// Memory, semaphores and queues that other processes of the user share, which Landlock does not
/// hold back.
const SHARED: &[Call] = calls![SYS_shmget SYS_shmat SYS_shmctl SYS_semget SYS_semop SYS_semctl SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl
    SYS_mq_open SYS_mq_unlink];

/// Starting programs and processes.
const PROGRAMS: &[Call] = calls![SYS_execve SYS_execveat; SYS_fork SYS_vfork];

/// The first version of Landlock that holds back signals to processes outside.
pub const WITH_SIGNALS: u32 = 6;

/// The calls that end a process that computes.
const FOREIGN_LISTS: [&[Call]; 3] = [FORBIDDEN, FOREIGN, NEWER];

/// The name of a system call that ends a process, such as `socket`. `None` for another one.
pub fn name_of(number: i32) -> Option<&'static str> {
    let lists = FOREIGN_LISTS.iter().chain(&[BY_ARGUMENT]);
    let mut all = lists.copied().flatten();
    let (name, _) = all.find(|(_, known)| *known == i64::from(number))?;
    Some(name.trim_start_matches("SYS_"))
}

/// Restricts the calling process; with [`Policy::Compiler`] the calling thread and what it starts.
/// `landlock` is the version that holds already, or 0. `writes` says whether the process may write
/// a file. The error says why seccomp cannot be applied.
pub fn restrict(policy: Policy, writes: bool, landlock: u32) -> Result<(), String> {
    let filters = filters(policy, writes, landlock)
        .map_err(|error| format!("seccomp's filter is not valid: {error}"))?;
    let apply = if policy == Policy::Compiler {
        apply_filter
    } else {
        apply_filter_all_threads
    };
    filters
        .iter()
        .try_for_each(|filter| apply(filter))
        .map_err(|error| format!("seccomp: {error}"))
}

/// Rules for the arguments of each call; without a rule every call of this number matches.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters of a policy, in the order in which they are applied.
pub fn filters(
    policy: Policy,
    writes: bool,
    landlock: u32,
) -> Result<Vec<BpfProgram>, BackendError> {
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    // The C library then starts threads by `clone`, whose arguments can be looked at.
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    let mut never = any(&[FORBIDDEN, NEVER, NEWER]);
    // The driver of a GPU may ask for shared memory.
    if matches!(policy, Policy::Compiler | Policy::CpuTool) {
        never.extend(any(&[SHARED]));
    }
    match policy {
        Policy::CpuKernel => {
            // Where two filters disagree, Linux ends the process rather than let the call fail.
            let mut known = any(&[COMPUTING, BY_ARGUMENT]);
            known.extend(limited()?);
            let mut foreign = any(&FOREIGN_LISTS);
            foreign.extend(foreign_arguments(writes)?);
            foreign.extend(uncounted_memory()?);
            // In this order: the second one forbids to add a third.
            return Ok(vec![
                program(foreign, SeccompAction::Allow, SeccompAction::Trap)?,
                program(known, unknown, SeccompAction::Allow)?,
            ]);
        }
        Policy::CpuTool | Policy::GpuKernel => {
            never.extend(any(&[PROGRAMS]));
            // Landlock decides which files are written.
            never.extend(foreign_arguments(true)?);
            if policy == Policy::CpuTool {
                never.extend(any(&[calls![SYS_memfd_create SYS_memfd_secret]]));
                never.extend(uncounted_memory()?);
            }
        }
        Policy::Compiler if landlock < WITH_SIGNALS => never.extend(any(&[SIGNALS])),
        Policy::Compiler => {}
        // Its tool talks to helper processes by sockets and may trace this process.
        Policy::GpuTool => allow(&mut never, TOOL),
        // Its library is in this process: it also sets the modes of the files that it locks, and
        // where its threads run.
        Policy::GpuProfiler => {
            allow(&mut never, TOOL);
            allow(&mut never, PROFILER);
            never.remove(&FCHMODAT2);
        }
    }
    // The same calls by the numbers of the x32 interface, which a kernel of x86-64 may have.
    #[cfg(target_arch = "x86_64")]
    if policy == Policy::Compiler || policy == Policy::CpuTool {
        never.extend(
            never
                .clone()
                .into_iter()
                .map(|(number, rules)| (number | 0x4000_0000, rules)),
        );
    }
    let mut programs = vec![program(never, SeccompAction::Allow, refused)?];
    if matches!(policy, Policy::CpuTool | Policy::GpuKernel) {
        programs.push(program(
            any(&[calls![SYS_clone3]]),
            SeccompAction::Allow,
            unknown,
        )?);
    }
    Ok(programs)
}

/// What a tool beside a worker of a GPU asks for.
const TOOL: &[Call] = calls![
    SYS_socket SYS_connect SYS_bind SYS_listen SYS_accept SYS_accept4 SYS_ptrace
    SYS_process_vm_readv SYS_process_vm_writev
];

/// What a profiler asks for, beside [`TOOL`].
const PROFILER: &[Call] = calls![
    SYS_perf_event_open SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_setpriority
    SYS_sched_setscheduler SYS_sched_setparam SYS_sched_setattr; SYS_chmod SYS_chown
];

fn allow(rules: &mut Rules, calls: &[Call]) {
    rules.retain(|number, _| calls.iter().all(|(_, allowed)| allowed != number));
}

/// These calls, whatever their arguments.
fn any(lists: &[&[Call]]) -> Rules {
    lists
        .iter()
        .copied()
        .flatten()
        .map(|(_, number)| (*number, Vec::new()))
        .collect()
}

/// Calls that a computing process may make with some arguments only; with others they fail with
/// ENOSYS.
fn limited() -> Result<Rules, BackendError> {
    use libc::{F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_SETFD, F_SETFL};
    let commands = [F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL];
    let commands = commands.map(|command| command as u64);
    // The last one names memory: the C library does that.
    let options = [
        libc::PR_SET_NAME as u64,
        libc::PR_GET_NAME as u64,
        0x5356_4d41,
    ];
    let requests = [libc::TCGETS, libc::FIONREAD, libc::FIONBIO];
    let allowed: [(i64, u8, &[u64]); 3] = [
        (libc::SYS_fcntl, 1, &commands),
        (libc::SYS_ioctl, 1, &requests),
        (libc::SYS_prctl, 0, &options),
    ];
    let rules = allowed.into_iter().map(|(number, argument, values)| {
        let values = values.iter();
        let rules = values.map(|value| rule(&[(argument, SeccompCmpOp::Eq, *value)]));
        Ok((number, rules.collect::<Result<_, _>>()?))
    });
    rules.collect()
}

/// The arguments with which a call is foreign: a signal to another process, a new process instead
/// of a thread, new limits, a file to write to, unless the process may write one.
fn foreign_arguments(writes: bool) -> Result<Rules, BackendError> {
    let own = u64::from(std::process::id());
    let other = |argument| rule(&[(argument, SeccompCmpOp::Ne, own)]);
    let masked = |argument, mask: i32, value: i32| {
        rule(&[(argument, SeccompCmpOp::MaskedEq(mask as u64), value as u64)])
    };
    let opened_for = |argument| {
        let flags = [
            (libc::O_ACCMODE, libc::O_WRONLY),
            (libc::O_ACCMODE, libc::O_RDWR),
            (libc::O_CREAT, libc::O_CREAT),
            // Linux empties a file that is opened for reading and truncating.
            (libc::O_TRUNC, libc::O_TRUNC),
        ];
        let rules = flags.map(|(mask, value)| masked(argument, mask, value));
        rules.into_iter().collect::<Result<Vec<_>, _>>()
    };
    let mut rules = Rules::from([
        (libc::SYS_kill, vec![other(0)?]),
        (libc::SYS_tgkill, vec![other(0)?]),
        (libc::SYS_clone, vec![masked(0, libc::CLONE_THREAD, 0)?]),
        (
            libc::SYS_prlimit64,
            vec![
                SeccompRule::new(vec![SeccompCondition::new(
                    2,
                    SeccompCmpArgLen::Qword,
                    SeccompCmpOp::Ne,
                    0,
                )?])?,
                rule(&[(0, SeccompCmpOp::Ne, 0), (0, SeccompCmpOp::Ne, own)])?,
            ],
        ),
    ]);
    if !writes {
        rules.insert(libc::SYS_openat, opened_for(2)?);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, opened_for(1)?);
    }
    Ok(rules)
}

/// Memory that the limit of a process's data does not count: shared memory without a file, and stacks
/// that grow. The judge's buffers are files.
fn uncounted_memory() -> Result<Rules, BackendError> {
    let flags = |mask: i32| {
        let all = mask as u64;
        rule(&[(3, SeccompCmpOp::MaskedEq(all), all)])
    };
    let rules = vec![
        flags(libc::MAP_SHARED | libc::MAP_ANONYMOUS)?,
        flags(libc::MAP_GROWSDOWN)?,
    ];
    Ok(Rules::from([(libc::SYS_mmap, rules)]))
}

/// A rule for arguments of 32 bits.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn program(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, matched, target)?.try_into()
}
