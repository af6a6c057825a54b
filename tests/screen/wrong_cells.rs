//! A failed gate as a picture: the map of the wrong cells, their pattern, the values.

use super::states::check_at;
use super::world::World;
use lab_protocol::report::all_cells;
use lab_protocol::report::wrong_cells::{TileCell, WrongMap, WrongTile};

#[test]
fn a_failed_gate_shows_which_cells_are_wrong() {
    let is_wrong = |index: &usize| index % 32 == 31 && index / 256 < 40;
    let map = WrongMap::of(
        [64, 256],
        (0..64 * 256).filter(is_wrong),
        "rows=64 cols=256",
    )
    .unwrap();
    let [rows, columns] = WrongTile::around(map.shape, 31);
    let cell = move |index: usize| TileCell {
        expected: index as f64 / 1000.0,
        got: match index / 256 {
            1 if is_wrong(&index) => None,
            _ if is_wrong(&index) => Some(0.0),
            _ => Some(index as f64 / 1000.0),
        },
        is_wrong: is_wrong(&index),
    };
    let row = |row: usize| {
        columns
            .clone()
            .map(|column| cell(row * 256 + column))
            .collect()
    };
    let tile = WrongTile {
        at: [rows.start, columns.start],
        cells: rows.map(row).collect(),
    };
    let mut world = World::new();
    let mut all = tempfile::tempfile().unwrap();
    all_cells::write(&mut all, (0..64 * 256).map(cell), false).unwrap();
    world.cells = Some(all);
    world.tell(&format!(
        "open; say stage: verify | y_wrong_map: {map} | y_wrong_tile: {tile} | y_mismatched: 0.02 limit=0 | \
         first_failure: y[0, 31] is 0, expected 0.031 | correctness: fail; end fail y_mismatched 0.02 > 0"
    ));
    let words = world.words();
    let summary = "y: 320 of 16,384 cells are wrong: every 32nd column";
    assert!(words.contains(summary), "{}", world.screen(160, 45));
    // The gates name the worst cell: this is another one.
    assert!(words.contains("first failure: y[0, 31] is 0"), "{words}");
    world.tell("press z");
    check_at("wrong_cells", &mut world, &[(120, 50), (80, 24)]);
    // All cells, from the first wrong one on.
    world.tell("press i");
    let shows = |world: &mut World, keys: &str, place: &str| {
        world.tell(&format!("press {keys}"));
        let screen = world.screen(80, 24);
        assert!(screen.contains(place), "{keys}: {screen}");
    };
    check_at("all_cells", &mut world, &[(200, 50), (80, 24)]);
    shows(&mut world, "n", "✗0");
    shows(&mut world, "G", "rows 59…63 of 64, columns 251…255 of 256");
    shows(&mut world, "n", "no further cell is wrong");
    shows(&mut world, "N", "rows 37…41 of 64, columns 251…255 of 256");
    shows(&mut world, "g", "rows 0…4 of 64, columns 0…4 of 256");
    // Page by page, without a row twice.
    shows(&mut world, "ctrl-d", "rows 5…9 of 64, columns 0…4 of 256");
    shows(&mut world, ">", "rows 5…9 of 64, columns 5…9 of 256");
    shows(&mut world, "ctrl-u", "rows 0…4 of 64, columns 5…9 of 256");
    shows(&mut world, "j j j j j", "rows 1…5 of 64");
    shows(&mut world, "l l l l l", "columns 6…10 of 256");
    world.cells = None;
    shows(&mut world, "k", "only the first wrong cells are there");
    world.tell("press esc");
    assert!(!world.words().contains("Cells of run"));
}

/// Two rows of blocks whose shares differ, and look alike.
#[test]
fn rows_that_look_alike_are_one_line_and_a_whole_block_is_told_from_a_part_of_it() {
    let mut world = World::new();
    world.tell(
        "open; say stage: verify | y_wrong_map: 99/78/67/00 shape=8x2 block=2x1 wrong=14 pattern=some~cells workload=n=8 | \
         y_mismatched: 0.9 limit=0 | correctness: fail; end fail y_mismatched 0.9 > 0; press z",
    );
    let screen = world.screen(80, 24);
    for line in ["0…1  ██", "2…5  ▓▓", "6…7  ··"] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
}

#[test]
fn a_harness_that_prints_no_cells_is_named_as_the_reason() {
    let mut world = World::new();
    world.tell("open; say correctness: pass; end pass 1; press i");
    let words = world.words();
    assert!(
        words.contains("the last run got no output wrong"),
        "{words}"
    );
    world.model.setup.external = Some("python3 harness.py".to_owned());
    let failed = "save; say y_error: 2 limit=1 | first_failure: y_error: cell 639 is 0, expected 320.23000000000002 | \
                  correctness: fail; end fail y_error 2 > 1; press i";
    world.tell(failed);
    let words = world.words();
    assert!(
        words.contains("the harness printed no cells of the output that is wrong"),
        "{words}"
    );
    // With as many digits as a person reads.
    assert!(
        words.contains("first failure: y_error: cell 639 is 0, expected 320.23"),
        "{words}"
    );
}
