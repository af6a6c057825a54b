//! A picture of every state at every size. `INSTA_UPDATE=always cargo test --test screen` writes
//! them again; look at the difference before you commit it.

use super::world::World;

/// A large terminal, half of a laptop's screen, and the smallest that a terminal opens with.
const SIZES: [(u16, u16); 3] = [(200, 60), (120, 35), (80, 24)];

const BUILD: &str = "say stage: build | device: NVIDIA H200 | build_s: 0.38 | registers: 168 | spill_bytes: 0 | \
    shared_bytes: 12288 | ptxas info: 168 registers";
const VERIFY: &str = "say stage: verify | progress: 3/6 | rows_f32_max_diff: 2.1e-06 limit=3e-05 | \
    rows_f32_series: 1e-7,2e-7,3e-7,2e-7,9e-7,2.1e-6,1e-7,2e-7,4e-7,3e-7,1e-7,1e-7 | \
    rows_f16_max_diff: 9.8e-04 limit=1e-03 | unmatched_values: 0 limit=0";
const MEASURE: &str = "say stage: measure | workload: shape=1x8 dtype=f32 us=2.1 gbs=0.03 ok=pass | \
    workload: shape=128x4096 dtype=f16 us=6.05 gbs=346.7 ok=pass | throughput_sps: 165210.4 low=164880 high=165540 | \
    kernel_us: 6.05 | correctness: pass | stage: done";

/// A picture at each of [`SIZES`].
pub fn check(name: &str, world: &mut World) {
    let tiny = world.screen(20, 5).replace('\n', " ");
    assert_eq!(
        tiny.trim().replace('x', "×"),
        "20×5 is too small: lab needs 40×10; q quits"
    );
    check_at(name, world, &SIZES);
}

/// The same at other sizes, where a size is the point.
pub fn check_at(name: &str, world: &mut World, sizes: &[(u16, u16)]) {
    for &(width, height) in sizes {
        let screen = world.screen(width, height);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
        });
    }
}

/// A world in which a run passed.
fn passed() -> World {
    let mut world = World::new().with_history();
    world
        .tell("open")
        .tell(BUILD)
        .tell(VERIFY)
        .tell(MEASURE)
        .tell("end pass 165210.4 0.031");
    world
}

/// The same, with bytes that HEAD does not hold.
fn experiment() -> World {
    let mut world = passed();
    world
        .tell("save")
        .tell(BUILD)
        .tell(VERIFY)
        .tell(MEASURE)
        .tell("end pass 170020 0.029");
    world
}

#[test]
fn empty() {
    let mut world = World::new();
    check("empty", &mut world);
}

#[test]
fn building() {
    let mut world = World::new();
    check(
        "building",
        world.tell("open; say stage: build | device: NVIDIA H200; wait 700"),
    );
}

#[test]
fn verifying() {
    let mut world = passed();
    check(
        "verifying",
        world
            .tell("save")
            .tell(BUILD)
            .tell("say stage: verify | progress: 3/6; wait 2300"),
    );
}

#[test]
fn measuring() {
    let mut world = passed();
    world
        .tell("save")
        .tell(BUILD)
        .tell(VERIFY)
        .tell("say stage: measure | progress: 7/10; wait 12300");
    check("measuring", &mut world);
}

#[test]
fn measuring_in_turns() {
    let mut world = passed();
    world.tell("save").tell(BUILD).tell(VERIFY).tell(
        "say stage: measure | throughput_sps: 170110.5 low=169870.1 high=170391.7 | kernel_us: 5.88 | incumbent_sps: \
         165190.2 low=165001.3 high=165302.9 | speed_ratio: 1.0298 low=1.0274 high=1.0322 quads=2 | speed: faster; \
         wait 900",
    );
    check("in_turns", &mut world);
}

#[test]
fn pass() {
    check("pass", &mut passed());
}

#[test]
fn a_verdict_on_speed_that_is_undecided() {
    let mut world = World::new().with_history();
    world
        .tell("open")
        .tell(BUILD)
        .tell(VERIFY)
        .tell("say stage: measure");
    world.tell(
        "say throughput_sps: 165210.4 low=162150.1 high=168401.0 | kernel_us: 6.05 | speed_ratio: 1.0040 low=0.9860 \
         high=1.0220 quads=3 | speed: undecided | correctness: pass | caveat: speed undecided: the interval -1.40 … \
         +2.20 % is too wide, use `lab bench --verdict` | stage: done",
    );
    check("undecided", world.tell("end pass 165210.4 0.004 undecided"));
}

#[test]
fn pass_with_a_caveat_on_the_emulated_device() {
    let mut world = World::new();
    world.tell(
        "open; say stage: build | device: cpu (emulated, 2 threads) | build_s: 1.2 | correctness: pass",
    );
    world
        .tell("say caveat: the clock was not steady: 1410 to 1980 MHz | throughput_sps: 12.5; end pass 12.5");
    check("caveat", &mut world);
}

#[test]
fn pass_with_a_caveat_on_a_gpu() {
    let mut world = World::new().with_history();
    world
        .tell("open")
        .tell(BUILD)
        .tell(VERIFY)
        .tell("say stage: measure");
    world.tell(
        "say floor_us: 0.07500 | estimate_us: 4.850 exchanges=4 | of_estimate: 80 | throughput_sps: 165210.4 | \
         kernel_us: 6.05 | sm_clock_mhz: 1755 low=1755 high=1980 | memory_clock_mhz: 3201 low=3201 high=3201 | \
         temperature_c: 71 low=64 high=74 | power_w: 688 low=640 high=702 | throttle: sw_power_cap | \
         foreign_processes: 1 | correctness: pass | caveat: the device was held back while this was measured: it draws \
         as much power as its limit allows (sw_power_cap) | stage: done",
    );
    check("caveated", world.tell("end pass 165210.4 0.031"));
}

#[test]
fn verify_failed() {
    let mut world = passed();
    world.tell("save").tell(BUILD);
    world.tell(
        "say stage: verify | rows_f32_max_diff: 4.2e-02 limit=3e-05 | rows_f32_series: 1e-7,2e-7,4.2e-2,nan,1e-7 | \
         rows_f16_max_diff: nan limit=1e-03 | first_failure: y[3][17] is 1.042, expected 1 (rows=3 cols=257 T=f32) | \
         correctness: fail | seed: 42 | compiler: NVRTC 13.0",
    );
    world.tell("end fail rows_f32_max_diff 4.2e-02 is over its limit 3e-05: first at out[3][17]");
    check("verify_failed", &mut world);
}

#[test]
fn build_failed() {
    let mut world = passed();
    world.tell(
        "save; say stage: build | kernels/rmsnorm/kernel.cu(31): error: identifier \"warp_sun\" is undefined | \
         kernels/rmsnorm/kernel.cu(44): warning #177-D: variable \"lane\" was declared but never referenced | \
         kernels/rmsnorm/kernel.cu:52:9: error: no matching function for call to 'store4' with a very long list of \
         arguments that does not fit into one line of this pane | build_s: 0.11",
    );
    check(
        "build_failed",
        world.tell("end unbuilt kernel.cu does not build: 2 errors"),
    );
}

#[test]
fn crash() {
    let mut world = passed();
    world.tell("save").tell(BUILD);
    check(
        "crash",
        world
            .tell("end crash an illegal memory access in rmsnorm_f32 (CUDA_ERROR_ILLEGAL_ADDRESS)"),
    );
}

#[test]
fn void() {
    let mut world = passed();
    check(
        "void",
        world.tell("save; end void kernel.cu changed while the harness ran"),
    );
}

#[test]
fn stale_and_paused() {
    check("stale", passed().tell("press p; save"));
}

#[test]
fn untrusted() {
    check("untrusted", World::new().external().tell("open"));
}

#[test]
fn unconfined() {
    check("unconfined", World::new().unconfined().tell("open"));
}

#[test]
fn a_long_harness_command() {
    let mut world = World::new().external();
    let lines: Vec<String> = (1..=40).map(|n| format!("step {n}")).collect();
    world.model.setup.external = Some(lines.join("\n"));
    check("long_command", world.tell("open"));
}

#[test]
fn external() {
    let mut world = World::new().external();
    world.tell("open; press y; say correctness: pass | throughput_sps: 1234.5; end pass 1234.5");
    check("external", &mut world);
}

#[test]
fn keep_dialog() {
    check(
        "keep",
        experiment().tell("press c; type overlap loads with 漢字"),
    );
}

#[test]
fn keep_dialog_that_refuses() {
    check("keep_refused", experiment().tell("press c enter"));
}

#[test]
fn discard_dialog() {
    check("discard", experiment().tell("press d"));
}

#[test]
fn discard_of_newer_bytes() {
    check("discard_newer", experiment().tell("press p; save; press d"));
}

#[test]
fn help() {
    check("help", passed().tell("press ?"));
}

#[test]
fn palette() {
    check("palette", passed().tell("press :"));
    check(
        "palette_typed",
        passed().tell("press :; type pane; press down"),
    );
}

#[test]
fn themes() {
    check("themes", passed().tell("press t; press down"));
}

#[test]
fn borders_that_were_moved() {
    let mut world = passed();
    world.screen(160, 45);
    world.tell("press ctrl-right ctrl-right ctrl-right");
    world.screen(160, 45);
    check("borders", world.tell("press ctrl-up ctrl-up"));
}

#[test]
fn a_list_is_searched() {
    check(
        "search_list",
        passed().tell("press tab tab /; type warp; press enter"),
    );
}

#[test]
fn search() {
    check("search", passed().tell("press /; type ptxas; press enter"));
}

#[test]
fn typing_a_search() {
    check("search_typing", passed().tell("press /; type pt"));
}

#[test]
fn zoomed_panes() {
    check("zoom_correctness", passed().tell("press z"));
    check("zoom_history", passed().tell("press tab z k k"));
    check("zoom_commits", passed().tell("press tab tab z j"));
    check("zoom_log", passed().tell("press tab tab tab z"));
}

#[test]
fn an_experiment_is_selected() {
    check("selected", passed().tell("press tab k k k"));
}

#[test]
fn what_a_hostile_log_holds() {
    let mut world = World::new();
    world.tell("open; say stage: build | 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字");
    let long = "x".repeat(20_000);
    world.tell(&format!("say {long} | key: {long} | caveat: {long}"));
    check("hostile", &mut world);
}

#[test]
fn a_check_goes_on() {
    let mut world = passed();
    world.tell("press s; say stage: build | device: NVIDIA H200 | check_tools: memcheck, racecheck | check_size: rows=4");
    world.tell("say build_s: 0.4 | stage: verify | memcheck_findings: 0 limit=0 | progress: 1/2; wait 2100");
    check("checking", &mut world);
}

#[test]
fn a_check_found_nothing() {
    let mut world = passed();
    world.tell("press s; say check_tools: memcheck, racecheck | check: memcheck, racecheck clean; end pass");
    check("check_clean", &mut world);
}

#[test]
fn a_check_found_something_beside_a_verdict_that_passes() {
    let mut world = passed();
    world.tell(
        "press s; say check_tools: race | kernels/rmsnorm/kernel.cu(29): error: [race] thread (5,0,0) of block (0,0,0) reads \
         shared memory that thread (37,0,0) writes at line 27: no __syncthreads() lies between | \
         race_findings: 1 limit=0 | check: race found something | correctness: fail",
    );
    world.tell("end fail race_findings is 1, its limit 0");
    check("check_found", &mut world);
}
