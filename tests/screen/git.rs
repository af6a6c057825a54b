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
