//! The view Source: the file with the compiler's messages in it, and the changes.

use super::states::check;
use super::world::World;
use lab_tui::highlight::SyntaxRole;
use lab_tui::theme::style::syntax;
use lab_tui::theme::{ColorDepth, Theme};
use std::time::{Duration, Instant};

const ERRORS: &str = "say stage: build | kernels/rmsnorm/kernel.cu(32): error: identifier \"warp_sun\" is undefined | \
    kernels/rmsnorm/kernel.cu:29:9: warning: variable 'lane' was declared but never referenced, which a compiler can say \
    in so many words that they do not fit into one line of a narrow terminal | lab.h(12): warning: this is deprecated | \
    build_s: 0.11; end unbuilt kernel.cu does not build: 1 error";

/// A kept kernel, and an experiment on disk.
fn edited() -> World {
    let mut world = World::new().with_history();
    world.tell("open; say correctness: pass; end pass 1000");
    world.edit(&[
        (
            "    sum = warp_sum(sum);\n    if",
            "    // in fp32\n    sum = warp_sun(sum);\n    if",
        ),
        (
            "    int lane = threadIdx.x % 32;\n    int warp = threadIdx.x / 32;\n",
            "    int lane = threadIdx.x & 31;\n    int warp = threadIdx.x >> 5;\n",
        ),
        ("    __syncthreads();\n    sum", "    sum"),
    ]);
    world
}

/// The same bytes, judged: they do not build.
fn unbuilt() -> World {
    let mut world = edited();
    world.tell("save").tell(ERRORS);
    world
}

fn with(mut world: World, story: &str) -> World {
    world.tell(story);
    world
}

#[test]
fn pictures_of_the_file() {
    check("source", &mut with(edited(), "press 2; press z"));
    check("source_errors", &mut with(unbuilt(), "press 2"));
    check(
        "source_unified",
        &mut with(unbuilt(), "press 2; press v j j"),
    );
    check("source_split", &mut with(unbuilt(), "press 2; press v v }"));
}

#[test]
fn pictures_of_what_is_stale_or_missing() {
    let mut world = unbuilt();
    world.edit(&[
        ("// The sum", "// Moved\n\n// The sum"),
        ("warp_sun", "warp_summ"),
    ]);
    check("source_stale", &mut with(world, "press 2 p; save; press ]"));
    let mut world = unbuilt();
    let why = "kernels/rmsnorm/kernel.cu is not there: save it, or put an older one back with `lab restore HEAD`";
    world.unreadable = Some(why.into());
    check("source_missing", &mut with(world, "save; press 2"));
    check(
        "source_same",
        &mut with(
            World::new(),
            "open; say correctness: pass; end pass 1; press 2 v",
        ),
    );
}

#[test]
fn after_a_build_error_2_shows_it_and_e_opens_the_editor_there() {
    let mut world = unbuilt();
    world.tell("press 2");
    let words = world.words();
    assert!(
        words.contains("✗ 1 error ! 2 warnings") && words.contains("▸✗ 32"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        words.contains("error: identifier \"warp_sun\" is undefined"),
        "{words}"
    );
    world.tell("press e; press g ] e ] e [ e");
    let at = |line: u32, column: Option<u32>| {
        format!("OpenEditor(Some(Spot {{ line: {line}, column: {column:?} }}))")
    };
    let [error, warning] = [at(32, None), at(29, Some(9))];
    assert_eq!(
        world.asked,
        [error.clone(), warning.clone(), error, warning]
    );
    world.tell("press g");
    assert!(
        world.words().contains("lab.h:12: this is deprecated"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn what_a_check_found_stands_at_its_line() {
    let mut world = edited();
    world.tell("save; say correctness: pass; end pass 1000; press s");
    world.tell("say kernels/rmsnorm/kernel.cu(26): error: [race] thread (5,0,0) reads what thread (37,0,0) writes; end fail race");
    world.tell("press 2");
    assert!(
        world.words().contains("▸✗ 26") && world.words().contains("error: [race] thread"),
        "{}",
        world.screen(160, 45)
    );
    // A message about older bytes disappears with the next verdict.
    world.tell("save");
    assert!(
        world
            .words()
            .contains("[race] thread (5,0,0) reads what thread (37,0,0) writes (stale")
    );
    world.tell("say correctness: pass; end pass 1000");
    assert!(
        !world.words().contains("[race]"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn words_of_older_bytes_follow_their_lines_and_say_that_they_are_old() {
    let mut world = unbuilt();
    world.edit(&[("// The sum", "// Moved\n\n// The sum")]);
    world.tell("press 2 p; save");
    let words = world.words();
    assert!(
        words.contains("✗ 34") && words.contains("is undefined (stale: the file is newer)"),
        "{}",
        world.screen(160, 45)
    );
    // The next run that builds has no message.
    world.tell("press r; say stage: build | stage: verify");
    assert!(
        !world.words().contains("is undefined"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_base_is_the_incumbent_or_the_chosen_experiment() {
    let mut world = edited();
    world
        .texts
        .push(("9f8e7d7".into(), "// another kernel\n".into()));
    world.tell("save; say correctness: pass; end pass 1000; press 1 tab k j 2 b");
    let words = world.words();
    assert!(
        words.contains("against experiment 9f8e7d7"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press b v");
    assert!(
        world
            .words()
            .contains("unified +4 −4 against incumbent 9f8e7d7"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press }");
    assert!(
        world.words().contains("▸@@ -26,13 +26,13 @@"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn the_cursor_and_the_editor_are_where_the_diff_is() {
    let mut world = edited();
    world.tell("save; say correctness: pass; end pass 1000; press 2; press v v } j j j j e v e");
    let at = |line: u32| format!("OpenEditor(Some(Spot {{ line: {line}, column: None }}))");
    assert_eq!(world.asked, [at(29), at(29)]);
    assert!(world.words().contains("▸ 29~"), "{}", world.screen(160, 45));
}

#[test]
fn the_view_opens_at_the_first_change() {
    let cursor = |world: &mut World| {
        let screen = world.screen(160, 45);
        let row = screen.lines().find(|line| line.starts_with(" ▸"));
        row.unwrap_or_else(|| panic!("no cursor\n{screen}"))
            .to_owned()
    };
    let mut world = with(
        edited(),
        "save; say correctness: pass; end pass 1000; press 2",
    );
    assert!(cursor(&mut world).contains("threadIdx.x & 31"));
    // Whoever has moved stays there, and finds the place again in an unchanged text.
    world.tell("press g; press 1; press 2");
    assert!(
        cursor(&mut world).contains("▸   1 "),
        "{}",
        cursor(&mut world)
    );
}

#[test]
fn a_text_that_is_older_than_the_save_says_so_until_the_save_is_read() {
    let mut world = with(
        World::new(),
        "open; say correctness: pass; end pass 1000; press 2",
    );
    assert!(world.words().contains("Source same as incumbent"));
    world.edit(&[("// The sum", "// Moved\n\n// The sum")]);
    world.reads_late = true;
    world.tell("save");
    let words = world.words();
    assert!(
        words.contains("Source reading …") && !words.contains("same as"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("read");
    assert!(
        world.words().contains("Source +2 −0 against incumbent"),
        "{}",
        world.screen(160, 45)
    );
    // The end of the run asks again, for the places of its messages: the text is the present one.
    world.tell("say stage: build | kernels/rmsnorm/kernel.cu(3): warning: odd; end pass 1000");
    assert!(world.words().contains("+2 −0 against incumbent"));
}

#[test]
fn the_view_reads_the_file_again_when_it_is_shown() {
    let mut world = with(
        World::new(),
        "open; say correctness: pass; end pass 1000; press 2 1",
    );
    // A save that nobody has noticed yet.
    world.texts.push(("bytes-0".into(), "// another\n".into()));
    world.tell("press 2");
    assert!(
        world.words().contains("// another"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_search_goes_through_the_file_and_through_the_diff() {
    let mut world = with(
        edited(),
        "save; say correctness: pass; end pass 1000; press 2; press g; press /; type parts; press enter",
    );
    assert!(
        world.words().contains("/parts") && world.words().contains("▸ 28"),
        "{}",
        world.screen(160, 45)
    );
    world.tell("press n y");
    assert!(world.words().contains("▸ 34"), "{}", world.screen(160, 45));
    assert_eq!(world.clipboard, "kernels/rmsnorm/kernel.cu:34");
    world.tell("press esc v; press /; type syncthr; press enter");
    assert!(
        world.words().contains("▸ 35 - __syncthreads"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_file_that_is_away_for_a_moment_comes_back_where_it_was_looked_at() {
    let mut world = with(unbuilt(), "press 2; press ] ]");
    world.unreadable = Some("kernel.cu is not there".into());
    world.tell("save");
    assert!(world.words().contains("kernel.cu is not there"));
    world.unreadable = None;
    world.tell("save");
    assert!(world.words().contains("▸ 32"), "{}", world.screen(160, 45));
}

#[test]
fn the_source_has_the_themes_colours_and_none_where_there_are_none() {
    let mut world = with(unbuilt(), "press 2");
    world.model.appearance.theme = Theme::choose(Some("lab-dark"), ColorDepth::Rgb).unwrap();
    let colours = |world: &mut World| {
        let buffer = world.draw(160, 45);
        let mut seen: Vec<_> = buffer.content.iter().map(|cell| cell.fg).collect();
        seen.dedup();
        seen.sort_by_key(|colour| format!("{colour:?}"));
        seen.dedup();
        seen.len()
    };
    assert!(
        colours(&mut world) >= 8,
        "comments, keywords, types, numbers, built-ins differ"
    );
    world.model.appearance.theme = Theme::plain();
    assert_eq!(colours(&mut world), 1);
}

/// The quickest of 20 frames of a file with this many lines, seen at its end.
fn quickest_frame(lines: usize) -> Duration {
    let mut world = World::new();
    let line = "    value += __shfl_down_sync(0xffffffff, value, offset); // and on\n";
    world.texts.push(("bytes-1".into(), line.repeat(lines)));
    world.tell("open; say correctness: pass; end pass 1; save; press 2; press G");
    let frames = (0..20).map(|_| {
        world.tell("press k");
        let began = Instant::now();
        world.draw(200, 60);
        began.elapsed()
    });
    let quickest = frames.min().unwrap();
    let place = format!("{}/{lines}", lines - 20);
    let shown = world.screen(160, 45);
    assert!(world.words().contains(&place), "{shown}");
    quickest
}

#[test]
fn of_a_very_long_file_only_what_is_seen_is_laid_out() {
    let (long, short) = (quickest_frame(10_000), quickest_frame(100));
    assert!(
        long < 10 * short,
        "a frame takes {long:?}, and {short:?} of a hundredth of the lines"
    );
}

#[test]
fn with_nothing_chosen_the_newest_experiment_is_compared_with() {
    let mut world = with(World::new().with_history(), "open; press 2; press b");
    assert!(
        world.words().contains("experiment 9f8e7d"),
        "{}",
        world.screen(160, 45)
    );
    let mut world = with(World::new(), "open; press 2; press b");
    assert!(
        world.words().contains("no experiment to compare with yet"),
        "{}",
        world.screen(160, 45)
    );
}

const PYTHON: &str = "import numpy as np\n\n\ndef rmsnorm(x, y, eps):\n    mean = np.mean(x * x, axis=-1, keepdims=True)\n    y[...] = x / np.sqrt(maen + eps)\n";

#[test]
fn an_exception_of_a_python_kernel_stands_at_its_line() {
    let mut world = World::new();
    world.model.setup.kernel = "kernels/rmsnorm/kernel.py".into();
    world
        .texts
        .extend(["bytes-0", "bytes-1"].map(|bytes| (bytes.to_owned(), PYTHON.to_owned())));
    world.tell("open; save");
    world.tell(
        "say stage: verify | kernels/rmsnorm/kernel.py:6: error: NameError: name 'maen' is not defined | \
         stopped: the kernel crashed: NameError; end crash NameError; press 2",
    );
    let words = world.words();
    assert!(
        words.contains("✗ 1 error") && words.contains("▸✗ 6"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        words.contains("error: NameError: name 'maen' is not defined"),
        "{words}"
    );
    // `def` is a keyword in Python, and not in CUDA C++.
    let theme = Theme::choose(Some("lab-dark"), ColorDepth::Rgb).unwrap();
    let keyword = theme.shown(syntax(SyntaxRole::Keyword)).fg;
    world.model.appearance.theme = theme;
    let buffer = world.draw(160, 45);
    let symbols: Vec<&str> = buffer
        .content
        .iter()
        .map(ratatui::buffer::Cell::symbol)
        .collect();
    let at = symbols
        .windows(5)
        .position(|part| part.concat() == "def r")
        .unwrap();
    assert_eq!(Some(buffer.content[at].fg), keyword);
}

/// The kernel was built: the pane Correctness shows the stage in which it failed, and the error
/// once.
#[test]
fn an_exception_in_a_launch_is_no_failed_build() {
    let mut world = World::new();
    let error = "kernels/rmsnorm/kernel.py:6: error: NameError: name 'maen' is not defined";
    world.tell("open; save");
    world.tell(&format!(
        "say stage: build | build_s: 0.01 | stage: verify | {error} | stopped: {error}"
    ));
    assert!(
        world.words().contains("✓ build 0.01 s"),
        "{}",
        world.screen(160, 45)
    );
    world.tell(&format!("say stage: done; end crash {error}"));
    let words = world.words();
    assert!(
        words.contains("✓ build 0.01 s"),
        "{}",
        world.screen(160, 45)
    );
    assert!(
        words.contains("☠ verify the run ended in this stage"),
        "{words}"
    );
    assert!(!words.contains(&format!("☠ {error}")), "{words}");
    // While the kernel is built, an error belongs to the build.
    world.tell("save; say stage: build | build_s: 0.01 | kernel.cu:6: error: no such name");
    assert!(
        world.words().contains("✗ build 0.01 s"),
        "{}",
        world.screen(160, 45)
    );
}
