//! Random events in random order on random sizes: the screen does not panic.

use super::world::World;
use lab_tui::keymap::{Action, Binding, Key, KeyScope, TABLE};
use lab_tui::state::Running;
use proptest::prelude::*;

/// Too small, the smallest, one row less than the next kind of layout needs, and much too wide.
const SIZES: [(u16, u16); 9] = [
    (1, 1),
    (40, 10),
    (60, 13),
    (60, 16),
    (80, 24),
    (99, 29),
    (100, 30),
    (160, 45),
    (400, 100),
];

/// Every key of the table, and some keys of input lines.
fn keys() -> Vec<&'static str> {
    let table = TABLE.iter().flat_map(|binding| binding.keys).copied();
    // Quitting ends nothing here; later events would go to a closed screen.
    let table = table.filter(|key| !["q", "ctrl-c", "ctrl-z"].contains(key));
    table
        .chain([
            "backspace",
            "delete",
            "1",
            "2",
            "3",
            "4",
            "5",
            "6",
            "7",
            "8",
        ])
        .collect()
}

fn size() -> impl Strategy<Value = (u16, u16)> {
    prop_oneof![3 => (1u16..170, 1u16..50), 1 => prop::sample::select(SIZES.to_vec())]
}

fn step() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(keys()).prop_map(|k| format!("press {k}")),
        2 => Just("save".to_owned()),
        1 => Just("undo".to_owned()),
        2 => (prop::sample::select(vec!["down", "drag", "up", "wheel-up", "wheel-down"]), 0u16..170, 0u16..50)
            .prop_map(|(what, x, y)| format!("{what} {x} {y}")),
        1 => "[a-z漢é ]{0,12}".prop_map(|t| format!("type {t}")),
        1 => "[ -:<-~漢\u{202e}]{0,30}".prop_map(|t| format!("paste {t}")),
        1 => (0u32..8000).prop_map(|ms| format!("wait {ms}")),
        3 => "[ -:<-{}-~漢]{0,60}".prop_map(|t| format!("log {t}")),
        2 => "[a-z]{1,9}_diff: (nan|inf|[0-9]e-0[0-9]|x) limit=(0|1e-3|nan)".prop_map(|t| format!("log {t}")),
        1 => "(a|b)_diff_series: ([0-9]e-[0-9],|nan,|inf,|-1,){1,40}0".prop_map(|t| format!("log {t}")),
        1 => "workload: ([a-c]=[0-9a-z漢]{1,9} ){0,4}".prop_map(|t| format!("log {t}")),
        1 => "progress: [0-9]{1,20}/[0-9]{1,20}".prop_map(|t| format!("log {t}")),
        2 => prop::sample::select(vec!["end pass 1e300 -0.5", "end pass 0", "end fail x", "end crash", "end unbuilt e", "end void y"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(steps in prop::collection::vec(step(), 1..60), sizes in prop::collection::vec(size(), 1..4)) {
        let mut world = World::new().with_history();
        world.model.appearance.mouse = true;
        world.tell("open");
        for (at, step) in steps.iter().enumerate() {
            world.tell_if_it_can(step);
            // The terminal changes its size now and then.
            let (width, height) = sizes[at / 8 % sizes.len()];
            let seen = world.screen(width, height);
            // A frame changes only the places of things, and those were known already.
            if at % 8 == 0 {
                prop_assert_eq!(seen, world.screen(width, height), "after {}", step);
            }
        }
        world.screen(160, 45);
    }
}

/// The key of an action. An action without a key in the table gets one here.
fn key_of(world: &mut World, binding: &Binding) -> &'static str {
    let unused = "f12";
    binding.keys.first().copied().unwrap_or_else(|| {
        world.model.appearance.keymap.bind(
            binding.scope,
            binding.action,
            &[Key::parse(unused).unwrap()],
        );
        unused
    })
}

#[test]
fn every_action_in_every_view_at_every_size() {
    const RUN: &str = "say build_s: 0.4 | h0_max_diff: 3.0e-06 limit=3e-05 | device: NVIDIA H200 | throughput_sps: 1000";
    let worlds = [
        (World::new(), "open".to_owned()),
        (
            World::new().with_history(),
            format!("open; {RUN}; end pass 1000 0.031; save; {RUN}; end fail out"),
        ),
        (
            World::new().with_history().with_strangers(),
            format!("open; {RUN}; end pass 1000; save; {RUN}"),
        ),
    ];
    let performed = |b: &&Binding| {
        matches!(b.scope, KeyScope::Screen | KeyScope::In(_)) && b.action != Action::Quit
    };
    for (shift, (mut world, story)) in worlds.into_iter().enumerate() {
        world.tell(&story);
        for view in ["1", "2", "3", "4", "5"] {
            for (at, binding) in TABLE.iter().filter(performed).enumerate() {
                // All sizes over the three worlds.
                for size in [at + shift, at + shift + 3, at + shift + 6] {
                    let (width, height) = SIZES[size % SIZES.len()];
                    world.model.overlays.clear();
                    world.draw(80, 24);
                    world.tell(&format!("press {view}"));
                    world.draw(width, height);
                    let key = key_of(&mut world, binding);
                    world.tell(&format!("press {key}"));
                    world.draw(width, height);
                }
                if shift == 2 && matches!(world.model.runs.running, Running::No) {
                    world
                        .tell("save")
                        .tell_if_it_can(&RUN.replacen("say", "log", 1));
                }
            }
        }
    }
}
