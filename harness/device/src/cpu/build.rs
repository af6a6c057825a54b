//! The [`Builder`]: rewrites `kernel.cu` and its local includes to C++, and has the host compiler build a
//! shared object against the precompiled headers.

use super::headers;
use super::rewrite::{self, Edit, Refusal};
use crate::api::{BuildRequest, Builder, Built, DeviceError, Image};
use crate::build_cache;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How device code is compiled. Contraction stays off: an FMA is one only where the source says so. CUDA kernels view memory
/// through pointers of other types and let integers wrap. Unique symbols would bind modules to each other.
const FLAGS: &[&str] = &[
    "-std=c++20",
    "-O2",
    "-march=native",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-exceptions",
    "-fno-strict-aliasing",
    // A loop without end is a mistake to be told of, not a licence to run on into the next function.
    "-fno-finite-loops",
    "-fwrapv",
    "-fvisibility=hidden",
    "-fno-diagnostics-show-caret",
    "-fdiagnostics-color=never",
    "-Wno-unknown-pragmas",
    "-Wno-attributes",
];

/// Options of a [`BuildRequest`] that ask for a build that is checked while it runs.
pub const ADDRESS_SANITIZER: &str = "-fsanitize=address";
pub const THREAD_SANITIZER: &str = "-fsanitize=thread";

const GNU_FLAGS: &[&str] = &["-fno-gnu-unique"];

pub struct Host {
    compiler: OsString,
    version: String,
    clang: bool,
}

impl Host {
    /// The compiler that is named, or the first of `g++`, `clang++`, `c++` on the path.
    pub fn find(named: Option<OsString>) -> Result<Host, DeviceError> {
        let named = named.filter(|name| !name.is_empty());
        let candidates: Vec<OsString> = match &named {
            Some(name) => vec![name.clone()],
            None => ["g++", "clang++", "c++"].map(OsString::from).to_vec(),
        };
        for compiler in candidates {
            if let Some((version, clang)) = version_of(&compiler) {
                return Ok(Host { compiler, version, clang });
            }
        }
        let what = match named {
            Some(name) => format!("the C++ compiler that CXX names, '{}', does not run", name.display()),
            None => String::from("no C++ compiler is here: none of g++, clang++, c++ runs"),
        };
        Err(DeviceError::Unavailable(format!(
            "the cpu device needs a C++20 compiler, and {what}; install one (Debian, Ubuntu: apt install g++) or set CXX to its path"
        )))
    }

    fn run(&self, arguments: &[OsString]) -> Result<Output, DeviceError> {
        Command::new(&self.compiler)
            .args(arguments)
            .env("LC_ALL", "C")
            .output()
            .map_err(|e| DeviceError::Unavailable(format!("cannot run {}: {e}", self.compiler.display())))
    }

    /// `checked`: for one of the tools of `lab check`.
    fn flags(&self, checked: Option<Checked>) -> Vec<OsString> {
        let gnu = if self.clang { &[][..] } else { GNU_FLAGS };
        let checked = checked.map_or(&[][..], |checked| checked.flags(self.clang));
        FLAGS.iter().chain(gnu).chain(checked).map(OsString::from).collect()
    }

    /// The folder with the headers, and among them the precompiled one; made on first use.
    fn headers(&self, cache: &Path, checked: Option<Checked>) -> Result<PathBuf, DeviceError> {
        let flags = self.flags(checked);
        let mut hasher = blake3::Hasher::new();
        hasher.update(headers::hash().as_bytes());
        hasher.update(self.version.as_bytes());
        for flag in &flags {
            hasher.update(flag.as_encoded_bytes()).update(&[0]);
        }
        let folder = cache.join(format!("cpu-{}", &hasher.finalize().to_hex()[..16]));
        // One at a time makes them; the others find them made.
        static MAKING: Mutex<()> = Mutex::new(());
        let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        if folder.join("ready").is_file() {
            return Ok(folder);
        }
        let wrong = |e: io::Error| cannot_write(cache, &e);
        std::fs::create_dir_all(cache).map_err(wrong)?;
        // Made aside and moved into place whole: other processes may be at it.
        let aside = tempfile::Builder::new().prefix("cpu-headers-").tempdir_in(cache).map_err(wrong)?;
        headers::write(aside.path()).map_err(wrong)?;
        let mut arguments = flags;
        arguments.extend(["-x", "c++-header"].map(OsString::from));
        arguments.push(aside.path().join("lab_cpu.h").into());
        arguments.push("-o".into());
        arguments.push(aside.path().join(if self.clang { "lab_cpu.h.pch" } else { "lab_cpu.h.gch" }).into());
        let output = self.run(&arguments)?;
        if !output.status.success() {
            return Err(DeviceError::Unavailable(format!(
                "{} cannot compile the cpu device's headers; it needs C++20 (g++ 11 or clang++ 14, or later):\n{}",
                self.version,
                String::from_utf8_lossy(&output.stderr).trim_end()
            )));
        }
        std::fs::write(aside.path().join("ready"), "").map_err(wrong)?;
        let aside = aside.keep();
        match std::fs::rename(&aside, &folder) {
            Ok(()) => {}
            // Another builder was first.
            Err(_) if folder.join("ready").is_file() => {
                std::fs::remove_dir_all(&aside).map_err(wrong)?;
            }
            Err(e) => return Err(wrong(e)),
        }
        Ok(folder)
    }
}

impl Builder for Host {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn identity(&self) -> String {
        // -march=native: a cache folder may serve several machines. The folders are the compiler's to search.
        let folders = ["CPATH", "CPLUS_INCLUDE_PATH"].map(std::env::var_os);
        format!("{} {:?} {folders:?} {}", self.version, self.compiler, instructions())
    }

    fn warm(&mut self, request: &BuildRequest) -> bool {
        self.headers(&request.cache_dir, Checked::asked(&request.options)).is_ok()
    }

    fn build(&mut self, request: &BuildRequest) -> Result<Built, DeviceError> {
        let started = Instant::now();
        let checked = Checked::asked(&request.options);
        let headers = self.headers(&request.cache_dir, checked)?;
        let wrong = |e: io::Error| cannot_write(&request.cache_dir, &e);
        let unit =
            tempfile::Builder::new().prefix("cpu-unit-").tempdir_in(&request.cache_dir).map_err(wrong)?;

        let failed = |log| Built::failed(log, started);
        let source = match std::fs::read(&request.source) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) => return Ok(failed(format!("{}:1:1: error: cannot be read: {e}\n", request.shown_as))),
        };
        let mut sources =
            Sources { request, folder: unit.path(), known: HashMap::new(), refusals: Vec::new(), count: 0 };
        let lab = sources.text(headers::LAB_H, "lab.h", None).map_err(wrong)?;
        std::fs::write(unit.path().join("lab.h"), lab).map_err(wrong)?;
        std::fs::write(unit.path().join("lab_problem.h"), &request.problem_header).map_err(wrong)?;
        let mut text = String::new();
        for (name, value) in &request.defines {
            text += &format!("#define {name} {value}\n");
        }
        text += &sources.text(&source, &request.shown_as, request.source.parent()).map_err(wrong)?;
        let unit_source = unit.path().join("kernel.cpp");
        std::fs::write(&unit_source, &text).map_err(wrong)?;

        let image = unit.path().join("kernel.so");
        let mut arguments = self.flags(checked);
        if self.clang {
            arguments.push("-include-pch".into());
            arguments.push(headers.join("lab_cpu.h.pch").into());
        } else {
            arguments.push("-include".into());
            arguments.push(headers.join("lab_cpu.h").into());
        }
        // Without this, debug information names the current folder, and an image from the cache would name the folder
        // that it was first built in.
        if let Ok(current) = std::env::current_dir() {
            let mut map = OsString::from("-fdebug-prefix-map=");
            map.push(current);
            map.push("=.");
            arguments.push(map);
        }
        for folder in [unit.path(), &headers] {
            arguments.push("-I".into());
            arguments.push(folder.into());
        }
        for folder in
            request.source.parent().into_iter().chain(request.include_dirs.iter().map(PathBuf::as_path))
        {
            arguments.push("-I".into());
            arguments.push(folder.into());
        }
        arguments.extend(
            request
                .options
                .iter()
                .filter(|o| !only_nvcc_knows(o) && Checked::asked(std::slice::from_ref(o)).is_none())
                .map(OsString::from),
        );
        // Linked apart, a module with the race detector's entry points does not get ThreadSanitizer's.
        let apart = checked == Some(Checked::Races);
        let object = unit.path().join("kernel.o");
        arguments.extend([if apart { "-c" } else { "-shared" }, "-x", "c++"].map(OsString::from));
        arguments.push(unit_source.into());
        arguments.push("-o".into());
        arguments.push(if apart { object.clone() } else { image.clone() }.into());
        let mut output = self.run(&arguments)?;
        if apart && output.status.success() {
            let messages = std::mem::take(&mut output.stderr);
            output = self.run(&["-shared".into(), object.into(), "-o".into(), image.clone().into()])?;
            output.stderr.splice(0..0, messages);
        }
        let log = sources.with_columns(&String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Ok(failed(log));
        }
        // Under a name of its own: a loaded image is never written to.
        let folder = build_cache::folder(&request.cache_dir);
        let path = folder.join(unit.path().file_name().unwrap_or_default()).with_extension("so");
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::rename(&image, &path)).map_err(wrong)?;
        Ok(Built { image: Some(Image { path }), ..failed(log) })
    }
}

/// What `lab check` has a module built for, by an option as compilers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checked {
    /// `-fsanitize=address`
    Addresses,
    /// `-fsanitize=thread`, with the lab's own runtime
    Races,
}

impl Checked {
    fn asked(options: &[String]) -> Option<Checked> {
        options.iter().find_map(|option| match option.as_str() {
            ADDRESS_SANITIZER => Some(Checked::Addresses),
            THREAD_SANITIZER => Some(Checked::Races),
            _ => None,
        })
    }

    /// What goes with it. Whatever it finds, the kernel goes on.
    fn flags(self, clang: bool) -> &'static [&'static str] {
        match (self, clang) {
            (Checked::Addresses, _) => {
                &[ADDRESS_SANITIZER, "-fsanitize-recover=address", "-g", "-fno-omit-frame-pointer"]
            }
            (Checked::Races, false) => &[
                THREAD_SANITIZER,
                "-DLAB_CPU_RACES",
                "-g",
                // libtsan knows no fences; the lab's own runtime does.
                "-Wno-tsan",
                "-fno-hoist-adjacent-loads",
                "--param=tsan-distinguish-volatile=1",
            ],
            (Checked::Races, true) => {
                &[THREAD_SANITIZER, "-DLAB_CPU_RACES", "-g", "-mllvm", "-tsan-distinguish-volatile=1"]
            }
        }
    }
}

/// The files of one build, rewritten. Local includes become files of the build's folder.
struct Sources<'r> {
    request: &'r BuildRequest,
    folder: &'r Path,
    known: HashMap<PathBuf, String>,
    /// With the path that they are shown under.
    refusals: Vec<(String, Refusal)>,
    count: usize,
}

impl Sources<'_> {
    /// The rewritten text of one file, after the files that it includes.
    fn text(&mut self, source: &str, shown_as: &str, folder: Option<&Path>) -> io::Result<String> {
        self.count += 1;
        let rewritten = rewrite::rewrite(source, shown_as, self.count);
        let mut edits = rewritten.edits;
        self.refusals.extend(rewritten.refusals.into_iter().map(|refusal| (shown_as.to_owned(), refusal)));
        for include in rewritten.includes {
            let Some(path) = self.resolve(&include.name, folder) else { continue };
            let shown = match Path::new(shown_as).parent() {
                Some(parent) if folder.is_some_and(|f| path.starts_with(f)) => {
                    parent.join(&include.name).display().to_string()
                }
                _ => path.display().to_string(),
            };
            if let Some(name) = self.include(&path, &shown)? {
                edits.push(Edit { start: include.start, end: include.end, text: rewrite::quoted(&name) });
            }
        }
        Ok(format!("#line 1 {}\n{}\n", rewrite::quoted(shown_as), rewrite::apply(source, edits)))
    }

    /// The compiler's messages, with the true columns of what was refused: g++ counts them in the pragma's own text.
    fn with_columns(&self, log: &str) -> String {
        let mut rest: Vec<_> = self.refusals.iter().collect();
        let mut out = String::with_capacity(log.len());
        for line in log.lines() {
            let told = rest.iter().position(|(path, refusal)| {
                line.starts_with(&format!("{path}:{}:", refusal.line)) && line.ends_with(refusal.reason)
            });
            match told.map(|at| rest.remove(at)) {
                Some((path, Refusal { line, column, reason })) => {
                    out += &format!("{path}:{line}:{column}: error: {reason}\n");
                }
                None => {
                    out += line;
                    out.push('\n');
                }
            }
        }
        out
    }

    fn resolve(&self, name: &str, folder: Option<&Path>) -> Option<PathBuf> {
        let folders = folder.into_iter().chain(self.request.include_dirs.iter().map(PathBuf::as_path));
        folders.map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// The name under which a local include stands in the build's folder; `None` leaves it to the compiler.
    fn include(&mut self, path: &Path, shown_as: &str) -> io::Result<Option<String>> {
        let real = path.canonicalize()?;
        if let Some(name) = self.known.get(&real) {
            return Ok(Some(name.clone()));
        }
        let Ok(source) = std::fs::read_to_string(&real) else { return Ok(None) };
        let name = format!("include_{}.h", self.known.len());
        self.known.insert(real, name.clone());
        let text = self.text(&source, shown_as, path.parent())?;
        std::fs::write(self.folder.join(&name), text)?;
        Ok(Some(name))
    }
}

/// Options in lab.toml may be meant for the GPU's compiler.
fn only_nvcc_knows(option: &str) -> bool {
    const PREFIXES: [&str; 13] = [
        "--gpu-architecture",
        "-arch",
        "-gencode",
        "--use_fast_math",
        "-use_fast_math",
        "--maxrregcount",
        "-maxrregcount",
        "-lineinfo",
        "--generate-line-info",
        "-Xptxas",
        "--ptxas-options",
        "-G",
        "--extra-device-vectorization",
    ];
    PREFIXES.iter().any(|prefix| option.starts_with(prefix)) || option.starts_with("-std=")
}

/// The instruction sets of this machine's processor, as the kernel lists them.
fn instructions() -> String {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lists = |line: &&str| line.starts_with("flags") || line.starts_with("Features");
    about.lines().find(lists).unwrap_or_default().to_owned()
}

/// "g++ 12.2.0", and whether it is clang.
fn version_of(compiler: &OsString) -> Option<(String, bool)> {
    let output = Command::new(compiler).arg("--version").output().ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let clang = text.contains("clang");
    let first = text.lines().next()?;
    let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let version = first.split_whitespace().rev().find(number).unwrap_or(first);
    Some((format!("{} {version}", if clang { "clang++" } else { "g++" }), clang))
}

fn cannot_write(folder: &Path, e: &io::Error) -> DeviceError {
    DeviceError::Unavailable(format!(
        "cannot write the cpu device's build to {}: {e}; make room or make the folder writable",
        folder.display()
    ))
}
