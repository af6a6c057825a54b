//! Profiles: the view Device, the key that has one made, and hot lines in Source.

use super::device::RUN;
use super::states::check_at;
use super::world::{KERNEL, World};
use lab_core::history::details::ComparedProfiles;
use lab_core::profile::{compare, read};
use lab_core::run::RunId;
use lab_protocol::profile::{Origin, Profile};
use lab_tui::event::Event;

/// Recorded on an H200.
fn recorded() -> Profile {
    read::parse(include_bytes!("../../crates/core/src/profile/tests/wavegru.json")).expect("a profile")
}

fn judged(profile: Option<Profile>) -> World {
    let mut world = World::new();
    world.profile = profile;
    world.tell("open").tell(RUN).tell("end pass 265231");
    world
}

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 50), (200, 60)];

#[test]
fn the_device_view_shows_the_profile_of_the_present_kernel() {
    let mut profile = recorded();
    profile.metrics.get_mut("dram__bytes.sum.per_second").expect("it is recorded").value *= 40.0;
    let mut world = judged(Some(recorded()));
    world.incumbent_profile = Some(profile);
    world.tell("press 5; press tab; press tab");
    check_at("profile", &mut world, &SIZES);
    world.tell("press z");
    check_at("profile_zoomed", &mut world, &[(80, 60), (120, 70), (200, 60)]);
}

#[test]
fn without_a_profile_one_line_names_the_key() {
    let mut world = judged(None);
    world.tell("press 5; press tab; press tab");
    assert!(world.words().contains("no profile of these bytes: P makes one"), "{}", world.words());
    world.tell("press P");
    assert_eq!(world.asked.last().map(String::as_str), Some("StartProfile"));
    assert!(world.words().contains("a profile is being made"), "{}", world.words());
    world.tell("press P");
    assert!(world.words().contains("profile: a profile is being made"), "{}", world.words());
    world.tell("press x");
    assert_eq!(world.asked.last().map(String::as_str), Some("StopProfile"));
    world.send(Event::Profiled(Err("the profile was ended: nothing was written".to_owned())));
    world.tell("wait 1");
    assert!(world.words().contains("✗ no profile: the profile was ended"), "{}", world.words());
    world.profile = Some(recorded());
    world.tell("press P");
    world.send(Event::Profiled(Ok(RunId(1))));
    world.tell("wait 1");
    let words = world.words();
    assert!(words.contains("run 1 has a profile") && words.contains("Speed of light"), "{words}");
}

#[test]
fn a_profile_of_other_bytes_says_so() {
    let mut world = judged(Some(recorded()));
    world.tell("press 5; press tab; press tab; press p; save");
    assert!(world.words().contains("of other bytes than those on disk"), "{}", world.words());
}

#[test]
fn a_profile_of_the_image_says_why_there_are_no_counters() {
    let mut profile = recorded();
    profile.metrics.clear();
    profile.findings.clear();
    profile.origin = Origin::Image { why: "ncu was not found: install it\u{1b}[31m".to_owned() };
    let mut world = judged(Some(profile));
    world.tell("press 5; press tab; press tab; press z");
    let words = world.words();
    assert!(words.contains("no counters, only the built image: ncu was not found"), "{words}");
    assert!(!words.contains("Speed of light"), "{words}");
}

/// The recorded profile on lines of the kernel of these tests.
fn on_lines() -> Profile {
    let mut profile = recorded();
    profile.lines.truncate(4);
    for (line, at) in profile.lines.iter_mut().zip([7, 12, 20, 31]) {
        (line.file, line.line) = (KERNEL.to_owned(), at);
    }
    profile.lines[3].excess_sectors = Some(15_419_392);
    profile
}

#[test]
fn hot_lines_stand_in_the_gutter_and_have_their_machine_code() {
    let mut world = judged(Some(on_lines()));
    world.tell("press 2");
    check_at("hot_lines", &mut world, &SIZES);
    world.tell("press ]");
    assert_eq!(world.model.panes.source.line(), Some(7));
    world.tell("press ]; press ]");
    assert_eq!(world.model.panes.source.line(), Some(20));
    world.tell("press [");
    assert_eq!(world.model.panes.source.line(), Some(12));
    world.tell("press enter");
    check_at("hot_line_sass", &mut world, &SIZES);
    world.tell("press esc");
    assert!(!world.words().contains("SASS of line"), "{}", world.words());
}

#[test]
fn hot_lines_of_other_bytes_are_not_shown() {
    let mut world = judged(Some(on_lines()));
    world.tell("press 2");
    assert!(world.words().contains("4 hot lines"), "{}", world.words());
    world.tell("press p; save");
    assert!(!world.words().contains("hot lines"), "{}", world.words());
}

#[test]
fn a_comparison_says_what_moved_between_the_profiles() {
    let (before, mut after) = (recorded(), recorded());
    after.metrics.get_mut("gpu__time_duration.sum").expect("it is recorded").value /= 2.0;
    after.metrics.get_mut("lts__t_sector_hit_rate.pct").expect("it is recorded").value -= 10.0;
    let mut world = World::new().with_history();
    world.compared_profiles = ComparedProfiles::Moved {
        moved: compare::moved(&before, &after),
        caution: Some("other clocks: 1980 and 1755 MHz, so the times differ by that, too".to_owned()),
    };
    world.tell("open; press 3; press space; press j space; press =; press z");
    check_at("profiles_compared", &mut world, &[(80, 50), (120, 50), (200, 60)]);
    world.compared_profiles = ComparedProfiles::Not("a1b2c3d has no profile".to_owned());
    world.tell("press esc; press =");
    assert!(world.words().contains("a1b2c3d has no profile"), "{}", world.words());
}
