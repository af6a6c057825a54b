//! What a compiler may read, and what a run says of its sandbox. The kernels that try to break out
//! of a worker are in `tests/kernels`.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "judge/doubled.rs"]
mod doubled;
#[allow(dead_code)]
#[path = "judge/support.rs"]
mod support;
#[allow(dead_code)]
#[path = "../../device/tests/support/trials.rs"]
mod trials;

use lab_device::sandbox;
use lab_protocol::JudgeRequest;
use lab_protocol::{CompileOptions, Exit};
use std::path::Path;
use std::process::ExitCode;
use support::{Folder, Judged};

fn main() -> ExitCode {
    let anywhere: [(&str, fn()); 4] = [
        (
            "a_run_says_what_holds_it_back",
            a_run_says_what_holds_it_back,
        ),
        (
            "a_path_that_a_trusted_lab_toml_names_is_readable_and_is_said",
            a_path_that_a_trusted_lab_toml_names_is_readable_and_is_said,
        ),
        (
            "includes_of_the_repository_are_readable",
            includes_of_the_repository_are_readable,
        ),
        (
            "a_kernel_does_not_get_what_the_shell_holds_open",
            a_kernel_does_not_get_what_the_shell_holds_open,
        ),
    ];
    let confined: [(&str, fn()); 4] = [
        (
            "a_source_includes_no_file_outside_its_folders",
            a_source_includes_no_file_outside_its_folders,
        ),
        (
            "the_shared_caches_are_not_readable",
            the_shared_caches_are_not_readable,
        ),
        (
            "a_path_that_no_trusted_lab_toml_names_is_not_readable",
            a_path_that_no_trusted_lab_toml_names_is_not_readable,
        ),
        (
            "records_of_the_repository_are_not_readable",
            records_of_the_repository_are_not_readable,
        ),
    ];
    let state = sandbox::support();
    let trial = |missing: Option<&str>, (name, test): (&str, fn())| {
        trials::trial(name, missing, move || {
            test();
            Ok(())
        })
    };
    let anywhere = anywhere.into_iter().map(|test| trial(None, test));
    let confined = confined
        .into_iter()
        .map(|test| trial(state.missing(), test));
    let trials = anywhere.chain(confined).collect();
    libtest_mimic::run(&trials::arguments(), trials).exit_code()
}

/// A correct kernel with further text at its top.
fn kernel(top: &str) -> String {
    doubled::kernel(top, "")
}

fn folder(top: &str) -> Folder {
    doubled::folder(&[100], &kernel(top))
}

fn judged(top: &str, change: impl FnOnce(&mut JudgeRequest)) -> Judged {
    let folder = folder(top);
    let mut options = folder.options();
    change(&mut options);
    support::run(options)
}

/// A file outside every folder that a compiler may read.
fn outside() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.h");
    std::fs::write(&file, "#define SECRET 1\nthis is a secret line\n").unwrap();
    let path = file.display().to_string();
    (folder, path)
}

fn a_run_says_what_holds_it_back() {
    let judged = judged("", |_| {});
    judged.expect(Exit::Passed);
    assert_eq!(judged.value("sandbox"), sandbox::support().to_string());
    assert_eq!(judged.report.value("sandbox_readable"), None);
}

fn a_source_includes_no_file_outside_its_folders() {
    let (_folder, path) = outside();
    for top in [
        format!("#include \"{path}\""),
        format!("asm(\".incbin \\\"{path}\\\"\");"),
        format!("asm(\".include \\\"{path}\\\"\");"),
        "asm(\".incbin \\\"/proc/self/environ\\\"\");".to_owned(),
        "#include \"/etc/passwd\"".to_owned(),
    ] {
        let judged = judged(&top, |_| {});
        judged.expect(Exit::NotBuilt);
        assert!(
            !judged.log.contains("secret line") && !judged.log.contains("root:"),
            "{top}: {}",
            judged.log
        );
    }
}

fn the_shared_caches_are_not_readable() {
    // An image of an earlier run.
    judged("", |_| {}).expect(Exit::Passed);
    let images = support::cache().join("images");
    let mut images = std::fs::read_dir(&images)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let image = images
        .find(|path| path.extension().is_some_and(|extension| extension == "so"))
        .unwrap();
    judged(
        &format!("asm(\".incbin \\\"{}\\\"\");", image.display()),
        |_| {},
    )
    .expect(Exit::NotBuilt);
}

/// A kernel that includes a header of this folder outside, judged with these readable folders.
fn includes_from(named: &Path, readable: &[&Path]) -> Judged {
    std::fs::write(named.join("width.h"), "#define WIDTH 4\n").unwrap();
    let option = format!("-I{}", named.display());
    judged(
        "#include <width.h>\nstatic_assert(WIDTH == 4);",
        |options| {
            options.compile_options = CompileOptions::parse(&[option]).unwrap();
            options.readable = readable.iter().map(|path| path.to_path_buf()).collect();
        },
    )
}

fn a_path_that_a_trusted_lab_toml_names_is_readable_and_is_said() {
    let (folder, _) = outside();
    let named = folder.path().canonicalize().unwrap();
    let judged = includes_from(&named, &[&named]);
    judged.expect(Exit::Passed);
    assert_eq!(
        judged.value("sandbox_readable"),
        format!("[\"{}\"]", named.display())
    );
}

fn a_path_that_no_trusted_lab_toml_names_is_not_readable() {
    let (folder, _) = outside();
    let named = folder.path().canonicalize().unwrap();
    includes_from(&named, &[]).expect(Exit::NotBuilt);
}

/// Judges a kernel that includes this path, in a repository with a folder of headers and with
/// records.
fn includes_in_a_repository(path: &str) -> Judged {
    let root = tempfile::tempdir().unwrap();
    let problem = root.path().join("kernels/doubled");
    for folder in [
        &problem,
        &root.path().join(".git"),
        &root.path().join(".lab"),
        &root.path().join("common"),
    ] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(root.path().join("common/width.h"), "#define WIDTH 4\n").unwrap();
    std::fs::write(root.path().join(".lab/width.h"), "#define WIDTH 4\n").unwrap();
    std::fs::write(problem.join("problem.toml"), doubled::problem(&[100])).unwrap();
    std::fs::write(problem.join("reference.cu"), kernel("")).unwrap();
    std::fs::write(
        problem.join("kernel.cu"),
        kernel(&format!("#include \"{path}\"\nint width = WIDTH;")),
    )
    .unwrap();
    support::run(support::options(&problem))
}

fn includes_of_the_repository_are_readable() {
    includes_in_a_repository("../../common/width.h").expect(Exit::Passed);
}

fn records_of_the_repository_are_not_readable() {
    includes_in_a_repository("../../.lab/width.h").expect(Exit::NotBuilt);
}

fn a_kernel_does_not_get_what_the_shell_holds_open() {
    use std::os::fd::AsRawFd;
    let (_folder, path) = outside();
    // Without the flag that keeps it from other programs.
    let open =
        rustix::fs::open(&path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
    let number = open.as_raw_fd();
    let folder = folder("#include \"host.h\"");
    let kernel = std::fs::read_to_string(folder.path().join("kernel.cu")).unwrap();
    let reads =
        format!("char byte; if (pread({number}, &byte, 1, 0) == 1) return;\n    if (i < n)");
    std::fs::write(
        folder.path().join("kernel.cu"),
        kernel.replace("if (i < n)", &reads),
    )
    .unwrap();
    folder.judge().expect(Exit::Passed);
}
