//! A harness command runs only in a folder that this user trusts.

use crate::lab::{CommandOutput, Lab};
use lab_project::trust::TrustRequest;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

#[test]
fn a_lab_toml_that_came_with_a_clone_is_asked_about() {
    let lab = Lab::new();
    lab.lab("run").is(0);
    lab.git("clone -q . ../clone");
    let clone = |args: &str| {
        let mut command = lab.lab_command(args);
        command.current_dir(lab.path("../clone"));
        crate::lab::finish(command.spawn().unwrap())
    };
    clone("run")
        .is(64)
        .says("wants to run `uv run harness.py`, and you have not trusted it yet")
        .says("`lab trust`");
    assert_eq!(clone("run --json").is(64).json()["exit_code"], 64);
    assert!(!lab.path("../clone/.lab").exists(), "nothing ran");
    clone("trust --yes")
        .is(0)
        .says("trusted: `uv run harness.py`");
    clone("run").is(0);
}

#[test]
fn where_nobody_can_be_asked_only_yes_trusts() {
    let lab = Lab::new();
    lab.git("clone -q . ../clone");
    let clone = |args: &str| {
        let mut command = lab.plain_lab_command(args);
        command.current_dir(lab.path("../clone"));
        crate::lab::finish(command.spawn().unwrap())
    };
    for asks in ["trust", "trust --json"] {
        clone(asks).is(1).says("`lab trust --yes`");
        clone("run").is(64);
    }
    clone("trust --yes").is(0);
    clone("run").is(0);
}

#[test]
fn trust_ends_with_the_content() {
    let lab = Lab::new();
    let text = lab.read("lab.toml");
    lab.write("lab.toml", text.replace("uv run", "env X=1 uv run"));
    lab.lab("run")
        .is(64)
        .says("wants to run `env X=1 uv run harness.py`");
    lab.write("lab.toml", text);
    lab.lab("run").is(0);
}

#[test]
fn a_yes_is_for_the_command_that_was_shown() {
    let lab = Lab::new();
    let project = lab_project::Project::open(&lab.repo, None).unwrap();
    lab.write("lab.toml", "harness = \"something else\"\n");
    let shown = TrustRequest::of(&project, None);
    let refused = lab_project::trust::grant(&shown).unwrap_err().to_string();
    assert!(
        refused.contains("changed just now: look at its harness command again"),
        "{refused}"
    );
}

#[test]
fn the_built_in_harness_needs_none() {
    let lab = Lab::new();
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.lab("trust --yes")
        .is(0)
        .says("trusted: kernels of")
        .says("may run without a sandbox");
    // There is no problem.toml: nothing is asked about trust.
    let output = lab.lab("run");
    assert_ne!(output.code, 0);
    output.says("problem.toml");
}

/// A second repository beside the first one, whose harness would leave a mark.
fn stranger(lab: &Lab) -> impl Fn(&str) -> CommandOutput + use<'_> {
    lab.git("clone -q . ../clone");
    lab.write("../clone/harness.py", "touch ../ran\n");
    |args| {
        let mut command = lab.plain_lab_command(args);
        command.current_dir(lab.path("../clone"));
        crate::lab::finish(command.spawn().unwrap())
    }
}

#[test]
fn a_lab_toml_that_is_a_link_to_a_trusted_one_is_not_trusted() {
    let lab = Lab::new();
    lab.lab("run").is(0);
    let clone = stranger(&lab);
    let link = lab.path("../clone/lab.toml");
    for target in [PathBuf::from("../repo/lab.toml"), lab.path("lab.toml")] {
        std::fs::remove_file(&link).unwrap();
        symlink(target, &link).unwrap();
        for command in ["run", "run --json", "bench --verdict", "check"] {
            clone(command).is(64);
        }
        assert!(!lab.path("../ran").exists(), "the harness of the clone ran");
    }
    // The folder of a link is the real one.
    symlink(&lab.repo, lab.path("../alias")).unwrap();
    let mut command = lab.plain_lab_command("run");
    command.current_dir(lab.path("../alias"));
    crate::lab::finish(command.spawn().unwrap()).is(0);
}

#[test]
fn another_folder_under_the_trusted_name_of_a_link_is_not_trusted() {
    let lab = Lab::new();
    let clone = stranger(&lab);
    clone("run").is(64);
    // A link in the trusted repository's place would bring another harness along.
    std::fs::rename(lab.path("../clone"), lab.path("../moved")).unwrap();
    symlink("moved", lab.path("../clone")).unwrap();
    clone("run").is(64);
    assert!(!lab.path("../ran").exists());
}

#[test]
fn all_of_what_is_trusted_is_printed_before_it_is() {
    let lab = Lab::new();
    let hidden =
        "harness = \"\"\"\necho fine\nsh \\u202Eharness.sh   \\u200B\\tx\\u001B[2J\n\"\"\"\n";
    let outside = lab.path("../outside");
    std::fs::create_dir(&outside).unwrap();
    let toml = format!(
        "kernel = \"kernel.cu\"\n{hidden}[compile]\noptions = [\"-I{}\"]\n",
        outside.display()
    );
    lab.write("lab.toml", &toml);
    for (command, code) in [("run", 64), ("trust", 1)] {
        let output = crate::lab::finish(lab.plain_lab_command(command).spawn().unwrap()).is(code);
        let said = format!("{}{}", output.out, output.err);
        assert!(said.contains("    1 │ echo fine\n"), "{said}");
        assert!(
            said.contains("    2 │ sh \\u{202e}harness.sh   \\u{200b}\\tx\\u{1b}[2J\n"),
            "{said}"
        );
        assert!(
            !said.contains(['\u{1b}', '\u{202e}', '\u{200b}']),
            "{said:?}"
        );
    }
    let output = lab.lab("trust --yes").is(0).out;
    let shown = output.find("2 │ sh").unwrap();
    assert!(
        shown < output.find("trusted: this command of ").unwrap(),
        "{output}"
    );
    assert!(
        output.contains(&outside.canonicalize().unwrap().display().to_string()),
        "{output}"
    );
}

#[test]
fn a_state_folder_of_the_repository_gives_no_trust() {
    let lab = Lab::new();
    lab.git("clone -q . ../clone");
    // The clone contains the mark that this user's lab would make.
    let shipped = lab.path("../clone/state");
    let mut command = lab.plain_lab_command("trust --yes");
    command
        .current_dir(lab.path("../clone"))
        .env("LAB_STATE_DIR", &shipped);
    crate::lab::finish(command.spawn().unwrap()).is(0);
    let mut command = lab.plain_lab_command("run");
    command
        .current_dir(lab.path("../clone"))
        .env("LAB_STATE_DIR", "state");
    let output = crate::lab::finish(command.spawn().unwrap());
    assert_ne!(output.code, 0, "{output:?}");
    output.says("give it an absolute path");
}

#[test]
fn a_library_that_a_folder_ships_is_not_loaded_before_trust() {
    let lab = crate::built_in::rmsnorm();
    let ran = lab.path("../ran");
    let code = format!(
        "#include <fcntl.h>\n__attribute__((constructor)) static void mark(void) {{ open(\"{}\", O_CREAT, 0600); }}\n",
        ran.display()
    );
    lab.write("../nvrtc.c", code);
    for wheel in ["cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"] {
        let library = format!(".venv/lib/python3.11/site-packages/nvidia/{wheel}");
        std::fs::create_dir_all(lab.path(&library).parent().unwrap()).unwrap();
        let built = lab
            .command("cc")
            .args(["-shared", "-fPIC", "-o", &library, "../nvrtc.c"])
            .status();
        assert!(built.unwrap().success());
    }
    for command in [
        "doctor",
        "probe --device cuda",
        "run --device cuda",
        "check --device cuda",
        "harness kernels/rmsnorm --device cuda",
    ] {
        lab.lab(command);
        assert!(!ran.exists(), "{command} ran code of the folder");
    }
    let doctor = lab.lab("doctor");
    // The machine may have an NVRTC of its own, which takes precedence.
    if doctor.out.contains("NVRTC         not found") {
        doctor
            .says(".venv has one, and loading it runs code of this folder, which is not trusted")
            .says("`lab trust`");
        lab.lab("trust --yes").is(0);
        lab.lab("doctor");
        assert!(ran.exists(), "the test would see it");
    }
}

#[test]
fn a_commit_starts_no_program_of_a_folder_that_is_not_trusted() {
    let lab = crate::built_in::rmsnorm();
    let kernel = "kernels/rmsnorm/kernel.cu";
    lab.write(kernel, format!("// better\n{}", lab.read(kernel)));
    lab.lab("run").is(0);
    let plain = |args: &str| lab.lab(args);
    let head = lab.head();
    let refused = |what: &str| {
        plain("keep -m better")
            .is(1)
            .says(&format!("would start {what}"))
            .says("`lab trust`");
        assert!(!lab.path("../ran").exists(), "{what} ran");
        assert_eq!(lab.head(), head);
    };
    lab.script(".git/hooks/post-commit", "touch ../ran");
    refused("the hook .git/hooks/post-commit");
    std::fs::remove_file(lab.path(".git/hooks/post-commit")).unwrap();
    lab.script("hooked", "touch ../ran");
    lab.script(".git/pre-commit", "touch ../ran");
    lab.git("config core.hooksPath .git");
    refused("the hook .git/pre-commit");
    lab.git("config --unset core.hooksPath");
    // The user signs all commits; the folder names the program that does.
    lab.git("config --global commit.gpgsign true");
    lab.git("config gpg.program ./hooked");
    refused("./hooked (gpg.program in the repository's configuration)");
    lab.git("config --unset gpg.program");
    lab.git("config core.fsmonitor ./hooked");
    refused("./hooked (core.fsmonitor in the repository's configuration)");
    lab.git("config --unset core.fsmonitor");
    lab.git("config --global --unset commit.gpgsign");
    // The user's own hooks need no trust.
    std::fs::create_dir(lab.path("../home/hooks")).unwrap();
    lab.script("../home/hooks/pre-commit", "touch ../own");
    lab.git("config --global core.hooksPath ~/hooks");
    std::fs::remove_file(lab.path("hooked")).unwrap();
    plain("keep -m better").is(0);
    assert!(lab.path("../own").exists() && !lab.path("../ran").exists());
    // The hooks of a trusted folder start as before.
    lab.git("config --global --unset core.hooksPath");
    lab.script(".git/hooks/post-commit", "touch ../ran");
    lab.lab("trust --yes").is(0);
    lab.write(kernel, format!("// best\n{}", lab.read(kernel)));
    plain("run").is(0);
    plain("keep -m best").is(0);
    assert!(lab.path("../ran").exists());
}

#[test]
fn a_fetch_starts_no_program_of_a_folder_that_is_not_trusted() {
    let lab = Lab::new();
    lab.write(
        "lab.toml",
        format!("{}# Trust ends here.\n", lab.read("lab.toml")),
    );
    lab.git("clone -q . ../other");
    lab.script("evil", "touch ../ran\nexec git-upload-pack \"$@\"");
    let plain = |args: &str| lab.lab(args);
    let settings: [(&str, &[(&str, &str)]); 5] = [
        (
            "remote.origin.uploadpack",
            &[
                ("remote.origin.url", "../other"),
                ("remote.origin.uploadpack", "./evil"),
            ],
        ),
        (
            "core.sshcommand",
            &[
                ("remote.origin.url", "ssh://host/x"),
                ("core.sshCommand", "./evil"),
            ],
        ),
        (
            "remote.origin.url",
            &[("remote.origin.url", "ext::./evil ../other")],
        ),
        (
            "protocol.ext.allow",
            &[
                ("remote.origin.url", "../other"),
                ("protocol.ext.allow", "always"),
            ],
        ),
        (
            "credential.helper",
            &[
                ("remote.origin.url", "https://127.0.0.1:1/"),
                ("credential.helper", "!./evil"),
            ],
        ),
    ];
    for (named, pairs) in settings {
        for (key, value) in pairs {
            lab.git(&format!("config {key} '{value}'"));
        }
        for command in ["fetch", "fetch origin", "fetch ../other"] {
            plain(command)
                .is(1)
                .says(&format!("({named} in the repository's configuration)"))
                .says("`lab trust` lets it run");
        }
        let refused = plain("fetch --json").is(1).json();
        assert!(
            refused["error"].as_str().unwrap().contains("`lab trust`"),
            "{refused}"
        );
        assert!(!lab.path("../ran").exists(), "{named} ran");
        for (key, _) in pairs {
            lab.git(&format!("config --unset {key}"));
        }
    }
    // The user's own settings need no trust, and those of a trusted folder apply.
    lab.git("config --global protocol.allow always");
    lab.git("config remote.origin.url ../other");
    assert!(!plain("fetch").err.contains("trust"));
    lab.git("config remote.origin.uploadpack ./evil");
    lab.lab("trust --yes").is(0);
    plain("fetch");
    assert!(lab.path("../ran").exists(), "the test would see it");
}
