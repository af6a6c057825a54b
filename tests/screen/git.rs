//! The view Git: the graph with experiments in it, and the selected commit whole.

use super::states::check;
use super::world::World;

#[test]
fn commits_of_all_branches() {
    let mut world = World::new().with_history();
    check("git", world.tell("open; press 4; press j"));
}

#[test]
fn a_commit_that_holds_an_experiment_chooses_it() {
    let mut world = World::new().with_history();
    world.tell("open; press 4; press j; press 1");
    assert!(world.screen(160, 45).contains("6 of 8  9f8e7d5"), "{}", world.screen(160, 45));
    // And the other way round: the graph goes to what is chosen.
    world.tell("press tab; press k k k; press 4");
    assert!(world.screen(160, 45).contains("Commit 9f8e7d2"), "{}", world.screen(160, 45));
}

#[test]
fn the_commit_is_scrolled_and_its_changes_are_gone_to() {
    let mut world = World::new().with_history();
    world.tell("open; press 4; press enter");
    assert!(world.screen(80, 24).contains("━ Commit 9f8e7d7"), "{}", world.screen(80, 24));
    world.tell("press ]");
    assert!(world.screen(80, 24).contains("+     s += bias;"), "{}", world.screen(80, 24));
}

#[test]
fn what_is_kept_while_the_graph_is_looked_at_is_in_it() {
    let mut world = World::new().with_history();
    world.tell("open; say correctness: pass; end pass 150000; save; say correctness: pass; end pass 160000");
    world.tell("press 4 c; type overlap the gather; press enter");
    let screen = world.screen(160, 45);
    assert!(screen.contains("[▸exp/rmsnorm] (origin/main) ●   160k  overlap the gather"), "{screen}");
}
