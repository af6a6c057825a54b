//! What commands print where the locale has ASCII alone.

use crate::lab::{CommandOutput, Lab, finish};

fn in_locale(lab: &Lab, variable: (&str, &str), args: &str) -> CommandOutput {
    let mut command = lab.lab_command(args);
    command.env(variable.0, variable.1);
    finish(command.spawn().unwrap())
}

#[test]
fn commands_print_ascii_where_the_screen_does() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// tried\n");
    for variable in [("LC_ALL", "C"), ("LANG", "POSIX"), ("LAB_ASCII", "1")] {
        in_locale(&lab, variable, "run").says("PASS");
        for command in [
            "doctor",
            "doctor --report",
            "show 1",
            "log",
            "diff 1 1",
            "ls",
            "trust --yes",
            "help",
            "help verdicts",
            "--help",
            "run --help",
            "log nowhere",
            "lessons",
            "theme",
        ] {
            let output = in_locale(&lab, variable, command);
            assert!(
                output.out.is_ascii() && output.err.is_ascii(),
                "{variable:?} {command}: {output:?}"
            );
        }
    }
    let doctor = in_locale(&lab, ("LC_ALL", "C"), "doctor");
    assert!(
        doctor.out.contains("v git   ") && doctor.out.contains("> "),
        "{doctor:?}"
    );
    // What the user wrote stays, and so does what a program reads.
    lab.lab("discard -m 'café: µs → ms'").is(0);
    in_locale(&lab, ("LC_ALL", "C"), "log").says("café: us > ms");
    let log = in_locale(&lab, ("LC_ALL", "C"), "log --json").is(0);
    assert_eq!(log.json()["experiments"][0]["description"], "café: µs → ms");
    // With UTF-8, without a locale, and where the user asks for them, all signs are there.
    for variable in [
        ("LC_ALL", "C.UTF-8"),
        ("NO_LOCALE", "1"),
        ("LAB_ASCII", "0"),
    ] {
        assert!(in_locale(&lab, variable, "doctor").out.contains("✓ git"));
    }
}
