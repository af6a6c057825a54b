//! Profiles: the view Device, the key that has one made, and hot lines in Source.

use super::device::RUN;
use super::states::check_at;
use super::world::World;
use lab_core::profile::read;
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
