//! What the action `export` writes into a file: the chart, the table, the diff or the text of the
//! focused pane.

use super::Model;
use super::rows::no_rows;
use crate::request::Export;
use crate::views::Pane;

/// The columns of an exported table.
const HEAD: &str = "commit\tstatus\tfigure\tunit\trun\tdevice\tdescription";

impl Model {
    /// What the focused pane shows, for a file; or why there is nothing to write.
    pub fn to_export(&self) -> Result<Export, String> {
        let pane = self.panes.focus();
        match pane {
            Pane::History if self.repository.comparable().is_empty() => {
                Err("no experiment yet".to_owned())
            }
            Pane::History => Ok(Export::Chart),
            Pane::Experiments => {
                let rows = self.all_to_copy()?;
                Ok(Export::text("table", "tsv", format!("{HEAD}\n{rows}")))
            }
            _ => self.diff_or_text(),
        }
    }

    fn diff_or_text(&self) -> Result<Export, String> {
        let pane = self.panes.focus();
        let patch = match pane {
            Pane::Source => self.panes.source.patch(&self.setup.kernel),
            pane => {
                let columns = self.panes.text(pane).columns;
                let document = self.panes.document(pane, self.data(), columns);
                document.patch(&self.setup.kernel)
            }
        };
        match patch {
            Some(patch) => Ok(Export::text("diff", "diff", patch)),
            None => {
                let rows = self.all_to_copy().map_err(|_| no_rows(pane))?;
                Ok(Export::text("text", "txt", rows))
            }
        }
    }
}
