//! init → run → keep → edit → run → discard → log → restore.

use crate::lab::Lab;

#[test]
fn the_circle() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.passing(1000.0);
    lab.lab("init")
        .is(0)
        .says("`uv run harness.py`, which runs with your rights once you trust it")
        .says("next: `lab trust`, then `lab` opens the screen");
    lab.lab("run")
        .is(64)
        .says("lab.toml wants to run `uv run harness.py`, and you have not trusted it yet");
    lab.lab("trust --yes").is(0).says("uv run harness.py");

    let run = lab.lab("run --json").is(0).json();
    assert_eq!(
        (run["run"].as_u64(), run["outcome"].as_str()),
        (Some(1), Some("pass"))
    );
    assert_eq!(
        (run["throughput_sps"].as_f64(), run["kernel_us"].as_f64()),
        (Some(1000.0), Some(1000.0))
    );
    assert!(run["ratio"].is_null(), "there is no incumbent yet");

    // A branch without a commit: keep makes the first one.
    lab.lab("discard -m 'too early'")
        .is(1)
        .says("HEAD does not hold kernel.cu, so there is nothing to put back");
    lab.lab("keep -m 'the baseline'")
        .is(0)
        .says("keep run 1")
        .says("this first keep also commits the rules of the problem: lab.toml");
    assert_eq!(lab.git("log --format=%s"), "the baseline\n");
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// the first\n");
    assert_eq!(
        lab.git("ls-tree --name-only HEAD"),
        "harness.py\nkernel.cu\nlab.toml\n"
    );
    assert!(
        lab.git("notes --ref=lab show HEAD")
            .contains("\"throughput_sps\"")
    );

    lab.write("kernel.cu", "// the second\n");
    lab.passing(1031.0);
    lab.lab("run")
        .is(0)
        .says("● PASS  run 2 of kernel.cu  1,031 sps  +3.1 %");
    lab.lab("discard -m 'two at once'")
        .is(0)
        .says("refs/lab/discarded/2");
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    assert_eq!(
        lab.git("show refs/lab/discarded/2:kernel.cu"),
        "// the second\n"
    );
    assert_eq!(
        lab.git("log -1 --format=%s refs/lab/discarded/2"),
        "two at once\n"
    );

    lab.write("kernel.cu", "// the third\n");
    lab.harness("echo 'kernel.cu(3): error: expected a ;'; exit 1");
    lab.lab("run").is(3).says("☠ CRASH  run 3");
    lab.lab("discard -m 'a typo'").is(0).says("crash run 3");
    assert_eq!(
        lab.rows(),
        [
            "1000.0 | 1000.0 | pass | keep | the baseline",
            "1031.0 | 969.9321047526673 | pass | discard | two at once",
            "0.0 | 0.0 | fail | crash | a typo",
        ]
    );

    let log = lab.lab("log --json").is(0).json();
    let seen: Vec<_> = log["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (&e["run"], &e["throughput_sps"]))
        .collect();
    assert_eq!(
        format!("{seen:?}"),
        "[(Number(1), Number(1000.0)), (Number(2), Number(1031.0)), (Number(3), Null)]"
    );
    assert_eq!(log["problems"].as_array().map(Vec::len), Some(0));

    // Every experiment can be restored, also the discarded one, by the commit in its row.
    let discarded = log["experiments"][1]["commit"].as_str().unwrap();
    lab.lab(&format!("restore {discarded}"))
        .is(0)
        .says("kernel.cu now holds the bytes of")
        .says("two at once");
    assert_eq!(lab.read("kernel.cu"), "// the second\n");
    lab.lab("restore 3").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the third\n");
    lab.lab("restore HEAD").is(0);
    lab.lab("restore HEAD").is(0).says("already");
    assert_eq!(
        lab.git("status --porcelain"),
        " M harness.py\n",
        "the lab's own files are not in the way"
    );
}

#[test]
fn what_the_user_modified_and_staged_stays_exactly_as_it_was() {
    let lab = Lab::new();
    for name in ["staged", "modified", "both", "renamed"] {
        lab.write(name, "before\n");
    }
    lab.git("add staged modified both renamed");
    lab.git("commit -qm more");
    lab.write("staged", "staged\n");
    lab.write("both", "staged\n");
    lab.git("add staged both");
    lab.write("both", "and more\n");
    lab.write("modified", "modified\n");
    lab.git("mv renamed moved");
    lab.write("untracked", "new\n");
    let state = || lab.git("status --porcelain") + &lab.git("diff --cached") + &lab.git("diff");
    let before = state();

    lab.write("kernel.cu", "// kept\n");
    lab.lab("run").is(0);
    lab.lab("keep -m kept").is(0);
    assert_eq!(state(), before);
    assert_eq!(lab.git("show --name-only --format= HEAD"), "kernel.cu\n");

    lab.write("kernel.cu", "// discarded\n");
    lab.lab("run").is(0);
    lab.lab("discard -m discarded").is(0);
    assert_eq!(state(), before);

    // A staged kernel that was judged is committed and then not staged any more; another version
    // stays staged.
    lab.write("kernel.cu", "// staged by hand\n");
    lab.git("add kernel.cu");
    lab.write("kernel.cu", "// judged\n");
    lab.lab("run").is(0);
    lab.lab("keep -m judged")
        .is(0)
        .says("you staged another version of kernel.cu: it is still staged");
    assert_eq!(lab.git("show :kernel.cu"), "// staged by hand\n");
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// judged\n");
}

#[test]
fn keep_on_the_bytes_of_head_names_the_commit_that_holds_them() {
    let lab = Lab::new();
    let start = lab.head();
    lab.write("README", "x");
    lab.git("add README");
    lab.git("commit -qm readme");
    lab.lab("run").is(0);
    lab.lab("keep -m 'the baseline again'")
        .is(0)
        .says("HEAD holds these bytes already")
        .says(&start[..7]);
    assert_eq!(lab.git("log --format=%s"), "readme\nstart\n");
    assert!(
        lab.read("results.tsv")
            .contains(&format!("\n{}\t1000.0\t", &start[..7]))
    );
    // A decided run cannot be decided again, and the incumbent cannot be discarded.
    lab.lab("keep -m again")
        .is(1)
        .says("run 1 was decided already (keep)");
    // A further run of the same bytes is the same experiment.
    lab.lab("run")
        .is(0)
        .says("  HEAD holds these bytes already: run 1 kept them as ");
    lab.lab("keep -m again").is(1).says(&format!(
        "HEAD holds these bytes already: run 1 kept them as {}",
        &start[..7]
    ));
    assert_eq!(lab.rows().len(), 1);
    lab.write("kernel.cu", "// edited\n");
    lab.lab("keep -m again")
        .is(1)
        .says("kernel.cu changed after the verdict of run 2: judge it first (`lab run`)");
    lab.write("kernel.cu", "");
    lab.lab("keep -m again")
        .is(1)
        .says("lab: kernel.cu is empty: nothing to judge\n");
    lab.lab("restore HEAD").is(0);
    lab.lab("run").is(0);
    lab.lab("discard -m away")
        .is(1)
        .says("the incumbent's own bytes");
}

#[test]
fn bytes_newer_than_the_verdict() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// judged\n");
    lab.lab("run").is(0);
    lab.write("kernel.cu", "// newer\n");
    lab.lab("keep -m x")
        .is(1)
        .says("kernel.cu changed after the verdict of run 1: judge it first (`lab run`)");
    lab.lab("discard -m x")
        .is(1)
        .says("`lab discard -m TEXT --unjudged` discards run 1 all the same");
    assert_eq!(lab.read("kernel.cu"), "// newer\n");
    lab.lab("discard -m x --unjudged")
        .is(0)
        .says("the bytes that were on disk are kept as");
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    assert_eq!(
        lab.git("show refs/lab/discarded/1:kernel.cu"),
        "// judged\n"
    );
    let saved = lab.git("for-each-ref --format=%(refname) refs/lab/saved");
    assert_eq!(
        lab.git(&format!("show {}:kernel.cu", saved.trim())),
        "// newer\n"
    );

    // Nothing was judged at all: the bytes are saved, and there is no experiment.
    lab.write("kernel.cu", "// a thought\n");
    lab.lab("discard -m thought")
        .is(1)
        .says("no verdict belongs to the present bytes");
    lab.lab("discard -m thought --unjudged")
        .is(0)
        .says("unjudged bytes");
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    assert_eq!(lab.git("for-each-ref refs/lab/saved").lines().count(), 2);
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn in_another_clone_the_records_come_with_the_notes() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("keep -m better").is(0);
    lab.git("add -f results.tsv");
    lab.git("commit -qm ledger");
    lab.git("clone -q . ../clone");
    let clone = |program: &str, args: &str| {
        let mut command = if program == "lab" {
            lab.lab_command(args)
        } else {
            lab.command(program)
        };
        if program != "lab" {
            command.args(args.split(' '));
        }
        command.current_dir(lab.path("../clone"));
        crate::lab::finish(command.spawn().unwrap()).is(0)
    };
    assert!(clone("lab", "log --json").json()["experiments"][0]["device"].is_null());
    clone("git", "fetch -q origin refs/notes/lab:refs/notes/lab");
    assert_eq!(
        clone("lab", "log --json").json()["experiments"][0]["device"],
        "Test GPU"
    );
    // The record has the incumbent's figure too.
    clone("lab", "trust --yes");
    std::fs::write(lab.path("../clone/kernel.cu"), "// best\n").unwrap();
    let run = clone("lab", "run --json").json();
    assert_eq!(run["ratio"]["value"].as_f64(), Some(1.0));
}

#[test]
fn a_save_while_the_incumbent_is_put_back_is_not_lost() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// saved in the last moment\n");
    let project = lab_project::Project::open(&lab.repo, None).unwrap();
    let repo = lab_git::Repo::open(&project).unwrap();
    let saved = b"// what was there a moment before\n";
    lab_git::checkout_kernel(&repo, "HEAD", Some(saved)).unwrap();
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    let saved = lab.git("for-each-ref --format=%(refname) refs/lab/saved");
    assert_eq!(
        lab.git(&format!("show {}:kernel.cu", saved.trim())),
        "// saved in the last moment\n"
    );
    assert_eq!(
        lab.git("status --porcelain"),
        "",
        "nothing else is left in the folder"
    );
}

#[test]
fn a_run_that_came_to_nothing_does_not_hide_the_verdict_before_it() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// good\n");
    lab.lab("run").is(0);
    let harness = lab.read("harness.py");
    lab.harness("echo '// changed' > kernel.cu");
    lab.lab("run").is(3).says("VOID");
    lab.write("kernel.cu", "// good\n");
    lab.write("harness.py", harness);
    lab.lab("keep -m good").is(0).says("keep run 1");
}

#[test]
fn a_local_include_belongs_to_the_verdict_but_not_to_an_experiment() {
    let lab = Lab::new();
    lab.write("tile.cuh", "#define T 1\n");
    lab.write("kernel.cu", "#include \"tile.cuh\"\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x")
        .is(1)
        .says("tile.cuh is not as in HEAD, and an experiment changes kernel.cu alone");
    lab.git("add tile.cuh");
    lab.git("commit -qm tile");
    lab.lab("keep -m 'with a tile'").is(0);
    lab.lab("run").is(0);
    lab.write("tile.cuh", "#define T 2\n");
    lab.lab("keep -m x")
        .is(1)
        .says("tile.cuh changed after the verdict of run 2");
}

#[test]
fn line_endings_that_git_changes() {
    let lab = Lab::new();
    lab.write(".gitattributes", "*.cu text eol=crlf\n");
    lab.git("add .gitattributes");
    lab.git("commit -qm attributes");
    lab.write("kernel.cu", "// windows\r\n");
    lab.lab("run").is(0);
    lab.lab("keep -m crlf").is(0);
    assert_eq!(lab.git("cat-file blob HEAD:kernel.cu"), "// windows\n");
    assert_eq!(lab.git("status --porcelain"), "");
    lab.write("kernel.cu", "// mixed\r\n// ends\n");
    lab.lab("run").is(0);
    lab.lab("discard -m mixed").is(0);
    assert_eq!(
        lab.read("kernel.cu"),
        "// windows\r\n",
        "put back as a checkout would"
    );
    let raw = lab.git("for-each-ref --format=%(objectname) refs/lab/raw");
    assert_eq!(
        lab.git(&format!("cat-file blob {}", raw.trim())),
        "// mixed\r\n// ends\n"
    );
}

#[test]
fn the_mode_of_the_kernel_stays() {
    let lab = Lab::new();
    lab.sh("chmod 640 kernel.cu");
    lab.write("kernel.cu", "// x\n");
    lab.lab("run").is(0);
    lab.lab("discard -m x").is(0);
    assert_eq!(lab.sh("stat -c %a kernel.cu").out, "640\n");
}

#[test]
fn init_finds_out_what_is_here() {
    let lab = Lab::empty();
    lab.lab("init")
        .is(1)
        .says("no kernel.cu and no kernel.py here or below");
    std::fs::create_dir_all(lab.path("sub/deep")).unwrap();
    lab.write("sub/deep/kernel.cu", "// x\n");
    lab.write("sub/deep/problem.toml", "");
    lab.lab("init")
        .is(0)
        .says("kernel sub/deep/kernel.cu")
        .says("the built-in harness");
    lab.lab("init")
        .is(1)
        .says("exists already and was not changed");
    std::fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.write("a.cu", "// a\n");
    lab.write("b.cu", "// b\n");
    lab.lab("init b.cu")
        .is(1)
        .says("b.cu: it has no `__global__` function");
    lab.lab("init nosuch.cu")
        .is(1)
        .says("there is no nosuch.cu");
    assert!(!lab.path("lab.toml").exists());
    lab.lab("init")
        .is(1)
        .says("several kernels are here: a.cu, b.cu. Name one: `lab init a.cu`");
    std::fs::remove_file(lab.path("b.cu")).unwrap();
    lab.lab("init")
        .is(0)
        .says("no harness.py here and no problem.toml")
        .says("a command such as `make -s && ./judge`");
    std::fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.write("common.h", "#define N 4\n");
    lab.lab("init common.h")
        .is(1)
        .says("common.h: it has no `__global__` function");
}

#[test]
fn wrong_usage_exits_with_64_and_help_with_0() {
    let lab = Lab::new();
    lab.lab("frobnicate --now").is(64);
    // Without a terminal the reason is the same as with one.
    let unknown = lab.lab("frobnicate");
    let said = format!("{}{}", unknown.out, unknown.err);
    assert!(
        said.contains("frobnicate") && !said.contains("terminal"),
        "{said}"
    );
    lab.lab("run --device gpu")
        .is(64)
        .says("unknown device 'gpu'");
    lab.lab("--help").is(0).says("keep");
    lab.lab("run /nonexistent")
        .is(64)
        .says("there is no /nonexistent");
    lab.lab("run missing/kernel.cu")
        .is(64)
        .says("there is no folder");
    lab.write("lab.toml", "harnes = \"x\"\n");
    lab.lab("run")
        .is(64)
        .says("lab.toml:1:1: unknown key 'harnes' (did you mean 'harness'?)");
    lab.lab("kepp -m x")
        .is(64)
        .says("'kepp' is neither a command nor a kernel: did you mean `lab keep -m x`?");
    lab.lab("rnu").is(64).says("did you mean `lab run`?");
    let output = lab.lab("run --json").is(64);
    assert_eq!(output.json()["exit_code"], 64);
    lab.lab("").is(1).says("`lab run`");
}

#[test]
fn doctor_has_a_remedy_for_everything() {
    let lab = Lab::new();
    let output = lab.lab("doctor");
    for what in [
        "git",
        "repository",
        "C++ compiler",
        "NVRTC",
        "check, cpu",
        "settings",
        "terminal",
        "watching",
        "kernel.cu by uv run harness.py",
    ] {
        assert!(output.out.contains(what), "{what}: {output:?}");
    }
    let mut nothing = lab.lab_command("doctor");
    nothing
        .env("PATH", "/nowhere")
        .env("CXX", "/nowhere/cxx")
        .current_dir("/");
    let output = crate::lab::finish(nothing.spawn().unwrap()).is(1);
    let output = output.says("git init").says("apt install g++");
    // A finding that is not good has no ✓, and an arrow marks every remedy.
    assert!(
        output.out.contains(
            "! git           the git program does not run\n                → install git"
        ),
        "{output:?}"
    );
    assert!(
        output
            .out
            .contains("! terminal      stdout is not a terminal\n                → "),
        "{output:?}"
    );
    let compiler = output
        .out
        .lines()
        .skip_while(|l| !l.contains("✗ C++ compiler"))
        .nth(1);
    assert!(
        compiler.is_some_and(|l| l.starts_with("                → Install g++")),
        "{output:?}"
    );
}

#[test]
fn newer_bytes_are_discarded_also_after_a_verdict_on_the_incumbents_own() {
    let lab = Lab::new();
    lab.lab("run").is(0);
    lab.lab("discard -m nothing")
        .is(1)
        .says("run 1 judged the incumbent's own bytes");
    lab.write("kernel.cu", "// never judged\n");
    lab.lab("discard -m newer")
        .is(1)
        .says("no verdict belongs to the present bytes of kernel.cu")
        .says("--unjudged");
    lab.lab("discard -m newer --unjudged")
        .is(0)
        .says("the bytes that were on disk are kept as");
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    let saved = lab.git("for-each-ref --format=%(refname) refs/lab/saved");
    assert_eq!(
        lab.git(&format!("show {}:kernel.cu", saved.trim())),
        "// never judged\n"
    );
    assert!(!lab.path("results.tsv").exists());
}

/// libgit2 checks out no path with a backslash.
#[test]
fn a_kernel_whose_path_has_a_backslash_goes_the_whole_circle() {
    let lab = Lab::empty();
    std::fs::create_dir(lab.path("odd\\folder")).unwrap();
    let kernel = "odd\\folder/kernel.cu";
    lab.write(kernel, "// first\n");
    lab.passing(1000.0);
    lab.lab("init").is(0);
    lab.lab("trust --yes").is(0);
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.write(kernel, "// worse\n");
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(
        run["caveats"],
        serde_json::json!([]),
        "the harness got the incumbent"
    );
    lab.lab("discard -m worse").is(0);
    assert_eq!(lab.read(kernel), "// first\n");
    lab.lab("undo").is(0);
    assert_eq!(lab.read(kernel), "// worse\n");
    lab.lab("keep -m kept").is(0);
    lab.write(kernel, "// other\n");
    lab.lab("restore HEAD~1").is(0);
    assert_eq!(lab.read(kernel), "// first\n");
    // If git would change line endings, the bytes on disk are not known.
    lab.git("config core.autocrlf true");
    lab.write(kernel, "// again\n");
    lab.lab("run").is(0);
    lab.lab("discard -m x")
        .is(1)
        .says("git's rules for line endings apply to it: rename it (`git mv`)");
    assert_eq!(lab.read(kernel), "// again\n");
}

#[test]
fn an_objective_of_ones_own_has_its_name_everywhere() {
    let lab = Lab::new();
    let config = lab.read("lab.toml");
    lab.write("lab.toml", format!("objective = \"kernel_us\"\n{config}"));
    lab.git("commit -qam 'Another objective'");
    lab.lab("trust --yes").is(0);
    lab.passing(1250.0);
    lab.lab("run").is(0).says("800 kernel_us");
    lab.lab("keep -m first").is(0);
    lab.write("kernel.cu", "// shorter\n");
    lab.passing(1300.0);
    lab.lab("run").is(0);
    lab.lab("keep -m second").is(0);
    // Neither figure stands in the column of samples per second.
    let rows = lab.rows();
    assert!(rows[0].starts_with("0.0 | 800.0 | pass | keep"), "{rows:?}");
    let listed = lab.lab("log").is(0);
    let listed = listed.says("769.2 µs");
    assert_eq!(listed.out.matches(" 800 µs").count(), 1, "{listed:?}");
    let log = lab.lab("log --json").is(0).json();
    let first = &log["experiments"][0];
    assert!(first["throughput_sps"].is_null());
    assert_eq!(first["objective_name"], "kernel_us");
    assert_eq!(first["objective"]["value"], 800.0);
    // Microseconds are no samples per second once those are the objective.
    lab.write("lab.toml", config);
    let log = lab.lab("log --json").is(0).json();
    assert!(log["experiments"][0]["objective"].is_null(), "{log}");
    assert_eq!(log["experiments"][0]["kernel_us"], 800.0);
}

#[test]
fn samples_per_second_keep_their_name_under_another_objective() {
    let lab = Lab::new();
    lab.lab("trust --yes").is(0);
    lab.passing(1250.0);
    lab.lab("run").is(0);
    lab.lab("keep -m first").is(0);
    let config = lab.read("lab.toml");
    lab.write(
        "lab.toml",
        format!("objective = \"p99_us\"\ngoal = \"minimize\"\n{config}"),
    );
    lab.lab("log").is(0).says(" 1,250 sps");
    let log = lab.lab("log --json").is(0).json();
    let first = &log["experiments"][0];
    assert_eq!(first["objective_name"], "throughput_sps");
    assert_eq!(
        (&first["objective"]["value"], &first["throughput_sps"]),
        (&serde_json::json!(1250.0), &serde_json::json!(1250.0))
    );
}
