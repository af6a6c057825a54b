//! What a new user meets at 80 columns and 24 rows: hints, messages, lines that go on, the focus.

use super::sweeps;
use super::world::World;

const GATES: &str = "say stage: build | build_s: 0.38 | correctness: pass; end pass 1200";

fn world(run: &str) -> World {
    let mut world = World::new().with_history();
    world.tell("open").tell(run);
    world.screen(80, 24);
    world
}

#[test]
fn the_advice_of_a_sweep_is_read_whole() {
    let mut world = world(GATES);
    let mut swept = sweeps::swept();
    swept.sweep.start.kernel = "kernels/attention_decode/kernel.cu".to_owned();
    swept.sweep.start.points = 5;
    world.sweep = Some(swept);
    world.tell("press 8");
    let words = world
        .screen(80, 24)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let advice =
        "`lab sweep kernels/attention_decode/kernel.cu --apply 3` writes point 3 into the kernel";
    assert!(words.contains(advice), "{words}");
}

#[test]
fn a_cached_build_has_no_seconds() {
    let mut world =
        world("say stage: build | build_s: 0.00 reused=yes | correctness: pass; end pass 1");
    let screen = world.screen(80, 24);
    assert!(screen.contains("✓ build  cached"), "{screen}");
}
