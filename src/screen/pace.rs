//! When the next frame that shows data may be drawn. A key and a verdict are drawn at once.

use lab_tui::effect::Redraw;
use std::time::{Duration, Instant};

/// The shortest time between two frames that show data.
const FRAME: Duration = Duration::from_millis(16);

/// After a frame with many cells, more time passes: this much for each cell, up to
/// [`LONGEST_FRAME`]. A slow line then gets fewer frames, and the same end.
const CELL: Duration = Duration::from_micros(100);
const LONGEST_FRAME: Duration = Duration::from_millis(100);

/// The last frame, and the time until the next one.
#[derive(Default)]
pub struct Pace(Option<(Instant, Duration)>);

impl Pace {
    /// A frame was drawn that wrote so many cells.
    pub fn drew(&mut self, cells: usize) {
        let cells = u32::try_from(cells).unwrap_or(u32::MAX);
        let pause = CELL.saturating_mul(cells).clamp(FRAME, LONGEST_FRAME);
        self.0 = Some((Instant::now(), pause));
    }

    /// Whether a frame may be drawn now.
    pub fn allows(&self, redraw: Redraw) -> bool {
        match redraw {
            Redraw::No => false,
            Redraw::NextFrame => self.rest().is_zero(),
            Redraw::AtOnce => true,
        }
    }

    /// The time until the next frame. Zero before the first one.
    pub fn rest(&self) -> Duration {
        let rest = |(drawn, pause): (Instant, Duration)| pause.saturating_sub(drawn.elapsed());
        self.0.map(rest).unwrap_or_default()
    }
}
