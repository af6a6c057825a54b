//! Architectures that a problem names: the kernel is built for each of them on a save.

use crate::support::Folder;
use crate::toy;
use lab_judge::problem;
use lab_protocol::Exit;
use lab_protocol::report::TargetLine;

const DOUBLED: &str = "const int i = blockIdx.x * 64 + threadIdx.x; if (i < n) y[i] = 2.0f * x[i];";

fn folder(targets: &str) -> Folder {
    let problem = format!("targets = [{targets}]\n{}", toy::PROBLEM);
    let kernel = toy::kernel(DOUBLED);
    Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &kernel),
        ("kernel.cu", &kernel),
    ])
}

#[test]
fn a_run_says_what_the_kernel_needs_on_each_target_or_what_is_missing_for_that() {
    let judged = folder("\"sm_80\", \"sm_90a\"").judge();
    judged.expect(Exit::Passed);
    let targets = judged.report.targets();
    if judged.value("compiler").contains("NVRTC") {
        let archs: Vec<&str> = targets.iter().map(|target| target.arch.as_str()).collect();
        assert_eq!(archs, ["sm_80", "sm_90a"]);
        let is_known = |target: &TargetLine| target.builds && target.registers > Some(0);
        assert!(targets.iter().all(is_known), "{targets:?}");
        return;
    }
    assert_eq!(targets, []);
    let caveat = "not built for sm_80, sm_90a: there is no NVRTC on this machine. It needs no GPU: pip install";
    assert!(judged.log.contains(caveat), "{}", judged.log);
}

#[test]
fn a_target_that_is_no_architecture_is_refused() {
    let refused = |targets: &str| {
        let opened = problem::open(folder(targets).path());
        opened.err().unwrap().to_string()
    };
    let not_one = "is not an architecture: write it like sm_80 or sm_90a";
    for (targets, expected) in [
        ("\"sm_80\", \"sm90\"", "targets: 'sm90' "),
        ("\"sm_90ab\"", "targets: 'sm_90ab' "),
        ("\"sm_\"", "targets: 'sm_' "),
        ("\"H100\"", "targets: 'H100' "),
    ] {
        let error = refused(targets);
        assert!(error.contains(&(expected.to_owned() + not_one)), "{error}");
        assert!(error.contains("problem.toml:1:"), "{error}");
    }
    assert!(refused("\"sm_80\", \"sm_80\"").contains("targets: 'sm_80' is given twice"));
    let many: Vec<String> = (0..17).map(|n| format!("\"sm_{}\"", 50 + n)).collect();
    assert!(refused(&many.join(", ")).contains("targets: at most 16"));
}
