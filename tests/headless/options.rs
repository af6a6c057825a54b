//! `[compile] options` of a stranger's lab.toml: an option that would start, read or write
//! something else never reaches a compiler, not even if no sandbox holds and the folder is trusted.

use crate::built_in::rmsnorm;
use crate::lab::{CommandOutput, Lab, finish};
use lab_device::sandbox;

/// `lab ARGS` as on a Linux without Landlock, where a compiler may do everything that its user may
/// do.
fn without_sandbox(lab: &Lab, args: &str) -> CommandOutput {
    let mut command = lab.plain_lab_command(args);
    command.env(sandbox::VARIABLE, "none");
    finish(command.spawn().unwrap())
}

fn with_options(lab: &Lab, toml: &str, options: &str) {
    lab.write(
        "lab.toml",
        format!("{toml}[compile]\noptions = [{options}]\n"),
    );
}

#[test]
fn an_option_starts_reads_and_writes_nothing() {
    let lab = rmsnorm();
    let toml = lab.read("lab.toml");
    let out = lab.path("../outside");
    std::fs::create_dir(&out).unwrap();
    let shown = out.display();
    lab.write("../outside/options", format!("-o{shown}/image"));
    lab.write("../outside/secret.h", "#error a secret line\n");
    for options in [
        format!("\"-wrapper\", \"sh,-c,touch {shown}/made\""),
        format!("\"@{shown}/options\""),
        format!("\"-D\", \"@{shown}/options\""),
        format!("\"-include\", \"{shown}/secret.h\""),
        format!("\"-include{shown}/secret.h\""),
        format!("\"-imacros\", \"{shown}/secret.h\""),
        format!("\"-MD\", \"-MF\", \"{shown}/made\""),
        format!("\"-Wp,-MD,{shown}/made\""),
        format!("\"-save-temps\", \"-dumpdir\", \"{shown}/made\""),
        format!("\"-o\", \"{shown}/made\""),
        format!("\"-B\", \"{shown}\""),
        format!("\"-B{shown}\""),
        format!("\"-specs={shown}/options\""),
        format!("\"-fplugin={shown}/plugin.so\""),
        format!("\"-Wl,-Map={shown}/made\""),
        format!("\"-Xlinker\", \"-Map={shown}/made\""),
        format!("\"-fprofile-generate={shown}\""),
        format!("\"-fdiagnostics-add-output=text:file={shown}/made\""),
        format!("\"{shown}/secret.h\""),
    ] {
        with_options(&lab, &toml, &options);
        without_sandbox(&lab, "trust --yes");
        for command in [
            "run",
            "run --json",
            "check",
            "bench --verdict",
            "harness kernels/rmsnorm",
        ] {
            // The judge reads no lab.toml: its options are arguments.
            let command = match command.starts_with("harness") {
                true => options
                    .replace("\", \"", "\u{1}")
                    .split('\u{1}')
                    .fold(command.to_owned(), |line, option| {
                        format!("{line} --option '{}'", option.trim_matches('"'))
                    }),
                false => command.to_owned(),
            };
            let output = without_sandbox(&lab, &command);
            assert_eq!(output.code, 64, "{options} {command}: {output:?}");
            assert!(
                output.out.contains("is not allowed") || output.err.contains("is not allowed"),
                "{output:?}"
            );
            let said = output.out + &output.err;
            assert!(!said.contains("a secret line"), "{said}");
        }
        let mut left: Vec<_> = std::fs::read_dir(&out)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["options", "secret.h"], "{options}");
    }
    assert!(!lab.path(".lab/runs").exists(), "nothing ran");
}

#[test]
fn an_error_names_the_option_and_the_line_and_history_can_still_be_mended() {
    let lab = rmsnorm();
    let toml = lab.read("lab.toml");
    with_options(&lab, &toml, "\"-O3\",\n  \"-fplugin=x.so\"");
    lab.lab("run")
        .is(64)
        .says("lab.toml:6:3: the compiler option \"-fplugin=x.so\" is not allowed: it starts other programs");
    // A committed bad option does not prevent a mended file.
    lab.git("commit -qam hostile");
    with_options(&lab, &toml, "\"-O3\"");
    lab.lab("rules")
        .is(0)
        .says("its keys in HEAD cannot be read");
    lab.lab("log").is(0);
}

#[test]
fn options_of_either_compiler_pass() {
    let lab = rmsnorm();
    let toml = lab.read("lab.toml");
    let options = [
        "-O1",
        "-g",
        "-DTILE=32",
        "-D",
        "WIDTH=4",
        "-UNDEBUG",
        "-std=c++20",
        "-ffast-math",
        "-fno-finite-math-only",
        "-fno-math-errno",
        "-march=native",
        "-funroll-loops",
        "-Wall",
        "-Wno-unused",
        "-w",
        "--use_fast_math",
        "-maxrregcount=64",
        "-lineinfo",
        "-Xptxas",
        "-O3",
        "-arch=sm_90",
    ];
    let list: Vec<String> = options.iter().map(|option| format!("{option:?}")).collect();
    with_options(&lab, &toml, &list.join(", "));
    // -ffast-math makes NaN of 1 / sqrt(inf), which it computes by Newton's method.
    let problem = "kernels/rmsnorm/problem.toml";
    let infinities = r#"planted = ["ordinary", "inf", "negative_inf", "nan"]"#;
    assert!(lab.read(problem).contains(infinities));
    lab.write(
        problem,
        lab.read(problem).replace(infinities, "planted = true"),
    );
    let kernel = "kernels/rmsnorm/kernel.cu";
    lab.write(
        kernel,
        format!(
            "static_assert(TILE == 32 && WIDTH == 4);\n{}",
            lab.read(kernel)
        ),
    );
    lab.lab("run").is(0);
}

#[test]
fn help_of_a_word_that_is_a_command_and_a_page_prints_both() {
    let lab = Lab::new();
    lab.lab("help sweep")
        .is(0)
        .says("--budget <N|TIME>")
        .says("// lab: tune ");
    let other = lab.lab("help auto status").is(0);
    assert!(!other.out.contains("# "), "{}", other.out);
}
