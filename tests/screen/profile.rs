//! Profiles: the view Device, the key that starts a profile, and hot lines in Source.

use super::device::RUN;
use super::states::check;
use super::world::{KERNEL, World};
use lab_history::details::ComparedProfiles;
use lab_history::profile::{compare, read};
use lab_protocol::profile::{LeastWork, Origin, Profile, SassLine, SassLoop};
use lab_run::RunId;
use lab_tui::event::Event;

/// Recorded on an H200.
pub fn recorded() -> Profile {
    let bytes = include_bytes!("../../crates/history/src/profile/tests/wavegru.json");
    let mut profile = read::parse(bytes).expect("a profile");
    profile.least = Some(LeastWork {
        read_bytes: 24.2e6,
        written_bytes: 0.0,
        flops: Some(96.6e9),
        steps: 4096.0,
        floor_us: Some(307.2),
        estimate_us: Some(19_660.0),
        run_us: Some(15_440.0),
    });
    profile
}

fn judged(profile: Option<Profile>) -> World {
    let mut world = World::new();
    world.profile = profile;
    world.tell("open").tell(RUN).tell("end pass 265231");
    world
}

#[test]
fn the_device_view_shows_the_profile_of_the_present_kernel() {
    let mut profile = recorded();
    profile
        .metrics
        .get_mut("dram__bytes.sum.per_second")
        .expect("it is recorded")
        .value *= 40.0;
    let mut world = judged(Some(recorded()));
    world.incumbent_profile = Some(profile);
    world.tell("press 5; press tab; press tab");
    check("profile", &mut world);
    world.tell("press z");
    check("profile_zoomed", &mut world);
}

#[test]
fn without_a_profile_one_line_names_the_key() {
    let mut world = judged(None);
    world.tell("press 5; press tab; press tab");
    assert!(
        world
            .words()
            .contains("no profile of these bytes: P makes one"),
        "{}",
        world.words()
    );
    world.tell("press P");
    assert_eq!(world.asked.last().map(String::as_str), Some("StartProfile"));
    assert!(
        world.words().contains("a profile is being made"),
        "{}",
        world.words()
    );
    world.tell("press P");
    assert!(
        world.words().contains("profile: a profile is being made"),
        "{}",
        world.words()
    );
    world.tell("press x");
    assert_eq!(world.asked.last().map(String::as_str), Some("StopProfile"));
    world.send(Event::Profiled(Err(
        "the profile was ended: nothing was written".to_owned(),
    )));
    world.tell("wait 1");
    assert!(
        world
            .words()
            .contains("✗ no profile: the profile was ended"),
        "{}",
        world.words()
    );
    world.profile = Some(recorded());
    world.tell("press P");
    world.send(Event::Profiled(Ok(RunId(1))));
    world.tell("wait 1");
    let words = world.words();
    assert!(
        words.contains("run 1 has a profile") && words.contains("Speed of light"),
        "{words}"
    );
}

#[test]
fn a_profile_of_other_bytes_says_so() {
    let mut world = judged(Some(recorded()));
    world.tell("press 5; press tab; press tab; press p; save");
    assert!(
        world.words().contains("of other bytes than those on disk"),
        "{}",
        world.words()
    );
}

#[test]
fn a_profile_of_the_image_says_why_there_are_no_counters() {
    let mut profile = recorded();
    profile.metrics.clear();
    profile.findings.clear();
    profile.origin = Origin::Image {
        why: "ncu was not found: install it\u{1b}[31m".to_owned(),
    };
    let mut world = judged(Some(profile));
    world.tell("press 5; press tab; press tab; press z");
    let words = world.words();
    assert!(
        words.contains("no counters, only the built image: ncu was not found"),
        "{words}"
    );
    assert!(!words.contains("Speed of light"), "{words}");
    assert!(words.contains("50.26× the floor of 307.2 µs"), "{words}");
}

#[test]
fn a_profile_of_the_image_shows_resources_instructions_and_loops() {
    let mut profile = recorded();
    profile.metrics.clear();
    profile.findings.clear();
    profile.origin = Origin::Image {
        why: "the driver refuses this user the counters".to_owned(),
    };
    profile.image.mix = vec![("fma".to_owned(), 900), ("load global".to_owned(), 40)];
    let instruction = |at: u64| SassLine {
        address: at * 16,
        text: format!("FFMA R{at}, R1, R2, R{at}"),
        samples: 0,
        stall: None,
    };
    profile.image.loops = vec![
        SassLoop {
            line: Some(31),
            instructions: (10..13).map(instruction).collect(),
        },
        SassLoop {
            line: None,
            instructions: (5..80).map(instruction).collect(),
        },
    ];
    let mut world = judged(Some(profile));
    world.tell("press 5; press tab; press tab; press z");
    check("profile_of_image", &mut world);
}

#[test]
fn how_the_launch_differs_from_a_run_is_shown() {
    let mut profile = recorded();
    profile.missing.clear();
    profile.findings.clear();
    profile.differences = vec!["the launch was made without a CUDA graph".to_owned()];
    let mut world = judged(Some(profile));
    world.tell("press 5; press tab; press tab; press z; press G");
    let words = world.words();
    assert!(
        words.contains("Not as in a run the launch was made without a CUDA graph"),
        "{words}"
    );
}

#[test]
fn a_profile_that_another_terminal_made_is_shown_at_once() {
    let mut world = judged(None);
    world.tell("press 5; press tab; press tab");
    assert!(
        world.words().contains("no profile of these bytes"),
        "{}",
        world.words()
    );
    world.profile = Some(recorded());
    world.tell("wait 1");
    assert!(
        world.words().contains("no profile of these bytes"),
        "{}",
        world.words()
    );
    world.tell("profiled-elsewhere");
    assert!(
        world.words().contains("Speed of light"),
        "{}",
        world.words()
    );
}

#[test]
fn kernels_in_one_place_of_the_roofline_have_a_mark_of_their_own() {
    let mut world = judged(Some(recorded()));
    world.incumbent_profile = Some(recorded());
    world.tell("press 5; press tab; press tab; press z");
    let screen = world.screen(120, 70);
    assert!(screen.contains("◉ both kernels"), "{screen}");
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
    check("hot_lines", &mut world);
    world.tell("press ]");
    assert_eq!(world.model.panes.source.line(), Some(7));
    world.tell("press ]; press ]");
    assert_eq!(world.model.panes.source.line(), Some(20));
    world.tell("press [");
    assert_eq!(world.model.panes.source.line(), Some(12));
    world.tell("press enter");
    check("hot_line_sass", &mut world);
    world.tell("press esc");
    assert!(!world.words().contains("SASS of line"), "{}", world.words());
}

#[test]
fn a_long_list_of_machine_code_scrolls_to_its_end_and_back() {
    let mut profile = on_lines();
    let instruction = |at: u64| SassLine {
        address: at * 16,
        text: format!("MOV R{at}, RZ"),
        samples: 1,
        stall: None,
    };
    profile.lines[0].sass = (0..300).map(instruction).collect();
    let mut world = judged(Some(profile));
    world.tell("press 2; press ]; press enter");
    assert!(
        world.words().contains("MOV R0, RZ") && !world.words().contains("MOV R299"),
        "{}",
        world.words()
    );
    world.tell("press j j j");
    assert!(world.words().contains("rows 4 to"), "{}", world.words());
    world.tell("press k; press pagedown");
    assert!(world.words().contains("rows 13 to"), "{}", world.words());
    world.tell("press G");
    assert!(world.words().contains("MOV R299, RZ"), "{}", world.words());
    check("hot_line_sass_end", &mut world);
    // Scrolling stops at the end: one key up is one row up.
    world.tell("press j j j; press k");
    assert!(!world.words().contains("MOV R299, RZ"), "{}", world.words());
    world.tell("press pageup; press g");
    assert!(world.words().contains("rows 1 to"), "{}", world.words());
    world.tell("press enter");
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
    after
        .metrics
        .get_mut("gpu__time_duration.sum")
        .expect("it is recorded")
        .value /= 2.0;
    after
        .metrics
        .get_mut("lts__t_sector_hit_rate.pct")
        .expect("it is recorded")
        .value -= 10.0;
    let mut world = World::new().with_history();
    world.compared_profiles = ComparedProfiles::Moved {
        moved: compare::moved(&before, &after),
        caution: Some(
            "other clocks: 1980 and 1755 MHz, so the times differ by that, too".to_owned(),
        ),
        code: Ok(
            "@@ -1,2 +1,2 @@\n LDG.E R2, [R4]\n-FADD R2, R2, R3\n+FFMA R2, R2, R3, R5\n".to_owned(),
        ),
    };
    world.tell("open; press 3; press space; press j space; press =; press z");
    check("profiles_compared", &mut world);
    world.compared_profiles = ComparedProfiles::Not("a1b2c3d has no profile".to_owned());
    world.tell("press esc; press =");
    assert!(
        world.words().contains("a1b2c3d has no profile"),
        "{}",
        world.words()
    );
}
