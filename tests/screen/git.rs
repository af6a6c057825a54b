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
    assert!(
        world.screen(160, 45).contains("6 of 8  9f8e7d5"),
        "{}",
        world.screen(160, 45)
    );
    // The other way round, the graph goes to the chosen experiment.
    world.tell("press tab; press k k k; press 4");
    assert!(
        world.screen(160, 45).contains("Commit 9f8e7d2"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_commit_is_scrolled_and_its_changes_are_gone_to() {
    let mut world = World::new().with_history();
    world.tell("open; press 4; press enter");
    assert!(
        world.screen(80, 24).contains("━ Commit 9f8e7d7"),
        "{}",
        world.screen(80, 24)
    );
    world.tell("press ]");
    assert!(
        world.screen(80, 24).contains("+     s += bias;"),
        "{}",
        world.screen(80, 24)
    );
}

#[test]
fn what_is_kept_while_the_graph_is_looked_at_is_in_it() {
    let mut world = World::new().with_history();
    world.tell("open; say correctness: pass; end pass 150000; save; say correctness: pass; end pass 160000");
    world.tell("press 4 c; type overlap the gather; press enter");
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("[▸exp/rmsnorm] (origin/main) ●160,000  overlap the gather"),
        "{screen}"
    );
}

/// Goes to an experiment in the table, and to the view Git.
fn tried(description: &str) -> World {
    let mut world = World::new().with_history();
    world.tell(&format!(
        "open; press 3; press /; type {description}; press enter; press 4"
    ));
    world
}

#[test]
fn a_discarded_experiment_has_a_row_at_the_commit_it_was_tried_on() {
    let mut world = tried("unroll");
    check("git_discarded", &mut world);
    let words = world.words();
    assert!(
        words.contains("━ Commits 7") && words.contains("─ Commit 9f8e7d4"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        words.contains("○ discard: run 5 was tried on 9f8e7d2; no branch holds it"),
        "{}",
        world.screen(160, 45)
    );
    // It is a row like the others.
    let chosen = |world: &World| world.model.selected().map(|e| e.row.description.clone());
    world.tell("press j");
    assert_eq!(chosen(&world).as_deref(), Some("float4 loads"));
    world.tell("press k");
    assert_eq!(chosen(&world).as_deref(), Some("unroll by 8"));
    world.tell("press y");
    assert_eq!(world.clipboard, "9f8e7d4");
    // The graph is read again whenever the view is shown, and whenever HEAD changes.
    world.tell("press 1; press 4; elsewhere of another terminal");
    let words = world.words();
    assert!(
        words.contains("━ Commits 8") && words.contains("─ Commit 9f8e7d4"),
        "{}",
        world.screen(160, 45)
    );
    assert_eq!(chosen(&world).as_deref(), Some("unroll by 8"));
}

#[test]
fn a_crash_has_its_row_too_and_what_was_tried_on_a_tip_stands_above_it() {
    let mut world = tried("misaligned");
    assert!(
        world
            .words()
            .contains("✗ crash: run 4 was tried on 9f8e7d2"),
        "{}",
        world.screen(160, 45)
    );
    let mut world = World::new().with_history();
    world.tell("open; say correctness: pass; end pass 150000; save; say correctness: pass; end pass 160000");
    world.tell("press d; type no use; press enter; press 3 g enter; press 4");
    let screen = world.screen(160, 45);
    let rows: Vec<&str> = screen
        .lines()
        .skip(3)
        .take(2)
        .map(|row| row.split("  ").next().unwrap())
        .collect();
    assert_eq!(rows, [" ╭─○", " ●─╮"], "{screen}");
    // With the same context as diffs elsewhere.
    world.tell("press w");
    assert!(
        world.words().contains("─ Commit c0fff0b · 10 lines around"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn one_whose_commit_is_not_here_leaves_the_graph_as_it_is() {
    let mut world = World::new().with_history();
    world.gone = Some("9f8e7d4".into());
    world.tell("open; press 3; press /; type unroll; press enter; press 4");
    assert!(
        world
            .words()
            .contains("the commit 9f8e7d4 cannot be shown: it is not here"),
        "{}",
        world.words()
    );
    assert!(
        world.words().contains("─ Commit 9f8e7d7"),
        "{}",
        world.screen(160, 45)
    );
}

/// A graph of this length, whose pages arrive one by one.
fn long(older: usize) -> World {
    let mut world = World::new().with_history();
    (world.older, world.awaits_pages) = (older, true);
    world.tell("open; press 4");
    world
}

fn see(world: &mut World, text: &str) {
    assert!(
        world.words().contains(text),
        "nobody sees `{text}`:\n{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_end_of_the_graph_is_read_to_page_by_page() {
    let mut world = long(700);
    see(&mut world, "Commits 6 and older ones");
    world.tell("press G");
    see(&mut world, "Commits 6 · reading on: any key stops");
    world.tell("page; page");
    see(&mut world, "Commits 606 · reading on: any key stops");
    see(&mut world, "an older one, 599");
    world.tell("page");
    see(&mut world, "Commits 706 ━");
    see(&mut world, "Commit 0ld0069");
}

#[test]
fn any_key_stops_it_and_does_what_it_always_does_but_esc() {
    let mut world = long(10_000);
    world.tell("press enter tab; press G; page; press k");
    see(&mut world, "Commits 306 and older ones");
    see(&mut world, "Commit 0ld0029");
    // The page that was asked for still comes, and asks for no further one.
    world.tell("page");
    see(&mut world, "Commits 606 and older ones");
    see(&mut world, "Commit 0ld0029");
    world.tell("press /; type warp; press enter");
    see(&mut world, "Commit 9f8e7d5");
    world.tell("press G; page; press esc");
    see(&mut world, "/warp");
    see(&mut world, "Commits 906 and older ones");
    world.tell("press esc");
    assert!(
        !world.words().contains("/warp"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press /; type nobody; press enter");
    see(
        &mut world,
        "'nobody' was not found in the 906 commits read so far: G reads more",
    );
}

#[test]
fn a_number_reads_on_to_its_row_and_a_chosen_experiment_to_its_commit() {
    let mut world = long(5_000);
    world.awaits_pages = false;
    world.tell("press :; type 1000; press enter");
    see(&mut world, "Commit 0ld0099");
    see(&mut world, "Commits 1,206 and older ones");
    // An experiment that was kept long ago.
    let mut world = long(5_000);
    world.awaits_pages = false;
    let mut old = world.history[0].clone();
    (old.row.commit, old.row.description, old.run) =
        ("0ld0155".into(), "kept long ago".into(), None);
    world.history.insert(0, old);
    world.tell("elsewhere; press 3; press /; type long ago; press enter; press 4");
    see(&mut world, "Commit 0ld0155");
    see(&mut world, "Commits 1,806 and older ones");
}

#[test]
fn no_more_than_so_many_commits_are_held() {
    let mut world = long(150_000);
    (world.awaits_pages, world.page) = (false, 49_997);
    world.tell("press G");
    see(
        &mut world,
        "Commits 100,000 · no more are held: `git log` shows older ones",
    );
    see(
        &mut world,
        "! the newest 100,000 commits are held: `git log` in a shell shows older ones",
    );
    world.tell("press k j; press ctrl-d");
    see(&mut world, "Commits 100,000 ");
}

#[test]
fn the_log_says_which_commits_are_of_this_kernel() {
    let mut world = World::new().with_history();
    world.tell("open");
    assert!(!world.words().contains("this kernel's first"));
    world.tell("elsewhere made by hand");
    let words = world.words();
    assert!(
        words.contains("exp/rmsnorm @ e15e3e4 · this kernel's first"),
        "{words}"
    );
    assert!(words.contains("e15e3e4 other made by hand"), "{words}");
}
