//! A second screen of one kernel: it shows what the first one judges, and changes nothing.

use super::world::World;
use lab_tui::keymap::{KeyScope, TABLE};
use lab_tui::views::View;

fn second() -> World {
    let mut world = World::new();
    let first = "another screen (process 7)".to_owned();
    world.model.only_show(first);
    world
}

#[track_caller]
fn see(world: &mut World, text: &str) {
    let screen = world.screen(160, 45);
    assert!(screen.contains(text), "no '{text}' in\n{screen}");
}

#[test]
fn a_second_screen_only_shows_the_kernel() {
    let mut world = second();
    world.tell("open; save");
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("another screen (process 7) judges this kernel: this one only shows it"),
        "{screen}"
    );
    assert!(
        screen.contains("only shown") && screen.contains("\n e edit  Tab focus"),
        "{screen}"
    );
    world.tell("press r");
    see(
        &mut world,
        "rerun: another screen (process 7) judges this kernel: use that one, or quit it and choose the kernel here (Ctrl-O)",
    );
}

#[test]
fn a_second_screen_follows_the_runs_of_the_first_one() {
    let mut world = second();
    world.tell("open; save; other-begins; wait 5000; elsewhere");
    // It began before this screen saw it.
    see(&mut world, "START  5.0 s");
    world.tell("say stage: build at=0 | stage: verify at=1 | progress: 3/10; wait 1000");
    see(
        &mut world,
        "VERIFY  ▰▰▰▰▱▱▱▱▱▱▱▱▱▱▱▱ 3/10  6.0 s, about 12 s left",
    );
    see(&mut world, "progress: 3/10");
    // A save on the first screen ends the run; the next one is followed in its place.
    world.tell("other-ends; save; other-begins; elsewhere; say stage: build at=0");
    see(&mut world, "BUILD");
    world.tell("say stage: measure at=2 | throughput_sps: 1200 | correctness: pass; end pass 1200");
    see(&mut world, "● PASS");
    see(&mut world, "1,200 sps");
    assert_eq!(world.changes, [""; 0], "it starts and ends nothing");
}

#[test]
fn a_second_screen_that_opens_during_a_run_follows_it() {
    let mut world = second();
    world.tell("save; other-begins; open; say stage: measure at=0");
    see(&mut world, "MEASURE");
    world.tell("press x");
    see(
        &mut world,
        "stop: another screen (process 7) judges this kernel",
    );
}

/// Chooses each action from the palette, in its view, and answers what it asks. In an ordinary screen
/// this finds an action that changes something and is not marked so in the table.
#[test]
fn an_action_that_is_not_marked_as_a_change_changes_nothing_and_a_second_screen_refuses_the_others()
{
    for binding in TABLE {
        let view = match binding.scope {
            KeyScope::Screen => View::Results,
            KeyScope::In(view) => view,
            KeyScope::Input | KeyScope::Question => continue,
        };
        let digit = 1 + View::ALL.iter().position(|it| *it == view).unwrap();
        for is_second in [false, true] {
            if !is_second && binding.is_change {
                continue;
            }
            let mut world = if is_second { second() } else { World::new() };
            world = world.with_history();
            world.tell("open");
            if !is_second {
                world.tell("say throughput_sps: 1200 | correctness: pass; end pass 1200");
            }
            world.tell(&format!("press {digit}"));
            world.screen(160, 45);
            world.changes.clear();
            world.tell(&format!("press :; type {}; press enter", binding.name));
            world.screen(160, 45);
            world.tell("press y enter");
            let what = format!("{} (second screen: {is_second})", binding.name);
            assert_eq!(world.changes, [""; 0], "{what}");
        }
    }
}
