//! The workloads that a table states: the lists of its extents, and the lines of a file.

use super::super::drawn_shapes::Extents;
use super::cases::of_workload;
use super::jsonl::{self, WorkloadLine};
use super::text::{ExtentsText, ProblemFile, WorkloadText};
use crate::problem::key_error::{InKey, KeyError, Result, wrong};
use itertools::Itertools as _;
use lab_source::suggest::suggest;

/// Most workloads of a kind. The reference computes each of them.
const MOST: usize = 1000;

/// Dimensions of which each workload has the numbers at one place of their lists.
struct Axis<'a> {
    lists: Vec<(&'a str, &'a [i64])>,
    /// The length of each list.
    length: usize,
}

impl ProblemFile {
    /// Replaces the tables of workloads by one for each workload that they state.
    pub(super) fn expand(&mut self) -> Result {
        let expanded = [
            self.expanded("workload", &self.workload)?,
            self.expanded("held_out", &self.held_out)?,
            self.expanded("check", &self.check)?,
        ];
        [self.workload, self.held_out, self.check] = expanded;
        Ok(())
    }

    fn expanded(&self, key: &'static str, tables: &[WorkloadText]) -> Result<Vec<WorkloadText>> {
        let mut all = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            let most = MOST - all.len();
            let workloads = of_workload((key, number), self.workloads_of(table, most))?;
            all.extend(
                workloads
                    .into_iter()
                    .map(|workload| WorkloadText { number, ..workload }),
            );
        }
        Ok(all)
    }

    /// The workloads of a table, in the order of its lines, and then of the dimensions: the numbers of
    /// the last one follow one another.
    fn workloads_of(&self, table: &WorkloadText, most: usize) -> Result<Vec<WorkloadText>> {
        let axes = self.axes(table)?;
        let lines = match &table.jsonl {
            Some(name) => {
                let read = jsonl::read(self.files.folder(), name);
                read.and_then(|lines| self.fitting(name, lines, table))
                    .of("jsonl")
                    .within("jsonl")?
            }
            None => vec![WorkloadLine::default()],
        };
        let lengths = axes.iter().map(|axis| axis.length);
        let each = lengths.fold(1, usize::saturating_mul);
        let count = each.saturating_mul(lines.len());
        if count > most {
            return wrong("dims", too_many(&axes, lines.len(), count));
        }
        let workload = |line: &WorkloadLine, which: usize| {
            let mut own = table.clone();
            own.dims = extents(&axes, which);
            own.dims.extend(line.axes.clone());
            own.scalars.extend(line.scalars.clone());
            own
        };
        let all = lines.iter();
        Ok(all
            .flat_map(|line| (0..each).map(move |which| (line, which)))
            .map(|(line, which)| workload(line, which))
            .collect())
    }

    /// The axes of a table, in the order of the problem's dimensions.
    fn axes<'a>(&'a self, table: &'a WorkloadText) -> Result<Vec<Axis<'a>>> {
        for (at, name) in table.together.iter().enumerate() {
            if !matches!(table.stated.get(name), Some(ExtentsText::Several(_))) {
                let known = table.stated.keys().collect_vec();
                let hint = suggest(name, &known);
                let what = format!("together: dims has no list '{name}'{hint}");
                return Err(KeyError::new(what).item("together", at));
            }
        }
        for (name, extents) in &table.stated {
            let what = if !self.dims.contains(name) {
                format!("'{name}' is not a dimension{}", suggest(name, &self.dims))
            } else if extents.numbers().is_empty() {
                format!("{name} = []: name at least one number")
            } else {
                continue;
            };
            return wrong(name.as_str(), what).within("dims");
        }
        let mut axes: Vec<Axis> = Vec::new();
        let mut together = None;
        for name in &self.dims {
            let Some(extents) = table.stated.get(name) else {
                continue;
            };
            let list = (name.as_str(), extents.numbers());
            let length = list.1.len();
            let is_together = table.together.contains(name);
            match together.filter(|_| is_together) {
                Some(at) => {
                    let axis: &mut Axis = &mut axes[at];
                    if axis.length != length {
                        let (other, _) = axis.lists[0];
                        let what = format!(
                            "together: {other} has {} numbers and {name} has {length}: give both as many",
                            axis.length
                        );
                        return wrong("together", what);
                    }
                    axis.lists.push(list);
                }
                None => {
                    together = together.or(is_together.then_some(axes.len()));
                    axes.push(Axis {
                        lists: vec![list],
                        length,
                    });
                }
            }
        }
        Ok(axes)
    }

    /// The lines of a file, if the problem has everything that they name.
    fn fitting(
        &self,
        name: &str,
        lines: Vec<(usize, WorkloadLine)>,
        table: &WorkloadText,
    ) -> Result<Vec<WorkloadLine>, String> {
        let check = |line: &WorkloadLine| -> Result<(), String> {
            for axis in line.axes.keys() {
                if !self.dims.contains(axis) {
                    let hint = suggest(axis, &self.dims);
                    return Err(format!("the axis '{axis}' is not a dimension{hint}"));
                }
                if table.stated.contains_key(axis) {
                    return Err(format!(
                        "the axis '{axis}' is in dims too: leave it out there"
                    ));
                }
            }
            let scalars = self.scalar.iter().map(|s| s.name.as_str()).collect_vec();
            for (input, is_scalar) in line.inputs() {
                let known = if is_scalar {
                    scalars.clone()
                } else {
                    self.tensor_names()
                };
                if !known.contains(&input) {
                    let (what, hint) = (kind(is_scalar), suggest(input, &known));
                    return Err(format!("the input '{input}' is not {what}{hint}"));
                }
            }
            let stored = line.stored.iter();
            match stored
                .clone()
                .find(|input| !table.values.contains_key(*input))
            {
                Some(input) => Err(format!(
                    "the input '{input}' is in a safetensors file, which lab does not read: say what it holds, as in \
                     values = {{ {input} = {{ npy = \"{input}.npy\" }} }}"
                )),
                None => Ok(()),
            }
        };
        let checked = lines.into_iter().map(|(number, line)| {
            check(&line).map_err(|what| format!("{name}, line {number}: {what}"))?;
            Ok(line)
        });
        checked.collect()
    }
}

fn kind(is_scalar: bool) -> &'static str {
    if is_scalar { "a scalar" } else { "a tensor" }
}

/// The extents of the workload with this number.
fn extents(axes: &[Axis], which: usize) -> Extents {
    let mut extents = Extents::new();
    let mut rest = which;
    for axis in axes.iter().rev() {
        let at = rest % axis.length;
        rest /= axis.length;
        let own = axis
            .lists
            .iter()
            .map(|(name, list)| ((*name).to_owned(), list[at]));
        extents.extend(own);
    }
    extents
}

fn too_many(axes: &[Axis], lines: usize, count: usize) -> String {
    let lists = axes.iter().filter(|axis| axis.length > 1);
    let name = |axis: &Axis| axis.lists.iter().map(|(name, _)| *name).join(" and ");
    let factors = lists.map(|axis| format!("{} of {}", axis.length, name(axis)));
    let mut factors = factors.chain((lines > 1).then(|| format!("{lines} lines")));
    let factors = factors.join(" × ");
    let more = match count {
        usize::MAX => "more than 10^19".to_owned(),
        count => count.to_string(),
    };
    format!(
        "these are {more} workloads ({factors}), and a problem has at most {MOST} of a kind: shorten a list, or let lists run \
         together, as in together = [\"batch\", \"heads\"]"
    )
}
