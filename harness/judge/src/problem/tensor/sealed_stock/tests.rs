#![allow(clippy::unwrap_used)]
use super::super::file;
use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

const PROBLEM: &str = r#"
kind = "tensor"
entry = "twice_{T}"
types = ["f32"]
dims = ["n"]
ragged = false
bytes = "2 * n * sizeof_T"
flops = "n"
[[tensor]]
name = "x"
role = "in"
type = "T"
shape = ["n"]
values = { uniform = { low = 0.0, high = 1.0 } }
planted = true
[[tensor]]
name = "y"
role = "out"
type = "T"
shape = ["n"]
[tolerance.f32]
atol = 1e-6
rtol = 1e-5
[objective]
samples = "n"
[[workload]]
dims = { n = 300 }
"#;

fn spec() -> ProblemSpec {
    file::parse(Path::new("problem.toml"), PROBLEM, None).unwrap()
}

fn device(name: &str) -> DeviceInfo {
    DeviceInfo {
        name: name.into(),
        emulated: true,
        sms: 4,
        arch: String::new(),
        max_shared_bytes: 48 << 10,
        l2_bytes: 0,
        memory_bytes: 0,
        uuid: String::new(),
        driver: String::new(),
    }
}

/// The stock of a problem with this text and this built reference.
fn stock(cache: &Path, text: &str, image: &str) -> SealedStock {
    SealedStock::new(
        &spec(),
        text,
        image.as_bytes(),
        &device("cpu"),
        When::Save,
        cache,
    )
}

/// Sets as a judge makes them, with outputs of these bytes.
fn sets(seed: u64) -> Vec<CaseData> {
    let drawing = Drawing {
        device: &device("cpu"),
        seed,
        memory: None,
    };
    let parts: Vec<_> = in_order(&spec().cases).collect();
    let mut data = drawing.sets_of_parts(&parts).unwrap();
    for set in data.iter_mut().flat_map(|data| &mut data.sets) {
        set.expected = vec![None, Some(Cells::Host(vec![7; 1200]))];
    }
    data
}

/// Puts these sets into the stock.
fn store(stock: &SealedStock, seed: u64, sets: &[CaseData]) -> bool {
    let mut bytes = stock.begin(seed).bytes;
    sets.iter().for_each(|data| put(&mut bytes, data).unwrap());
    stock.store(bytes).unwrap()
}

/// The seed and the data that are taken.
fn taken(stock: &SealedStock) -> Option<(u64, Ahead)> {
    stock
        .take(|seed, content| {
            let drawing = Drawing {
                device: &device("cpu"),
                seed,
                memory: None,
            };
            Some((seed, read(&spec().cases, drawing, content)?))
        })
        .unwrap()
}

#[test]
fn sets_are_taken_once_as_they_were_stored() {
    let cache = tempfile::tempdir().unwrap();
    let stock = stock(cache.path(), PROBLEM, "image");
    assert!(!stock.is_filled() && taken(&stock).is_none());
    assert!(store(&stock, 5, &sets(5)));
    assert!(stock.is_filled());
    let file = stock.files().remove(0);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let ((seed, mut found), wanted) = (taken(&stock).unwrap(), sets(5));
    assert_eq!((seed, found.len()), (5, wanted.len()));
    assert!(!wanted[1].sets.is_empty(), "extremes are planted");
    for ((case, part), wanted) in in_order(&spec().cases).zip(&wanted) {
        let found = found.remove(&(case.index, part)).unwrap();
        assert_eq!(found.sets, wanted.sets);
    }
    assert!(!file.exists() && taken(&stock).is_none());
}

#[test]
fn a_file_that_a_save_interrupted_is_gone_on_with_once() {
    let cache = tempfile::tempdir().unwrap();
    let of = |image| stock(cache.path(), PROBLEM, image);
    let (stock, wanted) = (of("image"), sets(5));
    assert!(stock.go_on().is_none());
    let mut begun = stock.begin(5);
    put(&mut begun.bytes, &wanted[0]).unwrap();
    begun.parts = 1;
    stock.put_by(begun).unwrap();
    assert!(
        !stock.is_filled() && taken(&stock).is_none(),
        "it is not complete"
    );
    assert!(of("another image").go_on().is_none());
    let mut begun = stock.go_on().unwrap();
    assert_eq!((begun.seed, begun.parts), (5, 1));
    assert!(stock.go_on().is_none(), "one judge goes on with it");
    put(&mut begun.bytes, &wanted[1]).unwrap();
    assert!(stock.store(begun.bytes).unwrap());
    let (seed, found) = taken(&stock).unwrap();
    assert_eq!((seed, found.len()), (5, wanted.len()));
    // A damaged one is begun anew.
    let mut begun = stock.begin(6);
    begun.parts = 1;
    stock.put_by(begun).unwrap();
    let path = stock.folder.join(BEGUN);
    let mut bytes = fs::read(&path).unwrap();
    bytes[40] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(stock.go_on().is_none() && !path.exists());
}

#[test]
fn a_changed_problem_or_reference_or_device_finds_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let stored = stock(cache.path(), PROBLEM, "image");
    assert!(store(&stored, 5, &sets(5)));
    let changed = PROBLEM.replace("1e-5", "1e-4");
    let other = |device: &DeviceInfo, timed| {
        SealedStock::new(&spec(), PROBLEM, b"image", device, timed, cache.path())
    };
    for stock in [
        stock(cache.path(), &changed, "image"),
        stock(cache.path(), PROBLEM, "another image"),
        other(&device("another"), When::Save),
        other(&device("cpu"), When::Measure),
    ] {
        assert!(!stock.is_filled() && taken(&stock).is_none());
        // A file that somebody puts there under its name is of another key all the same.
        fs::create_dir_all(&stock.folder).unwrap();
        let copy = stock.folder.join("0123456789abcdef");
        fs::copy(&stored.files()[0], &copy).unwrap();
        assert!(taken(&stock).is_none() && !copy.exists());
    }
    assert!(taken(&stored).is_some());
}

#[test]
fn a_damaged_file_is_refused_whichever_part_it_is() {
    let cache = tempfile::tempdir().unwrap();
    let stock = stock(cache.path(), PROBLEM, "image");
    assert!(store(&stock, 5, &sets(5)));
    let file = stock.files().remove(0);
    let good = fs::read(&file).unwrap();
    let damaged = (0..good.len()).step_by(97).map(|at| {
        let mut bad = good.clone();
        bad[at] ^= 1;
        bad
    });
    let cut = [0, 1, 31, 64, good.len() / 2, good.len() - 1].map(|end| good[..end].to_vec());
    for bad in damaged.chain(cut) {
        fs::write(&file, bad).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(taken(&stock).is_none() && !file.exists());
    }
    // Whole, and of the key, but not of these cases.
    assert!(store(&stock, 5, &sets(5)[1..]));
    assert!(taken(&stock).is_none() && !stock.is_filled());
}

#[test]
fn a_file_that_is_not_the_users_own_is_not_read() {
    let cache = tempfile::tempdir().unwrap();
    let stock = stock(cache.path(), PROBLEM, "image");
    assert!(store(&stock, 5, &sets(5)));
    let file = stock.files().remove(0);
    let elsewhere = cache.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert!(taken(&stock).is_none() && !stock.is_filled());
    assert!(
        elsewhere.exists() && file.symlink_metadata().is_ok(),
        "it is left alone"
    );
    fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &file,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    assert!(taken(&stock).is_none());
    fs::remove_file(&file).unwrap();
    // Others may write it.
    fs::rename(&elsewhere, &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(taken(&stock).is_none() && file.exists());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(taken(&stock).is_some());
}

#[test]
fn files_of_other_problems_make_space_the_oldest_first() {
    let cache = tempfile::tempdir().unwrap();
    let stock = stock(cache.path(), PROBLEM, "image");
    let large = |name: &str, age: u64| {
        let folder = stock.top.join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("0123456789abcdef");
        let file = File::create(&path).unwrap();
        // No byte of it is on the disk.
        file.set_len(MOST / 2).unwrap();
        file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age))
            .unwrap();
        path
    };
    let (old, new) = (large("old", 1000), large("new", 10));
    assert!(store(&stock, 5, &sets(5)));
    assert!(!old.exists() && new.exists() && !stock.top.join("old").exists());
    // Its own files stay.
    for number in 0..2 {
        let file = File::create(stock.folder.join(format!("{number:016x}"))).unwrap();
        file.set_len(MOST / 2).unwrap();
    }
    assert!(!store(&stock, 6, &sets(6)));
    assert!(!new.exists() && stock.files().len() == 3);
}
