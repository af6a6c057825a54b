//! Pictures of charts.

use super::*;

fn text(chart: &Chart, columns: u16, rows: u16, symbols: SymbolSet) -> String {
    let area = Rect {
        x: 0,
        y: 0,
        width: columns,
        height: rows,
    };
    let mut buffer = Buffer::empty(area);
    chart.render(area, &mut buffer, symbols);
    let line = |y| {
        (0..columns)
            .map(|x| buffer[(x, y)].symbol().to_owned())
            .collect::<String>()
    };
    (0..rows)
        .map(|y| format!("|{}\n", line(y).trim_end()))
        .collect()
}

fn series<'a>(name: &str, shape: SeriesShape<'a>) -> Series<'a> {
    Series {
        name: name.to_owned(),
        style: Style::new(),
        shape,
    }
}

fn level(axis: AxisId, at: f64, name: &str) -> ReferenceLine {
    ReferenceLine {
        axis,
        at,
        name: name.to_owned(),
        style: Style::new(),
    }
}

const BEST: [(f64, f64); 5] = [
    (1.0, 42e3),
    (3.0, 61e3),
    (6.0, 118e3),
    (8.0, 142e3),
    (9.0, 142e3),
];

fn history() -> Chart<'static> {
    Chart {
        x: Axis::between(0.5, 9.5, Scale::Linear).named("experiment"),
        y: Axis::between(30e3, 170e3, Scale::Linear),
        series: vec![
            series("best", SeriesShape::Step(&BEST)),
            series(
                "discarded 3",
                SeriesShape::Marks("○", "o", &[(2.0, 39e3), (5.0, 60e3), (7.0, 9e3)]),
            ),
            series(
                "crash 1",
                SeriesShape::Marks("✗", "x", &[(4.0, f64::NEG_INFINITY)]),
            ),
            series("kept 4", SeriesShape::Marks("●", "O", &BEST[..4])),
            series("", SeriesShape::Spans(&[(9.0, 110e3, 160e3)])),
        ],
        reference_lines: vec![
            level(AxisId::Y, 135e3, "estimate 135k"),
            level(AxisId::Y, 900e3, "floor 900k"),
        ],
        cursor: Some(Cursor {
            x: 6.0,
            text: "6: 118,000".into(),
        }),
    }
}

#[test]
fn all_layers_are_drawn() {
    insta::assert_snapshot!(text(&history(), 60, 16, SymbolSet::Braille));
    insta::assert_snapshot!(text(&history(), 60, 16, SymbolSet::Ascii));
}

#[test]
fn a_small_chart_has_no_legend_and_a_tiny_one_is_not_drawn() {
    insta::assert_snapshot!(text(&history(), 30, 6, SymbolSet::Braille));
    assert_eq!(text(&history(), 30, 2, SymbolSet::Braille), "|\n|\n");
    assert_eq!(text(&history(), 9, 4, SymbolSet::Braille), "|\n|\n|\n|\n");
}

#[test]
fn ascii_is_ascii() {
    assert!(text(&history(), 60, 16, SymbolSet::Ascii).is_ascii());
    let bars = [(1.0, 2.0, 5.0), (2.0, 4.0, 1.0), (4.0, 8.0, 900.0)];
    let chart = Chart {
        x: Axis::between(1.0, 100.0, Scale::Log),
        y: Axis::between(0.0, 900.0, Scale::Linear),
        series: vec![series("counts", SeriesShape::Bars(&bars))],
        reference_lines: vec![level(AxisId::X, 50.0, "limit 50")],
        cursor: None,
    };
    assert!(text(&chart, 60, 16, SymbolSet::Ascii).is_ascii());
    insta::assert_snapshot!(text(&chart, 60, 12, SymbolSet::Braille));
}

#[test]
fn a_line_over_time_and_its_unit() {
    let clock: Vec<(f64, f64)> = (0..=60)
        .map(|t| {
            (
                f64::from(t) - 60.0,
                1_700.0 + 280.0 * (f64::from(t) / 9.0).sin(),
            )
        })
        .map(|(t, v)| {
            (
                t,
                if (-25.0..-20.0).contains(&t) {
                    f64::NAN
                } else {
                    v
                },
            )
        })
        .collect();
    let chart = Chart {
        x: Axis::between(-60.0, 0.0, Scale::Linear).unit("s"),
        y: Axis::between(1_200.0, 2_000.0, Scale::Linear).unit("MHz"),
        series: vec![series("", SeriesShape::Line(&clock))],
        reference_lines: vec![level(AxisId::Y, 1_980.0, "most 1,980")],
        cursor: Some(Cursor {
            x: -10.0,
            text: "1,402 MHz".into(),
        }),
    };
    insta::assert_snapshot!(text(&chart, 70, 12, SymbolSet::Braille));
}

#[test]
fn an_empty_chart_has_axes_only_and_numbers_that_are_not_finite_do_no_harm() {
    let odd = [
        (1.0, f64::NAN),
        (f64::NAN, 1.0),
        (2.0, f64::INFINITY),
        (3.0, -1e308),
        (1e308, 5.0),
        (4.0, 1e308),
    ];
    for scale in [Scale::Linear, Scale::Log] {
        for symbols in [SymbolSet::Braille, SymbolSet::Ascii] {
            for size in [(20, 5), (60, 16), (200, 60)] {
                let chart = Chart {
                    x: Axis::over(odd.map(|(x, _)| x), scale),
                    y: Axis::over(odd.map(|(_, y)| y), scale),
                    series: vec![
                        series("a", SeriesShape::Line(&odd)),
                        series("b", SeriesShape::Step(&odd)),
                        series("c", SeriesShape::Marks("●", "O", &odd)),
                        series(
                            "d",
                            SeriesShape::Spans(&[
                                (2.0, f64::NEG_INFINITY, f64::INFINITY),
                                (3.0, f64::NAN, 1.0),
                            ]),
                        ),
                        series(
                            "e",
                            SeriesShape::Bars(&[
                                (f64::NAN, 2.0, 1.0),
                                (1.0, f64::INFINITY, f64::INFINITY),
                            ]),
                        ),
                    ],
                    reference_lines: vec![
                        level(AxisId::X, f64::NAN, "x"),
                        level(AxisId::Y, f64::NAN, "y"),
                    ],
                    cursor: Some(Cursor {
                        x: f64::NAN,
                        text: "?".into(),
                    }),
                };
                assert!(text(&chart, size.0, size.1, symbols).contains(symbols.pick("└", "+")));
            }
        }
    }
    let empty = Chart {
        x: Axis::over([], Scale::Linear),
        y: Axis::over([], Scale::Linear),
        series: Vec::new(),
        reference_lines: Vec::new(),
        cursor: None,
    };
    assert_eq!(
        text(&empty, 24, 5, SymbolSet::Braille),
        "|    │\n|    │\n|    │\n|    │\n|    └───────────────────\n"
    );
}
