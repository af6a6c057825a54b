//! A header by which a kernel of the tests reaches the C library on the cpu device as an attacker would.
//! Device code knows no function of the host but a few such as `printf`. Every other one lies at a known
//! distance from it.
#![allow(clippy::unwrap_used, dead_code)]

use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol};
use std::fmt::Write;

/// The functions, with the type of their result and those of their parameters.
const FUNCTIONS: [(&str, &str, &str); 24] = [
    ("_exit", "void", "int"),
    ("atoi", "int", "const char*"),
    ("close", "int", "int"),
    ("dladdr", "int", "const void*, Dl_info*"),
    ("fflush", "int", "void*"),
    ("fork", "int", ""),
    ("getenv", "char*", "const char*"),
    ("getpid", "int", ""),
    ("getppid", "int", ""),
    ("open", "int", "const char*, int, ..."),
    ("pread", "long", "int, void*, unsigned long, long"),
    (
        "process_vm_readv",
        "long",
        "int, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long",
    ),
    (
        "pthread_create",
        "int",
        "pthread_t*, const void*, void* (*)(void*), void*",
    ),
    ("raise", "int", "int"),
    ("setenv", "int", "const char*, const char*, int"),
    ("setsid", "int", ""),
    ("signal", "void*", "int, void*"),
    ("sleep", "unsigned", "unsigned"),
    ("snprintf", "int", "char*, unsigned long, const char*, ..."),
    ("strtoull", "unsigned long long", "const char*, char**, int"),
    ("syscall", "long", "long, ..."),
    ("usleep", "int", "unsigned"),
    ("write", "long", "int, const void*, unsigned long"),
    ("abort", "void", ""),
];

/// Types, constants and functions that need no library.
const REST: &str = "\
#define AT_FDCWD -100
#define O_RDONLY 0
#define O_WRONLY 1
#define O_CREAT 0100
#define O_TRUNC 01000
#define SIGKILL 9
#define SIGCHLD 17
#define SIGSTOP 19
#define SIGSYS 31
#define SIG_IGN ((void*)1)
typedef unsigned long pthread_t;
struct iovec {
    void* base;
    unsigned long length;
};
struct Dl_info {
    const char* dli_fname;
    void* dli_fbase;
    const char* dli_sname;
    void* dli_saddr;
};
__device__ inline char* strrchr(char* text, char wanted) {
    char* found = nullptr;
    for (; *text; ++text) found = *text == wanted ? text : found;
    return found;
}
__device__ inline void strcpy(char* to, const char* from) {
    while ((*to++ = *from++)) {
    }
}
";

/// The numbers of system calls and of a flag, which differ between processors.
const NUMBERS: &str = if cfg!(target_arch = "aarch64") {
    "#define SYS_openat 56\n#define SYS_pread64 67\n#define SYS_socket 198\n#define SYS_clone 220\n#define SYS_mmap 222\n\
     #define SYS_kill 129\n#define SYS_unlinkat 35\n#define SYS_execve 221\n#define O_DIRECTORY 040000\n"
} else {
    "#define SYS_openat 257\n#define SYS_pread64 17\n#define SYS_socket 41\n#define SYS_clone 56\n#define SYS_mmap 9\n\
     #define SYS_kill 62\n#define SYS_unlinkat 263\n#define SYS_execve 59\n#define O_DIRECTORY 0200000\n"
};

/// Its name.
pub const NAME: &str = "host.h";

/// Its text, for the C library of this machine.
pub fn text() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps
        .lines()
        .find_map(|line| {
            line.find('/')
                .map(|at| &line[at..])
                .filter(|path| path.contains("/libc.so"))
        })
        .expect("the test is linked with a shared C library");
    let bytes = std::fs::read(library).unwrap();
    let file = ElfFile64::<object::LittleEndian>::parse(&*bytes).unwrap();
    let address = |wanted: &str| {
        let mut symbols = file.dynamic_symbols();
        let found = symbols.find(|symbol| symbol.name() == Ok(wanted));
        found
            .unwrap_or_else(|| panic!("no {wanted} in {library}"))
            .address() as i64
    };
    let known = address("printf");
    let mut text = format!("#pragma once\n{REST}{NUMBERS}");
    for (name, result, parameters) in FUNCTIONS {
        let distance = address(name) - known;
        // Writing to a `String` never fails.
        let _ = writeln!(
            text,
            "#define {name} (({result} (*)({parameters}))((char*)&printf + {distance}))"
        );
    }
    text
}
