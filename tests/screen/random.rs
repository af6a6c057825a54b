//! Whatever happens, in whatever order, on whatever size: the screen does not fall over.

use super::world::World;
use proptest::prelude::*;

fn step() -> impl Strategy<Value = String> {
    let keys = [
        "c",
        "d",
        "r",
        "e",
        "p",
        "tab",
        "shift-tab",
        "z",
        "k",
        "j",
        "ctrl-u",
        "ctrl-d",
        "g",
        "G",
        "/",
        "esc",
        "?",
        "ctrl-l",
        "n",
        "N",
        "f",
        "<",
        ">",
        "enter",
        "y",
        "backspace",
        "left",
        "delete",
        "2",
        "v",
        "b",
        "]",
        "{",
        "ctrl-w",
        "o",
        "O",
        "space",
        "=",
        "R",
        "[",
        "]",
        ":",
        "t",
        "up",
        "down",
        "1",
        "2",
        "3",
        "4",
        "5",
        "ctrl-left",
        "ctrl-down",
        "ctrl-t",
        "u",
        "a",
        "E",
    ];
    prop_oneof![
        8 => prop::sample::select(keys.to_vec()).prop_map(|k| format!("press {k}")),
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
    fn nothing_panics(steps in prop::collection::vec(step(), 1..60), width in 1u16..170, height in 1u16..50) {
        let mut world = World::new().with_history();
        world.app.mouse = true;
        world.tell("open");
        for step in steps {
            world.tell_if_it_can(&step);
            world.screen(width, height);
        }
        world.screen(160, 45);
    }
}
