//! The host's C++ compiler: which one it is, its options, and the headers that it has precompiled.

use super::{cannot_write, limits, sanitizer};
use crate::api::{DeviceError, Result, Sanitizer};
use crate::cpu::headers;
use lab_system::space;
use lab_system::temporary::TemporaryFolder;
use lab_system::threads::lock;
use rustix::process::Signal;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

/// How every source is compiled.
const FLAGS: &[&str] = &[
    // Compiles in two thirds of the time of -O2, and the launches take no longer: most of their time is the
    // scheduler's, or the race detector's.
    "-O1",
    "-march=native",
    "-fPIC",
    // A multiplication and an addition become an FMA only where the source says so.
    "-ffp-contract=off",
    "-fno-exceptions",
    // CUDA kernels access memory through pointers of other types, and let integers wrap.
    "-fno-strict-aliasing",
    "-fwrapv",
    // Without this option g++ may remove an endless loop, and the thread runs on into the next
    // function.
    "-fno-finite-loops",
    "-fvisibility=hidden",
    "-fno-diagnostics-show-caret",
    "-fdiagnostics-color=never",
    "-Wno-unknown-pragmas",
    "-Wno-attributes",
];

/// Device code is written in what NVRTC takes: C++17 without extensions, exceptions and run-time
/// types, and without the host's headers.
const DEVICE_FLAGS: &[&str] = &["-std=c++17", "-nostdinc", "-fno-rtti"];

/// What device code leaves in a variable without a value is a number that no kernel means: as a float
/// -1.7e38.
const POISONED_VARIABLES: &[&str] = &["-ftrivial-auto-var-init=pattern"];

/// Device code has no wider floating type than `double`.
const X86_FLAGS: &[&str] = &["-mlong-double-64"];

/// A `.cpp` is host code.
const HOST_FLAGS: &[&str] = &["-std=c++20"];

/// g++ only. With unique symbols, the variables of one module would be those of another.
const GNU_FLAGS: &[&str] = &["-fno-gnu-unique"];

/// The oldest versions that compile this device's headers.
const OLDEST_GNU: u32 = 11;
const OLDEST_CLANG: u32 = 14;

/// A C++20 compiler on this machine.
#[derive(Clone)]
pub struct HostCompiler {
    pub command: OsString,
    /// Such as `g++ 12.2.0`.
    pub version: String,
    pub clang: bool,
}

/// The header that every source includes first.
pub fn header_name(sanitizer: Option<Sanitizer>) -> &'static str {
    match sanitizer {
        Some(Sanitizer::Thread) => "lab_cpu_races.h",
        Some(Sanitizer::Address) | None => "lab_cpu.h",
    }
}

/// The functions that an instrumented kernel calls, in a folder of headers, and their object file.
const RACE_HOOKS: &str = "lab_cpu/race_hooks.h";
pub const RACE_HOOKS_OBJECT: &str = "race_hooks.o";

impl HostCompiler {
    /// Returns the compiler with this name, or the first of `g++`, `clang++`, `c++` that runs and is
    /// new enough.
    pub fn find(named: Option<OsString>) -> Result<HostCompiler> {
        let usable = |found: HostCompiler| match found.too_old() {
            None => Ok(found),
            Some(why) => Err(why),
        };
        let found = match named.filter(|name| !name.is_empty()) {
            Some(name) => HostCompiler::run_version(&name)
                .and_then(usable)
                .map_err(|why| format!("CXX names '{}', and this compiler {why}", name.display())),
            None => {
                let mut reason =
                    "no C++ compiler is here: none of g++, clang++, c++ can be run".to_owned();
                let candidates = ["g++", "clang++", "c++"].map(OsString::from);
                let mut running = candidates
                    .iter()
                    .filter_map(|name| HostCompiler::run_version(name).ok());
                let found = running.find_map(|found| {
                    let found = usable(found);
                    found
                        .map_err(|why| reason = format!("the one here {why}"))
                        .ok()
                });
                found.ok_or(reason)
            }
        };
        found.map_err(|reason| {
            DeviceError::Unavailable(format!(
                "the cpu device needs a C++20 compiler, and {reason}. Install g++ {OLDEST_GNU}, clang++ {OLDEST_CLANG} or a \
                 later version (Debian, Ubuntu: apt install g++, or g++-{OLDEST_GNU}), or set CXX to its path."
            ))
        })
    }

    /// Runs `command --version`. The error completes "this compiler …".
    fn run_version(command: &OsString) -> Result<HostCompiler, String> {
        let output = Command::new(command)
            .arg("--version")
            .output()
            .map_err(|error| format!("cannot be run ({error})"))?;
        if !output.status.success() {
            return Err(format!("cannot tell its version ({})", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let clang = text.contains("clang");
        let first = text.lines().next().unwrap_or_default();
        let is_number =
            |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        let number = first
            .split_whitespace()
            .rev()
            .find(is_number)
            .unwrap_or(first);
        let version = format!("{} {number}", if clang { "clang++" } else { "g++" });
        Ok(HostCompiler {
            command: command.clone(),
            version,
            clang,
        })
    }

    /// How old the compiler is, as the end of a sentence, if it is too old for the headers of this
    /// device. `None` also if its number cannot be read.
    fn too_old(&self) -> Option<String> {
        let (name, oldest) = if self.clang {
            ("clang++", OLDEST_CLANG)
        } else {
            ("g++", OLDEST_GNU)
        };
        let number = self.version.strip_prefix(name)?.trim_start();
        let major: u32 = number.split('.').next()?.parse().ok()?;
        (major < oldest).then(|| format!("is {}, older than {name} {oldest}", self.version))
    }

    /// The compiler with these options. Its messages are in English.
    pub fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(&self.command);
        command
            .args(options)
            .env("LC_ALL", "C")
            // A compiler that caches would write to the home folder, which the sandbox forbids.
            .env("CCACHE_DISABLE", "1");
        command
    }

    /// Runs what [`HostCompiler::command`] has begun. The output holds the compiler's diagnostics.
    pub fn run(&self, command: &mut Command) -> Result<Output> {
        let unavailable = |text: String| Err(DeviceError::Unavailable(text));
        let name = self.command.display();
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                return unavailable(format!(
                    "cannot run the C++ compiler {name}: {error}. Install it again or set CXX to another."
                ));
            }
        };
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.signal() == Some(Signal::KILL.as_raw()) || limits::is_killed(&said) {
            return unavailable(format!(
                "the C++ compiler {name} was ended by SIGKILL: from outside, or the machine ran out of memory; judge again"
            ));
        }
        if let Some(how) = limits::is_disk_full(&said) {
            let said = said.lines().find(|line| space::is_full(line));
            let said = said.map_or_else(String::new, |line| format!(" ({})", line.trim()));
            return unavailable(format!(
                "the C++ compiler {name} failed, and {how}: make room on the disk of the build cache, then judge again{said}"
            ));
        }
        Ok(output)
    }

    /// The options for device code, or for host code.
    pub fn flags(&self, is_host: bool, sanitizer: Option<Sanitizer>) -> Vec<&'static str> {
        let gnu = if self.clang { &[][..] } else { GNU_FLAGS };
        let (language, machine) = match (is_host, cfg!(target_arch = "x86_64")) {
            (true, _) => (HOST_FLAGS, &[][..]),
            (false, true) => (DEVICE_FLAGS, X86_FLAGS),
            (false, false) => (DEVICE_FLAGS, &[][..]),
        };
        let checks = sanitizer.map_or(&[][..], |kind| sanitizer::flags(kind, self.clang));
        // libasan brings its own entry points.
        let is_checked = !is_host && sanitizer != Some(Sanitizer::Address);
        let machine_checks = if is_checked { sanitizer::MACHINE } else { &[] };
        let poison = if !is_host && self.fills_variables() {
            POISONED_VARIABLES
        } else {
            &[]
        };
        [
            FLAGS,
            language,
            machine,
            gnu,
            poison,
            machine_checks,
            checks,
        ]
        .concat()
    }

    /// Whether the compiler can fill variables that get no value. g++ 11 cannot.
    fn fills_variables(&self) -> bool {
        self.clang || !self.version.starts_with("g++ 11.")
    }

    /// Returns the folder with the cpu device's headers and the precompiled header. Writes and
    /// compiles them at the first use.
    pub fn headers(&self, cache: &Path, sanitizer: Option<Sanitizer>) -> Result<PathBuf> {
        let flags = self.flags(false, sanitizer);
        let work = crate::build_cache::shared_work_folder(cache);
        let cache = &cache.join(crate::build_cache::HEADERS);
        let folder = cache.join(format!("cpu-{}", self.headers_hash(&flags)));
        // Within a process, one thread makes them and the others wait.
        static MAKING: Mutex<()> = Mutex::new(());
        let _making = lock(&MAKING);
        if folder.join("ready").is_file() {
            return Ok(folder);
        }
        let cannot_write = |error: io::Error| cannot_write(cache, &error);
        std::fs::create_dir_all(cache).map_err(cannot_write)?;
        // They are made in another folder and moved as a whole, because other processes may make
        // them too.
        let temporary = TemporaryFolder::inside(&work).map_err(cannot_write)?;
        headers::write(temporary.path()).map_err(cannot_write)?;
        let header = temporary.path().join(header_name(sanitizer));
        let extension = if self.clang { "pch" } else { "gch" };
        let precompiled = header.with_added_extension(extension);
        self.compile_own(self.command(&flags), "c++-header", &header, &precompiled)?;
        if sanitizer == Some(Sanitizer::Thread) {
            let hooks = temporary.path().join(RACE_HOOKS);
            let object = temporary.path().join(RACE_HOOKS_OBJECT);
            let mut command = self.command(&flags);
            command.args(["-c", "-include"]).arg(header);
            self.compile_own(command, "c++", &hooks, &object)?;
        }
        std::fs::write(temporary.path().join("ready"), "").map_err(cannot_write)?;
        match std::fs::rename(temporary.path(), &folder) {
            // Another process was first.
            Err(error) if !folder.join("ready").is_file() => Err(cannot_write(error)),
            _ => Ok(folder),
        }
    }

    /// Compiles a file of the cpu device's own.
    fn compile_own(
        &self,
        mut command: Command,
        language: &str,
        source: &Path,
        target: &Path,
    ) -> Result {
        command.args(["-x", language]).arg(source);
        let output = self.run(command.arg("-o").arg(target))?;
        if output.status.success() {
            return Ok(());
        }
        Err(DeviceError::Unavailable(format!(
            "{} cannot compile the cpu device's headers. Install g++ {OLDEST_GNU}, clang++ {OLDEST_CLANG} or a later \
             version, which support C++20. The compiler says:\n{}",
            self.version,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )))
    }

    /// A hash of everything that the precompiled header depends on, in hex.
    fn headers_hash(&self, flags: &[&str]) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(headers::hash().as_bytes());
        hasher.update(self.version.as_bytes());
        for flag in flags {
            hasher.update(flag.as_bytes()).update(&[0]);
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}
