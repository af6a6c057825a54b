//! Many workloads: the pane Workloads in Bench and in Results, and a result that is mixed.

use super::states::{check, check_at};
use super::world::World;

/// Three workloads, of which the second is slower.
const THREE: &str = "device: NVIDIA H200 | objective: throughput_gbps | \
    throughput_sps: 165210.4 low=164880 high=165540 aggregate=geometric workloads=3 | \
    throughput_gbps: 812.5 low=810.1 high=815.2 aggregate=geometric workloads=3 | \
    speed_ratio: 1.1310 low=1.1280 high=1.1340 quads=9 | speed: mixed | \
    workload: rows=1 cols=4096 T=f32 kernel_us=2.104 low_us=2.090 high_us=2.118 mad_us=0.010 n=24 gbps=31.14 of_floor=61.2 \
    incumbent_us=2.945 ratio=1.4001 ratio_low=1.3802 ratio_high=1.4203 speed=faster correctness=pass | \
    workload: rows=128 cols=4096 T=f32 kernel_us=6.052 low_us=6.040 high_us=6.071 mad_us=0.010 n=24 gbps=693.1 of_floor=71.9 \
    incumbent_us=5.755 ratio=0.9512 ratio_low=0.9402 ratio_high=0.9620 speed=slower correctness=pass | \
    workload: rows=4096 cols=4096 T=f32 kernel_us=88.10 low_us=88.00 high_us=88.20 mad_us=0.100 n=24 gbps=1523.3 of_floor=88.0 \
    incumbent_us=88.15 ratio=1.0006 ratio_low=0.9990 ratio_high=1.0022 speed=same correctness=pass";

fn world() -> World {
    let mut world = World::new();
    world.tell("open; say device: NVIDIA H200; end pass 160000");
    world.tell(&format!(
        "save; say {THREE} | correctness: pass; end pass 165210.4 0.131"
    ));
    world
}

#[test]
fn a_mixed_result_names_its_figure_its_aggregate_and_the_worst_workload() {
    let mut world = world();
    let words = world.words();
    for wanted in [
        "813 GB/s (geometric mean of 3)",
        "mixed +13.1 %",
        "! 1 of 3 workloads is slower, the worst rows=128 cols=4096 T=f32 by -4.9 % (-6.0 … -3.8)",
        "Workloads run 2 · 3 · 1 faster, 1 same, 1 slower · aggregate: geometric mean",
        "rows=128 cols=4096 T=f32",
        "▼",
        "slower",
    ] {
        assert!(
            words.contains(wanted),
            "{wanted}\n{}",
            world.screen(160, 45)
        );
    }
    check("workloads_in_bench", &mut world);
}

#[test]
fn the_workloads_are_sorted_by_keys_and_by_the_mouse_and_searched() {
    let mut world = world();
    let order = |world: &mut World| {
        let words = world.words();
        // In run.log the lines have `kernel_us=` there.
        let rows = [
            "rows=1 cols=4096 T=f32 2.10",
            "rows=128 cols=4096 T=f32 6.05",
            "rows=4096 cols=4096 T=f32 88.10",
        ];
        let mut at: Vec<(Option<usize>, &str)> = rows
            .into_iter()
            .map(|row| (words.find(row), row.split(' ').next().unwrap()))
            .collect();
        at.sort_unstable();
        at.into_iter()
            .map(|(_, name)| name)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(order(&mut world), "rows=1 rows=128 rows=4096");
    // By the name, then by the time: the longest first.
    world.tell("press o; press o");
    assert!(
        world.words().contains("by µs ▼"),
        "{}",
        world.screen(160, 45)
    );
    assert_eq!(order(&mut world), "rows=4096 rows=128 rows=1");
    world.tell("press O");
    assert_eq!(order(&mut world), "rows=1 rows=128 rows=4096");
    world.tell("press /; type slower; press enter");
    world.tell("press y");
    check("workloads_sorted", &mut world);
}

#[test]
fn a_small_screen_shows_the_workloads_when_they_have_the_focus() {
    let mut world = world();
    world.tell("press tab tab tab");
    check_at(
        "workloads_on_a_small_screen",
        &mut world,
        &[(80, 24), (60, 20), (45, 12)],
    );
}

#[test]
fn one_workload_reads_as_simply_as_ever() {
    let mut world = World::new();
    world.tell("open; say device: NVIDIA H200 | throughput_sps: 1000 low=999 high=1001");
    world.tell("say workload: n=8 kernel_us=4.1 low_us=4.0 high_us=4.3 gbps=30 ratio=1.02 speed=faster correctness=pass");
    world.tell("say correctness: pass; end pass 1000 0.02; press tab tab tab tab");
    let words = world.words();
    assert!(
        !words.contains("Workloads") && !words.contains("mean"),
        "{}",
        world.screen(160, 45)
    );
    assert!(words.contains("1,000 sps"), "{}", world.screen(160, 45));
    world.tell("press o");
    assert!(
        world.words().contains("no run with several workloads"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_workloads_of_an_experiment_stand_beside_its_details() {
    let mut world = world();
    world.tell("press c; type mixed on purpose; press enter; press 3");
    let words = world.words();
    assert!(
        words.contains("Workloads") && words.contains("rows=4096 cols=4096 T=f32"),
        "{}",
        world.screen(160, 45)
    );
    check("workloads_in_results", &mut world);
    // `o` sorts the table that has the focus.
    world.tell("press tab tab; press o");
    assert!(
        world.words().contains("by workload ▲"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press shift-tab shift-tab; press o");
    assert!(
        world.words().contains("by run ▼"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_workload_is_charted_over_the_experiments() {
    let mut world = world();
    world.tell("press c; type the first; press enter");
    let faster = THREE.replace("kernel_us=6.052", "kernel_us=5.5");
    world.tell(&format!(
        "save; say {faster} | correctness: pass; end pass 170000 0.03; press c; type better; press enter"
    ));
    // The second workload of the table.
    world.tell("press tab tab tab; press j; press enter");
    let words = world.words();
    for wanted in [
        "Workload rows=128 cols=4096 T=f32 · µs · less is better · Esc goes back",
        "best 5.5",
        "kept 2",
    ] {
        assert!(
            words.contains(wanted),
            "{wanted}\n{}",
            world.screen(160, 45)
        );
    }
    check("workload_charted", &mut world);
    // A keep here, and a decision in another terminal.
    world.tell(&format!(
        "save; say {faster} | correctness: pass; end pass 180000 0.03; press c; type best; press enter; elsewhere"
    ));
    assert!(
        world.words().contains("kept 3"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press esc");
    assert!(
        !world.words().contains("Esc goes back"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn while_a_run_goes_on_the_last_workloads_stay() {
    let mut world = world();
    world.tell("save; say device: NVIDIA H200 | stage: build");
    assert!(
        world.words().contains("Workloads run 2 · 3"),
        "{}",
        world.screen(160, 45)
    );
    // The focus moves on when the pane disappears.
    world.tell("press tab tab tab; say workload: n=1 us=1 | correctness: pass; end pass 1000");
    assert!(
        !world.words().contains("Workloads"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press j; press tab; press z; press z");
}
