//! Formats a log record as a single string, for loggers without fields: `a tool failed (tool=add):
//! disk full`.

use std::fmt::{self, Debug, Write};
use tracing::field::{Field, Visit};

/// Collects the text of a record: its message, its fields, and finally the error.
#[derive(Default)]
pub struct LogText {
    message: String,
    fields: String,
    error: String,
}

impl LogText {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        // Writing to a string never fails.
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            "error" => write!(self.error, "{value}"),
            name => {
                let separator = if self.fields.is_empty() { "" } else { ", " };
                write!(self.fields, "{separator}{name}={value}")
            }
        };
    }
}

impl Visit for LogText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, format_args!("{value:.1}"));
    }

    /// Quote strings that a peer may have chosen, so that they cannot look like other fields or
    /// records.
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:+@%?&=~#*[]{}".contains(c);
        if matches!(field.name(), "message" | "error") || !value.is_empty() && value.chars().all(is_plain) {
            self.add(field, format_args!("{value}"));
        } else {
            self.add(field, format_args!("{value:?}"));
        }
    }
}

impl fmt::Display for LogText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.fields.is_empty() {
            write!(f, " ({})", self.fields)?;
        }
        if !self.error.is_empty() {
            write!(f, ": {}", self.error)?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use crate::tests::kept_log::KeptLog;

    #[test]
    fn records_are_read_as_a_sentence() {
        let log = KeptLog::default();
        tracing::subscriber::with_default(log.clone(), || {
            tracing::info!(target: "trunkline", url = "http://[::1]:8000/mcp", "serving");
            tracing::warn!(target: "trunkline", tool = "a", number = 3, took = 1.25, error = "no: yes", "a tool failed");
            tracing::warn!(target: "trunkline", path = "/x, user=root\nERROR forged", "refused");
            tracing::error!(target: "trunkline", "plain");
        });
        assert_eq!(
            log.take(),
            [
                "serving (url=http://[::1]:8000/mcp)",
                "a tool failed (tool=a, number=3, took=1.2): no: yes",
                r#"refused (path="/x, user=root\nERROR forged")"#,
                "plain",
            ]
        );
    }
}
