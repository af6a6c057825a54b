//! The view Source: the bytes on disk, the compiler's messages in them, the changes, the editor at
//! the cursor.

use super::bench::Bench;
use std::fs;

#[test]
fn an_error_is_shown_at_its_line_and_the_editor_opens_there() {
    let bench = Bench::new();
    let editor = bench.script("vi", "echo \"$1\" > at");
    let brought = bench.git(&["log", "-1", "--format=%H", "--", "kernel.cu"]);
    bench.git(&["commit", "-q", "--allow-empty", "-m", "of another matter"]);
    let mut lab = bench.open_with(160, 45, &[("VISUAL", &editor)]);
    lab.see("● PASS");
    lab.press("2")
        .see(&format!("same as incumbent {}", &brought[..7]))
        .see("1  speed 1000");
    bench.save_by_rename("broken\n__global__ void nothing();\n");
    lab.see("✗ 1 error")
        .see("▸✗  2~ __global__ void nothing();")
        .see("error: no such word");
    lab.press("e");
    lab.wait("the editor", |_| {
        fs::read_to_string(bench.repo().join("at")).is_ok_and(|at| at == "+2\n")
    });
    // The user's own script gets the place in the form that the setting asks for.
    bench.config(&format!(
        "editor = \"{} {{line}},{{column}}:{{file}}\"\n",
        editor.display()
    ));
    lab.see("config.toml was read");
    let place = format!("2,1:{}\n", bench.repo().join("kernel.cu").display());
    lab.press("e").wait("the place", |_| {
        fs::read_to_string(bench.repo().join("at")).is_ok_and(|at| at == place)
    });
    for (key, seen) in [
        ("}", "▸   1~"),
        ("]", "▸✗  2~"),
        ("{", "▸   1~"),
        ("[", "▸✗  2~"),
    ] {
        lab.press(key).see(seen);
    }
    lab.press("b").see("no experiment to compare with yet");
    lab.press("v")
        .see("unified +2 −1 against incumbent")
        .see("- speed 1000");
    lab.press("v").see("side by side +2 −1").see("│");
    bench.save_in_place("speed 2000\n");
    lab.see("2,000 sps").see("- speed 1000").see("+ speed 2000");
    lab.press("vq");
    assert_eq!(lab.end(), 0);
}
