//! What the compiler prints when it has reached a limit of its process, in words for the user.

use rustix::process::{Resource, getrlimit};

/// Returns the log of a build whose compiler has reached a limit of its process. `None` where it
/// failed for another reason.
pub fn reached(said: &str, shown_as: &str) -> Option<String> {
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let what = if has(&[
        "out of memory",
        "virtual memory exhausted",
        "std::bad_alloc",
        "Killed signal terminated",
    ]) {
        format!("more memory than the {} it may use", in_mib(Resource::As))
    } else if has(&["File size limit exceeded", "File too large"]) {
        format!(
            "to write a file of more than the {} it may write",
            in_mib(Resource::Fsize)
        )
    } else if has(&["CPU time limit exceeded"]) {
        "more processor time than it may use".to_owned()
    } else {
        return None;
    };
    Some(format!(
        "{shown_as}:1: error: the compiler needed {what}, and was ended. Look for an include of a huge file, an array of \
         many bytes, or a macro or template that grows without end.\n"
    ))
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
        assert_eq!(
            reached(
                "kernel.cu:3:1: error: 'memory' was not declared\n",
                "kernel.cu"
            ),
            None
        );
    }
}
