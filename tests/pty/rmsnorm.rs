//! The whole circle with real kernels, which the host's compiler builds and the emulated device
//! checks against their references.

use super::bench::Bench;

#[test]
fn save_a_real_kernel_see_it_judged_and_keep_it() {
    let bench = Bench::rmsnorm();
    let mut lab = bench.open();
    lab.see("run 1 · opened")
        .see_verdict("● PASS")
        .see("emulated");
    let kernel = bench.kernel();

    bench.save_by_rename(&kernel.replace("per_col + eps", "per_col + 2 * eps + 0.1f"));
    lab.see("run 2 · saved").see_verdict("✗ FAIL").see("✗ y_");
    // The judge on standby kept all cells.
    lab.press("i").see("Cells of run 2");
    lab.press("G").see("…256 of 257");
    lab.press("\x1b").see("run 2 · saved");

    bench.save_in_place(&kernel.replace("per_col + eps", "per_coll + eps"));
    lab.see("run 3 · saved")
        .see_verdict("✗ BUILD ERROR")
        .see("per_coll");
    lab.press("d").see("What did you try?");
    lab.press("a typo\r").see("run 3 discarded");
    assert_eq!(bench.kernel(), kernel, "the incumbent is back");

    bench.save_by_rename(&kernel.replacen("float squares = 0;", "float squares = 0.0f;", 1));
    lab.see("run 4 · saved").see_verdict("● PASS");
    lab.press("c").see("What did you try?");
    lab.press("a float is a float\r").see("run 4 kept as");
    assert_eq!(
        bench.git(&["log", "-1", "--format=%s"]),
        "a float is a float\n"
    );
    let rows = std::fs::read_to_string(bench.repo().join("results.cpu.tsv")).unwrap();
    assert!(
        rows.lines()
            .any(|row| row.ends_with("keep\ta float is a float")),
        "{rows}"
    );
    assert!(
        !bench.repo().join("results.tsv").exists(),
        "no emulated figure stands beside a GPU's"
    );
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn a_kernel_that_is_right_for_the_shapes_in_the_file_only_is_refused_when_it_is_to_be_kept() {
    let bench = Bench::below_largest();
    let mut lab = bench.open();
    lab.see("run 1 · opened").see_verdict("● PASS");
    let kernel = bench.kernel();
    // The columns of the workloads; those of a keep are drawn from a range.
    bench.save_by_rename(&kernel.replacen(
        "float largest = x[0];",
        "float largest = cols == 96 || cols == 33 || cols == 65 ? x[0] : x[0] + 10.0f;",
        1,
    ));
    lab.see("run 2 · saved").see_verdict("● PASS");
    lab.press("c").see("What did you try?");
    lab.press("knows the shapes\r")
        .see("keep refused: y_")
        .see("on held-out inputs");
    lab.press("\x1b").see("c keep (failed the held-out check");
    assert_eq!(bench.git(&["log", "--format=%s"]), "the first kernel\n");

    bench.save_by_rename(&kernel.replacen(
        "launch.block[0] = 32;",
        "launch.block[0] = 32;  // one warp",
        1,
    ));
    lab.see("run 3 · saved").see_verdict("● PASS");
    // The text of the refused decision is there again, and Ctrl-U clears it.
    lab.press("c").see("knows the shapes");
    lab.press("\x15one warp\r").see("run 3 kept as");
    assert_eq!(bench.git(&["log", "-1", "--format=%s"]), "one warp\n");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}
