//! Buffers that are made together, and the memory of freed ones.

use super::*;

const PAGE: i64 = 2 << 20;

fn wanted(names: &[&str]) -> Vec<(String, usize)> {
    names.iter().map(|name| ((*name).to_owned(), 20)).collect()
}

#[test]
fn buffers_of_one_allocation_are_poisoned_and_guarded_each() {
    for is_gpu in [false, true] {
        let mut worker = worker_of_two(is_gpu, changes(20), changes(-1));
        let buffers = worker.buffers(wanted(&["x", "y"])).unwrap();
        let [x, y] = buffers[..] else {
            panic!("two were asked for")
        };
        for buffer in [x, y] {
            let cells = worker.read(buffer).unwrap();
            assert!(
                cells.chunks(4).all(|cell| cell == POISON.to_le_bytes()),
                "{cells:?}"
            );
        }
        launch_entry(&mut worker, "a", vec![LaunchArg::Buffer(x)]).unwrap();
        launch_entry(&mut worker, "b", vec![LaunchArg::Buffer(y)]).unwrap();
        let beside = |buffer: &str, offset| Breach::OutOfBounds {
            buffer: buffer.into(),
            offset,
        };
        assert_eq!(
            worker.breaches().unwrap(),
            [beside("x", 20), beside("y", -1)]
        );
    }
}

#[test]
fn a_store_into_memory_that_waits_for_another_buffer_is_found() {
    let mut worker = worker_of_two(true, changes(PAGE + 5), idle());
    let x = worker.buffer("x", 20).unwrap();
    // The result of the launch statement does not fit where they lay.
    let freed = vec![("y".to_owned(), 20), ("z".to_owned(), PAGE as usize)];
    let freed = worker.buffers(freed).unwrap();
    freed
        .iter()
        .for_each(|buffer| worker.free(*buffer).unwrap());
    assert!(
        worker.read(freed[0]).is_err(),
        "a freed buffer is gone for the judge"
    );
    launch_entry(&mut worker, "a", vec![LaunchArg::Buffer(x)]).unwrap();
    assert_eq!(
        worker.breaches().unwrap(),
        [Breach::StrayStore {
            buffer: "y".into(),
            offset: Some(5)
        }]
    );
}

#[test]
fn freed_memory_is_used_again_and_holds_nothing_of_before() {
    // A kernel that writes one byte of the buffer that it is given.
    let mut worker = worker_of_two(true, changes(3), changes(PAGE + 3));
    let x = worker.buffer("x", 20).unwrap();
    let y = worker.buffer("y", 20).unwrap();
    launch_entry(&mut worker, "a", vec![LaunchArg::Buffer(y)]).unwrap();
    worker.free(y).unwrap();
    let z = worker.buffer("z", 8).unwrap();
    assert!(
        worker
            .read(z)
            .unwrap()
            .chunks(4)
            .all(|cell| cell == POISON.to_le_bytes())
    );
    // Where y lay, z lies: the store that leaves x finds it.
    launch_entry(&mut worker, "b", vec![LaunchArg::Buffer(x)]).unwrap();
    assert_eq!(
        worker.breaches().unwrap(),
        [Breach::StrayStore {
            buffer: "z".into(),
            offset: Some(3)
        }]
    );
}
