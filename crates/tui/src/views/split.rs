//! How a room is shared by two panes, and the border between them that can be moved. What a person chose is
//! kept per mille of the room, so that it holds for every size of the terminal.

pub use crate::view_id::{Shares, Split};

use super::super::panes::Panes;
use ratatui::layout::{Direction, Rect};

/// A border as it was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Border {
    pub split: Split,
    /// Horizontal: the parts are side by side.
    pub direction: Direction,
    /// The room of both.
    room: Rect,
    /// Where it can be taken hold of.
    pub line: Rect,
}

/// No part gets smaller: columns, rows.
const LEAST: (u16, u16) = (16, 3);

/// Two parts of `room`. The first has `first` columns or rows where the user chose nothing; `gap` lie between.
pub fn cut(
    panes: &mut Panes,
    split: Split,
    direction: Direction,
    room: Rect,
    first: u16,
    gap: u16,
) -> [Rect; 2] {
    let (length, least) = match direction {
        Direction::Horizontal => (room.width, LEAST.0),
        Direction::Vertical => (room.height, LEAST.1),
    };
    let chosen = panes.shares.get(&split).map(|share| from_share(*share, length));
    let most = length.saturating_sub(gap + least);
    let first = chosen.map_or(first, |first| first.clamp(least.min(most), most)).min(length);
    let rest = length.saturating_sub(first + gap);
    let (parts, line) = match direction {
        Direction::Horizontal => (
            [Rect { width: first, ..room }, Rect { x: room.right() - rest, width: rest, ..room }],
            Rect { x: room.x + first.min(room.width.saturating_sub(1)), width: gap.max(1), ..room },
        ),
        Direction::Vertical => (
            [Rect { height: first, ..room }, Rect { y: room.bottom() - rest, height: rest, ..room }],
            // The second one's title.
            Rect { y: room.y + first.min(room.height.saturating_sub(1)), height: gap.max(1), ..room },
        ),
    };
    panes.borders.push(Border { split, direction, room, line });
    parts
}

/// Half of a room, the odd one for the first part.
pub fn half(length: u16, gap: u16) -> u16 {
    length.saturating_sub(gap).div_ceil(2)
}

fn from_share(share: u16, length: u16) -> u16 {
    let first = (u32::from(share) * u32::from(length) + 500) / 1000;
    u16::try_from(first).unwrap_or(length)
}

impl Border {
    /// The share that puts it here: at a column, or at a row.
    pub fn share_at(&self, at: u16) -> u16 {
        let (start, length, least) = match self.direction {
            Direction::Horizontal => (self.room.x, self.room.width, LEAST.0),
            Direction::Vertical => (self.room.y, self.room.height, LEAST.1),
        };
        let most = length.saturating_sub(least + 1);
        let first = at.saturating_sub(start).clamp(least.min(most), most);
        let share = (u32::from(first) * 1000 + u32::from(length) / 2) / u32::from(length.max(1));
        u16::try_from(share.min(1000)).unwrap_or(1000)
    }

    /// Where it lies: its column, or its row.
    pub fn place(&self) -> u16 {
        match self.direction {
            Direction::Horizontal => self.line.x,
            Direction::Vertical => self.line.y,
        }
    }

    /// It is on the edge of this pane, or runs past it.
    pub fn touches(&self, pane: Rect) -> bool {
        let near = |from: u16, to: u16, at: u16| from <= at.saturating_add(1) && at <= to;
        match self.direction {
            Direction::Horizontal => {
                near(pane.left(), pane.right(), self.line.x)
                    && self.room.top() <= pane.top()
                    && pane.bottom() <= self.room.bottom()
            }
            Direction::Vertical => {
                near(pane.top(), pane.bottom(), self.line.y)
                    && self.room.left() <= pane.left()
                    && pane.right() <= self.room.right()
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
        fn the_parts_fill_the_room_and_a_border_stays_where_it_is_put(
            length in 0u16..900, first in 0u16..900, gap in 0u16..2, at in 0u16..1000, flat: bool,
        ) {
            let direction = if flat { Direction::Horizontal } else { Direction::Vertical };
            let room = if flat { Rect::new(3, 2, length, 40) } else { Rect::new(3, 2, 80, length) };
            let mut panes = Panes::default();
            let size = |part: Rect| if flat { part.width } else { part.height };
            let [one, other] = cut(&mut panes, Split::Git, direction, room, first, gap);
            prop_assert!(size(one) + size(other) <= length);
            prop_assert!(size(one) + size(other) + gap >= length);
            prop_assert!(room.contains(one.as_position()) || size(one) == 0 || one.is_empty() || one == room);
            let border = panes.borders[0];
            let share = border.share_at(at);
            panes.shares.insert(Split::Git, share);
            let [one, other] = cut(&mut panes, Split::Git, direction, room, first, gap);
            let start = if flat { room.x } else { room.y };
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
