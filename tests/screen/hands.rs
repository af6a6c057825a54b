//! Keys of the user's own, the palette, searching, copying, the mouse, borders, notifications.

use super::world::World;
use lab_tui::keymap::TABLE;
use lab_tui::theme::{ColorDepth, Theme};
use lab_tui::views::View;

const PASS: &str = "say correctness: pass; end pass 1000";

fn world(story: &str) -> World {
    let mut world = World::new().with_history();
    world.tell("open").tell(PASS).tell(story);
    world
}

fn see(world: &mut World, text: &str) {
    assert!(
        world.words().contains(text),
        "nobody sees `{text}`:\n{}",
        world.screen(160, 45)
    );
}

/// The place of a text on the large screen.
pub fn place(world: &mut World, text: &str) -> (usize, usize) {
    let screen = world.screen(160, 45);
    let found = screen.lines().enumerate().find_map(|(y, line)| {
        let at = line.find(text)?;
        Some((lab_tui::text::width(&line[..at]), y))
    });
    found.unwrap_or_else(|| panic!("nobody sees `{text}`:\n{screen}"))
}

#[test]
fn keys_of_the_config_are_heard_and_shown() {
    let mut world = world("config [keys]|keep = \"K\"|stop = []|[keys.git]|quit = \"ctrl-q\"");
    see(&mut world, "config.toml was read");
    see(&mut world, "K keep");
    world.tell("press c");
    assert!(
        world.model.overlays.is_empty(),
        "the table's own key is free"
    );
    // A key of one view is in the help of that view, which has more lines than the screen.
    world.tell("press 4 ?");
    for text in ["Ctrl-Q", ":reset-borders"] {
        world.tell("press g");
        let mut lines = 0..200;
        lines.find(|_| {
            world.tell("press j");
            world.words().contains(text)
        });
        see(&mut world, text);
    }
    world.tell("press esc; press 4 q");
    assert_eq!(world.asked, [""; 0]);
    see(&mut world, "Ctrl-Q quit");
    world.tell("press ctrl-q");
    assert_eq!(world.asked, ["Quit"]);
}

#[test]
fn a_wrong_config_changes_nothing_and_is_said() {
    let mut world = world("config [keys]|keep = \"K\"; config [keys]|keep = \"d\"");
    see(
        &mut world,
        "config.toml:2:1: 'd' is bound to both discard and keep",
    );
    see(&mut world, "the settings are unchanged");
    see(&mut world, "K keep");
}

#[test]
fn the_palette_performs_what_is_chosen() {
    let mut world = world("press :; type pause");
    see(&mut world, "Pause watching");
    world.tell("press enter");
    assert!(world.model.runs.paused && world.model.overlays.is_empty());
    // By letters of its name, and with the keys of a list.
    world.tell("press :; type shg; press down up enter");
    assert_eq!(world.model.panes.view, View::Git);
    world.tell("press :; type quit; press esc");
    assert_eq!(world.asked, [""; 0]);
    // An action without a key.
    world.tell("press :; paste mouse; press enter");
    assert!(world.model.appearance.mouse);
}

#[test]
fn the_palette_says_why_something_cannot_be_used() {
    let mut world = world("press 2 :; type stop");
    see(&mut world, "(no run in progress)");
    world.tell("press enter");
    assert!(
        !world.model.overlays.is_empty(),
        "it stays, with the reason in sight"
    );
    world.tell("press esc; press :; type freeze");
    see(&mut world, "(in the view Bench)");
}

#[test]
fn the_palette_finds_every_action_by_its_name() {
    let mut world = world("");
    for binding in TABLE {
        let offers = world.model.offers(binding.name);
        let performed = !matches!(
            binding.scope,
            lab_tui::keymap::KeyScope::Input | lab_tui::keymap::KeyScope::Question
        );
        assert_eq!(
            offers
                .first()
                .is_some_and(|o| o.binding.action == binding.action),
            performed,
            "{}",
            binding.name
        );
    }
    world.tell("press :; type zzzzzz; press enter");
    see(&mut world, "nothing fits");
}

#[test]
fn a_search_goes_through_the_list_that_is_focused() {
    let mut world = world("press tab tab; press /; type warp; press enter");
    see(&mut world, "Git log exp/rmsnorm");
    see(&mut world, "/warp");
    let chosen = world.model.selected().map(|e| e.row.description.clone());
    assert_eq!(
        chosen.as_deref(),
        Some("one warp a row"),
        "what is found is chosen everywhere"
    );
    world.tell("press 3; press /; type BY; press enter");
    see(&mut world, "'BY' was not found in Experiments");
    world.tell("press /; type s; press enter; press n n");
    let chosen = world.model.selected().map(|e| e.row.description.clone());
    world.tell("press n N");
    assert_eq!(
        world.model.selected().map(|e| e.row.description.clone()),
        chosen
    );
    // Esc ends one search after the other; each list has its own.
    world.tell("press esc");
    assert!(!world.screen(160, 45).contains("/s "));
    world.tell("press 1");
    see(&mut world, "/warp");
    world.tell("press /; type never mind; press esc");
    see(&mut world, "/warp");
}

#[test]
fn what_the_focused_pane_is_about_is_copied() {
    let mut world = world("press y");
    assert_eq!(world.clipboard, "run 42 PASS throughput_sps=1000");
    world.tell("press tab k k y");
    assert_eq!(world.clipboard, "9f8e7d5");
    see(&mut world, "copied 9f8e7d5");
    world.tell("press tab g y");
    assert_eq!(world.clipboard, "9f8e7d7");
    world.tell("save; say a line | another line; end unbuilt it does not build; press tab; press /; type another; press enter y");
    assert_eq!(world.clipboard, "another line");
    world.tell("press esc y");
    assert_eq!(world.clipboard, "a line\nanother line");
    see(&mut world, "copied 2 lines");
    world.tell(
        "save; say kernel.cu(7): error: no such thing; end unbuilt it does not build; press tab y",
    );
    assert_eq!(world.clipboard, "kernel.cu:7: error: no such thing");
    let mut empty = World::new();
    empty.tell("open; press tab y");
    see(&mut empty, "copy: no experiment is selected");
    assert_eq!(empty.clipboard, "");
}

#[test]
fn the_mouse_is_heard_where_the_user_wants_it() {
    let mut world = world("");
    let (x, y) = place(&mut world, "float4 loads");
    world.tell(&format!("click {x} {y}"));
    assert_eq!(
        world.model.panes.focus().name(),
        "Correctness",
        "not asked for, not heard"
    );
    world.tell(&format!("config mouse = true; click {x} {y}"));
    assert_eq!(world.model.panes.focus().name(), "Git log");
    assert_eq!(
        world.model.selected().map(|e| e.row.description.as_str()),
        Some("float4 loads")
    );
    // The wheel scrolls the pane under it and leaves the focus.
    let first = place(&mut world, "━ Git log").1 + 1;
    world.tell("press 3; click 20 20; press 1");
    world.tell(&format!("wheel-down {x} {first}"));
    assert_eq!(world.model.panes.focus().name(), "Git log");
    let modes = world.model.appearance.modes();
    assert!(modes.mouse && !modes.focus);
    // In the palette it goes through the list.
    world.tell("press :; wheel-down 80 20; wheel-down 80 20; wheel-up 80 20; click 3 3");
    see(&mut world, "▸d discard");
}

#[test]
fn a_click_shows_a_view_and_does_what_a_hint_says() {
    let mut world = world("config mouse = true");
    let click = |world: &mut World, text: &str| {
        let (x, y) = place(world, text);
        world.tell(&format!("click {x} {y}"));
    };
    for (key, view) in ["1", "2", "3", "4", "5", "6", "7", "8"]
        .into_iter()
        .zip(View::ALL)
    {
        click(&mut world, &format!("{key} {}", view.name()));
        assert_eq!(world.model.panes.view, *view);
    }
    click(&mut world, "1 Bench");
    click(&mut world, "z zoom");
    assert!(world.model.panes.zoom());
    click(&mut world, "z unzoom");
    assert!(!world.model.panes.zoom());
    click(&mut world, "c keep");
    see(&mut world, "What did you try?");
    // A click does not reach a pane below a dialog.
    click(&mut world, "2 Source");
    assert_eq!(world.model.panes.view, View::Bench);
    world.tell("press esc");
    // A hint that cannot be used says so, as its key does.
    world.tell("save; say correctness: fail; end fail it is wrong");
    click(&mut world, "c keep");
    see(&mut world, "Keep: not now");
    world.tell("press esc");
    // A click between two hints does nothing.
    let (x, y) = place(&mut world, "z zoom");
    world.tell(&format!("click {} {y}", x - 1));
    assert!(!world.model.panes.zoom());
    click(&mut world, "q quit");
    assert_eq!(world.asked, ["Quit"]);
}

#[test]
fn a_click_chooses_what_is_there_in_each_pane() {
    let mut world = world("config mouse = true");
    let chosen = |world: &World| {
        world
            .model
            .selected()
            .map_or(String::new(), |e| e.row.description.clone())
    };
    // The chart: the mark at the pointer, and on the ground line the crash.
    let (x, y) = place(&mut world, "⠤○");
    world.tell(&format!("click {} {y}", x + 1));
    assert_eq!(world.model.panes.focus().name(), "Throughput");
    assert_eq!(chosen(&world), "unroll by 8");
    let (x, y) = place(&mut world, "─✗─");
    world.tell(&format!("click {} {y}", x + 1));
    assert_eq!(chosen(&world), "async copy, misaligned");
    let (x, y) = place(&mut world, "100k┤");
    world.tell(&format!("click {x} {y}"));
    assert_eq!(
        chosen(&world),
        "async copy, misaligned",
        "beside the plot is nothing"
    );
    // A list, and below its last row nothing.
    let (x, y) = place(&mut world, "float4 loads");
    world.tell(&format!("click {x} {y}"));
    assert_eq!(chosen(&world), "float4 loads");
    let (x, y) = place(&mut world, "the first kernel");
    world.tell(&format!("click {x} {}", y + 3));
    assert_eq!(chosen(&world), "float4 loads");
    // The table, without its heading.
    world.tell("press 3");
    let (x, y) = place(&mut world, "shared staging");
    world.tell(&format!("click {x} {y}"));
    assert_eq!(chosen(&world), "shared staging");
    let (x, y) = place(&mut world, "description");
    world.tell(&format!("click {x} {y}"));
    assert_eq!(chosen(&world), "shared staging");
    // The graph; the commit beside it is that one.
    world.tell("press 4");
    let (x, y) = place(&mut world, "baseline");
    world.tell(&format!("click {x} {y}"));
    assert_eq!(chosen(&world), "baseline");
    see(&mut world, "─ Commit 9f8e7d0");
}

#[test]
fn a_click_in_the_source_puts_the_cursor_there() {
    let mut world = world(
        "config mouse = true; save; say kernel.cu(6): error: no such word; end unbuilt no; press 2",
    );
    let click = |world: &mut World, text: &str| {
        let (x, y) = place(world, text);
        world.tell(&format!("click {x} {y}"));
    };
    click(&mut world, "value += __shfl");
    see(&mut world, "▸ 11 value");
    // A click on a message goes to its line.
    click(&mut world, "error: no such word");
    see(&mut world, "▸✗ 6 constexpr");
    // The wheel goes through it wherever the pointer is.
    world.tell("wheel-down 80 30; wheel-down 3 10; wheel-up 3 10");
    see(&mut world, "▸ 9 __device__");
    world.tell("press e");
    assert_eq!(
        world.asked,
        ["OpenEditor(Some(Spot { line: 9, column: None }))"]
    );
}

#[test]
fn a_border_is_dragged_and_remembered() {
    let mut world = world("config mouse = true");
    let (x, y) = place(&mut world, "┬");
    assert_eq!(x, 70);
    world.tell(&format!("down {x} {}; drag 90 {}", y + 3, y + 3));
    assert!(world.layout.shares.is_empty(), "not while it moves");
    world.tell("up 90 9");
    assert_eq!(place(&mut world, "┬").0, 90);
    assert_eq!(world.layout.shares.len(), 1);
    // Another screen of this project, of another size: the same share.
    let layout = world.layout.clone();
    let mut other = World::new();
    other.model.restore_layout(layout);
    other.tell("open");
    assert_eq!(place(&mut other, "┬").0, 90);
    let narrow = other.screen(120, 40);
    let line = narrow.lines().find(|line| line.contains('┬')).unwrap();
    assert_eq!(lab_tui::text::width(&line[..line.find('┬').unwrap()]), 68);
    world.tell("press :; type reset; press enter");
    assert_eq!(place(&mut world, "┬").0, 70);
    assert!(world.layout.shares.is_empty());
}

#[test]
fn keys_move_the_border_beside_the_focused_pane() {
    let mut world = world("");
    let before = place(&mut world, "┬").0;
    world.tell("press ctrl-left");
    assert_eq!(place(&mut world, "┬").0, before - 4);
    let log = place(&mut world, "─ run.log").1;
    let commits = place(&mut world, "─ Git log").1;
    world.tell("press shift-tab ctrl-down");
    assert_eq!(place(&mut world, "━ run.log").1, log + 2);
    assert_eq!(
        place(&mut world, "─ Git log").1,
        commits,
        "the other column stays"
    );
    world.tell("press z");
    world.screen(160, 45);
    world.tell("press ctrl-left");
    see(
        &mut world,
        "border left: no border left or right of this pane",
    );
}

#[test]
fn a_theme_is_seen_while_it_is_chosen() {
    let theme = |name| Theme::choose(Some(name), ColorDepth::Rgb).unwrap();
    let mut world = world("");
    let before = world.model.appearance.theme.clone();
    world.tell("press t; press down");
    assert_eq!(world.model.appearance.theme, theme("lab-dark"));
    world.tell("press down");
    assert_eq!(world.model.appearance.theme, theme("lab-light"));
    world.tell("press esc");
    assert_eq!(world.model.appearance.theme, before);
    assert_eq!(world.choice.theme, None);
    world.tell("press t; type dark; press enter");
    assert_eq!(world.model.appearance.theme, theme("lab-dark"));
    assert_eq!(world.choice.theme.as_deref(), Some("lab-dark"));
    // If the config names another theme, that one counts; any other change of the config leaves the
    // choice.
    world.tell("config mouse = true");
    assert_eq!(world.model.appearance.theme, theme("lab-dark"));
    world.tell("config theme = \"lab-light\"");
    assert_eq!(world.model.appearance.theme, theme("lab-light"));
    assert_eq!(world.choice.theme, None);
}

#[test]
fn a_config_that_changes_while_a_theme_is_chosen_is_what_esc_goes_back_to() {
    let theme = |name, depth| Theme::choose(Some(name), depth).unwrap();
    let mut world = world("press t; press down; config theme = \"lab-light\"");
    assert_eq!(
        world.model.appearance.theme,
        theme("lab-dark", ColorDepth::Rgb),
        "it is still looked at"
    );
    world.tell("press esc");
    assert_eq!(
        world.model.appearance.theme,
        theme("lab-light", ColorDepth::Rgb)
    );
    // The theme that was chosen on the screen is the one that Esc restores, even if the config
    // changed meanwhile.
    world.tell(
        "press t; type dark; press enter; press t; type light; config theme = \"lab-light\"|mouse = true",
    );
    assert_eq!(
        world.model.appearance.theme,
        theme("lab-light", ColorDepth::Rgb)
    );
    world.tell("press esc");
    assert_eq!(
        world.model.appearance.theme,
        theme("lab-dark", ColorDepth::Rgb)
    );
    // It is shown in the config's number of colours.
    world.tell("config theme = \"lab-light\"|mouse = true|color = \"256\"");
    assert_eq!(
        world.model.appearance.theme,
        theme("lab-dark", ColorDepth::Ansi256)
    );
    assert_eq!(world.choice.theme.as_deref(), Some("lab-dark"));
}

#[test]
fn the_end_of_a_long_run_is_called_to_who_looks_elsewhere() {
    let call = |config: &str, story: &str| {
        let mut world = world(&format!("config {config}; {story}"));
        assert_eq!(
            world.model.appearance.modes().focus,
            config.contains("notify")
        );
        std::mem::take(&mut world.asked)
    };
    let long = format!("look-away; save; wait 12000; {PASS}");
    assert_eq!(call("mouse = false", &long), [""; 0]);
    assert_eq!(
        call("notify = \"bell\"", &long),
        ["Notify(Bell, \"rmsnorm: run 43 PASS 1,000 sps\")"]
    );
    assert_eq!(
        call("notify = \"bell\"", &format!("save; wait 12000; {PASS}")),
        [""; 0],
        "they look"
    );
    assert_eq!(
        call(
            "notify = \"bell\"",
            &format!("look-away; save; wait 900; {PASS}")
        ),
        [""; 0],
        "a short one"
    );
    let soon = "notify = \"osc\"|notify_after_s = 0.5";
    let wrong = "look-away; save; wait 900; end fail out is wrong";
    assert_eq!(call(soon, wrong), ["Notify(Osc, \"rmsnorm: run 43 FAIL\")"]);
    let checked = format!("save; {PASS}; press s; look-away; wait 900; end fail a race");
    assert_eq!(
        call(soon, &checked),
        ["Notify(Osc, \"rmsnorm: run 44 FAIL\")"],
        "the check that ended, not the run"
    );
    let stopped = format!("save; {PASS}; press s; look-away; wait 900; press x");
    assert_eq!(
        call(soon, &stopped),
        [""; 0],
        "a check that was ended told nothing"
    );
}

#[test]
fn a_zoom_belongs_to_its_view() {
    let mut world = World::new().with_history();
    world.tell("open; press 3 enter; press 4");
    assert!(
        world.words().contains("─ Commit 9f8e7d"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press 3");
    assert!(
        !world.words().contains("Experiments 8"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn words_name_the_keys_as_they_are_bound() {
    let mut world = World::new();
    world.tell("open; config [keys]\nkeep = \"C\"; press a y; press a");
    assert!(
        world.words().contains("you decide: C keeps, d discards"),
        "{}",
        world.screen(160, 45)
    );
}
