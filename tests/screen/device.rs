//! The view Device: the readings of a GPU while a person looks, and the kernel as built.

use super::states::check;
use super::world::World;
use lab_protocol::telemetry::{Process, Reading, ThrottleReason};
use lab_tui::event::Event;
use lab_tui::reply::DeviceReading;

pub const RUN: &str = "say stage: build | device: NVIDIA H200 | device_uuid: GPU-1 | driver: CUDA 13.0, driver 580.1 | \
    compiler: NVRTC 13.0 | build_s: 0.38 | registers: 168 | spill_bytes: 0 | shared_bytes: 12288 | \
    built_for: sm_90a | stage: verify | \
    launch: 132x1x1 block=512x1x1 shared_bytes=197632 cooperative=yes blocks_per_sm=1 occupancy=25 | \
    stage: measure | sm_clock_mhz: 1980 low=1965 high=1980 | temperature_c: 41 low=40 high=41 | \
    power_w: 320 low=300 high=330 | throttle: none | floor_us: 0.70 | estimate_us: 2.43 exchanges=2 | \
    of_estimate: 64 | throughput_sps: 265231 low=264900 high=265500 | kernel_us: 3.77 | correctness: pass";

/// One reading a second, the clock coming up as the run begins.
pub fn readings(world: &mut World, count: u32) {
    let own = Process {
        pid: 4711,
        name: "lab".into(),
        own: true,
        is_lab: true,
        busy: Some(83),
        memory: Some(1 << 30),
    };
    let other = Process {
        pid: 815,
        name: "train.py".into(),
        own: false,
        is_lab: false,
        busy: Some(12),
        memory: None,
    };
    for second in 0..count {
        world.tell("wait 1000");
        let reading = Reading {
            sm_clock_mhz: Some(if second < 20 { 345 } else { 1980 }),
            memory_clock_mhz: Some(3201),
            temperature_c: Some(30 + second.min(40) / 2),
            power_w: Some(if second < 20 { 75.5 } else { 320.25 }),
            idle: second < 20,
            throttle_reasons: if second < 20 {
                vec![]
            } else {
                vec![ThrottleReason::SwPowerCap]
            },
            memory: Some((12 << 30, 139 << 30)),
            processes: Some(vec![other.clone(), own.clone()]),
        };
        let heard = DeviceReading {
            uuid: "GPU-1".into(),
            reading: Ok(reading),
            slowdown_c: Some(92),
            others: Vec::new(),
        };
        world.send(Event::Telemetry(Box::new(heard)));
    }
}

#[test]
fn a_gpu_over_a_minute() {
    let mut world = World::new();
    world
        .tell("open")
        .tell(RUN)
        .tell("end pass 265231; press 5");
    readings(&mut world, 60);
    check("device", &mut world);
}

#[test]
fn the_other_gpus_of_the_machine_say_who_uses_them() {
    let mut world = World::new();
    world
        .tell("open")
        .tell(RUN)
        .tell("end pass 265231; press 5");
    let used = Process {
        pid: 815,
        name: "train.py".into(),
        own: false,
        is_lab: false,
        busy: Some(97),
        memory: None,
    };
    let state = |processes| Reading {
        memory: Some((3 << 30, 80 << 30)),
        processes: Some(processes),
        ..Reading::default()
    };
    world.send(Event::Telemetry(Box::new(DeviceReading {
        uuid: "GPU-1".into(),
        reading: Ok(state(Vec::new())),
        slowdown_c: None,
        others: vec![
            ("1 NVIDIA H100".into(), state(vec![used])),
            ("2 NVIDIA H100".into(), state(Vec::new())),
        ],
    })));
    let words = world.words();
    for row in [
        "GPU 1 NVIDIA H100 3 of 80 GiB 815 train.py 97 %",
        "GPU 2 NVIDIA H100 3 of 80 GiB free",
    ] {
        assert!(words.contains(row), "'{row}' is not in\n{words}");
    }
}

#[test]
fn a_launch_list_shows_each_launch_and_its_scratch() {
    let list = RUN.replace(
        "launch: 132x1x1 block=512x1x1 shared_bytes=197632 cooperative=yes blocks_per_sm=1 occupancy=25",
        "launch_list: 2 scratch_bytes=4096 scratch=zeroed | \
         launch: 64x5x1 block=128x1x1 shared_bytes=0 cluster=2x1x1 tensor_maps=1 entry=partial | \
         launch_2: 5x1x1 block=32x1x1 shared_bytes=0 entry=total | launched_as: graph",
    );
    let mut world = World::new();
    world
        .tell("open")
        .tell(&list)
        .tell("end pass 265231; press 5");
    readings(&mut world, 1);
    let words = world.words();
    for row in [
        "built for sm_90a",
        "launch partial: 64x5 blocks of 128 threads, clusters of 2, 1 tens",
        "launch total: 5 blocks of 32 threads",
        "scratch 4.0 KiB, zeroed in the time of the list",
        "timed as one CUDA graph",
    ] {
        assert!(words.contains(row), "'{row}' is not in\n{words}");
    }
}

#[test]
fn the_gpu_is_looked_at_only_while_its_view_is_shown() {
    let mut world = World::new();
    world.tell("open").tell(RUN).tell("end pass 265231");
    assert_eq!(world.asked, [""; 0]);
    world.tell("press 5; press 5; press 1");
    assert_eq!(
        world.asked,
        [r#"Telemetry(Some("GPU-1"))"#, "Telemetry(None)"]
    );
}

#[test]
fn a_device_that_tells_nothing_says_why() {
    let mut world = World::new();
    world.tell("open; press 5");
    assert!(
        world.words().contains("no run has named its GPU yet"),
        "{}",
        world.words()
    );
    // A cpu has no such thing, and no counters, from the first word of the run on.
    for step in [
        "say device: cpu (emulated, 2 threads) emulated=1",
        "say correctness: pass; end pass 5",
    ] {
        world.tell(step);
        let words = world.words();
        assert!(
            words.contains("has no clock, no temperature and no power")
                && words.contains("P makes one on a machine with an NVIDIA GPU"),
            "{words}"
        );
    }
    world.tell("save").tell(RUN).tell("end pass 265231");
    let heard = DeviceReading {
        uuid: "GPU-1".into(),
        reading: Err("libnvidia-ml.so.1 was not found".into()),
        slowdown_c: None,
        others: Vec::new(),
    };
    world.send(Event::Telemetry(Box::new(heard)));
    let words = world.words();
    assert!(
        words.contains("reports no state: libnvidia-ml.so.1 was not found"),
        "{words}"
    );
}

#[test]
fn an_external_harness_is_told_how_to_name_its_gpu() {
    let mut world = World::new().external();
    world.tell("open; press y; press 5");
    let told = |world: &mut World| {
        world
            .words()
            .contains("names no GPU unless it prints `device_uuid: GPU-…`")
    };
    assert!(told(&mut world), "{}", world.screen(160, 45));
    world.tell("say device: NVIDIA H200 | correctness: pass; end pass 5");
    assert!(
        told(&mut world),
        "a name alone says not which one it is: {}",
        world.screen(160, 45)
    );
    world.tell("save; say device_uuid: GPU-1 | correctness: pass; end pass 5");
    assert!(!told(&mut world), "{}", world.screen(160, 45));
    assert_eq!(world.asked, [r#"Telemetry(Some("GPU-1"))"#]);
}
