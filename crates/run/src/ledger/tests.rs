//! Rows in, rows out, and what else a ledger may hold.

#![allow(clippy::unwrap_used)]
use super::edit::edited;
use super::*;
use crate::experiment::Correctness;
use proptest::prelude::*;

fn sample(description: &str) -> Row {
    Row {
        commit: "a1b2c3d".into(),
        throughput_sps: 42013.5,
        kernel_us: 23.8,
        correctness: Correctness::Pass,
        status: Status::Keep,
        description: description.into(),
    }
}

#[test]
fn a_new_file_gets_its_header_and_a_half_line_its_end() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("results.tsv");
    append(&path, &sample("first \"try\"\twith\na tab")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\n\
         a1b2c3d\t42013.5\t23.8\tpass\tkeep\tfirst \"try\" with a tab\n"
    );
    std::fs::write(&path, format!("{text}b2c3d4e\t1.0")).unwrap();
    append(&path, &sample("second")).unwrap();
    let after = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        after,
        format!("{text}b2c3d4e\t1.0\na1b2c3d\t42013.5\t23.8\tpass\tkeep\tsecond\n")
    );
    let ledger = read(&path);
    assert_eq!(ledger.rows.len(), 2);
    assert_eq!(
        ledger.problems,
        ["results.tsv:3: 2 columns instead of 6; the row is left out"]
    );
}

#[test]
fn a_failed_append_names_a_remedy() {
    let temp = tempfile::tempdir().unwrap();
    let error = append(temp.path(), &sample("x")).unwrap_err().to_string();
    assert!(error.contains("move the folder away"), "{error}");
    let full = io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
    let full = cannot_append(temp.path(), &full).to_string();
    assert!(
        full.contains("; make room on the disk, then `lab log --append-missing`"),
        "{full}"
    );
    let device = append(Path::new("/dev/full"), &sample("x"))
        .unwrap_err()
        .to_string();
    assert!(
        device.contains("/dev/full is no plain file: remove it, then"),
        "{device}"
    );
}

#[test]
fn a_link_in_place_of_a_ledger_is_neither_read_nor_written() {
    let temp = tempfile::tempdir().unwrap();
    let (path, real) = (
        temp.path().join("results.tsv"),
        temp.path().join("elsewhere"),
    );
    let (text, _) = in_company("# mine\n", &sample("old"), "", "\n");
    std::fs::write(&real, &text).unwrap();
    for target in ["elsewhere", "/dev/zero"] {
        std::os::unix::fs::symlink(target, &path).unwrap();
        let append = append(&path, &sample("x")).unwrap_err().to_string();
        assert!(
            append.contains("is a link, and lab follows no link there: remove it, then"),
            "{append}"
        );
        let edit = replace(&path, &sample("old"), Edit::TakeOut)
            .unwrap_err()
            .to_string();
        assert!(
            edit.contains("is a link, and lab follows no link there"),
            "{edit}"
        );
        let ledger = read(&path);
        assert!(
            ledger.rows.is_empty() && ledger.problems[0].contains("is a link"),
            "{ledger:?}"
        );
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(std::fs::read(&real).unwrap(), text);
}

#[test]
fn rows_written_by_hand_are_read_or_reported() {
    let ledger = parse(
        "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\n\
         aaa\tfast\t1\tpass\tkeep\tx\n\nbbb\t1\t1\tpass\tkept\tx\nccc\t1\t1\tok\tkeep\tx\nddd\t2\t1\tfail\tcrash\t\n\
         eee\tnan\t1\tpass\tkeep\tx\nfff\t3\t1\tpass\tkeep\tx\tmine\t\n",
        "results.tsv",
    );
    assert_eq!(
        ledger
            .rows
            .iter()
            .map(|r| r.commit.as_str())
            .collect::<Vec<_>>(),
        ["ddd", "fff"]
    );
    assert_eq!(ledger.unread, ["aaa", "bbb", "ccc", "eee"]);
    let wanted = [
        "results.tsv:2: throughput_sps 'fast' is no number; the row is left out",
        "results.tsv:4: status is none of keep, discard, crash, rules; the row is left out",
        "results.tsv:5: correctness is none of pass, fail, -; the row is left out",
        "results.tsv:7: throughput_sps 'nan' is no number; the row is left out",
    ];
    assert_eq!(ledger.problems, wanted);
}

#[test]
fn a_byte_order_mark_is_part_of_no_column() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("results.tsv");
    for header in [true, false] {
        let before = if header {
            COLUMNS.join("\t") + "\n"
        } else {
            String::new()
        };
        let (text, _) = in_company(&before, &sample("old"), "", "\r\n");
        std::fs::write(&path, ["\u{feff}".as_bytes(), &text].concat()).unwrap();
        let wanted = Ledger {
            is_whole: true,
            rows: vec![sample("old")],
            ..Ledger::default()
        };
        assert_eq!(read(&path), wanted);
        assert!(replace(&path, &sample("old"), Edit::Describe("new")).unwrap());
        let text = String::from_utf8(text).unwrap().replace("old", "new");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            format!("\u{feff}{text}")
        );
    }
}

fn rows() -> impl Strategy<Value = Row> {
    let status = prop_oneof![
        Just(Status::Keep),
        Just(Status::Discard),
        Just(Status::Crash)
    ];
    (
        "[0-9a-f]{7,12}",
        0.0..1e12f64,
        0.0..1e6f64,
        prop::bool::ANY,
        status,
        any::<String>(),
    )
        .prop_map(
            |(commit, throughput_sps, kernel_us, pass, status, description)| Row {
                commit,
                throughput_sps,
                kernel_us,
                correctness: pass.into(),
                status,
                description,
            },
        )
}

/// A file with this row between other text, and where its line begins and ends.
fn in_company(
    before: &str,
    row: &Row,
    after: &str,
    end: &str,
) -> (Vec<u8>, std::ops::Range<usize>) {
    let before = if before.is_empty() || before.ends_with('\n') {
        before.to_owned()
    } else {
        format!("{before}\n")
    };
    let line = fields(row).join("\t");
    let text = format!("{before}{line}{end}{after}");
    (
        text.into_bytes(),
        before.len()..before.len() + line.len() + end.len(),
    )
}

#[test]
fn an_edit_of_a_line_keeps_the_mode_and_the_line_ending() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("results.tsv");
    let (text, _) = in_company("# mine\r\n", &sample("old"), "half a li", "\r\n");
    std::fs::write(&path, &text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    for _ in 0..2 {
        assert!(replace(&path, &sample("old"), Edit::Describe("new\twords")).unwrap());
        let after = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            after,
            String::from_utf8_lossy(&text).replace("\told\r", "\tnew words\r")
        );
    }
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    // Its description was changed by hand, but it is still the only row of that commit and status.
    assert!(replace(&path, &sample("never written"), Edit::TakeOut).unwrap());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "# mine\r\nhalf a li"
    );
    assert!(!replace(&path, &sample("new words"), Edit::TakeOut).unwrap());
    assert!(!replace(&temp.path().join("none"), &sample("x"), Edit::TakeOut).unwrap());
    assert!(replace(Path::new("/dev/null"), &sample("x"), Edit::TakeOut).is_err());
}

#[test]
fn of_a_commit_with_two_rows_only_the_one_that_is_meant_is_edited() {
    let both = [
        fields(&sample("a")).join("\t"),
        fields(&sample("b")).join("\t"),
    ]
    .join("\n")
        + "\n";
    let edit = |text: &str, row: &str| edited(text.as_bytes(), &sample(row), Edit::Describe("c"));
    let once = String::from_utf8(edit(&both, "a").unwrap()).unwrap();
    assert_eq!(once, both.replace("\ta\n", "\tc\n"));
    assert_eq!(
        edit(&once, "a").unwrap(),
        once.as_bytes(),
        "done again, it changes nothing more"
    );
    assert_eq!(edit(&both, "of neither"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// One line changes, and every other byte stays.
    #[test]
    fn an_edit_changes_one_line_and_no_other_byte(
        row in rows(), before in "[a-z\t\r\n\u{80}-\u{ff}]{0,60}", after in any::<String>(), text in any::<String>(),
        end in prop::sample::select(vec!["\n", "\r\n"]), take_out in prop::bool::ANY,
    ) {
        let row = Row { description: sanitise::words(&row.description), ..row };
        let (bytes, line) = in_company(&before, &row, &after, end);
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("results.tsv");
        std::fs::write(&path, &bytes).unwrap();
        let edit = if take_out { Edit::TakeOut } else { Edit::Describe(&text) };
        prop_assert!(replace(&path, &row, edit).unwrap());
        let new = Row { description: sanitise::words(&text), ..row.clone() };
        let wanted = if take_out { String::new() } else { fields(&new).join("\t") + end };
        let wanted = [&bytes[..line.start], wanted.as_bytes(), &bytes[line.end..]].concat();
        prop_assert_eq!(std::fs::read(&path).unwrap(), wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every byte that was there stays, and every row is read back.
    #[test]
    fn appending_never_rewrites_and_rows_come_back(before in any::<String>(), added in prop::collection::vec(rows(), 1..4)) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("results.tsv");
        std::fs::write(&path, &before).unwrap();
        for row in &added {
            append(&path, row).unwrap();
        }
        let after = std::fs::read(&path).unwrap();
        prop_assert!(after.starts_with(before.as_bytes()));
        let rows = read(&path).rows;
        let wanted: Vec<Row> = added.iter().map(|r| Row { description: sanitise::words(&r.description), ..r.clone() }).collect();
        prop_assert!(rows.ends_with(&wanted), "{rows:?}\n{wanted:?}");
    }
}
