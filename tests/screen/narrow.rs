//! What a new user meets at 80 columns and 24 rows: hints, messages, lines that go on, the focus.

use super::sweeps;
use super::world::World;

const GATES: &str = "say stage: build | build_s: 0.38 | correctness: pass; end pass 1200";
const SEVERAL: &str = "say workload: rows=1 cols=4096 kernel_us=2.104 correctness=pass | \
    workload: rows=128 cols=4096 kernel_us=6.052 correctness=pass | correctness: pass; end pass 1200";

fn world(run: &str) -> World {
    let mut world = World::new().with_history();
    world.tell("open").tell(run);
    world.screen(80, 24);
    world
}

/// The row of the hints.
fn hints(world: &mut World, story: &str) -> String {
    world.tell(story);
    let screen = world.screen(80, 24);
    screen.lines().last().unwrap_or_default().trim().to_owned()
}

#[test]
fn each_view_offers_its_own_keys_first() {
    let mut world = world(GATES);
    for (story, first) in [
        ("press 4", "Enter commit  ] next  w context  c keep"),
        ("press tab", "] next  w context  c keep"),
        ("press 5", "P profile  + add evidence"),
        ("press 6", "+ add evidence"),
        ("press 7", "w context"),
        ("press 8", "o next pair"),
    ] {
        let row = hints(&mut world, story);
        assert!(row.starts_with(first), "{story}: {row}");
        assert!(row.ends_with("? help  q quit"), "{story}: {row}");
    }
}

#[test]
fn a_message_leaves_the_views_on_the_screen() {
    let mut world = world(GATES);
    let all = "▸1 Bench  2 Source  3 Results  4 Git  5 Device  6 Decisions  7 Loop  8 Sweep";
    assert!(world.screen(80, 24).contains(all));
    // They have a row of their own then.
    world.tell("press p");
    let screen = world.screen(80, 24);
    assert!(
        screen.contains("saves start no run; r starts one") && screen.contains(all),
        "{screen}"
    );
    let long = "the record of run 3 is damaged: `lab doctor` says what can be done about it";
    world.model.say(lab_tui::status::MessageLevel::Error, long);
    let screen = world.screen(80, 24);
    assert!(screen.contains(long) && screen.contains(all), "{screen}");
}

#[test]
fn a_line_that_goes_on_beyond_the_border_says_so() {
    let mut world = world(GATES);
    let why =
        "y is wrong in 3 of 4,096 cells, the first at y[0, 17], which is 0.25 and must be 0.5";
    world.tell(&format!("save; say correctness: fail; end fail {why}"));
    let screen = world.screen(80, 24);
    let verdict = screen.lines().next().unwrap_or_default();
    assert!(verdict.ends_with('…'), "{screen}");
    let line = "    float sum = first[threadIdx.x] + second[threadIdx.x] + third[threadIdx.x] + 1;";
    world
        .texts
        .push(("bytes-2".into(), format!("{line}\nshort\n")));
    world.tell("save; press 2");
    let screen = world.screen(80, 24);
    let ends = |text: &str| screen.lines().any(|row| row.trim_end().ends_with(text));
    assert!(ends("+ third[threa…") && ends("short"), "{screen}");
    // The end of the line has no mark.
    world.tell("press > >");
    let screen = world.screen(80, 24);
    assert!(screen.contains("third[threadIdx.x] + 1;"), "{screen}");
}

#[test]
fn tab_goes_to_the_visible_pane_before_it_shows_another() {
    let mut world = world(SEVERAL);
    let mut focus = |story: &str| {
        world.tell(story);
        let screen = world.screen(80, 24);
        let title = |sign: char| {
            let rows = screen.lines().filter(move |row| row.starts_with(sign));
            rows.map(|row| row.split_whitespace().nth(1).unwrap_or_default())
                .collect::<Vec<_>>()
                .join(" ")
        };
        (title('━'), title('─'))
    };
    let seen = |focused: &str, other: &str| (focused.to_owned(), other.to_owned());
    assert_eq!(focus(""), seen("Correctness", "run.log"));
    assert_eq!(focus("press tab"), seen("run.log", "Correctness"));
    assert_eq!(focus("press tab"), seen("Throughput", "Correctness"));
    assert_eq!(focus("press tab"), seen("Git", "Correctness"));
    assert_eq!(focus("press tab"), seen("Workloads", "Correctness"));
    assert_eq!(focus("press tab"), seen("Correctness", "run.log"));
    assert_eq!(focus("press v"), seen("Workloads", "Throughput"));
    assert_eq!(focus("press tab"), seen("Correctness", "Throughput"));
    assert_eq!(focus("press shift-tab"), seen("Workloads", "Throughput"));
}

#[test]
fn esc_goes_from_the_chart_of_a_workload_to_the_chart_of_all() {
    let mut world = world(SEVERAL);
    world.tell("press v enter");
    let chart = |world: &mut World| world.screen(80, 24).contains("Workload rows=1 cols=4096");
    assert!(chart(&mut world), "{}", world.screen(80, 24));
    world.tell("press esc");
    assert!(!chart(&mut world));
    // Also where it has the whole screen.
    world.tell("press tab enter z");
    assert!(chart(&mut world), "{}", world.screen(80, 24));
    world.tell("press esc");
    let screen = world.screen(80, 24);
    assert!(
        screen.contains("━ Throughput") && !screen.contains("Workloads"),
        "{screen}"
    );
    world.tell("press esc");
    assert!(world.screen(80, 24).contains("Workloads"));
}

#[test]
fn the_advice_of_a_sweep_is_read_whole() {
    let mut world = world(GATES);
    let mut swept = sweeps::swept();
    swept.sweep.start.kernel = "kernels/attention_decode/kernel.cu".to_owned();
    swept.sweep.start.points = 5;
    world.sweep = Some(swept);
    world.tell("press 8");
    let words = world
        .screen(80, 24)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let advice =
        "`lab sweep kernels/attention_decode/kernel.cu --apply 3` writes point 3 into the kernel";
    assert!(words.contains(advice), "{words}");
}

#[test]
fn a_cached_build_has_no_seconds() {
    let mut world =
        world("say stage: build | build_s: 0.00 reused=yes | correctness: pass; end pass 1");
    let screen = world.screen(80, 24);
    assert!(screen.contains("✓ build  cached"), "{screen}");
}

#[test]
fn tags_are_typed_with_tab_and_stand_behind_the_description() {
    let mut world = world(GATES);
    world.tell("press 3 T");
    let words = world.words();
    assert!(
        words.contains("› Note:") && words.contains("Tab note or tags"),
        "{words}"
    );
    // The note and the tags are two texts; Enter writes both.
    world.tell("type my note; press tab; type warp, smem");
    let has = |world: &mut World, lines: [&str; 2]| {
        let words = world.words();
        lines.iter().all(|line| words.contains(line))
    };
    assert!(has(&mut world, ["› Tags: warp, smem", " Note: my note"]));
    world.tell("press tab");
    assert!(has(&mut world, ["› Note: my note", " Tags: warp, smem"]));
    world.tell("press enter; elsewhere");
    let screen = world.screen(80, 24);
    let row = screen.lines().find(|row| row.contains("#warp #smem"));
    assert!(row.is_some_and(|row| row.contains("9f8e7d7")), "{screen}");
    // The next time, the lines have the present values.
    world.tell("press T tab");
    assert!(has(&mut world, ["› Tags: warp, smem", " Note: my note"]));
}
