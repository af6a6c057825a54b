//! Peers in Python beside kernels, on the cpu device.

use crate::cases::problem_folder;
use crate::python;
use crate::support::{self, Judged};
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;
use lab_protocol::report::Peer;
use libtest_mimic::{Failed, Trial};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

const RIGHT: &str = "def axpy(x, y, a):\n    y[:] = x * a + 1\n";

type NamedTest = (&'static str, fn() -> Result<(), Failed>);

pub fn trials() -> Vec<Trial> {
    let tests: [NamedTest; 16] = [
        ("checked_timed_and_recorded", checked_timed_and_recorded),
        (
            "beside_a_function_of_the_entry's_name",
            beside_a_function_of_the_entrys_name,
        ),
        ("results_that_are_returned", results_that_are_returned),
        ("each_shape_is_compiled", each_shape_is_compiled),
        ("wrong_results", wrong_results),
        ("errors_have_their_line", errors_have_their_line),
        ("crash_and_hang", crash_and_hang),
        (
            "later_files_stay_as_they_were",
            later_files_stay_as_they_were,
        ),
        ("a_changed_reference", a_changed_reference),
        ("some_workloads", some_workloads),
        ("some_types", some_types),
        (
            "only_a_held_out_workload_fails",
            only_a_held_out_workload_fails,
        ),
        ("loaded_side_by_side", loaded_side_by_side),
        (
            "a_shape_that_is_refused_starts_no_process_again",
            a_shape_that_is_refused_starts_no_process_again,
        ),
        ("no_time", no_time),
        ("not_in_an_untrusted_folder", not_in_an_untrusted_folder),
    ];
    tests
        .into_iter()
        .map(|(name, test)| Trial::test(format!("peers/{name}"), test))
        .collect()
}

/// A problem with a right kernel and these peers: name and further keys of each. `peer` is the text
/// of peer.py.
fn folder(
    problem: &str,
    kernel: &str,
    peers: &[(&str, &str)],
    peer: &str,
) -> Result<tempfile::TempDir, Failed> {
    let folder = problem_folder(problem, kernel);
    let mut text = std::fs::read_to_string(folder.path().join("problem.toml"))?;
    for (name, keys) in peers {
        text += &format!("\n[[peer]]\nname = \"{name}\"\n{keys}\n");
    }
    std::fs::write(folder.path().join("problem.toml"), text)?;
    std::fs::write(folder.path().join("peer.py"), peer)?;
    Ok(folder)
}

fn options(folder: &Path) -> JudgeRequest {
    JudgeRequest {
        peers: true,
        ..python::options(folder)
    }
}

/// The peers of a run, which must pass.
fn beside(options: JudgeRequest) -> Result<(Judged, Vec<Peer>), Failed> {
    let judged = support::run(options);
    if judged.exit != Exit::Passed {
        return Err(format!("ended as {:?} in\n{}", judged.exit, judged.log).into());
    }
    let peers = judged.report.peers();
    Ok((judged, peers))
}

fn named<'a>(judged: &Judged, peers: &'a [Peer], name: &str) -> Result<&'a Peer, Failed> {
    let found = peers.iter().find(|peer| peer.name == name);
    Ok(found.ok_or_else(|| format!("there is no peer {name} in\n{}", judged.log))?)
}

/// Fails unless the peer has no figure, for a reason that begins with this text.
fn expect_failure(judged: &Judged, peers: &[Peer], name: &str, why: &str) -> Result<(), Failed> {
    let peer = named(judged, peers, name)?;
    match &peer.failure {
        Some(failure) if failure.starts_with(why) && peer.ratio.is_none() => Ok(()),
        _ => Err(format!("{name}: {peer:?} does not say '{why}' in\n{}", judged.log).into()),
    }
}

fn expect_ratio(judged: &Judged, peers: &[Peer], name: &str) -> Result<(), Failed> {
    match named(judged, peers, name)?.ratio {
        // The times of the cpu device mean nothing, so there is no interval.
        Some(ratio) if ratio.value > 0.0 && ratio.interval.is_none() => Ok(()),
        ratio => Err(format!("{name}: {ratio:?} in\n{}", judged.log).into()),
    }
}

fn checked_timed_and_recorded() -> Result<(), Failed> {
    let peer = "import numpy\n\ndef vectors(x, y, a):\n    numpy.add(x * a, 1, out=y)\n";
    let folder = folder("axpy", RIGHT, &[("numpy", "function = \"vectors\"")], peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    expect_ratio(&judged, &peers, "numpy")?;
    let found = named(&judged, &peers, "numpy")?;
    assert_eq!(found.call, "numpy.add(x * a, 1, out=y)");
    assert!(found.versions.contains("numpy="), "{}", found.versions);
    assert_eq!(
        found.hash,
        Some(blake3::hash(peer.as_bytes()).to_hex().to_string())
    );
    // The turns are of both workloads.
    assert!(
        found.us > Some(0.0) && found.own_us > Some(0.0),
        "{}",
        judged.log
    );
    Ok(())
}

/// Libraries return their results. To write them into `y` is no work of theirs, and not in their time.
fn results_that_are_returned() -> Result<(), Failed> {
    let peer = "import numpy\n\ndef right(x, y, a):\n    return x * a + numpy.float32(1)\n\n\
                def wrong(x, y, a):\n    return x * a\n\n\
                def wide(x, y, a):\n    return (x * a + 1).astype('f8')\n\n\
                def two(x, y, a):\n    return x, y\n\n\
                def text(x, y, a):\n    return 'y'\n";
    let names = ["right", "wrong", "wide", "two", "text"];
    let keys = names.map(|name| format!("function = \"{name}\""));
    let peers: Vec<(&str, &str)> = names
        .into_iter()
        .zip(keys.iter().map(String::as_str))
        .collect();
    let folder = folder("axpy", RIGHT, &peers, peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    expect_ratio(&judged, &peers, "right")?;
    for (name, why) in [
        ("wrong", "its results are wrong: "),
        (
            "wide",
            "peer.py:9: error: wide returned (1000,) of float64 for y, which is (1000,) of float32: a peer returns",
        ),
        (
            "two",
            "peer.py:12: error: two returned 2 values, and the outputs are: y: a peer returns",
        ),
        (
            "text",
            "peer.py:15: error: text returned str for y, which is ",
        ),
    ] {
        expect_failure(&judged, &peers, name, why)?;
    }
    Ok(())
}

/// After eight shapes `torch.compile` runs the function as it is, and its time would be called that of the compiled one. The
/// module here stands for PyTorch's.
fn each_shape_is_compiled() -> Result<(), Failed> {
    let peer = "import sys, types\nconfig = types.ModuleType('torch._dynamo.config')\nconfig.recompile_limit = 8\n\
                config.fail_on_recompile_limit_hit = False\nsys.modules[config.__name__] = config\n\n\
                def compiled(x, y, a):\n    assert config.recompile_limit > 54 and config.fail_on_recompile_limit_hit\n    y[:] = x * a + 1\n";
    let folder = folder(
        "axpy",
        RIGHT,
        &[("compiled", "function = \"compiled\"")],
        peer,
    )?;
    let (judged, peers) = beside(options(folder.path()))?;
    expect_ratio(&judged, &peers, "compiled")
}

/// The file is executed unchanged: a function of the entry's name keeps its meaning, and no line is
/// added.
fn beside_a_function_of_the_entrys_name() -> Result<(), Failed> {
    let peer = "def other(x, y, a):\n    axpy(x, y, a)\n\ndef axpy(x, y, a):\n    y[:] = x * a + 1\n\
                source = open(__file__).read()\nassert source.endswith('# the last line'), source\n# the last line";
    let folder = folder(
        "axpy",
        RIGHT,
        &[
            ("other", "function = \"other\""),
            ("axpy", "function = \"axpy\""),
        ],
        peer,
    )?;
    let (judged, peers) = beside(options(folder.path()))?;
    expect_ratio(&judged, &peers, "other")?;
    expect_ratio(&judged, &peers, "axpy")
}

fn wrong_results() -> Result<(), Failed> {
    let peer = "import numpy\n\ndef wrong(x, y, a):\n    y[:] = x * a + 2\n\ndef some(x, y, a):\n    y[:5] = 1\n\
                def right(x, y, a):\n    y[:] = x * a + 1\n";
    let peers = ["wrong", "some", "right"].map(|name| (name, format!("function = \"{name}\"")));
    let peers: Vec<(&str, &str)> = peers
        .iter()
        .map(|(name, keys)| (*name, keys.as_str()))
        .collect();
    let folder = folder("axpy", RIGHT, &peers, peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    for (name, line) in [("wrong", 3), ("some", 6)] {
        expect_failure(&judged, &peers, name, "its results are wrong: ")?;
        let why = named(&judged, &peers, name)?
            .failure
            .clone()
            .unwrap_or_default();
        assert!(why.ends_with(&format!("({name}, peer.py:{line})")), "{why}");
    }
    expect_ratio(&judged, &peers, "right")
}

fn errors_have_their_line() -> Result<(), Failed> {
    let peer = "def raises(x, y, a):\n    y[:] = x\n    return missing\n\ndef others(x, z):\n    pass\n\
                def returns(x, y, a):\n    y[:] = x * a + 1\n    return True\n";
    let own = "import no_such_module_here\n";
    let peers = [
        ("raises", "function = \"raises\""),
        ("others", "function = \"others\""),
        ("returns", "function = \"returns\""),
        ("missing", "function = \"no_such_function\""),
        ("module", "function = \"f\"\nfile = \"own/kernel.py\""),
        ("nowhere", "function = \"f\"\nfile = \"nowhere.py\""),
    ];
    let folder = folder("axpy", RIGHT, &peers, peer)?;
    std::fs::create_dir(folder.path().join("own"))?;
    std::fs::write(folder.path().join("own/kernel.py"), own)?;
    let (judged, peers) = beside(options(folder.path()))?;
    for (name, why) in [
        (
            "raises",
            "peer.py:3: error: NameError: name 'missing' is not defined",
        ),
        ("others", "peer.py:5: error: others has the parameter z"),
        (
            "returns",
            "peer.py:7: error: returns returned bool for y, which is",
        ),
        (
            "missing",
            "peer.py: error: there is no function no_such_function: ",
        ),
        (
            "module",
            "own/kernel.py:1: error: ModuleNotFoundError: No module named 'no_such_module_here'",
        ),
        ("nowhere", "nowhere.py cannot be read: "),
    ] {
        expect_failure(&judged, &peers, name, why)?;
    }
    Ok(())
}

/// A peer that ends its process, one that hangs in its first launch, and one that crashes in a
/// later launch do not affect the kernel.
fn crash_and_hang() -> Result<(), Failed> {
    let peer = "import os, signal, time\ncalls = 0\n\ndef ends(x, y, a):\n    os._exit(3)\n\ndef hangs(x, y, a):\n    time.sleep(1000)\n\n\
                def later(x, y, a):\n    global calls\n    calls += 1\n    y[:] = x * a + 1\n    \
                if open(os.environ['LATER'], 'a+b').tell() > 40:\n        os.kill(os.getpid(), signal.SIGSEGV)\n    \
                open(os.environ['LATER'], 'ab').write(b'.')\n\ndef right(x, y, a):\n    y[:] = x * a + 1\n";
    let names =
        ["ends", "hangs", "later", "right"].map(|name| (name, format!("function = \"{name}\"")));
    let peers: Vec<(&str, &str)> = names
        .iter()
        .map(|(name, keys)| (*name, keys.as_str()))
        .collect();
    let folder = folder("axpy", RIGHT, &peers, "")?;
    let counter = folder.path().join("launches");
    std::fs::write(
        folder.path().join("peer.py"),
        peer.replace("os.environ['LATER']", &format!("{counter:?}")),
    )?;
    let limited = JudgeRequest {
        time_limit: Duration::from_secs(3),
        ..options(folder.path())
    };
    let (judged, peers) = beside(limited)?;
    expect_failure(
        &judged,
        &peers,
        "ends",
        "it crashed: its process ended with exit code 3",
    )?;
    expect_failure(&judged, &peers, "hangs", "it did not end within 3 s")?;
    expect_failure(
        &judged,
        &peers,
        "later",
        "it crashed: its process was ended by SIGSEGV",
    )?;
    expect_ratio(&judged, &peers, "right")
}

/// A peer that overwrites the file of another peer, and its own, does not change the code that
/// runs.
fn later_files_stay_as_they_were() -> Result<(), Failed> {
    let first = "import glob\nfor path in glob.glob(FOLDER + '/[ps]e*.py'):\n    open(path, 'w').write('broken here')\n\
                 def f(x, y, a):\n    y[:] = x * a + 1\n";
    let second = "def g(x, y, a):\n    y[:] = 1 + x * a\n";
    let peers = [
        ("first", "function = \"f\""),
        ("second", "function = \"g\"\nfile = \"second.py\""),
        ("again", "function = \"f\""),
    ];
    let folder = folder("axpy", RIGHT, &peers, "")?;
    let first = first.replace("FOLDER", &format!("{:?}", folder.path()));
    std::fs::write(folder.path().join("peer.py"), &first)?;
    std::fs::write(folder.path().join("second.py"), second)?;
    let (judged, peers) = beside(options(folder.path()))?;
    assert_eq!(
        std::fs::read_to_string(folder.path().join("second.py"))?,
        "broken here"
    );
    for (name, text) in [("first", &*first), ("second", second), ("again", &*first)] {
        expect_ratio(&judged, &peers, name)?;
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        assert_eq!(
            named(&judged, &peers, name)?.hash.as_deref(),
            Some(&*hash),
            "{name}"
        );
    }
    Ok(())
}

/// A peer that changes the file of the reference ends the comparison with the other peers.
fn a_changed_reference() -> Result<(), Failed> {
    let peer = "def f(x, y, a):\n    y[:] = x * a + 1\n";
    let changes = "import os\nos.chmod(FOLDER, 0o700)\nos.replace(FOLDER + '/other.py', FOLDER + '/reference' + '.py')\n";
    let peers = [
        ("changes", "function = \"f\"\nfile = \"changes.py\""),
        ("later", "function = \"f\""),
    ];
    let folder = folder("axpy", RIGHT, &peers, peer)?;
    std::fs::write(
        folder.path().join("other.py"),
        "def axpy(x, y, a):\n    y[:] = x * a + 1.0000001\n",
    )?;
    let changes = changes.replace("FOLDER", &format!("{:?}", folder.path()));
    std::fs::write(folder.path().join("changes.py"), changes + peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    expect_failure(
        &judged,
        &peers,
        "later",
        "reference.py changed while the peers ran, and so nothing is compared with it",
    )
}

/// Fails unless the peer was compared in this many workloads, and the others were left out for
/// reasons that begin with these texts.
fn expect_part(
    judged: &Judged,
    peer: &Peer,
    part: &str,
    left_out: &[(&str, &str)],
) -> Result<(), Failed> {
    let found = peer.part.map(|part| part.to_string()).unwrap_or_default();
    let is_as_wanted = found == part
        && peer.left_out.len() == left_out.len()
        && peer
            .left_out
            .iter()
            .zip(left_out)
            .all(|(found, (name, why))| found.name == *name && found.why.starts_with(why));
    if is_as_wanted {
        Ok(())
    } else {
        Err(format!("{peer:?} in\n{}", judged.log).into())
    }
}

/// A peer that computes only some workloads is compared in these, and the others have reasons.
/// Three ways in which a workload fails.
fn some_workloads() -> Result<(), Failed> {
    let right = "    y[:] = x * a + 1\n";
    let peer = format!(
        "import os\ndef raises(x, y, a, n):\n    assert n < 4000, 'too many'\n{right}\
         def wrong(x, y, a, n):\n{right}    y[:1] += n > 4000\n\
         def ends(x, y, a, n):\n    if n == 1000:\n        os._exit(3)\n{right}def all(x, y, a):\n{right}"
    );
    let names =
        ["raises", "wrong", "ends", "all"].map(|name| (name, format!("function = \"{name}\"")));
    let peers: Vec<(&str, &str)> = names
        .iter()
        .map(|(name, keys)| (*name, keys.as_str()))
        .collect();
    let folder = folder("axpy", RIGHT, &peers, &peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    for (name, left_out, why, compared) in [
        (
            "raises",
            "n=4099",
            "peer.py:3: error: AssertionError: too many",
            "n=1000",
        ),
        ("wrong", "n=4099", "its results are wrong: ", "n=1000"),
        (
            "ends",
            "n=1000",
            "it crashed: its process ended with exit code 3 (ends, peer.py:8)",
            "n=4099",
        ),
    ] {
        expect_ratio(&judged, &peers, name)?;
        let peer = named(&judged, &peers, name)?;
        expect_part(&judged, peer, "2 of 3 workloads", &[(left_out, why)])?;
        // With one timed workload left, the ratio is that workload's.
        assert!(peer.workloads.is_empty(), "{compared}: {peer:?}");
    }
    let all = named(&judged, &peers, "all")?;
    expect_part(&judged, all, "", &[])?;
    let each: Vec<(&str, bool)> = all
        .workloads
        .iter()
        .map(|of| (&*of.name, of.ratio.value > 0.0 && of.us > Some(0.0)))
        .collect();
    assert_eq!(each, [("n=1000", true), ("n=4099", true)], "{}", judged.log);
    Ok(())
}

/// One function for each type, of which one is missing.
fn some_types() -> Result<(), Failed> {
    let norm = "import numpy\ndef norm(x, gain, y, eps):\n    wide = x.astype(numpy.float64)\n    \
                mean = numpy.mean(wide * wide, axis=1, keepdims=True)\n    \
                y[...] = (wide / numpy.sqrt(mean + eps) * gain.astype(numpy.float64)).astype(y.dtype)\n";
    let kernel = format!("{norm}rmsnorm_f32 = rmsnorm_f16 = rmsnorm_bf16 = norm\n");
    let peer = format!("{norm}own_f32 = own_bf16 = norm\n");
    let peers = [
        ("some", "function = \"own_{T}\""),
        ("one", "function = \"norm\""),
    ];
    let folder = folder("rmsnorm", &kernel, &peers, &peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    for (name, part, left_out) in [
        (
            "some",
            "4 of 6 workloads",
            &[
                (
                    "rows=5 cols=257 T=f16",
                    "peer.py:2: error: there is no function own_f16 (line 2 defines own_bf16): ",
                ),
                (
                    "rows=1 cols=1 T=f16",
                    "peer.py:2: error: there is no function own_f16 (line 2 defines own_bf16): ",
                ),
            ][..],
        ),
        ("one", "", &[]),
    ] {
        expect_ratio(&judged, &peers, name)?;
        expect_part(&judged, named(&judged, &peers, name)?, part, left_out)?;
    }
    Ok(())
}

/// The timed workloads are all compared, and the other is named.
fn only_a_held_out_workload_fails() -> Result<(), Failed> {
    let peer = "def f(x, y, a, n):\n    assert n != 33\n    y[:] = x * a + 1\n";
    let folder = folder("axpy", RIGHT, &[("f", "function = \"f\"")], peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    let peer = named(&judged, &peers, "f")?;
    expect_part(
        &judged,
        peer,
        "2 of 3 workloads",
        &[("n=33", "peer.py:2: error: AssertionError")],
    )?;
    assert_eq!(peer.workloads.len(), 2, "{}", judged.log);
    Ok(())
}

/// Importing PyTorch takes seconds. Each of these waits until the other is being loaded.
fn loaded_side_by_side() -> Result<(), Failed> {
    let peers = [
        ("one", "function = \"axpy\"\nfile = \"one.py\""),
        ("two", "function = \"axpy\"\nfile = \"two.py\""),
    ];
    let folder = folder("axpy", RIGHT, &peers, "")?;
    for (own, other) in [("one", "two"), ("two", "one")] {
        let marker = |name: &str| folder.path().join(format!("{name} is being loaded"));
        let text = format!(
            "import pathlib, time\npathlib.Path({:?}).touch()\nwhile not pathlib.Path({:?}).exists():\n    \
             time.sleep(0.01)\n{RIGHT}",
            marker(own),
            marker(other)
        );
        std::fs::write(folder.path().join(format!("{own}.py")), text)?;
    }
    let (judged, peers) = beside(JudgeRequest {
        peer_limit: Duration::from_secs(60),
        ..options(folder.path())
    })?;
    expect_ratio(&judged, &peers, "one")?;
    expect_ratio(&judged, &peers, "two")
}

fn a_shape_that_is_refused_starts_no_process_again() -> Result<(), Failed> {
    let peers = [
        ("some", "function = \"some\""),
        ("wrong", "function = \"wrong\""),
    ];
    let folder = folder("axpy", RIGHT, &peers, "")?;
    let loads = folder.path().join("loads");
    let peer = format!(
        "import os\nwith open({loads:?}, 'a') as file:\n    file.write(f'{{os.getpid()}} ')\n\
         def some(x, y, a, n):\n    assert n < 4000\n    y[:] = x * a + 1\n\
         def wrong(x, y, a, n):\n    y[:] = x * a + 1 + (n > 4000)\n"
    );
    std::fs::write(folder.path().join("peer.py"), peer)?;
    let (judged, peers) = beside(options(folder.path()))?;
    expect_ratio(&judged, &peers, "some")?;
    expect_ratio(&judged, &peers, "wrong")?;
    // A check executes the file anew between its launches, in the same process.
    let loads = std::fs::read_to_string(loads)?;
    let processes: HashSet<&str> = loads.split_whitespace().collect();
    assert_eq!(processes.len(), 2, "{}", judged.log);
    Ok(())
}

/// Peers that take too long are ended, and later ones left out: a run that took too long would lose
/// its verdict.
fn no_time() -> Result<(), Failed> {
    let peers = [
        ("slow", "function = \"axpy\""),
        ("next", "function = \"axpy\""),
    ];
    let folder = folder("axpy", RIGHT, &peers, RIGHT)?;
    let limited = JudgeRequest {
        peer_limit: Duration::ZERO,
        ..options(folder.path())
    };
    let (judged, peers) = beside(limited)?;
    expect_failure(
        &judged,
        &peers,
        "slow",
        "it took longer than 0 s altogether",
    )?;
    expect_failure(
        &judged,
        &peers,
        "next",
        "there is no time for it: the peers before it took",
    )
}

const IN_CUDA: &str = "#include \"lab.h\"\n\
    extern \"C\" __global__ void axpy(const float* x, float* y, float a, int n) {\n\
        const int i = blockIdx.x * 128 + threadIdx.x;\n        if (i < n) y[i] = x[i] * a + 1;\n    }\n\
    LAB_LAUNCH(axpy) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }\n";

/// A Python peer of a kernel in CUDA C++ runs in a trusted folder only, too.
fn not_in_an_untrusted_folder() -> Result<(), Failed> {
    let folder = folder("axpy", RIGHT, &[("other", "function = \"f\"")], "")?;
    let marker = folder.path().join("it ran");
    let peer = format!("open({marker:?}, 'w').close()\ndef f(x, y, a):\n    y[:] = x * a + 1\n");
    std::fs::write(folder.path().join("peer.py"), peer)?;
    for python in ["kernel.py", "reference.py"] {
        std::fs::remove_file(folder.path().join(python))?;
    }
    for cuda in ["kernel.cu", "reference.cu"] {
        std::fs::write(folder.path().join(cuda), IN_CUDA)?;
    }
    let untrusted = support::run(JudgeRequest {
        trusted: false,
        ..options(folder.path())
    });
    if untrusted.exit == Exit::Passed {
        let why = "it is written in Python, and this folder is not trusted: look at peer.py, then `lab trust`";
        expect_failure(&untrusted, &untrusted.report.peers(), "other", why)?;
    } else {
        // Without a sandbox, nothing at all runs.
        assert!(untrusted.log.contains("`lab trust`"), "{}", untrusted.log);
    }
    assert!(!marker.exists());
    let (judged, peers) = beside(options(folder.path()))?;
    expect_ratio(&judged, &peers, "other")?;
    assert!(marker.exists());
    Ok(())
}
