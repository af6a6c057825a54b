//! Launch statements: what they ask for, what is refused, and those that fail, which are named, and
//! the kernel is not.

use super::*;

/// A worker whose launch statement of `k` is this one; no kernel may run.
fn worker_of_statement(statement: Kernel) -> Worker {
    let open = move || -> Result<Box<dyn Driver>, DeviceError> {
        let kernel: Kernel = Box::new(|_, _| panic!("the kernel ran"));
        Ok(Box::new(Fake {
            kernels: vec![("k", kernel), ("lab_launch_k", statement)],
            ..Fake::default()
        }))
    };
    Worker::on_a_thread(open, Duration::from_millis(200)).unwrap()
}

#[test]
fn a_launch_statement_that_faults_is_named() {
    let faults: Kernel = Box::new(|_, _| Err(DeviceError::Kernel("an illegal address".into())));
    let error = launch(&mut worker_of_statement(faults), vec![]).unwrap_err();
    assert!(matches!(error, Stop::Crash(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "the launch statement of k failed: an illegal address"
    );
}

#[test]
fn a_launch_statement_that_hangs_is_named() {
    let (give_up, gave_up) = std::sync::mpsc::channel::<()>();
    let gave_up = std::sync::Mutex::new(gave_up);
    let hang: Kernel = Box::new(move |_, _| {
        let _ = gave_up.lock().unwrap().recv();
        Ok(())
    });
    let error = launch(&mut worker_of_statement(hang), vec![]).unwrap_err();
    drop(give_up);
    assert!(matches!(error, Stop::Crash(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "the launch statement of k did not end within 0.2 s: it hangs"
    );
}

#[test]
fn the_launch_statement_shapes_the_launch() {
    let mut worker = worker_with([3, 2, 1, 64, 2, 1, 128, 1], Box::new(|_, _| Ok(())));
    assert_eq!(launch(&mut worker, vec![]).unwrap(), 0.5);
    let shape = Shape {
        grid: [3, 2, 1],
        block: [64, 2, 1],
        shared_bytes: 128,
        cooperative: true,
        ..Shape::default()
    };
    let kernel = LaunchedKernel {
        entry: "k".into(),
        shape,
        times: 1,
        occupancy: None,
        maps: 0,
    };
    let launched = Launched {
        kernels: vec![kernel],
        ..Launched::default()
    };
    assert_eq!(worker.launched(), Some(&launched));
}

#[test]
fn an_impossible_launch_is_refused_with_a_reason() {
    let refusal =
        |words| launch(&mut worker_with(words, Box::new(|_, _| Ok(()))), vec![]).unwrap_err();
    let cases: [([u32; 8], &str); 6] = [
        (
            [0, 1, 1, 32, 1, 1, 0, 0],
            "a grid of 0x1x1 blocks of 32x1x1 threads: no extent may be 0",
        ),
        (
            [1, 1, 1, 32, 64, 1, 0, 0],
            "blocks of 32x64x1 = 2048 threads: at most 1024, and 64 in z",
        ),
        (
            [1, 1, 1, 1, 1, 128, 0, 0],
            "blocks of 1x1x128 = 128 threads: at most 1024, and 64 in z",
        ),
        (
            [1, 65536, 1, 1, 1, 1, 0, 0],
            "a grid of 1x65536x1 blocks: at most 2147483647 in x, 65535 in y and z",
        ),
        (
            [1, 1, 1, 1, 1, 1, 1001, 0],
            "1001 bytes of dynamic shared memory; this device gives a block at most 1000",
        ),
        (
            [9, 1, 1, 1, 1, 1, 0, 1],
            "a cooperative grid of 9 blocks, but only 8 fit on this device at once (2 on each of 4 multiprocessors)",
        ),
    ];
    for (words, expected) in cases {
        let error = refusal(words);
        assert!(matches!(error, Stop::Crash(_)));
        assert_eq!(
            error.to_string(),
            format!("the launch statement of k asks for {expected}")
        );
    }
}

#[test]
fn a_kernel_or_a_launch_statement_that_is_not_there_is_a_build_error() {
    let limit = Duration::from_secs(10);
    let open = || -> Result<Box<dyn Driver>, DeviceError> {
        let kernels: Vec<(_, Kernel)> = vec![("bare", Box::new(|_, _| Ok(())))];
        Ok(Box::new(Fake {
            kernels,
            ..Fake::default()
        }))
    };
    let mut worker = Worker::on_a_thread(open, limit).unwrap();
    let module = worker.load(Path::new("image")).unwrap();
    assert!(!worker.has_entry(module, "bare").unwrap());
    let error = worker
        .require_entry(module, "bare", Vec::new(), None)
        .unwrap_err();
    assert!(matches!(error, Stop::Build(_)));
    assert_eq!(
        error.to_string(),
        "there is no launch statement for bare: the source must contain LAB_LAUNCH(bare) { … }"
    );
    let error = worker
        .require_entry(module, "other", Vec::new(), None)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no kernel other: the source must define extern \"C\" __global__ void other(…)"
    );
}
