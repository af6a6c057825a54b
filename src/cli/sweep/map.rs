//! The heat map of a sweep, in text.

use anyhow::{Result, bail};
use itertools::Itertools;
use lab_sweep::Sweep;
use lab_sweep::summary::{HeatMap, importance, pairs};
use lab_text::suggest::did_you_mean;
use lab_tui::text::width;

/// Largest map that is shown unasked, and largest map.
const USUAL: [usize; 2] = [32, 16];
const LARGEST: [usize; 2] = [256, 64];

/// The places of the two parameters that are asked for, or else of the two that matter most; of an
/// emulated device the first two. `None` if there are not two of them, or if the map would be large.
pub fn pair(sweep: &Sweep, by: Option<&str>) -> Result<Option<[usize; 2]>> {
    let parameters = &sweep.start.parameters;
    let names = || parameters.iter().map(|parameter| parameter.name.as_str());
    let at = |name: &str| names().position(|known| known == name);
    let is_within = |[row, column]: [usize; 2], most: [usize; 2]| {
        parameters[row].values.len() <= most[0] && parameters[column].values.len() <= most[1]
    };
    let Some(by) = by else {
        // Where nothing is known yet of what matters, no map is shown unasked.
        let is_known = sweep.is_emulated() || !importance(sweep).is_empty();
        let pair = pairs(sweep).first().copied().filter(|_| is_known);
        return Ok(pair.filter(|pair| is_within(*pair, USUAL)));
    };
    let found = |name: &str| {
        at(name).ok_or_else(|| {
            let near = did_you_mean(name, names());
            anyhow::anyhow!(
                "--by: sweep {} has no parameter '{name}'{near}: it has {}",
                sweep.start.sweep,
                names().join(", ")
            )
        })
    };
    let pair = match by.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
        [row, column] if row != column => [found(row)?, found(column)?],
        _ => bail!("--by takes two different parameters, as in `--by BLOCK,ROWS`"),
    };
    if !is_within(pair, LARGEST) {
        let [rows, columns] = LARGEST;
        bail!(
            "--by: a map has at most {rows} rows and {columns} columns: name parameters with fewer values"
        );
    }
    Ok(Some(pair))
}

/// The map: a line that explains it, the values of the columns, and a line for each value of the rows.
pub fn lines(sweep: &Sweep, pair: [usize; 2]) -> Vec<String> {
    let map = HeatMap::of(sweep, pair);
    let mut lines = vec![format!("  {}:", map.head)];
    let mut rows: Vec<Vec<String>> = vec![[vec![String::new()], map.columns.clone()].concat()];
    for (value, cells) in map.rows.iter().zip(&map.cells) {
        rows.push(
            [
                vec![value.clone()],
                cells.iter().map(|heat| heat.sign()).collect(),
            ]
            .concat(),
        );
    }
    let column_width = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=map.columns.len()).map(column_width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let mut cells = cells.map(|(cell, wide)| " ".repeat(wide - width(cell)) + cell);
        lines.push(format!("    {}", cells.join("  ").trim_end()));
    }
    lines
}
