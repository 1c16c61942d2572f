//! The result of a tool.

use crate::{
    connection::Connection,
    content::{self, Content, SaveFlags},
    exit::Exit,
    failure::Failure,
    output::{BOLD, Output},
    table::Table,
};
use clap::Args;
use serde_json::Value;
use trunkline::protocol::{RawJson, model::CallToolResult};

/// The flags about results.
#[derive(Args)]
pub(crate) struct ResultFlags {
    /// Show the text of the result only.
    #[arg(long, conflicts_with = "structured")]
    text: bool,
    /// Show the structured content of the result only.
    #[arg(long)]
    structured: bool,
    #[command(flatten)]
    save: SaveFlags,
}

impl ResultFlags {
    /// Prints a result.
    pub(crate) fn show(&self, connection: &Connection, raw: &RawJson, output: &Output) -> Result<Exit, Failure> {
        let result: CallToolResult =
            raw.parse().map_err(|error| Failure::invalid_response(format!("the result cannot be read: {error}")))?;
        if result.is_error
            && let Some(unanswered) = connection.unanswered()
        {
            return Err(unanswered);
        }
        let exit = if result.is_error { Exit::Refused } else { Exit::Done };
        if output.json {
            output.raw(raw);
            return Ok(exit);
        }
        match &result.structured_content {
            Some(structured) if self.structured || (!self.text && says_the_same(&result)) => {
                show_json(structured, output)
            }
            None if self.structured => {
                let failure = Failure::new(Exit::Refused, "unsupported", "the result has no structured content");
                let failure = failure.tried(format!("reading the result of {}", connection.identity()));
                return Err(failure.hint("leave out --structured").at(&connection.server.label));
            }
            _ => {
                let mut content = Content::new(output, &self.save);
                for block in result.content.iter().filter(|block| !self.text || block.as_text().is_some()) {
                    content.block(block)?;
                }
            }
        }
        Ok(exit)
    }
}

/// Returns whether the content only repeats the structured content, for clients that do not know
/// it.
fn says_the_same(result: &CallToolResult) -> bool {
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| !value.is_string());
    !result.is_error && result.content.iter().all(|block| block.as_text().is_some_and(is_json))
}

/// A list of flat objects as a table, anything else as JSON.
fn show_json(value: &Value, output: &Output) {
    let Some(rows) = content::rows(value) else {
        return output.text(&serde_json::to_string_pretty(value).unwrap_or_default());
    };
    let mut table = Table::default();
    for row in &rows {
        // The last column of a table is for descriptions.
        table.add(row.iter().map(String::as_str).chain([""]));
    }
    for (index, line) in table.lines("").iter().enumerate() {
        match index {
            0 => output.line(&format!("{BOLD}{line}{BOLD:#}")),
            _ => output.line(line),
        }
    }
}
