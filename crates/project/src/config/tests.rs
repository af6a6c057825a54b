//! What lab.toml may say, and what is said of a mistake in it.
use super::*;

fn error(text: &str) -> String {
    Config::parse(text, "lab.toml")
        .expect_err("it must be refused")
        .to_string()
}

#[test]
fn a_harness_is_a_command_or_a_script() {
    let harness = |text: &str| {
        Config::parse(text, "lab.toml")
            .expect("a lab.toml")
            .harness
            .expect("a harness")
    };
    assert_eq!(
        harness("harness = \"uv run x.py\""),
        Harness::Command("uv run x.py".into())
    );
    for text in [
        "harness = { python = \"x.py\" }",
        "harness.python = \"x.py\"",
        "[harness]\npython = \"x.py\"",
    ] {
        let script = harness(text);
        assert_eq!(
            (&script, script.to_string().as_str()),
            (
                &Harness::Python {
                    python: "x.py".into()
                },
                "python x.py"
            )
        );
    }
    let script = Config::parse("harness.python = \"x.py\"", "lab.toml").expect("a lab.toml");
    assert_eq!(
        script.judging_differences(&Config::default()),
        ["harness", "harness.python"]
    );
}

#[test]
fn an_empty_file_is_the_defaults() {
    let config = Config::parse("", "lab.toml").expect("an empty file is fine");
    assert_eq!(config, Config::default());
    assert_eq!((config.time_limit_s, config.output_limit_mib), (60.0, 64));
}

#[test]
fn the_keys_that_change_a_verdict_are_told_from_the_others() {
    let differences = |text: &str| {
        Config::parse(text, "lab.toml")
            .expect("a lab.toml")
            .judging_differences(&Config::default())
    };
    let none = "kernel = \"a.cu\"\ndevice = \"cpu\"\n[auto]\ndecide = true\nkeep_shorter = true\nkeep_correct = true\n[watch]\nquiet_ms = 9\nceiling_ms = 99\n\
                [project]\nkernels = [\"kernels/*\", \"!kernels/old\"]\n";
    assert_eq!(differences(none), [""; 0]);
    let all = "harness = \"x\"\npython = \"p\"\nobjective = \"gbps\"\ngoal = \"minimize\"\ntime_limit_s = 61\noutput_limit_mib = 65\n\
               [compile]\noptions = [\"-O1\"]\narch = \"sm_90\"\n[measure]\nbudget_ms = 1\nsame_within = 1\nnarrow = 1\n\
               warm_up = 1\niterations = 9\ntrials = 9\nlimit_s = 9\n[watch]\nextra = [\"a\"]\n";
    let wanted = "compile.arch compile.options goal harness measure.budget_ms measure.iterations measure.limit_s \
                  measure.narrow measure.same_within measure.trials measure.warm_up objective output_limit_mib \
                  python time_limit_s watch.extra";
    assert_eq!(differences(all).join(" "), wanted);
}

#[test]
fn a_mistyped_key_gets_its_line_and_a_suggestion() {
    assert_eq!(
        error("device = \"cpu\"\nobjectve = \"x\"\n"),
        "lab.toml:2:1: unknown key 'objectve' (did you mean 'objective'?)"
    );
    assert!(
        error("[watch]\nextras = []\n")
            .contains("lab.toml:2:1: unknown key 'extras' (did you mean 'extra'?)")
    );
    assert!(
        error("[measure]\nbudget = 3\n")
            .contains("lab.toml:2:1: unknown key 'budget' (did you mean 'budget_ms'?)")
    );
    assert!(error("[auto]\ndecides = true\n").contains("(did you mean 'decide'?)"));
    assert!(error("[auto]\nkeep_short = true\n").contains("(did you mean 'keep_shorter'?)"));
    assert!(error("zzzzzzzzzzzz = 1\n").contains("it is one of kernel, harness"));
}

#[test]
fn wrong_values_say_what_is_right() {
    assert!(
        error("device = \"gpu\"")
            .contains("lab.toml:1:10: unknown device 'gpu': it is one of auto, cpu")
    );
    assert_eq!(
        error("goal = \"bigger\""),
        "lab.toml:1:8: unknown value 'bigger': it is one of maximize, minimize"
    );
    assert!(error("time_limit_s = -1").contains("more than 0"));
    assert_eq!(
        error("\ntime_limit_s = \"long\""),
        "lab.toml:2:16: expected a number, found string \"long\""
    );
    assert!(error("output_limit_mib = 0").contains("from 1"));
    assert!(error("objective = \"Throughput SPS\"").contains("names a result line"));
    assert!(error("harness = \" \"").contains("built-in harness"));
    assert!(error("python = \"\"").contains("name an interpreter"));
    assert!(error("harness = { python = \"\" }").contains("built-in harness"));
    assert_eq!(
        error("harness = 3"),
        "lab.toml:1:11: expected a command, or { python = \"harness.py\" }, found integer 3"
    );
    let other = error("harness = { pyton = \"harness.py\" }");
    assert!(
        other.contains("unknown key 'pyton' (did you mean 'python'?)"),
        "{other}"
    );
    assert!(
        error("[measure]\nsame_within = 0.005")
            .contains("measure.same_within = 0.005: it is in percent")
    );
    assert!(error("[measure]\ntrials = 0").contains("from 1 to 100000"));
    assert!(error("[measure]\nbudget_ms = 0").contains("from 1 to 600000"));
    assert!(error("[measure]\nlimit_s = nan").contains("more than 0"));
    assert!(
        error("[project]\nkernels = [\"/abs\"]")
            .contains("project.kernels = [\"/abs\"]: it is relative")
    );
}

#[test]
fn a_compiler_option_that_is_not_on_the_list_is_named_with_its_line() {
    assert_eq!(
        error("[compile]\noptions = [\n  \"-O3\",\n  \"-wrapper\", \"sh,-c,true\",\n]\n"),
        "lab.toml:4:3: the compiler option \"-wrapper\" is not allowed: it starts other programs, or gives options to them: \
         remove it"
    );
    for option in [
        "@options",
        "-include",
        "-MFx",
        "-dumpdir",
        "-oX",
        "-B.",
        "-specs=x",
        "-fplugin=x.so",
        "-Wl,-T,x",
    ] {
        let text = format!("device = \"cpu\"\ncompile.options = [\"-O2\", \"{option}\"]\n");
        let said = error(&text);
        assert!(
            said.starts_with(&format!("lab.toml:2:27: the compiler option \"{option}\"")),
            "{said}"
        );
    }
    let config = Config::parse(
        "[compile]\noptions = [\"-O3\", \"-D\", \"X=1\"]\n",
        "lab.toml",
    )
    .expect("a lab.toml");
    assert_eq!(config.compile.options.for_host(), ["-O3", "-DX=1"]);
}

#[test]
fn the_nearest_file_upwards_holds_but_none_above_the_repository() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let (root, deep) = (temp.path().join("repo"), temp.path().join("repo/a/b"));
    std::fs::create_dir_all(&deep).expect("folders");
    std::fs::write(temp.path().join(FILE), "").expect("a file above");
    assert_eq!(Config::find(&deep, &root), None);
    std::fs::write(root.join(FILE), "").expect("a file");
    assert_eq!(Config::find(&deep, &root), Some(root.join(FILE)));
    std::fs::write(root.join("a").join(FILE), "").expect("a nearer file");
    assert_eq!(Config::find(&deep, &root), Some(root.join("a").join(FILE)));
}
