//! Names, messages, logs, settings and errors that try to steer the terminal. No command prints a
//! character that a terminal obeys, or one that hides or reorders text.

use crate::lab::{CommandOutput, Lab, finish};
use lab_protocol::console::is_clean;
use std::collections::BTreeSet;
use std::fs;

/// A title, the clipboard (OSC 52), a cleared screen, C1, bidi marks, characters without width, a
/// carriage return.
const HOSTILE: &str = "\x1b]0;t\x07\x1b]52;c;eA==\x1b\\\x1b[2J\u{9b}31m\u{9d}8;;x\u{9c}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}a\u{fe0f}\u{13430}\r\u{85}\u{2028}";

/// Characters that git allows in the name of a branch.
const BRANCH: &str = "b\u{202e}\u{200b}\u{9b}31m";

/// Every command, each in several forms; `%` stands for hostile text.
const COMMANDS: &[&str] = &[
    "'%'",
    "--theme '%'",
    "--color '%'",
    "run",
    "run '%'",
    "run --json",
    "run --json '%'",
    "run --device '%'",
    "run --decide -m '%'",
    "run '--%'",
    "help",
    "help '%'",
    "man-pages man",
    "bench --verdict",
    "bench --verdict --json",
    "bench --runs 1",
    "bench --runs 1 --json",
    "bench '%'",
    "bench --runs '%'",
    "bench --show last",
    "bench --show last --json",
    "bench --show last --export csv",
    "bench --show last --export md",
    "bench --show last --export bmf",
    "bench --show '%'",
    "sweep",
    "sweep --json",
    "sweep '%'",
    "sweep --budget '%'",
    "sweep --strategy '%'",
    "sweep --show last",
    "sweep --show '%'",
    "sweep --apply",
    "sweep --apply '%'",
    "peers",
    "peers --json",
    "peers '%'",
    "peers new",
    "peers new '%'",
    "export --to torch",
    "export --to standalone --json",
    "export --to standalone --output '%'",
    "export '%' --to torch",
    "bench --resume",
    "bench --export bmf --output '%/%'",
    "check",
    "check --json",
    "check --tool '%'",
    "profile",
    "profile --json",
    "profile '%'",
    "profile --workload '%'",
    "keep",
    "keep -m '%'",
    "keep -m '%' --run 1",
    "keep -m x --trailer '%'",
    "keep -m x --trailer 'Tested: %'",
    "discard -m '%'",
    "discard -m '%' --unjudged",
    "undo",
    "undo '%'",
    "rules",
    "rules -m '%'",
    "describe HEAD -m '%'",
    "diff '%' HEAD",
    "diff HEAD 1 --json",
    "describe '%' -m '%'",
    "describe HEAD --lesson '%'",
    "run --unless-known",
    "run --decide -m '%' --hypothesis '%' --lesson '%'",
    "lessons",
    "lessons --json",
    "lessons '%'",
    "auto --hours 0.0001 --give-up 1 -- true",
    "auto --hours 0.0001 --give-up 1 -- '%'",
    "auto --hours 0.0001 --patches '%'",
    "auto status",
    "auto status --json",
    "auto pause",
    "auto resume '%'",
    "auto stop",
    "auto end-turn '%'",
    "auto --hours 0.0001 --from '%' -- true",
    "auto --hours 0.0001 --lanes '%' -- true",
    "agent-guide",
    "mcp",
    "mcp '%'",
    "log",
    "log --all",
    "log --json",
    "log --all --json",
    "log '%'",
    "log --append-missing",
    "ls",
    "ls --markdown",
    "ls --json",
    "decisions",
    "decisions --json",
    "decisions '%'",
    "decisions check",
    "decisions check --json",
    "decisions key",
    "decisions add '%' --run 1",
    "decisions add x --run 1 --to '%'",
    "report",
    "report --json",
    "report '%'",
    "report --out '%/%'",
    "report --markdown",
    "report --markdown --base '%'",
    "plot",
    "plot '%'",
    "plot --out '%'",
    "clean",
    "fetch",
    "fetch '%'",
    "restore HEAD",
    "restore HEAD~1",
    "restore '%'",
    "restore HEAD '%'",
    "doctor",
    "probe --device '%'",
    "trust --yes",
    "init",
    "init '%'",
    "trust --yes --json",
    "init --json",
    "fetch --json",
    "fetch '%' --json",
    "clean --json",
    "new '%'",
    "new x --template '%'",
    "new --json '%'",
    "theme",
    "theme '%'",
    "theme '%.yaml'",
    "theme nord --color '%'",
    "completions '%'",
    "completions bash",
    "show 1",
    "show 1 --json",
    "show '%'",
    "harness .",
    "harness '%'",
    "harness . --option='%' --device cpu",
    "harness . --arch '%' --device cpu",
    "harness . --shown-as '%' --device cpu",
    "harness . --time-limit '%'",
    "harness-compiler",
    "harness-worker",
    "supervise --parent '%' x",
    "help '%'",
    "--help",
    "run --help",
];

#[track_caller]
fn shows_nothing_hostile(what: &str, output: &CommandOutput) {
    for text in [&output.out, &output.err] {
        let wrong = text.lines().find(|line| !is_clean(line));
        assert!(wrong.is_none(), "{what} printed {wrong:?}");
        let forged = text
            .lines()
            .find(|line| line.starts_with("lab: all is well"));
        assert!(
            forged.is_none(),
            "{what} printed a line that a name forged: {text}"
        );
    }
}

/// Runs every command. Each kind of repository has a hostile part; a command may fail, but may not
/// print that part.
#[track_caller]
fn every_command(lab: &Lab, setting: &str) {
    for line in COMMANDS {
        let words = crate::lab::words(line)
            .into_iter()
            .map(|word| word.replace('%', HOSTILE));
        let mut command = lab.command(env!("CARGO_BIN_EXE_lab"));
        command
            .args(words)
            .env("TERM", format!("xterm{HOSTILE}"))
            .env("EDITOR", HOSTILE);
        let output = finish(command.spawn().unwrap());
        shows_nothing_hostile(&format!("`lab {line}` in {setting}"), &output);
        assert!(
            !output.err.contains("panicked"),
            "`lab {line}` in {setting}: {}",
            output.err
        );
    }
}

#[test]
fn every_command_is_tried() {
    let help = Lab::empty().lab("--help").is(0).out;
    let commands = help
        .split_once("Commands:")
        .unwrap()
        .1
        .split_once("Arguments:")
        .unwrap()
        .0;
    let listed = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let listed: BTreeSet<&str> = listed
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(listed.len() > 15, "{listed:?}");
    for command in listed {
        assert!(
            COMMANDS
                .iter()
                .any(|line| line.split(' ').next() == Some(command)),
            "`lab {command}` is not tried"
        );
    }
}

/// A repository whose folder, kernel, branch, commits, author and ledger are hostile.
#[test]
fn a_repository_whose_names_and_messages_are_hostile() {
    let mut lab = Lab::empty();
    let folder = lab
        .repo
        .with_file_name(format!("{HOSTILE}\nlab: all is well"));
    fs::rename(&lab.repo, &folder).unwrap();
    lab.repo = folder;
    lab.write(
        "../home/.gitconfig",
        format!(
            "[user]\nname = \"A{}\"\nemail = e@x\n[init]\ndefaultBranch = main\n",
            "\u{202e}"
        ),
    );
    // libgit2 checks out no path with a backslash.
    let kernel = format!("{}\n.cu", HOSTILE.replace('\\', ""));
    lab.write(&kernel, "// the first\n");
    lab.passing(1000.0);
    lab.git(&format!("checkout -q -b {BRANCH}"));
    lab.lab(&format!("init '{kernel}'")).is(0);
    lab.lab("trust --yes").is(0);
    lab.git("add -A");
    lab.git(&format!("commit -qm 'start {HOSTILE}'"));
    for (at, decide) in ["keep", "discard", "keep"].into_iter().enumerate() {
        lab.write(&kernel, format!("// {at}\n"));
        lab.lab("run").is(0);
        lab.lab(&format!(
            "{decide} -m 'tried {HOSTILE}' --trailer 'Note: {HOSTILE}'"
        ))
        .is(0);
    }
    lab.write(
        "results.tsv",
        lab.read("results.tsv") + &format!("{HOSTILE}\nabc1234\t1\t1\tpass\tkeep\t{HOSTILE}\n"),
    );
    lab.write(&kernel, "// judged\n");
    lab.lab("run").is(0);
    every_command(&lab, "a hostile repository");
}

/// A harness whose output is hostile, in result lines and in log text.
#[test]
fn a_harness_whose_output_is_hostile() {
    let lab = Lab::new();
    let octal: String = HOSTILE
        .bytes()
        .map(|byte| format!("\\{byte:03o}"))
        .collect();
    let hostile = format!(
        "printf 'device: {octal}\\ncaveat: {octal}\\n{octal}\\n{octal}: 1\\na{octal}: 2 limit={octal}\\nworkload: {octal}={octal} correctness=pass\\n\
         kernel.cu:1:2: error: {octal}\\nthroughput_sps: 1000{octal}\\n\\377\\233\\n'"
    );
    lab.harness(&format!("{hostile}; echo 'correctness: pass'"));
    for kernel in ["// one\n", "// two\n"] {
        lab.write("kernel.cu", kernel);
        lab.lab("run").says("run");
    }
    every_command(&lab, "a repository with a hostile harness");
    lab.harness(&format!(
        "{hostile}; printf 'first_failure: {octal}\\n'; exit 3"
    ));
    lab.write("kernel.cu", "// crashes\n");
    every_command(&lab, "a repository with a hostile harness that crashes");
}

/// Settings: lab.toml, problem.toml, the user's config.toml and themes, git's hooks.
#[test]
fn settings_that_are_hostile() {
    let string = toml::Value::String(HOSTILE.to_owned()).to_string();
    for text in [
        format!("harness = {string}\n"),
        format!("kernel = {string}\n"),
        format!("device = {string}\n"),
        format!("objective = {string}\n"),
        format!("{string} = 1\n"),
        format!("[compile]\noptions = [{string}]\narch = {string}\n"),
        format!("[watch]\nextra = [{string}]\n"),
        format!("# {HOSTILE}\nkernel = 1 {HOSTILE}\n"),
    ] {
        let lab = Lab::empty();
        lab.write("kernel.cu", "// the kernel\n");
        lab.write("lab.toml", &text);
        lab.git("add -A");
        lab.git("commit -qm start");
        every_command(&lab, &format!("a repository with lab.toml {text:?}"));
    }
    let lab = Lab::new();
    lab.sh("mkdir -p ~/.config/lab/themes").is(0);
    lab.write(
        &format!("../home/.config/lab/themes/{HOSTILE}.yaml"),
        format!("scheme: \"{HOSTILE}\"\nbase00: {HOSTILE}\n"),
    );
    lab.write(
        "../home/.config/lab/config.toml",
        format!("theme = {string}\n{string} = {string}\n"),
    );
    lab.script(
        ".git/hooks/pre-commit",
        &format!("printf '%s\\n' '{HOSTILE}' >&2; printf '%s\\n' '{HOSTILE}'; exit 1"),
    );
    lab.write("kernel.cu", "// judged\n");
    lab.lab("run").is(0);
    every_command(&lab, "a repository with a hostile hook");
}

/// The built-in harness: problem.toml, the kernel's compiler messages, and what the kernel prints.
#[test]
fn a_problem_and_a_kernel_that_are_hostile() {
    let lab = Lab::empty();
    let string = toml::Value::String(HOSTILE.to_owned()).to_string();
    lab.write(
        "kernel.cu",
        format!(
            "#error \"{HOSTILE}\"\n#include \"{}\"\n",
            HOSTILE.replace(['\r', '"', '\n'], "")
        ),
    );
    lab.write("problem.toml", format!("name = {string}\n[{string}]\n"));
    lab.git("add -A");
    lab.git(&format!("commit -qm 'start {HOSTILE}'"));
    every_command(&lab, "a hostile problem");
    lab.copy_problem("kernels/rmsnorm", "");
    let kernel = lab.read("kernel.cu");
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.write("kernel.cu", format!("#error \"{HOSTILE}\"\n{kernel}"));
    for line in ["run", "run --json", "harness . --device cpu", "check"] {
        shows_nothing_hostile(line, &lab.lab(line));
    }
}

/// Records and notes that another user wrote.
#[test]
fn records_that_are_hostile() {
    let lab = Lab::new();
    for kernel in ["// one\n", "// two\n"] {
        lab.write("kernel.cu", kernel);
        lab.lab("run").is(0);
        lab.lab("keep -m kept").is(0);
    }
    lab.write("kernel.cu", "// three\n");
    lab.lab("run").is(0);
    let inner = serde_json::to_string(HOSTILE).unwrap();
    let inner = inner.trim_matches('"');
    for run in 1..=3 {
        let name = format!(".lab/runs/{run}/record.json");
        let text = lab.read(&name);
        let text = text
            .replace("Test GPU", inner)
            .replace("\"why\": \"\"", &format!("\"why\": \"{inner}\""));
        lab.write(
            &name,
            text.replace(
                "\"caveats\": []",
                &format!("\"caveats\": [\"{inner}\\nlab: all is well\"]"),
            ),
        );
    }
    let _ = fs::remove_file(lab.path(".lab/runs/index.bin"));
    every_command(&lab, "a repository with hostile records");
    lab.write(
        ".lab/unfinished.json",
        format!("{{ \"what\": \"{inner}\" }}"),
    );
    lab.write(
        ".lab/runs/3/record.json",
        format!("{{ \"{inner}\": {HOSTILE} }}"),
    );
    every_command(&lab, "a repository with a hostile intent");
}

/// A program reads the text of the file: JSON holds the hostile characters as escapes.
#[test]
fn json_keeps_what_a_terminal_may_not_get() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// one\n");
    lab.harness(
        "printf 'caveat: a\\342\\200\\256b\\n'; echo 'throughput_sps: 1'; echo 'correctness: pass'",
    );
    let output = lab.lab("run --json").is(0);
    shows_nothing_hostile("run --json", &output);
    assert!(
        output.json()["caveats"][0]
            .as_str()
            .is_some_and(|text| text.starts_with('a') && text.ends_with('b'))
    );
}
