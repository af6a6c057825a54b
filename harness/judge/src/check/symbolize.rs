//! Source lines of addresses in an image of the cpu device.

use super::SourceLine;
use crate::outcome::{Result, Stop};
use lab_device::sandbox::{self, FileAccess, Policy};
use lab_system::threads;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::process::{Command, Output};

/// The program that knows the lines of an image.
const PROGRAM: &str = "addr2line";

/// Returns the source line of each address, counted from the image's beginning. If functions are
/// inlined there, it is the innermost line in the user's own source. Runs binutils' `addr2line`,
/// which is present wherever a C++ compiler can link.
pub fn resolve(
    image: &Path,
    addresses: impl IntoIterator<Item = u64>,
) -> Result<HashMap<u64, SourceLine>> {
    let addresses = BTreeSet::from_iter(addresses);
    if addresses.is_empty() {
        return Ok(HashMap::new());
    }
    let mut command = Command::new(PROGRAM);
    command
        .arg("-a")
        .arg("-i")
        .arg("-e")
        .arg(image)
        .args(addresses.iter().map(|a| format!("{a:#x}")));
    let output = confined(command, image).map_err(lacking)?;
    let here = std::env::current_dir().unwrap_or_default();
    Ok(read(&String::from_utf8_lossy(&output.stdout), &here))
}

/// Runs a command that reads this image and nothing else: the image was built from a source that
/// may be a stranger's.
fn confined(mut command: Command, image: &Path) -> io::Result<Output> {
    let execute = sandbox::toolchain_folders(PROGRAM.as_ref());
    let files = FileAccess {
        read: vec![image.to_owned()],
        execute,
        ..FileAccess::default()
    };
    let run = move || {
        // Without a sandbox the folder is trusted, or nothing was built.
        let _ = sandbox::enter(Policy::Compiler, &files);
        command.output()
    };
    let ended = threads::start("addr2line", run)?.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns an error with what to install, if `addr2line` is missing.
pub fn program() -> Result {
    Command::new(PROGRAM)
        .arg("--version")
        .output()
        .map(drop)
        .map_err(lacking)
}

fn lacking(error: io::Error) -> Stop {
    Stop::Lab(format!(
        "addr2line, which names the lines of findings, cannot be run: {error}; install binutils"
    ))
}

fn read(text: &str, here: &Path) -> HashMap<u64, SourceLine> {
    let mut places = HashMap::new();
    let mut address = 0;
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("0x") {
            address = u64::from_str_radix(number.trim(), 16).unwrap_or(0);
            continue;
        }
        // The form is `/folder/kernel.cu:12 (discriminator 3)`.
        let place = line.split(" (").next().unwrap_or(line);
        let Some((file, row)) = place.rsplit_once(':') else {
            continue;
        };
        let Ok(row) = row.parse() else { continue };
        if row == 0 || !is_users(file) {
            continue;
        }
        let file = Path::new(file);
        // The cpu device's compiler writes `.` for the current folder.
        let relative = file.strip_prefix(".").or_else(|_| file.strip_prefix(here));
        let file = relative.unwrap_or(file).display().to_string();
        places
            .entry(address)
            .or_insert(SourceLine { file, line: row });
    }
    places
}

/// Returns whether a file is the user's own: neither one of the lab's headers nor a system header.
pub fn is_users(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    // What is behind the user's source in the compiled file has that file's own name.
    let labs = ["lab.h", "lab_problem.h", "lab_cpu.h", "kernel.cpp"].contains(&name)
        || file.contains("/lab_cpu/");
    let elsewhere = file.starts_with("/usr/") || file.starts_with('?');
    !labs && !elsewhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_innermost_line_of_the_users_source() {
        let text = "0x0000000000001234\n/cache/cpu-1/lab_cpu/memory.h:9\n/here/lab.h:80\n/here/kernels/a/kernel.cu:12 \
                    (discriminator 2)\n/here/kernels/a/kernel.cu:40\n0x0000000000000010\n??:0\n";
        let places = read(text, Path::new("/here"));
        assert_eq!(places.len(), 1);
        assert_eq!(
            places[&0x1234],
            SourceLine {
                file: "kernels/a/kernel.cu".into(),
                line: 12
            }
        );
    }
}
