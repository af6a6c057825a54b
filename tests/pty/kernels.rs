//! Several kernels in one repository: a screen for each, and a list to choose from.

use super::bench::Bench;
use std::fs;

/// The second kernel is as fast as its first line says; it is in a folder of its own.
fn two() -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.repo().join("p2")).unwrap();
    fs::write(bench.repo().join("p2/kernel.cu"), "speed 7000\n").unwrap();
    fs::write(
        bench.repo().join("lab.toml"),
        "kernel = \"kernel.cu\"\nharness = \"cd $(dirname $LAB_KERNEL) && sh $OLDPWD/harness.sh\"\n",
    )
    .unwrap();
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "two kernels"]);
    bench.lab(&["trust", "--yes"]);
    bench
}

#[test]
fn the_list_leads_to_the_other_kernel_and_back() {
    let bench = two();
    let mut lab = bench.open();
    lab.see("● PASS").see("1,000 sps");
    lab.press("\u{f}")
        .see("Kernels")
        .see("p2/kernel.cu")
        .see("this screen");
    lab.press("p2\r").see("7,000 sps").see("run 2 · opened");
    // The screen is that of the other kernel: its saves are judged.
    fs::write(bench.repo().join("p2/kernel.cu"), "speed 8000\n").unwrap();
    lab.see("8,000 sps");
    lab.press("c").see("What did you try?");
    lab.press("eight\r").see("run 3 kept as");
    assert_eq!(bench.git(&["show", "HEAD:p2/kernel.cu"]), "speed 8000\n");
    lab.press("\u{f}").see("Kernels").see("p2/kernel.cu");
    lab.press("\u{1b}");
    // An Esc with a key right after it would be one key with Alt.
    lab.wait("the list closes", |screen| {
        !screen.contents().contains("this screen")
    });
    lab.press("\u{f}").see("this screen");
    lab.press("\u{1b}[A\r").see("1,000 sps");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn keys_typed_behind_the_choice_of_a_kernel_reach_its_screen() {
    let bench = two();
    let mut lab = bench.open();
    lab.see("● PASS").see("1,000 sps");
    lab.press("\u{f}p2\r3");
    lab.see("7,000 sps").see("▸3 Results");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn a_stopped_run_replaces_no_verdict_in_the_list() {
    let bench = two();
    let mut lab = bench.open();
    lab.see("● PASS").see("1,000 sps");
    bench.save_by_rename("hangs\n");
    lab.see("MEASURE");
    lab.press("x").see("VOID");
    lab.press("\u{f}").wait("the list", |screen| {
        let text = screen.contents();
        let here = text.lines().find(|line| line.contains("this screen"));
        here.is_some_and(|line| line.contains("● PASS"))
    });
}

#[test]
fn a_kernel_that_head_does_not_hold_is_named_and_has_to_be_kept_first() {
    let bench = two();
    fs::write(bench.repo().join("p2/fast.cu"), "speed 7000\n").unwrap();
    let mut lab = bench.open_kernel("p2/fast.cu");
    lab.see(" p2/fast.cu ").see("run 1 ·");
    lab.press("7")
        .see("HEAD does not hold p2/fast.cu")
        .see("lab keep");
}

#[test]
fn each_kernel_can_have_a_screen_of_its_own() {
    let bench = two();
    let mut first = bench.open();
    first.see("● PASS").see("1,000 sps");
    let mut second = bench.open_kernel("p2");
    second.see("7,000 sps");
    // The kernel of the other screen can be looked at here, and only there be judged.
    second.press("\u{f}").see("Kernels").see("this screen");
    second
        .press("\u{1b}[A\r")
        .see("1,000 sps")
        .see("only shown");
    second.press("r").see("judges this kernel: use that one");
    bench.save_by_rename("speed 2000\n");
    first.see("2,000 sps");
    second.see("2,000 sps");
    second.press("c").see("judges this kernel: use that one");
    second.press("\r");
    second.press("\u{f}").see("Kernels");
    second.press("p2\r").see("7,000 sps");
    fs::write(bench.repo().join("p2/kernel.cu"), "speed 9000\n").unwrap();
    second.see("9,000 sps");
    first.see("2,000 sps");
    for lab in [&mut first, &mut second] {
        lab.press("q");
        assert_eq!(lab.end(), 0);
    }
}

#[test]
fn where_no_kernel_is_meant_the_list_comes_first() {
    let bench = two();
    fs::create_dir(bench.repo().join("p1")).unwrap();
    bench.git(&["mv", "kernel.cu", "p1/kernel.cu"]);
    fs::write(
        bench.repo().join("lab.toml"),
        "harness = \"cd $(dirname $LAB_KERNEL) && sh $OLDPWD/harness.sh\"\n",
    )
    .unwrap();
    bench.git(&["commit", "-qam", "no kernel is meant"]);
    bench.lab(&["trust", "--yes"]);
    bench.lab(&["run", "p2"]);
    bench.lab(&["keep", "p2", "-m", "seven"]);
    // Behind the list is the kernel that was judged last.
    let mut lab = bench.open();
    lab.see("Kernels").see("p1/kernel.cu").see("this screen");
    lab.press("\u{1b}").see("7,000 sps").see("seven");
    // While it has a screen, another one opens on the next kernel.
    let mut second = bench.open();
    second.see("Kernels").see("this screen");
    second.press("p1\r").see("1,000 sps");
    for lab in [&mut lab, &mut second] {
        lab.press("q");
        assert_eq!(lab.end(), 0);
    }
    let mut lab = bench.open();
    lab.see("Kernels").see("this screen");
    // The list has this figure too.
    lab.press("p2\r").wait("the screen of p2", |screen| {
        let text = screen.contents();
        text.contains("7,000 sps") && !text.contains("Kernels")
    });
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn where_lab_toml_means_one_of_several_the_list_comes_first() {
    let bench = two();
    fs::create_dir(bench.repo().join("p1")).unwrap();
    bench.git(&["mv", "kernel.cu", "p1/kernel.cu"]);
    fs::write(
        bench.repo().join("lab.toml"),
        "kernel = \"p1/kernel.cu\"\nharness = \"cd $(dirname $LAB_KERNEL) && sh $OLDPWD/harness.sh\"\n",
    )
    .unwrap();
    bench.git(&["commit", "-qam", "the first kernel is meant"]);
    bench.lab(&["trust", "--yes"]);
    let mut lab = bench.open();
    lab.see("Kernels").see("this screen").see("p2/kernel.cu");
    lab.press("p2\r").see("7,000 sps");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    // Who names a kernel sees it at once.
    let mut lab = bench.open_kernel("p1");
    lab.see("1,000 sps");
    lab.wait("no list is open", |screen| {
        !screen.contents().contains("this screen")
    });
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn a_second_lab_offers_the_kernels_that_have_no_screen() {
    let bench = two();
    let mut first = bench.open();
    first.see("● PASS").see("1,000 sps");
    let mut second = bench.open();
    second.see("Kernels").see("this screen").see("p2/kernel.cu");
    second.press("p2\r").see("7,000 sps");
    for lab in [&mut first, &mut second] {
        lab.press("q");
        assert_eq!(lab.end(), 0);
    }
}
