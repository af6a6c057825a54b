//! Which cases of a run have which joint sets ([`super::plant`]): together they have every kind of every
//! input, and each has as few sets as that needs.

use lab_device::DeviceInfo;
use std::ops::Range;

/// Which of a run's joint sets are a case's. Without a turn it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The place of the case among those that have joint sets.
    at: usize,
    /// The number of these cases.
    of: usize,
    /// Most joint sets of the case.
    most: usize,
}

/// Most cells of all joint sets of a case together. The cpu device is slow.
const MOST: usize = 4 << 20;
const MOST_EMULATED: usize = 1 << 17;

impl Turn {
    /// The turns of cases with so many cells. If each has more than all of its joint sets may have,
    /// the smallest one has a single set.
    pub fn of_each(cells: &[usize], device: &DeviceInfo) -> Vec<Turn> {
        let most_cells = if device.emulated { MOST_EMULATED } else { MOST };
        let most = cells.iter().map(|cells| most_cells / cells.max(&1));
        let mut most: Vec<usize> = most.collect();
        let smallest = (0..cells.len()).min_by_key(|case| cells[*case]);
        if let Some(smallest) = smallest {
            most[smallest] = most[smallest].max(1);
        }
        let of = most.iter().filter(|most| **most > 0).count();
        let mut at = 0;
        let turn = |most: usize| {
            at += usize::from(most > 0);
            match most {
                0 => Turn::default(),
                most => Turn {
                    at: at - 1,
                    of,
                    most,
                },
            }
        };
        most.into_iter().map(turn).collect()
    }

    /// The numbers of the case's joint sets where a run needs `turns` of them.
    pub fn numbers(self, turns: usize) -> Range<usize> {
        let own = turns.div_ceil(self.of.max(1)).min(self.most);
        self.at * own..(self.at + 1) * own
    }
}
