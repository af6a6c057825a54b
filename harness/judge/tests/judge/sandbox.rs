//! What a compiler may read and write, and what happens without a sandbox. The kernels that try to
//! break out of a worker are in `tests/kernels`.

use crate::doubled;
use crate::support::{self, Folder, Judged};
use lab_device::sandbox;
use lab_protocol::JudgeRequest;
use lab_protocol::{CompileOptions, Exit};
use std::path::Path;

/// A correct kernel with further text at its top.
fn kernel(top: &str) -> String {
    doubled::kernel(top, "")
}

fn folder(top: &str) -> Folder {
    doubled::folder(&[100], &kernel(top))
}

/// Whether Linux can confine a process here. Says so where it cannot.
fn has_sandbox() -> bool {
    let missing = sandbox::support();
    if let Some(why) = missing.missing() {
        eprintln!("skipped: {why}");
    }
    missing.missing().is_none()
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

#[test]
fn a_run_says_what_holds_it_back() {
    let judged = judged("", |_| {});
    judged.expect(Exit::Passed);
    let state = if has_sandbox() { "landlock" } else { "none" };
    judged.expect_in("sandbox", state);
    assert_eq!(judged.report.value("sandbox_readable"), None);
}

#[test]
fn a_source_includes_no_file_outside_its_folders() {
    if !has_sandbox() {
        return;
    }
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

#[test]
fn the_shared_caches_are_not_readable() {
    if !has_sandbox() {
        return;
    }
    // An image of an earlier run.
    judged("", |_| {}).expect(Exit::Passed);
    let images = support::cache().join("images");
    let image = std::fs::read_dir(&images)
        .unwrap()
        .flatten()
        .map(|e| e.path());
    let image = image
        .into_iter()
        .find(|path| path.extension().is_some_and(|e| e == "so"))
        .unwrap();
    judged(
        &format!("asm(\".incbin \\\"{}\\\"\");", image.display()),
        |_| {},
    )
    .expect(Exit::NotBuilt);
}

#[test]
fn a_path_that_a_trusted_lab_toml_names_is_readable_and_is_said() {
    let (folder, _) = outside();
    let named = folder.path().canonicalize().unwrap();
    std::fs::write(named.join("width.h"), "#define WIDTH 4\n").unwrap();
    let option = format!("-I{}", named.display());
    let top = "#include <width.h>\nstatic_assert(WIDTH == 4);";
    let judged_with = |readable: &[&Path]| {
        judged(top, |options| {
            options.compile_options = CompileOptions::parse(std::slice::from_ref(&option)).unwrap();
            options.readable = readable.iter().map(|path| path.to_path_buf()).collect();
        })
    };
    let with = judged_with(&[&named]);
    with.expect(Exit::Passed);
    assert_eq!(
        with.value("sandbox_readable"),
        format!("[\"{}\"]", named.display())
    );
    if has_sandbox() {
        judged_with(&[]).expect(Exit::NotBuilt);
    }
}

#[test]
fn includes_of_the_repository_are_readable_and_its_records_are_not() {
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
    let including = |path: &str| {
        std::fs::write(
            problem.join("kernel.cu"),
            kernel(&format!("#include \"{path}\"\nint width = WIDTH;")),
        )
        .unwrap();
        support::run(support::options(&problem))
    };
    including("../../common/width.h").expect(Exit::Passed);
    if has_sandbox() {
        including("../../.lab/width.h").expect(Exit::NotBuilt);
    }
}

#[test]
fn a_kernel_does_not_get_what_the_shell_holds_open() {
    use std::os::fd::AsRawFd;
    let (_folder, path) = outside();
    // Without the flag that keeps it from other programs.
    let open =
        rustix::fs::open(&path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
    let number = open.as_raw_fd();
    let folder = folder("#include <unistd.h>");
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
