//! The order of the rows, the columns that fit, and the heat.

use super::*;
use crate::chart::SymbolSet;
use crate::widgets::canvas::GAP;

const LOG: &str = "\
throughput_sps: 10 aggregate=geometric workloads=4
workload: n=8 kernel_us=4.1 low_us=4.0 high_us=4.3 gbps=30 gflops=7 of_floor=61.2 incumbent_us=4.9 ratio=1.2 ratio_low=1.1 ratio_high=1.3 speed=faster correctness=pass
workload: n=16 kernel_us=8.0 of_floor=12.0 ratio=0.97 ratio_low=0.96 ratio_high=0.98 speed=slower correctness=pass
workload: n=100 kernel_us=6.0 ratio=1.001 ratio_low=0.999 ratio_high=1.003 speed=same correctness=pass
workload: n=2 kernel_us=1.0 ratio=1.1 ratio_low=0.8 ratio_high=1.4 speed=undecided correctness=pass
";

fn table(log: &str) -> WorkloadTable {
    WorkloadTable::of(&Report::read(log), "throughput_sps").expect("several workloads")
}

fn names(state: &WorkloadsState, table: &WorkloadTable) -> String {
    let order = table.order(state.sort).into_iter();
    order
        .map(|at| table.workloads[at].name.trim_start_matches("n=").to_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn rows_are_sorted_by_any_column_and_then_as_they_were() {
    let (mut state, table) = (WorkloadsState::default(), table(LOG));
    assert_eq!(names(&state, &table), "8 16 100 2");
    let mut seen = Vec::new();
    loop {
        state.sort_by_next();
        let Some(sort) = state.sort else { break };
        seen.push(format!("{}: {}", sort.column.name(), names(&state, &table)));
    }
    assert_eq!(
        seen,
        [
            "workload: 2 8 16 100",
            "µs: 16 100 8 2",
            "% of floor: 16 8 100 2",
            "vs incumbent: 16 100 2 8",
            "speed: 16 2 100 8",
            "incumbent µs: 8 16 100 2",
            "GB/s: 8 16 100 2",
            "GFLOP/s: 8 16 100 2",
        ]
    );
    assert_eq!(
        names(&state, &table),
        "8 16 100 2",
        "after the last column as at first"
    );
    state.reverse();
    assert_eq!(names(&state, &table), "100 16 8 2");
    state.sort_by_head(Column::Time);
    state.sort_by_head(Column::Time);
    assert_eq!(names(&state, &table), "2 8 100 16");
    // A workload without a value comes last in either order.
    state.sort_by_head(Column::Floor);
    state.sort_by_head(Column::Floor);
    assert_eq!(names(&state, &table), "8 16 100 2");
}

#[test]
fn a_rate_has_two_decimals_also_below_1() {
    let log = "workload: n=1 kernel_us=1 gbps=0.99 gflops=0.00\nworkload: n=2 kernel_us=1 gbps=1.06 gflops=0.001\n";
    let table = table(log);
    let text = |column, at: usize| cells::text(column, &table.workloads[at], SymbolSet::Ascii);
    assert_eq!([0, 1].map(|at| text(Column::Gbps, at)), ["0.99", "1.06"]);
    assert_eq!([0, 1].map(|at| text(Column::Gflops, at)), ["0", "0.0010"]);
}

#[test]
fn the_heat_has_a_sign_and_grows_with_the_difference() {
    let table = table(LOG);
    let heat = |at: usize, symbols| cells::text(Column::Heat, &table.workloads[at], symbols);
    assert_eq!(heat(0, SymbolSet::Braille), "▲ ██████");
    assert_eq!(heat(1, SymbolSet::Braille), "▼ ████");
    assert_eq!(heat(2, SymbolSet::Ascii), "= #");
    assert_eq!(heat(3, SymbolSet::Ascii), "? #####");
    let extreme =
        "workload: n=1 us=1 ratio=1e9 speed=faster\nworkload: n=2 us=1 ratio=0 speed=slower\n";
    let extreme = self::table(extreme);
    for workload in &extreme.workloads {
        assert!(cells::text(Column::Heat, workload, SymbolSet::Ascii).ends_with("########"));
    }
    let none = self::table("workload: n=1 us=1\nworkload: n=2 us=1\n");
    assert_eq!(
        cells::text(Column::Heat, &none.workloads[0], SymbolSet::Ascii),
        ""
    );
}

#[test]
fn as_many_columns_are_shown_as_fit_and_no_empty_one() {
    let table = table(LOG);
    let shown = |room: usize| {
        let shown = columns::choose(room, &table.workloads, None);
        let used: usize = shown.iter().map(|s| s.width + GAP.len()).sum();
        assert!(
            used <= room + GAP.len() || shown.len() == 1,
            "{room}: {shown:?}"
        );
        shown
            .iter()
            .map(|s| s.column.name())
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(shown(30), "workload, µs, speed");
    assert_eq!(shown(60), "workload, µs, vs incumbent, heat, speed");
    let all: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
    assert_eq!(shown(200), all.join(", "));
    for room in 0..200 {
        shown(room);
    }
    let plain =
        self::table("workload: n=1 us=1 correctness=pass\nworkload: n=2 us=2 correctness=fail\n");
    let plain = columns::choose(200, &plain.workloads, None);
    assert_eq!(
        plain.iter().map(|s| s.column).collect::<Vec<_>>(),
        [Column::Name, Column::Time, Column::Speed]
    );
}

#[test]
fn a_single_workload_has_no_table() {
    assert_eq!(
        WorkloadTable::of(&Report::read("workload: n=1 us=1\n"), "throughput_sps"),
        None
    );
    assert_eq!(
        WorkloadTable::of(&Report::default(), "throughput_sps"),
        None
    );
}

#[test]
fn the_title_says_how_many_and_which_aggregate() {
    let sort = Some(Sort::by(Column::Ratio));
    assert_eq!(
        note("run 7", &table(LOG), sort),
        "run 7 · 4 · by vs incumbent ▲ · 1 faster, 1 same, 1 slower, 1 undecided · aggregate: geometric mean"
    );
    assert_eq!(
        WorkloadsState::default().rows(&table(LOG))[1],
        "n=16  8.00 µs  12 % of floor  -3.0 %  (-4.0 … -2.0)  slower"
    );
}
