//! The same keys work on the rows of every pane: `/`, `n`, `N`, and a number in the palette.

use super::device::{self, readings};
use super::world::World;
use lab_tui::views::Pane;
use ratatui::style::Modifier;

fn world(story: &str) -> World {
    let mut world = World::new().with_history();
    world.tell("open").tell(device::RUN).tell("end pass 265231");
    steps(&mut world, story);
    world
}

/// Keys for a person who sees the pane.
fn steps(world: &mut World, story: &str) {
    for step in story.split(';') {
        world.tell(step);
        world.screen(160, 45);
    }
}

/// The highlighted parts below the verdict, one row each: the matches, or the whole line that was
/// gone to.
fn outstanding(world: &mut World) -> Vec<String> {
    let buffer = world.draw(160, 45);
    let row = |y: u16| {
        let cells = (0..160).map(|x| &buffer[(x, y)]);
        let cells = cells.filter(|cell| cell.modifier.contains(Modifier::REVERSED));
        cells
            .map(ratatui::buffer::Cell::symbol)
            .collect::<String>()
            .trim()
            .to_owned()
    };
    (2..45).map(row).filter(|row| !row.is_empty()).collect()
}

#[test]
fn one_experiment_whole() {
    let mut world = world("press 3 j enter; press /; type the; press enter");
    assert!(
        world.words().contains("━ Experiment 9f8e7d6 · /the"),
        "{}",
        world.screen(160, 45)
    );
    let mut gone_to = Vec::new();
    for key in ["n", "n", "n", "N"] {
        let longest = outstanding(&mut world).into_iter().max_by_key(String::len);
        gone_to.extend(longest);
        steps(&mut world, &format!("press {key}"));
    }
    let bare = "Its record is not here: neither the runs";
    let wanted = [
        bare,
        "1     - the bytes before",
        "1 + the bytes of 9f8e7d6",
        "the log of its run",
    ];
    let is_so = gone_to
        .iter()
        .zip(wanted)
        .all(|(row, wanted)| row.starts_with(wanted));
    assert!(is_so, "{gone_to:#?}");
    assert_eq!(outstanding(&mut world)[2], wanted[2], "and back");
    // Esc ends the search first, then the whole screen of the pane.
    steps(&mut world, "press esc");
    assert_eq!(outstanding(&mut world), [""; 0]);
    assert!(
        world.words().contains("━ Experiment 9f8e7d6 ━"),
        "{}",
        world.screen(160, 45)
    );
    steps(&mut world, "press esc");
    assert!(
        world.words().contains("━ Experiments 8"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn what_is_below_the_last_screenful_is_found_too() {
    let mut world = world("press 3 j enter");
    world.screen(80, 16);
    world.tell("press /; type the; press enter n n n");
    let screen = world.screen(80, 16);
    assert!(screen.contains("the log of its run"), "{screen}");
    world.tell("press N");
    let marked = world.model.panes.text(Pane::Experiment).marked;
    assert_eq!(marked, Some(15), "{}", world.screen(80, 16));
}

#[test]
fn the_commit_with_its_words_and_its_changes() {
    let mut world = world("press 4 enter; press /; type rmsnorm; press enter");
    let found = |world: &mut World| outstanding(world).split_off(1);
    let words = "M kernels/rmsnorm/kernel.cu  +2 -1";
    assert_eq!(
        found(&mut world),
        [words, "rmsnorm", "rmsnorm"],
        "{}",
        world.screen(160, 45)
    );
    steps(&mut world, "press n");
    assert_eq!(found(&mut world)[1], "kernels/rmsnorm/kernel.cu");
    steps(&mut world, "press n");
    assert_eq!(found(&mut world)[2], "@@ -1,3 +1,4 @@ rmsnorm");
    steps(&mut world, "press n");
    assert_eq!(found(&mut world)[0], words, "round the end");
    steps(&mut world, "press /; type nobody wrote this; press enter");
    assert!(
        world
            .words()
            .contains("'nobody wrote this' was not found in Commit"),
        "{}",
        world.screen(160, 45)
    );
    // Another commit, the same search.
    steps(
        &mut world,
        "press /; type bias; press enter tab j; press tab n",
    );
    assert_eq!(
        found(&mut world),
        ["3 +     s += bias;"],
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_device_its_processes_and_the_kernel_as_built() {
    let mut world = world("press 5");
    readings(&mut world, 3);
    steps(&mut world, "press /; type train; press enter");
    assert_eq!(
        outstanding(&mut world),
        ["! foreign         815  train.py  12 % busy"]
    );
    steps(&mut world, "press tab; press /; type shared; press enter n");
    let wanted = ["shared", "dynamic shared    193.0 KiB a block"];
    assert_eq!(
        outstanding(&mut world)[..2],
        wanted,
        "{}",
        world.screen(160, 45)
    );
    // Esc drops the typed text and restores the search before it.
    steps(&mut world, "press /; type never mind; press esc");
    assert!(
        world.words().contains("Kernel as built run 42 · /shared"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn more_of_the_kernel_as_built_than_there_is_room_for_is_scrolled_and_found() {
    let mut world = world("press 5 tab");
    let see = |world: &mut World, text: &str| {
        let screen = world.screen(40, 10);
        assert!(screen.contains(text), "nobody sees `{text}`:\n{screen}");
    };
    see(&mut world, "build");
    world.tell("press /; type throttle; press enter");
    see(&mut world, "while it was measured");
    world.tell("press g");
    see(&mut world, "compiler");
}

#[test]
fn a_found_word_stands_out_in_a_list_too() {
    let mut world = world("press 4; press /; type warp; press enter");
    let found = outstanding(&mut world);
    assert!(
        found.len() == 1 && found[0].contains("one warp a row"),
        "{found:?}"
    );
    steps(&mut world, "press j");
    assert_eq!(outstanding(&mut world)[0], "warp");
}

#[test]
fn gates_and_chart_are_searched_in_the_log_they_are_made_of() {
    let mut world = world("press /; type kernel_us; press enter");
    assert!(
        world.words().contains("━ run.log"),
        "{}",
        world.screen(160, 45)
    );
    assert_eq!(outstanding(&mut world), ["kernel_us: 3.77"]);
}

#[test]
fn a_number_in_the_palette_goes_to_that_row() {
    let mut world = world("press 2 :; type 30");
    assert!(
        world.words().contains("▸:30 line 30 of 54 in Source"),
        "{}",
        world.screen(160, 45)
    );
    steps(&mut world, "press enter");
    assert!(world.words().contains("▸ 30"), "{}", world.screen(160, 45));
    // The last row, if there are fewer.
    steps(
        &mut world,
        "press :; type 99999999999999999999; press enter",
    );
    assert!(world.words().contains("▸ 54"), "{}", world.screen(160, 45));
    // In a list, it selects a row; the selection holds in all views.
    steps(&mut world, "press 3 :; type 3; press enter");
    assert_eq!(
        world.model.selected().map(|e| e.row.description.as_str()),
        Some("one warp a row")
    );
    steps(&mut world, "press 4 :; type 0; press enter");
    assert!(
        world.words().contains("Commit 9f8e7d7"),
        "{}",
        world.screen(160, 45)
    );
    // In a text, the line is highlighted until the text is scrolled.
    steps(&mut world, "press 5 tab :; type 4; press enter");
    assert_eq!(
        outstanding(&mut world),
        ["registers         168 a thread, the most of its kernels"]
    );
    steps(&mut world, "press j");
    assert_eq!(outstanding(&mut world), [""; 0]);
    steps(&mut world, "press 1 :; type 13; press enter y");
    assert_eq!(
        world.clipboard, "stage: measure",
        "the gates' rows are those of run.log"
    );
}

#[test]
fn a_number_goes_to_a_line_of_the_new_text_in_a_diff_too() {
    let mut world = world("press 2");
    world.edit(&[(
        "    int lane = threadIdx.x % 32;\n",
        "    int lane = threadIdx.x & 31;\n",
    )]);
    steps(&mut world, "save; press v :; type 28; press enter");
    assert!(
        world.words().contains("▸ 28 28"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_number_where_there_is_nothing_says_so_and_stays() {
    let mut world = World::new();
    world.tell("open; press :; type 5; press enter");
    assert!(
        world.words().contains("(run.log is empty)"),
        "{}",
        world.screen(160, 45)
    );
    assert_eq!(world.model.overlays.len(), 1);
    world.tell("press ctrl-u; type quit; press esc");
    assert_eq!((world.model.overlays.len(), world.asked.len()), (0, 0));
}
