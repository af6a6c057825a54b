//! Copies what the focused pane is about, or all of its rows.

use crate::effect::Effect;
use crate::model::Model;
use crate::model::copy::shortened;
use crate::text::fit;

impl Model {
    pub(super) fn copy(&mut self, text: Result<String, String>) {
        let Ok(text) = text else {
            return;
        };
        let (text, cut) = shortened(&text);
        let what = match text.lines().count() {
            0 | 1 => fit(&text, 60),
            lines => format!("{lines} lines"),
        };
        let rest = if cut {
            ", cut to what a terminal takes"
        } else {
            ""
        };
        self.inform(format!("copied {what}{rest}"));
        self.emit(Effect::Copy(text));
    }
}
