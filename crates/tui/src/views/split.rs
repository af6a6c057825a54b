//! How two panes share an area, and the border between them, which the user can move. The user's
//! choice is held in per mille of the area, so that it holds for every size of the terminal.

use ratatui::layout::{Direction, Rect};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A border between two panes that the user can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Bench: between the left and the right column.
    BenchColumns,
    /// Bench: between the two panes of the left column.
    BenchLeft,
    /// Bench: between the two panes of the right column.
    BenchRight,
    /// Bench on a smaller screen, where all panes are in one column.
    BenchStack,
    /// Bench: between the workloads and run.log.
    BenchWorkloads,
    Results,
    /// Results: between the details and the workloads.
    ResultsDetails,
    Git,
    Device,
    /// Device: between the kernel as built and the profile.
    DeviceBuild,
    /// Decisions: between the board and one decision.
    Decisions,
    /// Loop: between the left and the right column.
    LoopColumns,
    /// Loop: between the two panes of the left column.
    LoopLeft,
    /// Loop: between the two panes of the right column.
    LoopRight,
    /// Loop on a smaller screen, where all panes are in one column.
    LoopStack,
    /// Sweep: between the map and the points.
    Sweep,
}

/// The share of each split's first part, in per mille. The view decides where the user chose
/// nothing.
pub type Shares = BTreeMap<Split, u16>;

/// A border as it was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Border {
    pub split: Split,
    /// Horizontal: the parts are side by side.
    pub direction: Direction,
    /// The area of both parts.
    area: Rect,
    /// The cells where the mouse takes hold of it.
    pub line: Rect,
}

/// Least size of a part: columns, rows.
const LEAST: (u16, u16) = (16, 3);

/// Cuts `area` in two. The first part has `first` columns or rows where the user chose nothing;
/// `gap` cells lie between.
pub fn cut(
    shares: &Shares,
    split: Split,
    direction: Direction,
    area: Rect,
    first: u16,
    gap: u16,
) -> ([Rect; 2], Border) {
    let (length, least) = match direction {
        Direction::Horizontal => (area.width, LEAST.0),
        Direction::Vertical => (area.height, LEAST.1),
    };
    let chosen = shares.get(&split).map(|share| from_share(*share, length));
    let most = length.saturating_sub(gap + least);
    let first = chosen
        .map_or(first, |first| first.clamp(least.min(most), most))
        .min(length);
    let rest = length.saturating_sub(first + gap);
    let (parts, line) = match direction {
        Direction::Horizontal => (
            [
                Rect {
                    width: first,
                    ..area
                },
                Rect {
                    x: area.right() - rest,
                    width: rest,
                    ..area
                },
            ],
            Rect {
                x: area.x + first.min(area.width.saturating_sub(1)),
                width: gap.max(1),
                ..area
            },
        ),
        Direction::Vertical => (
            [
                Rect {
                    height: first,
                    ..area
                },
                Rect {
                    y: area.bottom() - rest,
                    height: rest,
                    ..area
                },
            ],
            // The title of the second part is the border.
            Rect {
                y: area.y + first.min(area.height.saturating_sub(1)),
                height: gap.max(1),
                ..area
            },
        ),
    };
    (
        parts,
        Border {
            split,
            direction,
            area,
            line,
        },
    )
}

fn from_share(share: u16, length: u16) -> u16 {
    let first = (u32::from(share) * u32::from(length) + 500) / 1000;
    u16::try_from(first).unwrap_or(length)
}

impl Border {
    /// The share that puts the border at this column or row.
    pub fn share_at(&self, at: u16) -> u16 {
        let (start, length, least) = match self.direction {
            Direction::Horizontal => (self.area.x, self.area.width, LEAST.0),
            Direction::Vertical => (self.area.y, self.area.height, LEAST.1),
        };
        let most = length.saturating_sub(least + 1);
        let first = at.saturating_sub(start).clamp(least.min(most), most);
        let share = (u32::from(first) * 1000 + u32::from(length) / 2) / u32::from(length.max(1));
        u16::try_from(share.min(1000)).unwrap_or(1000)
    }

    /// The border's column or row.
    pub fn place(&self) -> u16 {
        match self.direction {
            Direction::Horizontal => self.line.x,
            Direction::Vertical => self.line.y,
        }
    }

    /// The border is an edge of this pane, or passes along it.
    pub fn touches(&self, pane: Rect) -> bool {
        let near = |from: u16, to: u16, at: u16| from <= at.saturating_add(1) && at <= to;
        match self.direction {
            Direction::Horizontal => {
                near(pane.left(), pane.right(), self.line.x)
                    && self.area.top() <= pane.top()
                    && pane.bottom() <= self.area.bottom()
            }
            Direction::Vertical => {
                near(pane.top(), pane.bottom(), self.line.y)
                    && self.area.left() <= pane.left()
                    && pane.right() <= self.area.right()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_parts_fill_the_area_and_a_border_stays_where_it_is_put(
            length in 0u16..900, first in 0u16..900, gap in 0u16..2, at in 0u16..1000, flat: bool,
        ) {
            let direction = if flat { Direction::Horizontal } else { Direction::Vertical };
            let area = if flat { Rect::new(3, 2, length, 40) } else { Rect::new(3, 2, 80, length) };
            let mut shares = Shares::new();
            let size = |part: Rect| if flat { part.width } else { part.height };
            let ([one, other], border) = cut(&shares, Split::Git, direction, area, first, gap);
            prop_assert!(size(one) + size(other) <= length);
            prop_assert!(size(one) + size(other) + gap >= length);
            prop_assert!(area.contains(one.as_position()) || size(one) == 0 || one.is_empty() || one == area);
            let share = border.share_at(at);
            shares.insert(Split::Git, share);
            let ([one, other], _) = cut(&shares, Split::Git, direction, area, first, gap);
            let start = if flat { area.x } else { area.y };
            // Neither part can be pushed out of sight.
            let least = if flat { LEAST.0 } else { LEAST.1 };
            if length > 2 * least + 2 {
                prop_assert!(size(one) >= least && size(other) >= least);
                let wanted = at.saturating_sub(start).clamp(least, length - least - 1);
                prop_assert_eq!(size(one), wanted);
            }
        }
    }
}
