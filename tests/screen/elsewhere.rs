//! Changes by other terminals: commits, files that disappear and come back, a ledger edited by
//! hand. The screen says what is true, and stops saying it once it is not.

use super::world::World;

#[test]
fn a_commit_made_elsewhere_stands_in_the_graph_that_is_looked_at() {
    let mut world = World::new().with_history();
    world.tell("open; press 4; press j");
    let chosen = |world: &mut World| {
        let words = world.words();
        words
            .split("─ Commit ")
            .nth(1)
            .map(|rest| rest[..7].to_owned())
    };
    let before = chosen(&mut world);
    world.tell("elsewhere a commit of somebody's");
    assert!(
        world.words().contains("e15e3e4 [▸exp/rmsnorm]"),
        "{}",
        world.screen(160, 45)
    );
    assert_eq!(chosen(&mut world), before, "{}", world.screen(160, 45));
}

#[test]
fn a_kernel_that_is_back_is_no_longer_said_to_be_away() {
    let mut world = World::new();
    world.tell("open; end pass");
    world.unreadable = Some("kernel.cu is not there".into());
    world.tell("elsewhere; wait 10000");
    assert!(
        world.words().contains("✗ kernel.cu is not there"),
        "{}",
        world.screen(160, 45)
    );
    world.unreadable = None;
    world.tell("save; end pass");
    assert!(
        !world.words().contains("kernel.cu is not there"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_discard_of_a_kernel_that_is_away_does_not_speak_of_newer_bytes() {
    let mut world = World::new();
    world.tell("open; end pass; save; end pass");
    world.unreadable = Some("kernel.cu is not there".into());
    world.tell("elsewhere; press d");
    let words = world.words();
    assert!(
        words.contains("kernel.cu cannot be read:"),
        "{}",
        world.screen(160, 45)
    );
    assert!(!words.contains("newer bytes"), "{}", world.screen(160, 45));
}

#[test]
fn a_ledger_broken_while_the_screen_is_open_is_told_once() {
    let mut world = World::new().with_history();
    world.tell("open");
    world.problems = vec!["results.tsv:9: 1 field instead of 6".into()];
    world.tell("elsewhere");
    assert!(
        world.words().contains("! results.tsv:9"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("wait 10000; elsewhere");
    assert!(
        !world.words().contains("results.tsv:9"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_kernel_of_another_name_is_called_by_it() {
    let mut world = World::new();
    world.model.setup.kernel = "src/fast.cu".into();
    world.tell("open; say correctness: pass; end pass 1000; press p; save");
    assert!(
        world
            .words()
            .contains("keep (fast.cu is newer than the verdict)"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press 5");
    assert!(
        world.words().contains("stale: fast.cu has changed since"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press ?");
    for _ in 0..12 {
        assert!(
            !world.words().contains("kernel.cu"),
            "{}",
            world.screen(160, 45)
        );
        world.tell("press ctrl-d");
    }
    world.unreadable = Some("fast.cu is not there".into());
    world.tell("press esc esc 1; save");
    // Two hints say so, which need a wide screen.
    let wide = world.screen(220, 45);
    assert!(wide.contains("keep (fast.cu cannot be read)"), "{wide}");
    assert!(wide.contains("rerun (fast.cu cannot be read)"), "{wide}");
}
