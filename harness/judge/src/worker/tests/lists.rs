//! Launch lists and their scratch buffers.

use super::*;

/// A worker with a launch list `l` of kernels `a` and `b`, on a device that notes what it does.
fn worker_of_a_list(list: Vec<u8>, a: Kernel, b: Kernel) -> Worker {
    let open = move || -> Result<Box<dyn Driver>, DeviceError> {
        let kernels = vec![("a", a), ("b", b), ("lab_launches_l", stated(list))];
        Ok(Box::new(Fake {
            kernels,
            ..Fake::default()
        }))
    };
    Worker::on_a_thread(open, Duration::from_secs(10)).unwrap()
}

fn of_entries(entries: &[&str]) -> Vec<Vec<u8>> {
    entries
        .iter()
        .map(|entry| encoding::shape(PLAIN, entry, 5))
        .collect()
}

/// Notes the first word behind the pointer in the second argument, the scratch pointer.
fn notes(seen: &std::sync::Arc<std::sync::Mutex<Vec<u32>>>, write: u32) -> Kernel {
    let seen = seen.clone();
    Box::new(move |memory, args| {
        let at = address(&args[1]);
        let word = &mut memory[at..at + 4];
        seen.lock()
            .unwrap()
            .push(u32::from_le_bytes(word.try_into().unwrap()));
        word.copy_from_slice(&write.to_le_bytes());
        Ok(())
    })
}

/// So many launches on the same arguments.
fn repeated(launch: Launch, count: usize) -> Repeated {
    let further = vec![launch.args.clone(); count - 1];
    Repeated { launch, further }
}

#[test]
fn the_kernels_of_a_list_share_scratch_and_no_run_of_the_list_finds_what_another_left() {
    for zeroed in [false, true] {
        let seen = std::sync::Arc::default();
        let list = encoding::list(8, zeroed, 2, &of_entries(&["a", "b"]));
        let mut worker = worker_of_a_list(list, notes(&seen, 77), notes(&seen, 78));
        let x = worker.buffer("x", 4).unwrap();
        launch_entry(&mut worker, "l", vec![LaunchArg::Buffer(x)]).unwrap();
        let launch = |module| Launch {
            module,
            entry: "l".into(),
            args: vec![LaunchArg::Buffer(x)],
            dims: vec![1; 4],
            order: ExecutionOrder::Forward,
            parameters: Vec::new(),
            scratch: SCRATCH_NAME.into(),
        };
        let module = worker.load(Path::new("image")).unwrap();
        worker
            .replay(repeated(launch(module), 3), None, true)
            .unwrap();
        let seen = seen.lock().unwrap().clone();
        assert_eq!(seen.len(), 8);
        for pair in seen.chunks(2) {
            let fresh = if zeroed {
                pair[0] == 0
            } else {
                SCRATCH_POISONS.contains(&pair[0])
            };
            assert!(fresh && pair[1] == 77, "{zeroed}: {seen:x?}");
        }
        assert_eq!(worker.breaches().unwrap(), []);
        let launched = worker.launched().unwrap();
        assert_eq!(
            (
                launched.kernels.len(),
                launched.scratch_bytes,
                launched.zeroed
            ),
            (2, 8, zeroed)
        );
    }
}

#[test]
fn each_launch_of_a_list_gets_its_own_arguments_behind_the_scratch_pointer() {
    let seen: std::sync::Arc<std::sync::Mutex<Vec<Vec<Arg>>>> = std::sync::Arc::default();
    let noted = seen.clone();
    let notes: Kernel = Box::new(move |_, args| {
        noted.lock().unwrap().push(args[1..].to_vec());
        Ok(())
    });
    let passes = [[8, 4], [8, 2], [8, 1]];
    let launches = passes.map(|pass| encoding::with_args(encoding::shape(PLAIN, "a", 5), &pass));
    let mut launches = launches.to_vec();
    launches.push(encoding::shape(PLAIN, "b", 6));
    let list = encoding::list(0, false, 4, &launches);
    let mut worker = worker_of_a_list(list, notes, idle());
    let x = worker.buffer("x", 4).unwrap();
    launch_entry(&mut worker, "l", vec![LaunchArg::Buffer(x)]).unwrap();
    let null = 0u64.to_le_bytes().to_vec();
    let words = |pass: [u32; 2]| pass.map(|word| word.to_le_bytes().to_vec());
    let expected = passes.map(|pass| [vec![null.clone()], words(pass).to_vec()].concat());
    assert_eq!(*seen.lock().unwrap(), expected);
    let launched = worker.launched().unwrap();
    let times: Vec<usize> = launched.kernels.iter().map(|kernel| kernel.times).collect();
    assert_eq!((times, launched.launches()), (vec![3, 1], 4));
}

#[test]
fn a_store_behind_the_scratch_buffer_is_found() {
    let beyond: Kernel = Box::new(|memory, args| {
        memory[address(&args[1]) + 8] ^= 1;
        Ok(())
    });
    let list = encoding::list(8, false, 1, &of_entries(&["a"]));
    let mut worker = worker_of_a_list(list, beyond, idle());
    let x = worker.buffer("x", 4).unwrap();
    launch_entry(&mut worker, "l", vec![LaunchArg::Buffer(x)]).unwrap();
    let breach = Breach::OutOfBounds {
        buffer: SCRATCH_NAME.into(),
        offset: 8,
    };
    assert_eq!(worker.breaches().unwrap(), [breach]);
}

#[test]
fn a_list_that_no_device_runs_is_refused_with_the_line() {
    let refused = |list: Vec<u8>| {
        launch_entry(&mut worker_of_a_list(list, idle(), idle()), "l", Vec::new()).unwrap_err()
    };
    let empty = refused(encoding::list(0, false, 0, &[]));
    assert!(
        matches!(&empty, Stop::Build(text) if text.starts_with("line 3: the launch list of l asks for no launch"))
    );
    let long = refused(encoding::list(0, false, 4097, &of_entries(&["a"; 64])));
    assert!(
        matches!(&long, Stop::Build(text) if text.contains("4097 launches, and a list has at most 4096")),
        "{long}"
    );
    let many = encoding::with_args(encoding::shape(PLAIN, "a", 9), &[0; 9]);
    let many = refused(encoding::list(0, false, 1, &[many]));
    assert!(
        matches!(&many, Stop::Build(text) if text.ends_with("asks for 9 arguments, and a launch has at most 8")),
        "{many}"
    );
    let unknown = refused(encoding::list(0, false, 2, &of_entries(&["a", "c"])));
    let words = "line 5: the launch list of l names the kernel 'c' as its launch 2";
    assert!(
        matches!(&unknown, Stop::Build(text) if text.starts_with(words)),
        "{unknown}"
    );
    let broken = refused(encoding::list(0, false, 1, &of_entries(&["c\nd"])));
    let words = "names the kernel 'c\\nd' as its launch 1, and the source has no extern \"C\" __global__ void c\\nd(…)";
    assert!(
        matches!(&broken, Stop::Build(text) if text.contains(words)),
        "{broken}"
    );
    let name = refused(encoding::list(
        0,
        false,
        1,
        &of_entries(&["x".repeat(128).as_str()]),
    ));
    assert!(
        matches!(&name, Stop::Build(text) if text.contains("a kernel whose name has more than 127 letters")),
        "{name}"
    );
    let mut cluster = encoding::shape(PLAIN, "a", 9);
    cluster[32] = 2;
    let cluster = refused(encoding::list(0, false, 1, &[cluster]));
    assert!(
        matches!(&cluster, Stop::Build(text) if text.starts_with("line 9: ") && text.contains("#ifndef LAB_CPU"))
    );
    let huge = refused(encoding::list(1 << 60, false, 1, &of_entries(&["a"])));
    let words = "line 3: the launch list of l asks for 1152921504606846976 bytes of scratch, and this device has 1048576";
    assert!(
        matches!(&huge, Stop::Crash(text) if text.starts_with(words)),
        "{huge}"
    );
}

#[test]
fn scratch_buffers_take_turns_where_the_device_has_too_little_memory_for_all() {
    // A quarter of a mebibyte holds two of them.
    let seen = std::sync::Arc::default();
    let list = encoding::list(100 << 10, false, 1, &of_entries(&["a"]));
    let mut worker = worker_of_a_list(list, notes(&seen, 77), idle());
    let x = worker.buffer("x", 4).unwrap();
    let module = worker.load(Path::new("image")).unwrap();
    let launch = Launch {
        module,
        entry: "l".into(),
        args: vec![LaunchArg::Buffer(x)],
        dims: vec![1; 4],
        order: ExecutionOrder::Forward,
        parameters: Vec::new(),
        scratch: SCRATCH_NAME.into(),
    };
    let replayed = worker.replay(repeated(launch, 5), None, true).unwrap();
    let seconds = replayed.seconds;
    assert_eq!(seconds, 2.5, "all five count");
    let seen = seen.lock().unwrap().clone();
    assert!(
        seen.len() == 5 && seen.iter().all(|word| SCRATCH_POISONS.contains(word)),
        "{seen:x?}"
    );
}
