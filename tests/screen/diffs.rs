//! The context of diffs: one width for all of them.

use super::world::World;

/// Keys for a screen that cannot show the whole diff.
fn world(story: &str) -> World {
    let mut world = World::new().with_history();
    world.long_diffs = true;
    for step in format!("open; say correctness: pass; end pass 1000; {story}").split(';') {
        world.tell(step);
        world.screen(100, 30);
    }
    world
}

fn on(world: &mut World, story: &str) {
    for step in story.split(';') {
        world.tell(step);
        world.screen(100, 30);
    }
}

fn see(world: &mut World, text: &str) {
    let screen = world.screen(100, 30);
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(text), "nobody sees `{text}`:\n{screen}");
}

#[test]
fn of_an_experiment_whole() {
    let mut world = world("press 3 j enter; press ] ] ]");
    see(&mut world, "@@ -42,7 +42,7 @@");
    on(&mut world, "press w");
    see(&mut world, "diffs show 10 lines around");
    on(&mut world, "press [ [ ]");
    see(&mut world, "what it changed · 10 lines around");
    see(&mut world, "@@ -10,21 +10,21 @@ line 9");
    on(&mut world, "press w");
    see(&mut world, "@@ -1,60 +1,60 @@");
    // The second change is below the head of the only hunk, and the key still goes there.
    on(&mut world, "press ] ] ] ]");
    see(&mut world, "45 + line 45 is new");
    on(&mut world, "press ]");
    see(&mut world, "the log of its run");
    on(&mut world, "press w; press 1 3 g");
    see(&mut world, "what it changed @@");
}

#[test]
fn what_is_looked_at_stays_on_top() {
    let mut world = world("press 4 enter");
    let mut top = |story: &str| {
        world.tell(story);
        world
            .screen(60, 12)
            .lines()
            .nth(2)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    top("");
    assert_eq!(top("press ] ]"), "@@ -17,7 +17,7 @@ line 16");
    assert_eq!(top("press w w"), "17   line 17");
    assert_eq!(top("press j j"), "19   line 19");
    assert_eq!(top("press w"), "19   line 19");
    top("press w; press tab j; press tab");
    see(&mut world, "━ Commit 9f8e7d5 · 10 lines around");
}

#[test]
fn of_a_commit_and_of_two_experiments() {
    let mut world = world("press 4 w w enter; press ] ] ]");
    see(&mut world, "━ Commit 9f8e7d7 · the whole file");
    see(&mut world, "45 + line 45 is new");
    on(&mut world, "press [");
    see(&mut world, "20 + line 20 is new");
    on(
        &mut world,
        "press 3 space; press j space; press =; press ] ] ]",
    );
    see(
        &mut world,
        "from the first kernel to the second · the whole file",
    );
    on(&mut world, "press w");
    see(&mut world, "@@ -17,7 +17,7 @@");
}

#[test]
fn of_the_source() {
    let mut world = World::new();
    world.tell("open; say correctness: pass; end pass 1000");
    world.edit(&[
        ("threadIdx.x % 32", "threadIdx.x & 31"),
        ("return value;", "return (value);"),
    ]);
    on(&mut world, "save; press 2 w");
    see(
        &mut world,
        "context: the whole file is shown: v shows the changes",
    );
    on(&mut world, "press v ]");
    see(&mut world, "▸@@ -26,7 +26,7 @@");
    on(&mut world, "press w");
    // The cursor stays at its line, and there is one hunk now.
    see(
        &mut world,
        "unified +2 −2 against incumbent a1b2c3d · 10 lines around",
    );
    see(&mut world, "▸ 26 26");
    on(&mut world, "press g");
    see(&mut world, "▸@@ -3,37 +3,37 @@");
    on(&mut world, "press ]");
    see(&mut world, "▸ 13 - return value;");
    on(&mut world, "press } v w");
    see(&mut world, "the whole file");
    on(&mut world, "press 1 w");
    see(&mut world, "context: no diff in this view");
}
