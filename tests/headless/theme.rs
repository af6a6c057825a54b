//! `lab theme` and `lab completions`.

use super::lab::Lab;

#[test]
fn schemes_are_listed_with_the_users_own() {
    let lab = Lab::empty();
    lab.sh("mkdir -p ~/.config/lab/themes && echo 'base00: red' > ~/.config/lab/themes/wrong.yaml")
        .is(0);
    lab.write("mine.yaml", include_str!("../../themes/nord.yaml"));
    lab.sh("mv mine.yaml ~/.config/lab/themes/").is(0);
    let output = lab.lab("theme").is(0);
    for line in [
        "ansi  ",
        "lab-contrast-light  light  the lab",
        "nord                dark   arcticicestudio",
        "mine ",
    ] {
        assert!(output.out.contains(line), "{line} in {}", output.out);
    }
    assert!(
        output
            .err
            .contains("wrong.yaml: line 1: 'red' is not a colour such as d3d8df"),
        "{}",
        output.err
    );
}

#[test]
fn a_scheme_is_shown_as_text_where_no_terminal_is_and_in_the_colours_that_were_asked_for() {
    let lab = Lab::empty();
    let text = lab.lab("theme nord").is(0).out;
    assert!(
        text.contains("__shared__ float partial") && !text.contains('\u{1b}'),
        "{text}"
    );
    let shown = lab.lab("theme nord --color truecolor").is(0).out;
    assert!(
        shown.contains("\u{1b}[38;2;235;203;139mfloat\u{1b}[0m"),
        "{shown}"
    );
    let shown = lab.lab("theme nord --color 256 --paint").is(0).out;
    assert!(
        shown.contains("\u{1b}[38;5;186m\u{1b}[48;5;237mfloat\u{1b}[0m"),
        "{shown}"
    );
}

#[test]
fn a_name_that_nobody_gave_is_met_with_the_nearest() {
    let lab = Lab::empty();
    lab.lab("theme solarized")
        .is(1)
        .says("did you mean solarized-dark?");
    lab.lab("theme nord --color 8")
        .is(1)
        .says("choose auto, none, 16, 256 or truecolor");
    lab.lab("theme ./gone.yaml")
        .is(1)
        .says("the colour scheme ./gone.yaml: No such file");
}

#[test]
fn a_theme_of_the_config_that_is_not_there_is_said_with_its_place() {
    let lab = Lab::empty();
    lab.sh("mkdir -p ~/.config/lab && echo 'theme = \"nrod\"' > ~/.config/lab/config.toml")
        .is(0);
    let said = "config.toml:1:9: there is no theme 'nrod' (did you mean nord?): choose one of ansi";
    let doctor = lab.lab("doctor").out;
    assert!(doctor.contains(said), "{doctor}");
    // The name on the command line takes precedence.
    lab.lab("theme nord").is(0);
}

#[test]
fn a_completion_script_is_made_for_each_shell() {
    let lab = Lab::empty();
    for (shell, begins) in [
        ("bash", "_lab() {"),
        ("fish", "# Print an optspec"),
        ("zsh", "#compdef lab"),
    ] {
        let script = lab.lab(&format!("completions {shell}")).is(0).out;
        assert!(script.starts_with(begins), "{script}");
        assert!(
            script.contains("discard") && script.contains("trailer"),
            "{shell} knows the options"
        );
        assert!(
            !script.contains("\nharness-worker"),
            "the hidden children are no commands for people"
        );
    }
    lab.lab("completions tcsh")
        .is(64)
        .says("possible values: bash, elvish, fish, powershell, zsh");
}
