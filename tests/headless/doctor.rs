//! `lab doctor --report`: what a report of a fault needs.

use crate::lab::{Lab, finish};
use proptest::prelude::*;
use std::fs;

#[test]
fn the_report_names_the_version_and_the_machine_and_nothing_of_the_users() {
    let lab = Lab::empty();
    lab.script("secret-python", "exit 1");
    lab.write("secret-kernel.cu", "");
    lab.write(
        "lab.toml",
        "kernel = \"secret-kernel.cu\"\npython = \"secret-python\"\nharness = [\"secret-harness\"]\n",
    );
    let report = lab.lab("doctor --report").out;
    let version = format!("- lab {}", env!("CARGO_PKG_VERSION"));
    for text in [
        &version,
        "\n- Linux ",
        "LAB_KEY_FILE",
        "\n```text\n",
        "\n✓ git ",
    ] {
        assert!(report.contains(text), "'{text}' is not in {report}");
    }
    let folder = lab.repo.parent().unwrap().to_str().unwrap();
    for private in [folder, "secret-kernel", "secret-harness"] {
        assert!(!report.contains(private), "'{private}' is in {report}");
    }
    lab.lab("doctor --report --json").is(64);
}

/// What only its user knows: a name with a blank, as folders and computers have it.
fn secret() -> impl Strategy<Value = String> {
    "(q[bcdfghjklm]{5}) (w[bcdfghjklm]{5})( 7[0-9]{5})?"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever somebody calls his home, his programs and himself, and whatever these programs print,
    /// the report has none of it.
    #[test]
    fn any_name_of_the_users_stays_out_of_the_report(
        names in proptest::collection::vec(secret(), 10),
        is_relative: bool,
        names_a_compiler: bool,
    ) {
        let lab = Lab::empty();
        let [home, tool, argument, git, python, term, variable, theme, user, host] = &names[..] else {
            unreachable!("ten names")
        };
        fs::create_dir_all(lab.path(&format!("../bin/{tool}"))).unwrap();
        fs::create_dir_all(lab.path(home)).unwrap();
        let compiler = if names_a_compiler {
            format!("echo '{user} clang++ (made by {host}) 17.0.1-{host}'")
        } else {
            format!("echo '{user}: no compiler of {host}' >&2; exit 1")
        };
        lab.script(&format!("../bin/{tool}/c++"), &compiler);
        lab.script("../bin/git", &format!("echo 'git version 2.39.5.{git} ({user}@{host})'"));
        let probed = format!(
            "{{\"version\": \"3.12.1+{python}\", \"packages\": {{\"torch\": {{\"version\": \"2.6.0+{user}\", \"cuda\": \
             \"{host}\"}}, \"numpy\": {{\"error\": \"/home/{user}: {host}\"}}}}, \"missing\": [\"{user}\"]}}"
        );
        lab.script(&format!("../bin/{tool}/python"), &format!("echo; echo 'lab-doctor: {probed}'"));
        lab.write("kernel.py", format!("import {}\n", user.split(' ').next().unwrap()));
        let here = lab.path("../bin").canonicalize().unwrap();
        let tools = if is_relative { "../bin".to_owned() } else { here.display().to_string() };
        let options = if names_a_compiler { String::new() } else { format!(" -D{argument}=/srv/{host}") };
        let mut command = lab.plain_lab_command("doctor --report");
        command
            .env("HOME", lab.path(home))
            .env("CXX", format!("{tools}/{tool}/c++{options}"))
            .env("LAB_PYTHON", format!("{tools}/{tool}/python"))
            .env("LAB_NCU", format!("/opt/{tool}/ncu"))
            .env("CUDA_HOME", format!("/srv/{host}/{user}"))
            .env("TERM", term)
            .env(format!("LAB_{}", variable.replace(' ', "_")), variable)
            .env("LAB_CONFIG_DIR", lab.path(theme))
            .env("USER", user)
            .env("HOSTNAME", host);
        let output = finish(command.spawn().unwrap());
        for name in names.iter().flat_map(|name| name.split(' ')) {
            assert!(!output.out.contains(name), "'{name}' is in {}", output.out);
        }
        let here = lab.repo.parent().unwrap().display().to_string();
        assert!(!output.out.contains(&here), "{}", output.out);
        // What a report needs is there all the same.
        for text in ["✓ git           2.39.5\n", "python        Python 3.12.1, named by LAB_PYTHON, numpy fails to import, torch 2.6.0"] {
            assert!(output.out.contains(text), "'{text}' is not in {}", output.out);
        }
        if names_a_compiler {
            assert!(output.out.contains("✓ C++ compiler  clang++ 17.0.1\n"), "{}", output.out);
        }
    }
}

/// Ubuntu 20.04 has g++ 9: doctor says what a run says.
#[test]
fn a_compiler_that_is_too_old_is_told_before_the_first_run() {
    let lab = Lab::empty();
    for name in ["g++", "clang++", "c++"] {
        lab.script(
            &format!("../bin/{name}"),
            "echo 'g++ (Ubuntu 9.3.0-17ubuntu1~20.04) 9.3.0'",
        );
    }
    lab.lab("new softplus").is(0);
    let why = "the one here is g++ 9.3.0, older than g++ 11";
    let doctor = lab
        .lab("doctor")
        .is(1)
        .says(why)
        .says("Install g++ 11, clang++ 14");
    assert!(doctor.out.contains("✗ C++ compiler"), "{}", doctor.out);
    lab.lab("run softplus").is(64).says(why);
    let mut named = lab.lab_command("doctor");
    named.env("CXX", "c++");
    finish(named.spawn().unwrap())
        .is(1)
        .says("CXX names 'c++', and this compiler is g++ 9.3.0, older than g++ 11");
    // An older one does not hide a newer one.
    lab.script(
        "../bin/clang++",
        "echo 'Ubuntu clang version 14.0.0-1ubuntu1.1'",
    );
    let doctor = lab.lab("doctor");
    assert!(
        doctor.out.contains("✓ C++ compiler  clang++ 14.0.0"),
        "{}",
        doctor.out
    );
}

#[test]
fn outside_of_git_a_repository_comes_first() {
    let lab = Lab::empty();
    lab.sh("mkdir ../outside && cd ../outside && \"$LAB\" doctor")
        .is(1)
        .says("→ `git init`, then `lab new NAME`, which writes a problem to begin with");
}

/// An NVRTC that compiles only if another library opens by its name alone, as that of pip's wheels.
const NVRTC: &str = r#"
#include <dlfcn.h>
#include <stddef.h>
int nvrtcVersion(int* major, int* minor) { *major = 13; *minor = 0; return 0; }
int nvrtcGetNumSupportedArchs(int* count) { *count = 1; return 0; }
int nvrtcGetSupportedArchs(int* archs) { *archs = 90; return 0; }
const char* nvrtcGetErrorString(int code) { return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"; }
int nvrtcCreateProgram(void** program) { *program = program; return 0; }
int nvrtcDestroyProgram(void** program) { return 0; }
int nvrtcCompileProgram(void* program) { return dlopen("libnvrtc-builtins.so.13.0", RTLD_NOW) ? 0 : 7; }
static int size(size_t* bytes) { *bytes = 1; return 0; }
int nvrtcGetProgramLogSize(void* program, size_t* bytes) { return size(bytes); }
int nvrtcGetCUBINSize(void* program, size_t* bytes) { return size(bytes); }
static int content(char* bytes) { *bytes = 0; return 0; }
int nvrtcGetProgramLog(void* program, char* bytes) { return content(bytes); }
int nvrtcGetCUBIN(void* program, char* bytes) { return content(bytes); }
"#;

#[test]
fn doctor_lets_nvrtc_compile_with_the_library_that_lies_beside_it() {
    let lab = Lab::empty();
    for folder in ["include", "lib64"] {
        fs::create_dir_all(lab.path(&format!("../cuda/{folder}"))).unwrap();
    }
    lab.write("../nvrtc.c", NVRTC);
    lab.write("../builtins.c", "");
    lab.write("../cuda/include/cooperative_groups.h", "");
    let builtins = "libnvrtc-builtins.so.13.0";
    for (source, library) in [("nvrtc.c", "libnvrtc.so.13"), ("builtins.c", builtins)] {
        let mut compiler = lab.command("cc");
        compiler
            .args(["-shared", "-fPIC", &format!("-Wl,-soname,{library}"), "-o"])
            .args([format!("../cuda/lib64/{library}"), format!("../{source}")]);
        assert!(compiler.status().unwrap().success());
    }
    let doctor = || {
        let mut command = lab.lab_command("doctor");
        command.env("CUDA_HOME", lab.path("../cuda"));
        finish(command.spawn().unwrap()).out
    };
    let out = doctor();
    assert!(
        out.contains("✓ NVRTC") && out.contains("found by CUDA_HOME"),
        "{out}"
    );
    fs::remove_file(lab.path(&format!("../cuda/lib64/{builtins}"))).unwrap();
    let out = doctor();
    assert!(!out.contains("✓ NVRTC"), "{out}");
    assert!(
        out.contains(
            "NVRTC 13.0 could not compile line.cu (): NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"
        ),
        "{out}"
    );
}
