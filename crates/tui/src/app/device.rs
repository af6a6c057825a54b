//! The GPU that is looked at while the view Device is shown, and what it said lately.

use super::super::effect::Effect;
use super::super::views::View;
use super::{App, Now, Running};
use crate::request::Heard;
use lab_protocol::telemetry::Reading;
use std::collections::VecDeque;

/// Readings that are held: ten minutes of one a second.
const READINGS: usize = 600;

/// What one GPU said, oldest first.
#[derive(Clone, Debug, Default)]
pub struct DeviceCourse {
    uuid: Option<String>,
    pub readings: VecDeque<(Now, Reading)>,
    /// Why it says nothing.
    pub absent: Option<String>,
    /// Degrees Celsius from which on it slows itself down.
    pub slowdown_c: Option<u32>,
}

impl App {
    /// The GPU that the shown run is on: its lines name it. `None` of an emulated one, and before any run.
    pub fn gpu(&self) -> Option<&str> {
        let of_live = match &self.running {
            Running::Live(live) => live.report.value("device_uuid"),
            _ => None,
        };
        of_live.or_else(|| self.last.as_ref()?.report.value("device_uuid"))
    }

    /// Looks at the GPU while its view is shown, and away from it then.
    pub(super) fn look_at_device(&mut self) -> Option<Effect> {
        let wanted = self.gpu().filter(|_| self.panes.view == View::Device).map(str::to_owned);
        if wanted == self.looked_at {
            return None;
        }
        if wanted.is_some() && wanted != self.device.uuid {
            self.device = DeviceCourse { uuid: wanted.clone(), ..DeviceCourse::default() };
        }
        self.looked_at.clone_from(&wanted);
        Some(Effect::LookAt(wanted))
    }

    pub(super) fn on_device(&mut self, heard: Heard) -> Vec<Effect> {
        // Of another one than is looked at now, or of none any more.
        if self.looked_at.as_ref() != Some(&heard.uuid) {
            self.dirty = false;
            return Vec::new();
        }
        let course = &mut self.device;
        course.slowdown_c = heard.slowdown_c;
        match heard.reading {
            Ok(reading) => {
                course.absent = None;
                course.readings.push_back((self.now, reading));
                let over = course.readings.len().saturating_sub(READINGS);
                course.readings.drain(..over);
            }
            Err(why) => course.absent = Some(why),
        }
        Vec::new()
    }
}
