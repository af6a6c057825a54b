//! What the compiler prints when the machine failed it, or when it has reached a limit of its process,
//! in words for the user.

use lab_system::space;
use rustix::process::{Resource, getrlimit};

/// Whether SIGKILL ended a program of the compiler: no limit of its process does that.
pub fn is_killed(said: &str) -> bool {
    let mut lines = said.lines().filter(|line| !is_of_a_source(line));
    lines.any(|line| line.contains("Killed signal terminated"))
}

/// How a compiler that failed, and printed this, met a full disk; `None` where something else is
/// wrong. A program of the compiler that could not write a file may also end without a word.
pub fn is_disk_full(said: &str) -> Option<&'static str> {
    let mut lines = said.lines();
    if lines.any(|line| space::is_full(line) && is_of_a_program(line)) {
        return Some("the disk is full");
    }
    let names_an_error = said.to_ascii_lowercase().contains("error")
        || said.contains("undefined reference")
        || reached(said, "").is_some();
    (!names_an_error).then_some("it named no error, as when the disk is full")
}

/// Whether a program of the compiler says a line for itself. g++ writes the place in the source that
/// it had reached before its own words, and a source has lines of its own: `#error`.
fn is_of_a_program(line: &str) -> bool {
    const OWN: [&str; 4] = [
        "error writing to ",
        "error closing ",
        "when writing output to ",
        "cannot write PCH file",
    ];
    let message = line
        .split_once("error: ")
        .map_or("", |(_, message)| message);
    !is_of_a_source(line) || OWN.iter().any(|own| message.starts_with(own))
}

/// Returns the log of a build whose compiler has reached a limit of its process. `None` where it
/// failed for another reason.
pub fn reached(said: &str, shown_as: &str) -> Option<String> {
    let has = |word: &str| {
        let mut lines = said.lines().filter(|line| !is_of_a_source(line));
        lines.any(|line| line.contains(word))
    };
    let memory = [
        "out of memory",
        "virtual memory exhausted",
        "std::bad_alloc",
    ];
    let file = ["File size limit exceeded", "File too large"];
    let what = if memory.into_iter().any(has) {
        format!("more memory than the {} it may use", in_mib(Resource::As))
    } else if file.into_iter().any(has) {
        format!(
            "to write a file of more than the {} it may write",
            in_mib(Resource::Fsize)
        )
    } else if has("CPU time limit exceeded") {
        "more processor time than it may use".to_owned()
    } else {
        return None;
    };
    Some(format!(
        "{shown_as}:1: error: the compiler needed {what}, and was ended. Look for an include of a huge file, an array of \
         many bytes, or a macro or template that grows without end.\n"
    ))
}

/// Whether a line quotes or names a line of the source, as in `kernel.cu:3:2: error: #error out of
/// memory` and `    3 | #error out of memory`.
fn is_of_a_source(line: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_quoted = line.split_once(" |").is_some_and(|(number, _)| {
        let number = number.trim();
        number.is_empty() || is_number(number)
    });
    is_quoted || line.split(':').skip(1).any(is_number)
}

fn in_mib(resource: Resource) -> String {
    getrlimit(resource)
        .current
        .map_or_else(|| "bytes".into(), |bytes| format!("{} MiB", bytes >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_from_an_error_of_the_source() {
        let memory =
            "cc1plus: out of memory allocating 4294967312 bytes after a total of 577536 bytes\n";
        let told = reached(memory, "kernel.cu").unwrap_or_default();
        assert!(
            told.starts_with("kernel.cu:1: error: the compiler needed more memory than the "),
            "{told}"
        );
        let file =
            "g++: internal compiler error: File size limit exceeded signal terminated program as\n";
        assert!(
            reached(file, "k")
                .is_some_and(|told| told.contains("to write a file of more than the "))
        );
        let killed = "g++: fatal error: Killed signal terminated program cc1plus\n";
        assert!(is_killed(killed) && reached(killed, "k").is_none());
        assert!(!is_killed(
            "k.cu:3:2: error: #error Killed signal terminated\n"
        ));
        let full = Some("the disk is full");
        for of_a_program in [
            "kernel.cu:32: fatal error: error writing to /c/private/ccTNpk83.s: No space left on device\n",
            "kernel.cu:32:1: fatal error: error closing /c/private/cctpZdG8.s: No space left on device\n",
            "{standard input}: Fatal error: can't write 44 bytes to section .text of k.o: 'No space left on device'\n",
            "/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status\n",
            "error: unable to open output file 'k.o': 'No space left on device'\n",
            "cc1plus: fatal error: error writing to /c/cc.s: Disk quota exceeded\n",
        ] {
            assert_eq!(is_disk_full(of_a_program), full, "{of_a_program}");
        }
        for silent in ["", "kernel.cu:3:1: warning: unused variable 'x'\n"] {
            let told = is_disk_full(silent).unwrap_or_default();
            assert!(told.starts_with("it named no error"), "{silent}");
        }
        for of_the_source in [
            "kernel.cu:3:2: error: #error No space left on device\n",
            "kernel.cu:3:2: error: static assertion failed: No space left on device\n",
            "undefined reference to `f'\n",
            memory,
            file,
        ] {
            assert_eq!(is_disk_full(of_the_source), None, "{of_the_source}");
        }
        for of_the_source in [
            "kernel.cu:3:1: error: 'memory' was not declared\n",
            "kernel.cu:3:2: error: #error this tile is out of memory\n    3 | #error this tile is out of memory\n      |  ^~~~~\n",
        ] {
            assert_eq!(reached(of_the_source, "kernel.cu"), None, "{of_the_source}");
        }
    }
}
