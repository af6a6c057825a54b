//! All cells of an output that a kernel gets wrong: `lab show N --tensor y --at ROW,COLUMN`.

use crate::lab::Lab;

const PROBLEM: &str = r#"
entry = "twice"
dims = ["rows", "cols"]
bytes = "2 * rows * cols * 4"
flops = "rows * cols"
ragged = false
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["rows", "cols"]
values = { normal = { mean = 0.0, std = 1.0 } }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["rows", "cols"]
tolerance = { atol = 0.0, rtol = 1e-6 }
[objective]
samples = "rows"
[[workload]]
dims = { rows = 3, cols = 5 }
[[workload]]
dims = { rows = 200, cols = 100 }
[[keep]]
dims = { rows = { from = 1, to = 10 }, cols = { from = 1, to = 10 } }
"#;

/// `STORE` is what a thread writes.
const KERNEL: &str = r#"
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int rows, int cols) {
    const int column = threadIdx.x, row = blockIdx.x;
    if (column < cols) { STORE; }
}
LAB_LAUNCH(twice) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
"#;

const RIGHT: &str = "y[row * cols + column] = 2 * x[row * cols + column]";

fn kernel(store: &str) -> String {
    KERNEL.replace("STORE", store)
}

/// One cell of the larger workload is wrong, and one is never written.
fn two_wrong(wrong: u32) -> String {
    kernel(&format!(
        "if (row == 170 && column == 99) y[row * cols + column] = {wrong}; else if (row != 20 || column != 7 || rows < 9) {RIGHT}"
    ))
}

fn lab() -> Lab {
    let lab = Lab::empty();
    lab.write("problem.toml", PROBLEM);
    lab.write("reference.cu", kernel(RIGHT));
    lab.write("kernel.cu", two_wrong(1000));
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.git("add -A");
    lab.git("commit -qm 'two cells are wrong'");
    lab
}

#[test]
fn each_cell_of_a_wrong_output_can_be_looked_at() {
    let lab = lab();
    lab.lab("run").is(1);
    let first = lab.lab("show 1 --tensor y").is(0);
    first
        .says("2 of 20,000 cells are wrong")
        .says("unwritten")
        .says("--at ROW,COLUMN");
    let far = lab.lab("show 1 --tensor y --at 170,99").is(0);
    let far = far
        .says("y, rows 168…175 of 200, columns")
        .says("…99 of 100")
        .says("✗1,000");
    assert!(!far.out.contains("unwritten"), "{far:?}");
    lab.lab("show 1 --tensor y --at 0,0")
        .is(0)
        .says("y, rows 0…7 of 200, columns 0…");
    let beyond = lab.lab("show 1 --tensor y --at 200,0").is(1);
    let said = "'y' has the rows 0 to 199 and the columns 0 to 99";
    assert!(beyond.err.contains(said), "{beyond:?}");
    let odd = lab.lab("show 1 --tensor y --at 200").is(64);
    assert!(odd.err.contains("write it as ROW,COLUMN"), "{odd:?}");
}

#[test]
fn the_newest_failed_runs_keep_their_cells() {
    let lab = lab();
    for run in 1..=4 {
        lab.write("kernel.cu", two_wrong(1000 + run));
        lab.lab("run").is(1);
    }
    lab.write("kernel.cu", kernel(RIGHT));
    lab.lab("run").is(0);
    let ls = lab.sh("ls .lab/cells").is(0);
    assert_eq!(ls.out, "2\n3\n4\n");
    lab.lab("show 4 --tensor y --at 170,99")
        .is(0)
        .says("✗1,004");
    let gone = lab.lab("show 1 --tensor y --at 170,99").is(1);
    let said = "all cells are kept of the last 3 failed runs";
    assert!(gone.err.contains(said), "{gone:?}");
    // Somebody else's file.
    lab.write(".lab/cells/3/y", "too short");
    let foreign = lab.lab("show 3 --tensor y --at 170,99").is(1);
    assert!(
        foreign
            .err
            .contains("its size is not that of 200 × 100 cells"),
        "{foreign:?}"
    );
    lab.sh("ln -sf /etc/hostname .lab/cells/3/y").is(0);
    let link = lab.lab("show 3 --tensor y --at 170,99").is(1);
    assert!(link.err.contains("link"), "{link:?}");
}

#[test]
fn the_clean_up_removes_the_cells_and_says_what_it_freed() {
    let lab = lab();
    lab.lab("run").is(1);
    // Those of a judge that waits for a save stay.
    lab.sh("mkdir .lab/cells/standby-k && cp .lab/cells/1/y .lab/cells/standby-k")
        .is(0);
    let cleaned = lab.lab("clean --json").is(0).json();
    let freed = cleaned["freed_cells"].as_u64().unwrap();
    // 20,000 cells, expected and written.
    assert!((160_000..400_000).contains(&freed), "{cleaned}");
    let ls = lab.sh("ls .lab/cells").is(0);
    assert_eq!(ls.out, "standby-k\n");
    lab.lab("show 1 --tensor y").is(0).says("2 of 20,000 cells");
    let gone = lab.lab("show 1 --tensor y --at 170,99").is(1);
    assert!(
        gone.err.contains("until `lab clean` removes them"),
        "{gone:?}"
    );
    lab.lab("clean").is(0).says(
        "all cells of the wrong outputs of failed runs are removed from .lab/cells: 0.0 MB freed",
    );
    // A link that somebody put there is removed, and what it leads to stays.
    lab.sh("mkdir ../theirs && echo 1 > ../theirs/y && ln -s ../../../theirs .lab/cells/7")
        .is(0);
    lab.lab("clean").is(0);
    lab.sh("test ! -e .lab/cells/7 && test -e ../theirs/y")
        .is(0);
}
