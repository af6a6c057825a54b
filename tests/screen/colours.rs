//! Colours repeat what the words say; nothing depends on a colour alone.

use super::world::World;
use lab_tui::theme::{ColorDepth, Theme};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

/// The style of the first letter of `text`, where it is drawn in this row or below.
fn style_of(buffer: &Buffer, text: &str) -> Style {
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        let row: Vec<&str> = (area.left()..area.right())
            .map(|x| buffer[(x, y)].symbol())
            .collect();
        let wanted: Vec<String> = text.chars().map(String::from).collect();
        if let Some(x) = row.windows(wanted.len()).position(|part| part == wanted) {
            return buffer[(x as u16, y)].style();
        }
    }
    panic!("'{text}' is not on the screen");
}

fn judged(how: &str) -> World {
    let mut world = World::new();
    world.tell(&format!("open; say device: NVIDIA H200; end {how}"));
    world
}

#[test]
fn a_verdict_has_its_colour() {
    for (how, word, color) in [
        ("pass 1000", "● PASS", Color::Green),
        ("fail out is wrong", "✗ FAIL", Color::Red),
        ("crash it hung", "☠ CRASH", Color::Red),
        ("void it changed", "∅ VOID", Color::Yellow),
    ] {
        let mut world = judged(how);
        world.model.appearance.theme = Theme::ansi();
        assert_eq!(
            style_of(&world.draw(160, 45), word).fg,
            Some(color),
            "{word}"
        );
    }
}

#[test]
fn a_stale_verdict_fades() {
    let mut world = judged("pass 1000");
    world.model.appearance.theme = Theme::ansi();
    world.tell("press p; save");
    assert_eq!(
        style_of(&world.draw(160, 45), "● PASS").fg,
        Some(Color::DarkGray)
    );
}

#[test]
fn the_focused_title_stands_out_and_the_others_can_be_read() {
    let mut world = judged("pass 1000");
    world.model.appearance.theme = Theme::ansi();
    let buffer = world.draw(160, 45);
    assert_eq!(style_of(&buffer, "Correctness").fg, Some(Color::Cyan));
    assert_eq!(style_of(&buffer, "Git log").fg, Some(Color::Reset));
}

#[test]
fn with_no_color_there_is_none() {
    let mut world = judged("pass 1000").with_history();
    world.model.appearance.theme = Theme::choose(Some("lab-dark"), ColorDepth::None).unwrap();
    world.tell("press tab k");
    let buffer = world.draw(160, 45);
    assert!(
        buffer
            .content
            .iter()
            .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
    );
    assert!(
        style_of(&buffer, "● PASS")
            .add_modifier
            .contains(Modifier::BOLD)
    );
    assert!(
        !style_of(&buffer, "Git log")
            .add_modifier
            .contains(Modifier::DIM)
    );
}
