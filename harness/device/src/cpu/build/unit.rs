//! Building one unit: the preprocessor, the scan of its result, then the compiler.

use super::compiler::{RACE_HOOKS_OBJECT, header_name};
use super::preprocessed::host_code::HostCheck;
use super::preprocessed::{
    CONSTANT, DEVICE, Declaration, GLOBAL, HOST, Preprocessed, SHARED, declarations, entries,
    prologue, refused,
};
use super::{HostCompiler, cannot_write};
use super::{imports, limits};
use crate::api::{BuildRequest, Result, Sanitizer};
use crate::cpu::headers;
use crate::cpu::rewrite::{Edit, Refusal, apply, rewrite_preprocessed};
use lab_source::line_start;
use lab_system::threads::{Beside, beside};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What one unit is built with.
pub struct Unit<'b> {
    pub compiler: &'b HostCompiler,
    pub request: &'b BuildRequest,
    /// The build's folder, which holds the unit's files.
    pub folder: &'b Path,
    /// The folder of the cpu device's headers.
    pub headers: &'b Path,
}

/// The options for a shared object. A function without a definition is an error of the build, as
/// with NVRTC.
const SHARED_OBJECT: &[&str] = &["-shared", "-Wl,-z,defs", "-Wl,-Bsymbolic"];

/// The result of the preprocessor.
enum Preprocessing {
    Done(Preprocessed),
    /// The log of the build.
    LimitReached(String),
    /// The source has errors.
    Failed,
}

/// The result of a step: what the compiler printed, and whether it succeeded.
#[derive(Default)]
pub struct Compiled {
    pub log: String,
    pub built: bool,
    /// Where the source is other code on a GPU, as [`Unit::other_code`] says it.
    pub other_code: Option<String>,
}

impl Compiled {
    fn failed(log: String) -> Compiled {
        Compiled {
            log,
            ..Compiled::default()
        }
    }

    /// Makes an error of each warning that the source uses what C++17 lacks: NVRTC refuses it.
    fn without_extensions(mut self) -> Compiled {
        let extensions = [
            "[-Wpedantic]",
            "[-Wvla]",
            "[-Wpointer-arith]",
            "[-Wregister]",
            "[-Wc++20-extensions]",
            "[-Wc++23-extensions]",
        ];
        // NVRTC takes these.
        let taken = [
            "anonymous structs",
            "variadic macro",
            "variable number of arguments",
            "#warning",
            "extended character",
        ];
        let mut log = String::new();
        for line in self.log.lines() {
            let is_extension = line.contains(": warning: ")
                && (extensions.iter().any(|option| line.ends_with(option))
                    || line.contains(" only available with '-std=c++20'"));
            if !is_extension {
                log += &format!("{line}\n");
            } else if !taken.iter().any(|words| line.contains(words)) {
                let line = line.replacen(": warning: ", ": error: ", 1);
                log += &format!(
                    "{}\n",
                    line.rsplit_once(" [").map_or(&*line, |(text, _)| text)
                );
                self.built = false;
            }
        }
        self.log = log;
        self
    }
}

impl Unit<'_> {
    /// Compiles a rewritten source to a shared object at `target`.
    pub fn compile(&self, source: &str, target: &Path) -> Result<Compiled> {
        let text = match self.preprocess(source)? {
            Preprocessing::Done(text) => text,
            Preprocessing::LimitReached(log) => return Ok(Compiled::failed(log)),
            Preprocessing::Failed => return self.without_scan(source, target),
        };
        let is_host = self.request.is_host();
        let refused = if is_host {
            String::new()
        } else {
            refused::errors(&text)
        };
        if !refused.is_empty() {
            return Ok(Compiled::failed(refused));
        }
        // A macro of the user's own may declare shared memory.
        let preprocessed = text.holds_word(SHARED);
        let declarations = declarations(&text);
        let registrations = entries::registrations(&text, &declarations, preprocessed);
        let check = HostCheck::new(&text, &declarations).filter(|_| !is_host);
        let unit = if preprocessed {
            match without_words(&text) {
                Ok(rest) => self.write("expanded.ii", &format!("{rest}\n{registrations}"))?,
                Err(log) => return Ok(Compiled::failed(log)),
            }
        } else {
            self.write("kernel.cpp", &format!("{source}\n{registrations}"))?
        };
        let is_plain = !is_host && self.request.sanitizer.is_none();
        std::thread::scope(|scope| {
            let checking = check
                .as_ref()
                .map(|check| beside(scope, move || self.host_code(check)));
            let asking = is_plain.then(|| beside(scope, || self.other_code(source)));
            let mut compiled = self.to_image(&unit, preprocessed, target)?;
            if compiled.built && is_plain {
                let image = self.file(std::fs::read(target))?;
                for name in imports::forbidden(&image) {
                    compiled.log += &format!("undefined reference to `{name}'\n");
                    compiled.built = false;
                }
            }
            if !compiled.built {
                compiled.log = undefined_named(&compiled.log, &text, &declarations);
            }
            compiled.log = entries::told_once(&compiled.log);
            compiled.other_code = asking.map(Beside::join).transpose()?.flatten();
            if let Some(errors) = checking
                .map(Beside::join)
                .transpose()?
                .filter(|errors| !errors.is_empty())
            {
                compiled.log += &errors;
                compiled.built = false;
            }
            Ok(compiled)
        })
    }

    /// Lets the compiler say what is wrong with a source that cannot be preprocessed.
    fn without_scan(&self, source: &str, target: &Path) -> Result<Compiled> {
        let mut compiled = self.to_image(&self.write("kernel.cpp", source)?, false, target)?;
        if compiled.built {
            let shown_as = &self.request.shown_as;
            compiled.log +=
                &format!("{shown_as}:1: error: the preprocessor failed on this source\n");
            compiled.built = false;
        }
        Ok(compiled)
    }

    /// Preprocesses a source, with CUDA's words marked.
    fn preprocess(&self, source: &str) -> Result<Preprocessing> {
        let path = self.write("scanned.cpp", &format!("{}{source}", prologue()))?;
        let target = self.folder.join("scanned.ii");
        let mut command = self.with_options();
        if !self.compiler.clang {
            // Without this option the text of all headers would be in the result.
            command.arg("-fpch-preprocess");
        }
        command.args(["-E", "-x", "c++"]).arg(path);
        let output = self.compiler.run(command.arg("-o").arg(&target))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let reached = limits::reached(&said, &self.request.shown_as);
            return Ok(reached.map_or(Preprocessing::Failed, Preprocessing::LimitReached));
        }
        let text = String::from_utf8_lossy(&self.file(std::fs::read(target))?).into_owned();
        Ok(Preprocessing::Done(Preprocessed::read(text, self.headers)))
    }

    /// Compiles and links. `preprocessed` says that the preprocessor has done its work.
    fn to_image(&self, unit: &Path, preprocessed: bool, target: &Path) -> Result<Compiled> {
        let object = self.folder.join("kernel.o");
        let (kind, made) = match self.request.sanitizer {
            // clang leaves its AddressSanitizer to the program that loads the object.
            Some(Sanitizer::Address) if self.compiler.clang => (&["-shared"][..], target),
            Some(Sanitizer::Address) => (SHARED_OBJECT, target),
            // With -fsanitize the linker would add libtsan or libubsan. Linked in a second step
            // without the option, the module keeps the entry points in `lab_cpu/race_hooks.h`
            // and `lab_cpu/checked.h`.
            Some(Sanitizer::Thread) | None => (&["-c"][..], &*object),
        };
        let mut command = self.with_options();
        command.args(kind).args(self.language(preprocessed));
        let mut compiled = self.run(command.arg(unit).arg("-o").arg(made))?;
        if !self.request.is_host() {
            compiled = compiled.without_extensions();
        }
        if let Some(reached) = limits::reached(&compiled.log, &self.request.shown_as)
            && !compiled.built
        {
            compiled.log = reached;
        }
        if made == object && compiled.built {
            let mut link = self.compiler.command(SHARED_OBJECT);
            if self.request.sanitizer == Some(Sanitizer::Thread) {
                link.arg(self.headers.join(RACE_HOOKS_OBJECT));
                // They name each call of the detector: `watched_instructions`.
                link.arg("-Wl,--emit-relocs");
            }
            let linked = self.run(link.arg(object).arg("-o").arg(target))?;
            compiled.log += &linked.log;
            compiled.built = linked.built;
        }
        Ok(compiled)
    }

    fn run(&self, command: &mut Command) -> Result<Compiled> {
        let output = self.compiler.run(command)?;
        Ok(Compiled {
            log: String::from_utf8_lossy(&output.stderr).into_owned(),
            built: output.status.success(),
            ..Compiled::default()
        })
    }

    /// Returns the errors of device code that uses host code.
    fn host_code(&self, check: &HostCheck) -> Result<String> {
        let path = self.write("checked.ii", &check.checked)?;
        let mut command = self.command(false);
        if self.compiler.clang {
            self.include_precompiled(&mut command);
        }
        command.args(["-fsyntax-only", "-w"]);
        command.args(self.language(true)).arg(path);
        Ok(check.errors(&self.run(&mut command)?.log))
    }

    /// The compiler with the options that the precompiled header was made with.
    fn command(&self, is_host: bool) -> Command {
        let flags = self.compiler.flags(is_host, self.request.sanitizer);
        self.compiler.command(&flags)
    }

    /// [`Unit::command`] with the options for headers, and the user's.
    fn with_options(&self) -> Command {
        let is_host = self.request.is_host();
        let mut command = self.command(is_host);
        if is_host {
            let header = header_name(self.request.sanitizer);
            command.args(["-DLAB_CPU_HOST", "-include"]);
            command.arg(self.headers.join(header));
        } else {
            self.include_precompiled(&mut command);
        }
        self.add_folders_and_users_options(&mut command);
        command
    }

    /// Adds the folders that are searched for headers, and the user's options.
    pub fn add_folders_and_users_options(&self, command: &mut Command) {
        let standard = self.headers.join(headers::STANDARD_FOLDER);
        // In the order in which they are searched.
        let own = self.request.source.parent().into_iter();
        let folders = [self.folder, self.headers]
            .into_iter()
            .chain((!self.request.is_host()).then_some(&*standard))
            .chain(own);
        for folder in folders.chain(self.request.include_dirs.iter().map(PathBuf::as_path)) {
            command.arg("-I").arg(folder);
        }
        // Keeps the current folder out of the image: the debug information would hold it, and an
        // image from the cache would name the folder in which it was first built.
        if let Ok(current) = std::env::current_dir() {
            let mut map = OsString::from("-fdebug-prefix-map=");
            map.push(current);
            map.push("=.");
            command.arg(map);
        }
        command.args(self.request.options.for_host());
    }

    /// Adds the options for the precompiled header.
    fn include_precompiled(&self, command: &mut Command) {
        let header = self.headers.join(header_name(self.request.sanitizer));
        if self.compiler.clang {
            command
                .arg("-include-pch")
                .arg(header.with_added_extension("pch"));
        } else {
            command.arg("-include").arg(header);
        }
    }

    fn language(&self, preprocessed: bool) -> &'static [&'static str] {
        match (preprocessed, self.compiler.clang) {
            (false, _) => &["-x", "c++"],
            (true, false) => &["-fpreprocessed", "-x", "c++"],
            (true, true) => &["-x", "c++-cpp-output"],
        }
    }

    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        self.file(std::fs::write(&path, text))?;
        Ok(path)
    }

    /// The result of reading or writing a file of the build's folder.
    fn file<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(|error| cannot_write(&self.request.cache_dir, &error))
    }
}

/// Replaces the linker's messages about functions that nothing defines by compiler messages at
/// their declarations.
fn undefined_named(log: &str, text: &Preprocessed, declarations: &[Declaration]) -> String {
    let is_linkers = |line: &&str| {
        line.contains("undefined reference to `")
            || line.contains(": in function `")
            || line.starts_with("collect2: ")
    };
    let missing = log.lines().filter_map(|line| {
        let (_, name) = line.split_once("undefined reference to `")?;
        Some(name.trim_end_matches('\''))
    });
    let mut seen = HashSet::new();
    let missing = missing.filter(|symbol| seen.insert(*symbol));
    let place = |symbol: &str| {
        let name = symbol.split(['(', '<']).next()?.rsplit("::").next()?;
        let mut declared = declarations.iter();
        let found = declared.find(|d| d.name == name && d.body.is_none())?;
        let (file, line) = text.place(text.tokens[found.first].start);
        Some(format!(
            "{file}:{line}: error: '{symbol}' is used, but nothing defines it\n"
        ))
    };
    let places: Option<Vec<String>> = missing.map(place).collect();
    match places.filter(|places| !places.is_empty()) {
        Some(places) => {
            let others = log
                .lines()
                .filter(|line| !is_linkers(line))
                .map(|line| format!("{line}\n"));
            others.chain(places).collect()
        }
        None => log.to_owned(),
    }
}

/// Returns the preprocessed text without CUDA's words, for a source whose macros declare shared
/// memory: only here these declarations can be rewritten. The error is the build's log.
fn without_words(text: &Preprocessed) -> Result<String, String> {
    let rewritten = rewrite_preprocessed(&text.text, SHARED);
    let errors = rewritten
        .refusals
        .iter()
        .map(|Refusal { line, reason, .. }| {
            let (file, line) = text.place(line_start(&text.text, *line));
            format!("{file}:{line}: error: {reason}\n")
        });
    let log: String = errors.collect();
    if !log.is_empty() {
        return Err(log);
    }
    let mut edits: Vec<Edit> = rewritten
        .edits
        .into_iter()
        .filter(|edit| !text.is_foreign(edit.start))
        .collect();
    for (at, token) in text.tokens.iter().enumerate() {
        let plain = match text.at(at) {
            DEVICE | CONSTANT | HOST => "",
            GLOBAL => "__attribute__((used))",
            _ => continue,
        };
        edits.push(Edit::new(token.start, token.end, plain));
    }
    Ok(apply(&text.text, edits))
}
